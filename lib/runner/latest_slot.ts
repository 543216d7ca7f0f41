/**
 * The latest slot before an instant, found without listing all that came before it.
 *
 * @module
 */
import type { CompiledSchedule } from "../steps/compiled.ts";
import { eachSlot, type Slot } from "./slots.ts";

/** A span this short is listed. The closest slots lie 100 ms apart. */
const LISTED_MS = 10_000;

/**
 * Returns the latest slot after one instant up to another, that one included; nothing when there is none. Halves the
 * span until it is short, so that a slot every 100 ms costs no more than one a day.
 */
export function latestSlot(schedule: CompiledSchedule, after: number, until: number): Slot | undefined {
  let from = after;
  let to = until;
  while (to - from > LISTED_MS) {
    const middle = Math.floor((from + to) / 2);
    if (firstSlot(schedule, middle, to) !== undefined) from = middle;
    else to = middle;
  }
  return [...eachSlot(schedule, from, to)].at(-1);
}

/** Returns the first slot after one instant up to another, that one included; nothing when there is none. */
export function firstSlot(schedule: CompiledSchedule, after: number, until: number): Slot | undefined {
  for (const slot of eachSlot(schedule, after, until)) return slot;
  return undefined;
}
