/**
 * Describes the state of one run in words, from its row and its events.
 *
 * @module
 */
import { lastListedAt } from "../queries/schedules.ts";
import { failedStep } from "../queries/steps.ts";
import { eventsOf, pauseBefore, type StoredEvent, TRADING } from "../queries/events.ts";
import type { Store } from "../../store/store.ts";
import { isStarterOnly, type RunKind, type RunRow } from "../queries/runs.ts";
import { blockReasonOf } from "../queries/claims.ts";
import { newerRun, sameSlotRun } from "../queries/run_lookups.ts";
import {
  describeBlock,
  lastBlock,
  unresolvedIntentAdvice,
  unresolvedWriteAdvice,
  unresponsiveAdvice,
  unresponsiveSince,
} from "./advice.ts";
import { type NoticeRow, noticesOf } from "../notify/outbox.ts";
import { shellHint } from "../../shell_words.ts";

/** Texts for why a run was skipped, by the code of the reason. */
const skipReasons: Readonly<Record<string, string>> = {
  misfire: "it was missed, and too much time had passed to catch up",
  superseded: "a newer run replaced it",
  deadline: "its deadline had passed",
  overlap: "the previous run was still running",
  holiday: "the exchange was closed",
  half_day: "it was a half-day",
  calendar_unknown: "the calendar does not cover the day, or only projects it",
  paused: "the recipe was paused",
  condition: "its conditions were not met",
  plan: "it was a plan, and sent nothing",
  not_approved: "it was not approved",
  duplicate_slot: "the recipe has another run for the same instant",
  recipe_changed: "the recipe was read-only when the slot was listed, and writes now",
  loss_accepted: "it would write, and the store was accepted after data was lost",
};

const failures: Readonly<Record<string, string>> = {
  timeout: "it exceeded its time limit",
  displaced: "another device took over the login",
  login: "the broker refused the login",
  window: "its window had closed before the write",
  unsafe: "writing was no longer safe",
  plan: "it was live when it began, and live trading was off when it continued",
  recipe_changed: "its recipe was changed while it was interrupted, so it did not continue",
};

/** Texts for why a run was cancelled, by the code of the reason. Other reasons are shown as they are. */
const cancellations: Readonly<Record<string, string>> = {
  stopped: "the person or program that started it stopped it",
  overlap: "another run of the recipe was running or about to start",
  account: "another run kept the account busy for the whole wait",
  recovery: "the outcome of an earlier run's write on the account was unknown",
  unsafe: "writing to the account was not safe",
  displaced: "another device had taken over the login",
  password: "the broker had refused the password",
  login: "the broker had refused the login shortly before",
  deadline: "its deadline had passed",
};

const kinds: Partial<Record<RunKind, string>> = {
  catchup: "was missed, then caught up,",
  backfill: "was backfilled by hand",
  manual: "was started by hand",
  dry: "was run as a dry run",
};

/** Formats an instant for people: `2025-08-15 16:45 Asia/Hong_Kong`. */
export function showTime(at: number | null, zone: string): string {
  if (at === null) return "an unknown time";
  const local = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
  return `${local.toPlainDateTime().toString({ smallestUnit: "minute" }).replace("T", " ")} ${zone}`;
}

