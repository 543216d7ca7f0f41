/**
 * When a recipe may act, on the day of a slot. Asked when its run is listed, and again before each step that writes.
 *
 * @module
 */
import { calendarZone } from "../calendars/mod.ts";
import type { CompiledRecipe } from "../steps/compiled.ts";
import { dateAt, momentOf, showInstant, tradingDay } from "./moments.ts";

/** Nothing is written in the last minutes before the close, however late or early that is on the day. */
const MARGIN_MS = 10 * 60_000;

/** A window on one day, epoch milliseconds; both ends belong to it. */
export interface OpenWindow {
  from: number;
  until: number;
}

type Windowed = Pick<CompiledRecipe, "class" | "window">;

/**
 * Returns a recipe's window on the day that an instant belongs to; nothing for a recipe without one.
 *
 * A recipe that writes stays within the session as it is on that day: a half-day or a late open makes it shorter.
 */
export function windowOn(
  { class: kind, window }: Windowed,
  at: number,
): OpenWindow | "closed" | "unknown" | undefined {
  if (window === undefined) return undefined;
  const { mic } = window;
  const day = tradingDay(mic, dateAt(at, calendarZone[mic]));
  if (typeof day === "string") return "closed";
  const [from, until] = [momentOf(mic, day, window.from), momentOf(mic, day, window.to)];
  if (kind !== "write") return { from, until };
  if (day.assumed || day.projected) return "unknown";
  return { from: Math.max(from, day.openAt), until: Math.min(until, day.closeAt - MARGIN_MS) };
}

/** Tells why a write for a slot may not begin now; nothing when it may. */
export function whyOutside(recipe: Windowed, slotAt: number, now: number): string | undefined {
  const window = windowOn(recipe, slotAt);
  if (window === undefined) return undefined;
  if (window === "closed") return `${recipe.window?.mic} has no session on the day`;
  if (window === "unknown") return `the calendar of ${recipe.window?.mic} does not know the day`;
  if (now < window.from) return `its window opens at ${showInstant(window.from)}`;
  return now > window.until ? `its window closed at ${showInstant(window.until)}` : undefined;
}
