/** Description of `hsgate doctor`. @module */
import { command, type Flags, type Input } from "./command.ts";

const flags = {
  "config-xml": { type: "string", value: "FILE", text: "the gateway's config.xml, to read its ports from" },
} as const satisfies Flags;
/** What it is given. */
export type DoctorInput = Input<typeof flags>;

/** Finds out what is wrong. */
export const doctor = command({
  name: "doctor",
  summary: "find the gateway or the platform and say in words what is wrong",
  usage: "",
  args: [0, 0],
  details: `Looks at the settings, the gateway's config.xml where one is named, both ports,
whether a gateway answers there, and the logins. Changes nothing, but makes the
trade login where a password is set. The exit code is that of the first thing
that is wrong.

With --transport direct: settings, both keys, who has the trade connection, the
platform's name, port, certificate and clock, the login (password, bound device,
whitelist, keys), both sockets, and the trade login. A login ends any other of
the account; none is made while another process here has the trade connection.`,
  flags,
  calendars: false,
  figures: false,
  exits: [4, 6],
  examples: ["doctor", "doctor --transport direct", "doctor --config-xml ~/hs_gateway/config.xml --json"],
  body: async () => (await import("./bodies/doctor.ts")).run,
});
