/**
 * Writes log lines of runs and of the scheduler: readable lines, or JSON objects.
 *
 * @module
 */
import { describeBlock } from "../../../lib/runner/explain/advice.ts";
import { matters, type RunEvent } from "../../../lib/runner/run/report.ts";
import type { LogLevel } from "../../../lib/runner/queries/events.ts";
import type { NoticeEvent } from "../../../lib/runner/notify/notify.ts";
import type { SchedulerEvent } from "../../../lib/runner/schedule/scheduler.ts";
import { showInstant } from "../../../lib/calendars/mod.ts";
import type { Host } from "../../terminal/host.ts";
import { type Color, paint, plain } from "../../terminal/print.ts";
import { FilesByRun } from "./summaries.ts";
import { localTime, readable } from "../shared/slot_lines.ts";

type AnyEvent = RunEvent | SchedulerEvent;

/** Options of log lines. */
interface LogOptions {
  /** Write one JSON object for each event. */
  json: boolean;
  /** Returns the message of an error without secrets. */
  reason: (error: unknown) => string;
  /** Lowest level that is written. @default "debug" */
  least?: LogLevel;
  /** Time zone for a terminal. @default UTC, with the full date */
  zone?: string;
}

/** Shortest time between two progress lines of a step; the last one is always written. */
const PROGRESS_EVERY_MS = 5_000;
/** Maximum width of the key column. A longer key shifts the rest of its line. */
const WIDEST_KEY = 48;

/**
 * Returns a function that writes an event as log lines. The redactor has already removed secrets from events, except
 * from their errors.
 */
export function eventLogger(
  host: Pick<Host, "out" | "color">,
  { json, reason, least = "debug", zone }: LogOptions,
): (event: AnyEvent) => void {
  const progressAt = new Map<string, number>();
  const isNews = (event: AnyEvent) => {
    // Log a pass of the scheduler only in JSON and only if it listed slots: text lines show the runs themselves.
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
  const files = new FilesByRun();
  return (event) => {
    if (!matters(levelOf(event), least) || !isNews(event)) return;
    if (!json && event.type === "artifact") return files.add(event.runKey, event.step, event);
    if (!json && "runKey" in event) {
      const { step, lines: told } = files.take(event.runKey) ?? { lines: [] };
      for (const line of told) lines.write(event, plain(`${step}: ${line}`), undefined);
    }
    const [text, color] = event.type === "error"
      ? [`error: ${reason(event.error)}`, "red" as const]
      : textOf(event);
    if (json) host.out(JSON.stringify(dataOf(event, text)));
    else lines.write(event, plain(text), color);
  };
}

function dataOf(event: AnyEvent, message: string) {
  const { at, type, ...rest } = event;
  // Leave out `error`, because `message` describes it without secrets. Leave out `detail`, which is only for displays.
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
    case "recipe-missing":
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

/** Width of a trace id, which is never cut, because users search for it elsewhere. */
const TRACE_DIGITS = 32;

/** Writes readable lines in columns. On a terminal, also writes the day whenever it changes. */
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
      return [`${event.step}: already done`];
    case "step-progress": {
      const place = event.done === undefined || event.total === undefined
        ? ""
        : ` (${event.done} of ${event.total})`;
      return [`${event.step}: ${event.text}${place}`];
    }
    case "step-retry":
      return [`${event.step}: retrying in ${seconds(event.waitMs)}`, "yellow"];
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
      return ["was missed and waits for approval: approve or refuse it", "yellow"];
    case "held":
      return [`blocked: ${describeBlock(event)}`, "yellow"];
    case "recovered":
      return [`taken over from a process that has died: ${event.state}`, "yellow"];
    case "resolved":
      return [`its writes are resolved: ${event.because}`, "green"];
    case "clock-jump":
      return [`the clock jumped by ${seconds(event.byMs)}`, "yellow"];
    case "notice":
      return [noticeText(event), event.state === "sent" ? undefined : "red"];
    case "recipe-missing":
      return [
        `${event.recipe}: its file is missing, so the recipe does not run until the file is back`,
        "yellow",
      ];
    case "reloaded":
      return [`reloaded ${event.recipes} recipes`];
  }
}

/** Texts for reason codes that are not clear by themselves. */
const reasons: Readonly<Record<string, string>> = {
  step: "a step failed",
  write: "the outcome of a write is unknown",
  lease: "lost its lease; another process may have the run",
  stopped: "stopped; due again",
};
const reasonOf = (reason: string | undefined) => reason === undefined ? undefined : reasons[reason] ?? reason;

/** Returns the text of the reason. The text for `stopped` says that the run is due again, so only a due run gets it. */
const endOf = ({ state, reason }: { state: string; reason?: string }) =>
  reason === "stopped" && state !== "due" ? reason : reasonOf(reason);

const because = (reason: string | undefined) => reason === undefined ? "" : `: ${reason}`;

/** Describes an attempt to send a notice. */
export function noticeText({ notice, channel, state, error, tries }: Omit<NoticeEvent, "runKey">): string {
  const which = `notice ${notice} by ${channel}`;
  if (state === "sent") return `${which} was sent`;
  const reason = error === undefined ? "" : `: ${error}`;
  return state === "failed"
    ? `${which} was not sent${reason}`
    : `${which} was not sent; hsgate gave up after ${tries} tries${reason}; "hsgate notices --send" sends it again`;
}

/** Formats a duration: `0.2 s`. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
