/**
 * Records metrics of runs with OpenTelemetry. The caller passes a meter, for example Deno's.
 *
 * @module
 */
import type { RunEvent } from "./report.ts";
import type { SchedulerEvent } from "../schedule/scheduler.ts";

type Attributes = Record<string, string>;

/** The part of an OpenTelemetry meter that is used here. */
export interface Meter {
  createHistogram(name: string, options: { unit: string; description: string }): {
    record(value: number, attributes: Attributes): void;
  };
  createCounter(name: string, options: { description: string }): {
    add(value: number, attributes: Attributes): void;
  };
}

/** Returns listeners that record events as metrics. */
export function measureRuns(
  meter: Meter,
): { onEvent(event: RunEvent): void; onSchedulerEvent(event: SchedulerEvent): void } {
  const lateness = meter.createHistogram("hsgate.run.lateness", {
    unit: "ms",
    description: "Time from when a run is due until it begins",
  });
  const duration = meter.createHistogram("hsgate.run.duration", {
    unit: "ms",
    description: "Time that a run took",
  });
  const ended = meter.createCounter("hsgate.run.ended", { description: "Runs by how they ended" });
  const skipped = meter.createCounter("hsgate.run.skipped", { description: "Skipped slots by reason" });
  const notices = meter.createCounter("hsgate.notice.tries", {
    description: "Tries to send a notice, by result",
  });
  const jumps = meter.createCounter("hsgate.clock.jumps", { description: "Jumps of the wall clock" });
  return {
    onEvent(event) {
      if (event.type === "run-started") lateness.record(event.lateMs, { recipe: event.recipe });
      if (event.type !== "run-ended") return;
      duration.record(event.tookMs, { recipe: event.recipe });
      ended.add(1, { recipe: event.recipe, state: event.state });
      if (event.state === "skipped") {
        skipped.add(1, { recipe: event.recipe, reason: event.reason ?? "condition" });
      }
    },
    onSchedulerEvent(event) {
      if (event.type === "skipped") skipped.add(1, { recipe: event.recipe, reason: event.reason });
      if (event.type === "clock-jump") jumps.add(1, {});
      if (event.type === "notice") {
        const { recipe, channel, state } = event;
        notices.add(1, { recipe, channel, state });
      }
    },
  };
}
