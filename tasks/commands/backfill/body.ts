/**
 * Runs `hsgate backfill`.
 *
 * @module
 */
import { calendarsOf } from "../../terminal/arguments.ts";
import {
  backfill,
  type BackfillMode,
  type BackfillPlan,
  type BackfillSlot,
  openSlot,
  planBackfill,
} from "../../../lib/runner/schedule/backfill.ts";
import { drawTraceId } from "../../../lib/runner/schedule/plan_run.ts";
import type { Store } from "../../../lib/store/store.ts";
import type { RunEvent } from "../../../lib/runner/run/report.ts";
import type { ScriptResult } from "../../../lib/runner/run/script.ts";
import type { BackfillInput } from "../backfill.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { paint, plain } from "../../terminal/print.ts";
import { openStore, storeTime } from "../shared/store_file.ts";
import { recipeNamed } from "../shared/recipe_files.ts";
import { seconds } from "../run/log.ts";
import { exitOf, RunQueue } from "../run/queue.ts";
import { isDate, systemMachine } from "../../../lib/time.ts";

const modes: readonly BackfillMode[] = ["missing", "failed", "all"];

/** Runs a recipe for past days. */
export async function run({ args: [given = ""], flags, host }: BackfillInput): Promise<number> {
  const from = dayOf(flags.from, "--from");
  const to = flags.to === undefined ? from : dayOf(flags.to, "--to");
  const mode = modes.find((each) => each === (flags.mode ?? "missing"));
  if (mode === undefined) {
    throw new UsageError(`Cannot use --mode "${flags.mode}": expected missing, failed or all`);
  }
  const recipe = await recipeNamed(given, { folder: flags.recipes, host, now: host.now, toRun: true });
  const { name } = recipe;
  await using store = await openStore(flags, { host, mustExist: false });
  const drawTrace = () => drawTraceId(systemMachine);
  const options = {
    from,
    to,
    mode,
    now: storeTime(store, host),
    calendars: calendarsOf(host),
    drawTraceId: drawTrace,
  };
  const plan = await planBackfill(store, recipe, options);
  if (flags["dry-run"]) {
    if (flags.json) host.out(JSON.stringify({ recipe: name, from, to, mode, ...planData(plan) }));
    else printPlan(plan, host);
    return 0;
  }
  if (flags.queue) {
    const keys = await backfill(store, recipe, options);
    if (flags.json) host.out(JSON.stringify({ recipe: name, from, to, mode, queued: keys }));
    else {
      for (const key of keys) host.out(`${key} is due`);
      if (keys.length === 0) host.out("nothing to do: no run became due");
      else {host.out(
          `${counted(keys.length)}; a running scheduler starts ${keys.length === 1 ? "it" : "them"}`,
        );}
    }
    return 0;
  }
  const errors = new Map<string, string>();
  const onEvent = (event: RunEvent) => {
    if (event.type === "step-ended" && event.state === "failed") {
      errors.set(event.runKey, `${event.step}: ${event.reason ?? "failed"}`);
    }
  };
  await using queue = await RunQueue.open(recipe, { flags, host, store, onEvent });
  await store.event(storeTime(store, host), "backfill", {
    recipe: name,
    from,
    to,
    mode,
    count: plan.slots.length,
  });
  if (!flags.json) printDaysWithoutSlot(plan, host);
  const done = await runSlots(plan.slots, { queue, store, mode, host, errors, quiet: flags.json ?? false });
  await queue.deliver();
  const left = plan.slots.length - done.length;
  if (flags.json) {
    const runs = done.map(({ day, result: { runKey: key, ran, outcome } }) => ({
      day,
      key,
      ran,
      ...outcome,
      ...errors.has(key) && { error: errors.get(key) },
    }));
    host.out(JSON.stringify({ recipe: name, from, to, mode, runs, left, none: plan.none }));
  } else printCounts(done.map(({ result }) => result), { plan, left }, host);
  return exitOf(done.map(({ result }) => result), host.signal.aborted);
}

interface DayRun {
  day: string;
  result: ScriptResult;
}

