/**
 * Writes the result of a rehearsal as compact text that is identical on every machine.
 *
 * @module
 */
import { showDuration } from "../recipes/compile/written_times.ts";
import type { RehearsalException, RehearsalResult, SpecialDay, WouldHaveSent } from "./result.ts";

/** Returns a result as lines: slots by recipe, special days, exceptions, events, messages, and totals. */
export function reportLines(result: RehearsalResult): string[] {
  const { from, to, seed } = result;
  return [
    `rehearsed ${from} to ${to}, seed ${seed}`,
    "",
    ...tallyLines(result),
    ...section("half-days and clock changes", result.specialDays.flatMap(specialLines)),
    ...section("not a plain success", exceptionLines(result.exceptions)),
    ...section("scheduler events", eventLines(result)),
    ...section("would have sent", messageLines(result.wouldHaveSent)),
    "",
    summaryLine(result),
  ];
}

/** Returns the totals of a result in one line. */
export function summaryLine({ recipes, exceptions, wouldHaveSent }: RehearsalResult): string {
  const sum = (of: "slots" | "ok" | "failed" | "skipped" | "open") =>
    recipes.reduce((total, each) => total + each[of], 0);
  const late = exceptions.filter(({ lateMs }) => lateMs !== undefined).length;
  const parts = [
    `${sum("slots")} slots`,
    `${sum("ok")} succeeded${late === 0 ? "" : ` (${late} of all runs began late)`}`,
    `${sum("failed")} failed`,
    `${sum("skipped")} skipped`,
  ];
  if (sum("open") > 0) parts.push(`${sum("open")} unfinished at the end`);
  parts.push(`${wouldHaveSent.length} messages`);
  return parts.join(", ");
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ["", `${title}:`, ...lines.map((line) => `  ${line}`)];

function tallyLines({ recipes }: RehearsalResult): string[] {
  const rows = recipes.map(({ recipe, slots, ok, failed, skipped, reasons, open }) => {
    const why = Object.entries(reasons).map(([reason, count]) => `${wordsOf(reason)} ${count}`);
    if (open > 0) why.push(`unfinished at the end ${open}`);
    return [recipe, String(slots), String(ok), String(failed), String(skipped), why.join(", ")];
  });
  const table = [["recipe", "slots", "ok", "failed", "skipped", "why"], ...rows];
  // All rows have the same number of columns.
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  return table.map((row) =>
    row.map((cell, column) =>
      column > 0 && column < 5 ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)
    ).join("  ").trimEnd()
  );
}

function specialLines(day: SpecialDay): string[] {
  const head = `${day.day} ${weekdayOf(day.day)}`;
  if (day.what === "half-day") return [`${head}  ${day.exchange} half-day, closes ${day.closes}`];
  const change = `${head}  ${day.zone} clocks go ${day.byMs > 0 ? "forward" : "back"} by ${
    showDuration(Math.abs(day.byMs))
  }`;
  return [
    change,
    ...day.slots.map(({ recipe, schedule, kind, wall, runsAt }) => {
      const what = kind === "gap" ? "does not exist" : "exists twice";
      const then = runsAt.length === 0 ? "it does not run" : `it runs at ${runsAt.join(" and ")}`;
      return `  ${recipe} (${schedule}) ${wall.slice(11)} ${what}: ${then}`;
    }),
  ];
}

const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const weekdayOf = (day: string) => days[new Date(`${day}T00:00:00Z`).getUTCDay()]!; // 0 to 6
const wordsOf = (reason: string) => reason.replaceAll("_", " ");

/** Returns one line for all exceptions of a day with the same outcome. */
function exceptionLines(exceptions: readonly RehearsalException[]): string[] {
  const groups = Map.groupBy(exceptions, (each) => `${each.day} ${weekdayOf(each.day)}  ${outcomeOf(each)}`);
  return [...groups].sort(([a], [b]) => a < b ? -1 : 1).map(([head, group]) => {
    const names = Map.groupBy(group, ({ recipe }) => recipe);
    const list = [...names].sort(([a], [b]) => a < b ? -1 : 1)
      .map(([recipe, { length }]) => length === 1 ? recipe : `${recipe} x${length}`);
    const latest = group.reduce((most, { lateMs = 0 }) => Math.max(most, lateMs), 0);
    const late = latest === 0 ? "" : ` (late by ${group.length === 1 ? "" : "up to "}${shortly(latest)})`;
    return `${head}: ${list.join(", ")}${late}`;
  });
}

const shortly = (ms: number) => showDuration(Math.round(ms / 1000) * 1000);

/** Words for the states of runs that were unfinished at the end of the rehearsal. */
const stateWords: Readonly<Record<string, string>> = { due: "still due", running: "still running" };

function outcomeOf({ state, reason, step, error, madeUp, attempts }: RehearsalException): string {
  if (state === "skipped") return `skipped, ${wordsOf(reason ?? "")}`;
  const why = reason === undefined || step !== undefined ? "" : `, ${wordsOf(reason).replace(":", ": ")}`;
  const parts: string[] = [state === "ok" ? "succeeded" : `${stateWords[state] ?? wordsOf(state)}${why}`];
  if (step !== undefined) parts.push(` at "${step}"`);
  if (attempts !== undefined) {
    parts.push(state === "ok" ? ` at attempt ${attempts}` : ` after ${attempts} attempts`);
  }
  if (madeUp) parts.push(", caught up");
  if (error !== undefined) parts.push(` (${error.replaceAll(/\s+/g, " ")})`);
  return parts.join("");
}

function eventLines({ events }: RehearsalResult): string[] {
  return events.map(({ at, what, byMs = 0, runKey, state }) =>
    what === "clock-jump"
      ? `${at}  the clock was set ${byMs < 0 ? "back" : "forward"} by ${shortly(Math.abs(byMs))}`
      : `${at}  ${runKey} was taken over: ${wordsOf(state ?? "")}`
  );
}

function messageLines(messages: readonly WouldHaveSent[]): string[] {
  const groups = Map.groupBy(messages, ({ at, recipe, by, text }) => {
    const [first, ...rest] = (text ?? "text of a custom step").split("\n");
    return `${at.slice(0, 10)}  ${recipe} by ${by.join(", ")}: ${first}${rest.length === 0 ? "" : " …"}`;
  });
  return [...groups].map(([line, { length }]) => length === 1 ? line : `${line} x${length}`);
}
