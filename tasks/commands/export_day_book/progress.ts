/**
 * Shows on stderr how far an export of day books is: one line that is written over on a terminal, plain lines
 * elsewhere.
 *
 * @module
 */
import { ProgressText } from "../../../lib/day_book/progress.ts";
import type { DayBookEvent } from "../../../lib/day_book/types.ts";
import type { Host } from "../../terminal/host.ts";

/** What takes the line before away, at the start of a text that is written over it. */
// deno-lint-ignore no-control-regex -- the point of it
const CLEARING = /^\r\x1b\[2K/;

/** Progress that is being shown. Dispose of it before anything else is written. */
interface DayProgress extends Disposable {
  update(event: DayBookEvent): void;
}

/** How progress is shown. */
interface DayProgressOptions {
  /** The result is for a program: only a person at a terminal is shown anything. */
  json: boolean | undefined;
  /**
   * Milliseconds of a clock that never jumps.
   *
   * @default performance.now
   */
  monotonic?: () => number;
}

/** Starts to show progress. */
export function showProgress(
  { note, errTerminal }: Pick<Host, "note" | "errTerminal">,
  { json, monotonic = () => performance.now() }: DayProgressOptions,
): DayProgress {
  const inPlace = errTerminal !== undefined;
  const text = new ProgressText({ monotonic, inPlace, ...inPlace && { width: errTerminal.columns() } });
  const write = (shown: string) => {
    if (shown === "") return;
    if (inPlace) {
      const codes = CLEARING.exec(shown)?.[0] ?? "";
      errTerminal.draw(codes, shown.slice(codes.length));
    } else if (!json) note(`hsgate: ${shown.trimEnd()}`);
  };
  return {
    update: (event) => write(text.update(event)),
    [Symbol.dispose]: () => write(text.end()),
  };
}
