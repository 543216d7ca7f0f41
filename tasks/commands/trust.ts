/** Description of `hsgate trust`. @module */
import { command, type Flags, type Input, offline } from "../terminal/command.ts";
import { listing } from "../terminal/flags.ts";

const flags = {
  yes: { type: "boolean", short: "y", text: "ask nothing; required without a terminal" },
  list: { type: "boolean", text: "list the trusted files, and which have changed since" },
  remove: { type: "boolean", text: "remove the trust" },
  ...listing,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type TrustInput = Input<typeof flags>;

/** Trusts recipes, settings files and stores. */
export const trust = command({
  name: "trust",
  summary: "show what recipes and settings may do, and trust their current content",
  usage: "[DIR | FILE | NAME …]",
  args: [0, 1000],
  details: `A recipe that reads from the configured broker and writes files below the folder of
its run needs no trust. A recipe that needs more rights runs only after this command.
Such a recipe runs a program or TypeScript, reads a file or an environment variable,
connects to a host, or writes at the broker. The command shows what each recipe asks for, asks
once, and records the hash of the recipe and of all its code. After an edit you must trust the recipe again. With a recipe, you also
trust the recipes that it runs; an edit of one of them ends the trust too.

Commands use a settings file hsgate.yaml that they find in their working folder only after "hsgate trust hsgate.yaml". That command shows each setting and what it can do,
and records the hash of the file, and of each file in the same folder that a
setting names. After an edit you must trust the file again. A settings file that --config or HSGATE_CONFIG
names needs no trust.

Commands use a store hsgate.db that they find in their working folder only if you
created it there, or after "hsgate trust hsgate.db". That command shows the store's
unfinished runs, queued notices and recipe files. A store that --store or HSGATE_STORE names
needs no trust. Every store must belong to you, and nobody else may write to its
folder.

Commands use a calendar file hsgate.calendars.json that they find in their working
folder only after "hsgate trust hsgate.calendars.json". If you write the file with
"calendar set", "calendar unset" or "calendar update", that command trusts it. A file
that HSGATE_CALENDARS names needs no trust.

The trust record is the file that HSGATE_TRUST_FILE names, or hsgate/trust.json in
XDG_CONFIG_HOME or ~/.config. A settings file cannot choose the record. hsgate rejects a record that belongs to
another user, or that others may write to.

To list what custom steps ask for, the command loads them in a process without any
permission.`,
  flags,
  without: offline,
  exits: [[2, "a recipe has a mistake, or wrong usage or settings"]],
  examples: [
    "trust recipes/end_of_day.yaml",
    "trust hsgate.yaml",
    "trust recipes --yes",
    "trust --list --json",
  ],
});
