/**
 * Asks a person before a write is sent.
 *
 * @module
 */
import { DeclinedError, UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";

/**
 * Requires the flag that answers the question, if there is no terminal to ask on.
 *
 * @throws {UsageError} If there is no terminal and no flag; nothing was sent.
 */
export function needAnswer(flag: "yes" | "yes-all", isGiven: boolean | undefined, host: Host): void {
  if (isGiven || host.canAsk) return;
  throw new UsageError(`Cannot ask without a terminal: add --${flag} to skip the question`);
}

/**
 * Asks on the terminal, and returns if the answer is yes.
 *
 * @throws {DeclinedError} If the answer is anything else; nothing was sent.
 */
export async function confirm(question: string, host: Host): Promise<void> {
  try {
    if (/^y(es)?$/i.test(await host.ask(`${question} [y/N] `))) return;
  } catch (error) {
    host.note("\nhsgate: nothing was sent"); // Ctrl-C and Ctrl-D leave the cursor on the line of the question
    throw error;
  }
  throw new DeclinedError("nothing was sent: the answer was no");
}
