/**
 * The order desk: every order write of an account goes through it. The desk records each write before the first byte is
 * sent. If the answer to a write is lost, the desk searches for the outcome in the broker's lists. It follows each
 * order until the order ends.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { intercepted, type WantedWrite } from "../client/intercept.ts";
import type { WatchOptions } from "../client/watch.ts";
import { BrokerError, type Issue } from "../errors.ts";
import { operationOfPath } from "../operations/mod.ts";
import type { Store } from "../store/store.ts";
import type { Machine } from "../time.ts";
import type { TransportEvent } from "../transports/push/events.ts";
import { decideIntent, type Decision } from "./decide.ts";
import type { Intent, Why } from "./intent.ts";
import { openIntents } from "./queries.ts";
import {
  needsReading,
  OLD_ORDERS_MS,
  type ReadingReason,
  reconcile,
  RECONCILE_MS,
  type Reconciled,
  type ReconcileOptions,
} from "./reconcile.ts";
import { Records, type RecordsOptions } from "./records.ts";
import { type SendDeps, sendWrite, whyHalted } from "./send.ts";

export type { Reconciled } from "./reconcile.ts";
export type { PlannedWrite } from "./send.ts";

/** Options of {@linkcode Desk}. */
export interface DeskOptions
  extends RecordsOptions, Pick<SendDeps, "client" | "guard" | "haltedByFile" | "confirm" | "resolveMs"> {
  /** Time limit of calls that have no time limit of their own. Pass the time limit of the transport. @default 10 s */
  timeoutMs?: number;
  /** Returns how long {@linkcode Desk.keepReconciled} waits before its next reading. @default 3 min */
  reconcileEveryMs?: (() => number) | undefined;
}

/** Sends the order writes of one account, and follows them. */
export class Desk {
  readonly #records: Records;
  readonly #deps: SendDeps;
  readonly #timeoutMs: number;
  readonly #reconcileEveryMs: () => number;
  /** Resolves when the desk has compared the intents of earlier processes with the broker's lists. */
  #started: Promise<unknown> | undefined;
  /** An internal error that a reading in the background has thrown. */
  #failure: { error: unknown } | undefined;

