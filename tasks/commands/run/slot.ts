/**
 * Runs `hsgate run` with a store: runs the latest past slot, only once across all processes, or makes a manual run.
 *
 * @module
 */
import { reasonOf } from "../../../lib/credentials.ts";
import type { Calendars } from "../../../lib/calendars/mod.ts";
import { calendarsOf } from "../../terminal/arguments.ts";
import type { NoticeEvent } from "../../../lib/runner/notify/notify.ts";
import { Runner } from "../../../lib/runner/runner.ts";
import type { Store } from "../../../lib/store/store.ts";
import { findRun } from "../../../lib/runner/queries/runs.ts";
import {
  runLatestSlot,
  runManual,
  type ScriptOptions,
  type ScriptResult,
} from "../../../lib/runner/run/script.ts";
import { findPastSlot } from "../../../lib/runner/schedule/starts.ts";
import { whyOutside, windowOn } from "../../../lib/runner/schedule/plan_run.ts";
import { bindParams, type CompiledRecipe } from "../../../lib/recipes/mod.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { plain } from "../../terminal/print.ts";
import type { RunInput } from "../run.ts";
import { fileHaltOf, openStore, retentionOf, storeTime, warnOfPlace } from "../shared/store_file.ts";
import { pruneSome } from "../../../lib/runner/queries/retention.ts";
import { clockOf } from "../../terminal/arguments.ts";
import { failedLine, noticeData, warnOfUnsent } from "../shared/notice_lines.ts";
import { loadToRun, neighboursOf } from "../shared/recipe_files.ts";
import { Connections } from "./connections.ts";
import { observe } from "../shared/observers.ts";
import { noteEvent, treeEventsOf } from "./events.ts";
import { eventLogger } from "./log.ts";
import { codeOf, notRunLines, waitText } from "./outcome.ts";
import { paramsOf } from "./params.ts";
import { showRun } from "./show.ts";
import { commandDeps, redactorFor } from "./deps.ts";
import { RunTree, summaryLines } from "./tree.ts";
import { shellHint } from "../../../lib/shell_words.ts";

/** Maximum wait for another run, unless `--wait` sets it. */
const WAIT_MS = 60_000;

