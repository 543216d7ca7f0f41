/**
 * A run as a tree of steps: what each is at, how long it took, what came of it. Recipes that run as a step of another
 * one stand below it.
 *
 * @module
 */
import type { StepState } from "../../../lib/recipes/engine.ts";
import type { RunOutcome } from "../../../lib/runner/run/run.ts";
import type { Host } from "../../terminal/host.ts";
import { type Color, fit, paint, plain, widthOf } from "../../terminal/print.ts";
import { fileLines, type NamedFile } from "./summaries.ts";

/** What happens within a run; `run` tells runs apart that are within each other. */
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
  /** How far it is. */
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

/** How a step's state looks; each sign takes one column. */
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

/** How lines are written. */
interface LineOptions {
  /** Columns that a line may take. */
  width: number;
  host: Pick<Host, "color">;
  /** Which picture of the moving sign; none for a tree that is written once. */
  frame?: number;
}

/** Keeps what is known of a run and of those within it. */
export class RunTree {
  readonly #monotonic: () => number;
  readonly #branches = new Map<string, Branch>();
  readonly #files = new Map<string, NamedFile>();
  #root: Branch | undefined;

  /** @param monotonic Milliseconds of a clock that never jumps. */
  constructor(monotonic: () => number = () => performance.now()) {
    this.#monotonic = monotonic;
  }

  /** Whether any step has begun. */
  get hasBegun(): boolean {
    return [...this.#root?.nodes.values() ?? []].some(({ mark }) => mark !== "waiting");
  }

  /** Files that were made, in their order, each once. */
  get files(): readonly NamedFile[] {
    return [...this.#files.values()];
  }

  /** Takes an event in. */
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
        node.text = `again in ${seconds(event.waitMs)}: ${plain(event.error)}`;
        return;
      case "step-ended":
        node.mark = event.state;
        node.tookMs = event.state === "skipped" ? undefined : event.tookMs ?? now - node.startedAt;
        node.result = plain(event.reason ?? event.result ?? "");
        if (event.state === "skipped") node.result = `left out: ${node.result || "condition"}`;
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

  /** The tree as lines that fit; colours and all, none takes more columns than it may. */
  lines(options: LineOptions): string[] {
    return this.#root === undefined ? [] : this.#linesOf(this.#root, 0, options);
  }

  #linesOf({ nodes }: Branch, depth: number, options: LineOptions): string[] {
    const all = [...nodes.values()];
    // A narrow terminal shows the names of the steps alone.
    const isNarrow = options.width < 60;
    const longest = Math.max(...all.map(({ id }) => widthOf(id)));
    const widths = {
      // What is drawn over must fit; what is written once has whole names.
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
    // The parts are coloured after they were cut, as a code takes no column.
    const head = `${indent}${sign} ${name}`;
    const rest = fit(`${kind}${time}  ${tail}`.trimEnd(), Math.max(1, width - widthOf(head)));
    const line = widthOf(head) < width ? `${head}${rest}` : frame === undefined ? head : fit(head, width);
    const place = line.indexOf(sign);
    return place < 0
      ? line
      : line.slice(0, place) + paint(host, color, sign) + line.slice(place + sign.length);
  }

  /** Why steps failed, in full. */
  get failures(): { step: string; reason: string }[] {
    return [...this.#branches.values()].flatMap(({ nodes }) =>
      [...nodes.values()].filter(({ mark, result }) =>
        (mark === "failed" || mark === "unknown") && result !== ""
      )
        .map(({ id, result }) => ({ step: id, reason: result }))
    );
  }

  /** How the run ended and how long that took; nothing while it goes on. */
  get end(): { state: RunOutcome["state"]; reason?: string; tookMs: number } | undefined {
    return this.#root?.end;
  }
}

/** Columns that stay whatever a terminal says of itself while it is being resized. */
function widthOfTerminal({ errTerminal, size }: Pick<Host, "errTerminal" | "size">): number {
  return errTerminal?.columns() || size().columns || 80;
}

/** A run that has ended: its steps, the files that it made, and how it ended. */
export function summaryLines(tree: RunTree, host: Pick<Host, "errTerminal" | "size" | "color">): string[] {
  const { end } = tree;
  const reason = end?.reason === undefined ? "" : ` (${end.reason})`;
  const lines = tree.lines({ width: widthOfTerminal(host), host });
  // What was cut to fit is what somebody wants to read.
  const cut = tree.failures.filter(({ reason }) => !lines.some((line) => line.includes(reason)));
  return [
    ...lines,
    ...cut.map(({ step, reason }) => `${step}: ${reason}`),
    ...fileLines(tree.files),
    ...end === undefined ? [] : [`${end.state}${reason} after ${seconds(end.tookMs)}`],
  ];
}

const pad = (text: string, width: number) => text + " ".repeat(Math.max(0, width - widthOf(text)));

/** Writes a length of time: `0.2 s`, `2 min 5 s`, `1 h 2 min`. */
export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const whole = Math.floor(ms / 1000);
  return whole < 3600
    ? `${Math.floor(whole / 60)} min ${whole % 60} s`
    : `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} min`;
}
