/** Description of `hsgate sim`. @module */
import { command } from "./command.ts";

/** Starts the simulator. */
export const sim = command({
  name: "sim",
  summary: "start a simulated broker, as gateway and platform; nothing reaches a real one",
  usage: "[flags of deno task sim]",
  args: [0, Infinity],
  details: `Prints one line of JSON when it is ready; --info FILE writes it to a file too, which
the other commands take with --config. "deno task sim --help" lists its flags.
Stops at Ctrl-C.`,
  flags: {},
  without: ["gateway", "push", "plain-http", "auth-url", "config", "transport", "timeout", "json"],
  passOn: true,
  exits: [],
  examples: [
    "sim --info sim.json",
    "quote 00700.HK --config sim.json",
    "quote 00700.HK --config sim.json --transport direct",
  ],
  body: async () => (await import("./bodies/sim.ts")).run,
});
