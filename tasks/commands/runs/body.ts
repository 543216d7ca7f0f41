/**
 * Runs `hsgate runs` and `hsgate runs show`.
 *
 * @module
 */
import {
  describeBlock,
  lastBlock,
  unresolvedWriteAdvice,
  unresponsiveAdvice,
  unresponsiveSince,
} from "../../../lib/runner/explain/advice.ts";
import type { Store } from "../../../lib/store/store.ts";
import { noticesOf } from "../../../lib/runner/notify/outbox.ts";
import { eventsOf, logOf } from "../../../lib/runner/queries/events.ts";
import { paramsOf, type RunRow } from "../../../lib/runner/queries/runs.ts";
import { blockReasonOf } from "../../../lib/runner/queries/claims.ts";
import { hasRun, latestRuns } from "../../../lib/runner/queries/run_lookups.ts";
import { showInstant } from "../../../lib/calendars/mod.ts";
import { artifactsOf, outputIn, stepsOf } from "../../../lib/runner/queries/steps.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { type Color, type Column, list, paint, plain } from "../../terminal/print.ts";
import { checkListColumns, listView, printList } from "../../terminal/list_output.ts";
import { type RunsInput, type RunsShowInput, runStates } from "../runs.ts";
import { runOf } from "../shared/decide.ts";
import { checkKnown, openStore, storeTime } from "../shared/store_file.ts";
import { listOf } from "../../terminal/arguments.ts";
import { noticeColors, noticeRowData, warnOfUnsent } from "../shared/notice_lines.ts";
import { seconds } from "../run/log.ts";
import { warnOfUntrusted } from "../trust/notes.ts";
import { shellHint } from "../../../lib/shell_words.ts";

const colors: Readonly<Record<string, Color>> = {
  ok: "green",
  failed: "red",
  unknown: "red",
  skipped: "dim",
};

const levelColors: Readonly<Record<string, Color>> = { debug: "dim", warn: "yellow", error: "red" };

/** Lists runs, newest first. */
export async function run({ args: [given], flags, host }: RunsInput): Promise<number> {
  const limit = flags.limit ?? "20";
  if (!/^([1-9]\d{0,3}|10000)$/.test(limit)) {
    throw new UsageError(`Cannot use --limit "${limit}": write a number from 1 to 10000`);
  }
  const wanted = flags.state === undefined ? runStates : listOf("state", flags.state, runStates);
  const view = listView(flags);
  checkListColumns(view, columnsAt(0));
  await using store = await openStore(flags, { host, mustExist: true });
  const recipe = given === undefined ? undefined : await nameInStore(store, given, host);
  const rows = await latestRuns(store, { recipe, states: [...new Set(wanted)], limit: Number(limit) });
  const now = storeTime(store, host);
  await warnOfUnsent(store, host);
  await warnOfUntrusted(store, host);
  printList(host, view, {
    columns: columnsAt(now),
    rows,
    data: (row) => dataOf(row, now),
    empty: "there are no runs",
  });
  if (view.output === "table") {
    // Print unresponsive runs again below the table, because a narrow terminal omits the reason column.
    for (const row of rows) {
      const since = unresponsiveSince(row, now);
      if (since !== undefined) host.out(paint(host, "yellow", plain(silentText(row, since))));
    }
  }
  return 0;
}

/** Returns the name of a recipe in the store; accepts the name of its file in the default folder. */
async function nameInStore(store: Store, given: string, host: Host): Promise<string> {
  if (await hasRun(store, given)) return given;
  const { recipeInFolder } = await import("../shared/recipe_files.ts"); // loads the compiler only here
  const found = await recipeInFolder(given, {
    folder: undefined,
    host: { ...host, note() {} },
    now: host.now,
  });
  const name = found?.name ?? given;
  await checkKnown(store, name);
  return name;
}

