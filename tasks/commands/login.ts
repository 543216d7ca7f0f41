/** Description of `hsgate login`. @module */
import { command, type Flags, type Input } from "./command.ts";

const flags = {
  logout: { type: "boolean", text: "end the trade login instead" },
} as const satisfies Flags;
/** What it is given. */
export type LoginInput = Input<typeof flags>;

/** Logs in for trading. */
export const login = command({
  name: "login",
  summary: "make the trade login, or end it",
  usage: "",
  args: [0, 0],
  details: `The password and its key come from HSGATE_TRADE_PASSWORD and
HSGATE_TRADE_PASSWORD_KEY, from files named by the same names with _FILE, or from
the settings file (tradePassword, tradePasswordKey). Over the direct transport the
password needs no key, and a login ends with its connection: there this command
only tries whether the password is right.`,
  flags,
  calendars: false,
  figures: false,
  exits: [3, 4, 6],
  examples: ["login", "login --logout"],
  body: async () => (await import("./bodies/login.ts")).run,
});
