/**
 * Why slots of a day have no run: nobody looked, the recipe was not there yet, or they are still to come.
 *
 * @module
 */
import { coverage, isProjected } from "../calendars/mod.ts";
import type { CompiledRecipe, CompiledSchedule, RecipeClass } from "../steps/compiled.ts";
import type { Ledger } from "./ledger.ts";
import type { ScheduleRow } from "./listing.ts";
import { dateAt, tradingDay } from "./moments.ts";
import { GONE, pauseOf } from "./paused.ts";
import { calendarOf, zoneOf } from "./plan_run.ts";
import { prunedBefore } from "./retention.ts";
import { runKeyOf } from "./run_key.ts";
import type { RunRow } from "./run_rows.ts";
import { eachSlot, type Slot } from "./slots.ts";
import { showTime } from "./why_run.ts";
import { windowOn } from "./write_window.ts";

const DAY_MS = 86_400_000;

/** What is asked about: a recipe, or what the ledger remembers of one that is gone. */
export interface WhySubject extends Pick<CompiledRecipe, "name" | "schedules" | "window"> {
  class?: RecipeClass;
  /** Only the ledger knows it. */
  isGone?: true;
}

interface Asked {
  date: string;
  now: number;
  rows: readonly RunRow[];
}

interface NamedSlot {
  schedule: CompiledSchedule;
  slot: Slot;
}

/** By the id of the schedule; each has one. */
type Reasons = ReadonlyMap<string, GapReasons>;

/** Says why slots of the day have no row, each reason once, in the order of time; of a day without any slot, why. */
export function whyNothing(ledger: Ledger, recipe: WhySubject, { date, now, rows }: Asked): string[] {
  const keys = new Set(rows.map(({ run_key }) => run_key));
  const slots = recipe.schedules.flatMap((schedule) =>
    slotsOn(schedule, date).map((slot): NamedSlot => ({ schedule, slot }))
  ).sort((a, b) => a.slot.at - b.slot.at);
  const [first] = recipe.schedules;
  const isOver = date < dateAt(now, first === undefined ? "UTC" : zoneOf(first));
  const nothing = `nothing ${isOver ? "was" : "is"} to run`;
  if (slots.length === 0) return rows.length === 0 ? [`${nothing}: ${whyNoSlot(recipe, date, isOver)}`] : [];
  const missing = slots.filter(({ schedule, slot }) => !keys.has(runKeyOf(recipe.name, schedule, slot)));
  const named = missing.filter(({ slot }) => slot.skipped === undefined);
  const reasons: Reasons = new Map(
    recipe.schedules.map((schedule) => [schedule.id, new GapReasons(ledger, recipe, schedule)]),
  );
  const leftOut = missing.find(({ slot }) => slot.skipped !== undefined);
  return [
    ...leftOut !== undefined && rows.length === 0
      ? [`${nothing}: ${whyLeftOut(recipe, leftOut, date, isOver)}`]
      : [],
    ...gapsOf(recipe, reasons, named.filter(({ slot }) => slot.at <= now)),
    ...nextOf(recipe, named.filter(({ slot }) => slot.at > now), rows.length === 0),
    ...named.some(({ schedule, slot }) => slot.at > now || reasons.get(schedule.id)!.of(slot).isOpen)
      ? pauseText(ledger, recipe)
      : [],
  ];
}

/** Slots without a row come into the ledger as skipped while the recipe is paused. */
function pauseText(ledger: Ledger, { name }: WhySubject): string[] {
  const why = pauseOf(ledger, name);
  return why === undefined
    ? []
    : [`the recipe is paused (${why}), so slots are skipped until: hsgate resume ${name}`];
}

function slotsOn(schedule: CompiledSchedule, date: string): Slot[] {
  const noon = Date.parse(`${date}T12:00:00Z`);
  return [...eachSlot(schedule, noon - 2 * DAY_MS, noon + 3 * DAY_MS)].filter((slot) =>
    (slot.session ?? dateAt(slot.at, zoneOf(schedule))) === date
  );
}

