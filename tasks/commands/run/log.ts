/**
 * Log lines of runs and of the scheduler: for people, or one JSON object each.
 *
 * @module
 */
import { describeBlock } from "../../../lib/runner/explain/advice.ts";
import { matters, type RunEvent } from "../../../lib/runner/run/report.ts";
import type { LogLevel } from "../../../lib/runner/queries/events.ts";
import type { NoticeEvent } from "../../../lib/runner/notify/notify.ts";
import type { SchedulerEvent } from "../../../lib/runner/schedule/scheduler.ts";
import { showInstant } from "../../../lib/calendars/trading_days.ts";
import type { Host } from "../../terminal/host.ts";
import { type Color, paint, plain } from "../../terminal/print.ts";
import { HeldFiles } from "./summaries.ts";
import { localTime, readable } from "../shared/slot_lines.ts";

type AnyEvent = RunEvent | SchedulerEvent;

/** How log lines are written. */
interface LogOptions {
  /** One object each, for programs. */
  json: boolean;
  redact: (text: string) => string;
  /** Lines below this level are left out. @default "debug" */
  least?: LogLevel;
  /** Zone of the times, for a person who watches; UTC in full without it. */
  zone?: string;
}

/** Of its progress a step shows a line this often, and the last one. */
const PROGRESS_EVERY_MS = 5_000;
/** A key that is longer pushes its own line out of the column. */
const WIDEST_KEY = 48;

/** Writes events down; what they hold has passed the redactor, but for errors. */
export function eventLogger(
  host: Pick<Host, "out" | "color">,
  { json, redact, least = "debug", zone }: LogOptions,
): (event: AnyEvent) => void {
  const progressAt = new Map<string, number>();
  const isNews = (event: AnyEvent) => {
    // A turn that found nothing new is no news, and people see from the run what was listed.
    if (event.type === "tick") return json && event.listed > 0;
    if (!json && event.type === "step-started") return event.attempt > 1;
    if (event.type !== "step-progress") return true;
    const key = `${event.runKey} ${event.step}`;
    const isLast = event.done !== undefined && event.done === event.total;
    if (!isLast && event.at - (progressAt.get(key) ?? -Infinity) < PROGRESS_EVERY_MS) return false;
    if (isLast) progressAt.delete(key);
    else progressAt.set(key, event.at);
    return true;
  };
  const lines = new LineWriter(host, zone);
  const files = new HeldFiles();
  return (event) => {
    if (!matters(levelOf(event), least) || !isNews(event)) return;
    if (!json && event.type === "artifact") return files.add(event.runKey, event.step, event);
    if (!json && "runKey" in event) {
      const { step, lines: told } = files.take(event.runKey) ?? { lines: [] };
      for (const line of told) lines.write(event, plain(`${step}: ${line}`), undefined);
    }
    const [text, color] = event.type === "error"
      ? [`error: ${redact(messageOf(event.error))}`, "red" as const]
      : textOf(event);
    if (json) host.out(JSON.stringify(dataOf(event, text)));
    else lines.write(event, plain(text), color);
  };
}

const messageOf = (error: unknown) => error instanceof Error ? error.message : String(error);

function dataOf(event: AnyEvent, message: string) {
  const { at, type, ...rest } = event;
  // What was thrown shows by its message, which has passed the redactor; details are for the screen.
  const { error: _error, detail: _detail, ...data } = { error: undefined, detail: undefined, ...rest };
  return { at: showInstant(at), level: levelOf(event), type, message, ...data };
}

function levelOf(event: AnyEvent): LogLevel {
  switch (event.type) {
    case "log":
      return event.level;
    case "tick":
    case "step-started":
    case "step-reused":
      return "debug";
    case "run-ended":
    case "step-ended":
      return event.state in colors && event.state !== "ok" ? "error" : "info";
    case "skipped":
      return ["misfire", "deadline", "calendar_unknown"].includes(event.reason) ? "warn" : "info";
    case "step-retry":
    case "gone":
    case "recovered":
    case "clock-jump":
    case "warning":
    case "asked":
    case "held":
      return "warn";
    case "notice":
      return event.state === "sent" ? "info" : event.state === "failed" ? "warn" : "error";
    case "error":
      return "error";
    default:
      return "info";
  }
}

