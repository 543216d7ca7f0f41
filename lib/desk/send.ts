/**
 * Sends one order write: records it, checks it, commits it as sent before the first byte is sent, and records the
 * answer.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { WantedWrite } from "../client/intercept.ts";
import { BrokerError, messageOf, OutcomeUnknownError } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { provingLists } from "../operations/proof.ts";
import { countWrite, type Store } from "../store/store.ts";
import type { Machine } from "../time.ts";
import { endedStates, type ListReading, placeBefore, readLists, type SeenOrder } from "./broker_lists.ts";
import type { Intent, IntentKind, Why } from "./intent.ts";
import { refuseBeyondPlan } from "./plan_caps.ts";
import { amendableTerms } from "./prove.ts";
import { findHalt, insertIntent, unresolvedIntents } from "./queries.ts";
import type { Records } from "./records.ts";
import { acknowledge, idsIn, noAnswer, recordLate, type RecoverDeps } from "./recover.ts";
import { fingerprintOf, targetsOf } from "./terms.ts";

/**
 * The longest time from the guard rails' checks of prices, cash and holdings to the transaction that records the write
 * as sent.
 */
const APPROVAL_MS = 60_000;
/** The longest time from the transaction that checks the halt and the lease to the first byte of the write. */
const RECORD_MS = 10_000;

/** An order write that a guard rail checks before it is sent. */
export interface PlannedWrite {
  /** Its intent, which is already in the store. */
  id: string;
  operation: AnyOperation;
  params: Readonly<Record<string, unknown>>;
  why: Why;
  /**
   * The broker's lists just before the write; absent for a cancellation of named orders, unless the outcome of an equal
   * one is unknown.
   */
  reading: ListReading | undefined;
  /** The client, for further queries. */
  client: Client;
  /** Stops the reading of quotes. @default never */
  signal?: AbortSignal;
}

/** What sending needs. */
export interface SendDeps extends RecoverDeps {
  underWay: Set<string>;
  /**
   * Checks a write before it is sent. Throws if the write is not allowed. May resolve to data that is recorded with the
   * approval. @default allows everything
   */
  guard?(planned: PlannedWrite): object | void | Promise<object | void>;
  /**
   * Returns why the store's halt file stops order writes; `undefined` without a halt file. Called right before each
   * write. @default never a halt file
   */
  haltedByFile?(): string | undefined;
  /**
   * Called in the transaction that records a write as sent. Throws if the sender must not write any more. The sender is
   * checked again here because the process may have been suspended since its last check. @default allows every write
   */
  confirm?(): void | Promise<void>;
}

/** A write whose parameters have been checked. */
interface CheckedWrite {
  id: string;
  wanted: WantedWrite;
  params: Readonly<Record<string, unknown>>;
  why: Why;
  fingerprint: string;
}

/**
 * Sends an order write, and returns the answer.
 *
 * @throws {BrokerError} If nothing was sent, or the broker rejected it.
 * @throws {OutcomeUnknownError} If no valid answer tells the outcome, and the lists do not show within `resolveMs` that
 * the broker received the write. Also if the store could not record the answer.
 */
export async function sendWrite(
  deps: SendDeps,
  wanted: WantedWrite,
  { kind, params, why, timeoutMs }: {
    kind: IntentKind;
    params: Readonly<Record<string, unknown>>;
    why: Why;
    timeoutMs: number;
  },
): Promise<unknown> {
  const { records, underWay } = deps;
  const { store, machine, account } = records;
  const { name } = wanted.operation;
  const fingerprint = fingerprintOf({ kind, operation: name, params });
  const id = machine.id();
  const createdAt = machine.now();
  const intent = { id, account, kind, operation: name, params, fingerprint, why, createdAt, timeoutMs };
  await records.first(name, () =>
    store.transaction(async () => {
      if (!isRepeatable(wanted.operation, params)) await refuseLike(records, fingerprint, name);
      await refuseBeyondPlan(store, account, { ...intent, own: id });
      await insertIntent(store, intent);
    }));
  underWay.add(id);
  try {
    const write = { id, wanted, params, why, fingerprint };
    return await send(deps, write, await approve(deps, write));
  } finally {
    underWay.delete(id);
  }
}

/** The data on which the desk allowed a write. */
interface Approval {
  /** The broker's lists; absent for a cancellation of named orders, unless the outcome of an equal one is unknown. */
  reading: ListReading | undefined;
  /** When the checks began. */
  at: Instant;
}

/** An instant by two clocks. The monotonic clock may stop while the machine sleeps, and the wall clock may jump. */
interface Instant {
  wall: number;
  monotonic: number;
}

const instantOf = (machine: Machine): Instant => ({ wall: machine.now(), monotonic: machine.monotonic() });

/** Returns whether more than a given time has passed since an instant, by either clock. */
const isLonger = (machine: Machine, { wall, monotonic }: Instant, ms: number): boolean =>
  machine.now() - wall > ms || machine.monotonic() - monotonic > ms;

