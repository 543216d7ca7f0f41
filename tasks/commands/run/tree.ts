/**
 * Shows a run as a tree of steps: the state, duration and result of each. A recipe that runs as a step is shown below
 * that step.
 *
 * @module
 */
import type { StepState } from "../../../lib/recipes/engine/engine.ts";
import type { RunOutcome } from "../../../lib/runner/run/run.ts";
import type { Host } from "../../terminal/host.ts";
import { type Color, fit, paint, plain, widthOf } from "../../terminal/print.ts";
import { fileLines, type NamedFile, skipReason } from "./summaries.ts";

/** An event of a run. `run` distinguishes nested runs. */
export type TreeEvent =
  & { run: string }
  & (
    | { type: "run-started"; recipe: string; steps: readonly { id: string; uses: string }[] }
    | { type: "step-started"; step: string; attempt: number }
    | { type: "step-reused"; step: string }
    | { type: "step-progress"; step: string; text: string; done?: number; total?: number }
    | { type: "step-retry"; step: string; waitMs: number; error: string }
    | {
      type: "step-ended";
      step: string;
      state: StepState;
      reason?: string;
      result?: string;
      tookMs?: number;
    }
    | { type: "artifact"; step: string; path: string; isNew: boolean }
    | { type: "run-ended"; state: RunOutcome["state"]; reason?: string; tookMs?: number }
  );

type Mark = "waiting" | "running" | "reused" | StepState;

interface Node {
  id: string;
  uses: string;
  mark: Mark;
  attempt: number;
  startedAt: number;
  tookMs?: number;
  /** Progress of the step, such as `3/12`; empty if it is not known. */
  place: string;
  text: string;
  result: string;
  below: Branch[];
}

interface Branch {
  run: string;
  recipe: string;
  nodes: Map<string, Node>;
  startedAt: number;
  end?: { state: RunOutcome["state"]; reason?: string; tookMs: number };
}

/** Sign and colour of each state; each sign is one column wide. */
const signs: Readonly<Record<Mark, readonly [sign: string, color?: Color]>> = {
  waiting: ["·", "dim"],
  running: ["▸", "yellow"],
  ok: ["✓", "green"],
  reused: ["✓", "green"],
  failed: ["✗", "red"],
  unknown: ["?", "red"],
  skipped: ["–", "dim"],
};

const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** Options of the lines. */
interface LineOptions {
  /** Largest width of a line, columns. */
  width: number;
  host: Pick<Host, "color">;
  /** Frame of the animated sign; absent for a tree that is printed once. */
  frame?: number;
}

/** State of a run and of its nested runs. */
export class RunTree {
  readonly #monotonic: () => number;
  readonly #branches = new Map<string, Branch>();
  readonly #files = new Map<string, NamedFile>();
  #root: Branch | undefined;

  /** @param monotonic Returns milliseconds of a clock that never jumps. */
  constructor(monotonic: () => number = () => performance.now()) {
    this.#monotonic = monotonic;
  }

