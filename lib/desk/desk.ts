/**
 * The order desk: every order write of an account goes through it. The desk records each write before the first byte
 * leaves. If the answer to a write is lost, the desk looks for the outcome in the broker's lists. It follows each order to
 * its end.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { intercepted, type WantedWrite } from "../client/intercept.ts";
import type { WatchOptions } from "../client/watch.ts";
import { add, compare } from "../decimal.ts";
import { BrokerError, type Issue, OutcomeUnknownError, ProtocolError, RejectedError } from "../errors.ts";
import { findOperation } from "../operations/mod.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { provingLists } from "../operations/proof.ts";
import { countWrite } from "../store/last_writes.ts";
import type { Store } from "../store/store.ts";
import { isPassing, onceMore } from "../store/store_error.ts";
import { type Machine, wait } from "../time.ts";
import type { TransportEvent } from "../transports/push/events.ts";
import type { LateAnswer } from "../transports/transport.ts";
import { endedStates, type ListPlace, type Look, look, placeOf, type SeenOrder } from "./broker_lists.ts";
import { fingerprintOf, judge, provesAbsence, targetsOf, termsOf } from "./prove.ts";
import {
  type AbsentLooks,
  findHalt,
  findIntent,
  insertIntent,
  type Intent,
  type Move,
  moveIntent,
  noteIntent,
  openIntents,
  ownedOrders,
  type Owner,
  unresolvedLike,
  type Why,
} from "./queries.ts";
import { mayChange, unresolvedStates } from "./states.ts";

/** An order write that a guard rail checks before it is sent. */
export interface PlannedWrite {
  /** Its intent, which is already in the store. */
  id: string;
  operation: AnyOperation;
  params: Readonly<Record<string, unknown>>;
  why: Why;
  /** The broker's lists just before the write; absent for a cancellation of named orders. */
  looked: Look | undefined;
  /** The client, for further reads. */
  client: Client;
}

/** Options of {@linkcode Desk}. */
export interface DeskOptions {
  store: Store;
  machine: Machine;
  /** The account; intents of other accounts in the store do not concern this desk. */
  account: string;
  /** The client that sends. */
  client: Client;
  /**
   * Checks a write before it is sent. Throws if it is not allowed; otherwise may resolve to what the record of the
   * approval keeps. @default allows everything
   */
  guard?(planned: PlannedWrite): object | void | Promise<object | void>;
  /** Returns why a file of this machine stops every write, if one does. Asked right before each write. @default none */
  haltedByFile?(): string | undefined;
  /** Called with each change of an intent. */
  onChange?(intent: Intent): void;
  /** Time limit of calls that set none; the same as the transport's. @default 10 s */
  timeoutMs?: number;
  /** How long a write looks for its outcome in the broker's lists after its answer was lost. @default 15 s */
  resolveMs?: number;
}

/** Result of {@linkcode Desk.reconcile}. */
export interface Reconciled {
  /** Intents whose state changed, as they are now. */
  changed: readonly Intent[];
  /** Intents whose outcome is still unknown, each with what is missing for a proof. */
  unresolved: readonly { intent: Intent; missing: string }[];
  /** Orders in the lists that no intent of this store has placed: made in the broker's app, or by another program. */
  foreign: readonly SeenOrder[];
  /** Every order in the lists that were read, by its id. */
  seen: ReadonlyMap<string, SeenOrder>;
}

/** Waits before each look at the lists after a lost answer; the last wait repeats. */
const LOOK_WAITS_MS = [500, 1_500, 3_000, 5_000];
/** How long to try to record an answer while the store cannot be used, and the time between two tries. */
const KEEP_MS = 20_000;
const KEEP_AGAIN_MS = 1_000;
/** An intent that was planned this long ago and never sent belongs to a process that ended. */
const PLANNED_MS = 10 * 60_000;
/** If a sent intent has no answer this long after the time limit of its call, its process has ended. */
const SENT_MS = 30_000;
/** An order for one day has expired when it is this old and the lists still do not show its end. */
const DAY_ORDER_MS = 36 * 3_600_000;
/** A conditional order is valid for at most 100 days, and the order that it places for one more day. */
const LONGEST_ORDER_MS = 102 * 24 * 3_600_000;
/** Lists whose orders may last for many days. */
const lastingLists = ["conditionalOrders.today", "futures.ordersToday"];

