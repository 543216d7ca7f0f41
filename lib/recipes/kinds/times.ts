/**
 * Computes session times and waits, for steps.
 *
 * @module
 */
import * as z from "zod";
import { type Calendars, sessionTimeOf } from "../../calendars/mod.ts";
import { BrokerError } from "../../errors.ts";
import { systemMachine, wait } from "../../time.ts";
import type { StepContext } from "../compiled.ts";
import { readSessionTime } from "../compile/written_times.ts";
import { calendar } from "../schema/recipe_schema.ts";

/** A session time on the day of the run. */
export const sessionMoment = z.strictObject({
  calendar: calendar.meta({ description: "Exchange" }),
  moment: z.string().refine(
    (text) => readSessionTime(text) !== undefined,
    'a session time such as "close+5m"',
  )
    .meta({ description: "Time of the exchange's session, such as close+5m" }),
});

/**
 * Returns the instant of a session time on a day, Unix milliseconds.
 *
 * @param cannot Beginning of the error, such as `Cannot wait for`.
 * @throws {BrokerError} If the day has no session, or the calendar does not cover it.
 */
export function instantOf(
  calendars: Calendars,
  { calendar: mic, moment }: z.infer<typeof sessionMoment>,
  day: string,
  cannot: string,
): number {
  const session = calendars.sessionOn(mic, day);
  if (typeof session === "string") {
    throw new BrokerError(`${cannot} ${moment} of ${mic}: ${day} is ${session}`, { code: "no-session" });
  }
  // The schema has already checked the text.
  return sessionTimeOf(mic, session, readSessionTime(moment)!);
}

/** Waits by the clock of the run; rejects when the signal is aborted. */
export async function pause(context: Pick<StepContext, "sleep" | "signal">, ms: number): Promise<void> {
  if (context.sleep !== undefined) return await context.sleep(ms);
  await wait(systemMachine, ms, context.signal);
}
