/**
 * Asks a person before a write is sent.
 *
 * @module
 */
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";

/**
 * Requires the flag that answers the question, if there is no terminal to ask on.
 *
 * @throws {UsageError} If there is no terminal and no flag; nothing was sent.
 */
export function needAnswer(flag: "yes" | "yes-all", isGiven: boolean | undefined, host: Host): void {
  if (isGiven || host.canAsk) return;
  throw new UsageError(`Cannot ask without a terminal: add --${flag} to send it without a question`);
}

/** Asks on the terminal. Returns whether the answer is yes; otherwise notes that nothing was sent. */
export async function isWanted(question: string, host: Host): Promise<boolean> {
  try {
    if (/^y(es)?$/i.test(await host.ask(`${question} [y/N] `))) return true;
  } catch (error) {
    host.note("\nhsgate: nothing was sent"); // Ctrl-C and Ctrl-D leave the cursor behind the question
    throw error;
  }
  host.note("hsgate: nothing was sent");
  return false;
}
