/**
 * The day and the clock of a run, as steps go by them.
 *
 * @module
 */
import * as z from "zod";
import { sessionOn } from "../../calendars/mod.ts";
import { BrokerError } from "../../errors.ts";
import { systemMachine, wait } from "../../time.ts";
import type { StepContext } from "../compiled.ts";
import { readSessionTime, sessionTimeOf } from "../session_times.ts";
import { calendar } from "../recipe_schema.ts";

/** A moment of the session of a run. */
export const sessionMoment = z.strictObject({
  calendar,
  moment: z.string().refine((text) => readSessionTime(text) !== undefined, 'a moment such as "close+5m"'),
});

/**
 * When a moment of a day's session is, Unix milliseconds.
 *
 * @param cannot What cannot be done without it, for the error.
 * @throws {BrokerError} When the day has no session.
 */
export function instantOf(
  { calendar: mic, moment }: z.infer<typeof sessionMoment>,
  day: string,
  cannot: string,
): number {
  const session = sessionOn(mic, day);
  if (typeof session === "string") {
    throw new BrokerError(`${cannot} ${moment} of ${mic}: ${day} is ${session}`, { code: "no-session" });
  }
  // The schema has read it before.
  return sessionTimeOf(mic, session, readSessionTime(moment)!);
}

/** Waits by the clock of the run; rejects once its signal is aborted. */
export async function pause(context: Pick<StepContext, "sleep" | "signal">, ms: number): Promise<void> {
  if (context.sleep !== undefined) return await context.sleep(ms);
  await wait(systemMachine, ms, context.signal);
}
