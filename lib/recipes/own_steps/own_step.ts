/**
 * Loads and runs custom steps, each in a process with only the permissions that the step names.
 *
 * @module
 */
import { findOperation } from "../../operations/mod.ts";
import { orAborted } from "../../time.ts";
import { callOperation } from "../engine/call_operation.ts";
import { ENDED_UNTOLD, mayHaveHappened } from "../engine/guarded_client.ts";
import type { StepContext, StepPermissions } from "../compiled.ts";
import {
  changedText,
  checkUnchanged,
  type CodeFiles,
  codeLimits,
  findCode,
  OwnStepError,
  refuseCode,
  STOPPED,
} from "./code_files.ts";
import {
  checkGranted,
  filesOfPermission,
  firstChanged,
  type NamedFile,
  NamedFileError,
  type Place,
  placeOfStep,
} from "../files/named_files.ts";
import { startCode } from "./code_process.ts";
import { type FromStep, MESSAGE_MARK, type StepDescription, type ToStep } from "./step_messages.ts";
import { isParamType, paramTypes } from "../schema/recipe_params.ts";

/** A loaded custom step: its description, its code, and the programs that it may run. */
export interface OwnStep extends StepDescription {
  code: CodeFiles;
  /** Programs in the recipe's folder that the step may run. */
  programs: readonly NamedFile[];
  /** The folder at which relative names in the permissions begin. */
  place: Place;
}

/** Options of loading code. */
interface LoadOptions {
  /** The folder of the recipe, which imports must not leave. @default the folder of the file */
  folder?: URL;
  /** Code to load instead of reading the files; the imports of that code were checked before. */
  code?: CodeFiles;
  /** How long loading may take, milliseconds. @default 30 s */
  loadMs?: number;
  /** Aborting it ends the loading. */
  signal?: AbortSignal;
}

/**
 * Loads a step's file in a process without permissions, and resolves to its description. Checks the imports before any
 * code runs.
 *
 * @throws {OwnStepError} If the file cannot be loaded, is not a step, or imports something that it may not.
 */
export async function describeOwnStep(file: URL, options: LoadOptions = {}): Promise<OwnStep> {
  const { folder = new URL(".", file) } = options;
  const code = options.code ?? await findCode(file, folder, options.signal);
  const about = await load(file, options, {
    code,
    main: stepMain(file),
    order: { type: "describe" },
    take: (message) => message.type === "described" ? checkDescription(message.about, file) : undefined,
  });
  const place = placeOfStep(file, folder);
  const programs = await named(file, filesOfPermission(about.permissions, place));
  return { ...about, code, programs, place };
}

/** Reports a file that the step names as a mistake of the step. */
async function named<T>(file: URL, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw error instanceof NamedFileError ? refuseCode(file, error.what) : error;
  }
}

/**
 * Loads a recipe's file in a process without permissions, and resolves to its default export, or `null`, and its code.
 *
 * @throws {OwnStepError} If the file cannot be loaded, or imports something that it may not.
 */
export async function readExport(
  file: URL,
  options: LoadOptions = {},
): Promise<{ value: unknown; code: CodeFiles }> {
  const code = options.code ?? await findCode(file, options.folder ?? new URL(".", file), options.signal);
  const main = `import { hand } from ${ourMain};\n` +
    `import * as module from ${JSON.stringify(file.href)};\nhand(module.default);\n`;
  const { value } = await load(file, options, {
    code,
    main,
    take: (message) => message.type === "exported" ? { value: message.value } : undefined,
  });
  return { value, code };
}

const ourMain = JSON.stringify(import.meta.resolve("./step_main.ts"));

// Static imports need no read permission, so the step gets only the permissions that it names.
const stepMain = (file: URL) =>
  `import { serve } from ${ourMain};\nimport step from ${JSON.stringify(file.href)};\nawait serve(step);\n`;

interface Loading<T> {
  code: CodeFiles;
  main: string;
  order?: ToStep;
  /** Returns the content of the expected message; `undefined` for any other message. */
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
    limit.aborted ? `it is not loaded within ${loadMs / 1000} s: the code at its top level must end` : reason,
  );
}

/**
 * Runs a step with checked parameters. Logs its printed output line by line.
 *
 * @throws {OwnStepError} If the step fails or ends without a result, if one of its files has changed since the check, or
 * if a link leads out of a folder that the step may use.
 */
export async function runOwnStep(
  file: URL,
  { effect, permissions, code, programs, place }: OwnStep,
  { params, context }: { params: Record<string, unknown>; context: StepContext },
): Promise<unknown> {
  await checkUnchanged(file, code);
  const changed = firstChanged(await named(file, filesOfPermission(permissions, place)), programs);
  if (changed !== undefined) throw refuseCode(file, changedText(`its program "${changed.name}"`));
  await named(file, checkGranted(permissions, place));
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
  /** Errors of the calls, by number. */
  const errors = new Map<number, unknown>();
  // Waits for calls that the step did not await, so that the outcomes of their writes are known.
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
        if (logs === codeLimits.lines) {
          context.log("warn", "it logs more lines than hsgate keeps; the rest is omitted");
        }
      }
      if (message.type === "proven" && ["ok", "refused"].includes(message.outcome)) {
        context.proven?.(errors.get(message.id), message.outcome);
      }
      if (message.type === "progress") context.progress(message.event);
      context.signal.throwIfAborted(); // calls that it requested before it was ended are not made
      if (message.type === "call") {
        const call = answerCall(message, { send, effect, context, errors }).finally(() => calls.delete(call));
        calls.add(call);
        // Further calls stay in the pipe, so that the step has to wait.
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

/** Maximum number of concurrent calls of a step. */
const MOST_CALLS = 32;

/** Parses a message of the step's process. A step could write false messages, but that harms only its own recipe. */
function readMessage(line: string, file: URL): FromStep {
  try {
    const message: FromStep | null = JSON.parse(line);
    if (typeof message === "object" && message !== null) return message;
  } catch {
    // Handled below, like a value that is not an object.
  }
  throw refuseCode(file, "it wrote a line that begins like hsgate's own messages, and that cannot be read");
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
    throw refuseCode(file, 'its default export is not a step: write it with "defineStep"');
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