/** Sends the order writes of one account, and follows them. */
export class Desk {
  readonly #options: DeskOptions;
  /** Resolves when the intents that an earlier process left open have been compared with the broker's lists. */
  #started: Promise<unknown> | undefined;
  /** Intents that a call of this process is sending. */
  readonly #underWay = new Set<string>();

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /**
   * Returns a client whose order writes go through the desk.
   *
   * @param why Who writes, for the record.
   */
  client(why: Why = {}): Client {
    const client = intercepted(this.#options.client, {
      write: (wanted) => this.#write(wanted, why),
      raw: (path, _params, send) => this.#raw(path, send),
    });
    return { ...client, watch: (options) => this.#watch(client, options) };
  }

  /** Passes pushes on. Looks at the lists after each push of an order, and after a break, because fills may be missing. */
  async *#watch(client: Client, options?: WatchOptions): AsyncIterableIterator<TransportEvent> {
    let looking: Promise<unknown> | undefined;
    let failure: { error: unknown } | undefined;
    for await (const event of client.watch(options)) {
      const isTold = event.type === "order" || event.type === "gap";
      if (isTold && looking === undefined) {
        looking = this.reconcile({ ...options?.signal && { signal: options.signal } }).catch((error) => {
          // A look that fails proves nothing; the next push, or the next write, looks again.
          if (!(error instanceof BrokerError)) failure = { error };
        }).finally(() => looking = undefined);
      }
      if (failure !== undefined) throw failure.error;
      yield event;
    }
    await looking;
  }

  /** Rejects a raw call of an order write: the desk could not read its terms. */
  async #raw(path: string, send: () => Promise<unknown>): Promise<unknown> {
    const known = findOperation(path.slice(path.lastIndexOf("/") + 1));
    if (known?.order === undefined) return await send();
    throw new BrokerError(
      `Cannot send ${path} as a raw call: it writes orders, and the order desk must record them; call ${known.name}`,
      { code: "raw-order", operation: known.name },
    );
  }

  async #write(wanted: WantedWrite, why: Why): Promise<unknown> {
    const { operation, params: given, options } = wanted;
    const issues: Issue[] = [];
    operation.request.check(given, [], issues);
    // Without valid parameters the client itself throws before it sends anything.
    if (operation.order === undefined || issues.length > 0) return await wanted.send(options);
    const params = given as Readonly<Record<string, unknown>>; // the check above accepts only records
    await this.#start();
    const { store, machine, account } = this.#options;
    const fingerprint = fingerprintOf(operation.name, params);
    const { order: kind, name } = operation;
    const id = machine.id();
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs ?? 10_000;
    const createdAt = machine.now();
    await this.#first(name, async () => {
      await this.#refuseLike(fingerprint, name);
      await insertIntent(store, {
        id,
        account,
        kind,
        operation: name,
        params,
        fingerprint,
        why,
        createdAt,
        timeoutMs,
      });
    });
    this.#underWay.add(id);
    try {
      const looked = await this.#approve(id, operation, params, why, options.signal);
      return await this.#send(id, wanted, { looked, fingerprint });
    } finally {
      this.#underWay.delete(id);
    }
  }

  /** Reconciles once before the first write, if an earlier process left intents open. */
  async #start(): Promise<void> {
    const { store, account } = this.#options;
    this.#started ??= openIntents(store, account).then((open) =>
      open.length > 0 ? this.reconcile() : undefined
    );
    try {
      await this.#started;
    } catch (error) {
      this.#started = undefined; // try again before the next write
      throw error;
    }
  }

  /** Does work that must be done before anything is sent. Its failure is an error that proves that nothing was sent. */
  async #first<T>(operation: string, work: () => Promise<T>): Promise<T> {
    try {
      return await onceMore(work);
    } catch (error) {
      if (error instanceof BrokerError) throw error;
      throw new BrokerError(
        `Cannot send ${operation}: the store "${this.#options.store.name}" could not record it first: ${
          reasonOf(error)
        }`,
        { code: "store", operation, cause: error },
      );
    }
  }

  /** Throws if an intent that asks for the same is unresolved: the broker could execute both. */
  async #refuseLike(fingerprint: string, operation: string): Promise<void> {
    const { store, account } = this.#options;
    const other = await unresolvedLike(store, account, fingerprint);
    if (other === undefined) return;
    throw new BrokerError(
      `Cannot send ${operation}: the outcome of intent ${other.id}, which asks for the same, is "${other.state}"; ` +
        `look at it with: hsgate orders show ${other.id}`,
      { code: "unresolved-intent", operation },
    );
  }

  /** Reads the lists, and checks the guard rails. If a list cannot be read or a guard rail refuses, abandons the intent. */
  async #approve(
    id: string,
    operation: AnyOperation,
    params: Readonly<Record<string, unknown>>,
    why: Why,
    signal: AbortSignal | undefined,
  ): Promise<Look | undefined> {
    const { client, machine, guard } = this.#options;
    try {
      // A cancellation of named orders creates no order, so the lists before it are not needed.
      const looked = operation.order === "cancel" && targetsOf({ params }).length > 0
        ? undefined
        : await look(client, placeOf(operation, params), {
          now: () => machine.now(),
          since: machine.now(),
          ...signal && { signal },
        });
      const data = { ...await guard?.({ id, operation, params, why, looked, client }) };
      await this.#first(operation.name, () => this.#move(id, { to: "approved", by: "desk", data }));
      return looked;
    } catch (error) {
      await this.#abandon(id, error);
      throw error;
    }
  }

  /** Abandons an intent of which nothing was sent. */
  async #abandon(id: string, error: unknown): Promise<void> {
    try {
      await this.#move(id, { to: "abandoned", by: "desk", data: { why: reasonOf(error) } });
    } catch {
      // The caller gets the error of the write, which says more. A later `reconcile`
      // abandons the intent or marks it as unknown.
    }
  }

  async #send(
    id: string,
    wanted: WantedWrite,
    { looked, fingerprint }: { looked: Look | undefined; fingerprint: string },
  ): Promise<unknown> {
    const { operation, options } = wanted;
    let isBegun = false;
    let answer: unknown;
    try {
      answer = await wanted.send({
        ...options,
        onLateAnswer: (late) => {
          options.onLateAnswer?.(late);
          // The store reports its own failures at the next statement of the caller.
          this.#takeLate(id, late).catch(() => {});
        },
        beforeWrite: async () => {
          await options.beforeWrite?.();
          await this.#first(operation.name, () => this.#begin(id, operation, { looked, fingerprint }));
          isBegun = true;
        },
      });
    } catch (error) {
      if (!isBegun) {
        await this.#abandon(id, error);
        throw error;
      }
      return await this.#noAnswer(id, wanted, error);
    }
    await this.#takeAnswer(id, operation, answer);
    return answer;
  }

  /** Commits to the store that bytes may leave from now on. Nothing is sent if this fails. */
  async #begin(
    id: string,
    operation: AnyOperation,
    { looked, fingerprint }: { looked: Look | undefined; fingerprint: string },
  ): Promise<void> {
    const { store, machine, account, haltedByFile } = this.#options;
    const checkFile = () => {
      const file = haltedByFile?.();
      if (file !== undefined) throw halted(file, operation.name);
    };
    checkFile();
    await store.transaction(async () => {
      const halt = await findHalt(store, account);
      if (halt !== undefined) throw halted(`${halt.why} (by ${halt.by})`, operation.name);
      // Another process may have sent the same since this intent was planned.
      await this.#refuseLike(fingerprint, operation.name);
      const at = machine.now();
      const { why } = await this.#move(id, {
        to: "sent",
        by: "desk",
        at,
        sentAt: at,
        known: [...looked?.orders.keys() ?? []],
      });
      await countWrite(store, {
        account,
        runKey: why.runKey ?? id,
        step: why.step ?? operation.name,
        at,
      });
    });
    await store.mark();
    checkFile(); // the store may have taken long
  }

  async #takeAnswer(id: string, operation: AnyOperation, answer: unknown): Promise<void> {
    const { store } = this.#options;
    const orderIds = idsIn(answer);
    try {
      await this.#keep(async () => {
        const intent = await this.#acknowledge(id, orderIds, { answer });
        if (operation.order === "amend") await this.#noteAmended(intent);
      });
    } catch (error) {
      throw new OutcomeUnknownError(
        `The broker accepted ${operation.name} (order ${
          orderIds.join(", ")
        }), but the store "${store.name}" could ` +
          `not record it: ${reasonOf(error)}; the desk finds it in the broker's lists later`,
        { code: "not-recorded", operation: operation.name, lists: provingLists(operation), cause: error },
      );
    }
  }

  /** Records an answer, unless an earlier try did: a commit may succeed although it seemed to fail. */
  async #acknowledge(
    id: string,
    orderIds: readonly string[],
    data: Readonly<Record<string, unknown>>,
  ): Promise<Intent> {
    const intent = (await findIntent(this.#options.store, id))!; // it was recorded before the write was sent
    if (intent.state === "acknowledged") return intent;
    // If the answer to a cancellation names no order, it is about the orders of the request.
    const ids = orderIds.length > 0 ? orderIds : targetsOf(intent);
    return await this.#move(id, { to: "acknowledged", by: "answer", orderIds: ids, data });
  }

  /** Does work in the store that must not be lost: while the store cannot be used, tries again for a while. */
  async #keep<T>(work: () => Promise<T>): Promise<T> {
    const { machine } = this.#options;
    const endAt = machine.monotonic() + KEEP_MS;
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isPassing(error) || machine.monotonic() >= endAt) throw error;
      }
      await wait(machine, KEEP_AGAIN_MS);
    }
  }

  /** Adds the order that an amendment created to the intent that placed the amended order. */
  async #noteAmended(amendment: Intent): Promise<void> {
    const { store } = this.#options;
    const [target = ""] = targetsOf(amendment);
    const owner = (await this.#owned()).get(target);
    const placed = owner && await findIntent(store, owner.intent);
    if (placed === undefined) return;
    await noteIntent(store, placed.id, {
      orderIds: [...new Set([...placed.orderIds, ...amendment.orderIds])],
    });
  }

  /**
   * Records how a write failed. If its outcome is unknown, looks for it in the broker's lists for a while, and returns the
   * answer that the broker would have sent.
   */
  async #noAnswer(id: string, wanted: WantedWrite, error: unknown): Promise<unknown> {
    const { operation, options } = wanted;
    const data = { why: reasonOf(error) };
    if (error instanceof RejectedError) {
      await this.#keep(() => this.#moveOnce(id, { to: "rejected", by: "answer", data }));
      throw error;
    }
    // Only hsgate's own classes prove that nothing was sent; any other error may come after the first byte.
    const isUnknown = !(error instanceof BrokerError) || error instanceof OutcomeUnknownError ||
      error instanceof ProtocolError;
    if (!isUnknown) {
      await this.#keep(() => this.#moveOnce(id, { to: "abandoned", by: "answer", data }));
      throw error;
    }
    await this.#keep(() => this.#moveOnce(id, { to: "unknown", by: "desk", data }));
    const found = await this.#lookFor(id, options.signal);
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
  async #lookFor(id: string, signal: AbortSignal | undefined): Promise<Intent | undefined> {
    const { machine, resolveMs = 15_000, store } = this.#options;
    const endAt = machine.monotonic() + resolveMs;
    for (let turn = 0;; turn++) {
      const waitMs = LOOK_WAITS_MS[turn] ?? LOOK_WAITS_MS.at(-1)!;
      if (signal?.aborted || machine.monotonic() + waitMs > endAt) return undefined;
      await wait(machine, waitMs, signal).catch(() => {}); // only the signal ends it early
      if (signal?.aborted) return undefined;
      try {
        await this.#reconcileOnly(id);
      } catch (error) {
        // The broker's lists cannot be read now. The error of the write says more than this error.
        if (!(error instanceof BrokerError)) throw error;
      }
      const intent = await findIntent(store, id);
      if (intent !== undefined && intent.state !== "unknown") {
        return intent.state === "abandoned" || intent.state === "ambiguous" ? undefined : intent;
      }
    }
  }

  /** Takes an answer that came after its call was given up. */
  async #takeLate(id: string, { result, error }: LateAnswer): Promise<void> {
    const intent = await findIntent(this.#options.store, id);
    if (intent === undefined) return;
    const data = { late: true, ...error !== undefined ? { why: reasonOf(error) } : { answer: result } };
    if (error instanceof RejectedError) {
      if (mayChange(intent.state, "rejected", "answer")) {
        await this.#move(id, { to: "rejected", by: "answer", data });
      }
      return;
    }
    if (error !== undefined || !mayChange(intent.state, "acknowledged", "answer")) return;
    await this.#acknowledge(id, idsIn(result), data);
  }

  /**
   * Compares the open intents of the account with the broker's lists: follows orders to their ends, resolves unknown
   * outcomes, and finds orders that were made elsewhere. Call it on start, after a break of the pushes, and every few
   * minutes while intents are open.
   *
   * @param markets Markets whose foreign orders are wanted too, even if no intent is open there.
   * @throws {BrokerError} If a list cannot be read to its end; that list then proves nothing.
   */
  async reconcile(
    { signal, markets = [] }: { signal?: AbortSignal; markets?: readonly string[] } = {},
  ): Promise<Reconciled> {
    const { store, account } = this.#options;
    await this.#giveUpOld();
    const intents = (await openIntents(store, account)).filter(({ id, state }) =>
      !this.#underWay.has(id) && state !== "planned" && state !== "approved"
    );
    const changed: Intent[] = [];
    const unresolved: { intent: Intent; missing: string }[] = [];
    const seen = new Map<string, SeenOrder>();
    for (const { place, members, since } of placesOf(intents, markets, this.#options.machine.now())) {
      const looked = await look(this.#options.client, place, {
        now: () => this.#options.machine.now(),
        since,
        ...signal && { signal },
      });
      for (const intent of members) {
        const missing = await this.#compare(intent, looked);
        const now = (await findIntent(store, intent.id))!; // intents are only removed after their end
        if (now.state !== intent.state) changed.push(now);
        if (missing !== undefined) unresolved.push({ intent: now, missing });
      }
      for (const order of looked.orders.values()) seen.set(order.orderId, order);
    }
    const foreign = new Map(seen);
    for (const orderId of (await this.#owned()).keys()) foreign.delete(orderId);
    return { changed, unresolved, foreign: [...foreign.values()], seen };
  }

  async #reconcileOnly(id: string): Promise<void> {
    const { store, client, machine } = this.#options;
    const intent = await findIntent(store, id);
    const operation = intent && findOperation(intent.operation);
    if (intent === undefined || operation === undefined) return;
    const looked = await look(client, placeOf(operation, intent.params), {
      now: () => machine.now(),
      since: intent.sentAt ?? intent.createdAt,
    });
    await this.#compare(intent, looked);
  }

  /** Abandons the unsent intents of processes that ended. Marks their sent intents without an answer as unknown. */
  async #giveUpOld(): Promise<void> {
    const { store, account, machine } = this.#options;
    const now = machine.now();
    for (const { id, state, createdAt, sentAt, timeoutMs } of await openIntents(store, account)) {
      if (this.#underWay.has(id)) continue;
      const isUnsent = state === "planned" || state === "approved";
      if (isUnsent && now - createdAt > PLANNED_MS) {
        const why = "the process that planned it ended before it sent anything";
        await this.#move(id, { to: "abandoned", by: "desk", data: { why } });
      }
      if (state === "sent" && now - (sentAt ?? createdAt) > timeoutMs + SENT_MS) {
        await this.#move(id, { to: "unknown", by: "desk", data: { why: "no process waits for its answer" } });
      }
    }
  }

  /** Applies a look to an intent. Returns what is missing for a proof if its outcome stays unknown. */
  async #compare(intent: Intent, looked: Look): Promise<string | undefined> {
    if (intent.state === "sent") return "its answer";
    if (intent.state === "ambiguous") return "a person's decision";
    if (intent.state !== "unknown") {
      await this.#follow(intent, looked);
      return undefined;
    }
    const owned = await this.#othersOf(intent);
    const verdict = judge(intent, looked, new Set(owned.keys()));
    switch (verdict.is) {
      case "sent": {
        const move = { to: "acknowledged", by: "list", orderIds: verdict.orderIds } as const;
        const now = await this.#move(intent.id, { ...move, data: { lists: looked.lists } });
        if (intent.kind === "amend") await this.#noteAmended(now);
        await this.#follow(now, looked);
        return undefined;
      }
      case "ambiguous":
        await this.#move(intent.id, {
          to: "ambiguous",
          by: "list",
          data: { why: verdict.why, orderIds: verdict.orderIds, lists: looked.lists },
        });
        return "a person's decision";
      case "partial":
        return `the rest of it: the lists show only ${verdict.orderIds.join(", ")}`;
      case "absent":
        return await this.#countAbsence(intent, looked, owned);
    }
  }

  /** Returns the orders that the account's intents placed within {@linkcode LONGEST_ORDER_MS}. Older orders have ended. */
  async #owned(): Promise<Map<string, Owner>> {
    const { store, account, machine } = this.#options;
    return await ownedOrders(store, account, machine.now() - LONGEST_ORDER_MS);
  }

  /** Returns the orders of all intents except this one. */
  async #othersOf({ id }: Intent): Promise<Map<string, Owner>> {
    return new Map([...await this.#owned()].filter(([, { intent }]) => intent !== id));
  }

  async #countAbsence(
    intent: Intent,
    looked: Look,
    owned: ReadonlyMap<string, Owner>,
  ): Promise<string | undefined> {
    const { store } = this.#options;
    const before = intent.absent;
    const brokerAt = looked.aheadMs === undefined ? undefined : looked.beganAt + looked.aheadMs;
    // If a clock went back, the time between the looks is unknown: begin again.
    const isBack = before !== undefined && (looked.beganAt < before.lastAt ||
      (brokerAt ?? Infinity) < (before.lastBrokerAt ?? -Infinity));
    const earlier = isBack ? undefined : before;
    const firstBrokerAt = earlier === undefined ? brokerAt : earlier.firstBrokerAt;
    const absent: AbsentLooks = {
      count: (earlier?.count ?? 0) + 1,
      firstAt: earlier?.firstAt ?? looked.beganAt,
      lastAt: looked.beganAt,
      ...firstBrokerAt !== undefined && { firstBrokerAt },
      ...brokerAt !== undefined && { lastBrokerAt: brokerAt },
    };
    await noteIntent(store, intent.id, { absent });
    const sentAt = intent.sentAt ?? intent.createdAt;
    const later = new Set(
      [...owned].filter(([, owner]) => owner.sentAt > sentAt).map(([orderId]) => orderId),
    );
    const proven = provesAbsence(intent, { absent, looked, later });
    if ("missing" in proven) return proven.missing;
    await this.#move(intent.id, { to: "abandoned", by: "list", data: { proof: proven.proof } });
    return undefined;
  }

  /** Follows the orders of an acknowledged intent. */
  async #follow(intent: Intent, looked: Look): Promise<void> {
    const { store, machine } = this.#options;
    const orderIds = intent.kind === "place" ? await this.#withParts(intent, looked) : intent.orderIds;
    const rows = orderIds.map((id) => looked.orders.get(id));
    const seen = rows.filter((row) => row !== undefined);
    if (seen.length === 0 || seen.length < rows.length) return; // a list may lag behind: conclude nothing
    const filled = add("0", ...seen.map((row) => row.filled));
    if (compare(filled, intent.filled) < 0) return; // an older state of the list than the one seen before
    const listed = stateOf(seen);
    if (listed === undefined) return;
    const isOver = machine.now() - (intent.sentAt ?? intent.createdAt) > DAY_ORDER_MS &&
      !looked.lists.some((list) => lastingLists.includes(list)) && !endedStates.includes(listed);
    const to = isOver ? "expired" : listed;
    if (to === intent.state) {
      if (compare(filled, intent.filled) !== 0) await noteIntent(store, intent.id, { filled });
      return;
    }
    const remark = seen.map((row) => row.remark).find((each) => each !== undefined && each !== "");
    await this.#move(intent.id, {
      to,
      by: "list",
      orderIds,
      filled,
      data: { lists: looked.lists, ...remark !== undefined && { remark } },
    });
  }

  /** Returns all orders of an intent. If the broker split its order, the answer names only the first part. */
  async #withParts(intent: Intent, looked: Look): Promise<readonly string[]> {
    const { quantity } = termsOf(intent);
    const own = intent.orderIds.map((id) => looked.orders.get(id)?.quantity);
    if (quantity === undefined || own.length !== 1 || own[0] === undefined) return intent.orderIds;
    if (compare(own[0], quantity) >= 0) return intent.orderIds;
    const others = new Set((await this.#othersOf(intent)).keys());
    const all = judge({ ...intent, kind: "place" }, looked, others);
    if (all.is !== "sent" || !intent.orderIds.every((id) => all.orderIds.includes(id))) {
      return intent.orderIds;
    }
    await noteIntent(this.#options.store, intent.id, { orderIds: all.orderIds });
    return all.orderIds;
  }

  /** Records a person's decision about an unresolved intent. */
  async decide(id: string, decision: Decision, by: string): Promise<Intent> {
    const { store, machine, onChange } = this.#options;
    const intent = await decideIntent(store, id, { ...decision, by, at: machine.now() });
    onChange?.(intent);
    return intent;
  }

  /** Moves an intent, unless an earlier try did: a commit may succeed although it seemed to fail. */
  async #moveOnce(id: string, move: Omit<Move, "at">): Promise<void> {
    const intent = await findIntent(this.#options.store, id);
    if (intent?.state !== move.to) await this.#move(id, move);
  }

  async #move(id: string, move: Omit<Move, "at"> & { at?: number }): Promise<Intent> {
    const { store, machine, onChange } = this.#options;
    const intent = await moveIntent(store, id, { at: machine.now(), ...move });
    onChange?.(intent);
    return intent;
  }
}

