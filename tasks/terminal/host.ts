/**
 * Gives commands access to environment, files, terminal and Ctrl-C. Tests pass their own host, so they can run a
 * command without a new process.
 *
 * @module
 */
import type { Calendars } from "../../lib/calendars/mod.ts";
import type { WriteUnderWay } from "../../lib/client/client.ts";
import { InterruptedError } from "./exit_codes.ts";

/** The text of a file, and who may read or write it. */
export interface FileText {
  text: string;
  /** Permission bits; `null` if the system has none. */
  mode: number | null;
  /** Why another user could have written it; absent if only its owner could. */
  distrusted?: string;
}

/** How a line is written to stdout. */
export interface OutOptions {
  /** Write the whole line, however long it is. @default false */
  exact?: boolean;
  /**
   * For JSON: returns whether hsgate has chosen the name of a member. Such a name is not hidden, even if a
   * secret has the same text.
   *
   * @default true for each name that consists only of letters
   */
  isOwnName?: (name: string) => boolean;
}

/** Environment, files, terminal and clock of a command. */
export interface Host {
  /** Returns an environment variable; `undefined` if it is empty or not set. */
  env(name: string): string | undefined;
  /** Writes a line to stdout. A very long line is cut, unless it is JSON or `exact`. */
  out(line: string, options?: OutOptions): void;
  /** Writes a line to stderr. */
  note(line: string): void;
  /** The terminal of stderr, for a line that is redrawn; absent if stderr is not a terminal. */
  readonly errTerminal?: { draw(codes: string, text?: string): void; columns(): number };
  /** Writes hsgate's own control codes and then a text to stdout without a line break, for a display that redraws. */
  draw(codes: string, text?: string): void;
  /** Whether stdout is a terminal. */
  readonly isTerminal: boolean;
  /** Whether there is a terminal to ask a question on. */
  readonly canAsk: boolean;
  /** Whether colours are wanted. */
  readonly color: boolean;
  /** Returns the width and height of the terminal. */
  size(): { columns: number; rows: number };
  /**
   * Asks a question on stderr and returns the answer.
   *
   * @throws {InterruptedError} At Ctrl-C, or if the input ends (Ctrl-D).
   */
  ask(question: string): Promise<string>;
  /** Returns the whole stdin. */
  readStdin(): Promise<string>;
  /** Returns a file; `undefined` if it does not exist. */
  readFile(path: string): Promise<FileText | undefined>;
  /** Aborted at Ctrl-C, SIGTERM or the end of the terminal. */
  readonly signal: AbortSignal;
  /** Writes that were sent and have no answer yet. After Ctrl-C the program names them. */
  readonly writes?: Set<WriteUnderWay>;
  /** Returns the time in Unix milliseconds. */
  now(): number;
  /** The trading days with the user's updates and overrides; absent if there are none. See `calendarsOf`. */
  calendars?: Calendars;
  /** Removes a secret from everything that is printed from now on. */
  hide?(secret: string): void;
  /** Returns the text of an error without secrets, however short they are, and without passwords in addresses. */
  errorText?(text: string): string;
  /** Returns a line as `out` would print it, for code that prints the line itself. */
  shown?(line: string): string;
}

const encoder = new TextEncoder();

/** Returns a function that writes a whole text. It ignores errors of a terminal that was closed. */
function writerTo(to: typeof Deno.stdout | typeof Deno.stderr): (text: string) => void {
  const isTerminal = to.isTerminal();
  return (text) => {
    const bytes = encoder.encode(text);
    try {
      for (let at = 0; at < bytes.length;) at += to.writeSync(bytes.subarray(at));
    } catch (error) {
      if (!isTerminal) throw error;
    }
  };
}

const USUAL_SIZE = { columns: 80, rows: 24 };

/** Returns the size of the terminal. Assumes 80 by 24 if the terminal was closed or reports 0 by 0. */
function terminalSize(): { columns: number; rows: number } {
  try {
    const size = Deno.consoleSize();
    return size.columns > 0 && size.rows > 0 ? size : USUAL_SIZE;
  } catch {
    return USUAL_SIZE;
  }
}

