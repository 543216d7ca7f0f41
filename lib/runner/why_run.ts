/**
 * What became of one run, in words, from its row and what was written down about it.
 *
 * @module
 */
import type { Ledger } from "./ledger.ts";
import { isOwned, type RunKind, type RunRow } from "./run_rows.ts";
import { heldReason, lastHeld, tellHeld } from "./held.ts";
import { openWriteAdvice } from "./open_write.ts";
import { type NoticeRow, noticesOf } from "./outbox.ts";
import { silentAdvice, silentSince } from "./silent.ts";

/** Why a run was skipped, by the code of the reason. */
export const skipReasons: Readonly<Record<string, string>> = {
  misfire: "it was missed and came too late",
  superseded: "a newer run took its place",
  deadline: "its deadline had passed",
  overlap: "the run before it was still going on",
  holiday: "the exchange was closed",
  half_day: "it was a half-day",
  calendar_unknown: "the calendar does not cover the day",
  paused: "the recipe was paused",
  condition: "its conditions were not met",
  not_approved: "it was not approved",
  duplicate_slot: "another schedule of the recipe names the same instant",
  recipe_changed: "the recipe had begun to write after the slot was listed",
  maintenance: "of maintenance",
};

const failures: Readonly<Record<string, string>> = {
  timeout: "it took longer than it may",
  displaced: "another device took over the login",
  login: "the broker refused the login",
  window: "its window was not open any more when it was to write",
  unsafe: "writing was not safe any more",
};

/** Why a run was cancelled, by the code of the reason; others are in words. */
const cancellations: Readonly<Record<string, string>> = {
  stopped: "whoever had started it stopped it",
  overlap: "another run of the recipe was going on, or was to begin",
  account: "another run had the account all the time",
  recovery: "it was open what an earlier run had written on the account",
  unsafe: "writing was not safe there",
  displaced: "another device had taken over the login",
  password: "the broker had refused the password",
  login: "the broker had refused the login a short while before",
  deadline: "its deadline had passed",
};

const kinds: Partial<Record<RunKind, string>> = {
  catchup: "was missed, was made up for",
  backfill: "was done for the past, by hand,",
  manual: "was started by hand",
  dry: "was tried out",
};

/** Writes an instant for people: `2025-08-15 16:45 Asia/Hong_Kong`. */
export function showTime(at: number | null, zone: string): string {
  if (at === null) return "an unknown time";
  const local = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
  return `${local.toPlainDateTime().toString({ smallestUnit: "minute" }).replace("T", " ")} ${zone}`;
}