/** Runs the latest slot of a recipe file, or makes a manual run. */
export async function runSlot(path: string, input: RunInput): Promise<number> {
  const { flags, host } = input;
  const now = clockOf(flags.now, host);
  const patienceMs = waitOf(flags.wait);
  const recipe = await loadToRun(path, { host, now, orTrusted: flags["if-new"] });
  await using connections = await Connections.open(flags, host, { now });
  connections.connectionOf(recipe);
  refuseOtherTime(recipe, input);
  const isManualRequested = flags.manual === true || recipe.schedules.length === 0;
  const given = isManualRequested ? paramsOf(recipe, flags.param) : slotParams(recipe, input);
  if (isManualRequested) refuseOutside(calendarsOf(host), recipe, now());
  const recipes = await neighboursOf(recipe, { host, now });
  const redactor = redactorFor(connections);
  await using store = await openStore(flags, { host, mustExist: false });
  const asLines = flags.json === true && flags.events === true;
  const formatNote = (line: string) => asLines ? redactor.json(noteEvent(line, now())) : line;
  await warnOfPlace(store, [recipe], {
    flags,
    host: { ...host, note: (line) => host.note(formatNote(line)) },
  });
  // Without --now, use the clock of the store, as the run does.
  const storeNow = flags.now === undefined ? () => storeTime(store, { now }) : now;
  const past = isManualRequested
    ? undefined
    : await pastSlot(store, recipe, { flags, now: storeNow(), calendars: calendarsOf(host) });
  if (past !== undefined) host.note(formatNote(`hsgate: ${plain(past)}`));
  const isManual = isManualRequested || past !== undefined;
  const params = past === undefined ? given : paramsOf(recipe, undefined);
  const tree = new RunTree();
  const common = commandDeps({
    connections,
    host,
    recipes: recipes.values(),
    redactor,
    out: flags.out,
    now,
    haltedByFile: await fileHaltOf(flags, host),
  });
  const stop = host.signal;
  const notices: NoticeEvent[] = [];
  const run = async (): Promise<ScriptResult | undefined> => {
    const isPlain = flags.json !== true;
    // Without a terminal, `log` prints lines like those of the scheduler instead of a progress display.
    using show = showRun(host, { tree, json: !isPlain, quiet: true });
    connections.noteWith((line) => show.line(formatNote(line)));
    const log = eventLogger({ out: show.line, color: false }, {
      json: !isPlain,
      reason: (error) => reasonOf(error, redactor),
    });
    await using observers = await observe({
      settings: connections.settings,
      ...common,
      recipeOf: (name) => recipes.get(name),
      log: () => {}, // `onEvent` below logs
      note: (text) => show.line(formatNote(`hsgate: ${text}`)),
    });
    // Apply events to the tree in order, even if some of them need a query of the store first.
    let shown = Promise.resolve();
    const runner = new Runner({
      ...common,
      store,
      recipes: () => recipes,
      tracer: observers.tracer,
      onEvent(event) {
        observers.onEvent(event);
        if (isPlain && host.errTerminal === undefined || !isPlain && flags.events) log(event);
        else if (event.type === "log" || event.type === "warning") log(event);
        shown = shown.then(async () => {
          for (const each of await treeEventsOf(event, { store, recipes })) {
            tree.apply(each);
            show.take(each);
          }
        });
      },
      onNotice(event) {
        notices.push(event);
        observers.onSchedulerEvent({ type: "notice", at: now(), ...event });
        const line = failedLine(event);
        if (line !== undefined) show.line(formatNote(line));
      },
    });
    const options: ScriptOptions = {
      deps: runner.deps,
      claimer: runner.claimer,
      patienceMs,
      stop,
      onWait: async ({ runKey, untilAt, reason }) => {
        const by = flags.json
          ? undefined
          : await waitText({ store, recipe, runKey, untilAt, reason }, connections, now());
        if (by !== undefined) show.line(`hsgate: ${by}; Ctrl-C stops waiting`);
      },
    };
    const forceDeadline = flags["force-deadline"] ?? false;
    // On request, a read-only recipe may run outside its window. A recipe that writes never runs outside its window.
    const asked = forceDeadline && recipe.class !== "write" ? { ...recipe, window: undefined } : recipe;
    const begin = async () => {
      if (!isManual) return await runLatestSlot(asked, { ...options, forceDeadline });
      const window = windowOn(calendarsOf(host), asked, storeNow());
      const deadlineAt = typeof window === "object" ? window.until : undefined;
      return await runManual(asked, {
        ...options,
        id: common.machine.id(),
        params,
        ...deadlineAt !== undefined && { deadlineAt },
      });
    };
    const result = await begin().finally(() => shown);
    const row = result === undefined ? undefined : await findRun(store, result.runKey);
    if (row?.state === "skipped" && result?.ran === false) await runner.queueNotices([row.run_key]);
    await runner.deliverNotices();
    return result;
  };
  const result = await run();
  connections.noteWith(host.note); // the progress display has ended
  // If timers start the runs, no scheduler removes old rows.
  if (flags["if-new"]) await pruneSome(store, { keep: retentionOf(connections.settings), now: now() });
  if (result === undefined) {
    throw new UsageError(
      `Cannot run "${recipe.name}" for a slot: its schedules have no slot in the last 14 days; --manual runs it now`,
    );
  }
  const { state, reason } = result.outcome;
  const isSimulated = recipe.connect?.to === "simulator";
  if (flags.json) {
    host.out(
      JSON.stringify({
        key: result.runKey,
        ran: result.ran,
        state,
        reason,
        ...isSimulated && { simulated: true },
        ...notices.length > 0 && { notices: notices.map(noticeData) },
      }),
    );
  } else if (result.ran) {
    for (const line of summaryLines(tree, host)) host.out(line);
    host.out(`run key ${result.runKey}`);
    if (state !== "ok") {
      host.out(`  -> "hsgate runs show ${shellHint(result.runKey)}" shows details`);
    }
  } else {
    for (const line of await notRunLines(result, { store, recipe, connections, input, now: now() })) {
      host.out(line);
    }
  }
  if (!asLines) await warnOfUnsent(store, host);
  return stop.aborted && (state === "refused" || state === "cancelled")
    ? 130
    : codeOf(result, flags["if-new"] ?? false);
}

