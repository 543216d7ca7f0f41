/**
 * Runs the code of custom steps and TypeScript recipes in a separate process.
 *
 * The memory and output of the process are limited. When the process ends, every process that it has started ends too,
 * even if hsgate itself was killed.
 *
 * @module
 */
import type { StepPermissions } from "../compiled.ts";
import { type CodeFiles, codeLimits, hasShell, refuseCode, SHELL } from "./code_files.ts";
import { configFlags, environment, LOCKED_PACKAGES, ownFolder, toolkit } from "./code_folder.ts";
import { linesOf } from "./lines.ts";
import { list, MAKE_CACHE, runWords, stepCache } from "./step_cache.ts";

/** Maximum number of output lines that are kept to explain why a process ended. */
const KEPT_LINES = 200;
/** Environment variable that marks the process and all processes that it starts. */
const MARKER = "HSGATE_STEP";
/** How long the output of a process is read after its end, if another process keeps the output open. */
const DRAIN_MS = 1_000;

/** A process that runs code. */
interface CodeProcess extends AsyncDisposable {
  /** Lines of stdout that begin with the message mark, without the mark. All other lines count as printed output. */
  messages: AsyncIterable<string>;
  send(line: string): void;
  /** Returns why the process ended, from its output. */
  reason(): Promise<string>;
}

/** Options of a process. */
interface CodeOptions {
  /** Code files; the process loads no other files. */
  code: CodeFiles;
  permissions: StepPermissions;
  /** The module to start. */
  main: string;
  /** Mark at the beginning of each message. */
  mark: string;
  /** Aborting it ends the process and everything that it has started. */
  signal?: AbortSignal;
  /** CPU seconds over all cores. @default unlimited */
  cpuSeconds?: number;
  /**
   * Called with each printed line that is not empty. At the limits `lines` and `printed`, it is called once more, with
   * a line that says that the rest is omitted.
   *
   * @default ignored
   */
  onPrinted?: (line: string) => void;
}

/**
 * Starts a process for the code of a file. Disposal ends its whole process group.
 *
 * @throws {OwnStepError} If the process does not start.
 */