/** Digits of a trace id, which is never cut: it is looked up elsewhere. */
const TRACE_DIGITS = 32;

/** Lines for people: in columns, with the day where it changes when a person watches. */
class LineWriter {
  readonly #host: Pick<Host, "out" | "color">;
  readonly #zone: string | undefined;
  #day = "";
  #width = 0;

  constructor(host: Pick<Host, "out" | "color">, zone: string | undefined) {
    this.#host = host;
    this.#zone = zone;
  }

  write(event: AnyEvent, text: string, color: Color | undefined): void {
    const host = this.#host;
    const key = "runKey" in event ? event.runKey : "";
    if (key.length <= WIDEST_KEY) this.#width = Math.max(this.#width, key.length);
    const trace = "traceId" in event && event.traceId !== undefined ? event.traceId : "";
    const columns = this.#zone === undefined
      ? [key, trace].filter((each) => each !== "")
      : [key.padEnd(this.#width), paint(host, "dim", trace.padEnd(TRACE_DIGITS))];
    host.out([paint(host, "dim", this.#time(event.at)), ...columns, paint(host, color, text)].join("  "));
  }

  #time(at: number): string {
    const instant = Math.floor(at / 1000) * 1000;
    if (this.#zone === undefined) return showInstant(instant);
    const local = localTime(instant, this.#zone);
    const day = local.slice(0, 10);
    if (day !== this.#day) this.#host.out(paint(this.#host, "bold", readable(local).slice(0, -6)));
    this.#day = day;
    return local.slice(11, 19);
  }
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
      return [`${event.step}: again in ${seconds(event.waitMs)}`, "yellow"];
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
      return [
        `${event.state}, ${seconds(event.tookMs)}${because(endOf(event))}`,
        colors[event.state],
      ];
    case "tick":
      return [`${event.listed} ${event.listed === 1 ? "slot" : "slots"} listed`, "dim"];
    case "skipped":
      return [`skipped: ${event.reason}`, "yellow"];
    case "asked":
      return ["was missed and waits for a person: approve or refuse it", "yellow"];
    case "held":
      return [`held back: ${describeBlock(event)}`, "yellow"];
    case "recovered":
      return [`taken over from a process that is gone: ${event.state}`, "yellow"];
    case "clock-jump":
      return [`the clock jumped by ${seconds(event.byMs)}`, "yellow"];
    case "notice":
      return [noticeText(event), event.state === "sent" ? undefined : "red"];
    case "gone":
      return [`${event.recipe}: its file is gone, so nothing of it runs until that is back`, "yellow"];
    case "reloaded":
      return [`${event.recipes} recipes loaded anew`];
  }
}

/** Codes of reasons in words, where they need some. */
const reasons: Readonly<Record<string, string>> = {
  step: "a step failed",
  write: "it is not known what a write came to",
  lease: "its lease was lost, and another process may have it",
  stopped: "stopped, and given back",
};
const reasonOf = (reason: string | undefined) => reason === undefined ? undefined : reasons[reason] ?? reason;

/** What is stopped is given back only where somebody else may go on with it. */
const endOf = ({ state, reason }: { state: string; reason?: string }) =>
  reason === "stopped" && state !== "due" ? reason : reasonOf(reason);

const because = (reason: string | undefined) => reason === undefined ? "" : `: ${reason}`;

/** Says how a try to send a notice went. */
export function noticeText({ notice, channel, state, error, tries }: Omit<NoticeEvent, "runKey">): string {
  const which = `notice ${notice} by ${channel}`;
  if (state === "sent") return `${which} was sent`;
  const reason = error === undefined ? "" : `: ${error}`;
  return state === "failed"
    ? `${which} was not sent${reason}`
    : `${which} was not sent and is given up after ${tries} tries${reason}; "hsgate notices" sends it again`;
}

/** Writes a length of time: `0.2 s`. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
