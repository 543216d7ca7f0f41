/** Description of `hsgate notices`. @module */
import { by, keyText, listing, servedRecipes, store } from "../terminal/flags.ts";
import { command, type Flags, type Input } from "../terminal/command.ts";

const flags = {
  failed: { type: "boolean", text: "only notices that were tried and not sent" },
  send: { type: "boolean", text: "send the notices now, including those that were given up" },
  dismiss: { type: "boolean", text: "remove the notices from the list: no more tries or warnings" },
  by,
  store,
  recipes: servedRecipes,
  ...listing,
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type NoticesInput = Input<typeof flags>;

/** Lists, sends or dismisses unsent notices. */
export const notices = command({
  name: "notices",
  summary: "list unsent notices, and send them again",
  usage: "[KEY]",
  args: [0, 1],
  details: `A run stores its notices, and hsgate sends them to their channels. If a channel
fails, hsgate tries again, up to 12 tries in all: the first wait is 30 seconds, the
longest an hour. Then hsgate gives up the notice. The command lists the notices that wait, failed or were
given up, with the reason. With KEY it lists only the notices of one run. ${keyText}

--send tries each of these notices once, even if hsgate has given it up. --dismiss removes
notices that nobody needs any more; the run's events record this.`,
  flags,
  exits: [[1, "with --send: a notice was not sent; or the command failed"]],
  examples: ["notices", "notices --failed --json", "notices --send"],
});
