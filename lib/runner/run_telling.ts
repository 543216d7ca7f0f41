/**
 * What a run tells, and to whom: the ledger's log, spans, and whoever listens. Everything passes the redactor first.
 *
 * @module
 */
import type { Host } from "./host.ts";
import type { Ledger } from "./ledger.ts";
import { isBusy } from "./ledger_damage.ts";
import type { Redactor } from "../redact.ts";
import type { BareRunEvent, RunEvent } from "./run_events.ts";
import { type LogLevel, RunLog } from "./run_log.ts";
import type { RunRow } from "./run_rows.ts";
import { showInstant } from "./slots.ts";
import { type OpenSpan, type RunTracer, type StepAbout, untraced } from "./tracing.ts";

/** What telling stands on. */
export interface TellingOptions {
  ledger: Ledger;
  host: Pick<Host, "now">;
  redactor: Redactor;
  /** Lines below this level are not kept in the ledger. @default "debug" */
  logLevel?: LogLevel;
  tracer?: RunTracer;
  onEvent?(event: RunEvent): void;
}

/** Tells of one attempt at a run. */
export class RunTelling {
  readonly #options: TellingOptions;
  readonly #row: RunRow;
  readonly #log: RunLog;
  #traceId: string;
  #runSpan: OpenSpan | undefined;
  #stepSpan: OpenSpan | undefined;

  constructor(row: RunRow, options: TellingOptions) {
    this.#options = options;
    this.#row = row;
    this.#log = new RunLog(options.ledger, row.run_key, options.logLevel);
    this.#traceId = row.trace_id;
  }

  /** Does the work of the run within its span. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { host, tracer = untraced } = this.#options;
    const { recipe, run_key: runKey, slot_at, kind, attempt, due_at, trace_id, span_id } = this.#row;
    const lateMs = Math.max(0, host.now() - due_at);
    const about = { recipe, runKey, slot: showInstant(slot_at), kind, attempt, lateMs };
    const first = span_id === null ? undefined : { traceId: trace_id, spanId: span_id };
    return await tracer.run(about, first, async (span) => {
      this.#runSpan = span;
      this.#adopt(span);
      return await work();
    });
  }

  /** Does the work of one attempt at a step within its span. */
  async step<T>(about: Omit<StepAbout, "recipe" | "runKey">, work: () => Promise<T>): Promise<T> {
    const { recipe, run_key: runKey } = this.#row;
    const { tracer = untraced } = this.#options;
    return await tracer.step({ recipe, runKey, ...about }, async (span) => {
      this.#stepSpan = span;
      try {
        return await work();
      } finally {
        this.#stepSpan = undefined;
      }
    });
  }

  /** Tells something; nothing that goes wrong here is the run's fault. */
  tell(bare: BareRunEvent): void {
    const { host, redactor, onEvent } = this.#options;
    const { run_key: runKey, recipe } = this.#row;
    const spanId = (this.#stepSpan ?? this.#runSpan)?.ids?.spanId;
    const head = {
      runKey,
      recipe,
      traceId: this.#traceId,
      ...spanId !== undefined && { spanId },
      at: host.now(),
    };
    // The redactor changes texts and no shape.
    const event: RunEvent = { ...head, ...redactor.data(bare) as BareRunEvent };
    this.#mark(event);
    try {
      this.#log.note(event);
    } catch {
      // A ledger that is busy for long tells so when the step's end is to be written.
    }
    onEvent?.(event);
  }

  /** The ledger names the trace that there really is, from the first attempt that was traced on. */
  #adopt({ ids }: OpenSpan): void {
    if (ids === undefined) return;
    const { run_key: runKey, span_id: known } = this.#row;
    if (known !== null && ids.traceId === this.#traceId) return;
    this.#traceId = ids.traceId;
    const { ledger } = this.#options;
    try {
      ledger.run(
        "update run set trace_id = ?, span_id = ? where run_key = ?",
        ids.traceId,
        ids.spanId,
        runKey,
      );
    } catch (error) {
      if (!isBusy(error)) throw error; // the run matters more than the name of its trace
    }
  }

  #mark(event: RunEvent): void {
    switch (event.type) {
      case "run-ended":
        return this.#runSpan?.outcome(event.state, reasonOf(event.state, event.reason));
      case "step-ended":
        if (this.#stepSpan !== undefined) {
          return this.#stepSpan.outcome(
            event.state,
            event.errorName === undefined ? {} : { "error.type": event.errorName },
          );
        }
        return this.#runSpan?.event(`hsgate.step.${event.state}`, { "hsgate.step": event.step });
      case "step-reused":
        return this.#runSpan?.event("hsgate.step.reused", { "hsgate.step": event.step });
      case "step-retry":
        return this.#runSpan?.event("hsgate.step.retry", {
          "hsgate.step": event.step,
          "hsgate.wait_ms": event.waitMs,
        });
    }
  }
}

/** Reasons are words of a closed list, but for those that a person gave. */
function reasonOf(state: string, reason: string | undefined): Readonly<Record<string, string>> {
  return reason === undefined || state === "cancelled" ? {} : { "hsgate.reason": reason };
}
