/** Description of `hsgate login`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";

const flags = {
  logout: { type: "boolean", text: "end the trade login instead" },
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type LoginInput = Input<typeof flags>;

/** Logs in for trading. */
export const login = command({
  name: "login",
  summary: "log in for trading, or log out",
  usage: "",
  args: [0, 0],
  details: `The password and its key come from HSGATE_TRADE_PASSWORD and
HSGATE_TRADE_PASSWORD_KEY, from files that HSGATE_TRADE_PASSWORD_FILE and
HSGATE_TRADE_PASSWORD_KEY_FILE name, or from the settings file (tradePassword,
tradePasswordKey). Over the direct transport the password needs no key, and a login
ends with its connection: there this command only checks that the password is right.`,
  flags,
  calendars: false,
  figures: false,
  exits: [3, 4, 6],
  examples: ["login", "login --logout"],
});
