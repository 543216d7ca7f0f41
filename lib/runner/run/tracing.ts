/**
 * Records spans of runs and steps with OpenTelemetry. The caller passes a tracer; Deno's own tracer needs no package.
 * No span contains a parameter, an output or the text of an error.
 *
 * @module
 */

type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Ids of a span. */
interface SpanIds {
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits. */
  spanId: string;
}

/** The part of a span that is used here. */
interface Span {
  spanContext(): SpanIds;
  setAttributes(attributes: Attributes): unknown;
  addEvent(name: string, attributes: Attributes): unknown;
  setStatus(status: { code: number }): unknown;
  end(): void;
}

/** The part of a context that is used here. */
interface TraceContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): TraceContext;
}

/** The part of OpenTelemetry that is used here. */
export interface Telemetry {
  tracer: {
    startActiveSpan<T>(
      name: string,
      options: { attributes: Attributes },
      context: TraceContext,
      work: (span: Span) => T,
    ): T;
  };
  /** Returns the context of the caller. */
  active(): TraceContext;
}

/** A span that is open. */
export interface OpenSpan {
  /** Absent when the span is not recorded. */
  readonly ids?: SpanIds;
  /** Records an event without a duration. */
  event(name: string, attributes: Attributes): void;
  /** Records how the run or step ended; every state other than `ok`, `skipped` and `due` is an error. */
  outcome(state: string, attributes?: Attributes): void;
}

/** Records runs and their steps as spans. */
export interface RunTracer {
  /**
   * Runs the work of a run in a span. `first` is the span of an earlier attempt. It becomes the parent of the new span,
   * unless the caller is already in a span.
   */
  run<T>(about: RunAbout, first: SpanIds | undefined, work: (span: OpenSpan) => Promise<T>): Promise<T>;
  /** Runs one attempt at a step in a span, within the span of its run. */
  step<T>(about: StepAbout, work: (span: OpenSpan) => Promise<T>): Promise<T>;
}

/** Attributes of a run's span. */
interface RunAbout {
  recipe: string;
  runKey: string;
  /** ISO 8601 in UTC. */
  slot: string;
  kind: string;
  attempt: number;
  lateMs: number;
}

/** Attributes of a step's span. */
export interface StepAbout {
  recipe: string;
  runKey: string;
  step: string;
  uses: string;
  effect: string;
  attempt: number;
}

/** The key under which OpenTelemetry keeps the span of a context. */
const SPAN = Symbol.for("OpenTelemetry Context Key SPAN");
const ERROR = 2;
const SAMPLED = 1;
const fine = ["ok", "skipped", "due"];

/** Returns a tracer of runs that records to OpenTelemetry. */
export function traceRuns({ tracer, active }: Telemetry): RunTracer {
  const within = async <T>(
    name: string,
    attributes: Attributes,
    context: TraceContext,
    work: (span: OpenSpan) => Promise<T>,
  ): Promise<T> =>
    await tracer.startActiveSpan(name, { attributes }, context, async (span) => {
      try {
        return await work(openSpan(span));
      } finally {
        span.end();
      }
    });
  return {
    run({ recipe, runKey, slot, kind, attempt, lateMs }, first, work) {
      const attributes = {
        "hsgate.recipe": recipe,
        "hsgate.run.key": runKey,
        "hsgate.run.kind": kind,
        "hsgate.slot": slot,
        "hsgate.attempt": attempt,
        "hsgate.late_ms": lateMs,
      };
      let context = active();
      // The parent of a nested run is the step that started it.
      if (context.getValue(SPAN) === undefined && first !== undefined) {
        const remote = { ...first, traceFlags: SAMPLED, isRemote: true };
        context = context.setValue(SPAN, { spanContext: () => remote });
      }
      return within("hsgate.run", attributes, context, work);
    },
    step({ recipe, runKey, step, uses, effect, attempt }, work) {
      const attributes = {
        "hsgate.recipe": recipe,
        "hsgate.run.key": runKey,
        "hsgate.step": step,
        "hsgate.step.uses": uses,
        "hsgate.step.effect": effect,
        "hsgate.attempt": attempt,
      };
      return within("hsgate.step", attributes, active(), work);
    },
  };
}

function openSpan(span: Span): OpenSpan {
  const { traceId, spanId } = span.spanContext();
  const isValid = !/^0*$/.test(traceId) && !/^0*$/.test(spanId);
  return {
    ...isValid && { ids: { traceId, spanId } },
    event: (name, attributes) => void span.addEvent(name, attributes),
    outcome(state, attributes = {}) {
      span.setAttributes({ "hsgate.outcome": state, ...attributes });
      if (!fine.includes(state)) span.setStatus({ code: ERROR });
    },
  };
}