function whyNoSlot(recipe: WhySubject, date: string, isOver: boolean): string {
  for (const schedule of recipe.schedules) {
    const mic = calendarOf(recipe, schedule);
    const day = mic === undefined ? undefined : tradingDay(mic, date);
    if (day === "weekend") return `${date} is a weekend`;
    if (day === "holiday") return closed(recipe, schedule, date, isOver);
  }
  return recipe.schedules.length === 0
    ? "the recipe has no schedule"
    : `no schedule of the recipe names ${date}`;
}

function whyLeftOut(
  recipe: WhySubject,
  { schedule, slot }: NamedSlot,
  date: string,
  isOver: boolean,
): string {
  if (slot.skipped === "holiday") return closed(recipe, schedule, date, isOver);
  return `${date} ${isOver ? "was" : "is"} a half-day, which the schedule leaves out`;
}

function closed(recipe: WhySubject, schedule: CompiledSchedule, date: string, isOver: boolean): string {
  const mic = calendarOf(recipe, schedule);
  if (mic === undefined) return "the exchange is closed"; // no other schedule leaves a holiday out
  const guess = isProjected(mic, date)
    ? ", as its calendar guesses: the exchange has not announced the day"
    : "";
  return `${mic} ${isOver ? "was" : "is"} closed on ${date}${guess}`;
}

/** Slots that have passed without a row, by the reason. */
function gapsOf(recipe: WhySubject, reasons: Reasons, past: readonly NamedSlot[]): string[] {
  const gaps = Map.groupBy(past, ({ schedule, slot }) => {
    const { text } = reasons.get(schedule.id)!.of(slot); // made for every schedule
    return `${schedule.id}\n${text}`;
  });
  return [...gaps.values()].map((gap) => {
    const [{ schedule, slot: first }, last] = [gap[0]!, gap.at(-1)!.slot]; // a group has one at least
    const { text, isOpen } = reasons.get(schedule.id)!.of(first);
    const of = recipe.schedules.length === 1 ? "" : ` of "${schedule.id}"`;
    const zone = zoneOf(schedule);
    if (gap.length === 1) return `nothing${of} ran at ${showSlot(first.at, zone)}: ${text}`;
    const span = `from ${showSpan(first.at, last.at, zone)}`;
    return isOpen
      ? `${gap.length} slots${of} ${span} have no row yet: ${text}`
      : `nothing${of} ran ${span} (${gap.length} slots): ${text}`;
  });
}

/** Why slots of one schedule have no row. */
class GapReasons {
  readonly #row: ScheduleRow | undefined;
  readonly #began: readonly { at: number; kind: string }[];
  readonly #zone: string;
  readonly #goneAt: number | undefined;
  readonly #prunedBefore: number | undefined;

