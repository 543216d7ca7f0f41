/**
 * Computes slots: the instants that a schedule names. Depends only on the schedule and the calendars.
 *
 * @module
 */
import { Cron } from "croner";
import {
  addDays,
  type Calendars,
  calendarZone,
  dateAt,
  neighbourDay,
  type SessionTime,
  sessionTimeOf,
  showInstant,
  type TradingDay,
  tradingDay,
  usualDay,
  wallInstant,
} from "../../calendars/mod.ts";
import type {
  CalendarSchedule,
  CompiledRecipe,
  CompiledSchedule,
  CronSchedule,
  EverySchedule,
} from "../../recipes/compiled.ts";
import { SHORTEST_EVERY_MS } from "../../recipes/compile/written_times.ts";

/** One instant that a schedule names. */
export interface Slot {
  /** Epoch milliseconds. */
  at: number;
  /** Last part of the run key: the session's date, or the instant in UTC. */
  key: string;
  /** Date of the session that the slot belongs to, local to the exchange. */
  session?: string;
  /** Why the slot is not run. */
  skipped?: "holiday" | "half_day";
  /** The calendar does not cover the day; it counts as a session because it is a weekday. */
  assumed?: true;
}

const DAY_MS = 86_400_000;
/** How far ahead the next slots are searched. Later slots are not found. */
const HORIZON_MS = 3 * 366 * DAY_MS;

/** Returns the slots after `after`, up to and including `until`, oldest first. */
export function slotsBetween(
  calendars: Calendars,
  schedule: CompiledSchedule,
  after: number,
  until: number,
): Slot[] {
  return [...eachSlot(calendars, schedule, after, until)];
}

/** Maximum number of skipped slots of one holiday that {@linkcode nextSlots} lists. */
const MOST_SKIPPED = 10;

/**
 * Returns the next `count` slots that are not skipped, and the skipped slots between them: of each holiday the first
 * ten, because a schedule may have a slot each minute.
 */
export function nextSlots(
  calendars: Calendars,
  schedule: CompiledSchedule,
  after: number,
  count: number,
): Slot[] {
  const slots: Slot[] = [];
  const until = after + HORIZON_MS;
  let found = 0;
  for (let from: number | undefined = after; from !== undefined;) {
    const start: number = from;
    from = undefined;
    const skipped = { day: "", count: 0 };
    for (const slot of eachSlot(calendars, schedule, start, until)) {
      slots.push(slot);
      if (slot.skipped === undefined && ++found >= count) break;
      if (slot.skipped !== "holiday" || slot.session === undefined) continue;
      if (slot.session !== skipped.day) Object.assign(skipped, { day: slot.session, count: 0 });
      if (++skipped.count < MOST_SKIPPED || schedule.form !== "cron" || schedule.onlyIn === undefined) {
        continue;
      }
      // The rest of the holiday need not be searched.
      from = wallInstant(addDays(slot.session, 1), "00:00", calendarZone[schedule.onlyIn]) - 1;
      break;
    }
  }
  return slots;
}

/** Yields the slots after `after`, up to and including `until`, oldest first. */
export function* eachSlot(
  calendars: Calendars,
  schedule: CompiledSchedule,
  after: number,
  until: number,
): Generator<Slot> {
  if (schedule.form === "calendar") yield* calendarSlots(calendars, schedule, after, until);
  else if (schedule.form === "cron") yield* cronSlots(calendars, schedule, after, until);
  else if (schedule.while === undefined) yield* everySlots(schedule, after, until);
  else yield* gatedSlots(calendars, schedule, schedule.while, after, until);
}

function* calendarSlots(
  calendars: Calendars,
  schedule: CalendarSchedule,
  after: number,
  until: number,
): Generator<Slot> {
  const { mic, days, at, halfDays } = schedule;
  const timeOf = (day: TradingDay) =>
    "time" in at ? wallInstant(day.date, at.time, calendarZone[mic]) : sessionTimeOf(mic, day, at);
  const everyDay = days === "every-session" && halfDays !== "only";
  for (const date of datesAround(schedule.mic, "time" in at ? 0 : at.offsetMs, after, until)) {
    const day = tradingDay(calendars, mic, date);
    if (day === "weekend" || (day === "holiday" && !everyDay)) continue;
    if (halfDays === "only" && day !== "holiday" && !day.halfDay) continue;
    const time = timeOf(day === "holiday" ? usualDay(calendars, mic, date) : day);
    if (time <= after || time > until) continue;
    if (day === "holiday") {
      yield { at: time, key: date, session: date, skipped: "holiday" };
    } else if (isNamed(calendars, schedule, day)) {
      yield {
        at: time,
        key: date,
        session: date,
        ...(halfDays === "skip" && day.halfDay ? { skipped: "half_day" as const } : {}),
        ...(day.assumed ? { assumed: true as const } : {}),
      };
    }
  }
}

