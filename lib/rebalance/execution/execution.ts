/**
 * Executes a rebalancing plan in this process: sales first, then the purchases that the broker's cash covers. Uses
 * limit orders that are repriced, or algorithmic orders of the broker.
 *
 * The quantity that is left of a trade is computed from the intents of the plan. So a process that starts after a crash
 * orders no more than what is left.
 *
 * @module
 */
import { builtInCalendars, type Calendars, dateAt } from "../../calendars/mod.ts";
import type { Client } from "../../client/client.ts";
import { compare, type Decimal, isZero, normalize, toStep } from "../../decimal.ts";
import { endedStates, readLists, type SeenOrder } from "../../desk/broker_lists.ts";
import { GuardRefusal } from "../../desk/guards/check.ts";
import { currencyOf, mics } from "../../desk/guards/order.ts";
import type { Intent, Why } from "../../desk/intent.ts";
import { intentsOfPlan } from "../../desk/queries.ts";
import type { Reconciled, ReconcileOptions } from "../../desk/reconcile.ts";
import { termsOf } from "../../desk/terms.ts";
import type { Market } from "../../dictionaries/market.ts";
import {
  BrokerError,
  BusyError,
  DisplacedError,
  InvalidParamsError,
  type Issue,
  LoginExpiredError,
  LoginRefusedError,
  MarketClosedError,
  messageOf,
  OutcomeUnknownError,
  RejectedError,
  UnmappedError,
} from "../../errors.ts";
import type { Store } from "../../store/store.ts";
import { type Machine, readDuration, wait, waitUnlessAborted } from "../../time.ts";
import { Cover } from "./cover.ts";
import { type MarketHours, marketHours, marketTime } from "./hours.ts";
import { type Plan, type PlannedTrade } from "../solver/plan.ts";
import { arrivalOf, fitsLot, isOddIn, lotOf, type MarketView, orderPrice, readView } from "./pricing.ts";
import { isFullyFilled, type Progress, progressOf } from "./progress.ts";
import { endPlan, findPlan, notePlan, type PlanRecord, renewPlan, shortHash } from "../queries.ts";
import type { RebalanceReport } from "../results/report.ts";
import { reportOf } from "../results/results.ts";
import { type ExecutionTerms } from "../input/terms.ts";

/** The members of an order desk that an execution uses; `Desk` has them. */
export interface PlanDesk {
  /** Returns a client whose order writes are recorded, with the plan and the trade that they are part of. */
  client(why: Why): Client;
  reconcile(options?: ReconcileOptions): Promise<Reconciled>;
  whyHalted(): Promise<string | undefined>;
  readonly store: Store;
  readonly account: string;
  readonly machine: Machine;
}

/** An event of an execution, for a person who watches it. */
export interface ExecutionEvent {
  at: number;
  kind: "begun" | "placed" | "cancelling" | "note" | "ended";
  /** Index of the trade in the plan, from 0; absent if the event is about the whole plan. */
  trade?: number;
  text: string;
}

/** Options of {@linkcode rebalance}. */
export interface RebalanceOptions {
  /** Name of the person or program, for the records. @default "a script" */
  by?: string;
  /** Key of the run and step that executes the plan. When the run has ended, {@linkcode endLeftPlan} ends the plan. */
  stepKey?: string;
  /** Trading days and hours. @default the built-in calendars */
  calendars?: Calendars;
  /** Ends the execution: cancels its open orders and reports what remains. */
  signal?: AbortSignal;
  /**
   * Returns why no write can be sent any more; the execution then stops at once, and cancels nothing. Called every
   * `pollMs`, before the execution takes the next steps. @default always returns `undefined`
   */
  whyWritesEnded?(): Promise<string | undefined>;
  /** Called with each event of the execution. */
  onEvent?(event: ExecutionEvent): void;
  /** Time between two readings of the broker's lists, in milliseconds. @default 3 s */
  pollMs?: number;
}

/**
 * Duration of the executing process's lease: after each renewal, no other process may execute the plan for this long.
 */
export const LEASE_MS = 60_000;
/** How long a stopping execution waits for the end of its cancelled orders. */
const CANCEL_MS = 60_000;
/** If a cancellation has no effect, it is sent again after this time. */
const CANCEL_AGAIN_MS = 20_000;
/** Maximum number of cancellations that are sent for one order. */
const MOST_CANCELS = 3;
/**
 * How long a trade waits for missing cash or holdings. Then it orders what is covered; a sale of which nothing is
 * covered ends.
 */
