/**
 * What `hsgate run` does with a ledger: the latest slot that has passed, once, whoever else may start it; or a run by
 * hand.
 *
 * @module
 */
import { runNested } from "../../../lib/runner/nested.ts";
import { noticeChannel } from "../../../lib/runner/notice_step.ts";
import { deliverNotices, type NoticeEvent, queueNotices } from "../../../lib/runner/notify.ts";
import type { Surroundings } from "../../../lib/runner/run.ts";
import type { Ledger } from "../../../lib/runner/ledger.ts";
import { findRun } from "../../../lib/runner/run_rows.ts";
import {
  runLatestSlot,
  runManual,
  type ScriptOptions,
  type ScriptResult,
} from "../../../lib/runner/script.ts";
import { findPastSlot } from "../../../lib/runner/starts.ts";
import { whyOutside, windowOn } from "../../../lib/runner/write_window.ts";
import { bindParams, type CompiledRecipe } from "../../../lib/steps/mod.ts";
import { UsageError } from "../exit_codes.ts";
import { plain } from "../print.ts";
import type { RunInput } from "../run.ts";
import { openLedger, warnOfPlace } from "./ledger_file.ts";
import { clockOf } from "./lists.ts";
import { failedLine, noticeData, tellUnsent } from "./notice_lines.ts";
import { loadToRun } from "./recipe_files.ts";
import { neighboursOf } from "./recipe_neighbours.ts";
import { Connections } from "./run_connections.ts";
import { observe, redactorFor } from "./observers.ts";
import { noteEvent, treeEventsOf } from "./run_events.ts";
import { eventLogger } from "./run_log.ts";
import { codeOf, notRunLines, waitText } from "./run_outcome.ts";
import { paramsOf } from "./run_params.ts";
import { showRun } from "./run_show.ts";
import { holderName, runnerHost, secretReader } from "./run_surroundings.ts";
import { RunTree, summaryLines } from "./run_tree.ts";

/** How long to wait for another run when nobody says. */
const WAIT_MS = 60_000;

