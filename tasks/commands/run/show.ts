/**
 * Shows the progress of a run: a tree that is redrawn on a terminal, plain lines elsewhere.
 *
 * @module
 */
import type { Host } from "../../terminal/host.ts";
import { fit, plain, rowsTaken, shownWidth } from "../../terminal/print.ts";
import { FilesByRun } from "./summaries.ts";
import { type RunTree, seconds, type TreeEvent } from "./tree.ts";

/** Progress display of a run. Dispose of it before anything else is written. */
export interface RunShow extends Disposable {
  /** Shows an event that is already in the tree. */
  take(event: TreeEvent): void;
  /** Prints a line that stays on the screen, above the tree if there is one. */
  readonly line: (text: string) => void;
}

/** Options of the display. */
interface ShowOptions {
  tree: RunTree;
  /** The result is for a program: show progress only on a terminal. */
  json: boolean;
  /** Show no progress lines, because log lines show the progress. @default false */
  quiet?: boolean;
}

type ShowHost = Pick<Host, "note" | "errTerminal" | "color" | "env" | "isTerminal" | "size">;

/** Time between two redraws by the timer. Events redraw at most four times as often. */
const REDRAW_MS = 100;

/** Starts a progress display. */
export function showRun(host: ShowHost, options: ShowOptions): RunShow {
  if (host.errTerminal !== undefined && host.env("TERM") !== "dumb") {
    return new LiveTree(host, host.errTerminal, options.tree);
  }
  const isSilent = options.json || options.quiet === true;
  return {
    take: isSilent ? () => {} : plainLines(host),
    line: (text) => host.note(text),
    [Symbol.dispose]: () => {},
  };
}

/** Redraws the tree in place, at each event and as time passes. */
class LiveTree implements RunShow {
  readonly #host: ShowHost;
  readonly #terminal: NonNullable<Host["errTerminal"]>;
  readonly #tree: RunTree;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Width of each line on the screen. */
  #drawn: number[] = [];
  #frame = 0;
  #drawnAt = -Infinity;

  constructor(host: ShowHost, terminal: NonNullable<Host["errTerminal"]>, tree: RunTree) {
    this.#host = host;
    this.#terminal = terminal;
    this.#tree = tree;
    this.#timer = setInterval(() => {
      this.#frame++;
      this.#draw();
    }, REDRAW_MS);
  }

  take(_event: TreeEvent): void {
    // Many small events, such as rows of an export, must not slow the run down.
    if (performance.now() - this.#drawnAt >= REDRAW_MS / 4) this.#draw();
  }

  readonly line = (text: string): void => {
    this.#terminal.draw(this.#clearing(), `${text}\n`);
    this.#draw();
  };

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#terminal.draw(this.#clearing());
  }

  #draw(): void {
    this.#drawnAt = performance.now();
    const columns = this.#columns();
    const lines = this.#tree.lines({ width: Math.max(1, columns - 1), host: this.#host, frame: this.#frame });
    const rows = Math.max(2, (this.#host.isTerminal ? this.#host.size().rows : 24) || 24);
    const hidden = lines.length - (rows - 1);
    // Lines that have scrolled off the screen cannot be redrawn, so a tree that is too long loses its top.
    const shown = hidden > 0
      ? [fit(`… ${hidden + 1} more steps above`, Math.max(1, columns - 1)), ...lines.slice(hidden + 1)]
      : lines;
    const codes = this.#clearing();
    this.#drawn = shown.map(shownWidth);
    this.#terminal.draw(codes, shown.join("\n"));
  }

  /**
   * Returns the codes that erase the last drawing. Counts wrapped lines, because the terminal may have become
   * narrower.
   */
  #clearing(): string {
    if (this.#drawn.length === 0) return "";
    const columns = this.#columns();
    const rows = rowsTaken(this.#drawn, columns);
    this.#drawn = [];
    return `${rows > 1 ? `\x1b[${rows - 1}A` : ""}\r\x1b[J`;
  }

  /** Returns the width of the terminal. Returns 80 if the terminal reports zero, as during a resize. */
  #columns(): number {
    try {
      return this.#terminal.columns() || 80;
    } catch {
      return 80; // the terminal is closed
    }
  }
}

/** Returns a function that prints a line for each step that begins or ends, and for its progress. */
function plainLines(host: Pick<Host, "note">): (event: TreeEvent) => void {
  const places = new Map<string, string>();
  const files = new FilesByRun();
  return (event) => {
    if (event.type === "artifact") return files.add(event.run, event.step, event);
    if (event.type === "step-progress" && event.done !== undefined && event.done === event.total) return;
    for (const line of files.take(event.run)?.lines ?? []) host.note(`hsgate:   ${line}`);
    const place = "step" in event ? places.get(`${event.run} ${event.step}`) ?? event.step : "";
    switch (event.type) {
      case "run-started": {
        for (const [index, { id }] of event.steps.entries()) {
          places.set(`${event.run} ${id}`, `step ${index + 1} of ${event.steps.length}, ${id}`);
        }
        return;
      }
      case "step-started":
        return host.note(`hsgate: ${place}${event.attempt > 1 ? `, attempt ${event.attempt}` : ""}`);
      case "step-progress": {
        const at = event.done === undefined ? "" : ` (${event.done + 1} of ${event.total})`;
        return host.note(`hsgate:   ${plain(event.text)}${at}`);
      }
      case "step-retry":
        return host.note(`hsgate:   retrying in ${seconds(event.waitMs)}: ${plain(event.error)}`);
      case "step-ended": {
        const time = event.tookMs === undefined || event.state === "skipped"
          ? ""
          : `, ${seconds(event.tookMs)}`;
        const words = event.reason ?? event.result ?? "";
        return host.note(`hsgate: ${place}: ${event.state}${time}${words === "" ? "" : `, ${plain(words)}`}`);
      }
      case "step-reused":
        return host.note(`hsgate: ${place}: already done`);
      case "run-ended":
    }
  };
}