const SHORT_MS = 15_000;
/** How the reason begins if the caller's signal ended the execution. */
export const STOPPED_BY = "it was stopped by";
/** Guard rails that may accept the same order later. */
export const passingRules: readonly string[] = [
  "maxOrdersPerMinute",
  "session",
  "quoteMaxAge",
  "buyingPower",
];
/** Codes of errors after which no order of the plan can be sent. */
const stopCodes: readonly (string | undefined)[] = [
  "halted",
  "wrong-clock",
  "plan-not-running",
  // The run of the execution must not write any more: its window has closed, live trading is off, or its step has
  // ended.
  "window",
  "plan",
  "step-over",
];

/** Rejections after which the broker may accept the same order later. */
const passingRejections = [MarketClosedError, LoginExpiredError, LoginRefusedError, BusyError];

/** Returns whether this process has lost its login: only a person can get the login back. */
const isLoginLost = (error: unknown): boolean =>
  error instanceof DisplacedError || error instanceof LoginRefusedError && error.reason === "password";

/** Returns whether no order of the plan can be sent after an error. */
const mustStop = (error: BrokerError): boolean => stopCodes.includes(error.code) || isLoginLost(error);

/** One trade during an execution. */
interface Run {
  index: number;
  trade: PlannedTrade;
  currency: string;
  /** Why nothing more is ordered in this execution. */
  ended?: string;
  /** When the price of the trade's open order was last compared with the market. */
  checkedAt: number;
  /**
   * Milliseconds so far in which the trade could have orders: its market was open, and it did not wait for
   * sales.
   */
  spentMs: number;
  /** Since when the cash or the holdings do not cover the rest of the trade. */
  shortSince?: number | undefined;
  /** Cancellations sent, by order. */
  cancels: Map<string, { at: number; count: number }>;
}

/** One execution of a plan by this process. */
export class Execution {
  readonly #desk: PlanDesk;
  readonly #plan: Plan;
  readonly #options: RebalanceOptions & { terms: ExecutionTerms; by: string; holder: string };
  readonly #calendars: Calendars;
  readonly #reader: Client;
  readonly #runs: Run[];
  readonly #repriceMs: number;
  /** The broker's rows of orders, from the last time that they were read. */
  #seen: ReadonlyMap<string, SeenOrder> = new Map();
  /** Why the execution stops, and since when. */
  #stop: { reason: string; at: number; isHalted?: boolean; isBegun?: boolean } | undefined;
  #startedAt = 0;
  #deadlineAt = 0;
  #turnedAt: number | undefined;
  /** The broker's clock minus this machine's. */
  #aheadMs = 0;
  readonly #notes: Record<string, string> = {};
  readonly #cover: Cover;

