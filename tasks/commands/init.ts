/** Description of `hsgate init`. @module */
import { command, type Flags, type Input } from "./command.ts";

const flags = {
  connect: { type: "string", value: "WAY", text: "to the broker: simulator, gateway or direct (simulator)" },
  markets: {
    type: "string",
    value: "LIST",
    text: "of the account, with commas: hk, us, shanghai, shenzhen (hk,us)",
  },
  calendar: {
    type: "string",
    value: "MIC",
    text: "exchange whose hours the recipes follow (that of the first market)",
  },
  yes: { type: "boolean", short: "y", text: "ask nothing: what no flag says is taken as it is in brackets" },
} as const satisfies Flags;
/** What it is given. */
export type InitInput = Input<typeof flags>;

/** Writes a working folder. */
export const init = command({
  name: "init",
  summary: "write a working folder: settings, two recipes, a script and a notebook",
  usage: "[DIR]",
  args: [0, 1],
  details: `Asks a few questions on a terminal; a flag answers one beforehand, and where nobody
can be asked the values in brackets are taken. DIR is made, or is empty: no file is
ever overwritten. Without DIR it is "trading", beside the toolkit when this is called
in the toolkit's own folder. Everything is written after the last question, or
nothing. --gateway and --auth-url go into the settings; secrets are never asked for.

With the simulator the folder works at once: recipes, script and notebook start a
simulated broker in their own process, and nothing reaches a real one.`,
  flags,
  without: ["push", "plain-http", "config", "transport", "timeout"],
  exits: [],
  examples: ["init", "init desk --connect gateway --markets hk,us", "init desk --yes --json"],
  body: async () => (await import("./bodies/init.ts")).run,
});
