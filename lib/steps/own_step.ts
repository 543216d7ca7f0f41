/**
 * Steps of one's own, seen from the runner: a process with the permissions that the step names, and no others.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";
import { findOperation } from "../operations/mod.ts";
import { callOperation } from "./call_operation.ts";
import type { StepContext } from "./compiled.ts";
import type { StepPermissions } from "./define_step.ts";
import { linesOf } from "./lines.ts";
import { stepEnvironment } from "./own_step_env.ts";
import { isParamType, paramTypes } from "./recipe_params.ts";
import { type FromStep, MESSAGE_MARK, type StepDescription, type ToStep } from "./own_step_messages.ts";

/** A step's file could not be started, or is not a step. */
export class OwnStepError extends BrokerError {
  override readonly name: string = "OwnStepError";
}

/**
 * Loads a step's file in a process that may reach nothing, and resolves to what it says of itself.
 *
 * @throws {OwnStepError} When the file cannot be loaded or is no step.
 */
export async function describeOwnStep(file: URL): Promise<StepDescription> {
  await using child = await startStep(file, { permissions: {}, loading: true });
  child.send({ type: "describe" });
  for await (const message of child.messages) {
    if (message.type === "described") return checkDescription(message.about, file);
    if (message.type === "failed") throw refuse(file, message.message);
  }
  throw refuse(file, await child.reason());
}

/**
 * Runs a step with parameters that were checked. What it prints is logged, line by line.
 *
 * @throws {OwnStepError} When it fails, or ends without an answer.
 */
export async function runOwnStep(
  file: URL,
  { effect, permissions }: StepDescription,
  { params, context }: { params: Record<string, unknown>; context: StepContext },
): Promise<unknown> {
  await using child = await startStep(file, {
    permissions,
    loading: false,
    signal: context.signal,
    onPrinted: (line) => context.log("info", line),
  });
  const { recipe, runKey, stepKey, slot, session, previousSession, attempt, out } = context;
  child.send({
    type: "run",
    params,
    context: {
      recipe,
      runKey,
      stepKey,
      slot,
      attempt,
      out,
      ...session && { session },
      ...previousSession && { previousSession },
    },
  });
  for await (const message of child.messages) {
    if (message.type === "done") return message.output;
    if (message.type === "failed") throw refuse(file, message.message);
    if (message.type === "log") context.log(message.level, message.message, message.data);
    if (message.type === "progress") context.progress(message.event);
    context.signal.throwIfAborted(); // what it had asked for before it was ended is not done any more
    if (message.type === "call") void answerCall(message, { child, effect, context });
  }
  context.signal.throwIfAborted();
  throw refuse(file, await child.reason());
}

interface Answering {
  child: Child;
  effect: StepDescription["effect"];
  context: StepContext;
}

async function answerCall(
  { id, operation: name, params }: Extract<FromStep, { type: "call" }>,
  { child, effect, context }: Answering,
): Promise<void> {
  try {
    const operation = findOperation(name);
    if (operation === undefined) throw new TypeError(`Cannot call "${name}": there is no such operation`);
    if (operation.effect !== "read" && effect !== "write") {
      throw new TypeError(
        `Cannot call "${name}": it changes something, and the step says that its effect is "${effect}"`,
      );
    }
    const value = await callOperation(operation, params, context);
    child.send({ type: "answer", id, value });
  } catch (error) {
    child.send({ type: "refusal", id, message: error instanceof Error ? error.message : String(error) });
  }
}

