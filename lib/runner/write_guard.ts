/**
 * Why no write may begin now, wherever it comes from: a ledger that would not remember it, a clock that is off.
 *
 * @module
 */
import type { Ledger } from "./ledger.ts";
import { showInstant } from "./slots.ts";

/** How far the clock may lie behind what the ledger was last written at. */
const TOLERANCE_MS = 2_000;

/** Tells why nothing may be written to the broker; nothing when it may. Reads are never held back by this. */
export function whyNoWrites(ledger: Ledger, now: number): string | undefined {
  if (ledger.doubt !== undefined) return `the ledger does not last: ${ledger.doubt}`;
  // The watermark is the time of the last look by whoever looked, and never goes back.
  const seen = ledger.get<{ at: number | null }>("select max(watermark) as at from schedule")?.at;
  if (seen === null || seen === undefined || now >= seen - TOLERANCE_MS) return undefined;
  return `the clock is behind the ledger, which was written at ${showInstant(seen)}: one of the two is wrong`;
}
