/**
 * A schedule with its place in time: knows its next slot, so that a tick at which nothing is due costs nothing.
 *
 * @module
 */
import type { CompiledRecipe, CompiledSchedule } from "../steps/compiled.ts";
import { eachSlot, type Slot } from "./slots.ts";

/** How far ahead the next slot is looked for at a time. */
const REACH_MS = 400 * 86_400_000;
/** Most slots that one tick lists of one schedule; of more, the newest. */
const MOST_SLOTS = 20_000;

/** What a tick finds. */
export interface Listed {
  slots: Slot[];
  /** Slots that are too old or too many to have a row each. */
  passedOver: number;
}

/** A schedule of a recipe, and its next slot. */
export class ScheduleCursor {
  readonly recipe: CompiledRecipe;
  readonly schedule: CompiledSchedule;
  /** The schedule as text: what an edit changes. */
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

  /** Looks ahead from an instant. */
  lookFrom(base: number): void {
    this.#base = base;
    const { value } = eachSlot(this.schedule, base, base + REACH_MS).next();
    this.#next = value?.at ?? base + REACH_MS;
  }

  /** Lists the slots after the watermark up to now, no more than the lookback holds. */
  list(watermark: number, now: number, lookbackMs: number): Listed {
    if (now <= watermark || (watermark >= this.#base && now < this.#next)) {
      return { slots: [], passedOver: 0 };
    }
    let slots: Slot[] = [];
    let passedOver = 0;
    for (const slot of eachSlot(this.schedule, watermark, now)) {
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
    this.lookFrom(now);
    return { slots, passedOver };
  }
}