const silentText = ({ run_key: key }: RunRow, since: number) =>
  `${key}: its process has not renewed its lease, which expired at ${showInstant(since)}; "runs show ${
    shellHint(key)
  }" says what to do`;

const columnsAt = (now: number): Column<RunRow>[] => [
  { title: "key", id: true, of: ({ run_key }) => run_key },
  { title: "state", keep: true, of: ({ state }) => state, color: ({ state }) => colors[state] },
  { title: "reason", of: (row) => unresponsiveSince(row, now) === undefined ? row.reason ?? "" : "silent" },
  { title: "slot (UTC)", name: "slot", of: ({ slot_at }) => showInstant(slot_at) },
  { title: "kind", of: ({ kind }) => kind },
  { title: "started (UTC)", name: "started", of: ({ started_at }) => instant(started_at) ?? "" },
  { title: "took", of: took, align: "right" },
  { title: "recipe", extra: true, of: ({ recipe }) => recipe },
  { title: "schedule", extra: true, of: ({ schedule_id }) => schedule_id },
  { title: "day", extra: true, of: ({ business_day }) => business_day ?? "" },
  { title: "class", extra: true, of: (row) => row.class },
  { title: "due (UTC)", name: "due", extra: true, of: ({ due_at }) => showInstant(due_at) },
  {
    title: "finished (UTC)",
    name: "finished",
    extra: true,
    of: ({ finished_at }) => instant(finished_at) ?? "",
  },
  { title: "attempt", extra: true, of: ({ attempt }) => String(attempt), align: "right" },
  { title: "trace", extra: true, of: ({ trace_id }) => trace_id },
];

const instant = (at: number | null): string | undefined => at === null ? undefined : showInstant(at);

function took({ started_at, finished_at }: Pick<RunRow, "started_at" | "finished_at">): string {
  return started_at === null || finished_at === null ? "" : seconds(finished_at - started_at);
}

/** Returns a run for `--json`. */
function dataOf(row: RunRow, now: number) {
  return {
    key: row.run_key,
    recipe: row.recipe,
    schedule: row.schedule_id,
    kind: row.kind,
    class: row.class,
    state: row.state,
    reason: row.reason ?? undefined,
    slot: showInstant(row.slot_at),
    businessDay: row.business_day ?? undefined,
    attempt: row.attempt,
    startedAt: instant(row.started_at),
    finishedAt: instant(row.finished_at),
    notHeardOfSince: instant(unresponsiveSince(row, now) ?? null),
    traceId: row.trace_id,
  };
}

/** Shows one run. */
export async function show({ args: [key = ""], flags, host }: RunsShowInput): Promise<number> {
  await using store = await openStore(flags, { host, mustExist: true });
  const row = await runOf(store, key, "show");
  const details = await detailsOf(store, row, storeTime(store, host));
  if (flags.json) host.out(JSON.stringify(details));
  else print(details, host);
  return 0;
}

async function detailsOf(store: Store, row: RunRow, now: number) {
  const steps = (await stepsOf(store, row.run_key)).map((step) => ({
    id: step.step_id,
    attempt: step.attempt,
    round: step.round,
    effect: step.effect,
    state: step.state,
    error: step.error ?? undefined,
    startedAt: showInstant(step.started_at),
    finishedAt: instant(step.finished_at),
    took: took(step),
    output: step.output === null ? undefined : outputIn(step),
  }));
  const artifacts = (await artifactsOf(store, row.run_key)).map(({ uri, final, ...rest }) => ({
    ...rest,
    path: uri,
    final: final === 1,
  }));
  const events = (await eventsOf(store, row.run_key)).map(({ at, kind, data }) => ({
    at: showInstant(at),
    kind,
    data,
  }));
  const log = (await logOf(store, row.run_key)).map(({ at, level, step, text }) => ({
    at: showInstant(at),
    level,
    step: step ?? undefined,
    text,
  }));
  return {
    ...dataOf(row, now),
    round: row.round,
    due: showInstant(row.due_at),
    deadline: instant(row.deadline_at),
    params: paramsOf(row),
    recipeSha: row.recipe_sha,
    calendarVersion: row.calendar_version ?? undefined,
    advice: await adviceOf(store, row, now),
    steps,
    artifacts,
    notices: (await noticesOf(store, row.run_key)).map(noticeRowData),
    log,
    events,
  };
}