  constructor(ledger: Ledger, { name }: WhySubject, schedule: CompiledSchedule) {
    this.#zone = zoneOf(schedule);
    this.#prunedBefore = prunedBefore(ledger);
    this.#row = ledger.get<ScheduleRow>(
      "select * from schedule where recipe = ? and schedule_id = ?",
      name,
      schedule.id,
    );
    this.#goneAt = ledger.get<{ at: number }>(
      `select at from event where run_key is null and kind = 'recipe_gone' and data = ?
        order by at desc, seq desc limit 1`,
      JSON.stringify({ recipe: name }),
    )?.at;
    this.#began = ledger.all<{ at: number; kind: string; data: string }>(
      `select at, kind, data from event where run_key is null
        and kind in ('schedule_new', 'schedule_edited', 'schedule_back', 'passed_over') order by at, seq`,
    ).filter(({ data }) => {
      const about = JSON.parse(data) as { recipe: string; schedule: string }; // written where slots are listed
      return about.recipe === name && about.schedule === schedule.id;
    });
  }

  /** `isOpen` when a row is still to come. */
  of({ at }: Slot): { text: string; isOpen: boolean } {
    if (this.#prunedBefore !== undefined && at < this.#prunedBefore) {
      const until = showTime(this.#prunedBefore, this.#zone);
      return {
        text: `the ledger has removed runs that ended before ${until}, as they were too old`,
        isOpen: false,
      };
    }
    if (this.#row === undefined) {
      return {
        text: "no scheduler has seen this schedule yet, and one begins with what comes after it",
        isOpen: false,
      };
    }
    if (this.#row.watermark < at && this.#row.paused_reason === GONE) {
      const since = this.#goneAt === undefined
        ? ""
        : `, as a scheduler found at ${showTime(this.#goneAt, this.#zone)}`;
      return { text: `the recipe's file is gone${since}; it goes on from when that is back`, isOpen: false };
    }
    if (this.#row.watermark < at) {
      const text = `no scheduler has looked since ${
        showTime(this.#row.watermark, this.#zone)
      }; a slot gets its row when one does: hsgate schedule`;
      return { text, isOpen: true };
    }
    const began = this.#began.find((event) => event.at >= at);
    return { text: this.#told(began), isOpen: false };
  }

  #told(began: { at: number; kind: string } | undefined): string {
    if (began === undefined) return "the ledger does not tell why";
    const when = showTime(began.at, this.#zone);
    switch (began.kind) {
      case "schedule_new":
        return `the schedule was first seen at ${when}`;
      case "schedule_edited":
        return `the schedule was edited at ${when}`;
      case "schedule_back":
        return `the recipe was away until ${when}`;
      default:
        return `it was older than the lookback when a scheduler looked again at ${when}`;
    }
  }
}

/** The next slot of each schedule, and what will become of it. */
function nextOf(
  recipe: WhySubject,
  coming: readonly NamedSlot[],
  isFirst: boolean,
): string[] {
  const firsts = [...Map.groupBy(coming, ({ schedule }) => schedule.id).values()].map(([first]) => first!); // not empty
  return firsts.map(({ schedule, slot }) => {
    const which = isFirst ? "the slot" : "the next slot";
    const of = recipe.schedules.length === 1 ? "" : ` of "${schedule.id}"`;
    return `${isFirst ? "nothing yet: " : ""}${which}${of} is at ${showSlot(slot.at, zoneOf(schedule))}${
      fateOf(recipe, schedule, slot)
    }`;
  });
}

/** What is to be known of a slot that is to come, as far as the calendar and the window of the recipe tell. */
function fateOf(recipe: WhySubject, schedule: CompiledSchedule, slot: Slot): string {
  const zone = zoneOf(schedule);
  const mic = calendarOf(recipe, schedule);
  const day = slot.session ?? dateAt(slot.at, zone);
  const away = recipe.isGone ? ", if the recipe is there again by then" : "";
  if (mic !== undefined) {
    const { from, through } = coverage(mic);
    const isOutside = day < from || day > through;
    const guess = isOutside
      ? `if ${mic} trades on that day, which is assumed: its calendar covers ${from} to ${through}`
      : isProjected(mic, day)
      ? `if ${mic} trades on that day, which its calendar guesses: the exchange has not announced it`
      : undefined;
    if (guess !== undefined) {
      return `${away}, ${guess}${
        recipe.class === "write"
          ? "; a recipe that writes skips such a day, unless a newer calendar is taken up before: hsgate calendar update FILE"
          : ""
      }`;
    }
  }
  const window = recipe.class === undefined
    ? undefined
    : windowOn({ ...recipe, class: recipe.class }, slot.at);
  if (window === "closed") return `${away}, and will be skipped: ${recipe.window?.mic} is closed then`;
  if (typeof window !== "object") return away;
  if (slot.at > window.until) {
    return `${away}, and will be skipped: its window is over at ${showTime(window.until, zone)}`;
  }
  return slot.at < window.from ? `${away}, and waits for its window at ${showTime(window.from, zone)}` : away;
}

const unitOf = (...at: number[]) =>
  at.every((each) => each % 60_000 === 0) ? "minute" as const : "second" as const;

const localOf = (at: number, zone: string) =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDateTime();

/** Writes an instant as {@linkcode showTime} does, with seconds where a slot has some. */
function showSlot(at: number, zone: string): string {
  return `${localOf(at, zone).toString({ smallestUnit: unitOf(at) }).replace("T", " ")} ${zone}`;
}

/** Writes a span: `2025-12-22 05:56 to 05:59 UTC`. */
function showSpan(from: number, to: number, zone: string): string {
  const [first, last] = [localOf(from, zone), localOf(to, zone)];
  const smallestUnit = unitOf(from, to);
  const end = first.toPlainDate().equals(last.toPlainDate())
    ? last.toPlainTime().toString({ smallestUnit })
    : last.toString({ smallestUnit }).replace("T", " ");
  return `${first.toString({ smallestUnit }).replace("T", " ")} to ${end} ${zone}`;
}
