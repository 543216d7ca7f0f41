/**
 * Records the broker's answer to a write. If there is no normal answer, records how the write failed, searches for its
 * outcome in the broker's lists, and records answers that arrive late.
 *
 * @module
 */
import type { WantedWrite } from "../client/intercept.ts";
import { BrokerError, messageOf, OutcomeUnknownError, ProtocolError, RejectedError } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { provingLists } from "../operations/proof.ts";
import { StoreError } from "../store/store_error.ts";
import { wait } from "../time.ts";
import type { LateAnswer } from "../transports/transport.ts";
import type { SeenOrder } from "./broker_lists.ts";
import type { Intent, IntentChange } from "./intent.ts";
import { changesOf } from "./queries.ts";
import { type ReconcileDeps, reconcileOnly } from "./reconcile.ts";
import type { Records } from "./records.ts";
import { type IntentState, mayChange } from "./states.ts";
import { targetsOf } from "./terms.ts";

/** Waits before each reading of the lists after a lost answer. The last wait is used for all further readings. */
const READING_WAITS_MS = [500, 1_500, 3_000, 5_000];
/** Default time to search for the outcome of a write. */
const RESOLVE_MS = 15_000;

/** What the search for a lost answer needs. */
export interface RecoverDeps extends ReconcileDeps {
  /** How long to search for the outcome of a write in the broker's lists after its answer was lost. @default 15 s */
  resolveMs?: number | undefined;
}

/**
 * Records the broker's answer. If orders of the intent are already recorded, the answer must name the same orders;
 * otherwise the intent becomes ambiguous. This can be called again after an error, because a commit that seemed to fail
 * may have succeeded. If an amendment has created an order, the order is recorded in the same transaction, so that it
 * always has an owner.
 */
export async function acknowledge(
  records: Records,
  id: string,
  { orderIds, data }: { orderIds: readonly string[]; data: Readonly<Record<string, unknown>> },
): Promise<Intent> {
  return await records.store.transaction(async () => {
    const intent = await records.find(id);
    // If the answer to a cancellation names no order, it applies to the orders of the request.
    const named = orderIds.length > 0 ? orderIds : targetsOf(intent);
    // If neither the request nor the answer names an order, nothing was cancelled, and there is no order to follow.
    const to = intent.kind === "cancel" && named.length === 0 ? "cancelled" : "acknowledged";
    if (mayChange(intent.state, to, "answer")) {
      const moved = await records.move(id, { to, by: "answer", orderIds: named, data });
      if (moved.kind === "amend") await records.noteAmended(moved);
      return moved;
    }
    const isSame = named.every((each) => intent.orderIds.includes(each)) &&
      !refusedStates.includes(intent.state);
    if (isSame) return intent;
    const why = `the answer names order ${named.join(", ")}, and the record was "${intent.state}"${
      intent.orderIds.length === 0 ? "" : ` with order ${intent.orderIds.join(", ")}`
    }`;
    return await records.move(id, {
      to: "ambiguous",
      by: "answer",
      orderIds: named,
      childIds: [],
      data: { ...data, why },
    });
  });
}

/** States which say that the broker did not execute the request. */
const refusedStates: readonly IntentState[] = ["abandoned", "rejected"];

/**
 * Records that the broker rejected the request, or that the request was never sent. If the lists have shown its order,
 * that is a contradiction, and the intent becomes ambiguous.
 */
async function refuse(
  records: Records,
  id: string,
  { to, data }: { to: "rejected" | "abandoned"; data: Readonly<Record<string, unknown>> },
): Promise<void> {
  await records.store.transaction(async () => {
    const { state, orderIds } = await records.find(id);
    if (refusedStates.includes(state)) return;
    const by = to === "rejected" ? "answer" : "desk";
    if (mayChange(state, to, by)) {
      await records.move(id, { to, by, data });
    } else if (mayChange(state, "ambiguous", "answer")) {
      const says = to === "rejected" ? 'the answer says "rejected"' : "its process sent nothing";
      const why = `${says}, and the lists showed order ${orderIds.join(", ")} as "${state}"`;
      await records.move(id, { to: "ambiguous", by: "answer", data: { ...data, why } });
    }
  });
}

/**
 * Records how a write failed. If its outcome is unknown, searches for it in the broker's lists for a while. If the
 * lists show that the broker received the write, returns the answer that the broker would have sent, if that is known.
 * Otherwise throws; the code is `not-executed` if the lists prove that the broker did not execute the write.
 */
