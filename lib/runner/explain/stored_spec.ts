/**
 * Defines the shape of a compiled schedule. Schedules from the store are checked against it, because somebody else may
 * have written the store.
 *
 * @module
 */
import * as z from "zod";
import { type Mic, mics } from "../../calendars/mod.ts";
import {
  anchors,
  halfDayRules,
  sessionDays,
  SHORTEST_EVERY_MS,
} from "../../recipes/compile/written_times.ts";
import type { CompiledSchedule } from "../../recipes/compiled.ts";
import { readPattern } from "../schedule/slots.ts";

const { enum: oneOf, exactOptional, int, literal, looseObject: object, string } = z;
/** Maximum time between a slot and its anchor, such as the open: more than any recipe needs. */
const MOST_OFFSET_MS = 366 * 86_400_000;
const id = string();
const mic = oneOf(mics as [Mic, ...Mic[]]); // the list is not empty
const sessionTime = object({
  anchor: oneOf(anchors),
  offsetMs: int().min(-MOST_OFFSET_MS).max(MOST_OFFSET_MS),
});

/** Returns whether a pattern with a time zone can be parsed and has a next time. */
function isCron({ cron, timezone }: { cron: string; timezone: string }): boolean {
  try {
    return readPattern(cron, timezone).nextRun(new Date(0)) !== null;
  } catch {
    return false;
  }
}

export const specShape: z.ZodType<CompiledSchedule> = z.discriminatedUnion("form", [
  object({
    id,
    form: literal("calendar"),
    mic,
    days: oneOf(sessionDays),
    at: z.union([sessionTime, object({ time: string().regex(/^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/) })]),
    halfDays: oneOf(halfDayRules),
  }),
  object({ id, form: literal("cron"), cron: string(), timezone: string(), onlyIn: exactOptional(mic) })
    .refine(isCron, { error: "expected a cron pattern and a time zone" }),
  object({
    id,
    form: literal("every"),
    everyMs: int().min(SHORTEST_EVERY_MS),
    while: exactOptional(object({ mic, from: sessionTime, to: sessionTime })),
    jitterMs: int().min(0),
  }),
]);
