/** Description of `hsgate notify`. @module */
import { command, type Flags, type Input } from "./command.ts";
import { recipes } from "./flags.ts";

const flags = {
  test: { type: "boolean", text: "send a test by each channel of the recipe, fallbacks included" },
  recipes,
} as const satisfies Flags;
/** What it is given. */
export type NotifyInput = Input<typeof flags>;

/** Tries the channels of a recipe's notices. */
export const notify = command({
  name: "notify",
  summary: "send a test by each channel of a recipe's notices",
  usage: "--test RECIPE",
  args: [1, 1],
  details: `RECIPE is a file, or the name of one in the folder of the recipes. Each channel under
"notify" gets one message that says that it is a test, with the recipe's own addresses and
secrets; all are tried whatever becomes of the others. Nothing of the recipe is run and
no ledger is used. A step of your own sees outcome.state "test".

Exit code 1 says that a channel did not take it.`,
  flags,
  exits: [],
  examples: ["notify --test end-of-day", "notify --test recipes/margin_watch.yaml --json"],
  body: async () => (await import("./bodies/notify.ts")).run,
});
