/**
 * Steps of one's own, seen from the runner: a process with the permissions that the step names, and no others.
 *
 * @module
 */
import { findOperation } from "../operations/mod.ts";
import { orAborted } from "../time.ts";
import { callOperation } from "./call_operation.ts";
import { ENDED_UNTOLD } from "./guarded_client.ts";
import type { StepContext } from "./compiled.ts";
import type { StepPermissions } from "./define_step.ts";
import { mayHaveHappened } from "./guarded_client.ts";
import {
  checkUnchanged,
  type CodeFiles,
  codeLimits,
  findCode,
  OwnStepError,
  refuseCode,
  startCode,
  STOPPED,
} from "./own_code.ts";
import { type FromStep, MESSAGE_MARK, type StepDescription, type ToStep } from "./own_step_messages.ts";
import { isParamType, paramTypes } from "./recipe_params.ts";

/** What is known of a step's file: what it says of itself, and which files are its code. */
export interface OwnStep extends StepDescription {
  code: CodeFiles;
}

/** How files of code are loaded. */
interface LoadOptions {
  /** The folder of the recipe, which the code must not leave. @default that of the file */
  folder?: URL;
  /** The code to load in place of the files; its imports were checked. */
  code?: CodeFiles;
  /** How long loading may take, milliseconds. @default 30 s */
  loadMs?: number;
  /** Ends the loading. */
  signal?: AbortSignal;
}

/**
 * Loads a step's file in a process that may reach nothing, and resolves to what it says of itself. Its imports are
 * looked at first, while none of it runs.
 *
 * @throws {OwnStepError} When the file cannot be loaded or is no step, or imports what it may not.
 */
export async function describeOwnStep(file: URL, options: LoadOptions = {}): Promise<OwnStep> {
  const code = options.code ?? await findCode(file, options.folder ?? new URL(".", file), options.signal);
  const about = await load(file, options, {
    code,
    main: stepMain(file),
    order: { type: "describe" },
    take: (message) => message.type === "described" ? checkDescription(message.about, file) : undefined,
  });
  return { ...about, code };
}

/**
 * Loads a recipe's file in a process that may reach nothing, and resolves to its default export, `null` for none.
 *
 * @throws {OwnStepError} When the file cannot be loaded, or imports what it may not.
 */
export async function readExport(file: URL, options: LoadOptions = {}): Promise<unknown> {
  const code = options.code ?? await findCode(file, options.folder ?? new URL(".", file), options.signal);
  const main = `import { hand } from ${ourMain};\n` +
    `import * as module from ${JSON.stringify(file.href)};\nhand(module.default);\n`;
  const { value } = await load(file, options, {
    code,
    main,
    take: (message) => message.type === "exported" ? { value: message.value } : undefined,
  });
  return value;
}

const ourMain = JSON.stringify(import.meta.resolve("./own_step_main.ts"));

// Static imports need no permission to read, so the step gets none that it does not name.
const stepMain = (file: URL) =>
  `import { serve } from ${ourMain};\nimport step from ${JSON.stringify(file.href)};\nawait serve(step);\n`;

interface Loading<T> {
  code: CodeFiles;
  main: string;
  order?: ToStep;
  /** What a message comes to, if it is the one that is waited for. */
  take(message: FromStep): T | undefined;
}

async function load<T>(
  file: URL,
  { loadMs = codeLimits.loadMs, signal: stop }: LoadOptions,
  { code, main, order, take }: Loading<T>,
): Promise<T> {
  const limit = AbortSignal.timeout(loadMs);
  const signal = stop === undefined ? limit : AbortSignal.any([limit, stop]);
  await using child = await startCode(file, {
    code,
    permissions: {},
    main,
    mark: MESSAGE_MARK,
    signal,
    cpuSeconds: codeLimits.loadCpuSeconds,
  });
  if (order !== undefined) child.send(JSON.stringify(order));
  for await (const line of child.messages) {
    const message = readMessage(line, file);
    const taken = take(message);
    if (taken !== undefined) return taken;
    if (message.type === "failed") throw refuseCode(file, message.message);
  }
  const reason = await child.reason();
  if (stop?.aborted) throw refuseCode(file, STOPPED);
  throw refuseCode(
    file,
    limit.aborted
      ? `it is not loaded within ${loadMs / 1000} s: what stands at its top level must end`
      : reason,
  );
}