/** What a person found about an unresolved intent, and why the person is sure. */
export type Decision =
  & ({ wasSent: true; orderIds: readonly string[] } | { wasSent: false })
  & { because?: string };

/**
 * Records a person's decision about an unresolved intent, without a connection.
 *
 * @throws {TypeError} If the intent is not unresolved, or if an order belongs to another intent.
 */
export async function decideIntent(
  store: Store,
  id: string,
  { by, at, because, ...decision }: Decision & { by: string; at: number },
): Promise<Intent> {
  const intent = await findIntent(store, id);
  if (intent === undefined) throw new TypeError(`Cannot resolve "${id}": there is no such intent`);
  if (!unresolvedStates.includes(intent.state) || intent.state === "sent") {
    throw new TypeError(
      `Cannot resolve "${id}": it is "${intent.state}", so its outcome is known or under way`,
    );
  }
  const orderIds = decision.wasSent ? decision.orderIds : undefined;
  if (intent.kind === "place" && orderIds !== undefined) {
    const owned = await ownedOrders(store, intent.account, at - LONGEST_ORDER_MS);
    for (const orderId of orderIds) {
      const owner = owned.get(orderId)?.intent;
      if (owner === undefined || owner === id) continue;
      throw new TypeError(`Cannot resolve "${id}": order ${orderId} belongs to intent ${owner}`);
    }
  }
  return await moveIntent(store, id, {
    to: decision.wasSent ? "acknowledged" : "abandoned",
    by: "person",
    at,
    data: { by, ...because !== undefined && { because } },
    ...orderIds !== undefined && { orderIds },
  });
}