/** Formats a length of time for people: `2 h 10 min`. */
export function showLength(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** A delay counts as late from this length on. On a busy machine, a run may begin a few seconds after it is due. */
const LATE_MS = 30_000;

/** Returns by how many milliseconds a scheduled run began late; 0 if it was on time. */
export function latenessOf({ kind, due_at, started_at }: RunRow): number {
  const counts = started_at !== null && (kind === "live" || kind === "catchup");
  return counts && started_at - due_at >= LATE_MS ? started_at - due_at : 0;
}

/** Returns the state of a run in words. */
export async function describeRun(
  store: Store,
  row: RunRow,
  { zone, now }: { zone: string; now: number },
): Promise<string> {
  const notes = await eventsOf(store, row.run_key);
  const before = beforehand(notes);
  const isOver = notes.some(({ kind }) => kind === "started_over");
  const unsent = (await noticesOf(store, row.run_key)).filter(({ state, tries }) =>
    state !== "sent" && tries > 0
  );
  return [
    `${row.run_key} ${await outcomeOf(store, row, { zone, now, notes })}`,
    ...before === "" ? [] : [before],
    ...isOver
      ? ["its recipe had changed since an earlier start, so it started again from the first step"]
      : [],
    ...unsent.map(describeUnsent),
  ].join("; ");
}

function describeUnsent({ notice, channel, state, tries, error }: NoticeRow): string {
  const what = `its notice ${notice ?? ""} by ${channel} was not sent`.replace("  ", " ");
  const times = `after ${tries} ${tries === 1 ? "try" : "tries"}`;
  const given = state === "given up" ? `; hsgate does not try it again (see: hsgate notices)` : "";
  return `${what} ${times}${given}${error === undefined ? "" : `: ${error}`}`;
}

interface About {
  zone: string;
  now: number;
  notes: readonly StoredEvent[];
}

async function outcomeOf(store: Store, row: RunRow, about: About): Promise<string> {
  const { zone, now, notes } = about;
  const reason = row.reason ?? "";
  const end = showTime(row.finished_at, zone);
  const resolved = reason === "resolved" ? notes.findLast(({ kind }) => kind === "resolved") : undefined;
  if (resolved !== undefined) {
    const { state, actor, because } = resolved.data;
    const what = `was interrupted while writing; ${actor} resolved it as ${state} at ${
      showTime(resolved.at, zone)
    }${because === undefined ? "" : `: ${because}`}`;
    return [what, ...await unresolvedIntentAdvice(store, row.run_key)].join("; ");
  }
  switch (row.state) {
    case "ok": {
      const assumed = row.assumed === 1 ? ", on a day that the calendar does not cover" : "";
      const late = latenessOf(row);
      const begun = late === 0 ? "" : `, begun ${showLength(late)} after it was due`;
      return `${kinds[row.kind] ?? "ran"} and succeeded at ${end}${begun}${takenOver(about)}${assumed}`;
    }
    case "failed":
      return `failed at ${end}, attempt ${row.attempt}: ${await failureOf(store, row)}${takenOver(about)}`;
    case "skipped": {
      const begun = begunText(row, zone);
      const block = reason === "overlap" ? await lastBlock(store, row.run_key) : undefined;
      if (reason === "plan") {
        const decided = notes.findLast(({ kind }) => kind === TRADING);
        return `was a plan, and sent nothing: ${decided?.data.plan ?? "live trading was off"}${begun}`;
      }
      if (block?.because === "recovery") return `was skipped because ${describeBlock(block)}`;
      return `was skipped because ${skipReasons[reason] ?? reason}${begun}${await whySkipped(
        store,
        row,
        about,
      )}`;
    }
    case "cancelled":
      return `was cancelled at ${end}: ${cancellations[reason] ?? reason}${begunText(row, zone)}`;
    case "due": {
      if (row.due_at > now) return `is due to begin at ${showTime(row.due_at, zone)}`;
      const reason = blockReasonOf(row.reason);
      const block = reason === undefined ? undefined : await lastBlock(store, row.run_key, reason);
      const because = block === undefined ? await whyNobody(store, row, about) : [describeBlock(block)];
      return `has been due since ${showTime(row.due_at, zone)} and has not begun${
        because.length === 0 ? "" : `: ${because.join("; ")}`
      }`;
    }
    case "running": {
      const silent = unresponsiveSince(row, now);
      if (silent === undefined) {
        return `has been running since ${showTime(row.started_at, zone)}${takenOver(about)}`;
      }
      const since = `was running; its process has not renewed its lease, which expired at ${
        showTime(silent, zone)
      }`;
      return [since, ...await unresponsiveAdvice(store, row)].join("; ");
    }
    case "waiting_approval": {
      const until = row.deadline_at === null ? "" : `, until ${showTime(row.deadline_at, zone)}`;
      const missed = reason === "misfire" ? "was missed and " : "";
      return `${missed}waits for approval${until}: hsgate approve ${
        shellHint(row.run_key)
      }, or: hsgate refuse ${shellHint(row.run_key)}`;
    }
    case "waiting_recovery":
    case "unknown": {
      const what = row.state === "unknown"
        ? `ended at ${end}; whether its write happened is unknown`
        : "was interrupted while writing; it waits until the outcome of that write is resolved";
      return [what, ...await unresolvedWriteAdvice(store, row)].join("; ");
    }
  }
}

const begunText = ({ started_at }: RunRow, zone: string) =>
  started_at === null ? "" : `, after it had begun at ${showTime(started_at, zone)}`;

/** Returns a text that says how many processes died while they ran this run; an empty text if none did. */
function takenOver({ notes, zone }: About): string {
  const times = notes.filter(({ kind }) => kind === "recovered");
  const last = times.at(-1);
  if (last === undefined) return "";
  const count = times.length === 1 ? "a process" : `${times.length} processes`;
  return `, after ${count} had died while running it, the last before ${showTime(last.at, zone)}`;
}

async function failureOf(store: Store, row: RunRow): Promise<string> {
  const step = await failedStep(store, row);
  const what = failures[row.reason ?? ""] ??
    (step === undefined ? row.reason ?? "no reason is known" : undefined);
  const where = step === undefined
    ? undefined
    : `step "${step.step_id}"${step.error === null ? "" : `: ${step.error}`}`;
  return [what, where].filter((text) => text !== undefined).join(", ");
}

async function whySkipped(store: Store, row: RunRow, { notes, zone }: About): Promise<string> {
  if (row.reason === "paused") {
    const paused = await pauseBefore(store, row.recipe, row.finished_at);
    if (paused === undefined) return "";
    return paused.at > row.due_at ? ` (${paused.why}) before the run began` : ` (${paused.why})`;
  }
  if (row.reason === "duplicate_slot") {
    const other = await sameSlotRun(store, row);
    return other === undefined ? "" : ` (${other})`;
  }
  if (row.reason === "superseded") {
    const newer = await newerRun(store, row);
    return newer === undefined ? "" : ` (${newer})`;
  }
  if (row.reason === "not_approved") {
    const refused = notes.findLast(({ kind }) => kind === "refused");
    const because = refused?.data.because === undefined ? "" : `: ${refused.data.because}`;
    return refused === undefined ? "" : ` (${refused.data.actor}${because})`;
  }
  if (row.reason !== "misfire" && row.reason !== "deadline") return "";
  const block = await lastBlock(store, row.run_key);
  if (block !== undefined) return `: it had been blocked: ${describeBlock(block)}`;
  if (row.finished_at === null) return "";
  const late = row.finished_at - row.due_at;
  return `: the runner skipped it at ${showTime(row.finished_at, zone)}, ${
    showLength(late)
  } after it was due`;
}

/** Returns why no process has begun a due run, and which command to run. Most often no scheduler is running. */
async function whyNobody(store: Store, row: RunRow, about: About): Promise<string[]> {
  const left = lastProcessNote(about);
  if (isStarterOnly(row)) {
    if (row.holder !== null) return ["the process that started it is waiting to begin it"];
    const again = row.class === "write"
      ? `run ${shellHint(row.recipe)} --manual`
      : `rerun ${shellHint(row.run_key)}`;
    return [...left, `no scheduler runs a run that was started by hand; to run it: hsgate ${again}`];
  }
  const nobody = await whyNoScheduler(store, row, about);
  if (nobody === undefined) return left;
  // `hsgate rerun` rejects a run that writes.
  const rerunHint = row.class === "write" ? "" : `, or now: hsgate rerun ${shellHint(row.run_key)}`;
  return [...left, nobody, `hsgate schedule runs it${rerunHint}`];
}

/** Returns why the last process that had the run no longer has it. */
function lastProcessNote({ notes, zone }: About): string[] {
  const last = notes.findLast(({ kind }) => ["recovered", "released", "claimed"].includes(kind));
  if (last?.kind === "recovered") {
    return [`the process that ran it died (found at ${showTime(last.at, zone)})`];
  }
  return last?.kind === "released"
    ? [`the process that ran it was stopped at ${showTime(last.at, zone)}`]
    : [];
}

async function whyNoScheduler(
  store: Store,
  { recipe }: RunRow,
  { now, zone }: About,
): Promise<string | undefined> {
  const seen = await lastListedAt(store, recipe);
  if (seen === undefined) return "no scheduler has run with this recipe";
  return now - seen > 5 * 60_000 ? `no scheduler has run since ${showTime(seen, zone)}` : undefined;
}

/** Returns how the run had ended before it was run again; an empty text if it ran only once. */
function beforehand(notes: About["notes"]): string {
  const again = notes.findLastIndex(({ kind }) => kind === "reopened");
  if (again < 0) return "";
  const ended = notes.slice(0, again).findLast(({ kind }) => kind === "ended" || kind === "skipped");
  if (ended === undefined) return "";
  const { state = "skipped", reason } = ended.data;
  return `before that it was ${state}${reason === undefined ? "" : ` (${reason})`}`;
}
