/**
 * Reads that answer as of now, and the day of the slot that they are read for: once that day is over, the answer
 * would be filed under the wrong one.
 *
 * @module
 */
import { CalendarUnknownError, calendarZone, type Mic, nextSession } from "../calendars/mod.ts";
import { calendarOfMarket } from "../day_book/market_days.ts";
import type { DayBookMarket } from "../day_book/types.ts";
import { SecurityType } from "../dictionaries/security_type.ts";
import { BrokerError } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";

/** The day that a run belongs to. */
export interface RunDay {
  /** Date of the slot's session; on a day without one, or without a calendar, the slot's own date in `zone`. */
  date: string;
  zone: string;
  /** Exchange whose sessions the recipe follows; absent when its schedule names none. */
  calendar?: Mic;
  /** The run is one of many of the day (`every`): what it reads is for its instant, not for the whole day. */
  isOneOfMany?: true;
}

/** What a step reads that answers as of now. */
export interface AsOfNow {
  /** In words: `"fills.today"`, or `account, quotes`. */
  reads: string;
  /** The operation that answers for a past day, where there is one. */
  instead?: string;
  /** Exchanges of the markets and securities that it asks about, as far as its parameters name them. */
  exchanges: readonly Mic[];
}

/** A slot, and when something is read for it; instants in epoch milliseconds. */
interface ReadFor {
  slotAt: number;
  day: RunDay;
  now: number;
}

/** A step as far as it matters here. */
interface Reading {
  id: string;
  needs: readonly string[];
  condition?: unknown;
  asOfNow?: AsOfNow;
}

/** The day of a slot is over, and what its step reads answers as of now. Nothing was sent. */
export class PastSlotError extends BrokerError {
  override readonly name: string = "PastSlotError";
}

/** Returns what an operation reads as of now; nothing for one that is asked for days. */
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

/** Returns the steps that read something as of now in every run: neither they nor what they need has an `if`. */
export function certainReads<Step extends Reading>(steps: readonly Step[]): (Step & { asOfNow: AsOfNow })[] {
  const certain = new Set<string>();
  return steps.flatMap((step) => {
    if (step.condition !== undefined || step.needs.some((id) => !certain.has(id))) return [];
    certain.add(step.id);
    return step.asOfNow === undefined ? [] : [{ ...step, asOfNow: step.asOfNow }];
  });
}

/** Returns what a recipe that is run as a step reads as of now in every run. */
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

/** Returns the exchanges of the markets and the kinds of securities among some values, each once. */
export function exchangesOf(value: unknown): Mic[] {
  const found = new Set<Mic>();
  const look = (each: unknown): void => {
    if (typeof each === "object" && each !== null) return Object.values(each).forEach(look);
    const mic = typeof each === "string" ? exchangeOf(each) : undefined;
    if (mic !== undefined) found.add(mic);
  };
  look(value);
  return [...found];
}

/** Kinds of securities begin with their country. */
const countries: Readonly<Record<string, DayBookMarket>> = {
  hk: "hk",
  us: "us",
  a: "shanghai",
  star: "shanghai",
};

function exchangeOf(name: string): Mic | undefined {
  const market = SecurityType.has(name) ? countries[name.split("-")[0]!] : name; // a text has a first part
  // A code table of the day book's markets: any other text is none of its keys.
  return Object.hasOwn(calendarOfMarket, market ?? "")
    ? calendarOfMarket[market as DayBookMarket]
    : undefined;
}

/**
 * Says why what answers as of now does not belong to a slot any more; nothing while it does.
 *
 * It belongs to the slot until midnight of the slot's day in the exchange's zone, and no longer than until the exchange
 * opens its next session. The day is that of the slot's session, or the slot's own date where that is later. A recipe
 * that follows no exchange goes by the exchanges that it asks about, and without these by the zone of its schedule.
 */
export function whyPast(
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
    const end = endOf(each, slotAt);
    if (now >= end.at) return end.text;
  }
  for (const mic of exchanges) {
    const opened = calendar === undefined || mic === calendar
      ? undefined
      : nextOpen(mic, ownDay(mic, slotAt).date);
    if (opened !== undefined && now >= opened.at) return opened.text;
  }
  return undefined;
}

/**
 * Refuses to read what answers as of now for a slot whose day is over.
 *
 * @throws {PastSlotError} Naming what answers for a past day, where there is something.
 */
export function refusePast(
  asOfNow: AsOfNow,
  { slot, day, now }: { slot: string; day: RunDay; now: () => number },
): void {
  const why = whyPast(asOfNow, { slotAt: Date.parse(slot), day, now: now() });
  if (why !== undefined) {
    throw new PastSlotError(`Cannot read ${asOfNow.reads} for ${day.date}: ${pastText(asOfNow, why)}`, {
      code: "past",
    });
  }
}

/** Says why a slot is too old for what answers as of now, and what to use in its place. */
export function pastText({ instead }: AsOfNow, why: string): string {
  return `the answer is as of now, and ${why}; ${
    instead === undefined
      ? "nothing answers for a past day, so run the recipe by hand for today"
      : `use "${instead}" for a past day`
  }`;
}

/** The day of a slot at the exchange that an operation asks about, or at the one that the recipe follows. */
export function slotDayAt(
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

/** The day of an instant at an exchange. */
function ownDay(mic: Mic, at: number): RunDay {
  const zone = calendarZone[mic];
  return { date: dateIn(zone, at).toString(), zone, calendar: mic };
}

const dateIn = (zone: string, at: number) =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate();

/** When what is read does not belong to a slot any more. */
function endOf({ date, zone, calendar }: RunDay, slotAt: number): End {
  const own = dateIn(zone, slotAt).toString();
  const last = own > date ? own : date;
  const midnight = Temporal.PlainDate.from(last).add({ days: 1 }).toZonedDateTime(zone);
  const end = { at: midnight.epochMilliseconds, text: `${last} is over in ${zone}` };
  // A slot after the midnight of its session has its own date, until the next session opens.
  const opened = calendar !== undefined && last > date ? nextOpen(calendar, date) : undefined;
  return opened !== undefined && opened.at < end.at ? opened : end;
}

/** When the first session after a day opens; nothing where the calendar does not know. */
function nextOpen(mic: Mic, date: string): End | undefined {
  try {
    const session = nextSession(mic, date);
    return { at: session.openAt, text: `${mic} has opened its session of ${session.date}` };
  } catch (error) {
    if (error instanceof CalendarUnknownError) return undefined;
    throw error;
  }
}