/** Returns the state that the rows of an intent's orders show together; `undefined` if one of them is unknown. */
function stateOf(rows: readonly SeenOrder[]): Exclude<SeenOrder["state"], undefined> | undefined {
  const states = rows.map(({ state }) => state);
  if (states.includes(undefined)) return undefined;
  const has = (state: SeenOrder["state"]) => states.includes(state);
  if (states.every((state) => endedStates.includes(state!))) {
    if (states.every((state) => state === states[0])) return states[0];
    // Parts that ended differently: what is not filled is cancelled, rejected or expired.
    return has("expired") ? "expired" : has("cancelled") ? "cancelled" : "rejected";
  }
  const hasFill = rows.some(({ filled }) => compare(filled, "0") > 0);
  return hasFill ? "part-filled" : has("working") ? "working" : "acknowledged";
}

/** Intents whose lists are read together. */
interface PlacedIntents {
  place: ListPlace;
  members: Intent[];
  since: number;
}

/** Groups intents by the lists that show them. */
function placesOf(intents: readonly Intent[], markets: readonly string[], now: number): PlacedIntents[] {
  const places = new Map<string, PlacedIntents>();
  const placed = (place: ListPlace) => {
    const key = JSON.stringify([place.market, place.lists]);
    const found = places.get(key) ?? { place, members: [], since: now };
    places.set(key, found);
    return found;
  };
  for (const intent of intents) {
    const operation = findOperation(intent.operation);
    if (operation === undefined) continue; // written by a newer version; it stays as it is
    const group = placed(placeOf(operation, intent.params));
    group.members.push(intent);
    group.since = Math.min(group.since, intent.sentAt ?? intent.createdAt);
  }
  const place = findOperation("orders.place");
  for (const market of markets) if (place !== undefined) placed(placeOf(place, { market }));
  return [...places.values()];
}

/** Returns the answer that the broker would have sent for an intent that the lists show. */
export function answerOf(operation: AnyOperation, intent: Intent): unknown {
  if (operation.undone !== undefined) return { cancelled: intent.orderIds, failed: [] };
  const [orderId] = intent.orderIds;
  return orderId === undefined ? undefined : { orderId };
}

/** Returns the orders that an answer names. */
function idsIn(answer: unknown): string[] {
  const { orderId, cancelled } = Object(answer) as { orderId?: unknown; cancelled?: unknown };
  if (typeof orderId === "string") return [orderId];
  return Array.isArray(cancelled) ? cancelled.filter((each) => typeof each === "string") : [];
}

function halted(why: string, operation: string): BrokerError {
  return new BrokerError(
    `Cannot send ${operation}: trading is halted: ${why}; to continue, run: hsgate resume`,
    {
      code: "halted",
      operation,
    },
  );
}

const reasonOf = (error: unknown): string => error instanceof Error ? error.message : String(error);
