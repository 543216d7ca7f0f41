/**
 * Calls operations of the catalogue as steps.
 *
 * Some operations report only present data. They are rejected after the day of the slot is over, because the answer
 * would be stored under the wrong day.
 *
 * @module
 */
import { type Calendars, CalendarUnknownError, calendarZone, type Mic } from "../../calendars/mod.ts";
import { calendarOfMarket } from "../../day_book/market_days.ts";
import type { DayBookMarket } from "../../day_book/types.ts";
import { SecurityType } from "../../dictionaries/security_type.ts";
import { BrokerError, RejectedError, UnmappedError } from "../../errors.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type { Client } from "../../client/client.ts";
import type { Paged } from "../../client/paging.ts";
import { isListMissing, LIST_LEFT_OUT } from "../../operations/wire_rows.ts";
import type { AsOfNow, RunDay, StepContext } from "../compiled.ts";
import { lazily } from "../../lazy.ts";

const loadCatalogue = lazily(() => import("../../operations/mod.ts"));

/** A slot, and the time of a read for it; instants in epoch milliseconds. */
interface ReadFor {
  slotAt: number;
  day: RunDay;
  now: number;
}

/** The members of a step that decide whether it reads present data. */
interface Reading {
  id: string;
  needs: readonly string[];
  condition?: unknown;
  asOfNow?: AsOfNow;
}

/** Thrown if a step reads present data that no longer belongs to its slot. */
export class PastSlotError extends BrokerError {
  override readonly name: string = "PastSlotError";
}

/** Returns the present data that an operation reads; `undefined` for an operation with dates. */
export function asOfNowOf(operation: AnyOperation, params: unknown): AsOfNow | undefined {
  if (operation.answers !== "now") return undefined;
  const { name, instead } = operation;
  const [family = ""] = name.split(".");
  return {
    reads: `"${name}"`,
    ...instead !== undefined && { instead },
    exchanges: exchangesOf([family, params]),
  };
}

/**
 * Returns the steps that read present data in every run, because neither they nor the steps they need have an `if`.
 */
export function certainReads<Step extends Reading>(steps: readonly Step[]): (Step & { asOfNow: AsOfNow })[] {
  const certain = new Set<string>();
  return steps.flatMap((step) => {
    if (step.condition !== undefined || step.needs.some((id) => !certain.has(id))) return [];
    certain.add(step.id);
    return step.asOfNow === undefined ? [] : [{ ...step, asOfNow: step.asOfNow }];
  });
}

/** Returns the present data that a recipe reads in every run, for a step that runs the recipe. */
export function nestedAsOfNow(recipe: string, steps: readonly Reading[]): AsOfNow | undefined {
  const all = certainReads(steps).map(({ asOfNow }) => asOfNow);
  const [first] = all;
  if (first === undefined) return undefined;
  return {
    ...first,
    reads: `${first.reads} of recipe "${recipe}"`,
    exchanges: [...new Set(all.flatMap(({ exchanges }) => exchanges))],
  };
}

/** Returns the exchanges of the markets and security kinds among some values, without duplicates. */
export function exchangesOf(value: unknown): Mic[] {
  const found = new Set<Mic>();
  const visit = (each: unknown): void => {
    if (typeof each === "object" && each !== null) return Object.values(each).forEach(visit);
    const mic = typeof each === "string" ? exchangeOf(each) : undefined;
    if (mic !== undefined) found.add(mic);
  };
  visit(value);
  return [...found];
}

/** Market of a kind of security, by the first part of its name: `us-stock` is traded in `us`. */
const countries: Readonly<Record<string, DayBookMarket>> = {
  hk: "hk",
  us: "us",
  a: "shanghai",
  star: "shanghai",
};

function exchangeOf(name: string): Mic | undefined {
  const market = SecurityType.has(name) ? countries[name.split("-")[0]!] : name; // `split` returns at least one part
  // The table has the names of the day book's markets as keys; other texts have no exchange.
  return Object.hasOwn(calendarOfMarket, market ?? "")
    ? calendarOfMarket[market as DayBookMarket]
    : undefined;
}

/**
 * Returns why present data no longer belongs to a slot; `undefined` while it does.
 *
 * Present data belongs to the slot until the slot's day ends at midnight in the exchange's time zone, or until the
 * exchange opens its next session, if that is earlier. The slot's day is the day of its session, or the slot's own
 * date if that is later. A recipe without an exchange uses the exchanges that it reads, or else the time zone of its
 * schedule. If a recipe with an exchange also reads another exchange, the next session of the other one counts too.
 */