  /** Whether any step has begun. */
  get hasBegun(): boolean {
    return [...this.#root?.nodes.values() ?? []].some(({ mark }) => mark !== "waiting");
  }

  /** Files that the steps wrote or kept unchanged, in order, without duplicates. */
  get files(): readonly NamedFile[] {
    return [...this.#files.values()];
  }

  /** Updates the tree with an event. */
  apply(event: TreeEvent): void {
    if (event.type === "run-started") return this.#begin(event);
    const branch = this.#branches.get(event.run);
    if (branch === undefined) return;
    const now = this.#monotonic();
    if (event.type === "run-ended") {
      const { state, reason, tookMs = now - branch.startedAt } = event;
      branch.end = { state, reason, tookMs };
      return;
    }
    const node = branch.nodes.get(event.step);
    if (node === undefined) return;
    switch (event.type) {
      case "step-started":
        Object.assign(node, { mark: "running", attempt: event.attempt, startedAt: now, place: "", text: "" });
        return;
      case "step-reused":
        Object.assign(node, { mark: "reused", result: "done before" });
        return;
      case "step-progress":
        if (event.done !== undefined && event.total !== undefined) {
          node.place = `${event.done}/${event.total}`;
        }
        node.text = plain(event.text);
        return;
      case "step-retry":
        node.text = `retrying in ${seconds(event.waitMs)}: ${plain(event.error)}`;
        return;
      case "step-ended":
        node.mark = event.state;
        node.tookMs = event.state === "skipped" ? undefined : event.tookMs ?? now - node.startedAt;
        node.result = plain(event.reason ?? event.result ?? "");
        if (event.state === "skipped") node.result = `skipped: ${skipReason(node.result)}`;
        return;
      case "artifact":
        if (!this.#files.has(event.path)) this.#files.set(event.path, event);
    }
  }

  #begin({ run, recipe, steps }: Extract<TreeEvent, { type: "run-started" }>): void {
    const nodes = steps.map(({ id, uses }): [string, Node] => [
      id,
      { id, uses, mark: "waiting", attempt: 1, startedAt: 0, place: "", text: "", result: "", below: [] },
    ]);
    const branch: Branch = { run, recipe, nodes: new Map(nodes), startedAt: this.#monotonic() };
    const outer = [...this.#branches.values()].findLast(({ end }) => end === undefined);
    const parent = outer && [...outer.nodes.values()].find(({ mark }) => mark === "running");
    if (this.#root === undefined) this.#root = branch;
    else parent?.below.push(branch);
    this.#branches.set(run, branch);
  }

  /**
   * Returns the tree as lines. With `frame`, no line is wider than the limit. Without `frame`, a line with a long step
   * name may be wider.
   */
  lines(options: LineOptions): string[] {
    return this.#root === undefined ? [] : this.#linesOf(this.#root, 0, options);
  }

  #linesOf({ nodes }: Branch, depth: number, options: LineOptions): string[] {
    const all = [...nodes.values()];
    // A narrow terminal does not show what each step uses.
    const isNarrow = options.width < 60;
    const longest = Math.max(...all.map(({ id }) => widthOf(id)));
    const widths = {
      // Redrawn lines must fit the terminal. Lines that are printed only once contain the whole names.
      id: options.frame === undefined ? longest : Math.min(isNarrow ? 16 : 28, longest),
      uses: isNarrow ? 0 : Math.min(24, Math.max(...all.map(({ uses }) => widthOf(uses)))),
    };
    return all.flatMap((node) => [
      this.#lineOf(node, { ...options, depth, ...widths }),
      ...node.below.flatMap((branch) => this.#linesOf(branch, depth + 1, options)),
    ]);
  }

  #lineOf(
    node: Node,
    { width, host, frame, depth, id, uses }: LineOptions & { depth: number; id: number; uses: number },
  ): string {
    const [still, color] = signs[node.mark];
    const sign = node.mark === "running" && frame !== undefined ? SPINNER[frame % SPINNER.length]! : still;
    const indent = "  ".repeat(depth);
    const tookMs = node.mark === "running" ? this.#monotonic() - node.startedAt : node.tookMs;
    const name = pad(fit(node.id, id), id);
    const kind = uses === 0 ? "" : `  ${pad(fit(node.uses, uses), uses)}`;
    const time = (tookMs === undefined ? "" : seconds(tookMs)).padStart(9);
    const tail = node.mark === "running"
      ? [node.attempt > 1 ? `attempt ${node.attempt}` : "", node.place, node.text].filter(Boolean).join("  ")
      : node.result;
    // Colours are added after cutting, because colour codes take no columns.
    const head = `${indent}${sign} ${name}`;
    const rest = fit(`${kind}${time}  ${tail}`.trimEnd(), Math.max(1, width - widthOf(head)));
    const line = widthOf(head) < width ? `${head}${rest}` : frame === undefined ? head : fit(head, width);
    const place = line.indexOf(sign);
    return place < 0
      ? line
      : line.slice(0, place) + paint(host, color, sign) + line.slice(place + sign.length);
  }

  /** Returns the full reasons of failed steps. */
  get failures(): { step: string; reason: string }[] {
    return [...this.#branches.values()].flatMap(({ nodes }) =>
      [...nodes.values()].filter(({ mark, result }) =>
        (mark === "failed" || mark === "unknown") && result !== ""
      )
        .map(({ id, result }) => ({ step: id, reason: result }))
    );
  }

  /** How the run ended and how long it took; `undefined` while it runs. */
  get end(): { state: RunOutcome["state"]; reason?: string; tookMs: number } | undefined {
    return this.#root?.end;
  }
}

/** Returns the width of the terminal. Returns 80 if the terminal reports zero, as during a resize. */
function widthOfTerminal({ errTerminal, size }: Pick<Host, "errTerminal" | "size">): number {
  return errTerminal?.columns() || size().columns || 80;
}

/** Summarizes a run that has ended: its steps, its files, and how it ended. */
export function summaryLines(tree: RunTree, host: Pick<Host, "errTerminal" | "size" | "color">): string[] {
  const { end } = tree;
  const reason = end?.reason === undefined ? "" : ` (${end.reason})`;
  const lines = tree.lines({ width: widthOfTerminal(host), host });
  // Print reasons in full if they were cut to fit.
  const cut = tree.failures.filter(({ reason }) => !lines.some((line) => line.includes(reason)));
  return [
    ...lines,
    ...cut.map(({ step, reason }) => `${step}: ${reason}`),
    ...fileLines(tree.files),
    ...end === undefined ? [] : [`${end.state}${reason} after ${seconds(end.tookMs)}`],
  ];
}

const pad = (text: string, width: number) => text + " ".repeat(Math.max(0, width - widthOf(text)));

/** Formats a duration: `0.2 s`, `2 min 5 s`, `1 h 2 min`. */
export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const whole = Math.floor(ms / 1000);
  return whole < 3600
    ? `${Math.floor(whole / 60)} min ${whole % 60} s`
    : `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} min`;
}
