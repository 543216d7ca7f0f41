/**
 * Shows the progress of a day book export on stderr: one line that is redrawn on a terminal, plain lines elsewhere.
 *
 * @module
 */
import { ProgressText } from "../../../lib/day_book/progress.ts";
import type { DayBookEvent } from "../../../lib/day_book/types.ts";
import type { Host } from "../../terminal/host.ts";

/** Matches the control codes that erase the drawn line. */
// deno-lint-ignore no-control-regex -- matches a control code
const CLEARING = /^\r\x1b\[2K/;

/** A progress display. Dispose of it before anything else is written. */
interface DayProgress extends Disposable {
  update(event: DayBookEvent): void;
}

/** Options of the display. */
interface DayProgressOptions {
  /** The result is for a program: show progress only on a terminal. */
  json: boolean | undefined;
  /**
   * Returns milliseconds of a clock that never jumps.
   *
   * @default performance.now
   */
  monotonic?: () => number;
}

/** Starts a progress display. */
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
