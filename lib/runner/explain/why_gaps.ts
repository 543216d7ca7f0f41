/**
 * Explains why slots of a day have no run. For example, no scheduler ran, the recipe did not exist yet, or the slot is
 * in the future.
 *
 * @module
 */
import { type Calendars, dateAt, tradingDay } from "../../calendars/mod.ts";
import type { CompiledRecipe, CompiledSchedule, RecipeClass } from "../../recipes/compiled.ts";
import type { Store } from "../../store/store.ts";
import { findSchedule, pauseOf, RECIPE_MISSING, type ScheduleRow } from "../queries/schedules.ts";
import { lastMissingAt, scheduleBeginnings } from "../queries/events.ts";
import { calendarOf, zoneOf } from "../../recipes/engine/step_context.ts";
import { prunedUntil } from "../queries/retention.ts";
import { runKeyOf, windowOn } from "../schedule/plan_run.ts";
import type { RunRow } from "../queries/runs.ts";
import { eachSlot, type Slot } from "../schedule/slots.ts";
import { showTime } from "./why_run.ts";
import { shellHint } from "../../shell_words.ts";

const DAY_MS = 86_400_000;

/** A recipe, or what the store knows about a recipe whose file is missing. */
export interface WhySubject extends Pick<CompiledRecipe, "name" | "schedules" | "window"> {
  class?: RecipeClass;
  /** Set if the recipe's file is missing, so that only the store knows the recipe. */
  isMissing?: true;
}

interface DayContext {
  date: string;
  now: number;
  calendars: Calendars;
  rows: readonly RunRow[];
}

interface NamedSlot {
  schedule: CompiledSchedule;
  slot: Slot;
}

/** Reasons by the id of the schedule; each schedule has an entry. */
type Reasons = ReadonlyMap<string, GapReasons>;

/** Returns why slots of the day have no row: each reason once, oldest first. If the day has no slot, returns why. */
export async function whyNothing(
  store: Store,
  recipe: WhySubject,
  { date, now, rows, calendars }: DayContext,
): Promise<string[]> {
  const keys = new Set(rows.map(({ run_key }) => run_key));
  const slots = recipe.schedules.flatMap((schedule) =>
    slotsOn(calendars, schedule, date).map((slot): NamedSlot => ({ schedule, slot }))
  ).sort((a, b) => a.slot.at - b.slot.at);
  const [first] = recipe.schedules;
  const isOver = date < dateAt(now, first === undefined ? "UTC" : zoneOf(first));
  const nothing = `nothing ${isOver ? "was" : "is"} to run`;
  if (slots.length === 0) {
    return rows.length === 0 ? [`${nothing}: ${whyNoSlot(calendars, recipe, date, isOver)}`] : [];
  }
  const missing = slots.filter(({ schedule, slot }) => !keys.has(runKeyOf(recipe.name, schedule, slot)));
  const unlisted = missing.filter(({ slot }) => slot.skipped === undefined);
  const reasons = new Map<string, GapReasons>();
  for (const schedule of recipe.schedules) {
    reasons.set(schedule.id, await GapReasons.read(store, recipe, schedule));
  }
  const leftOut = missing.find(({ slot }) => slot.skipped !== undefined);
  return [
    ...leftOut !== undefined && rows.length === 0
      ? [`${nothing}: ${whyLeftOut(calendars, recipe, leftOut, date, isOver)}`]
      : [],
    ...gapsOf(recipe, reasons, unlisted.filter(({ slot }) => slot.at <= now)),
    ...nextOf(calendars, recipe, unlisted.filter(({ slot }) => slot.at > now), rows.length === 0),
    ...unlisted.some(({ schedule, slot }) => slot.at > now || reasons.get(schedule.id)!.of(slot).isOpen)
      ? await pauseText(store, recipe)
      : [],
  ];
}

/** Returns a note if the recipe is paused: the scheduler skips its slots until somebody resumes it. */
async function pauseText(store: Store, { name }: WhySubject): Promise<string[]> {
  const why = await pauseOf(store, name);
  return why === undefined
    ? []
    : [`the recipe is paused (${why}), so slots are skipped until: hsgate resume ${shellHint(name)}`];
}

function slotsOn(calendars: Calendars, schedule: CompiledSchedule, date: string): Slot[] {
  const noon = Date.parse(`${date}T12:00:00Z`);
  return [...eachSlot(calendars, schedule, noon - 2 * DAY_MS, noon + 3 * DAY_MS)].filter((slot) =>
    (slot.session ?? dateAt(slot.at, zoneOf(schedule))) === date
  );
}

