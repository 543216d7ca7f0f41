/**
 * Creates the observers of runs (log, monitoring service, OpenTelemetry), for `hsgate schedule` and for
 * `hsgate run` with a store.
 *
 * @module
 */
import type { Settings } from "../../../lib/client/settings.ts";
import { isTracing } from "../../../lib/transports/net/post_once.ts";
import { postQuietly } from "../../../lib/transports/net/quiet_post.ts";
import { Pinger } from "../../../lib/runner/schedule/dead_man.ts";
import type { Machine } from "../../../lib/time.ts";
import type { Meter } from "../../../lib/runner/run/metrics.ts";
import type { Redactor } from "../../../lib/redact.ts";
import type { RunEvent } from "../../../lib/runner/run/report.ts";
import type { SchedulerEvent } from "../../../lib/runner/schedule/scheduler.ts";
import type { RunTracer, Telemetry } from "../../../lib/runner/run/tracing.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import type { Host } from "../../terminal/host.ts";
import { learnSettings } from "../run/deps.ts";

/** Options of the observers. */
interface ObserversOptions {
  settings: Settings;
  machine: Machine;
  redactor: Redactor;
  /** Returns the current recipe of a name. */
  recipeOf(name: string): Pick<CompiledRecipe, "ping"> | undefined;
  /** Returns the value of a secret. */
  secret(name: string): Promise<string>;
  /** Called first for every event. */
  log(event: RunEvent | SchedulerEvent): void;
  /** Called with problems of the observers themselves. */
  note(text: string): void;
}

/** Observers for the scheduler or a run. Disposal waits a short time for pings in progress. */
interface Observers extends AsyncDisposable {
  readonly tracer?: RunTracer;
  onEvent(event: RunEvent): void;
  onSchedulerEvent(event: SchedulerEvent): void;
}

/** Returns the observers; adds every secret of the settings to the redactor. */
export async function observe(options: ObserversOptions): Promise<Observers> {
  const { settings, machine, redactor, recipeOf, secret, log, note } = options;
  await learnSettings(redactor, settings);
  const pinger = new Pinger({
    machine,
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

/** The OpenTelemetry API that Deno registers with `OTEL_DENO=true`; each part may be absent. */
interface Registered {
  trace?: { getTracer(name: string): Telemetry["tracer"] };
  context?: Pick<Telemetry, "active">;
  metrics?: { getMeter(name: string): Meter };
}

/** Returns the OpenTelemetry observers; loads nothing if the runtime does not provide OpenTelemetry. */
async function telemetry() {
  const registered: Registered | undefined = Reflect.get(globalThis, Symbol.for("opentelemetry.js.api.1"));
  const { trace, context, metrics } = registered ?? {};
  const tracing = trace !== undefined && context !== undefined
    ? (await import("../../../lib/runner/run/tracing.ts")).traceRuns({
      tracer: trace.getTracer("hsgate"),
      active: () => context.active(),
    })
    : undefined;
  const measures = metrics === undefined
    ? undefined
    : (await import("../../../lib/runner/run/metrics.ts")).measureRuns(metrics.getMeter("hsgate"));
  return { tracer: tracing, measures };
}

/** Returns the target of log lines: stdout, or with tracing the console, which links each line to its span. */
export function logTarget(host: Pick<Host, "out" | "color" | "shown">): Pick<Host, "out" | "color"> {
  if (!isTracing()) return host;
  // deno-lint-ignore no-console -- the runtime exports console output
  return { out: (line) => console.log(host.shown?.(line) ?? line), color: host.color };
}
