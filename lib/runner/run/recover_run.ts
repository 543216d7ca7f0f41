/**
 * Finds the outcome of the writes of an interrupted run from the intents of the order desk, and from the broker's
 * lists. A person is asked only if the lists cannot prove an outcome.
 *
 * @module
 */
import type { Intent, IntentChange } from "../../desk/intent.ts";
import { answerOf } from "../../desk/recover.ts";
import { changesOf, intentsOfRun } from "../../desk/queries.ts";
import { unresolvedStates } from "../../desk/states.ts";
import { findOperation } from "../../operations/mod.ts";
import type { CompiledRecipe, CompiledStep } from "../../recipes/compiled.ts";
import { versionOf } from "../../recipes/powers.ts";
import type { RunDeps } from "../deps.ts";
import { eventDataOf, WRITE_SENT } from "../queries/events.ts";
import { findRun } from "../queries/runs.ts";
import { lastAttempts, unresolvedSteps } from "../queries/steps.ts";
import { deskOf } from "./run.ts";

/** Outcome of an unresolved step, and its proof. */
export interface ProvenStep {
  id: string;
  /** `again` if the step may begin again. */
  state: "ok" | "failed" | "again";
  /** Output of a step that was done: the same as if the answer had arrived. */
  output?: unknown;
  because: string;
}

/** Steps that send orders only through the client. If such a step has no intent, it has sent nothing. */
const orderSteps = ["cancel-open-orders", "rebalance"];

/** Maximum number of attempts at a step that resumes, if its attempts end with errors. */
const MOST_ATTEMPTS = 5;

/**
 * Returns the outcomes of the unresolved steps of a run, or `undefined` if nothing proves them yet. An empty list means
 * that the process died after it had recorded the outcome of every step that writes. If no step is unresolved, but a
 * step that writes has not begun, returns `undefined`: a person decides whether the run continues.
 *
 * @throws {BrokerError} If the broker's lists cannot be read.
 */
export async function proveSteps(
  recipe: CompiledRecipe,
  runKey: string,
  deps: RunDeps & {
    /** Returns whether the broker's lists of an account may be read. @default yes */
    mayReadLists?(account: string): Promise<boolean>;
  },
): Promise<ProvenStep[] | undefined> {
  const { store, mayReadLists } = deps;
  const row = await findRun(store, runKey);
  if (row === undefined) return undefined;
  const isUnresolved = ({ state }: Intent) => unresolvedStates.includes(state);
  let intents = await intentsOfRun(store, runKey);
  if (intents.some(isUnresolved)) {
    const account = row.account ?? "default";
    if (await mayReadLists?.(account) === false) return undefined;
    await deskOf(deps, account, await deps.client(recipe)).reconcile();
    intents = await intentsOfRun(store, runKey);
    if (intents.some(isUnresolved)) return undefined;
  }
  const sent = await eventDataOf(store, runKey, WRITE_SENT);
  // If the recipe has changed, its steps may have written in other ways than the current steps.
  const isSame = row.recipe_sha === versionOf(recipe);
  const proven: ProvenStep[] = [];
  for (const { step_id: id, state, attempt } of await unresolvedSteps(store, runKey)) {
    const step = recipe.steps.find((each) => each.id === id);
    const own = intents.filter(({ why }) => why.step === id);
    const writes = sent.filter((each) => each.step === id);
    const changes = own.length === 1 ? await changesOf(store, own[0]!.id) : [];
    const part = step && outcomeOfStep(step, own, {
      writes,
      changes,
      isSame,
      // After an attempt that ended with an error, two conditions must hold before the step may begin again. It has an
      // intent, so the lost answer was to an order. And it has made fewer than `MOST_ATTEMPTS` attempts.
      mayResume: state === "begun" || row.reason === "stopped" || own.length > 0 && attempt < MOST_ATTEMPTS,
    });
    if (part === undefined) return undefined;
    proven.push(part);
  }
  if (proven.length > 0) return proven;
  const attempts = await lastAttempts(store, runKey, row.round);
  // A step that was skipped, for example because the run was stopped, has not begun.
  const hasEnded = (id: string) => ["ok", "failed"].includes(attempts.get(id)?.state ?? "");
  const isWritten = recipe.steps.every(({ id, effect }) => effect !== "write" || hasEnded(id));
  return isSame && isWritten ? proven : undefined;
}

/** A write that a step was about to send. */
interface SentWrite {
  step: string;
  operation: string;
}

/** Returns the outcome of one step, or `undefined` if its intents do not show everything that it may have written. */
function outcomeOfStep(
  { id, uses, resumes }: CompiledStep,
  intents: readonly Intent[],
  { writes, changes, isSame, mayResume }: {
    writes: readonly SentWrite[];
    /** The changes of the intent; empty unless the step has exactly one intent. */
    changes: readonly IntentChange[];
    isSame: boolean;
    /** Whether a step that resumes may begin again. */
    mayResume: boolean;
  },
): ProvenStep | undefined {
  const operation = findOperation(uses);
  const states = intents.map(({ id: intent, state, orderIds }) =>
    `intent ${intent} is ${state}${orderIds.length === 0 ? "" : ` (order ${orderIds.join(", ")})`}`
  ).join(", ");
  if (resumes && isSame && mayResume) {
    return { id, state: "again", because: `it was interrupted, and begins again${states && `: ${states}`}` };
  }
  const isOfDesk = isSame && (operation?.order !== undefined || orderSteps.includes(uses));
  // Custom code may write without the order desk, and then there is no intent.
  if (!isOfDesk && intents.length === 0) return undefined;
  if (writes.some((each) => findOperation(each.operation)?.order === undefined)) return undefined;
  if (writes.length > intents.length) return undefined;
  if (intents.length === 0) {
    return { id, state: "failed", because: "it had sent nothing: it has no intent" };
  }
  // A step that is a single operation is done when its only write has been executed. Other steps may have more to do.
  const [only] = intents;
  const isExecuted = operation?.order !== undefined && only !== undefined && intents.length === 1 &&
    only.state !== "abandoned" && only.state !== "rejected";
  const output = isExecuted ? answerOf(operation, only, changes) : undefined;
  const undone = operation?.undone;
  // The uninterrupted step would also have failed if an order had not been cancelled.
  const isDone = isExecuted && (undone === undefined || output !== undefined && undone(output).length === 0);
  return isDone
    ? { id, state: "ok", output, because: states }
    : { id, state: "failed", because: `it was interrupted: ${states}` };
}