/**
 * Returns the note for a manual run that replaces the latest slot, because the recipe reads present data and the day
 * of the slot is over. Returns `undefined` if the slot itself must run.
 */
async function pastSlot(
  store: Store,
  recipe: CompiledRecipe,
  { flags, now, calendars }: { flags: RunInput["flags"]; now: number; calendars: Calendars },
): Promise<string | undefined> {
  if (flags["if-new"] || flags["force-deadline"]) return undefined;
  const past = await findPastSlot(store, recipe, { now, calendars });
  if (past === undefined) return undefined;
  const { runKey, step, asOfNow: { reads, instead }, why } = past;
  return `this is a manual run with the present time: step "${step}" reads ${reads}, which the broker reports only for the present, and slot ${runKey} has passed ` +
    `(${why})${instead === undefined ? "" : `; for past days use "${instead}"`}`;
}

/**
 * Checks the recipe's own parameters, with which a slot always runs.
 *
 * @throws {UsageError} If the command line gives parameters.
 */
function slotParams(recipe: CompiledRecipe, { args: [name = ""], flags }: RunInput): undefined {
  if (flags.param === undefined) return void bindParams(recipe, {});
  throw new UsageError(
    `Cannot use --param for a slot of "${recipe.name}": slots run with the recipe's own parameters; for a ` +
      `manual run use "hsgate run ${shellHint(name)} --manual --param ${shellHint(flags.param[0]!)}"`,
  );
}

function waitOf(given: string | undefined): number {
  if (given === undefined) return WAIT_MS;
  if (/^\d{1,5}$/.test(given)) return Number(given) * 1000;
  throw new UsageError(`Cannot use --wait "${given}": write whole seconds, such as 0 or 300`);
}

/** Checks that a manual run of a recipe that writes is within its window. @throws {UsageError} If it is not. */
function refuseOutside(calendars: Calendars, recipe: CompiledRecipe, now: number): void {
  const outside = recipe.class === "write" ? whyOutside(calendars, recipe, now, now) : undefined;
  if (outside === undefined) return;
  throw new UsageError(
    `Cannot start a manual run of "${recipe.name}" now: it writes, and ${outside}; no flag overrides that; --dry-run ` +
      `shows what it would write; to allow other times change "window" in ${recipe.file}`,
  );
}

/**
 * Rejects `--now` for a recipe that writes: another time would bypass its window and its deadline, and use the key of
 * another day. Accepts it with a simulated broker, where it is harmless.
 *
 * @throws {UsageError} If `--now` is rejected; nothing was sent.
 */
function refuseOtherTime(
  recipe: CompiledRecipe,
  { args: [name = ""], flags }: Pick<RunInput, "args" | "flags">,
): void {
  if (flags.now === undefined || recipe.class !== "write" || recipe.connect?.to === "simulator") return;
  throw new UsageError(
    `Cannot run "${recipe.name}" with --now: it writes, and orders go out at the real time; remove --now, use ` +
      `"hsgate run ${shellHint(name)} --dry-run --now ${
        shellHint(flags.now)
      }", or try a copy of the recipe with ` +
      '"connect: simulator"',
  );
}