/** Writes a length of time for people: `2 h 10 min`. */
export function showLength(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** Less than this is what a busy machine takes. */
const LATE_MS = 30_000;

/** How late a run that was due by itself began, milliseconds; 0 when it was on time. */
export function latenessOf({ kind, due_at, started_at }: RunRow): number {
  const counts = started_at !== null && (kind === "live" || kind === "catchup");
  return counts && started_at - due_at >= LATE_MS ? started_at - due_at : 0;
}

interface Noted<T> {
  at: number;
  kind: string;
  data: T;
}

/** What was written down about a run, oldest first. */
function notesOf(ledger: Ledger, runKey: string): Noted<Readonly<Record<string, unknown>>>[] {
  return ledger.all<{ at: number; kind: string; data: string }>(
    "select at, kind, data from event where run_key = ? order by seq",
    runKey,
  ).map(({ at, kind, data }) => ({ at, kind, data: JSON.parse(data) }));
}

/** Says what became of a run. */
export function describeRun(
  ledger: Ledger,
  row: RunRow,
  { zone, now }: { zone: string; now: number },
): string {
  const notes = notesOf(ledger, row.run_key);
  const before = beforehand(notes);
  const unsent = noticesOf(ledger, row.run_key).filter(({ state, tries }) => state !== "sent" && tries > 0);
  return [
    `${row.run_key} ${outcomeOf(ledger, row, { zone, now, notes })}`,
    ...before === "" ? [] : [before],
    ...unsent.map(describeUnsent),
  ].join("; ");
}

function describeUnsent({ notice, channel, state, tries, error }: NoticeRow): string {
  const what = `its notice ${notice ?? ""} by ${channel} was not sent`.replace("  ", " ");
  const times = `after ${tries} ${tries === 1 ? "try" : "tries"}`;
  const given = state === "given up" ? `, and is not tried any more (hsgate notices)` : "";
  return `${what} ${times}${given}${error === undefined ? "" : `: ${error}`}`;
}

interface About {
  zone: string;
  now: number;
  notes: readonly Noted<Readonly<Record<string, unknown>>>[];
}

function outcomeOf(ledger: Ledger, row: RunRow, about: About): string {
  const { zone, now, notes } = about;
  const reason = row.reason ?? "";
  const end = showTime(row.finished_at, zone);
  const settled = reason === "settled" ? notes.findLast(({ kind }) => kind === "settled") : undefined;
  if (settled !== undefined) {
    const { state, actor, because } = settled.data;
    return `was broken off while it wrote; ${actor} settled it as ${state} at ${showTime(settled.at, zone)}${
      because === undefined ? "" : `: ${because}`
    }`;
  }
  switch (row.state) {
    case "ok": {
      const assumed = row.assumed === 1 ? ", on a day that the calendar does not cover" : "";
      const late = latenessOf(row);
      const begun = late === 0 ? "" : `, begun ${showLength(late)} after it was due`;
      return `${kinds[row.kind] ?? "ran"} and ended well at ${end}${begun}${takenOver(about)}${assumed}`;
    }
    case "failed":
      return `failed at ${end}, attempt ${row.attempt}: ${failureOf(ledger, row)}${takenOver(about)}`;
    case "skipped": {
      const begun = begunText(row, zone);
      const held = reason === "overlap" ? lastHeld(ledger, row.run_key) : undefined;
      if (held?.because === "recovery") return `was skipped because ${tellHeld(held)}`;
      return `was skipped because ${skipReasons[reason] ?? reason}${begun}${whySkipped(ledger, row, about)}`;
    }
    case "cancelled":
      return `was cancelled at ${end}: ${cancellations[reason] ?? reason}${begunText(row, zone)}`;
    case "due": {
      if (row.due_at > now) return `is to begin at ${showTime(row.due_at, zone)}`;
      const held = heldReason(row.reason) === undefined ? undefined : lastHeld(ledger, row.run_key);
      const because = held === undefined ? whyNobody(ledger, row, about) : [tellHeld(held)];
      return `is due since ${showTime(row.due_at, zone)} and has not begun${
        because.length === 0 ? "" : `: ${because.join("; ")}`
      }`;
    }
    case "running": {
      const silent = silentSince(row, now);
      if (silent === undefined) {
        return `is running since ${showTime(row.started_at, zone)}${takenOver(about)}`;
      }
      const since = `was running and its process has not been heard of since ${showTime(silent, zone)}`;
      return [since, ...silentAdvice(ledger, row)].join("; ");
    }
    case "waiting_approval": {
      const until = row.deadline_at === null ? "" : `, until ${showTime(row.deadline_at, zone)}`;
      const missed = reason === "misfire" ? "was missed and " : "";
      return `${missed}waits for a person${until}: hsgate approve ${row.run_key}, or refuse`;
    }
    case "waiting_recovery":
    case "unknown": {
      const what = row.state === "unknown"
        ? `ended at ${end} without it being known whether its write happened`
        : "was broken off while it wrote and waits until it is known what came of that";
      return [what, ...openWriteAdvice(ledger, row)].join("; ");
    }
  }
}

const begunText = ({ started_at }: RunRow, zone: string) =>
  started_at === null ? "" : `, after it had begun at ${showTime(started_at, zone)}`;

/** Who took it over from whom, when somebody did. */
function takenOver({ notes, zone }: About): string {
  const times = notes.filter(({ kind }) => kind === "recovered");
  const last = times.at(-1);
  if (last === undefined) return "";
  const count = times.length === 1 ? "a process" : `${times.length} processes`;
  return `, after ${count} had died at it, the last before ${showTime(last.at, zone)}`;
}

function failureOf(ledger: Ledger, { run_key, round, reason }: RunRow): string {
  const step = ledger.get<{ step_id: string; error: string | null }>(
    `select step_id, error from step_run where run_key = ? and round = ? and state in ('failed', 'skipped')
      and error is not null order by case state when 'failed' then 0 else 1 end, finished_at desc limit 1`,
    run_key,
    round,
  );
  const what = failures[reason ?? ""] ?? (step === undefined ? reason ?? "no reason is known" : undefined);
  const where = step === undefined ? undefined : `step "${step.step_id}": ${step.error}`;
  return [what, where].filter((text) => text !== undefined).join(", ");
}

function whySkipped(ledger: Ledger, row: RunRow, { notes, zone }: About): string {
  if (row.reason === "paused") {
    const why = pauseBefore(ledger, row);
    if (why === undefined) return "";
    return why.at > row.due_at ? ` (${why.why}) before anybody had begun it` : ` (${why.why})`;
  }
  if (row.reason === "duplicate_slot") {
    const other = ledger.get<{ run_key: string }>(
      "select run_key from run where recipe = ? and slot_at = ? and run_key <> ? limit 1",
      row.recipe,
      row.slot_at,
      row.run_key,
    );
    return other === undefined ? "" : ` (${other.run_key})`;
  }
  if (row.reason === "superseded") {
    const newer = ledger.get<{ run_key: string }>(
      `select run_key from run where recipe = ? and schedule_id = ? and slot_at > ? and state <> 'skipped'
        order by slot_at limit 1`,
      row.recipe,
      row.schedule_id,
      row.slot_at,
    );
    return newer === undefined ? "" : ` (${newer.run_key})`;
  }
  if (row.reason === "not_approved") {
    const refused = notes.findLast(({ kind }) => kind === "refused");
    const because = refused?.data.because === undefined ? "" : `: ${refused.data.because}`;
    return refused === undefined ? "" : ` (${refused.data.actor}${because})`;
  }
  if (row.reason !== "misfire" && row.reason !== "deadline") return "";
  const held = lastHeld(ledger, row.run_key);
  if (held !== undefined) return `: it had been held back, as ${tellHeld(held)}`;
  if (row.finished_at === null) return "";
  const late = row.finished_at - row.due_at;
  return `: it was decided at ${showTime(row.finished_at, zone)}, ${showLength(late)} after it was due`;
}

function pauseBefore(
  ledger: Ledger,
  { recipe, finished_at }: RunRow,
): { at: number; why: string } | undefined {
  const row = ledger.get<{ at: number; data: string }>(
    `select at, data from event where run_key is null and kind = 'paused' and at <= ? and data like ? escape '!'
      order by at desc, seq desc limit 1`,
    finished_at,
    `{"recipe":${JSON.stringify(recipe).replaceAll(/[!%_]/g, "!$&")},%`,
  );
  // Written by `pauseRecipe`.
  return row === undefined ? undefined : { at: row.at, why: (JSON.parse(row.data) as { why: string }).why };
}

/** Why nobody has begun what is due, and what to type: most often nobody is there. */
function whyNobody(ledger: Ledger, row: RunRow, about: About): string[] {
  const left = whoLeft(about);
  if (isOwned(row)) {
    if (row.holder !== null) return ["the process that started it waits for its turn"];
    const again = row.class === "write" ? `run ${row.recipe} --manual` : `rerun ${row.run_key}`;
    return [...left, `no scheduler takes up what was started by hand; to run it: hsgate ${again}`];
  }
  const nobody = whyNoScheduler(ledger, row, about);
  if (nobody === undefined) return left;
  // A write is begun in its own time or not at all.
  const byHand = row.class === "write" ? "" : `, or now: hsgate rerun ${row.run_key}`;
  return [...left, nobody, `hsgate schedule runs it${byHand}`];
}

/** Who had it and gave it back. */
function whoLeft({ notes, zone }: About): string[] {
  const last = notes.findLast(({ kind }) => ["recovered", "released", "claimed"].includes(kind));
  if (last?.kind === "recovered") {
    return [`a process had died at it, as was found at ${showTime(last.at, zone)}`];
  }
  return last?.kind === "released" ? [`whoever was at it was stopped at ${showTime(last.at, zone)}`] : [];
}

function whyNoScheduler(ledger: Ledger, { recipe }: RunRow, { now, zone }: About): string | undefined {
  const seen = ledger.get<{ at: number | null }>(
    "select max(watermark) as at from schedule where recipe = ?",
    recipe,
  )
    ?.at;
  if (seen === null || seen === undefined) return "no scheduler has seen the recipe";
  return now - seen > 5 * 60_000 ? `no scheduler has looked since ${showTime(seen, zone)}` : undefined;
}

/** What the run had come to before it was taken up again. */
function beforehand(notes: About["notes"]): string {
  const again = notes.findLastIndex(({ kind }) => kind === "reopened");
  if (again < 0) return "";
  const ended = notes.slice(0, again).findLast(({ kind }) => kind === "ended" || kind === "skipped");
  if (ended === undefined) return "";
  const { state = "skipped", reason } = ended.data;
  return `before that it was ${state}${reason === undefined ? "" : ` (${reason})`}`;
}
