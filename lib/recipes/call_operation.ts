/**
 * Runs operations of the catalogue as steps.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { Paged } from "../client/paging.ts";
import { RejectedError, UnmappedError } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { isListMissing, LIST_LEFT_OUT } from "../operations/wire_rows.ts";
import { asOfNowOf, PastSlotError, refusePast, slotDayAt } from "./as_of_now.ts";
import type { StepContext } from "./compiled.ts";

/**
 * Calls an operation once; reads lists to their end.
 *
 * @throws {PastSlotError} If it reads present data, and the day of the slot is over. Nothing was sent.
 */
export async function callOperation(
  operation: AnyOperation,
  params: unknown,
  context: StepContext,
): Promise<unknown> {
  const asOfNow = asOfNowOf(operation, params);
  if (asOfNow !== undefined) refusePast(asOfNow, context);
  const client = await context.client();
  const { signal } = context;
  // A write is never aborted, because its outcome would be unknown.
  if (operation.effect === "write") return await client.call(operation, params);
  if (operation.paging === undefined) {
    const answer: unknown = await client.call(operation, params, { signal });
    if (typeof answer === "object" && answer !== null && isListMissing(answer)) {
      context.log("warn", `"${operation.name}" returned no rows, but may have some: ${LIST_LEFT_OUT}`);
    }
    return answer;
  }
  const list = listOf(client, operation, params, signal);
  const rows = await list.toArray();
  if (list.unproven !== undefined) {
    context.log("warn", `"${operation.name}" may have more rows than these ${rows.length}: ${list.unproven}`);
  }
  const isOfDay = asOfNow !== undefined && context.day.isOneOfMany === undefined;
  if (rows.length === 0 && isOfDay) await refuseEmptied(operation, params, { client, context });
  return rows;
}

function listOf(
  client: Client,
  { name }: AnyOperation,
  params: unknown,
  signal: AbortSignal,
): Paged<unknown> {
  const [family = "", method = ""] = name.split(".");
  // The client has one function with the same name for each operation of the catalogue.
  const families = client as unknown as Record<string, Record<string, ListMethod>>;
  return families[family]![method]!(params, { signal });
}

type ListMethod = (params: unknown, options: { signal: AbortSignal }) => Paged<unknown>;

/** Parameters that only select a part of a list. */
const paging: ReadonlySet<string> = new Set(["limit", "cursor", "page"]);

/**
 * Rejects an empty list of today whose rows the broker has moved. Some time after the close the broker empties these
 * lists; from then on only the history contains the rows of the day.
 *
 * @throws {PastSlotError} If the history has rows of the day.
 */
async function refuseEmptied(
  { name, instead = "" }: AnyOperation,
  params: unknown,
  { client, context }: { client: Client; context: StepContext },
): Promise<void> {
  const { findOperation } = await import("../operations/mod.ts"); // only empty lists need it
  const history = findOperation(instead);
  const fields = history?.request.fields ?? {};
  // Parameters of a call are a plain object, which the client has checked.
  const asked = Object.entries(params as Readonly<Record<string, unknown>>).filter(([each]) =>
    !paging.has(each)
  );
  const isAlike = fields.from?.type.name === "date" && asked.every(([each]) => Object.hasOwn(fields, each));
  if (history === undefined || !isAlike) return;
  const { date, calendar } = slotDayAt(name, params, context);
  const session = calendar === undefined ? "unknown" : context.calendars.sessionOn(calendar, date);
  if (typeof session === "string" || context.now() < session.closeAt) return;
  try {
    const given = { ...Object.fromEntries(asked), from: date, to: date, limit: 1 };
    const answer = await client.call(history, given, { signal: context.signal });
    const rows: unknown = Array.isArray(answer) ? answer : answer?.rows;
    if (!Array.isArray(rows) || rows.length === 0) return;
  } catch (error) {
    if (!(error instanceof RejectedError || error instanceof UnmappedError)) throw error;
    return context.log("warn", `"${name}" is empty, and "${instead}" could not confirm it: ${error.message}`);
  }
  throw new PastSlotError(
    `Cannot read "${name}" for ${date}: it is empty, and "${instead}" has rows of that day, because the broker moves ` +
      `them after the close; use "${instead}"`,
    { code: "past" },
  );
}
