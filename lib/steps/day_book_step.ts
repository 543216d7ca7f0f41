/**
 * The step `export-day-book`: which days, which markets, where to.
 *
 * @module
 */
import { type Session, sessionsBetween } from "../calendars/mod.ts";
import { exportDayBook } from "../day_book/mod.ts";
import { calendarOfMarket, dateIn } from "../day_book/market_days.ts";
import type { DayBookFormat } from "../day_book/types.ts";
import { Market } from "../dictionaries/market.ts";
import { date } from "../operations/types.ts";
import type { Issue } from "../errors.ts";
import type { CompiledStep, StepIssues } from "./compile_step.ts";
import type { StepSource } from "./recipe_schema.ts";

/** Days that a recipe names: from one to another, or the last ones that have begun. */
type Days = { from: string; to: string } | { sessions: number };

const known = ["markets", "from", "to", "sessions", "out", "formats"];
const formatNames: readonly unknown[] = ["csv", "jsonl"];
const MOST_SESSIONS = 250;

/** Checks the parameters of the step. */
export function compileDayBook({ id, uses, with: given = {} }: StepSource): CompiledStep | StepIssues {
  const issues: Pick<Issue, "path" | "expected">[] = [];
  const expect = (member: string, fits: boolean, expected: string) =>
    void (fits || issues.push({ path: ["with", member], expected }));
  for (const member of Object.keys(given)) expect(member, known.includes(member), `only ${known.join(", ")}`);
  const { markets, from, to, sessions, out = "out", formats = formatNames } = given;
  const isSome = (list: unknown, fits: (each: unknown) => boolean): list is unknown[] =>
    Array.isArray(list) && list.length > 0 && list.every(fits);
  const names = Market.names.map((name) => `"${name}"`).join(", ");
  expect("markets", isSome(markets, (each) => Market.has(each)), `a list of ${names}`);
  expect("formats", isSome(formats, (each) => formatNames.includes(each)), 'a list of "csv", "jsonl"');
  expect("out", typeof out === "string" && out !== "", "a folder");
  if (sessions !== undefined) {
    const isCount = Number.isInteger(sessions) && Number(sessions) >= 1 && Number(sessions) <= MOST_SESSIONS;
    expect("sessions", isCount, `a whole number from 1 to ${MOST_SESSIONS}`);
    expect("from", from === undefined && to === undefined, "either sessions, or from and to");
  } else {
    expect(
      "from",
      isDate(from),
      'a date such as "2025-08-15", or sessions: 5 for the last five trading days',
    );
    expect("to", isDate(to) && !(isDate(from) && to < from), "a date that is not before from");
  }
  if (issues.length > 0) return { issues };
  // Everything was just checked.
  const input = { markets: markets as Market[], formats: formats as DayBookFormat[], folder: out as string };
  const days = (sessions === undefined ? { from, to } : { sessions }) as Days;
  return {
    id,
    uses,
    async run({ client, now, out: base, signal, onProgress }) {
      const { markets, formats, folder } = input;
      const range = "sessions" in days ? lastSessions(markets, days.sessions, now()) : days;
      const output = await exportDayBook(client, {
        markets,
        formats,
        ...range,
        out: base === undefined || folder.startsWith("/") ? folder : `${base}/${folder}`,
        now,
        signal,
        onProgress: (event) => onProgress?.({ type: "day-book", step: id, event }),
      });
      return { ok: output.ok, output };
    },
  };
}

function isDate(value: unknown): value is string {
  const issues: Issue[] = [];
  date.check(value, [], issues);
  return issues.length === 0;
}

/**
 * Returns the first and the last of the last trading days of some markets together: days on which at least one of
 * them has opened.
 *
 * @throws {CalendarUnknownError} When a calendar does not reach so far.
 */
export function lastSessions(
  markets: readonly Market[],
  count: number,
  now: number,
): { from: string; to: string } {
  const days = new Set<string>();
  for (const market of markets) {
    const today = Temporal.PlainDate.from(dateIn(market, now));
    // Two weeks cover the longest holidays, and every week has at least one session outside them.
    const first = today.subtract({ days: 14 + count * 3 });
    const sessions = sessionsBetween(calendarOfMarket[market], first.toString(), today.toString());
    const begun = sessions.filter(({ openAt }: Session) => openAt <= now).slice(-count);
    for (const { date } of begun) days.add(date);
  }
  const last = [...days].sort().slice(-count);
  return { from: last[0]!, to: last.at(-1)! };
}
