/**
 * Runs the command that prints a secret, with limits on time and output, and ends every process that it starts.
 *
 * @module
 */
import { absoluteFolders } from "../../confined_paths.ts";
import { orAborted } from "../../time.ts";

/** Bounds of {@linkcode secretOfCommand}. */
export interface SecretCommandLimits {
  /** Longest time until the command has ended, milliseconds. @default 30000 */
  timeoutMs?: number;
  /** Maximum number of bytes that the command may print. @default 65536 */
  mostBytes?: number;
  /** Folders in which the program is searched, like `PATH`; relative ones are left out. @default `PATH` */
  searchPath?: string;
  /** Aborting it ends the command and every process that the command started. */
  signal?: AbortSignal;
}

const TIMEOUT_MS = 30_000;
const MOST_BYTES = 64 * 1024;

/**
 * Resolves to the output of a command, without white space at its end. The command gets no input. Afterwards its whole
 * process group is killed. No error contains the output.
 *
 * @throws {TypeError} When the command does not start, does not end in time, prints too much, or fails.
 */
export async function secretOfCommand(
  name: string,
  command: readonly string[],
  { timeoutMs = TIMEOUT_MS, mostBytes = MOST_BYTES, searchPath = ownSearchPath(), signal }:
    SecretCommandLimits = {},
): Promise<string> {
  signal?.throwIfAborted();
  const [program = "", ...args] = command;
  const refuse = (why: string) =>
    new TypeError(`Cannot read secret "${name}": its command "${program}" ${why}`);
  let child: Deno.ChildProcess;
  try {
    const options = {
      args,
      ...searchPath !== undefined && { env: { PATH: absoluteFolders(searchPath) } },
      stdin: "null",
      stdout: "piped",
      stderr: "null",
      detached: true, // in its own process group, so that the whole group can be killed
    } as const;
    child = new Deno.Command(program, options).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw refuse("does not exist");
    throw refuse("does not start");
  }
  const late = AbortSignal.timeout(timeoutMs);
  const end = signal === undefined ? late : AbortSignal.any([signal, late]);
  const reader = child.stdout.getReader();
  // When the command has ended, kills the processes that it left running: they would keep its output open.
  child.status.then(() => endGroup(child));
  try {
    const text = await orAborted(readAll(reader, mostBytes), end);
    if (text === undefined) throw refuse(`printed more than ${mostBytes / 1024} KiB`);
    const { code } = await orAborted(child.status, end);
    if (code !== 0) throw refuse(`failed with exit code ${code}`);
    return text.trimEnd();
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw late.aborted ? refuse(`did not end within ${timeoutMs / 1000} s`) : error;
  } finally {
    endGroup(child);
    await reader.cancel().catch(() => {});
    await child.status;
  }
}

/** Returns the `PATH` of this process; `undefined` if there is none, or if this program may not read it. */
function ownSearchPath(): string | undefined {
  const isGranted = Deno.permissions.querySync({ name: "env", variable: "PATH" }).state === "granted";
  return isGranted ? Deno.env.get("PATH") : undefined;
}

/** Returns a stream as text; `undefined` if it is too long. */
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

/** Kills a process and its group, which includes every process that it started. */
function endGroup(child: Deno.ChildProcess): void {
  for (const end of [() => Deno.kill(-child.pid, "SIGKILL"), () => child.kill("SIGKILL")]) {
    try {
      end();
    } catch {
      // The process has ended, or the system has no process groups; then the next call kills the process itself.
    }
  }
}