const nameOf = (file: URL) => file.pathname.replace(/^.*\//, "");

function refuse(file: URL, reason: string): OwnStepError {
  return new OwnStepError(`Cannot use step "${nameOf(file)}": ${reason}`, { code: "own-step" });
}

function checkDescription(about: StepDescription, file: URL): StepDescription {
  if (!["read", "local", "write"].includes(about.effect)) {
    throw refuse(file, 'its default export is no step: write it with "defineStep"');
  }
  for (const [kind, values] of Object.entries(about.permissions)) {
    const isFine = kind in flags && Array.isArray(values) &&
      values.every((value) => typeof value === "string" && value !== "" && !value.includes(","));
    if (!isFine) throw refuse(file, `its permission "${kind}" is not a list of names`);
  }
  for (const [kind, members] of Object.entries({ params: about.params, outputs: about.outputs ?? {} })) {
    for (const [name, { type }] of Object.entries(members)) {
      if (isParamType(type)) continue;
      throw refuse(file, `the type of "${name}" in its ${kind} is none of ${paramTypes.join(", ")}`);
    }
  }
  return about;
}

const flags: Readonly<Record<keyof StepPermissions, true>> = {
  net: true,
  read: true,
  write: true,
  env: true,
  run: true,
};

/** The process of a step. */
interface Child extends AsyncDisposable {
  messages: AsyncIterable<FromStep>;
  send(message: ToStep): void;
  /** Why it ended, from what it printed. */
  reason(): Promise<string>;
}

interface Starting {
  permissions: StepPermissions;
  loading: boolean;
  signal?: AbortSignal;
  /** Takes what the step prints. @default nobody does */
  onPrinted?: (line: string) => void;
}

/** Lines that are kept to tell why a step ended. */
const KEPT_LINES = 200;

async function startStep(file: URL, { signal, onPrinted = () => {}, ...starting }: Starting): Promise<Child> {
  const isThere = await Deno.stat(file).then(({ isFile }) => isFile, () => false);
  if (!isThere) throw refuse(file, "there is no such file");
  const folder = await Deno.makeTempDir({ prefix: "hsgate-step-" });
  let child: Deno.ChildProcess;
  try {
    child = await spawnStep(file, folder, starting);
  } catch (error) {
    await Deno.remove(folder, { recursive: true });
    throw refuse(file, `its process does not start: ${error instanceof Error ? error.message : error}`);
  }
  const writer = child.stdin.getWriter();
  const kept: string[] = [];
  const take = (line: string) => {
    const text = line.trimEnd();
    if (text === "") return;
    if (kept.length < KEPT_LINES) kept.push(text);
    onPrinted(text);
  };
  const printed = (async () => {
    for await (const line of linesOf(child.stderr)) take(line);
  })();
  const kill = () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
  };
  signal?.addEventListener("abort", kill);
  if (signal?.aborted) kill(); // while it was being started
  return {
    messages: messagesOf(child.stdout, take),
    send: (message) =>
      void writer.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`)).catch(() => {}),
    async reason() {
      await printed;
      return (kept.find((line) => /error/i.test(line)) ?? kept[0] ?? "it ended without an answer").trim()
        .replace(/^error: /, "");
    },
    async [Symbol.asyncDispose]() {
      signal?.removeEventListener("abort", kill);
      kill();
      await writer.close().catch(() => {});
      await Promise.all([child.status, printed]);
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function spawnStep(
  file: URL,
  folder: string,
  { permissions, loading }: Pick<Starting, "permissions" | "loading">,
): Promise<Deno.ChildProcess> {
  // Static imports need no permission to read, so the step gets none that it does not name.
  const main = `import { serve } from ${JSON.stringify(import.meta.resolve("./own_step_main.ts"))};\n` +
    `import step from ${JSON.stringify(file.href)};\nawait serve(step);\n`;
  await Deno.writeTextFile(`${folder}/main.ts`, main);
  const config = await findConfig(file);
  return new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      ...config === undefined ? ["--no-config"] : ["--config", config],
      ...Object.entries(permissions).filter(([, names]) => names.length > 0)
        .map(([kind, names]) => `--allow-${kind}=${names.join(",")}`),
      `${folder}/main.ts`,
    ],
    cwd: new URL(".", file),
    clearEnv: true,
    env: stepEnvironment(ownEnvironment(), { permissions, loading }),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** What this process may see of its own environment: a step's process gets it from here, as any does. */
function ownEnvironment(): Record<string, string> {
  return Deno.permissions.querySync({ name: "env" }).state === "granted" ? Deno.env.toObject() : {};
}

/** Reads what a step answers; what it wrote to stdout by itself is printed. */
async function* messagesOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  take: (line: string) => void,
): AsyncGenerator<FromStep, void, void> {
  for await (const line of linesOf(stream)) {
    if (line.startsWith(MESSAGE_MARK)) yield JSON.parse(line.slice(MESSAGE_MARK.length)); // `serve` writes these
    else take(line);
  }
}

/** The configuration that the step's imports are resolved with: the nearest above it. */
async function findConfig(file: URL): Promise<string | undefined> {
  for (let folder = new URL(".", file);; folder = new URL("..", folder)) {
    for (const name of ["deno.json", "deno.jsonc"]) {
      const path = new URL(name, folder);
      const isThere = await Deno.stat(path).then(({ isFile }) => isFile, () => false);
      if (isThere) return decodeURIComponent(path.pathname);
    }
    if (folder.pathname === "/" || new URL("..", folder).pathname === folder.pathname) return undefined;
  }
}
