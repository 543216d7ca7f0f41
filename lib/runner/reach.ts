/**
 * Whether a schedule's slots can be run at all: within the window of the recipe, and before its deadline.
 *
 * @module
 */
import { calendarZone } from "../calendars/mod.ts";
import type { CompiledRecipe, CompiledSchedule } from "../steps/compiled.ts";
import { firstSlot, latestSlot } from "./latest_slot.ts";
import { addDays, dateAt, tradingDay, wallInstant } from "./moments.ts";
import { planRun } from "./plan_run.ts";
import type { Slot } from "./slots.ts";
import { type OpenWindow, windowOn } from "./write_window.ts";

/** A day on which no slot of a schedule can be run. */
export interface MissedDay {
  /** Local date of the window's exchange. */
  date: string;
  halfDay: boolean;
  /** The first slot of the day, epoch milliseconds. */
  slotAt: number;
  window: OpenWindow;
  /** `closed`: the window is over by then; `deadline`: the run would have to begin before the window opens. */
  why: "closed" | "deadline";
}

/** What becomes of a schedule's days, as far as the recipe's window and deadline decide it. */
export interface Reach {
  scheduleId: string;
  /** Days with a slot that can be run. */
  fine: number;
  /** Days with a slot on which the window's exchange has no session. */
  closed: number;
  missed: MissedDay[];
}

const DAY_MS = 86_400_000;
/** Every half-day of a year is among them. */
const LOOKED_AT_MS = 400 * DAY_MS;

/**
 * Looks at the days to come as the runner will. Days without anything to do, and those that a calendar does not know,
 * count for neither side; without a window every slot is in reach.
 */
export function reachOf(recipe: CompiledRecipe, now: number): Reach[] {
  const { window } = recipe;
  if (window === undefined) return [];
  const zone = calendarZone[window.mic];
  return recipe.schedules.map((schedule) => {
    const reach: Reach = { scheduleId: schedule.id, fine: 0, closed: 0, missed: [] };
    const until = now + LOOKED_AT_MS;
    let after = now;
    for (let slot = firstSlot(schedule, after, until); slot; slot = firstSlot(schedule, after, until)) {
      const date = dateAt(slot.at, zone);
      after = wallInstant(addDays(date, 1), "00:00", zone) - 1;
      const open = windowOn(recipe, slot.at);
      if (open === "closed") reach.closed++;
      if (typeof open !== "object" || skipReason(recipe, schedule, slot) !== undefined) continue;
      if (canRun(recipe, schedule, slot) || canRunLater(recipe, schedule, { slot, open, after })) {
        reach.fine++;
        continue;
      }
      const day = tradingDay(window.mic, date);
      const why = slot.at > open.until ? "closed" : "deadline";
      const halfDay = typeof day === "object" && day.halfDay;
      reach.missed.push({ date, halfDay, slotAt: slot.at, window: open, why });
    }
    return reach;
  });
}

const planned = (recipe: CompiledRecipe, schedule: CompiledSchedule, slot: Slot) =>
  planRun(recipe, schedule, slot, { kind: "live", traceId: "" });

const skipReason = (...of: Parameters<typeof planned>) => planned(...of).reason;

function canRun(...of: Parameters<typeof planned>): boolean {
  const { dueAt, deadlineAt, reason } = planned(...of);
  return reason === undefined && (deadlineAt === undefined || dueAt <= deadlineAt);
}

/** Of the day's later slots the last one before the window closes is the likeliest to be run. */
function canRunLater(
  recipe: CompiledRecipe,
  schedule: CompiledSchedule,
  { slot, open, after }: { slot: Slot; open: OpenWindow; after: number },
): boolean {
  const jitterMs = schedule.form === "every" ? schedule.jitterMs : 0;
  const last = Math.min(open.until - jitterMs, after);
  const later = last <= slot.at ? undefined : latestSlot(schedule, slot.at, last);
  return later !== undefined && canRun(recipe, schedule, later);
}