/** Returns whether the schedule includes this session: every session, or the first or last of a period. */
function isNamed(calendars: Calendars, { mic, days }: CalendarSchedule, { date }: TradingDay): boolean {
  if (days === "every-session") return true;
  let known = named.get(calendars);
  if (known === undefined) named.set(calendars, known = new Recent(5_000));
  return known.get(`${mic} ${days} ${date}`, () => isFirstOrLast(calendars, mic, days, date));
}

function isFirstOrLast(
  calendars: Calendars,
  mic: CalendarSchedule["mic"],
  days: CalendarSchedule["days"],
  date: string,
): boolean {
  const period = days.slice(days.lastIndexOf("-") + 1);
  const neighbour = neighbourDay(calendars, mic, date, days.startsWith("first") ? -1 : 1);
  return periodOf(date, period) !== periodOf(neighbour.date, period);
}

function periodOf(date: string, period: string): string {
  const day = Temporal.PlainDate.from(date);
  if (period === "week") return day.subtract({ days: day.dayOfWeek - 1 }).toString();
  return period === "month" ? date.slice(0, 7) : `${day.year} Q${Math.ceil(day.month / 3)}`;
}

/** Yields the dates whose session times, moved by an offset, may be within a span. */
function* datesAround(mic: CalendarSchedule["mic"], offsetMs: number, after: number, until: number) {
  const zone = calendarZone[mic];
  const dateOf = (at: number) => dates.get(`${zone} ${at}`, () => dateAt(at, zone));
  const last = dateOf(until - offsetMs + DAY_MS);
  for (let date = dateOf(after - offsetMs - DAY_MS); date <= last; date = nextDates.get(date, addDay)) {
    yield date;
  }
}

const addDay = (date: string) => addDays(date, 1);

function* cronSlots(
  calendars: Calendars,
  schedule: CronSchedule,
  after: number,
  until: number,
): Generator<Slot> {
  const { onlyIn } = schedule;
  const pattern = patternOf(schedule);
  for (let last = after;;) {
    const at = pattern.next.get(last, (from) => nextTime(pattern, from));
    if (at > until || at === Infinity) return;
    // At a clock change, croner may return an earlier time. Such a time is ignored.
    const isLater = at > last;
    last = Math.max(at, last + 1000);
    if (!isLater) continue;
    const key = showInstant(at);
    if (onlyIn === undefined) {
      yield { at, key };
      continue;
    }
    const session = dateAt(at, calendarZone[onlyIn]);
    const day = tradingDay(calendars, onlyIn, session);
    // Record weekday holidays. Weekends leave no row, so their times need not be searched one by one.
    if (day === "weekend") {
      last = Math.max(last, wallInstant(addDays(session, 1), "00:00", calendarZone[onlyIn]) - 1);
    } else if (day === "holiday") yield { at, key, session, skipped: "holiday" };
    else yield { at, key, session, ...(day.assumed ? { assumed: true as const } : {}) };
  }
}

/**
 * Returns the first multiple of a period after an instant, counted from the epoch.
 *
 * @throws {RangeError} If the period is too short: a schedule from a damaged store would have slots without end.
 */
function firstAfter(everyMs: number, after: number): number {
  if (!(everyMs >= SHORTEST_EVERY_MS)) {
    throw new RangeError(
      `Cannot list the slots of a schedule: its interval is ${everyMs} ms, and the shortest is ${SHORTEST_EVERY_MS} ms`,
    );
  }
  return (Math.floor(after / everyMs) + 1) * everyMs;
}

function* everySlots({ everyMs }: EverySchedule, after: number, until: number): Generator<Slot> {
  for (let at = firstAfter(everyMs, after); at <= until; at += everyMs) yield { at, key: showInstant(at) };
}