function whyNoSlot(calendars: Calendars, recipe: WhySubject, date: string, isOver: boolean): string {
  for (const schedule of recipe.schedules) {
    const mic = calendarOf(recipe, schedule);
    const day = mic === undefined ? undefined : tradingDay(calendars, mic, date);
    if (day === "weekend") return `${date} is a weekend`;
    if (day === "holiday") return closed(calendars, recipe, schedule, date, isOver);
  }
  return recipe.schedules.length === 0
    ? "the recipe has no schedule"
    : `no schedule of the recipe names ${date}`;
}

function whyLeftOut(
  calendars: Calendars,
  recipe: WhySubject,
  { schedule, slot }: NamedSlot,
  date: string,
  isOver: boolean,
): string {
  if (slot.skipped === "holiday") return closed(calendars, recipe, schedule, date, isOver);
  return `${date} ${isOver ? "was" : "is"} a half-day, which the schedule skips`;
}

function closed(
  calendars: Calendars,
  recipe: WhySubject,
  schedule: CompiledSchedule,
  date: string,
  isOver: boolean,
): string {
  const mic = calendarOf(recipe, schedule);
  if (mic === undefined) return "the exchange is closed"; // only a schedule with a calendar skips holidays
  const guess = calendars.isProjected(mic, date)
    ? "; that is a projection, because the exchange has not announced the day"
    : "";
  return `${mic} ${isOver ? "was" : "is"} closed on ${date}${guess}`;
}

/** Returns a text for each reason why past slots have no row. */
function gapsOf(recipe: WhySubject, reasons: Reasons, past: readonly NamedSlot[]): string[] {
  const gaps = Map.groupBy(past, ({ schedule, slot }) => {
    const { text } = reasons.get(schedule.id)!.of(slot); // `reasons` has an entry for every schedule
    return `${schedule.id}\n${text}`;
  });
  return [...gaps.values()].map((gap) => {
    const [{ schedule, slot: first }, last] = [gap[0]!, gap.at(-1)!.slot]; // a group has at least one slot
    const { text, isOpen } = reasons.get(schedule.id)!.of(first);
    const of = recipe.schedules.length === 1 ? "" : ` of "${schedule.id}"`;
    const zone = zoneOf(schedule);
    const ran = of === "" ? "nothing ran" : `nothing ran for "${schedule.id}"`;
    if (gap.length === 1) return `${ran} at ${showSlot(first.at, zone)}: ${text}`;
    const span = `from ${showSpan(first.at, last.at, zone)}`;
    return isOpen
      ? `${gap.length} slots${of} ${span} are not listed yet: ${text}`
      : `${ran} ${span} (${gap.length} slots): ${text}`;
  });
}

/** Why slots of one schedule have no row. */
class GapReasons {
  readonly #zone: string;
  #row: ScheduleRow | undefined;
  #began: readonly { at: number; kind: string }[] = [];
  #missingAt: number | undefined;
  #prunedUntil: number | undefined;

  constructor(zone: string) {
    this.#zone = zone;
  }

  /** Reads what the store knows about a schedule. */
  static async read(store: Store, { name }: WhySubject, schedule: CompiledSchedule): Promise<GapReasons> {
    const reasons = new GapReasons(zoneOf(schedule));
    await reasons.#read(store, name, schedule);
    return reasons;
  }

