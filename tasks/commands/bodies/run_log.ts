/**
 * Log lines of runs and of the scheduler: for people, or one JSON object each.
 *
 * @module
 */
import { tellHeld } from "../../../lib/runner/held.ts";
import type { RunEvent } from "../../../lib/runner/run_events.ts";
import type { SchedulerEvent } from "../../../lib/runner/scheduler.ts";
import { showInstant } from "../../../lib/runner/slots.ts";
import type { Host } from "../host.ts";
import { type Color, paint, plain } from "../print.ts";

type AnyEvent = RunEvent | SchedulerEvent;

/** Writes events down; what they hold has passed the redactor, but for errors. */
export function eventLogger(
  host: Pick<Host, "out" | "color">,
  { json, redact }: { json: boolean; redact: (text: string) => string },
): (event: AnyEvent) => void {
  return (event) => {
    // A turn that found nothing new is no news.
    if (event.type === "tick" && event.listed === 0) return;
    if (json) host.out(JSON.stringify(dataOf(event, redact)));
    else host.out(lineOf(event, { host, redact }));
  };
}

function dataOf(event: AnyEvent, redact: (text: string) => string) {
  const at = showInstant(event.at);
  return event.type === "error"
    ? { type: "error", at, error: messageOf(event.error, redact) }
    : { ...event, at };
}

function messageOf(error: unknown, redact: (text: string) => string): string {
  return redact(error instanceof Error ? error.message : String(error));
}

function lineOf(
  event: AnyEvent,
  { host, redact }: { host: Pick<Host, "color">; redact: (text: string) => string },
): string {
  const [text, color] = event.type === "error"
    ? [`error: ${messageOf(event.error, redact)}`, "red" as const]
    : textOf(event);
  const key = "runKey" in event ? `${event.runKey}  ` : "";
  const time = showInstant(Math.floor(event.at / 1000) * 1000);
  return `${paint(host, "dim", time)}  ${key}${paint(host, color, plain(text))}`;
}

const colors: Readonly<Record<string, Color>> = { ok: "green", failed: "red", unknown: "red", lost: "red" };

function textOf(event: Exclude<AnyEvent, { type: "error" }>): [text: string, color?: Color] {
  switch (event.type) {
    case "run-started":
      return [`started${event.lateMs >= 1000 ? `, ${seconds(event.lateMs)} late` : ""}`];
    case "step-started":
      return [`${event.step}: started${event.attempt > 1 ? `, attempt ${event.attempt}` : ""}`];
    case "step-reused":
      return [`${event.step}: done before`];
    case "step-progress": {
      const place = event.done === undefined || event.total === undefined
        ? ""
        : ` (${event.done} of ${event.total})`;
      return [`${event.step}: ${event.text}${place}`];
    }
    case "step-retry":
      return [`${event.step}: again in ${seconds(event.waitMs)}: ${event.error}`, "yellow"];
    case "step-ended":
      return [
        `${event.step}: ${event.state}, ${seconds(event.tookMs)}${because(event.reason)}`,
        colors[event.state],
      ];
    case "log":
      return [`${event.step}: ${event.level}: ${event.message}`, event.level === "error" ? "red" : undefined];
    case "warning":
      return [`warning: ${event.message}`, "yellow"];
    case "artifact":
      return [`${event.step}: ${event.isNew ? "wrote" : "kept"} ${event.path}`];
    case "run-ended":
      return [`${event.state}, ${seconds(event.tookMs)}${because(event.reason)}`, colors[event.state]];
    case "tick":
      return [`${event.listed} ${event.listed === 1 ? "slot" : "slots"} listed`, "dim"];
    case "skipped":
      return [`skipped: ${event.reason}`, "yellow"];
    case "asked":
      return ["was missed and waits for a person: approve or refuse it", "yellow"];
    case "held":
      return [`held back: ${tellHeld(event)}`, "yellow"];
    case "recovered":
      return [`taken over from a process that is gone: ${event.state}`, "yellow"];
    case "clock-jump":
      return [`the clock jumped by ${seconds(event.byMs)}`, "yellow"];
    case "reloaded":
      return [`${event.recipes} recipes loaded anew`];
  }
}

const because = (reason: string | undefined) => reason === undefined ? "" : `: ${reason}`;

/** Writes a length of time: `0.2 s`. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
