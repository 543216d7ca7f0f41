/**
 * Runs `hsgate schedule`.
 *
 * @module
 */
import { reasonOf } from "../../../lib/credentials.ts";
import { isBusy } from "../../../lib/store/store_error.ts";
import type { RunEvent } from "../../../lib/runner/run/report.ts";
import { TrustFile } from "../../../lib/runner/trust/trust_file.ts";
import { fileUrl } from "../../../lib/recipes/files/recipe_files.ts";
import { Scheduler, type SchedulerOptions } from "../../../lib/runner/schedule/scheduler.ts";
import type { Host } from "../../terminal/host.ts";
import { applyCalendars, calendarsPlace } from "../shared/local_calendars.ts";
import { plain } from "../../terminal/print.ts";
import type { ScheduleInput } from "../schedule.ts";
import { watchFiles } from "./file_watch.ts";
import { renewedClients } from "./held_logins.ts";
import { fileHaltOf, openStore, retentionOf, warnOfPlace } from "../shared/store_file.ts";
import { warnOfUnsent } from "../shared/notice_lines.ts";
import { logTarget, observe } from "../shared/observers.ts";
import { loadRecipes, servedRecipes } from "../shared/recipe_files.ts";
import { RECIPES } from "../shared/recipe_names.ts";
import { eventLogger } from "../run/log.ts";
import { Connections } from "../run/connections.ts";
import { commandDeps, redactorFor, secretReader } from "../run/deps.ts";
import { commonZone, ScheduleLines } from "./lines.ts";

/** Runs recipes until Ctrl-C or another signal to stop. With `--once`, executes only the runs that are due. */
export async function run({ args, flags, host }: ScheduleInput): Promise<number> {
  const loading = { host, now: host.now, signal: host.signal };
  const loaded = await loadRecipes(args, loading);
  const { served: recipes, waiting, refused } = await servedRecipes(loaded, loading);
  for (const { text } of refused) host.note(`hsgate: ${plain(text)}`);
  if (!loaded.report.ok || refused.length > 0) return 2;
  for (const line of waiting) host.note(`hsgate: warning: ${plain(line)}`);
  await using connections = await Connections.open(flags, host);
  for (const recipe of recipes) connections.connectionOf(recipe); // throws before any run starts
  let current = recipes;
  const { settings } = connections;
  const redactor = redactorFor(host);
  const haltedByFile = await fileHaltOf(flags, host);
  const deps = commandDeps({ connections, host, recipes, redactor, out: flags.out, haltedByFile });
  let { secret } = deps;
  const json = flags.json ?? (!flags.text && !host.isTerminal);
  const zone = commonZone(recipes);
  const outputClosed = new AbortController();
  const target = lastingTarget(logTarget(host), outputClosed);
  const signal = AbortSignal.any([host.signal, outputClosed.signal]);
  await using store = await openStore(flags, { host, mustExist: false, isScheduler: !flags.once });
  await warnOfPlace(store, recipes, { flags, host });
  const lines = new ScheduleLines({
    store,
    recipes: () => current,
    calendars: deps.calendars,
    now: host.now,
    out: target.out,
    json,
    zone,
  });
  const log = eventLogger(target, {
    json,
    reason: (error) => reasonOf(error, redactor),
    least: settings.logLevel,
    ...host.isTerminal && { zone },
  });
  const ends: string[] = [];
  await using observers = await observe({
    settings,
    machine: deps.machine,
    redactor,
    recipeOf: (name) => current.find((recipe) => recipe.name === name),
    secret: (name) => secret(name),
    log(event) {
      lines.touch();
      log(event);
    },
    note: (text) => host.note(`hsgate: ${text}`),
  });
  const renewed = renewedClients(store, connections, host.now);
  const options: SchedulerOptions = {
    ...deps,
    store,
    recipes,
    served: {
      paths: (args.length === 0 ? [RECIPES] : args).map(wholePath),
      fileOf: ({ file }) => wholePath(file),
    },
    client: renewed.client,
    onLoginLost: renewed.onLoginLost,
    secret: (name) => secret(name),
    retention: retentionOf(settings),
    tracer: observers.tracer,
    onEvent: (event: RunEvent) => {
      if (event.type === "run-ended") {
        // The outcome of a write is also unknown if its run lost the lease.
        ends.push(event.state === "lost" && event.reason === "write" ? "unknown" : event.state);
        const recipe = current.find(({ name }) => name === event.recipe);
        const isOut = event.reason === "displaced" || event.reason === "login";
        if (isOut && recipe !== undefined) renewed.onLoginLost(recipe);
      }
      observers.onEvent(event);
    },
    onSchedulerEvent: observers.onSchedulerEvent,
  };
  const scheduler = new Scheduler(options);
  if (flags.once) return await runOnce(scheduler, options, { ends, host });
  await warnOfUnsent(store, host);
  await lines.start();
  await scheduler.start();
  const { path: calendars } = await calendarsPlace(flags, host);
  const { path: trustFile } = TrustFile.of(host.env);
  const watching = watchFiles(args, {
    host: { note: host.note, signal },
    others: () => [
      calendars,
      ...trustFile === undefined ? [] : [trustFile],
      ...current.flatMap(({ steps }) => steps.flatMap(({ files = [] }) => files)),
    ],
    onChange: async () => {
      await applyCalendars(flags, host);
      const loading = { host, now: host.now, signal };
      const loaded = await loadRecipes(args, loading);
      const { served: recipes, waiting, refused } = await servedRecipes(loaded, { ...loading, current });
      if (signal.aborted) return;
      if (!loaded.report.ok) {
        return host.note("hsgate: a recipe has a mistake, so the old recipes keep running");
      }
      for (const line of waiting) host.note(`hsgate: warning: ${plain(line)}`);
      for (const { text } of refused) host.note(`hsgate: warning: ${plain(text)}`);
      for (const recipe of recipes) connections.connectionOf(recipe);
      secret = secretReader(recipes, host, redactor);
      current = recipes;
      await scheduler.reload(recipes);
    },
    async onCheck() {
      try {
        await lines.printIfQuiet();
      } catch (error) {
        if (!isBusy(error)) throw error; // the next tick tries again
      }
    },
  });
  await aborted(signal);
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
  await scheduler.tick();
  await scheduler.drain();
  host.signal.removeEventListener("abort", stop);
  await scheduler.deliver();
  await warnOfUnsent(options.store, host);
  if (!drained) return 75;
  if (ends.some((state) => state === "unknown" || state === "waiting_recovery")) return 5;
  return ends.some((state) => state === "failed" || state === "lost") ? 1 : 0;
}

/** Returns an absolute path, so that all processes use the same name for a file. */
const wholePath = (path: string): string =>
  decodeURIComponent(fileUrl(path).pathname).replace(/(.)\/+$/, "$1");

/**
 * Returns a log target. After the reader of the log has closed the pipe, the target stops the scheduler, as Ctrl-C
 * does.
 */
function lastingTarget({ out, color }: Pick<Host, "out" | "color">, outputClosed: AbortController) {
  return {
    color,
    out(line: string) {
      if (outputClosed.signal.aborted) return;
      try {
        out(line);
      } catch (error) {
        outputClosed.abort(error);
      }
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
