/**
 * Loads and runs custom steps, each in a process with only the permissions that the step names.
 *
 * @module
 */
import { findOperation } from "../../operations/mod.ts";
import { isDeeper, isMap } from "../../foreign_values.ts";
import { orAborted } from "../../time.ts";
import { callOperation } from "../engine/call_operation.ts";
import { ENDED_WITHOUT_RESULT, mayHaveHappened } from "../engine/guarded_client.ts";
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
  /** Base folder of the relative names in the permissions, and the folders that the recipe's author may control. */
  place: Place;
}

/** Options of loading code. */
interface LoadOptions {
  /** The folder of the recipe, which imports must not leave. @default the folder of the file */
  folder?: URL;
  /** Code to load instead of reading the files. The imports of this code have already been checked. */
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
 * @throws {OwnStepError} If the file cannot be loaded, is not a step, or has a forbidden import.
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
  const programs = await asStepMistake(file, filesOfPermission(about.permissions, place));
  return { ...about, code, programs, place };
}

/** Passes a result on. Converts an error about a file that the step names into a mistake of the step. */
async function asStepMistake<T>(file: URL, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw error instanceof NamedFileError ? refuseCode(file, error.what) : error;
  }
}

/**
 * Loads a recipe's file in a process without permissions. Resolves to its code and its default export, which is `null`
 * if the file has none.
 *
 * @throws {OwnStepError} If the file cannot be loaded, or has a forbidden import.
 */
export async function readExport(
  file: URL,
  options: LoadOptions = {},
): Promise<{ value: unknown; code: CodeFiles }> {
  const code = options.code ?? await findCode(file, options.folder ?? new URL(".", file), options.signal);
  const main = `import { sendExport } from ${ourMain};\n` +
    `import * as module from ${JSON.stringify(file.href)};\nsendExport(module.default);\n`;
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
 * @throws {OwnStepError} If the step fails or ends without a result, if one of its files has changed since the check,
 * or if a link leads out of a folder that the step may use.
 */
export async function runOwnStep(
  file: URL,
  { effect, permissions, code, programs, place }: OwnStep,
  { params, context }: { params: Record<string, unknown>; context: StepContext },
): Promise<unknown> {
  await checkUnchanged(file, code);
  const changed = firstChanged(await asStepMistake(file, filesOfPermission(permissions, place)), programs);
  if (changed !== undefined) throw refuseCode(file, changedText(`its program "${changed.name}"`));
  await asStepMistake(file, checkGranted(permissions, place));
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
  /** Errors of writes that may have happened, by the number of the call. */
  const errors = new Map<number, unknown>();
  // Wait also for calls that the step did not await, so that the outcomes of their writes are known.
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
      context.signal.throwIfAborted(); // after an abort, do not make calls that the step has already requested
      if (message.type === "call") {
        const call = answerCall(message, { send, effect, context, errors }).finally(() => calls.delete(call));
        calls.add(call);
        // Further calls stay in the pipe until a call ends, so that the step has to wait.
        if (calls.size >= MOST_CALLS) await Promise.race(calls);
      }
    }
    await callsEnd();
    context.signal.throwIfAborted();
    throw refuseCode(file, await child.reason());
  } catch (error) {
    if (hasFailed || !(error instanceof OwnStepError)) throw error;
    throw new OwnStepError(error.message, { code: ENDED_WITHOUT_RESULT, cause: error });
  }
}

/** Maximum number of concurrent calls of a step. */
const MOST_CALLS = 32;

/**
 * Parses a message of the step's process. A step could write false messages, but that harms only its own recipe.
 *
 * @throws {OwnStepError} If the line is not a message, or if its lists and maps are nested too deep.
 */
