/** Description of `hsgate notify`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { recipes } from "../terminal/flags.ts";

const flags = {
  test: { type: "boolean", text: "send a test message to each channel of the recipe, including fallbacks" },
  recipes,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type NotifyInput = Input<typeof flags>;

/** Sends a test message to the channels of a recipe. */
export const notify = command({
  name: "notify",
  summary: "send a test message to each notice channel of a recipe",
  usage: "--test RECIPE",
  args: [1, 1],
  details: `RECIPE is a file, or the name of a recipe in the recipe folder. Each channel under
"notify" gets one message that is marked as a test. The command uses the addresses and
secrets of the recipe. If one channel fails, the others are still tried. The command runs no step of
the recipe and uses no store. A custom step gets outcome.state "test".`,
  flags,
  exits: [[1, "a channel did not accept the test message, or the command failed"]],
  examples: ["notify --test end-of-day", "notify --test recipes/margin_watch.yaml --json"],
});