function* gatedSlots(
  calendars: Calendars,
  { everyMs }: EverySchedule,
  { mic, from, to }: { mic: CalendarSchedule["mic"]; from: SessionTime; to: SessionTime },
  after: number,
  until: number,
): Generator<Slot> {
  // Windows of neighbouring sessions may touch. A slot that is in two windows belongs to the earlier session.
  let last = after;
  const furthestMs = Math.abs(from.offsetMs) > Math.abs(to.offsetMs) ? from.offsetMs : to.offsetMs;
  for (const date of datesAround(mic, furthestMs, after, until + Math.abs(furthestMs))) {
    const day = tradingDay(calendars, mic, date);
    if (typeof day === "string") continue;
    const begin = Math.max(last, sessionTimeOf(mic, day, from) - 1);
    const end = Math.min(until, sessionTimeOf(mic, day, to));
    for (let at = firstAfter(everyMs, begin); at <= end; at += everyMs) {
      yield { at, key: showInstant(at), session: date, ...(day.assumed ? { assumed: true as const } : {}) };
      last = at;
    }
  }
}

/** Keeps recent results, because similar schedules need the same instants. */
class Recent<Key, Value> {
  readonly #values = new Map<Key, Value>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: Key, compute: (key: Key) => Value): Value {
    let value = this.#values.get(key);
    if (value === undefined) {
      if (this.#values.size >= this.#most) this.#values.clear();
      this.#values.set(key, value = compute(key));
    }
    return value;
  }
}

/** Local dates by zone and instant. */
const dates = new Recent<string, string>(1_000);
/** The date after a date. */
const nextDates = new Recent<string, string>(1_000);

/** Whether a session is the first or last of a period, by calendars and by exchange, period and date. */
const named = new WeakMap<Calendars, Recent<string, boolean>>();

/** A cron pattern, and the next time after each recent instant; `Infinity` if there is no next time. */
interface Pattern {
  text: string;
  timezone: string;
  cron: Cron;
  /**
   * The pattern at a fixed offset from UTC, by offset in minutes. At a fixed offset, croner computes times ten times
   * faster.
   */
  atOffset: Map<number, Cron>;
  next: Recent<number, number>;
}

/** Patterns by zone and text. A pattern of croner takes about 50 kB, and many schedules share one. */
const patterns = new Map<string, Pattern>();

/**
 * Reads a pattern of five fields, or of six fields of which the first is for seconds. With `no-wildcard`, lists such as
 * `30 1,14` follow the wall clock through a clock change, like single values. With croner's default, they do not.
 */
export function readPattern(cron: string, timezone: string): Cron {
  // Without a function, croner starts no timer.
  return new Cron(cron, { timezone, ...cronerOptions });
}

