/**
 * Steps that can tell of this moment alone, and the day that a run is for.
 *
 * @module
 */
import { BrokerError } from "../../errors.ts";
import type { StepContext } from "../compiled.ts";

/**
 * Refuses to file what is so now under a day that is over, as a backfill or a late run would.
 *
 * @throws {BrokerError} When the day of the run has passed where its session is.
 */
export function refusePast(
  context: Pick<StepContext, "session" | "now">,
  date: string,
  cannot: string,
): void {
  // The session's times carry the offset of its exchange.
  const offset = /[+-]\d\d:\d\d$/.exec(context.session?.open ?? "")?.[0] ?? "UTC";
  const today = Temporal.Instant.fromEpochMilliseconds(context.now()).toZonedDateTimeISO(offset).toPlainDate()
    .toString();
  if (today > date) throw new BrokerError(`${cannot}, and it is ${today}`, { code: "past" });
}