/**
 * Runs slots one after the other. Makes each slot due only just before it runs, so that a stop leaves the remaining
 * slots unchanged.
 */
async function runSlots(
  slots: readonly BackfillSlot[],
  { queue, store, mode, host, errors, quiet }: {
    queue: RunQueue;
    store: Store;
    mode: BackfillMode;
    host: Host;
    errors: ReadonlyMap<string, string>;
    quiet: boolean;
  },
): Promise<DayRun[]> {
  const done: DayRun[] = [];
  for (const [index, slot] of slots.entries()) {
    if (host.signal.aborted) break;
    const began = performance.now();
    const key = slot.run.runKey;
    await openSlot(store, slot, { mode, now: storeTime(store, host) });
    const result = await queue.run(key);
    done.push({ day: slot.day, result });
    if (!quiet) {
      const { state, reason } = result.outcome;
      const why = errors.get(key) ?? reason;
      const color = state === "ok" ? "green" : state === "failed" ? "red" : "yellow";
      const text = `${state}${
        result.ran ? `, ${seconds(performance.now() - began)}` : ", by another process"
      }`;
      const place = paint(host, "dim", `${index + 1} of ${slots.length}`);
      const cause = why === undefined || state === "ok" ? "" : `: ${plain(why)}`;
      host.out(`${slot.day}  ${key}  ${paint(host, color, text)}${cause}  ${place}`);
    }
    // Without a login, the other days would fail too.
    if (["displaced", "login", "password"].includes(result.outcome.reason ?? "")) break;
  }
  return done;
}

function printCounts(
  results: readonly ScriptResult[],
  { plan, left }: { plan: BackfillPlan; left: number },
  host: Host,
): void {
  const counts = Map.groupBy(results, ({ outcome: { state } }) => state);
  const parts = [...counts].map(([state, { length }]) => `${length} ${state}`);
  if (left > 0) parts.push(`${left} unchanged`);
  const stay = [...Map.groupBy(plan.left, ({ state }) => state)].map(([state, { length }]) =>
    `${length} ${state}`
  );
  const nothing = stay.length === 0
    ? "there was nothing to run"
    : `there was nothing to run; slots that stay as they are: ${
      stay.join(", ")
    }; --mode selects the slots to run`;
  host.note(`hsgate: ${parts.length === 0 ? nothing : `runs: ${parts.join(", ")}`}`);
}

function printPlan(plan: BackfillPlan, host: Host): void {
  for (const { day, run, was } of plan.slots) {
    host.out(`${day}  ${run.runKey}  would run${was === undefined ? "" : `, now ${was}`}`);
  }
  for (const { day, runKey, state, reason } of plan.left) {
    host.out(
      paint(host, "dim", `${day}  ${runKey}  stays ${state}${reason === undefined ? "" : ` (${reason})`}`),
    );
  }
  printDaysWithoutSlot(plan, host);
  host.note(`hsgate: ${counted(plan.slots.length)} would run; nothing was changed`);
}

/** Prints the days without a slot, but only the number of weekend days. */
function printDaysWithoutSlot({ none }: BackfillPlan, host: Host): void {
  for (const { day, why } of none) {
    if (why !== "a weekend") host.out(paint(host, "dim", `${day}  nothing to run: ${why}`));
  }
  const weekend = none.filter(({ why }) => why === "a weekend").length;
  if (weekend > 0) {
    host.out(paint(host, "dim", weekend === 1 ? "1 day is on a weekend" : `${weekend} days are on weekends`));
  }
}

function planData({ slots, left, none }: BackfillPlan) {
  const would = slots.map(({ day, run, was }) => ({ day, key: run.runKey, ...was !== undefined && { was } }));
  return { would, left, none };
}

const counted = (count: number) => `${count} ${count === 1 ? "run" : "runs"}`;

function dayOf(text: string | undefined, flag: string): string {
  if (text === undefined) {
    throw new UsageError(`Cannot backfill: ${flag} is missing; write a day, such as ${flag} 2025-08-01`);
  }
  if (isDate(text)) return text;
  throw new UsageError(`Cannot use ${flag} "${text}": write a day that exists, such as 2025-08-01`);
}
