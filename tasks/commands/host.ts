/**
 * The world as a command sees it: environment, files, terminal, Ctrl-C. Handed in, so that tests can run a command
 * without a process of its own.
 *
 * @module
 */
import type { WriteUnderWay } from "../../lib/client/client.ts";
import { InterruptedError } from "./exit_codes.ts";

/** A file, and who may read it. */
export interface FileText {
  text: string;
  /** Permission bits, where the system has them. */
  mode: number | null;
  /** Why others could have written it; absent when only its owner could. */
  distrusted?: string;
  /** Its path once links are followed. */
  real?: string;
}

/** What a command may use of the world. */
export interface Host {
  /** An environment variable; an empty one counts as not set. */
  env(name: string): string | undefined;
  /** Writes a line to stdout. */
  out(line: string): void;
  /** Writes a line to stderr. */
  note(line: string): void;
  /** The terminal that stderr goes to, for a line that is written over; absent when it goes elsewhere. */
  readonly errTerminal?: { draw(text: string): void; columns(): number };
  /** Writes text as it is to stdout, for what redraws. */
  draw(text: string): void;
  /** Whether a person reads stdout. */
  readonly isTerminal: boolean;
  /** Whether a person can be asked. */
  readonly canAsk: boolean;
  /** Whether colours are wanted. */
  readonly color: boolean;
  /** Width and height of the terminal. */
  size(): { columns: number; rows: number };
  /** Asks a question on stderr and reads a line. @throws {InterruptedError} When the input ends, at Ctrl-D. */
  ask(question: string): Promise<string>;
  /** All of stdin. */
  readStdin(): Promise<string>;
  /** A file; nothing when there is none. */
  readFile(path: string): Promise<FileText | undefined>;
  /** Fires at Ctrl-C. */
  readonly signal: AbortSignal;
  /** Writes whose answers have not come; a program that ends meanwhile says so. */
  readonly writes?: Set<WriteUnderWay>;
  /** Unix milliseconds. */
  now(): number;
  /** Takes a secret out of everything that is shown from here on. */
  hide?(secret: string): void;
}

const encoder = new TextEncoder();

/** Makes what writes all of a text. A terminal that was closed takes nothing more, and nothing ends over that. */
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

/** The size of the terminal; the usual one when it was closed. */
function terminalSize(): { columns: number; rows: number } {
  try {
    return Deno.consoleSize();
  } catch {
    return { columns: 80, rows: 24 };
  }
}

/** The process that runs. */
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
        draw: err,
        columns: () => terminalSize().columns,
      },
    },
    draw: out,
    isTerminal,
    canAsk: Deno.stdin.isTerminal() && Deno.stderr.isTerminal(),
    color: isTerminal && !Deno.noColor,
    // What goes into a file or a pipe is not cut.
    size: () => isTerminal ? terminalSize() : { columns: 1000, rows: 24 },
    // At a prompt nothing has begun, so Ctrl-C needs no care: whoever waits is simply let go.
    ask: (question) => orAborted(ask(question), signal()),
    readStdin: () => orAborted(new Response(Deno.stdin.readable).text(), signal()),
    readFile: async (path) => await (await import("../../lib/owned_files.ts")).readOwned(path),
    get signal() {
      return signal();
    },
    writes,
    now: () => Date.now(),
  };
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
  return Promise.race([promise, aborted]);
}

async function ask(question: string): Promise<string> {
  writerTo(Deno.stderr)(question);
  const bytes = new Uint8Array(1024);
  const count = await Deno.stdin.read(bytes);
  // Ctrl-D, or a terminal that is gone: nobody has answered, which is not the same as taking the usual answer.
  if (count === null) throw new InterruptedError("interrupted");
  return new TextDecoder().decode(bytes.subarray(0, count)).trim();
}

/** After so long a write that goes on after the first Ctrl-C is named. */
const PATIENCE_MS = 300;

/**
 * The first Ctrl-C lets a command end in order; the second one ends it where it is, unless a write is on its way: then
 * the second one says so, and the third one ends it. So does a terminal that is closed, for whatever has one: what was
 * started with `nohup` has none, and is to go on.
 */
function interruption(
  { writes, note }: { writes: ReadonlySet<WriteUnderWay>; note: (line: string) => void },
): AbortSignal {
  const controller = new AbortController();
  let times = 0;
  const waiting = () => {
    for (const { operation } of writes) {
      note(`hsgate: stopping; ${operation} was sent, and its answer is waited for`);
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
          ? `hsgate: ${operation} is on its way, and its answer is waited for; a third Ctrl-C ends this at once, and ` +
            `then nobody knows whether it happened: ${look} before you send it again`
          : `hsgate: ended while ${operation} was on its way, and it may have happened: ${look} before you send it again`,
      );
    }
    if (times > 2) Deno.exit(5);
  };
  const isWindows = Deno.build.os === "windows";
  const isIgnored = !isWindows && isHangupIgnored(); // asked first: from the first listener on Deno hears every signal
  Deno.addSignalListener("SIGINT", stop);
  if (isWindows) return controller.signal;
  Deno.addSignalListener("SIGTERM", stop);
  // It comes from the shell and from the system: the second one is none of a person's. Without a listener Deno ends
  // the program, also where nohup has said that it goes on.
  Deno.addSignalListener("SIGHUP", () => isIgnored || times > 0 || stop());
  return controller.signal;
}

/** Returns whether whoever started this program wants it to outlive its terminal, as `nohup` does; only Linux says so. */
function isHangupIgnored(): boolean {
  try {
    const [, mask] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(Deno.readTextFileSync("/proc/self/status")) ?? [];
    // One bit for each signal, from 1 on; SIGHUP is the first.
    return mask !== undefined && (BigInt(`0x${mask}`) & 1n) === 1n;
  } catch {
    return false; // not on Linux, or not allowed to look
  }
}
