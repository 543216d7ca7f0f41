/** Description of `hsgate trust`. @module */
import { command, type Flags, type Input, offline } from "./command.ts";

const flags = {
  yes: { type: "boolean", short: "y", text: "ask nothing; needed where nobody sits at a terminal" },
  list: { type: "boolean", text: "list the recipes that are trusted, and those that were changed since" },
  remove: { type: "boolean", text: "trust the recipes no longer" },
} as const satisfies Flags;
/** What it is given. */
export type TrustInput = Input<typeof flags>;

/** Trusts recipes. */
export const trust = command({
  name: "trust",
  summary: "show what recipes may do, and let them run as they are now",
  usage: "[DIR | FILE …]",
  args: [0, 1000],
  details: `A recipe that reads from the configured broker and writes files below the folder of
its run needs no trust. A recipe that asks for more runs only after this command: one
that runs a program or TypeScript, reads a file or an environment variable, connects
to a host, or writes at the broker. The command shows what each recipe asks for, asks
once, and records the hash of the recipe and of all its code. After an edit the
recipe must be trusted again. Recipes that it runs are trusted with it.

The record is the file that HSGATE_TRUST_FILE names, or hsgate/trust.json in
XDG_CONFIG_HOME or ~/.config. No settings file names it. A record that belongs to
another user, or that others may write to, is refused.

To list what custom steps ask for, the command loads them in a process that may reach
nothing.`,
  flags,
  without: offline,
  exits: [],
  examples: ["trust recipes/end_of_day.yaml", "trust recipes --yes", "trust --list --json"],
  body: async () => (await import("./bodies/trust.ts")).run,
});
