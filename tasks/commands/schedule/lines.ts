/**
 * Prints the lines of a scheduler: at the start its recipes and next slots, and after a long silence the next slot
 * again.
 *
 * @module
 */
import { type Calendars, showInstant } from "../../../lib/calendars/mod.ts";
import type { Store } from "../../../lib/store/store.ts";
import { nextSlots } from "../../../lib/runner/schedule/slots.ts";
import { micOf, zoneOf } from "../../../lib/recipes/engine/step_context.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import { pausedSchedules } from "../../../lib/runner/queries/schedules.ts";
import { localTime, precisionOf, readable } from "../shared/slot_lines.ts";

/** Options of the lines. */
interface ScheduleLinesOptions {
  store: Store;
  recipes(): readonly CompiledRecipe[];
  calendars(): Calendars;
  now(): number;
  out(line: string): void;
  json: boolean;
  /** Time zone for readable times. */
  zone: string;
}

/** Number of next slots that are listed. */
const MOST = 12;
/** After this time without any line, the scheduler prints one. */
const QUIET_MS = 60 * 60_000;

/** Returns the time zone that all schedules share; otherwise the time zone of this machine. */
export function commonZone(recipes: readonly CompiledRecipe[]): string {
  // "every" schedules that count from the epoch have no time zone.
  const zoned = recipes.flatMap(({ schedules }) => schedules).filter((schedule) =>
    schedule.form === "cron" || micOf(schedule) !== undefined
  );
  const zones = new Set(zoned.map(zoneOf));
  const [zone] = zones;
  return zones.size === 1 && zone !== undefined ? zone : Temporal.Now.timeZoneId();
}

/** Prints the lines. */
export class ScheduleLines {
  readonly #options: ScheduleLinesOptions;
  #lastAt: number;

  constructor(options: ScheduleLinesOptions) {
    this.#options = options;
    this.#lastAt = options.now();
  }

  /** Records that another line was printed. */
  readonly touch = (): void => {
    this.#lastAt = this.#options.now();
  };

  /** Prints the schedules. */
  async start(): Promise<void> {
    const { store, recipes, zone, json, out } = this.#options;
    const names = recipes().filter(({ schedules }) => schedules.length > 0).map(({ name }) => name);
    const count = names.length === 1 ? "1 recipe is" : `${names.length} recipes are`;
    const text = `${count} scheduled (${names.join(", ")}), store "${store.name}"`;
    if (json) {
      this.#write({
        type: "started",
        message: text,
        recipes: names,
        store: store.name,
        next: await this.#next(),
      });
      return;
    }
    out(`${text}; times in ${zone}; Ctrl-C stops the scheduler`);
    const next = await this.#next();
    for (const line of this.#nextLines(next.slice(0, MOST))) out(line);
    const left = next.length - MOST;
    if (left > 0) out(`next: ${left} more ${left === 1 ? "schedule" : "schedules"}; hsgate next lists them`);
    this.touch();
  }

  /** Returns a line for each slot. If one time has seconds, all times are shown with seconds. */
  #nextLines(slots: readonly NextSlot[]): string[] {
    const times = slots.map(({ at }) => localTime(at, this.#options.zone));
    const precision = precisionOf(times);
    // `times` has one time for each slot.
    return slots.map(({ name }, index) => `next: ${readable(times[index]!, precision)}  ${name}`);
  }

  /** Prints a line if none was printed for a long time. */
  async printIfQuiet(): Promise<void> {
    const { now, json, out } = this.#options;
    if (now() - this.#lastAt < QUIET_MS) return;
    const next = await this.#next();
    const [text = "no slots"] = this.#nextLines(next.slice(0, 1));
    if (json) this.#write({ type: "waiting", message: text, next });
    else out(text);
    this.touch();
  }

  #write({ type, message, next, ...rest }: StatusLine): void {
    const { now, out } = this.#options;
    const shown = next.slice(0, MOST).map(({ recipe, schedule, at }) => ({
      recipe,
      schedule,
      at: showInstant(at),
    }));
    const more = next.length > MOST ? { nextMore: next.length - MOST } : {};
    out(
      JSON.stringify({ at: showInstant(now()), level: "info", type, message, ...rest, next: shown, ...more }),
    );
    this.touch();
  }

  /** Returns the next slot of each schedule that is not paused, soonest first. */
  async #next(): Promise<NextSlot[]> {
    const { store, recipes, calendars, now } = this.#options;
    const paused = await pausedSchedules(store);
    return recipes().flatMap((recipe) =>
      recipe.schedules.filter(({ id }) => !paused.has(`${recipe.name}/${id}`)).flatMap((schedule) => {
        const slot = nextSlots(calendars(), schedule, now(), 1).find(({ skipped }) => skipped === undefined);
        const name = recipe.schedules.length === 1 ? recipe.name : `${recipe.name} (${schedule.id})`;
        return slot === undefined ? [] : [{ name, recipe: recipe.name, schedule: schedule.id, at: slot.at }];
      })
    ).sort((a, b) => a.at - b.at);
  }
}

interface NextSlot {
  /** The recipe's name, with the schedule if the recipe has several. */
  name: string;
  recipe: string;
  schedule: string;
  at: number;
}

interface StatusLine {
  type: string;
  message: string;
  next: NextSlot[];
  recipes?: string[];
  store?: string;
}