  constructor(
    desk: PlanDesk,
    plan: Plan,
    options: RebalanceOptions & { terms: ExecutionTerms; by: string; holder: string },
  ) {
    this.#desk = desk;
    this.#plan = plan;
    this.#options = options;
    this.#calendars = options.calendars ?? builtInCalendars;
    this.#reader = desk.client({ by: options.by, plan: plan.hash });
    this.#cover = new Cover(plan, {
      store: desk.store,
      account: desk.account,
      reader: this.#reader,
      now: () => this.#now(),
      aheadMs: () => this.#aheadMs,
      signal: options.signal,
    });
    this.#repriceMs = readDuration(options.terms.repriceEvery) ?? 60_000;
    this.#runs = plan.trades.map((trade, index) => ({
      index,
      trade,
      currency: currencyOf(trade.market, trade.symbol),
      checkedAt: 0,
      spentMs: 0,
      cancels: new Map(),
    }));
  }

  get #key() {
    return { account: this.#desk.account, hash: this.#plan.hash };
  }

  #now(): number {
    return this.#desk.machine.now();
  }

  /** The broker's time. Prices, quotes, fees and trading hours depend on the broker's time and date. */
  #brokerNow(): number {
    return this.#now() + this.#aheadMs;
  }

  /** Reads the broker's clock. */
  async #readClock(): Promise<void> {
    const [first] = this.#runs;
    if (first === undefined) return;
    const now = () => this.#now();
    const { market } = first.trade;
    const { aheadMs } = await readLists(this.#reader, { market, lists: ["orders.today"] }, {
      now,
    });
    this.#aheadMs = aheadMs ?? 0;
  }

  #report(kind: ExecutionEvent["kind"], text: string, run?: Run): void {
    this.#options.onEvent?.({ at: this.#now(), kind, ...run && { trade: run.index }, text });
  }

  /**
   * Records why a trade waits, why its order is smaller than planned, or why it has ended. Does nothing if the reason
   * is not new. Never replaces the reason why a trade ended.
   */
  async #note({ index, ended }: Run, text: string): Promise<void> {
    if (this.#notes[index] === text || (ended ?? text) !== text) return;
    this.#notes[index] = text;
    await notePlan(this.#desk.store, this.#key, { notes: { [index]: { at: this.#now(), text } } });
    this.#report("note", text, this.#runs[index]);
  }

  async #endTrade(run: Run, why: string): Promise<void> {
    run.ended ??= why;
    await this.#note(run, why);
  }

  #hoursOf(market: Market): MarketHours {
    const { hours } = this.#options.terms;
    return marketHours(this.#calendars, { market, hours: hours[market], now: this.#brokerNow() });
  }

  async #progress(): Promise<Progress[]> {
    const { store, account } = this.#desk;
    return progressOf(this.#plan, await intentsOfPlan(store, account, this.#plan.hash));
  }

  #view(trade: PlannedTrade): Promise<MarketView> {
    const { signal } = this.#options;
    return readView(this.#reader, trade, { now: this.#brokerNow(), calendars: this.#calendars, signal });
  }

  /**
   * Checks the quotes and lots of everything that is still to be traded, before anything is sent. Resolves to what the
   * broker says about each trade.
   */
  async check(): Promise<ReadonlyMap<number, MarketView>> {
    await this.#readClock();
    const views = new Map<number, MarketView>();
    const issues: Issue[] = [];
    const progress = await this.#progress();
    for (const { index, trade } of this.#runs) {
      if (isZero(progress[index]!.left)) continue;
      const { market, symbol, quantity } = trade;
      const view = await this.#view(trade);
      const path = ["trades", index];
      const wrong = (member: string, value: unknown, expected: string) =>
        issues.push({ path: [...path, member], value, expected });
      views.set(index, view);
      if (view.quote === undefined || view.last === undefined) {
        wrong("price", undefined, `a quote of "${symbol}" with a price: the broker sent no price`);
        continue;
      }
      if (view.stale !== undefined) {
        wrong("price", view.last, `a quote of "${symbol}" that is current: the quote is ${view.stale}`);
      }
      const lot = lotOf(trade, view);
      if (lot === undefined || !fitsLot(trade, lot)) {
        wrong(
          "quantity",
          quantity,
          lot === undefined
            ? `a board lot of "${symbol}" that the broker confirms: it sent no board lot`
            : `a multiple of the board lot ${lot} of "${symbol}" in ${market}: make a new plan`,
        );
      }
    }
    if (issues.length > 0) throw new InvalidParamsError("execute the plan", issues);
    return views;
  }

  /** Executes the plan to its end. */
  async run(record: PlanRecord, views?: ReadonlyMap<number, MarketView>): Promise<RebalanceReport> {
    const { machine } = this.#desk;
    const { signal, pollMs = 3_000 } = this.#options;
    this.#startedAt = record.startedAt!; // a plan that has begun has both
    this.#deadlineAt = record.deadlineAt!;
    try {
      await this.#readClock();
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error; // after a broker's error, the first turn reads the clock again
    }
    this.#report(
      "begun",
      `the execution of the plan ${shortHash(this.#plan.hash)} ends at ${this.#deadlineText()} at the latest`,
    );
    await this.#noteArrival(record, views);
    while (!await this.#turn()) {
      // An execution whose signal is aborted still waits for its orders to end.
      if (signal === undefined || signal.aborted) await wait(machine, pollMs);
      else await waitUnlessAborted(machine, pollMs, signal);
    }
    return await this.#end();
  }

  /** Returns why the caller's aborted signal stops the execution. */
  #abortText({ reason }: AbortSignal): string {
    const isPlain = !(reason instanceof Error) || reason instanceof DOMException; // `abort()` without a reason
    return `${STOPPED_BY} ${this.#options.by}${isPlain ? "" : `: ${messageOf(reason)}`}`;
  }

  #deadlineText(): string {
    return marketTime(this.#plan.trades[0]?.market ?? "hk", this.#deadlineAt + this.#aheadMs);
  }

  /** Records the prices of the market now, for trades without an arrival price and without orders. */
  async #noteArrival(
    { arrival }: PlanRecord,
    views: ReadonlyMap<number, MarketView> | undefined,
  ): Promise<void> {
    const found: Record<string, { price: Decimal; at: number }> = {};
    const progress = await this.#progress();
    for (const { index, trade } of this.#runs) {
      // After the first order of a trade, the price is no longer the price from before the execution.
      const hasSent = progress[index]!.intents.some(({ sentAt }) => sentAt !== undefined);
      if (arrival[index] !== undefined || hasSent) continue;
      try {
        const price = arrivalOf(views?.get(index) ?? await this.#view(trade));
        if (price !== undefined) found[index] = { price, at: this.#now() };
      } catch (error) {
        if (!(error instanceof BrokerError)) throw error; // without an arrival price, the slippage is unknown
      }
    }
    await notePlan(this.#desk.store, this.#key, { arrival: found });
  }

  /** Takes the next step of each trade. Resolves to whether the execution is over. */
  async #turn(): Promise<boolean> {
    await this.#renew();
    const { signal } = this.#options;
    let isSeen = true;
    try {
      // An execution that is being stopped must still see how its orders end, so an aborted signal is not passed on.
      const { seen, aheadMs } = await this.#desk.reconcile(
        signal === undefined || signal.aborted ? {} : { signal },
      );
      this.#seen = seen;
      this.#aheadMs = aheadMs ?? this.#aheadMs;
    } catch (error) {
      if (!(error instanceof BrokerError) && !signal?.aborted) throw error;
      if (isLoginLost(error)) this.#cannotWrite(messageOf(error));
      isSeen = false; // the lists could not be read; the next turn reads them again
    }
    const now = this.#now();
    const passedMs = this.#turnedAt === undefined ? 0 : Math.max(0, now - this.#turnedAt);
    this.#turnedAt = now;
    if (signal?.aborted) this.#stop ??= { reason: this.#abortText(signal), at: now };
    if (now >= this.#deadlineAt) {
      this.#stop ??= { reason: `its deadline ${this.#deadlineText()} has passed`, at: now };
    }
    // Without this check, a trade that waits would notice only at its next order that trading is halted, or that it
    // must not write any more.
    const halted = await this.#desk.whyHalted();
    if (halted !== undefined) {
      this.#cannotWrite(`trading is halted: ${halted}; to continue, run: hsgate resume`);
    }
    const ended = await this.#options.whyWritesEnded?.();
    if (ended !== undefined) this.#cannotWrite(ended);
    const progress = await this.#progress();
    if (this.#stop !== undefined) return await this.#stopOrders(progress, isSeen);
    if (!isSeen) return false;
    const salesOf = (currency: string, states: readonly Progress[]) =>
      this.#runs.filter((run) =>
        run.trade.side === "sell" && run.currency === currency && !isOver(run, states[run.index]!)
      );
    for (const run of this.#runs) {
      // An order that this turn has just sent changes what is left, so read the progress again.
      const states = await this.#progress();
      const state = states[run.index]!;
      if (isOver(run, state)) continue;
      const waitsFor = run.trade.side === "buy" ? salesOf(run.currency, states) : [];
      try {
        await this.#step(run, state, { passedMs, waitsFor });
      } catch (error) {
        await this.#failed(run, error);
      }
      if (this.#stop !== undefined) return false;
    }
    const states = await this.#progress();
    return this.#runs.every((run) => isOver(run, states[run.index]!));
  }

  /** @throws {BrokerError} `plan-held` if another process has taken over. */
  async #renew(): Promise<void> {
    const { holder } = this.#options;
    const until = this.#now() + LEASE_MS;
    if (await renewPlan(this.#desk.store, this.#key, { holder, until })) return;
    throw new BrokerError(
      `Cannot continue the plan ${shortHash(this.#plan.hash)}: another process executes it`,
      { code: "plan-held", operation: "rebalance" },
    );
  }

  /**
   * Cancels the open orders of the plan, unless no write can be sent any more. Resolves to whether the execution is
   * over.
   */
  async #stopOrders(progress: readonly Progress[], isSeen: boolean): Promise<boolean> {
    const { at, isHalted = false } = this.#stop!;
    const open = this.#runs.filter(({ index }) =>
      progress[index]!.live.length + progress[index]!.pending.length > 0
    );
    if (open.length === 0) return true;
    if (isHalted || this.#now() - at > CANCEL_MS) {
      for (const run of open) await this.#note(run, `${this.#stop!.reason}; an order may still be open`);
      return true;
    }
    if (!isSeen) return false;
    if (!this.#stop!.isBegun) {
      this.#stop!.isBegun = true;
      // Earlier cancellations that had no effect do not count: these orders must be cancelled now.
      for (const { cancels } of open) for (const each of cancels.values()) each.count = 0;
    }
    for (const run of open) await this.#cancel(run, progress[run.index]!, this.#stop!.reason);
    return false;
  }

  /** Takes the next step of a trade: waits, cancels, or places an order. */
  async #step(
    run: Run,
    state: Progress,
    { passedMs, waitsFor }: { passedMs: number; waitsFor: readonly Run[] },
  ): Promise<void> {
    const { trade: { market }, currency } = run;
    if (state.pending.length > 0) return await this.#note(run, "the outcome of an order is not known yet");
    if (run.ended !== undefined) return await this.#cancel(run, state, run.ended);
    const hours = this.#hoursOf(market);
    if (hours.is === "unknown") {
      return await this.#endTrade(run, `the calendar of ${mics[market]} has no later session`);
    }
    if (hours.is === "closed") {
      const at = marketTime(market, hours.opensAt);
      if (hours.opensAt - this.#aheadMs >= this.#deadlineAt) {
        return await this.#endTrade(
          run,
          `${market} is closed until ${at}, and the execution ends before that`,
        );
      }
      if (!hours.isBreak) await this.#cancel(run, state, `${market} is closed`);
      return await this.#note(run, `waits until ${market} opens at ${at}`);
    }
    if (waitsFor.length > 0) return await this.#note(run, `waits for the sales in ${currency}`);
    run.spentMs += passedMs;
    if (state.live.length > 0) return await this.#reprice(run, state);
    const sent = this.#sentOf(state);
    const { maxReprices, algorithm } = this.#options.terms;
    if (sent.some(({ state }) => state === "rejected")) {
      return await this.#endTrade(run, this.#notes[run.index] ?? "the broker has rejected an order");
    }
    const most = algorithm === undefined ? maxReprices + 1 : 1;
    if (sent.length >= most || run.spentMs >= this.#patienceMs) {
      return await this.#endTrade(run, this.#exhausted(run, sent.length));
    }
    await this.#place(run, state);
  }

  /** The orders of a trade that this execution has sent. */
  #sentOf({ intents }: Progress): readonly Intent[] {
    return intents.filter(({ sentAt }) => sentAt !== undefined && sentAt >= this.#startedAt);
  }

  /**
   * Longest total time of a trade while its market is open, in milliseconds: one repricing interval for each
   * price that the trade may try. An algorithmic order has no limit.
   */
  get #patienceMs(): number {
    const { maxReprices, algorithm } = this.#options.terms;
    return algorithm === undefined ? (maxReprices + 1) * this.#repriceMs : Infinity;
  }

  #exhausted({ index, shortSince }: Run, sent: number): string {
    const { algorithm } = this.#options.terms;
    if (shortSince !== undefined && this.#notes[index] !== undefined) return this.#notes[index];
    if (algorithm !== undefined) return "the broker ended its algorithmic order";
    if (sent > 0) return `not filled at ${sent === 1 ? "its price" : `${sent} prices`} in time`;
    return this.#notes[index] ?? "it could not be ordered in time";
  }

  /** Compares the price of an open order with the market, and cancels the order if it needs another price. */
  async #reprice(run: Run, state: Progress): Promise<void> {
    const { terms } = this.#options;
    if (terms.algorithm !== undefined) return;
    const now = this.#now();
    const { sentAt = 0, params } = state.live.at(-1)!; // the caller has checked that there is one
    if (now - Math.max(sentAt, run.checkedAt) < this.#repriceMs) return;
    const sent = this.#sentOf(state).length;
    if (sent > terms.maxReprices || run.spentMs >= this.#patienceMs) {
      await this.#endTrade(run, this.#exhausted(run, sent));
      return await this.#cancel(run, state, run.ended!);
    }
    const view = await this.#view(run.trade);
    const found = orderPrice(run.trade, terms, view, this.#brokerNow());
    if ("end" in found) {
      await this.#endTrade(run, found.end);
      return await this.#cancel(run, state, found.end);
    }
    if ("wait" in found || compare(found.price, termsOf({ params }).price ?? "0") === 0) {
      run.checkedAt = now;
      return;
    }
    await this.#cancel(run, state, `its price moves to ${found.price}`);
  }

  /** Cancels the open orders of a trade. It cancels no orders of other trades or programs. */
  async #cancel(run: Run, { live }: Progress, why: string): Promise<void> {
    const { trade: { market, symbol }, cancels } = run;
    const now = this.#now();
    for (const intent of live) {
      for (const orderId of intent.orderIds) {
        const row = this.#seen.get(orderId);
        if (row?.isCancelPending || (row?.state !== undefined && endedStates.includes(row.state))) continue;
        const { at, count } = cancels.get(orderId) ?? { at: -Infinity, count: 0 };
        if (now - at < CANCEL_AGAIN_MS) continue;
        if (count >= MOST_CANCELS) {
          await this.#note(run, `order ${orderId} could not be cancelled`);
          continue;
        }
        cancels.set(orderId, { at: now, count: count + 1 });
        this.#cover.forget(run.currency); // the broker gives the order's cash back
        this.#report("cancelling", `order ${orderId}: ${why}`, run);
        const client = this.#clientFor(run);
        try {
          if (intent.operation === "algo.place") await client.algo.cancel({ orderId, market });
          else await client.orders.cancel({ market, symbol, orderId });
        } catch (error) {
          // The order may have ended already, or the answer was lost: the lists will show the outcome.
          if (!(error instanceof BrokerError)) throw error;
          // Nothing was sent, so this cancellation does not count. It is sent again after a while.
          if (error.code === "unresolved-intent") cancels.set(orderId, { at: now, count });
          this.#report("note", `order ${orderId} is not cancelled yet: ${messageOf(error)}`, run);
          if (mustStop(error)) return this.#cannotWrite(messageOf(error));
        }
      }
    }
  }

  #clientFor({ index }: Run): Client {
    return this.#desk.client({ by: this.#options.by, plan: this.#plan.hash, trade: index });
  }

  /** Places the next order of a trade, if the price, the cash and the holdings allow one. */
  async #place(run: Run, state: Progress): Promise<void> {
    const { trade } = run;
    const { terms } = this.#options;
    const { market, symbol, side } = trade;
    const view = await this.#view(trade);
    const found = orderPrice(trade, terms, view, this.#brokerNow());
    if ("end" in found) return await this.#endTrade(run, found.end);
    if ("wait" in found) return await this.#note(run, found.wait);
    const { price, text } = found;
    const lot = lotOf(trade, view);
    if (lot === undefined) return await this.#note(run, `the broker confirms no board lot of "${symbol}"`);
    if (!fitsLot(trade, lot)) {
      return await this.#endTrade(
        run,
        `the board lot is now ${lot}, and ${trade.quantity} is not a multiple of it; make a new plan`,
      );
    }
    const isOdd = isOddIn(trade, lot);
    const wanted = isOdd ? state.left : toStep(state.left, lot, "down");
    if (isZero(wanted)) return await this.#endTrade(run, `less than the lot ${lot} is left`);
    const covered = side === "buy"
      ? await this.#cover.ofPurchase(trade, { price, wanted, lot })
      : await this.#cover.ofSale(trade, { wanted, lot: isOdd ? "1" : lot });
    if (compare(covered.quantity, wanted) < 0) {
      run.shortSince ??= this.#now();
      await this.#note(run, covered.why);
      if (this.#now() - run.shortSince < SHORT_MS) return;
      if (isZero(covered.quantity)) {
        return side === "sell" ? await this.#endTrade(run, covered.why) : undefined;
      }
    }
    run.shortSince = undefined;
    const quantity = normalize(covered.quantity);
    await this.#renew();
    const order = { market, symbol, side, quantity, price };
    const { algorithm } = terms;
    const client = this.#clientFor(run);
    const { orderId } = algorithm === undefined
      ? await client.orders.place({ ...order, orderType: isOdd && market === "hk" ? "odd-lot" : "limit" })
      : await client.algo.place({
        ...order,
        orderType: "limit",
        strategy: algorithm.strategy,
        settings: this.#algorithmSettings(market),
      });
    run.checkedAt = this.#now();
    this.#report("placed", `order ${orderId}: ${side} ${quantity} of ${symbol} at ${text}`, run);
  }

  #algorithmSettings(market: Market) {
    const { percent, sensitivity, maxChildQuantity, minChildAmount } = this.#options.terms.algorithm!;
    // The broker accepts only times of the same day, in Hong Kong time. Without a time, the order is valid until the
    // close.
    const zone = "Asia/Hong_Kong";
    const hours = this.#hoursOf(market);
    const endAt = this.#deadlineAt + this.#aheadMs;
    const isToday = dateAt(endAt, zone) === dateAt(this.#brokerNow(), zone);
    const endsFirst = hours.is === "open" && endAt < hours.until;
    const time = Temporal.Instant.fromEpochMilliseconds(endAt).toZonedDateTimeISO(zone)
      .toPlainTime().toString({ smallestUnit: "second" });
    return {
      ...isToday && endsFirst && { endTime: time },
      ...percent !== undefined && { percent: Number(percent) },
      ...sensitivity !== undefined && { sensitivity },
      ...maxChildQuantity !== undefined && { maxChildQuantity },
      ...minChildAmount !== undefined && { minChildAmount },
    };
  }

  /** Stops the execution, because none of its writes can be sent any more, not even a cancellation. */
  #cannotWrite(why: string): void {
    const { reason, at = this.#now(), isHalted = false } = this.#stop ?? {};
    if (isHalted) return;
    this.#stop = { reason: reason === undefined ? why : `${reason}; ${why}`, at, isHalted: true };
  }

  /**
   * Handles an error of a trade's step: stops the execution, ends the trade, or notes the error and tries again later.
   * Rethrows internal errors and the error `plan-held`. If the signal is aborted, ignores all errors except a
   * `BrokerError`.
   */
  async #failed(run: Run, error: unknown): Promise<void> {
    if (this.#options.signal?.aborted && !(error instanceof BrokerError)) return; // the next turn stops the execution
    if (!(error instanceof BrokerError) || error.code === "plan-held") throw error;
    const why = messageOf(error);
    if (mustStop(error)) return this.#cannotWrite(why);
    const isEnd = error instanceof GuardRefusal
      ? !passingRules.includes(error.rule)
      : error instanceof UnmappedError || error instanceof InvalidParamsError ||
        error instanceof RejectedError && !passingRejections.some((kind) => error instanceof kind);
    if (isEnd && !(error instanceof OutcomeUnknownError)) await this.#endTrade(run, why);
    else await this.#note(run, why);
  }

  /** Records the end of the execution, and resolves to its report. */
  async #end(): Promise<RebalanceReport> {
    const { store, account } = this.#desk;
    const { holder } = this.#options;
    const progress = await this.#progress();
    const isDone = isFullyFilled(this.#plan, progress);
    const state = isDone ? "done" : "stopped";
    const reason = isDone ? undefined : this.#stop?.reason ?? "some trades could not be filled";
    const at = this.#now();
    const record = (await findPlan(store, account, this.#plan.hash))!; // this execution has begun it
    const intents = await intentsOfPlan(store, account, this.#plan.hash);
    const report = await reportOf(
      this.#reader,
      { ...record, state, reason, endedAt: at },
      intents,
      { now: this.#brokerNow() },
    );
    if (!await endPlan(store, this.#key, { holder, state, reason, at, report })) await this.#renew();
    this.#report("ended", isDone ? "everything is filled" : `stopped: ${reason}`);
    return report;
  }
}

/** Returns whether nothing more happens to a trade in this execution. */
function isOver({ ended }: Run, { left, live, pending }: Progress): boolean {
  return live.length === 0 && pending.length === 0 && (ended !== undefined || isZero(left));
}
