/**
 * Whoever watches runs: the log, a dead-man service, OpenTelemetry. Made in one place, for every command that runs
 * recipes under the ledger.
 *
 * @module
 */
import { secretsOf, type Settings } from "../../../lib/client/settings.ts";
import { isTracing, postQuietly } from "../../../lib/quiet_post.ts";
import { Pinger } from "../../../lib/runner/dead_man.ts";
import type { Host as RunnerHost } from "../../../lib/runner/host.ts";
import type { Meter } from "../../../lib/runner/metrics.ts";
import { Redactor } from "../../../lib/redact.ts";
import type { RunEvent } from "../../../lib/runner/run_events.ts";
import type { SchedulerEvent } from "../../../lib/runner/scheduler.ts";
import type { RunTracer, Telemetry } from "../../../lib/runner/tracing.ts";
import type { CompiledRecipe } from "../../../lib/steps/mod.ts";
import type { Host } from "../host.ts";

/** What watching needs. */
export interface ObserversOptions {
  settings: Settings;
  host: RunnerHost;
  redactor: Redactor;
  /** The recipe of a name, as it is now. */
  recipeOf(name: string): Pick<CompiledRecipe, "ping"> | undefined;
  /** The value of a secret. */
  secret(name: string): Promise<string>;
  /** Gets every event first. */
  log(event: RunEvent | SchedulerEvent): void;
  /** Told what goes wrong with the watching itself. */
  note(text: string): void;
}

/** What is handed to the scheduler or to a run. Disposed, it waits a moment for pings that are under way. */
export interface Observers extends AsyncDisposable {
  readonly tracer?: RunTracer;
  onEvent(event: RunEvent): void;
  onSchedulerEvent(event: SchedulerEvent): void;
}

/** Makes a redactor that warns of what it cannot take out. */
export function redactorFor({ note }: Pick<Host, "note">): Redactor {
  return new Redactor({
    onTooShort: (name) =>
      note(
        `hsgate: warning: the ${name} is too short to be taken out of logs and files, which needs four characters ` +
          "or six digits",
      ),
  });
}

/** Has every secret of the settings taken out from here on. */
export function learnSettings(redactor: Redactor, settings: Settings): void {
  for (const [name, value] of secretsOf(settings)) redactor.add(value, `setting "${name}"`);
}

/** Makes the watchers; the redactor learns every secret of the settings. */
export async function observe(options: ObserversOptions): Promise<Observers> {
  const { settings, host, redactor, recipeOf, secret, log, note } = options;
  learnSettings(redactor, settings);
  const pinger = new Pinger({
    host,
    redactor,
    post: (url, signal) => postQuietly(url, { signal }),
    async urlOf(name) {
      const ping = recipeOf(name)?.ping;
      return ping === undefined ? undefined : "url" in ping ? ping.url : await secret(ping.secret);
    },
    ...settings.pingUrl !== undefined && { aliveUrl: settings.pingUrl },
    onTrouble: note,
  });
  const { tracer, measures } = await telemetry();
  return {
    ...tracer !== undefined && { tracer },
    onEvent(event) {
      log(event);
      measures?.onEvent(event);
      pinger.onEvent(event);
    },
    onSchedulerEvent(event) {
      log(event);
      measures?.onSchedulerEvent(event);
      pinger.onSchedulerEvent(event);
    },
    [Symbol.asyncDispose]: () => pinger.end(),
  };
}

/** What Deno registers with `OTEL_DENO=true`; each part may be turned off. */
interface Registered {
  trace?: { getTracer(name: string): Telemetry["tracer"] };
  context?: Pick<Telemetry, "active">;
  metrics?: { getMeter(name: string): Meter };
}

/** Takes up OpenTelemetry where the runtime has it; without it nothing is loaded. */
async function telemetry() {
  const registered: Registered | undefined = Reflect.get(globalThis, Symbol.for("opentelemetry.js.api.1"));
  const { trace, context, metrics } = registered ?? {};
  const tracing = trace !== undefined && context !== undefined
    ? (await import("../../../lib/runner/tracing.ts")).traceRuns({
      tracer: trace.getTracer("hsgate"),
      active: () => context.active(),
    })
    : undefined;
  const measures = metrics === undefined
    ? undefined
    : (await import("../../../lib/runner/metrics.ts")).measureRuns(metrics.getMeter("hsgate"));
  return { tracer: tracing, measures };
}

/** Where log lines go: to stdout, and with tracing on through the console, which links each one to its span. */
export function logTarget(host: Pick<Host, "out" | "color">): Pick<Host, "out" | "color"> {
  // deno-lint-ignore no-console -- the runtime exports what goes through it
  return isTracing() ? { out: (line) => console.log(line), color: host.color } : host;
}
