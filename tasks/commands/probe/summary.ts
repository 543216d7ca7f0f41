/**
 * Summarizes the report of a probe in words.
 *
 * @module
 */
import { differencesOf, type ProbeCall, type ProbeReport } from "../../../lib/probe/report.ts";

const count = (number: number, one: string, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

/** Maximum number of differences of one operation that the summary shows; the report contains all. */
const MOST_SHOWN = 12;

/** Returns the lines of the summary. */
export function summaryOf(report: ProbeReport): string[] {
  const { calls, left, clock, stopped, families, transport } = report;
  const by = (outcome: ProbeCall["outcome"]) => calls.filter((each) => each.outcome === outcome);
  const lines: string[] = [];
  const differing = calls.filter(({ outcome }) => outcome === "differs" || outcome === "unreadable");
  lines.push(
    `Over the ${transport === "direct" ? "direct transport" : "gateway"}: ${count(calls.length, "call")}, ` +
      `${by("fits").length} as the catalogue says, ${by("differs").length} different, ` +
      `${by("unreadable").length} unreadable, ${by("rejected").length} rejected, ${
        by("no-answer").length
      } without an answer`,
  );
  if (stopped !== undefined) lines.push(`Stopped early: ${stopped}`);
  const declined = Object.entries(families).filter(([, state]) => state !== "called").map(([family]) =>
    family
  );
  if (declined.length > 0) lines.push(`Not called: ${declined.join(", ")}`);
  if (clock !== undefined) lines.push(clockLine(clock));
  const found = differencesOf(report);
  for (const operation of new Set(differing.map((each) => each.operation))) {
    const own = found.filter((each) => each.operation === operation);
    const unread = differing.find((each) => each.operation === operation && each.outcome === "unreadable");
    lines.push(
      "",
      `${operation}${unread === undefined ? "" : `: hsgate cannot read the answer (${unread.code ?? ""})`}`,
    );
    for (const { path, text, times, of } of own.slice(0, MOST_SHOWN)) {
      lines.push(`  ${path === "" ? "" : `${path}: `}${text}${of > 1 ? ` (${times} of ${of})` : ""}`);
    }
    if (own.length > MOST_SHOWN) {
      lines.push(`  and ${own.length - MOST_SHOWN} more differences, see the report`);
    }
  }
  const rejected = Map.groupBy(by("rejected"), ({ operation, code = "no code" }) => `${operation} (${code})`);
  if (rejected.size > 0) lines.push("", `Rejected: ${[...rejected.keys()].join(", ")}`);
  const subscribed = new Set(calls.filter((each) => each.subscribed).map(({ operation }) => operation));
  if (subscribed.size > 0) lines.push("", `Called again with a subscription: ${[...subscribed].join(", ")}`);
  const called = new Set(calls.map(({ operation }) => operation));
  const never = left.filter(({ operation }) => !called.has(operation));
  for (const [why, those] of Map.groupBy(never, (each) => each.why)) {
    lines.push(
      "",
      `Not called, because ${why}: ${[...new Set(those.map(({ operation }) => operation))].join(", ")}`,
    );
  }
  return lines;
}

function clockLine({ aheadMs: [least, most], source }: NonNullable<ProbeReport["clock"]>): string {
  const widest = Math.abs(least) > Math.abs(most) ? least : most;
  const seconds = Math.abs(widest) / 1000;
  const [divisor, unit] = seconds < 120 ? [1, "s"] : seconds < 86_400 ? [60, "minutes"] : [86_400, "days"];
  const size = `${(seconds / divisor).toFixed(1)} ${unit}`;
  return `Clock: the broker's is at most ${size} ${
    widest < 0 ? "behind" : "ahead of"
  } this machine's (${source})`;
}