  /** Creates the order desk of an account. */
  constructor(
    { client, guard, haltedByFile, confirm, resolveMs, timeoutMs = 10_000, reconcileEveryMs, ...options }:
      DeskOptions,
  ) {
    this.#records = new Records(options);
    this.#timeoutMs = timeoutMs;
    this.#reconcileEveryMs = reconcileEveryMs ?? (() => RECONCILE_MS);
    this.#deps = {
      records: this.#records,
      client,
      underWay: new Set(),
      ...guard && { guard },
      ...haltedByFile && { haltedByFile },
      ...confirm && { confirm },
      ...resolveMs !== undefined && { resolveMs },
    };
  }

  /** The store that records the writes. */
  get store(): Store {
    return this.#records.store;
  }

  /** Clocks, timers and random numbers of the desk. */
  get machine(): Machine {
    return this.#records.machine;
  }

  /** Name of the account in the store. */
  get account(): string {
    return this.#records.account;
  }

  /** Returns why order writes are halted; `undefined` if they are not. */
  whyHalted(): Promise<string | undefined> {
    return whyHalted(this.#deps);
  }

  /**
   * Returns a client whose order writes go through the desk.
   *
   * @param why Who writes and why, for the record.
   */
  client(why: Why = {}): Client {
    const client = intercepted(this.#deps.client, {
      write: (wanted) => this.#write(wanted, why),
      raw: (path, _params, send) => this.#raw(path, send),
    });
    return { ...client, watch: (options) => this.#watch(client, options) };
  }

  /**
   * Yields the client's pushes. Reads the lists after each push about an order. Also reads them after an interruption
   * of the pushes, because fills may be missing. If a push arrives during a reading, the lists are read once more,
   * because the reading may have passed the changed row already.
   */
  async *#watch(client: Client, options?: WatchOptions): AsyncIterableIterator<TransportEvent> {
    let reconciling: Promise<void> | undefined;
    let hasNewPush = false;
    let failure: { error: unknown } | undefined;
    const throwFailure = () => {
      if (failure !== undefined) throw failure.error;
    };
    const reconcileWhilePushed = async (): Promise<void> => {
      while (hasNewPush && failure === undefined) {
        hasNewPush = false;
        try {
          await this.#reconcileAgain({ isPush: true }, options?.signal);
        } catch (error) {
          // If a reading fails, nothing is concluded from it. The next push or the next write starts another reading.
          if (!(error instanceof BrokerError || options?.signal?.aborted)) failure = { error };
        }
      }
      reconciling = undefined;
    };
    for await (const event of client.watch(options)) {
      if (event.type === "order" || event.type === "gap") {
        hasNewPush = true;
        reconciling ??= reconcileWhilePushed();
      }
      throwFailure();
      yield event;
    }
    await reconciling;
    throwFailure();
  }

  /** Rejects a raw call of an order write: the desk could not read its terms. */
  async #raw(path: string, send: () => Promise<unknown>): Promise<unknown> {
    const known = operationOfPath(path);
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
    const kind = operation.order;
    // If the parameters are invalid, the client throws before it sends anything.
    if (kind === undefined || issues.length > 0) return await wanted.send(options);
    const params = given as Readonly<Record<string, unknown>>; // the check above ensures that it is a record
    await this.#start();
    return await sendWrite(this.#deps, wanted, {
      kind,
      params,
      why,
      timeoutMs: options.timeoutMs ?? this.#timeoutMs,
    });
  }

  /** Reconciles once before the first write, if the store has open intents, for example of an earlier process. */
  async #start(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    this.#started ??= this.#reconcileOpen();
    try {
      await this.#started;
    } catch (error) {
      this.#started = undefined; // try again before the next write
      throw error;
    }
  }

  /** Reconciles if intents are open. */
  async #reconcileOpen(): Promise<void> {
    const { store, account } = this.#records;
    if ((await openIntents(store, account)).length > 0) await this.reconcile();
  }

  /** Reconciles in the background. Leaves out the intents that a reading for this reason cannot change. */
  async #reconcileAgain(reason: Omit<ReadingReason, "now">, signal?: AbortSignal): Promise<void> {
    const now = this.#records.machine.now();
    await this.reconcile({
      leavesOut: (intent) => !needsReading(intent, { now, ...reason }),
      ...signal && { signal },
    });
  }

  /**
   * While intents are open, compares them with the broker's lists: now, and then at the interval of the option
   * `reconcileEveryMs`. The timers do not keep the process running. If a reading fails, nothing is concluded from it,
   * and the lists are read again later.
   *
   * @returns A function that stops the readings, and resolves when a reading in progress has ended.
   */
  keepReconciled(): () => Promise<void> {
    const { machine } = this.#records;
    let isStopped = false;
    let cancel = () => {};
    /** From this instant of the monotonic clock, the next reading includes unknown intents of earlier days again. */
    let oldAt = -Infinity;
    const turn = async (work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        // This is an internal error. The next write throws it.
        if (!isStopped && !(error instanceof BrokerError)) this.#failure = { error };
      }
      if (isStopped) return;
      const round = async () => {
        const withOld = machine.monotonic() >= oldAt;
        if (withOld) oldAt = machine.monotonic() + OLD_ORDERS_MS;
        await this.#reconcileAgain({ withOld });
      };
      const next = () => void (last = turn(round));
      cancel = machine.setTimer(this.#reconcileEveryMs(), next, { isBackground: true });
    };
    let last = turn(() => this.#start());
    return async () => {
      isStopped = true;
      cancel();
      await last;
    };
  }

  /**
   * Compares the account's open intents with the broker's lists: follows orders until they end, resolves unknown
   * outcomes, and finds orders that were placed elsewhere. A process that keeps running uses {@linkcode
   * Desk.keepReconciled} instead.
   *
   * @throws {BrokerError} If a list cannot be read to its end: an incomplete list proves nothing.
   */
  async reconcile(options: ReconcileOptions = {}): Promise<Reconciled> {
    return await reconcile(this.#deps, options);
  }

  /** Records a person's decision about an unresolved intent. */
  async decide(id: string, decision: Decision, by: string): Promise<Intent> {
    const { store, machine } = this.#records;
    const intent = await decideIntent(store, id, { ...decision, by, at: machine.now() });
    this.#records.reportChange(intent);
    return intent;
  }
}