/**
 * Runs a step with parameters that were checked. What it prints is logged, line by line.
 *
 * @throws {OwnStepError} When it fails, ends without an answer, or is no longer the file that was checked.
 */
export async function runOwnStep(
  file: URL,
  { effect, permissions, code }: OwnStep,
  { params, context }: { params: Record<string, unknown>; context: StepContext },
): Promise<unknown> {
  await checkUnchanged(file, code);
  await using child = await startCode(file, {
    code,
    permissions,
    main: stepMain(file),
    mark: MESSAGE_MARK,
    signal: context.signal,
    onPrinted: (line) => context.log("info", line),
  });
  const send = (message: ToStep) => child.send(JSON.stringify(message));
  const { recipe, runKey, stepKey, slot, session, previousSession, attempt, out } = context;
  send({
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
  const calls = new Set<Promise<void>>();
  /** What the calls threw, by their numbers. */
  const errors = new Map<number, unknown>();
  // A call that the step made and did not wait for is finished, so that the run knows the outcome of its write.
  const callsEnd = () => orAborted(Promise.allSettled(calls), context.signal);
  let logs = 0;
  let hasFailed = false;
  try {
    for await (const line of child.messages) {
      const message = readMessage(line, file);
      if (message.type === "done") {
        await callsEnd();
        return message.output;
      }
      if (message.type === "failed") {
        hasFailed = true;
        await callsEnd();
        throw refuseCode(file, message.message);
      }
      if (message.type === "log" && ++logs <= codeLimits.lines) {
        context.log(message.level, message.message.slice(0, codeLimits.line), message.data);
        if (logs === codeLimits.lines) context.log("warn", "it logs more than is kept: the rest is left out");
      }
      if (message.type === "proven" && ["ok", "refused"].includes(message.outcome)) {
        context.proven?.(errors.get(message.id), message.outcome);
      }
      if (message.type === "progress") context.progress(message.event);
      context.signal.throwIfAborted(); // what it had asked for before it was ended is not done any more
      if (message.type === "call") {
        const call = answerCall(message, { send, effect, context, errors }).finally(() => calls.delete(call));
        calls.add(call);
        // More than these are left in the pipe, where the step waits for them.
        if (calls.size >= MOST_CALLS) await Promise.race(calls);
      }
    }
    await callsEnd();
    context.signal.throwIfAborted();
    throw refuseCode(file, await child.reason());
  } catch (error) {
    if (hasFailed || !(error instanceof OwnStepError)) throw error;
    throw new OwnStepError(error.message, { code: ENDED_UNTOLD, cause: error });
  }
}

/** Calls of a step that are under way at a time. */
const MOST_CALLS = 32;

/** Reads a message. A step may write what it wants there, and then deceives only its own recipe. */
function readMessage(line: string, file: URL): FromStep {
  try {
    const message: FromStep | null = JSON.parse(line);
    if (typeof message === "object" && message !== null) return message;
  } catch {
    // Below, as for what is no object.
  }
  throw refuseCode(file, "it writes what only its process may write, and it cannot be read");
}

interface Answering {
  send: (message: ToStep) => void;
  effect: StepDescription["effect"];
  context: StepContext;
  errors: Map<number, unknown>;
}

async function answerCall(
  { id, operation: name, params }: Extract<FromStep, { type: "call" }>,
  { send, effect, context, errors }: Answering,
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
    send({ type: "answer", id, value });
  } catch (error) {
    if (findOperation(name)?.effect === "write" && mayHaveHappened(error)) errors.set(id, error);
    send({ type: "refusal", id, message: error instanceof Error ? error.message : String(error) });
  }
}

function checkDescription(about: StepDescription, file: URL): StepDescription {
  if (!["read", "local", "write"].includes(about.effect)) {
    throw refuseCode(file, 'its default export is no step: write it with "defineStep"');
  }
  for (const [kind, values] of Object.entries(about.permissions)) {
    const isFine = kind in flags && Array.isArray(values) &&
      values.every((value) => typeof value === "string" && value !== "" && !value.includes(","));
    if (!isFine) throw refuseCode(file, `its permission "${kind}" is not a list of names`);
  }
  for (const [kind, members] of Object.entries({ params: about.params, outputs: about.outputs ?? {} })) {
    for (const [name, { type }] of Object.entries(members)) {
      if (isParamType(type)) continue;
      throw refuseCode(file, `the type of "${name}" in its ${kind} is none of ${paramTypes.join(", ")}`);
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
