/** Description of `hsgate init`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";

const flags = {
  connect: {
    type: "string",
    value: "WAY",
    text: 'the connection: "simulator", "gateway" or "direct" (simulator)',
  },
  markets: {
    type: "string",
    value: "LIST",
    text: "markets of the account: hk, us, shanghai, shenzhen (hk,us)",
  },
  calendar: {
    type: "string",
    value: "MIC",
    text: "exchange whose trading days the recipes follow (that of the first market)",
  },
  yes: {
    type: "boolean",
    short: "y",
    text: "ask nothing: use the default in brackets for everything that no flag sets",
  },
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type InitInput = Input<typeof flags>;

/** Creates a working folder. */
export const init = command({
  name: "init",
  summary: "create a working folder: settings, two recipes, a script and a notebook",
  usage: "[DIR]",
  args: [0, 1],
  details: `On a terminal the command asks a few questions; a flag answers one in advance. Without
a terminal it uses the defaults in brackets. DIR must be empty; it is created if
missing. The default is the current folder if it is empty, otherwise "trading" in it. If the
current folder is hsgate's own folder, init creates the new folder next to it. init writes
nothing before the last question is answered. It then writes all files or none. The settings
contain the addresses of --gateway and --auth-url. init never asks for secrets.

With the simulator the folder works at once: recipes, script and notebook start a
simulated broker in their own process, and nothing reaches a real one.`,
  flags,
  without: ["push", "plain-http", "config", "transport", "timeout"],
  exits: [],
  examples: ["init", "init desk --connect gateway --markets hk,us", "init desk --yes --json"],
});
