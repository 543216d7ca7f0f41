/**
 * What `hsgate schedule` does.
 *
 * @module
 */
import type { Ledger } from "../../../lib/runner/ledger.ts";
import { noticeChannel } from "../../../lib/runner/notice_step.ts";
import { deliverNotices } from "../../../lib/runner/notify.ts";
import { Redactor } from "../../../lib/runner/redact.ts";
import type { RunEvent } from "../../../lib/runner/run_events.ts";
import { Scheduler, type SchedulerOptions } from "../../../lib/runner/scheduler.ts";
import type { CompiledRecipe } from "../../../lib/steps/mod.ts";
import type { Host } from "../host.ts";
import type { ScheduleInput } from "../schedule.ts";
import { openLedger } from "./ledger_file.ts";
import { loadRecipes, recipeFiles } from "./recipe_files.ts";
import { eventLogger } from "./run_log.ts";
import { Clients, gatewayOf, holderName, runnerHost, secretReader } from "./run_surroundings.ts";

const LOOK_MS = 3_000;

/** Runs recipes until it is told to stop, or once what is due. */
export async function run({ args, flags, host }: ScheduleInput): Promise<number> {
  const { recipes, report } = await loadRecipes(args, { host, now: host.now });
  if (!report.ok) return 2;
  for (const recipe of recipes) gatewayOf(recipe); // refuses what cannot be connected before anything begins
  let secret = secretReader(recipes, host);
  const redactor = new Redactor();
  const log = eventLogger(host, { json: flags.json ?? false, redact: (text) => redactor.text(text) });
  const ends: string[] = [];
  await using clients = new Clients(flags, host);
  using ledger = await openLedger(flags, { host, mustExist: false });
  const options: SchedulerOptions = {
    ledger,
    host: runnerHost(host),
    holder: holderName(),
    recipes,
    out: flags.out ?? "",
    redactor,
    client: (recipe) => clients.of(recipe),
    secret: (name) => secret(name),
    onEvent: (event: RunEvent) => {
      if (event.type === "run-ended") ends.push(event.state);
      log(event);
    },
    onSchedulerEvent: log,
  };
  const scheduler = new Scheduler(options);
  if (flags.once) return await runOnce(scheduler, options, { ends, host });
  tellStart(recipes, ledger, { host, json: flags.json ?? false });
  scheduler.start();
  const watching = watch(args, {
    host,
    onChange: async () => {
      const { recipes, report } = await loadRecipes(args, { host, now: host.now });
      if (!report.ok) return host.note("hsgate: a recipe is wrong, so the old ones go on");
      for (const recipe of recipes) gatewayOf(recipe);
      secret = secretReader(recipes, host);
      scheduler.reload(recipes);
    },
  });
  await aborted(host.signal);
  host.note("hsgate: stopping");
  const [drained] = await Promise.all([scheduler.stop(), watching]);
  return drained ? 0 : 75;
}

async function runOnce(
  scheduler: Scheduler,
  options: SchedulerOptions,
  { ends, host }: { ends: readonly string[]; host: Host },
): Promise<number> {
  let drained = true;
  const stop = () => void scheduler.stop().then((all) => drained = all);
  host.signal.addEventListener("abort", stop);
  scheduler.tick();
  await scheduler.drain();
  host.signal.removeEventListener("abort", stop);
  const byName = new Map(options.recipes.map((recipe) => [recipe.name, recipe]));
  await deliverNotices(options.ledger, (notice) => noticeChannel(byName, options, notice), options.host);
  if (!drained) return 75;
  if (ends.some((state) => state === "unknown" || state === "waiting_recovery")) return 5;
  return ends.some((state) => state === "failed" || state === "lost") ? 1 : 0;
}

function tellStart(
  recipes: readonly CompiledRecipe[],
  ledger: Ledger,
  { host, json }: { host: Host; json: boolean },
): void {
  const names = recipes.filter(({ schedules }) => schedules.length > 0).map(({ name }) => name);
  if (json) host.out(JSON.stringify({ type: "started", recipes: names, ledger: ledger.path }));
  else {
    const count = names.length === 1 ? "1 recipe is" : `${names.length} recipes are`;
    host.out(`${count} scheduled (${names.join(", ")}), ledger "${ledger.path}"`);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** Looks at the files now and then, and calls back when one is new, edited or gone; resolves at the signal. */
async function watch(
  paths: readonly string[],
  { host, onChange }: { host: Host; onChange: () => Promise<void> },
): Promise<void> {
  let seen = await signatureOf(paths);
  while (await pause(LOOK_MS, host.signal)) {
    try {
      const found = await signatureOf(paths);
      if (found === seen) continue;
      seen = found;
      await onChange();
    } catch (error) {
      // Files that cannot be read for a moment, half-copied folders: the old recipes go on.
      host.note(
        `hsgate: cannot load the recipes anew: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
}

async function signatureOf(paths: readonly string[]): Promise<string> {
  const files = await recipeFiles(paths);
  const parts = await Promise.all(files.map(async ({ path }) => {
    const { mtime, size } = await Deno.stat(path);
    return `${path} ${mtime?.getTime()} ${size}`;
  }));
  return parts.join("\n");
}

/** Waits; tells whether the time passed without the signal. */
function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const give = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", give);
      resolve(true);
    }, ms);
    signal.addEventListener("abort", give, { once: true });
  });
}
