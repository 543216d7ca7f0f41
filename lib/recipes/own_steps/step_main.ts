/**
 * Runs inside a step's process: reads requests from stdin and writes answers to stdout, one JSON object per line.
 *
 * @module
 */
import type { OwnStep, StepParam, StepParams } from "../define.ts";
import { type Line, linesOf } from "./lines.ts";
import { type FromStep, MESSAGE_MARK, type ToStep } from "./step_messages.ts";

// Stdout carries the answers; printed output goes to stderr, where the runner logs it.
// deno-lint-ignore no-console -- a step may print, and its output must not mix with the answers
for (const name of ["log", "info", "debug"] as const) console[name] = (...args) => console.error(...args);

// `localStorage` and `caches` would store values in Deno's cache, which a step may not write. Deno's own error would
// name an internal file.
const withoutStorage = (name: string, cause: unknown) =>
  new Error(
    `it uses ${name}, which code of a recipe does not have; to keep values, let the step write a file that its ` +
      'permission "write" names',
    { cause },
  );
const { get: getStorage, ...storage } = Object.getOwnPropertyDescriptor(globalThis, "localStorage") ?? {};
if (getStorage !== undefined) {
  Object.defineProperty(globalThis, "localStorage", {
    ...storage,
    get() {
      try {
        const values: Storage = getStorage.call(globalThis);
        void values.length; // makes Deno open the file that stores the values
        return values;
      } catch (error) {
        throw withoutStorage("localStorage", error);
      }
    },
  });
}
const openCache = CacheStorage.prototype.open;
CacheStorage.prototype.open = async function (name) {
  try {
    return await openCache.call(this, name);
  } catch (error) {
    throw withoutStorage("caches", error);
  }
};

/** Serves one description or one run, then ends. */
export async function serve(step: OwnStep<Record<string, StepParam>, unknown>): Promise<void> {
  const lines = linesOf(Deno.stdin.readable);
  const first = await lines.next();
  if (first.done) return;
  const order: ToStep = JSON.parse(first.value.text); // the runner writes only such objects
  try {
    if (order.type === "describe") {
      const { summary = "", effect, permissions = {}, params = {}, outputs } = step;
      const about = { summary, effect, permissions, params, ...outputs !== undefined && { outputs } };
      return send({ type: "described", about });
    }
    if (order.type !== "run") return;
    const waiting = new Map<number, PromiseWithResolvers<unknown>>();
    /** Numbers of the failed calls, by their errors. */
    const callOf = new WeakMap<Error, number>();
    void readAnswers(lines, waiting, callOf);
    // The runner has checked the parameters against the step's description.
    const output = await step.run(order.params as StepParams<Record<string, StepParam>>, {
      ...order.context,
      call(operation, params = {}) {
        const id = waiting.size + 1;
        const answer = Promise.withResolvers<unknown>();
        waiting.set(id, answer);
        send({ type: "call", id, operation, params });
        return answer.promise;
      },
      proven(error, outcome) {
        const id = error instanceof Error ? callOf.get(error) : undefined;
        if (id !== undefined) send({ type: "proven", id, outcome });
      },
      log: (level, message, data) => send({ type: "log", level, message, ...data !== undefined && { data } }),
      progress: (event) => send({ type: "progress", event }),
    });
    send({ type: "done", output: output ?? null });
  } catch (error) {
    send({ type: "failed", message: String(error instanceof Error ? error.message : error) });
  }
  Deno.exit(0); // the open read of stdin would keep the process alive
}

async function readAnswers(
  lines: AsyncIterator<Line>,
  waiting: ReadonlyMap<number, PromiseWithResolvers<unknown>>,
  callOf: WeakMap<Error, number>,
): Promise<void> {
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    const answer: ToStep = JSON.parse(next.value.text); // the runner writes only such objects
    if (answer.type === "answer") waiting.get(answer.id)?.resolve(answer.value);
    if (answer.type === "refusal") {
      const error = new Error(answer.message);
      callOf.set(error, answer.id);
      waiting.get(answer.id)?.reject(error);
    }
  }
  Deno.exit(1); // the runner has ended
}

/**
 * Sends the default export of a recipe's file, or `null` if the file has none. If the export is not plain JSON data,
 * sends the reason instead. Then ends the process.
 */
export function sendExport(value: unknown): void {
  const fault = value === undefined ? "nothing" : notPlain(value, []);
  send(
    fault === undefined
      ? { type: "exported", value }
      : value === undefined
      ? { type: "exported", value: null }
      : { type: "failed", message: `its default export contains ${fault}: expected plain JSON data` },
  );
  Deno.exit(0); // ends everything that the file has left running
}

/** Returns which part of a value is not plain JSON data, and where; `undefined` if all of it is. */
function notPlain(
  value: unknown,
  path: readonly string[],
  around: readonly object[] = [],
): string | undefined {
  const at = path.length === 0 ? "" : ` at "${path.join(".")}"`;
  if (typeof value === "number" && !Number.isFinite(value)) return `${value}${at}`;
  if (["function", "bigint", "symbol"].includes(typeof value)) return `a ${typeof value}${at}`;
  if (typeof value !== "object" || value === null) return undefined;
  if (around.includes(value)) return `a circular reference${at}`;
  if (path.length > 100) return "too many levels";
  for (const [name, each] of Object.entries(value)) {
    const fault = notPlain(each, [...path, name], [...around, value]);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function send(message: FromStep): void {
  // The message begins on a new line, because the step may have written part of a line to stdout.
  const bytes = new TextEncoder().encode(`\n${MESSAGE_MARK}${JSON.stringify(message)}\n`);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}
