/**
 * What a scheduler says of itself: what it runs, what comes next, and now and then that it is still there.
 *
 * @module
 */
import type { Store } from "../../../lib/store/store.ts";
import { nextSlots } from "../../../lib/runner/schedule/slots.ts";
import { showInstant } from "../../../lib/calendars/trading_days.ts";
import { zoneOf } from "../../../lib/recipes/step_context.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import { pausedSchedules } from "../../../lib/runner/queries/schedules.ts";
import { localTime, precisionOf, readable } from "../shared/slot_lines.ts";

/** What the lines are made of. */
interface ScheduleLinesOptions {
  store: Store;
  recipes(): readonly CompiledRecipe[];
  now(): number;
  out(line: string): void;
  json: boolean;
  /** Zone of the times for people. */
  zone: string;
}

/** Slots that are shown: enough for the recipes of most people, and few enough to be read. */
const MOST = 12;
/** After so long without a line, one says that all is well. */
const QUIET_MS = 60 * 60_000;

/** The zone of all schedules when it is one, or else that of the machine. */
export function commonZone(recipes: readonly CompiledRecipe[]): string {
  const zones = new Set(recipes.flatMap(({ schedules }) => schedules.map(zoneOf)));
  // Schedules that go by the epoch have no zone of their own.
  zones.delete("UTC");
  const [zone] = zones;
  return zones.size === 1 && zone !== undefined ? zone : Temporal.Now.timeZoneId();
}

/** Writes the lines. */
export class ScheduleLines {
  readonly #options: ScheduleLinesOptions;
  #lastAt: number;

  constructor(options: ScheduleLinesOptions) {
    this.#options = options;
    this.#lastAt = options.now();
  }

  /** Takes note that something else wrote a line. */
  readonly touch = (): void => {
    this.#lastAt = this.#options.now();
  };

  /** Tells what is scheduled. */
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
    out(`${text}; times of ${zone}, Ctrl-C stops in order`);
    const next = await this.#next();
    for (const line of this.#nextLines(next.slice(0, MOST))) out(line);
    const left = next.length - MOST;
    if (left > 0) out(`next: ${left} more ${left === 1 ? "schedule" : "schedules"}; hsgate next lists them`);
    this.touch();
  }

  /** Where one of them has seconds, all show them. */
  #nextLines(slots: readonly NextSlot[]): string[] {
    const times = slots.map(({ at }) => localTime(at, this.#options.zone));
    const precision = precisionOf(times);
    return slots.map(({ name }, index) => `next: ${readable(times[index]!, precision)}  ${name}`); // one each
  }

  /** Says that all is well when nothing was said for long. */
  async look(): Promise<void> {
    const { now, json, out } = this.#options;
    if (now() - this.#lastAt < QUIET_MS) return;
    const next = await this.#next();
    const [text = "nothing is to run"] = this.#nextLines(next.slice(0, 1));
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

  /** The next slot of each schedule that is not paused, soonest first. */
  async #next(): Promise<NextSlot[]> {
    const { store, recipes, now } = this.#options;
    const paused = await pausedSchedules(store);
    return recipes().flatMap((recipe) =>
      recipe.schedules.filter(({ id }) => !paused.has(`${recipe.name}/${id}`)).flatMap((schedule) => {
        const slot = nextSlots(schedule, now(), 1).find(({ skipped }) => skipped === undefined);
        const name = recipe.schedules.length === 1 ? recipe.name : `${recipe.name} (${schedule.id})`;
        return slot === undefined ? [] : [{ name, recipe: recipe.name, schedule: schedule.id, at: slot.at }];
      })
    ).sort((a, b) => a.at - b.at);
  }
}

interface NextSlot {
  /** The recipe, with the schedule where it has several. */
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