  async #read(store: Store, name: string, schedule: CompiledSchedule): Promise<void> {
    this.#prunedUntil = await prunedUntil(store, name);
    this.#row = await findSchedule(store, name, schedule.id);
    this.#missingAt = await lastMissingAt(store, name);
    this.#began = (await scheduleBeginnings(store)).filter(({ data }) =>
      data.recipe === name && data.schedule === schedule.id
    );
  }

  /** Returns why one slot has no row; `isOpen` is true if a scheduler may still write the row. */
  of({ at }: Slot): { text: string; isOpen: boolean } {
    if (this.#prunedUntil !== undefined && at <= this.#prunedUntil) {
      const until = showTime(this.#prunedUntil, this.#zone);
      return {
        text: `the store has deleted old runs of this recipe, up to the slot of ${until}`,
        isOpen: false,
      };
    }
    if (this.#row === undefined) {
      return {
        text: "no scheduler has run with this schedule yet; the first one lists only slots from then on",
        isOpen: false,
      };
    }
    if (this.#row.watermark < at && this.#row.paused_reason === RECIPE_MISSING) {
      const since = this.#missingAt === undefined
        ? ""
        : ` (noticed at ${showTime(this.#missingAt, this.#zone)})`;
      return {
        text:
          `the recipe's file is missing${since}; once the file is back, the scheduler runs its slots from then on`,
        isOpen: false,
      };
    }
    if (this.#row.watermark < at) {
      const text = `no scheduler has run since ${
        showTime(this.#row.watermark, this.#zone)
      }; the next one lists these slots: hsgate schedule`;
      return { text, isOpen: true };
    }
    const began = this.#began.find((event) => event.at >= at);
    return { text: this.#whyNotListed(began), isOpen: false };
  }

  #whyNotListed(began: { at: number; kind: string } | undefined): string {
    if (began === undefined) return "the store has no record of the reason";
    const when = showTime(began.at, this.#zone);
    switch (began.kind) {
      case "schedule_new":
        return `the schedule was first seen at ${when}`;
      case "schedule_edited":
        return `the schedule was edited at ${when}`;
      case "schedule_back":
        return `the recipe's file was missing until ${when}`;
      default:
        return `too old for the look-back limit, or too many slots at once, when a scheduler ran again at ${when}`;
    }
  }
}

/** Returns the next slot of each schedule, and whether it will run. */
function nextOf(
  calendars: Calendars,
  recipe: WhySubject,
  coming: readonly NamedSlot[],
  isFirst: boolean,
): string[] {
  const firsts = [...Map.groupBy(coming, ({ schedule }) => schedule.id).values()].map(([first]) => first!); // a group has at least one slot
  return firsts.map(({ schedule, slot }) => {
    const which = isFirst ? "the slot" : "the next slot";
    const of = recipe.schedules.length === 1 ? "" : ` of "${schedule.id}"`;
    return `${isFirst ? "nothing yet: " : ""}${which}${of} is at ${showSlot(slot.at, zoneOf(schedule))}${
      describeUpcomingSlot(calendars, recipe, schedule, slot)
    }`;
  });
}

/** Returns a text about whether a future slot will wait or be skipped, by the recipe's calendar and window. */
function describeUpcomingSlot(
  calendars: Calendars,
  recipe: WhySubject,
  schedule: CompiledSchedule,
  slot: Slot,
): string {
  const zone = zoneOf(schedule);
  const mic = calendarOf(recipe, schedule);
  const day = slot.session ?? dateAt(slot.at, zone);
  const away = recipe.isMissing ? ", if the recipe's file is back by then" : "";
  if (mic !== undefined) {
    const { from, through } = calendars.coverage(mic);
    const isOutside = day < from || day > through;
    const guess = isOutside
      ? `if ${mic} trades on that day: this is assumed, because its calendar covers only ${from} to ${through}`
      : calendars.isProjected(mic, day)
      ? `if ${mic} trades on that day: this is a projection, because the exchange has not announced the day`
      : undefined;
    if (guess !== undefined) {
      return `${away}, ${guess}${
        recipe.class === "write"
          ? "; a recipe that writes skips such a day unless you load a newer calendar before: hsgate calendar update FILE"
          : ""
      }`;
    }
  }
  const window = recipe.class === undefined
    ? undefined
    : windowOn(calendars, { ...recipe, class: recipe.class }, slot.at);
  if (window === "closed") return `${away}, and will be skipped: ${recipe.window?.mic} is closed then`;
  if (typeof window !== "object") return away;
  if (slot.at > window.until) {
    return `${away}, and will be skipped: its window closes at ${showTime(window.until, zone)}`;
  }
  return slot.at < window.from ? `${away}, and waits for its window at ${showTime(window.from, zone)}` : away;
}

const unitOf = (...at: number[]) =>
  at.every((each) => each % 60_000 === 0) ? "minute" as const : "second" as const;

const localOf = (at: number, zone: string) =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDateTime();

/** Formats an instant like {@linkcode showTime}, but with seconds if the instant has seconds. */
function showSlot(at: number, zone: string): string {
  return `${localOf(at, zone).toString({ smallestUnit: unitOf(at) }).replace("T", " ")} ${zone}`;
}

/** Formats a span: `2025-12-22 05:56 to 05:59 UTC`. */
function showSpan(from: number, to: number, zone: string): string {
  const [first, last] = [localOf(from, zone), localOf(to, zone)];
  const smallestUnit = unitOf(from, to);
  const end = first.toPlainDate().equals(last.toPlainDate())
    ? last.toPlainTime().toString({ smallestUnit })
    : last.toString({ smallestUnit }).replace("T", " ");
  return `${first.toString({ smallestUnit }).replace("T", " ")} to ${end} ${zone}`;
}