export async function startCode(file: URL, options: CodeOptions): Promise<CodeProcess> {
  const { signal, mark, onPrinted = () => {} } = options;
  const folder = await ownFolder(options.code.copies, true);
  const id = crypto.randomUUID();
  let child: Deno.ChildProcess;
  try {
    child = await spawn(file, { folder: folder.path, id }, options);
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw refuseCode(file, `its process does not start: ${error instanceof Error ? error.message : error}`);
  }
  const kill = () => endGroup(child);
  signal?.addEventListener("abort", kill);
  if (signal?.aborted) kill(); // aborted during the start
  const printer = new Printer(onPrinted);
  const drained = new AbortController();
  const printed = (async () => {
    for await (
      const { text, isCut } of linesOf(child.stderr, { most: () => codeLimits.line, signal: drained.signal })
    ) {
      printer.take(text, isCut);
    }
  })();
  // A process that left the group may keep the output open, so this waits only briefly.
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ended = child.status.then(async () => {
    kill();
    timer = setTimeout(() => drained.abort(), DRAIN_MS);
    await printed;
  });
  const messages = messagesOf(child.stdout, { file, mark, printer, signal: drained.signal });
  const writer = child.stdin.getWriter();
  return {
    messages,
    send: (line) => void writer.write(new TextEncoder().encode(`${line}\n`)).catch(() => {}),
    async reason() {
      await ended;
      // A process that ended with success has printed no reason.
      return (await child.status).success
        ? "it ended its own process before it returned, for example with Deno.exit()"
        : printer.reason();
    },
    async [Symbol.asyncDispose]() {
      signal?.removeEventListener("abort", kill);
      kill();
      await writer.close().catch(() => {});
      await ended;
      clearTimeout(timer);
      await messages.return();
      await child.stdout.cancel().catch(() => {}); // fails if something already reads it
      // A process without permission to run programs has started none.
      if ((options.permissions.run ?? []).length > 0) endMarked(id);
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Ends a process and its group, which contains everything that it has started. */
function endGroup(child: Deno.ChildProcess): void {
  for (const end of [() => Deno.kill(-child.pid, "SIGKILL"), () => child.kill("SIGKILL")]) {
    try {
      end();
    } catch {
      // The process has ended, or the system has no groups; the process itself is ended next.
    }
  }
}

/** Ends processes that have left the group. They are found by the mark in their environment, which only Linux shows. */
function endMarked(id: string): void {
  if (Deno.build.os !== "linux") return;
  const own = `\0${MARKER}=${id}\0`;
  const findMarked = () =>
    Array.from(Deno.readDirSync("/proc")).map(({ name }) => Number(name)).filter((pid) => {
      if (!Number.isInteger(pid)) return false;
      try {
        const bytes = Deno.readFileSync(`/proc/${pid}/environ`);
        return `\0${new TextDecoder().decode(bytes)}\0`.includes(own);
      } catch {
        return false; // it has ended, or belongs to another user
      }
    });
  try {
    // Repeat the search, because a process can start another one and end before the new one is visible.
    for (let rounds = 10; rounds > 0; rounds--) {
      const marked = findMarked();
      if (marked.length === 0) return;
      for (const pid of marked) endProcess(pid);
    }
  } catch {
    // Without permission to read this folder, these processes cannot be ended.
  }
}

function endProcess(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch {
    // It has ended in the meantime.
  }
}

/** Message that the shell prints before it ends code whose cache is too large. */
const FULL_CACHE = `error: it stores more than the maximum of ${codeLimits.cacheMiB} MiB in Deno's cache`;

/**
 * Shell script that starts the code's process with its limits, and a second shell that watches it. Every second, that
 * shell checks whether hsgate still runs, and how large Deno's cache of the process is. Each module that code creates
 * at run time adds to the cache. If hsgate was killed or the cache is too large, the shell ends the code and everything
 * that the code has started, and removes the folder. On Linux, the shell checks whether hsgate is still the parent of
 * the code's process: after the end of hsgate, another program may get its process id.
 */
const START = `folder=$4 real=$6 analysis=$7 linked=$8
${MAKE_CACHE}
ulimit -c 0; ulimit -d "$1" 2>/dev/null; [ "$2" = 0 ] || ulimit -t "$2" 2>/dev/null
(
  exec 3>&2 </dev/null >/dev/null 2>&1
  while if read -r _ _ _ parent _ <"/proc/$$/stat"; then [ "$parent" = "$3" ]; else kill -0 "$3"; fi; do
    sleep 1 || exit
    stored=$(du -sk "$folder/cache")
    [ "\${stored%%[!0-9]*}" -gt ${codeLimits.cacheMiB * 1024} ] && echo "${FULL_CACHE}" >&3 && break
  done
  rm -rf "$4"
  read -r self _ </proc/self/stat
  for file in $(grep -ls "${MARKER}=$5" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    pid=\${pid%/environ}
    [ "$pid" = "$self" ] || kill -s KILL "$pid"
  done
  kill -s KILL -- "-$$"
) &
shift 8
exec "$@"`;

async function spawn(
  file: URL,
  { folder, id }: { folder: string; id: string },
  { permissions, main, cpuSeconds = 0 }: CodeOptions,
): Promise<Deno.ChildProcess> {
  await Deno.writeTextFile(`${folder}/main.ts`, main);
  const { heapMiB, memoryMiB } = codeLimits;
  const isLocal = toolkit.protocol === "file:";
  const words = [
    ...runWords(),
    // Packages other than the toolkit's do not load, even if they are in Deno's cache.
    ...isLocal ? ["--no-remote", `--lock=${folder}/${LOCKED_PACKAGES}`, "--frozen"] : ["--no-lock"],
    `--v8-flags=--max-old-space-size=${heapMiB}`,
    ...configFlags(folder),
    ...Object.entries(permissions).filter(([, names]) => names.length > 0)
      .map(([kind, names]) => `--allow-${kind}=${names.join(",")}`),
    `${folder}/main.ts`,
  ];
  const env = { ...environment(permissions), [MARKER]: id };
  // Buffers are not part of the JavaScript heap, so the system has to limit them.
  const bounds = [memoryMiB * 1024, cpuSeconds, Deno.pid, folder, id].map(String);
  const cache = await hasShell() ? await stepCache({ toolkit, environment: environment({}) }) : undefined;
  const [command, ...args] = cache === undefined
    ? words
    : [SHELL, "-c", START, "hsgate", ...bounds, cache.real, cache.analysis, list(cache.linked), ...words];
  return new Deno.Command(command!, {
    args,
    cwd: new URL(".", file),
    clearEnv: true,
    env: cache === undefined ? env : { ...env, DENO_DIR: `${folder}/cache` },
    detached: true, // its own process group
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Handles the printed output of code: passes on a limited part, and keeps some lines to explain why the code ended. */
class Printer {
  readonly #onPrinted: (line: string) => void;
  readonly #kept: string[] = [];
  #lines = 0;
  #size = 0;

  constructor(onPrinted: (line: string) => void) {
    this.#onPrinted = onPrinted;
  }

  take(line: string, isCut: boolean): void {
    const text = `${line.trimEnd()}${isCut ? " … (cut: the line is longer)" : ""}`;
    if (text === "") return;
    if (this.#kept.length < KEPT_LINES) this.#kept.push(text);
    if (this.#lines > codeLimits.lines) return;
    this.#size += text.length;
    this.#lines = this.#size > codeLimits.printed ? codeLimits.lines + 1 : this.#lines + 1;
    this.#onPrinted(
      this.#lines > codeLimits.lines ? "it prints more than hsgate logs; the rest is omitted" : text,
    );
  }

  reason(): string {
    if (this.#kept.some((line) => /JavaScript out of memory|Array buffer allocation failed/.test(line))) {
      const { heapMiB, memoryMiB } = codeLimits;
      return `it ran out of memory: it may have ${heapMiB} MiB of values, and ${memoryMiB} MiB in all`;
    }
    return (this.#kept.find((line) => /error/i.test(line)) ?? this.#kept[0] ?? "it ended without an answer")
      .trim()
      .replace(/^error: /, "");
  }
}

/** Reads messages. Other lines on stdout count as printed output. */
async function* messagesOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  { file, mark, printer, signal }: { file: URL; mark: string; printer: Printer; signal: AbortSignal },
): AsyncGenerator<string, void, void> {
  // The first part of a line may end inside the mark, so a part of the mark also counts as a message.
  const most = (start: string) =>
    start.startsWith(mark) || mark.startsWith(start) ? codeLimits.message : codeLimits.line;
  for await (const { text, isCut } of linesOf(stream, { most, signal })) {
    if (!text.startsWith(mark)) printer.take(text, isCut);
    else if (isCut) {
      throw refuseCode(file, `it answers with more than ${codeLimits.message / 1024 / 1024} MiB`);
    } else yield text.slice(mark.length);
  }
}
