/** Description of `hsgate doctor`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";

const flags = {
  "config-xml": { type: "string", value: "FILE", text: "the gateway's config.xml, to read its ports" },
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type DoctorInput = Input<typeof flags>;

/** Checks settings, gateway or platform, and logins. */
export const doctor = command({
  name: "doctor",
  summary: "check the connection to the gateway or the platform, and explain what is wrong",
  usage: "",
  args: [0, 0],
  details: `Over the gateway the command checks the settings, config.xml if you name one, both
ports, whether a gateway answers there, the clock, and the logins. It changes nothing,
except that it makes the trade login if a password is set. If there is a store, the
command also checks for notices that were not sent. The exit code is that of the first
failed check.

With --transport direct it checks the settings, both keys, which process has the trade
connection, the platform's name, port, certificate and clock, the login (password,
bound device, whitelist, keys), both sockets, and the trade login. Logging in ends any
other session of the account, so doctor does not log in while another process on this
machine has the trade connection.`,
  flags,
  calendars: false,
  figures: false,
  exits: [4, 6],
  examples: ["doctor", "doctor --transport direct", "doctor --config-xml ~/hs_gateway/config.xml --json"],
});
