/**
 * Plans runs: their keys, due times, windows and deadlines, or why they are skipped. Two starts with the same key are
 * one run.
 *
 * @module
 */
import {
  type Calendars,
  calendarZone,
  dateAt,
  sessionTimeOf,
  showInstant,
  tradingDay,
} from "../../calendars/mod.ts";
import { versionOf } from "../../recipes/powers.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../recipes/compiled.ts";
import { calendarOf } from "../../recipes/engine/step_context.ts";
import type { Machine } from "../../time.ts";
import type { NewRun, SkipReason } from "../queries/runs.ts";
import type { Slot } from "./slots.ts";

/** The values of a row that do not come from the slot. */
interface PlanRunOptions {
  kind: "live" | "backfill";
  traceId: string;
}

/**
 * Returns the row of a slot. With a window, the run is due at the earliest when the window opens, and the end of the
 * window is a deadline. If the calendar does not cover the day, or only projects it, a run that writes is skipped. A
 * run that only reads is not skipped, and its row records if the calendar does not cover the day.
 */
export function planRun(
  calendars: Calendars,
  recipe: CompiledRecipe,
  schedule: CompiledSchedule,
  slot: Slot,
  { kind, traceId }: PlanRunOptions,
): NewRun {
  const mic = calendarOf(recipe, schedule);
  const bounds = boundsOfSlot(calendars, recipe, schedule, slot);
  return {
    runKey: runKeyOf(recipe.name, schedule, slot),
    recipe: recipe.name,
    scheduleId: schedule.id,
    kind,
    class: recipe.class,
    slotAt: slot.at,
    businessDay: slot.session,
    assumed: slot.assumed,
    dueAt: bounds.dueAt,
    deadlineAt: bounds.deadlineAt,
    state: bounds.skipped === undefined ? "due" : "skipped",
    reason: bounds.skipped,
    recipeSha: versionOf(recipe),
    calendarVersion: mic === undefined ? undefined : calendars.version(mic),
    params: JSON.stringify(recipe.params),
    traceId,
  };
}

/** When a run of a slot may begin, or why it is skipped; instants in epoch milliseconds. */
export interface Bounds {
  dueAt: number;
  deadlineAt?: number;
  skipped?: SkipReason;
}

/**
 * Returns when the run of a slot may begin. {@linkcode planRun} takes longer for a larger recipe; this function does
 * not.
 */
export function boundsOfSlot(
  calendars: Calendars,
  recipe: CompiledRecipe,
  schedule: CompiledSchedule,
  slot: Slot,
): Bounds {
  const jitterMs = schedule.form === "every" ? schedule.jitterMs : 0;
  const mic = calendarOf(recipe, schedule);
  const isGuess = slot.assumed || (mic !== undefined && calendars.isProjected(mic, slot.session ?? ""));
  const runKey = runKeyOf(recipe.name, schedule, slot);
  return boundsOf(calendars, recipe, { ...slot, isGuess }, slot.at + jitterOf(runKey, jitterMs));
}

function boundsOf(
  calendars: Calendars,
  recipe: CompiledRecipe,
  slot: Slot & { isGuess?: boolean },
  dueAt: number,
): Bounds {
  const { class: kind, deadlineMs } = recipe;
  const deadlineAt = deadlineMs === undefined ? undefined : slot.at + deadlineMs;
  if (slot.skipped !== undefined) return { dueAt, deadlineAt, skipped: slot.skipped };
  if (kind === "write" && slot.isGuess) return { dueAt, deadlineAt, skipped: "calendar_unknown" };
  const window = windowOn(calendars, recipe, slot.at);
  if (window === undefined) return { dueAt, deadlineAt };
  if (window === "closed") return { dueAt, deadlineAt, skipped: "holiday" };
  if (window === "unknown") return { dueAt, deadlineAt, skipped: "calendar_unknown" };
  return {
    dueAt: Math.max(dueAt, window.from),
    deadlineAt: deadlineAt === undefined ? window.until : Math.min(deadlineAt, window.until),
  };
}

/** Returns a new trace id in the W3C format: 32 hex digits, not all zero. */
export function drawTraceId(machine: Pick<Machine, "random">): string {
  let digits = "1";
  for (let i = 1; i < 32; i++) digits += "0123456789abcdef"[Math.floor(machine.random() * 16)];
  return digits;
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
 * Returns a recipe's window on the day of an instant; `undefined` if the recipe has no window, and `closed` if the
 * exchange has no session on the day. For a recipe that writes, returns `unknown` if the calendar only assumes or
 * projects the session.
 *
 * A recipe that writes stays within the session of that day: a half-day or a late open makes the window shorter.
 */
export function windowOn(
  calendars: Calendars,
  { class: kind, window }: Windowed,
  at: number,
): OpenWindow | "closed" | "unknown" | undefined {
  if (window === undefined) return undefined;
  const { mic } = window;
  const day = tradingDay(calendars, mic, dateAt(at, calendarZone[mic]));
  if (typeof day === "string") return "closed";
  const [from, until] = [sessionTimeOf(mic, day, window.from), sessionTimeOf(mic, day, window.to)];
  if (kind !== "write") return { from, until };
  if (day.assumed || day.projected) return "unknown";
  return { from: Math.max(from, day.openAt), until: Math.min(until, day.closeAt - MARGIN_MS) };
}

/** Returns why a write for a slot must not begin now; `undefined` if it may begin. */
export function whyOutside(
  calendars: Calendars,
  recipe: Windowed,
  slotAt: number,
  now: number,
): string | undefined {
  const window = windowOn(calendars, recipe, slotAt);
  if (window === undefined) return undefined;
  if (window === "closed") return `${recipe.window?.mic} has no session on the day`;
  if (window === "unknown") {
    return `the calendar of ${recipe.window?.mic} does not cover the day, or only projects it`;
  }
  if (now < window.from) return `its window opens at ${showInstant(window.from)}`;
  return now > window.until ? `its window closed at ${showInstant(window.until)}` : undefined;
}

/**
 * Returns the key of a slot's run: `eod/s1/2025-08-15`. An edit changes the key only if it renames the recipe, or
 * changes the id or the form of the schedule. So no slot runs twice after any other edit. After a new id or form,
 * `isOccupiedByOther` finds the run that the recipe already has for the same instant.
 */
export function runKeyOf(recipe: string, schedule: CompiledSchedule, slot: Slot): string {
  return `${recipe}/${schedule.id}/${slot.key}`;
}

/** Returns the key of a run that a person started. */
export function manualRunKey(recipe: string, id: string): string {
  return `${recipe}/m/${id}`;
}

/** Returns the delay of a run after its slot. Every process computes the same delay (FNV-1a of the key). */
export function jitterOf(runKey: string, jitterMs: number): number {
  if (jitterMs <= 0) return 0;
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(runKey)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  // Short keys that differ only in their last digits have hashes that differ only in low bits. So the bits are mixed.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  return Math.floor(((hash ^ (hash >>> 13)) >>> 0) / 0x1_0000_0000 * jitterMs);
}

/** Namespace of the UUIDs that are computed from run keys. */
const NAMESPACE = "6c1f7d0e-8a55-5e0b-9a4b-3d1c5b7e2f90";

/** Returns the UUIDv5 of a run key, which identifies the run at a monitoring service. */
export async function runId(runKey: string): Promise<string> {
  const space = Uint8Array.fromHex(NAMESPACE.replaceAll("-", ""));
  const name = new TextEncoder().encode(runKey);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-1", new Uint8Array([...space, ...name])));
  const bytes = hash.slice(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50; // sixteen bytes
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
