/**
 * What `hsgate schedule` does.
 *
 * @module
 */
import { calendarVersion } from "../../../lib/calendars/mod.ts";
import { isBusy } from "../../../lib/runner/ledger_damage.ts";
import type { RunEvent } from "../../../lib/runner/run_events.ts";
import { Trust } from "../../../lib/runner/trust.ts";
import { fileUrl } from "../../../lib/steps/file_url.ts";
import { Scheduler, type SchedulerOptions } from "../../../lib/runner/scheduler.ts";
import type { Host } from "../host.ts";
import { calendarsPath, takeUpCalendars } from "../local_calendars.ts";
import { plain } from "../print.ts";
import type { ScheduleInput } from "../schedule.ts";
import { loadSettingsOf } from "../session.ts";
import { watchFiles } from "./file_watch.ts";
import { renewedClients } from "./displaced_clients.ts";
import { openLedger, warnOfPlace } from "./ledger_file.ts";
import { tellUnsent } from "./notice_lines.ts";
import { logTarget, observe, redactorFor } from "./observers.ts";
import { loadRecipes, RECIPES, servedRecipes } from "./recipe_files.ts";
import { eventLogger } from "./run_log.ts";
import { Connections } from "./run_connections.ts";
import { holderName, runnerHost, secretReader } from "./run_surroundings.ts";
import { commonZone, ScheduleLines } from "./schedule_lines.ts";

/** Runs recipes until it is told to stop, or once what is due. */
export async function run({ args, flags, host }: ScheduleInput): Promise<number> {
  const loading = { host, now: host.now, signal: host.signal };
  const loaded = await loadRecipes(args, loading);
  const { served: recipes, waiting, refused } = await servedRecipes(loaded, loading);
  for (const { text } of refused) host.note(`hsgate: ${plain(text)}`);
  if (!loaded.report.ok || refused.length > 0) return 2;
  for (const line of waiting) host.note(`hsgate: warning: ${plain(line)}`);
  await using connections = await Connections.open(flags, host);
  for (const recipe of recipes) connections.check(recipe); // refuses a contradiction before anything begins
  let current = recipes;
  let secret = secretReader(recipes, host);
  const { settings } = await loadSettingsOf(flags, host);
  const redactor = redactorFor(host);
  const json = flags.json ?? (!flags.text && !host.isTerminal);
  const zone = commonZone(recipes);
  const gone = new AbortController();
  const target = lastingTarget(logTarget(host), gone);
  const signal = AbortSignal.any([host.signal, gone.signal]);
  using ledger = await openLedger(flags, { host, mustExist: false, isScheduler: !flags.once });
  await warnOfPlace(ledger, recipes, { flags, host });
  const lines = new ScheduleLines({
    ledger,
    recipes: () => current,
    now: host.now,
    out: target.out,
    json,
    zone,
  });
  const log = eventLogger(target, {
    json,
    redact: (text) => redactor.text(text),
    least: settings.logLevel,
    ...host.isTerminal && { zone },
  });
  const machine = runnerHost(host);
  const ends: string[] = [];
  await using observers = await observe({
    settings,
    host: machine,
    redactor,
    recipeOf: (name) => current.find((recipe) => recipe.name === name),
    secret: (name) => secret(name),
    log(event) {
      lines.touch();
      log(event);
    },
    note: (text) => host.note(`hsgate: ${text}`),
  });
  const renewed = renewedClients(ledger, connections, host.now);
  const options: SchedulerOptions = {
    ledger,
    host: machine,
    holder: holderName(),
    recipes,
    served: {
      paths: (args.length === 0 ? [RECIPES] : args).map(wholePath),
      fileOf: ({ file }) => wholePath(file),
    },
    out: flags.out ?? "",
    redactor,
    client: renewed.client,
    timeOf: connections.timeOf,
    accountOf: connections.accountOf,
    passwordMarkOf: connections.passwordMarkOf,
    secret: (name) => secret(name),
    logLevel: settings.logLevel,
    retention: { runsDays: settings.keepRunsDays, logDays: settings.keepLogDays },
    calendarVersion,
    tracer: observers.tracer,
    onEvent: (event: RunEvent) => {
      if (event.type === "run-ended") {
        // A run that was lost in a write is as open as one whose answer was.
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
  tellUnsent(ledger, host);
  lines.start();
  scheduler.start();
  const calendars = await calendarsPath(flags, host);
  const { path: trustFile } = Trust.of(host.env);
  const watching = watchFiles(args, {
    host: { note: host.note, signal },
    others: () => [
      calendars,
      ...trustFile === undefined ? [] : [trustFile],
      ...current.flatMap(({ steps }) => steps.flatMap(({ files = [] }) => files)),
    ],
    onChange: async () => {
      await takeUpCalendars(flags, host);
      const loading = { host, now: host.now, signal };
      const loaded = await loadRecipes(args, loading);
      const { served: recipes, waiting, refused } = await servedRecipes(loaded, { ...loading, current });
      if (signal.aborted) return;
      if (!loaded.report.ok) return host.note("hsgate: a recipe is wrong, so the old ones go on");
      for (const line of waiting) host.note(`hsgate: warning: ${plain(line)}`);
      for (const { text } of refused) host.note(`hsgate: warning: ${plain(text)}`);
      for (const recipe of recipes) connections.check(recipe);
      secret = secretReader(recipes, host);
      current = recipes;
      scheduler.reload(recipes);
    },
    onLook() {
      try {
        lines.look();
      } catch (error) {
        if (!isBusy(error)) throw error; // it looks again soon
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
  scheduler.tick();
  await scheduler.drain();
  host.signal.removeEventListener("abort", stop);
  await scheduler.deliver();
  tellUnsent(options.ledger, host);
  if (!drained) return 75;
  if (ends.some((state) => state === "unknown" || state === "waiting_recovery")) return 5;
  return ends.some((state) => state === "failed" || state === "lost") ? 1 : 0;
}

/** Two processes know a file by the same name, wherever they were started. */
const wholePath = (path: string): string =>
  decodeURIComponent(fileUrl(path).pathname).replace(/(.)\/+$/, "$1");

/** Whoever read the log may go; runs under way do not end over it, and the scheduler ends in order. */
function lastingTarget({ out, color }: Pick<Host, "out" | "color">, gone: AbortController) {
  return {
    color,
    out(line: string) {
      if (gone.signal.aborted) return;
      try {
        out(line);
      } catch (error) {
        gone.abort(error);
      }
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