export async function noAnswer(
  deps: RecoverDeps,
  id: string,
  { wanted, error }: { wanted: WantedWrite; error: unknown },
): Promise<unknown> {
  const { records } = deps;
  const { operation, options } = wanted;
  const data = { why: messageOf(error) };
  // Only hsgate's own error classes prove that nothing was executed. Any other error may have happened after the first
  // byte was sent.
  const isUnknown = !(error instanceof BrokerError) || error instanceof OutcomeUnknownError ||
    error instanceof ProtocolError;
  if (!isUnknown) {
    const to = error instanceof RejectedError ? "rejected" : "abandoned";
    try {
      await records.keep(() => refuse(records, id, { to, data }));
    } catch (failure) {
      // The broker's answer is known even though the store failed. The intent stays "sent" until a reading resolves it.
      error.message += `; the store "${records.store.name}" could not record that: ${messageOf(failure)}`;
    }
    throw error;
  }
  let isRecorded = false;
  let answer: unknown;
  let disproof: unknown;
  let failure: unknown;
  try {
    await records.keep(() =>
      records.moveFrom({ id, state: "sent" }, { to: "unknown", by: "desk", data }, error)
    );
    isRecorded = true;
    const found = await searchLists(deps, id, options.signal);
    const changes = found === undefined ? [] : await changesOf(records.store, id);
    if (found?.state === "abandoned") disproof = changes.at(-1)?.data.proof;
    else if (found !== undefined) answer = answerOf(operation, found, changes);
  } catch (caught) {
    failure = caught; // after any failure here, the outcome of the write stays unknown
  }
  if (answer !== undefined) return answer;
  if (disproof !== undefined) {
    throw new BrokerError(`The broker did not execute ${operation.name}: ${disproof}`, {
      code: "not-executed",
      operation: operation.name,
    });
  }
  const kept = isRecorded
    ? `it is recorded as intent ${id}, and hsgate continues to search the broker's lists for it`
    : `intent ${id} was recorded before it was sent, and hsgate looks for it in the broker's lists later`;
  const failed = isRecorded
    ? "the search for it failed"
    : "the store could not record that its outcome is unknown";
  const trouble = failure === undefined ? "" : ` (${failed}: ${messageOf(failure)})`;
  throw new OutcomeUnknownError(`${messageOf(error)}; ${kept}${trouble}: see hsgate orders show ${id}`, {
    code: error instanceof BrokerError && error.code !== undefined ? error.code : "unknown",
    operation: operation.name,
    lists: provingLists(operation, wanted.params),
    cause: error,
  });
}

/**
 * Reads the lists until they show the outcome or the time is over. Returns the intent if its outcome is known;
 * `undefined` if the intent is unknown or ambiguous.
 */
async function searchLists(
  deps: RecoverDeps,
  id: string,
  signal: AbortSignal | undefined,
): Promise<Intent | undefined> {
  const { records, resolveMs = RESOLVE_MS } = deps;
  const { machine } = records;
  const endAt = machine.monotonic() + resolveMs;
  for (let turn = 0;; turn++) {
    const waitMs = READING_WAITS_MS[turn] ?? READING_WAITS_MS.at(-1)!;
    if (signal?.aborted || machine.monotonic() + waitMs > endAt) return undefined;
    await wait(machine, waitMs, signal).catch(() => {}); // only an abort of the signal rejects
    if (signal?.aborted) return undefined;
    try {
      await reconcileOnly(deps, id, signal);
    } catch (error) {
      // The lists cannot be read at the moment. The error of the write is more useful than this error.
      if (!(error instanceof BrokerError) || error instanceof StoreError) throw error;
    }
    const intent = await records.find(id);
    if (intent.state !== "unknown") {
      return intent.state === "ambiguous" ? undefined : intent;
    }
  }
}

/** Records an answer that arrived after the desk had given up the call. */
export async function recordLate(records: Records, id: string, { result, error }: LateAnswer): Promise<void> {
  if (error !== undefined && !(error instanceof RejectedError)) return; // only an answer of the broker shows the outcome
  const data = { late: true, ...error !== undefined ? { why: messageOf(error) } : { answer: result } };
  await records.keep(async () => {
    if (error !== undefined) await refuse(records, id, { to: "rejected", data });
    else await acknowledge(records, id, { orderIds: idsIn(result), data });
  });
}

/**
 * Returns the broker's answer to an intent that was executed. If the answer was lost, returns the answer that the
 * broker would have sent; `undefined` if that cannot be known.
 *
 * @param changes The intent's changes of state, oldest first.
 */
export function answerOf(
  operation: AnyOperation,
  { orderIds }: Pick<Intent, "orderIds">,
  changes: readonly IntentChange[],
): unknown {
  const known = changes.findLast(({ to }) => to === "acknowledged");
  if (known?.data.answer !== undefined) return known.data.answer;
  const [orderId] = orderIds;
  if (orderId === undefined) return undefined;
  if (operation.undone === undefined) return { orderId };
  // The order may also have ended in another way than by the cancellation.
  const shown = changes.findLast(({ by, data }) => by === "list" && Array.isArray(data.orders))?.data.orders;
  if (!Array.isArray(shown)) return known?.by === "person" ? { cancelled: orderIds, failed: [] } : undefined;
  // `follow.ts` writes these rows.
  const rows = shown as Pick<SeenOrder, "orderId" | "state">[];
  const isCancelled = (id: string) => rows.some((row) => row.orderId === id && row.state === "cancelled");
  const failed = orderIds.filter((id) => !isCancelled(id));
  const remark = "the broker's lists do not show it as cancelled";
  return {
    cancelled: orderIds.filter(isCancelled),
    failed: failed.map((each) => ({ orderId: each, remark })),
  };
}

/** Returns the ids of the orders that an answer contains. */
export function idsIn(answer: unknown): string[] {
  const { orderId, cancelled } = Object(answer) as { orderId?: unknown; cancelled?: unknown };
  if (typeof orderId === "string") return [orderId];
  return Array.isArray(cancelled) ? cancelled.filter((each) => typeof each === "string") : [];
}
