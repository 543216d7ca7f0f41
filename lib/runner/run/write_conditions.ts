/**
 * Checks whether a write may begin now: the store must be durable, the clock must be right, and the recipe's window must
 * be open. The scheduler checks before it claims a run, and the run checks again before each write.
 *
 * @module
 */
import { lastLook } from "../queries/schedules.ts";
import { calendarZone } from "../../calendars/mod.ts";
import type { CompiledRecipe } from "../../recipes/compiled.ts";
import { dateAt, showInstant, tradingDay } from "../../calendars/trading_days.ts";
import { sessionTimeOf } from "../../recipes/written_times.ts";
import type { Store } from "../../store/store.ts";

/** How far the clock may be behind the store's last write. */
const TOLERANCE_MS = 2_000;

/** Returns why no write may be sent to the broker now; `undefined` if it may. This never blocks reads. */
export async function whyNoWrites(store: Store, now: number): Promise<string | undefined> {
  if (store.doubt !== undefined) return `the store is not durable: ${store.doubt}`;
  if (store.clockFault !== undefined) return store.clockFault;
  // The watermark is the time of the last pass of any scheduler, and never goes back.
  const seen = await lastLook(store);
  if (seen === undefined || now >= seen - TOLERANCE_MS) return undefined;
  return `the clock is behind the store's last write at ${showInstant(seen)}: one of the two is wrong`;
}

/** No write is sent in the last minutes before the close of the day, even on a half-day. */
const MARGIN_MS = 10 * 60_000;

/** The window of one day, epoch milliseconds; both ends are included. */
export interface OpenWindow {
  from: number;
  until: number;
}

type Windowed = Pick<CompiledRecipe, "class" | "window">;

/**
 * Returns a recipe's window on the day of an instant; `undefined` if the recipe has none.
 *
 * A recipe that writes stays within the session of that day: a half-day or a late open makes the window shorter.
 */
export function windowOn(
  { class: kind, window }: Windowed,
  at: number,
): OpenWindow | "closed" | "unknown" | undefined {
  if (window === undefined) return undefined;
  const { mic } = window;
  const day = tradingDay(mic, dateAt(at, calendarZone[mic]));
  if (typeof day === "string") return "closed";
  const [from, until] = [sessionTimeOf(mic, day, window.from), sessionTimeOf(mic, day, window.to)];
  if (kind !== "write") return { from, until };
  if (day.assumed || day.projected) return "unknown";
  return { from: Math.max(from, day.openAt), until: Math.min(until, day.closeAt - MARGIN_MS) };
}

/** Returns why a write for a slot may not begin now; `undefined` if it may. */
export function whyOutside(recipe: Windowed, slotAt: number, now: number): string | undefined {
  const window = windowOn(recipe, slotAt);
  if (window === undefined) return undefined;
  if (window === "closed") return `${recipe.window?.mic} has no session on the day`;
  if (window === "unknown") return `the calendar of ${recipe.window?.mic} does not cover the day`;
  if (now < window.from) return `its window opens at ${showInstant(window.from)}`;
  return now > window.until ? `its window closed at ${showInstant(window.until)}` : undefined;
}
