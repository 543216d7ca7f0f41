/** Description of `hsgate notify`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";
import { recipes } from "../terminal/flags.ts";

const flags = {
  test: {
    type: "boolean",
    text: "send a test message by each notice channel, including fallbacks, and by each notify step",
  },
  recipes,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type NotifyInput = Input<typeof flags>;

/** Sends a test message to the channels of a recipe. */
export const notify = command({
  name: "notify",
  summary: "send a test message by each notice channel and notify step of a recipe",
  usage: "--test RECIPE",
  args: [1, 1],
  details: `RECIPE is a file, or the name of a recipe in the recipe folder. Each channel under
"notify", and each step "notify", sends one message that is marked as a test, whatever
the condition of the step is. The command uses the addresses and secrets of the recipe. If
one channel fails, the command still tries the other channels. It runs no other step of the recipe
and uses no store. A custom step under "notify" gets outcome.state "test".`,
  flags,
  exits: [[1, "a test message was not accepted, or the command failed"]],
  examples: ["notify --test end-of-day", "notify --test recipes/margin_watch.yaml --json"],
});
