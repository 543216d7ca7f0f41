/** Descriptions of `hsgate store backup`, `verify`, `prune`, `copy` and `accept`. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { by, store } from "../terminal/flags.ts";

const backupFlags = { store } as const satisfies Flags;
/** Arguments and flags of `hsgate store backup`. */
export type StoreBackupInput = Input<typeof backupFlags>;

/** Copies the store, even while it is in use, and verifies the copy. */
export const storeBackup = command({
  name: "store backup",
  summary: "copy the store, even while it is in use, and verify the copy",
  usage: "FILE",
  args: [1, 1],
  details: `The copy shows the store at one moment. backup never overwrites an existing file.`,
  flags: backupFlags,
  without: unconnected,
  exits: [],
  examples: ["store backup backups/hsgate-2025-08-15.db"],
});

const verifyFlags = { store } as const satisfies Flags;
/** Arguments and flags of `hsgate store verify`. */
export type StoreVerifyInput = Input<typeof verifyFlags>;

/** Checks the store for damage and contradictions. */
export const storeVerify = command({
  name: "store verify",
  summary: "check the store for damage and contradictions",
  usage: "",
  args: [0, 0],
  details: `The command lists each problem: a file that is damaged, cut off or not a store, or rows
that contradict each other. It never changes a damaged file. Replace a damaged store with
a copy that "store backup" made.`,
  flags: verifyFlags,
  without: unconnected,
  exits: [[7, "the store is damaged, or its rows contradict each other"]],
  examples: ["store verify", "store verify --store backups/hsgate-2025-08-15.db"],
});

const pruneFlags = {
  keep: { type: "string", value: "DAYS", text: "keep the runs of this many days, 30 or more (400)" },
  "dry-run": { type: "boolean", text: "count what would be removed and remove nothing" },
  store,
} as const satisfies Flags;
/** Arguments and flags of `hsgate store prune`. */
export type StorePruneInput = Input<typeof pruneFlags>;

/** Removes old runs and logs from the store. */
export const storePrune = command({
  name: "store prune",
  summary: "remove old runs and logs from the store",
  usage: "",
  args: [0, 0],
  details: `The command removes runs that ended more than 400 days ago, with their steps, outputs,
events, notices and logs. It also removes order intents and rebalancing plans that ended
that long ago. If a recipe has more than 100,000 runs, the command removes its oldest
runs, except those that ended in the last 30 days. It also removes log lines older than 90
days, and the oldest lines beyond 1,000,000. The settings keepRunsDays, keepRecipeRuns,
keepLogDays and keepLogLines change these limits. A running scheduler does the same.

The command always keeps runs that wait or are in progress, writes with an unknown
outcome, the last write of each account, and the newest ten runs of each recipe. It
does not touch files that steps wrote. If a slot's run was removed,
"backfill" treats the slot as missing. The store reuses the space. A SQLite file also shrinks while more than a
quarter of it is free.`,
  flags: pruneFlags,
  without: unconnected,
  exits: [],
  examples: ["store prune --dry-run", "store prune --keep 1000"],
});

const copyFlags = {
  from: { type: "string", value: "STORE", text: "the store to copy: a file, or postgres://..." },
  to: { type: "string", value: "STORE", text: "an empty store; created if missing" },
} as const satisfies Flags;
/** Arguments and flags of `hsgate store copy`. */
export type StoreCopyInput = Input<typeof copyFlags>;

/** Copies a store to another place, such as from a file to a database. */
export const storeCopy = command({
  name: "store copy",
  summary: "copy a store to another place, such as from a file to a database",
  usage: "--from STORE --to STORE",
  args: [0, 0],
  details: `Stop every scheduler of the store first. After the copy, use only the new store, because it
does not get the writes that you send with the old store. The command copies the store as of
one moment. It checks that each table has the same number of rows and the same digest in both
stores. It rejects a target that already contains rows.`,
  flags: copyFlags,
  without: unconnected,
  exits: [],
  examples: ["store copy --from hsgate.db --to postgres://hsgate@db.example.com/hsgate"],
});

const acceptFlags = {
  because: { type: "string", value: "TEXT", text: "what you checked; the store records it" },
  by,
  store: { ...store, text: "the store, a SQLite file (hsgate.db)" },
} as const satisfies Flags;
/** Arguments and flags of `hsgate store accept`. */
export type StoreAcceptInput = Input<typeof acceptFlags>;

/** Accepts a store that has lost writes. */
export const storeAccept = command({
  name: "store accept",
  summary: "accept a store that has lost writes, and continue with it",
  usage: "--because TEXT",
  args: [0, 0],
  details: `The command accepts only a store in a SQLite file. The file "FILE.mark" next to the store
records the last write of each account. If the store is missing, empty, cut off or older than
its mark, hsgate rejects it: it lacks writes that were sent, so a run could send them
again. Replace such a store with its newest copy. If there is no copy, or the copy is older
than the last write, first check the account's orders and fills since then, stop every
scheduler, and run this command.

The command writes a new mark from the store, or creates a new store if there is none.
No schedule catches up older slots. hsgate skips waiting runs that
write. If the store lists a
write as running, its outcome becomes unknown: record it with "resolve". Pauses that the
store does not contain are lost: pause those recipes again. Use "backfill" for missing
read-only runs.`,
  flags: acceptFlags,
  without: unconnected,
  exits: [],
  examples: ['store accept --because "no order since the backup; the app shows none open"'],
});
