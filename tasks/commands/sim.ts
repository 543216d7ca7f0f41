/** Description of `hsgate sim`. @module */
import { command } from "../terminal/command.ts";

/** Starts the simulator. */
export const sim = command({
  name: "sim",
  summary: "start a simulated broker (gateway and platform); nothing reaches a real one",
  usage: "[flags of deno task sim]",
  args: [0, Infinity],
  details: `When the simulator is ready, it prints one line of JSON. --info FILE also writes that
line to a file; other commands use the file with --config. In the folder of hsgate itself,
"deno task sim --help" lists all flags. Ctrl-C stops the simulator.`,
  flags: {},
  without: ["gateway", "push", "plain-http", "auth-url", "config", "transport", "timeout", "json"],
  passOn: true,
  exits: [],
  examples: [
    "sim --info sim.json",
    "quote 00700.HK --config sim.json",
    "quote 00700.HK --config sim.json --transport direct",
  ],
});