/** Returns the host of the current process. */
export function processHost(): Host {
  const isTerminal = Deno.stdout.isTerminal();
  const [out, err] = [writerTo(Deno.stdout), writerTo(Deno.stderr)];
  const writes = new Set<WriteUnderWay>();
  const note = (line: string) => err(`${line}\n`);
  let made: AbortSignal | undefined;
  const signal = () => made ??= interruption({ writes, note });
  return {
    env: (name) => Deno.env.get(name) || undefined,
    out: (line) => out(`${line}\n`),
    note,
    ...Deno.stderr.isTerminal() && {
      errTerminal: {
        draw: (codes, text = "") => err(`${codes}${text}`),
        columns: () => terminalSize().columns,
      },
    },
    draw: (codes, text = "") => out(`${codes}${text}`),
    isTerminal,
    canAsk: Deno.stdin.isTerminal() && Deno.stderr.isTerminal(),
    color: isTerminal && !Deno.noColor,
    // Output to a file or a pipe is not cut.
    size: () => isTerminal ? terminalSize() : { columns: 1000, rows: 24 },
    // At a prompt nothing has started yet, so Ctrl-C may end the wait immediately.
    ask: (question) => unlessStopped(ask(question), signal()),
    readStdin: () => unlessStopped(new Response(Deno.stdin.readable).text(), signal()),
    readFile: async (path) => await (await import("../../lib/owned_files.ts")).readOwned(path),
    get signal() {
      return signal();
    },
    writes,
    now: () => Date.now(),
  };
}

/**
 * Resolves like the promise, or rejects at Ctrl-C. Loads `lib/time.ts` only now, because `--help` does not need it.
 */
async function unlessStopped<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => {}); // it may reject during the import; `orAborted` reports the error
  const { orAborted } = await import("../../lib/time.ts");
  return await orAborted(promise, signal);
}

async function ask(question: string): Promise<string> {
  writerTo(Deno.stderr)(question);
  const bytes = new Uint8Array(1024);
  const count = await Deno.stdin.read(bytes);
  // Ctrl-D or a closed terminal is not an answer, so the default does not apply.
  if (count === null) throw new InterruptedError("interrupted");
  return new TextDecoder().decode(bytes.subarray(0, count)).trim();
}

/** Time from the first Ctrl-C until the program names the writes that are still in progress. */
const PATIENCE_MS = 300;

/**
 * Returns a signal that aborts at the first Ctrl-C, so that the command can clean up and end. The second Ctrl-C ends
 * the process immediately. While a write is in progress, the second Ctrl-C only prints a warning, and the third ends
 * the process. SIGTERM counts as Ctrl-C. Closing the terminal has the effect of the first Ctrl-C; on Linux it has no
 * effect on a program that was started with `nohup`.
 */
function interruption(
  { writes, note }: { writes: ReadonlySet<WriteUnderWay>; note: (line: string) => void },
): AbortSignal {
  const controller = new AbortController();
  let times = 0;
  const waiting = () => {
    for (const { operation } of writes) {
      note(`hsgate: stopping; waiting for the answer to ${operation}, which was sent`);
    }
  };
  const stop = () => {
    times++;
    if (times === 1) {
      controller.abort(new InterruptedError("interrupted"));
      Deno.unrefTimer(setTimeout(waiting, PATIENCE_MS));
      return;
    }
    if (writes.size === 0) Deno.exit(130);
    for (const { operation, look } of writes) {
      note(
        times === 2
          ? `hsgate: waiting for the answer to ${operation}, which was sent; a third Ctrl-C ends the program at once, and ` +
            `then the outcome is unknown: ${look} before you send it again`
          : `hsgate: ended without the answer to ${operation}; it may have happened: ${look} before you send it again`,
      );
    }
    if (times > 2) Deno.exit(5);
  };
  const isWindows = Deno.build.os === "windows";
  // Check this before a listener is added, because a listener changes how the process handles signals.
  const isIgnored = !isWindows && isHangupIgnored();
  Deno.addSignalListener("SIGINT", stop);
  if (isWindows) return controller.signal;
  Deno.addSignalListener("SIGTERM", stop);
  // Shell and system may both send SIGHUP, so a second one does not count as a second Ctrl-C. Without a listener Deno
  // ends the program even under nohup.
  Deno.addSignalListener("SIGHUP", () => isIgnored || times > 0 || stop());
  return controller.signal;
}

/**
 * Returns whether the program ignores SIGHUP, as under `nohup`, so it continues without its terminal. Returns `false`
 * on every system other than Linux, because only Linux shows which signals a program ignores.
 */
function isHangupIgnored(): boolean {
  try {
    const [, mask] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(Deno.readTextFileSync("/proc/self/status")) ?? [];
    // Bit 0 is signal 1, which is SIGHUP.
    return mask !== undefined && (BigInt(`0x${mask}`) & 1n) === 1n;
  } catch {
    return false; // not on Linux, or no permission to read it
  }
}