function readMessage(line: string, file: URL): FromStep {
  try {
    const message: unknown = JSON.parse(line);
    if (isDeeper(message, MOST_LEVELS)) {
      throw refuseCode(
        file,
        `it answers with lists and maps that are nested deeper than ${MOST_LEVELS} levels`,
      );
    }
    if (isMap(message) && Object.hasOwn(isMessage, String(message.type))) {
      const type = message.type as FromStep["type"]; // a key of the table
      // The cast is safe: the function has checked all members that this file reads.
      if (isMessage[type](message)) return message as unknown as FromStep;
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw refuseCode(file, "it wrote a line that begins like hsgate's own messages, and that cannot be read");
}

/** Deepest nesting of lists and maps in a message. */
const MOST_LEVELS = 200;

const isNumber = (value: unknown) => value === undefined || typeof value === "number";

/** For each type of message, whether its members are of the right types. */
const isMessage: Readonly<Record<FromStep["type"], (message: Record<string, unknown>) => boolean>> = {
  described: () => true, // `checkDescription` checks it
  exported: () => true,
  done: () => true,
  call: ({ id, operation, params }) =>
    typeof id === "number" && typeof operation === "string" && isMap(params),
  proven: ({ id }) => typeof id === "number",
  log: ({ level, message, data }) =>
    ["debug", "info", "warn", "error"].includes(String(level)) && typeof message === "string" &&
    (data === undefined || isMap(data)),
  progress: ({ event }) =>
    isMap(event) && typeof event.text === "string" && isNumber(event.done) && isNumber(event.total),
  failed: ({ message }) => typeof message === "string",
};

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

/** Maximum number of names of a permission, of parameters, and of declared outputs. */
const MOST_NAMES = 200;
/** Longest name of a permission, characters: the longest path of most systems. */
const MOST_NAME = 4096;

/**
 * Checks how a step describes itself, because its code may have computed the description. @throws {OwnStepError} If the
 * description is wrong.
 */
function checkDescription(about: unknown, file: URL): StepDescription {
  if (!isMap(about) || !["read", "local", "write"].includes(String(about.effect))) {
    throw refuseCode(file, 'its default export is not a step: write it with "defineStep"');
  }
  const { effect, permissions, params, outputs } = about;
  const membersOf = (value: unknown, what: string) => {
    if (!isMap(value)) throw refuseCode(file, `its ${what} are not a map`);
    const members = Object.entries(value);
    if (members.length <= MOST_NAMES) return members;
    throw refuseCode(file, `it has ${members.length} ${what}, and ${MOST_NAMES} are the maximum`);
  };
  for (const [kind, values] of membersOf(permissions, "permissions")) {
    const isFine = Object.hasOwn(flags, kind) && Array.isArray(values) && values.every(isName);
    if (!isFine) throw refuseCode(file, `its permission "${kind}" is not a list of names`);
    if (values.length > MOST_NAMES) {
      throw refuseCode(
        file,
        `its permission "${kind}" has ${values.length} names, and ${MOST_NAMES} are the maximum`,
      );
    }
  }
  for (const [what, all] of [["params", params], ["outputs", outputs ?? {}]] as const) {
    for (const [name, member] of membersOf(all, what)) {
      if (isMap(member) && isParamType(member.type)) continue;
      throw refuseCode(file, `the type of "${name}" in its ${what} is not one of ${paramTypes.join(", ")}`);
    }
  }
  // Each member has been checked above, and the effect is one of three texts.
  return {
    summary: String(about.summary),
    effect: String(effect),
    permissions,
    params,
    ...outputs !== undefined && { outputs },
  } as StepDescription;
}

/** Returns whether a value can be a name of a permission: Deno separates names by commas. */
const isName = (value: unknown) =>
  // deno-lint-ignore no-control-regex -- no path, host or variable has control characters
  typeof value === "string" && /^[^,\0-\x1f\x7f]+$/.test(value) && value.length <= MOST_NAME;

const flags: Readonly<Record<keyof StepPermissions, true>> = {
  net: true,
  read: true,
  write: true,
  env: true,
  run: true,
};
