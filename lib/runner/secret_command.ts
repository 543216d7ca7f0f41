/**
 * Runs the command that prints a secret: bounded in time and output, with everything that it starts.
 *
 * @module
 */

/** Bounds of {@linkcode secretOfCommand}. */
export interface SecretCommandLimits {
  /** Longest time until the command has ended, milliseconds. @default 30000 */
  timeoutMs?: number;
  /** Most that it may print, bytes. @default 65536 */
  mostBytes?: number;
  /** Ends the command, and all that it has started. */
  signal?: AbortSignal;
}

const TIMEOUT_MS = 30_000;
const MOST_BYTES = 64 * 1024;

/**
 * Resolves to what a command prints, without white space at its end. The command gets no input. Once it has ended, or
 * is given up, its whole process group is ended; what it prints never becomes part of an error.
 *
 * @throws {TypeError} When it does not start, does not end in time, prints too much, or fails.
 */
export async function secretOfCommand(
  name: string,
  command: readonly string[],
  { timeoutMs = TIMEOUT_MS, mostBytes = MOST_BYTES, signal }: SecretCommandLimits = {},
): Promise<string> {
  signal?.throwIfAborted();
  const [program = "", ...args] = command;
  const refuse = (why: string) =>
    new TypeError(`Cannot read secret "${name}": its command "${program}" ${why}`);
  let child: Deno.ChildProcess;
  try {
    // A process group of its own, so that all of it can be ended.
    const options = { args, stdin: "null", stdout: "piped", stderr: "null", detached: true } as const;
    child = new Deno.Command(program, options).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw refuse("does not exist");
    throw refuse("does not start");
  }
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => {});
  const timer = setTimeout(() => ended.reject(refuse(`did not end within ${timeoutMs / 1000} s`)), timeoutMs);
  const abort = () => ended.reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const reader = child.stdout.getReader();
  // What the command has left running would hold its output open.
  child.status.then(() => endGroup(child));
  try {
    const text = await Promise.race([readAll(reader, mostBytes), ended.promise]);
    if (text === undefined) throw refuse(`printed more than ${mostBytes / 1024} KiB`);
    const { code } = await Promise.race([child.status, ended.promise]);
    if (code !== 0) throw refuse(`failed with exit code ${code}`);
    return text.trimEnd();
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    endGroup(child);
    await reader.cancel().catch(() => {});
    await child.status;
  }
}

/** Reads a stream as text; nothing when it is longer than it may be. */
async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  mostBytes: number,
): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > mostBytes) return undefined;
    text += decoder.decode(value, { stream: true });
  }
}

/** Ends a process and all of its group, to which whatever it has started belongs. */
function endGroup(child: Deno.ChildProcess): void {
  for (const end of [() => Deno.kill(-child.pid, "SIGKILL"), () => child.kill("SIGKILL")]) {
    try {
      end();
    } catch {
      // It has ended, or groups are not known here, and the process itself is ended next.
    }
  }
}