const cronerOptions = { mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" } as const;

function patternOf({ cron, timezone }: CronSchedule): Pattern {
  const key = `${timezone} ${cron}`;
  let pattern = patterns.get(key);
  if (pattern === undefined) {
    const read = { text: cron, timezone, cron: readPattern(cron, timezone) };
    patterns.set(key, pattern = { ...read, atOffset: new Map(), next: new Recent(50) });
  }
  return pattern;
}

/** Returns the next time of a pattern after an instant; `Infinity` if there is none. */
function nextTime(pattern: Pattern, after: number): number {
  const steady = steadyAt(pattern.timezone, after);
  if (after >= steady.from && after < steady.until) {
    let cron = pattern.atOffset.get(steady.offsetMin);
    if (cron === undefined) {
      cron = new Cron(pattern.text, { utcOffset: steady.offsetMin, ...cronerOptions });
      pattern.atOffset.set(steady.offsetMin, cron);
    }
    const at = cron.nextRun(new Date(after))?.getTime();
    if (at !== undefined && at < steady.until) return at;
  }
  return pattern.cron.nextRun(new Date(after))?.getTime() ?? Infinity;
}

/** A span of time in which the clock of a zone does not change. */
interface Steady {
  /** The clock changes before and after the span, epoch milliseconds; infinite if there is none. */
  changedAt: number;
  changesAt: number;
  /**
   * From a day after the last clock change until a day before the next one; empty if the offset is not in whole
   * minutes.
   */
  from: number;
  until: number;
  offsetMin: number;
}

/** The span without a clock change that was used last, by zone. */
const steadyTimes = new Map<string, Steady>();

function steadyAt(zone: string, at: number): Steady {
  const known = steadyTimes.get(zone);
  if (known !== undefined && at >= known.changedAt && at < known.changesAt) return known;
  const local = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
  // "previous" excludes a change at this instant, so the search begins after it.
  const changedAt = local.add({ nanoseconds: 1 }).getTimeZoneTransition("previous")?.epochMilliseconds ??
    -Infinity;
  const changesAt = local.getTimeZoneTransition("next")?.epochMilliseconds ?? Infinity;
  const offsetMin = local.offsetNanoseconds / 60e9;
  const until = Number.isInteger(offsetMin) ? changesAt - DAY_MS : -Infinity;
  const steady = { changedAt, changesAt, from: changedAt + DAY_MS, until, offsetMin };
  steadyTimes.set(zone, steady);
  return steady;
}

/** In a span of at most this length, slots are listed one by one. */
const LISTED_MS = 10_000;

/**
 * Returns the latest slot after `after`, up to and including `until`; `undefined` if there is none. Uses bisection
 * until the span is short, so that the search is fast even if the schedule has a slot every 100 ms.
 */
export function latestSlot(
  calendars: Calendars,
  schedule: CompiledSchedule,
  after: number,
  until: number,
): Slot | undefined {
  let from = after;
  let to = until;
  while (to - from > LISTED_MS) {
    const middle = Math.floor((from + to) / 2);
    if (firstSlot(calendars, schedule, middle, to) !== undefined) from = middle;
    else to = middle;
  }
  return [...eachSlot(calendars, schedule, from, to)].at(-1);
}

/** Returns the first slot after `after`, up to and including `until`; `undefined` if there is none. */
export function firstSlot(
  calendars: Calendars,
  schedule: CompiledSchedule,
  after: number,
  until: number,
): Slot | undefined {
  for (const slot of eachSlot(calendars, schedule, after, until)) return slot;
  return undefined;
}

/** Length of time that one search for the next slot covers. */
const LOOK_AHEAD_MS = 400 * 86_400_000;
/** Maximum number of slots of one schedule that one tick lists; beyond that, the oldest are dropped. */
const MOST_SLOTS = 20_000;

/** Slots that a tick finds. */
interface TickSlots {
  slots: Slot[];
  /** Number of slots that get no row, because they are too old or there are too many. */
  passedOver: number;
}

/** A schedule of a recipe, and its next slot. */
export class ScheduleCursor {
  readonly recipe: CompiledRecipe;
  readonly schedule: CompiledSchedule;
  /** The schedule as text; a different text means that the schedule was edited. */
  readonly spec: string;
  #base = Infinity;
  #next = -Infinity;

  constructor(recipe: CompiledRecipe, schedule: CompiledSchedule) {
    this.recipe = recipe;
    this.schedule = schedule;
    this.spec = JSON.stringify(schedule);
  }

  /** The first instant after the last listing at which there may be a slot, epoch milliseconds. */
  get next(): number {
    return this.#next;
  }

  /** Finds the next slot after an instant. */
  seek(calendars: Calendars, base: number): void {
    this.#base = base;
    const { value } = eachSlot(calendars, this.schedule, base, base + LOOK_AHEAD_MS).next();
    this.#next = value?.at ?? base + LOOK_AHEAD_MS;
  }

  /** Lists the slots after the watermark up to now that are within the look-back. */
  list(calendars: Calendars, watermark: number, now: number, lookbackMs: number): TickSlots {
    if (now <= watermark || (watermark >= this.#base && now < this.#next)) {
      return { slots: [], passedOver: 0 };
    }
    let slots: Slot[] = [];
    let passedOver = 0;
    for (const slot of eachSlot(calendars, this.schedule, watermark, now)) {
      if (slot.at <= now - lookbackMs) passedOver++;
      else slots.push(slot);
      if (slots.length >= 2 * MOST_SLOTS) {
        passedOver += MOST_SLOTS;
        slots = slots.slice(MOST_SLOTS);
      }
    }
    if (slots.length > MOST_SLOTS) {
      passedOver += slots.length - MOST_SLOTS;
      slots = slots.slice(-MOST_SLOTS);
    }
    this.seek(calendars, now);
    return { slots, passedOver };
  }
}