/** Runs the recipe of a file under the key of its latest slot, or by hand under one of its own. */
export async function runSlot(path: string, input: RunInput): Promise<number> {
  const { flags, host } = input;
  const now = clockOf(flags.now, host);
  const patienceMs = waitOf(flags.wait);
  const recipe = await loadToRun(path, { host, now, orTrusted: flags["if-new"] });
  await using connections = await Connections.open(flags, host, { now });
  connections.check(recipe);
  refuseOtherTime(recipe, input);
  const isByHand = flags.manual === true || recipe.schedules.length === 0;
  const given = isByHand ? paramsOf(recipe, flags.param) : slotParams(recipe, input);
  if (isByHand) refuseOutside(recipe, now());
  const recipes = await neighboursOf(recipe, { host, now });
  const redactor = redactorFor(connections);
  using ledger = await openLedger(flags, { host, mustExist: false });
  const { accountOf, passwordMarkOf } = connections;
  const claimer = { holder: holderName(), leaseMs: 30_000, accountOf, passwordMarkOf };
  const redact = (value: unknown) => redactor.json(value);
  const asLines = flags.json === true && flags.events === true;
  const said = (line: string) => asLines ? redact(noteEvent(line, now())) : line;
  await warnOfPlace(ledger, [recipe], { flags, host: { ...host, note: (line) => host.note(said(line)) } });
  const past = isByHand ? undefined : pastSlot(ledger, recipe, { flags, now: now() });
  if (past !== undefined) host.note(said(`hsgate: ${plain(past)}`));
  const isManual = isByHand || past !== undefined;
  const params = past === undefined ? given : paramsOf(recipe, undefined);
  const tree = new RunTree();
  const secret = secretReader([...recipes.values()], host);
  const machine = runnerHost({ now });
  const surroundings: Surroundings = {
    ledger,
    host: machine,
    out: flags.out ?? "",
    redactor,
    logLevel: connections.settings.logLevel,
    client: connections.of,
    timeOf: connections.timeOf,
    passwordMarkOf,
    secret,
    onEnd: (recipe, row) => void queueNotices(ledger, recipe, row, { now: now(), redact }),
  };
  const stop = host.signal;
  const notices: NoticeEvent[] = [];
  const run = async (): Promise<ScriptResult | undefined> => {
    const isPlain = flags.json !== true;
    // Elsewhere than on a terminal these are the lines of a log, as the scheduler writes them.
    using show = showRun(host, { tree, json: !isPlain, quiet: true });
    connections.tellWith((line) => show.line(said(line)));
    const log = eventLogger({ out: show.line, color: false }, {
      json: !isPlain,
      redact: (text) => redactor.text(text),
    });
    await using observers = await observe({
      settings: connections.settings,
      host: machine,
      redactor,
      recipeOf: (name) => recipes.get(name),
      secret,
      log: () => {}, // the lines below
      note: (text) => show.line(said(`hsgate: ${text}`)),
    });
    if (observers.tracer !== undefined) surroundings.tracer = observers.tracer;
    surroundings.onEvent = (event) => {
      observers.onEvent(event);
      if (isPlain && host.errTerminal === undefined || !isPlain && flags.events) log(event);
      else if (event.type === "log" || event.type === "warning") log(event);
      for (const each of treeEventsOf(event, { ledger, recipes })) {
        tree.apply(each);
        show.take(each);
      }
    };
    const inner = { ...surroundings };
    surroundings.runRecipe = (parent, name, params) =>
      runNested(parent, { name, params }, { recipes, surroundings: inner, claimer, stop });
    const options: ScriptOptions = {
      surroundings,
      claimer,
      patienceMs,
      stop,
      onWait: ({ runKey, untilAt, reason }) => {
        const by = flags.json
          ? undefined
          : waitText({ ledger, recipe, runKey, untilAt, reason }, connections, now());
        if (by !== undefined) show.line(`hsgate: ${by}; Ctrl-C ends the waiting`);
      },
    };
    const forceDeadline = flags["force-deadline"] ?? false;
    // What reads may be done at any time that somebody wants it; what writes keeps to its window whoever wants what.
    const asked = forceDeadline && recipe.class !== "write" ? { ...recipe, window: undefined } : recipe;
    const begin = async () => {
      if (!isManual) return await runLatestSlot(asked, { ...options, forceDeadline });
      const window = windowOn(asked, now());
      const deadlineAt = typeof window === "object" ? window.until : undefined;
      return await runManual(asked, {
        ...options,
        id: machine.id(),
        params,
        ...deadlineAt !== undefined && { deadlineAt },
      });
    };
    const result = await begin();
    const row = result === undefined ? undefined : findRun(ledger, result.runKey);
    if (row !== undefined && result?.ran === false && row.state === "skipped") {
      queueNotices(ledger, recipe, row, { now: now(), redact });
    }
    await deliverNotices(ledger, (notice) => noticeChannel(recipes, surroundings, notice), machine, {
      redact: (text) => redactor.text(text),
      onNotice(event) {
        notices.push(event);
        observers.onSchedulerEvent({ type: "notice", at: now(), ...event });
        const line = failedLine(event);
        if (line !== undefined) show.line(said(line));
      },
    });
    return result;
  };
  const result = await run();
  connections.tellWith(host.note); // nothing is drawn over any more
  if (result === undefined) {
    throw new UsageError(
      `Cannot run "${recipe.name}" for a slot: its schedules name none in the last 14 days; --manual runs it now`,
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
    if (state !== "ok") host.out(`  -> "deno task hsgate runs show ${result.runKey}" tells more`);
  } else {
    for (const line of notRunLines(result, { ledger, recipe, connections, input, now: now() })) {
      host.out(line);
    }
  }
  if (!asLines) tellUnsent(ledger, host);
  return stop.aborted && (state === "refused" || state === "cancelled")
    ? 130
    : codeOf(result, flags["if-new"] ?? false);
}

/**
 * Says that the recipe is run by hand, as its latest slot is over for what it reads as of now. Whoever asks for the slot
 * and nothing else, as a timer does, is not given another run.
 */
function pastSlot(
  ledger: Ledger,
  recipe: CompiledRecipe,
  { flags, now }: { flags: RunInput["flags"]; now: number },
): string | undefined {
  if (flags["if-new"] || flags["force-deadline"]) return undefined;
  const past = findPastSlot(ledger, recipe, { now });
  if (past === undefined) return undefined;
  const { runKey, step, asOfNow: { reads, instead }, why } = past;
  return `this is a run by hand, for now: step "${step}" reads ${reads} as of now, and slot ${runKey} has passed ` +
    `(${why})${instead === undefined ? "" : `; for past days use "${instead}"`}`;
}

/** A slot is run with the recipe's own parameters, whoever starts it. */
function slotParams(recipe: CompiledRecipe, { args: [name = ""], flags }: RunInput): undefined {
  if (flags.param === undefined) return void bindParams(recipe, {});
  throw new UsageError(
    `Cannot use --param for a slot of "${recipe.name}": slots are run with the recipe's own parameters; ` +
      `"deno task hsgate run ${name} --manual --param ${flags.param[0]}" runs it by hand`,
  );
}

function waitOf(given: string | undefined): number {
  if (given === undefined) return WAIT_MS;
  if (/^\d{1,5}$/.test(given)) return Number(given) * 1000;
  throw new UsageError(`Cannot use --wait "${given}": write whole seconds, such as 0 or 300`);
}

/** What writes is started by hand within its window alone. @throws {UsageError} */
function refuseOutside(recipe: CompiledRecipe, now: number): void {
  const outside = recipe.class === "write" ? whyOutside(recipe, now, now) : undefined;
  if (outside === undefined) return;
  throw new UsageError(
    `Cannot run "${recipe.name}" by hand now: it writes, and ${outside}; no flag lifts that, and --dry-run shows ` +
      `what it would write; to write at other times change "window" in ${recipe.file}`,
  );
}

/**
 * Another time than the real one would lift the window, the deadline and the lateness of a write, and give it the key
 * of another day. Where the broker is simulated in this process nothing is at stake.
 *
 * @throws {UsageError} Nothing was sent.
 */
function refuseOtherTime(
  recipe: CompiledRecipe,
  { args: [name = ""], flags }: Pick<RunInput, "args" | "flags">,
): void {
  if (flags.now === undefined || recipe.class !== "write" || recipe.connect?.to === "simulator") return;
  throw new UsageError(
    `Cannot run "${recipe.name}" with --now: it writes, and orders go out at the real time; leave --now out, look ` +
      `with "deno task hsgate run ${name} --dry-run --now ${flags.now}", or try it on a copy that says ` +
      '"connect: simulator"',
  );
}