/** Returns lines that say what a person has to do about a run. */
async function adviceOf(store: Store, row: RunRow, now: number): Promise<string[]> {
  const key = row.run_key;
  const silent = unresponsiveSince(row, now);
  if (silent !== undefined) {
    return [
      `its process has not renewed its lease, which expired at ${showInstant(silent)}`,
      ...await unresponsiveAdvice(store, row),
    ];
  }
  if (row.state === "waiting_approval") {
    return [
      `it waits for approval: run "hsgate approve ${shellHint(key)}" or "hsgate refuse ${shellHint(key)}"`,
    ];
  }
  const reason = blockReasonOf(row.reason);
  if (reason === undefined) return await unresolvedWriteAdvice(store, row);
  const block = await lastBlock(store, key, reason);
  return block === undefined ? [] : [`blocked: ${describeBlock(block)}`];
}

const LONGEST = 400;

function print(details: Awaited<ReturnType<typeof detailsOf>>, host: Host): void {
  const { steps, artifacts, notices, log, events, params, advice, ...head } = details;
  // First, because a person has to act.
  for (const line of advice) host.out(paint(host, "yellow", plain(line)));
  const rows = Object.entries({ ...head, params: JSON.stringify(params) })
    .flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [[labelOf(name), String(value)] as const]
    );
  for (const line of list(host, rows)) host.out(line);
  for (const { id, attempt, round, state, took, error, output } of steps) {
    const count = attempt > 1 || round > 0
      ? ` (attempt ${attempt}${round > 0 ? `, round ${round}` : ""})`
      : "";
    host.out(`${paint(host, "bold", id)}${count}  ${paint(host, colors[state], state)}  ${took}`.trimEnd());
    if (error !== undefined) host.out(`  ${plain(error)}`);
    if (output !== undefined && output !== null) host.out(`  ${cut(plain(JSON.stringify(output)))}`);
  }
  for (const { dataset, revision, path, bytes, final } of artifacts) {
    host.out(
      `file ${plain(path)}  ${dataset}, revision ${revision}, ${bytes} bytes${final ? ", final" : ""}`,
    );
  }
  for (const { notice, channel, state, tries, error } of notices) {
    const count = tries > 1 ? `, ${tries} tries` : "";
    const text = `${state}${count}${error === undefined ? "" : `: ${plain(error)}`}`;
    host.out(`notice ${notice ?? ""} by ${plain(channel)}  ${paint(host, noticeColors[state], text)}`);
  }
  if (log.length > 0) host.out(paint(host, "bold", "log"));
  for (const { at, level, step, text } of log) {
    const said = `${step === undefined ? "" : `${step}: `}${level === "info" ? "" : `${level}: `}${
      plain(text)
    }`;
    host.out(`  ${paint(host, "dim", at)}  ${paint(host, levelColors[level], said)}`);
  }
  if (events.length > 0) host.out(paint(host, "bold", "events"));
  for (const { at, kind, data } of events) {
    host.out(`  ${paint(host, "dim", at)}  ${kind}  ${plain(JSON.stringify(data))}`);
  }
}

/** Returns the label of a member: `startedAt` becomes `started`, `traceId` becomes `trace id`. */
const labelOf = (name: string) =>
  name.replace(/At$/, "").replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Cuts a long output. */
const cut = (text: string) =>
  text.length <= LONGEST
    ? text
    : `${text.slice(0, LONGEST)}… (${text.length - LONGEST} more characters; --json prints all)`;