/**
 * Returns whether a request may be sent while the outcome of an equal request is unknown: cancelling a named order
 * twice does no more than cancelling it once.
 */
const isRepeatable = ({ order }: AnyOperation, params: Readonly<Record<string, unknown>>): boolean =>
  order === "cancel" && targetsOf({ params }).length === 1;

/** Finds an unresolved intent with the same request. */
async function unresolvedLike({ store, account }: Records, fingerprint: string): Promise<Intent | undefined> {
  // An older version may have recorded a different fingerprint for the same request.
  return (await unresolvedIntents(store, account)).find((each) =>
    each.fingerprint === fingerprint || fingerprintOf(each) === fingerprint
  );
}

/** Throws if an intent with the same request is unresolved, because the broker could execute both. */
async function refuseLike(records: Records, fingerprint: string, operation: string): Promise<void> {
  const other = await unresolvedLike(records, fingerprint);
  if (other === undefined) return;
  throw new BrokerError(
    `Cannot send ${operation}: intent ${other.id} has the same request, and its outcome is not known yet ` +
      `(it is "${other.state}"); to see it, run: hsgate orders show ${other.id}`,
    { code: "unresolved-intent", operation },
  );
}

/** Returns whether a list shows that an order is open, and that no cancellation of it is in progress. */
const isCancellable = (order: SeenOrder | undefined): boolean =>
  order?.state !== undefined && !endedStates.includes(order.state) && !order.isCancelPending;

/**
 * Reads the lists, and checks the guard rails. If a list cannot be read or a guard rail refuses, abandons the intent.
 */
async function approve(
  deps: SendDeps,
  { id, wanted: { operation, options: { signal } }, params, why, fingerprint }: CheckedWrite,
): Promise<Approval> {
  const { records, client } = deps;
  const { machine } = records;
  const at = instantOf(machine);
  try {
    const [target] = targetsOf({ params });
    const isAgain = isRepeatable(operation, params) &&
      await unresolvedLike(records, fingerprint) !== undefined;
    // A cancellation of named orders creates no order, so the lists before it are needed only if it is sent a second
    // time.
    const reading = operation.order === "cancel" && target !== undefined && !isAgain
      ? undefined
      : await readLists(client, placeBefore(operation, params), {
        now: () => machine.now(),
        ...signal && { signal },
      });
    if (isAgain && !isCancellable(reading?.orders.get(target ?? ""))) {
      await refuseLike(records, fingerprint, operation.name);
    }
    const data = { ...await deps.guard?.({ id, operation, params, why, reading, client }) };
    const brokerAt = reading?.aheadMs === undefined ? undefined : machine.now() + reading.aheadMs;
    await records.first(
      operation.name,
      () => records.move(id, { to: "approved", by: "desk", data, brokerAt }),
    );
    return { reading, at };
  } catch (error) {
    await records.abandon(id, error);
    throw error;
  }
}

async function send(deps: SendDeps, write: CheckedWrite, approval: Approval): Promise<unknown> {
  const { records } = deps;
  const { id, wanted } = write;
  const { operation, options } = wanted;
  let isBegun = false;
  let mayLeave = () => {};
  let answer: unknown;
  try {
    answer = await wanted.send({
      ...options,
      onLateAnswer: (late) => {
        options.onLateAnswer?.(late);
        // Nobody waits for this error. If the store still fails, the caller's next statement on the store reports it.
        recordLate(records, id, late).catch(() => {});
      },
      beforeWrite: async () => {
        await options.beforeWrite?.();
        mayLeave = await records.first(operation.name, () => begin(deps, write, approval));
        isBegun = true;
      },
      // The process may have been suspended while the transport connected.
      beforeFirstByte() {
        mayLeave();
        options.beforeFirstByte?.();
      },
    });
  } catch (error) {
    if (!isBegun) {
      await records.abandon(id, error);
      throw error;
    }
    return await noAnswer(deps, id, { wanted, error });
  }
  await takeAnswer(records, write, answer);
  return answer;
}

/**
 * Records in the store that bytes may be sent from now on. If this fails, nothing is sent.
 *
 * @returns A check to call right before the first byte. It throws if a halt file has appeared in the meantime, or if
 * this machine's clock is wrong. It also throws if too much time has passed, because another process may have proven by
 * then that the write was not sent. It does not look for a halt in the store again.
 */
