/**
 * Handles a write without a plain answer: records how it failed, looks for a lost answer in the broker's lists, and
 * takes answers that arrive late.
 *
 * @module
 */
import type { WantedWrite } from "../client/intercept.ts";
import { BrokerError, OutcomeUnknownError, ProtocolError, RejectedError } from "../errors.ts";
import { provingLists } from "../operations/proof.ts";
import { wait } from "../time.ts";
import type { LateAnswer } from "../transports/transport.ts";
import type { Intent } from "./intent.ts";
import { answerOf, idsIn, targetsOf } from "./prove.ts";
import { type ReconcileDeps, reconcileOnly } from "./reconcile.ts";
import { reasonOf, type Records } from "./records.ts";
import { mayChange } from "./states.ts";

/** Waits before each look at the lists after a lost answer; the last wait repeats. */
const LOOK_WAITS_MS = [500, 1_500, 3_000, 5_000];
/** How long a write looks for its outcome if the options do not say. */
const RESOLVE_MS = 15_000;

/** What the search for a lost answer needs. */
export interface RecoverDeps extends ReconcileDeps {
  /** How long a write looks for its outcome in the broker's lists after its answer was lost. @default 15 s */
  resolveMs?: number | undefined;
}

/**
 * Records an answer, unless an earlier try did: a commit may succeed although it seemed to fail. An order that an
 * amendment created is recorded in the same transaction: after a kill between two, it would belong to nobody.
 */
export async function acknowledge(
  records: Records,
  id: string,
  { orderIds, data }: { orderIds: readonly string[]; data: Readonly<Record<string, unknown>> },
): Promise<Intent> {
  return await records.store.transaction(async () => {
    const intent = await records.find(id);
    if (intent.state === "acknowledged") return intent;
    // If the answer to a cancellation names no order, it is about the orders of the request.
    const ids = orderIds.length > 0 ? orderIds : targetsOf(intent);
    const moved = await records.move(id, { to: "acknowledged", by: "answer", orderIds: ids, data });
    if (moved.kind === "amend") await records.noteAmended(moved);
    return moved;
  });
}

/**
 * Records how a write failed. If its outcome is unknown, looks for it in the broker's lists for a while, and returns the
 * answer that the broker would have sent.
 */
export async function noAnswer(
  deps: RecoverDeps,
  id: string,
  { wanted, error }: { wanted: WantedWrite; error: unknown },
): Promise<unknown> {
  const { records } = deps;
  const { operation, options } = wanted;
  const data = { why: reasonOf(error) };
  if (error instanceof RejectedError) {
    await records.keep(() => records.moveOnce(id, { to: "rejected", by: "answer", data }));
    throw error;
  }
  // Only hsgate's own classes prove that nothing was sent; any other error may come after the first byte.
  const isUnknown = !(error instanceof BrokerError) || error instanceof OutcomeUnknownError ||
    error instanceof ProtocolError;
  if (!isUnknown) {
    await records.keep(() => records.moveOnce(id, { to: "abandoned", by: "answer", data }));
    throw error;
  }
  await records.keep(() => records.moveOnce(id, { to: "unknown", by: "desk", data }));
  const found = await lookFor(deps, id, options.signal);
  const answer = found === undefined ? undefined : answerOf(operation, found);
  if (answer !== undefined) return answer;
  throw new OutcomeUnknownError(
    `${
      reasonOf(error)
    }; it is recorded as intent ${id}, and hsgate keeps looking for it in the broker's lists: ` +
      `see hsgate orders show ${id}`,
    {
      code: error instanceof BrokerError && error.code !== undefined ? error.code : "unknown",
      operation: operation.name,
      lists: provingLists(operation, wanted.params),
      cause: error,
    },
  );
}

/** Looks at the lists until they show the outcome, or the time is over. Returns the intent if it was executed. */
async function lookFor(
  deps: RecoverDeps,
  id: string,
  signal: AbortSignal | undefined,
): Promise<Intent | undefined> {
  const { records, resolveMs = RESOLVE_MS } = deps;
  const { machine } = records;
  const endAt = machine.monotonic() + resolveMs;
  for (let turn = 0;; turn++) {
    const waitMs = LOOK_WAITS_MS[turn] ?? LOOK_WAITS_MS.at(-1)!;
    if (signal?.aborted || machine.monotonic() + waitMs > endAt) return undefined;
    await wait(machine, waitMs, signal).catch(() => {}); // only the signal ends it early
    if (signal?.aborted) return undefined;
    try {
      await reconcileOnly(deps, id);
    } catch (error) {
      // The broker's lists cannot be read now. The error of the write says more than this error.
      if (!(error instanceof BrokerError)) throw error;
    }
    const intent = await records.find(id);
    if (intent.state !== "unknown") {
      return intent.state === "abandoned" || intent.state === "ambiguous" ? undefined : intent;
    }
  }
}

/** Takes an answer that came after its call was given up. */
export async function takeLate(records: Records, id: string, { result, error }: LateAnswer): Promise<void> {
  const intent = await records.find(id);
  const data = { late: true, ...error !== undefined ? { why: reasonOf(error) } : { answer: result } };
  if (error instanceof RejectedError) {
    if (mayChange(intent.state, "rejected", "answer")) {
      await records.move(id, { to: "rejected", by: "answer", data });
    }
    return;
  }
  if (error !== undefined || !mayChange(intent.state, "acknowledged", "answer")) return;
  await acknowledge(records, id, { orderIds: idsIn(result), data });
}