export function whyPast(
  calendars: Calendars,
  { exchanges }: Pick<AsOfNow, "exchanges">,
  { slotAt, day, now }: ReadFor,
): string | undefined {
  const { calendar, zone } = day;
  const days = calendar !== undefined
    ? [day]
    : exchanges.length > 0
    ? exchanges.map((mic) => ownDay(mic, slotAt))
    : [{ date: day.date, zone }];
  for (const each of days) {
    const end = endOf(calendars, each, slotAt);
    if (now >= end.at) return end.text;
  }
  for (const mic of exchanges) {
    const opened = calendar === undefined || mic === calendar
      ? undefined
      : nextOpen(calendars, mic, ownDay(mic, slotAt).date);
    if (opened !== undefined && now >= opened.at) return opened.text;
  }
  return undefined;
}

/**
 * Rejects a read of present data for a slot whose day is over.
 *
 * @throws {PastSlotError} If the day is over. The message names the operation for a past day, if there is one.
 */
export function refusePast(
  asOfNow: AsOfNow,
  { slot, day, now, calendars }: { slot: string; day: RunDay; now: () => number; calendars: Calendars },
): void {
  const why = whyPast(calendars, asOfNow, { slotAt: Date.parse(slot), day, now: now() });
  if (why !== undefined) {
    throw new PastSlotError(`Cannot read ${asOfNow.reads} for ${day.date}: ${pastText(asOfNow, why)}`, {
      code: "past",
    });
  }
}

/** Returns why a slot is too old for present data, and what to use instead. */
export function pastText({ instead }: AsOfNow, why: string): string {
  return `the answer is as of now, and ${why}; ${
    instead === undefined
      ? "no operation returns it for a past day, so run the recipe by hand for today"
      : `use "${instead}" for a past day`
  }`;
}

/** Returns the day of a slot at the exchange that an operation reads; without one, at the recipe's exchange. */
function slotDayAt(
  operation: string,
  params: unknown,
  { slot, day }: { slot: string; day: RunDay },
): RunDay {
  const [mic] = exchangesOf([operation.split("."), params]);
  return mic === undefined || mic === day.calendar ? day : ownDay(mic, Date.parse(slot));
}

interface End {
  at: number;
  text: string;
}

/** Returns the day of an instant at an exchange. */
function ownDay(mic: Mic, at: number): RunDay {
  const zone = calendarZone[mic];
  return { date: dateIn(zone, at).toString(), zone, calendar: mic };
}

const dateIn = (zone: string, at: number) =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate();

/** Returns when present data no longer belongs to a slot. */
function endOf(calendars: Calendars, { date, zone, calendar }: RunDay, slotAt: number): End {
  const own = dateIn(zone, slotAt).toString();
  const last = own > date ? own : date;
  const midnight = Temporal.PlainDate.from(last).add({ days: 1 }).toZonedDateTime(zone);
  const end = { at: midnight.epochMilliseconds, text: `${last} is over in ${zone}` };
  // A slot after midnight has a later date than its session. Its data is valid until the next session opens.
  const opened = calendar !== undefined && last > date ? nextOpen(calendars, calendar, date) : undefined;
  return opened !== undefined && opened.at < end.at ? opened : end;
}

/** Returns when the first session after a day opens; `undefined` if the calendar does not cover that session. */
function nextOpen(calendars: Calendars, mic: Mic, date: string): End | undefined {
  try {
    const session = calendars.nextSession(mic, date);
    return { at: session.openAt, text: `${mic} has opened its session of ${session.date}` };
  } catch (error) {
    if (error instanceof CalendarUnknownError) return undefined;
    throw error;
  }
}

/**
 * Calls an operation once; reads lists to their end.
 *
 * @throws {PastSlotError} If the operation reads present data, and the day of the slot is over (nothing was sent) or
 * the broker has already emptied the list.
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
  // Do not abort a write, because its outcome would then be unknown.
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
  const { findOperation } = await loadCatalogue(); // loaded only for empty lists
  const history = findOperation(instead);
  const fields = history?.request.fields ?? {};
  // The cast is safe: the client has checked that these parameters are a plain object.
  const asked = Object.entries(params as Readonly<Record<string, unknown>>).filter(([each]) =>
    !paging.has(each)
  );
  const takesSameParams = fields.from?.type.name === "date" &&
    asked.every(([each]) => Object.hasOwn(fields, each));
  if (history === undefined || !takesSameParams) return;
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