async function begin(
  deps: SendDeps,
  { id, wanted: { operation }, fingerprint, params, why }: CheckedWrite,
  { reading, at: approvedAt }: Approval,
): Promise<() => void> {
  const { records } = deps;
  const { store, machine, account } = records;
  if (operation.order !== "cancel" && isLonger(machine, approvedAt, APPROVAL_MS)) {
    throw new BrokerError(
      `Cannot send ${operation.name}: its checks are more than ${
        APPROVAL_MS / 1_000
      } s old, and prices and cash may ` +
        "have changed; nothing was sent, so send it again",
      { code: "old-approval", operation: operation.name },
    );
  }
  const checkMachine = () => {
    const file = deps.haltedByFile?.();
    if (file !== undefined) throw halted(file, operation.name);
    refuseWrongClock(store, operation.name);
  };
  checkMachine();
  let recordedAt = instantOf(machine);
  await store.transaction(async () => {
    recordedAt = instantOf(machine);
    refuseWrongClock(store, operation.name); // the transaction has just read the shared clock
    await deps.confirm?.();
    const halt = await haltInStore(records);
    if (halt !== undefined) throw halted(halt, operation.name);
    // Since this intent was planned, another process may have sent the same order, or ended the plan that the order
    // belongs to.
    if (!isRepeatable(operation, params)) await refuseLike(records, fingerprint, operation.name);
    const kind = operation.order ?? "place";
    await refuseBeyondPlan(store, account, { kind, operation: operation.name, params, why, own: id });
    const at = machine.now();
    const sentNumber = await countWrite(store, {
      account,
      runKey: why.runKey ?? id,
      step: why.step ?? operation.name,
      at,
    });
    const sent = {
      ...knownBefore(operation, params, reading),
      // If the clocks differ, use the earlier one. If readings began too late, they could miss the order.
      readSince: Math.min(at, at + (reading?.aheadMs ?? 0)),
      sentAt: at,
      sentNumber,
    };
    await records.move(id, { to: "sent", by: "desk", at, sent });
  });
  await store.mark();
  const mayLeave = () => {
    checkMachine();
    if (!isLonger(machine, recordedAt, RECORD_MS)) return;
    throw new BrokerError(
      `Cannot send ${operation.name}: it was recorded more than ${
        RECORD_MS / 1_000
      } s ago, because the store was slow or this process was suspended; nothing was sent, so send it again`,
      { code: "late-record", operation: operation.name },
    );
  };
  mayLeave(); // check again: the statements above may have taken long
  return mayLeave;
}

/**
 * Returns what the search for a lost answer needs from the lists that were read just before the write: the orders in
 * these lists, and the terms of an amended order.
 */
function knownBefore(
  { order: kind }: AnyOperation,
  params: Readonly<Record<string, unknown>>,
  reading: ListReading | undefined,
): Pick<Intent, "known" | "earlier"> {
  const orders = [...reading?.orders.values() ?? []];
  const isOpen = ({ state }: SeenOrder) => state === undefined || !endedStates.includes(state);
  const target = reading?.orders.get(targetsOf({ params })[0] ?? "");
  return {
    // A cancellation of all orders applies to the orders that are open now.
    known: orders.filter((each) => kind !== "cancel" || isOpen(each)).map(({ orderId }) => orderId),
    earlier: kind === "amend" && target !== undefined ? amendableTerms(target) : undefined,
  };
}

async function takeAnswer(
  records: Records,
  { id, wanted: { operation } }: CheckedWrite,
  answer: unknown,
): Promise<void> {
  const orderIds = idsIn(answer);
  try {
    await records.keep(() => acknowledge(records, id, { orderIds, data: { answer } }));
  } catch (error) {
    throw new OutcomeUnknownError(
      `The broker accepted ${operation.name} (order ${
        orderIds.join(", ")
      }), but the store "${records.store.name}" could ` +
        `not record it: ${messageOf(error)}; the desk finds it in the broker's lists later`,
      { code: "not-recorded", operation: operation.name, lists: provingLists(operation), cause: error },
    );
  }
}

/**
 * Throws if this machine's clock differs too much from the clock of the store. With a wrong clock, the desk could count
 * orders on a wrong day, or conclude too early that an order is not at the broker.
 */
export function refuseWrongClock({ clockFault }: Pick<Store, "clockFault">, operation?: string): void {
  if (clockFault === undefined) return;
  throw new BrokerError(
    `Cannot send ${
      operation ?? "orders"
    }: ${clockFault}; nothing was sent; until the clock is right, cancel orders ` +
      "in the broker's app",
    { code: "wrong-clock", ...operation !== undefined && { operation } },
  );
}

/** Returns why order writes are halted; `undefined` if they are not. */
export const whyHalted = async (
  { records, haltedByFile }: Pick<SendDeps, "records" | "haltedByFile">,
): Promise<string | undefined> => haltedByFile?.() ?? await haltInStore(records);

async function haltInStore(
  { store, account }: Pick<Records, "store" | "account">,
): Promise<string | undefined> {
  const halt = await findHalt(store, account);
  return halt && `${halt.why} (by ${halt.by})`;
}

function halted(why: string, operation: string): BrokerError {
  return new BrokerError(
    `Cannot send ${operation}: trading is halted: ${why}; to continue, run: hsgate resume`,
    { code: "halted", operation },
  );
}
