/**
 * Executes plans in tests. Each timer of the machine advances the simulated market, and then checks the broker's lists:
 * orders must not exceed the plan, and cash must not be below the buffer.
 *
 * @module
 */
import { assert } from "@std/assert";
import type { Client } from "../../lib/client/client.ts";
import { add, compare } from "../../lib/decimal.ts";
import { BusyError } from "../../lib/errors.ts";
import {
  type ExecutionEvent,
  type Plan,
  type PlanDesk,
  rebalance,
  type RebalanceOptions,
  type RebalanceReport,
} from "../../lib/rebalance/mod.ts";
import type { Machine } from "../../lib/time.ts";
import type { DeskUnderTest } from "../desk/support.ts";
import { type GivenTrade, planOf, termsOf } from "./support.ts";

/** Returns a plan at the last prices. */
export async function planAt(
  client: Client,
  trades: readonly (Omit<GivenTrade, "price"> & { price?: string })[],
  options: Parameters<typeof planOf>[1] = {},
): Promise<Plan> {
  const securities = trades.map(({ symbol }) => ({ type: "hk-stock" as const, symbol }));
  const quotes = await client.quotes.latest({ securities });
  const lastOf = (symbol: string) => quotes.find((quote) => quote.security?.symbol === symbol)!.lastPrice!;
  return planOf(trades.map((trade) => ({ price: lastOf(trade.symbol), ...trade })), options);
}

/** What the broker's lists show, read without the desk. Orders in `foreign` are left out. */
export interface AtBroker {
  /** Filled and open quantity, by side and symbol. */
  used: Record<string, string>;
  /** Ids of the open orders. */
  open: string[];
  cash: string;
}

/** Returns functions that execute plans, with the checks that the comment of this file describes. */
export async function executor(
  testAccount: Pick<DeskUnderTest, "connect" | "machine" | "open" | "round">,
  { onWait, cashLagMs }: {
    onWait?: (at: AtBroker) => void | Promise<void>;
    /** Delay of the cash that the execution reads, in milliseconds. */
    cashLagMs?: number;
  } = {},
) {
  const watcher = await testAccount.connect("memory");
  const figures: { at: number; funds: Awaited<ReturnType<Client["account"]["funds"]>> }[] = [];
  const { now } = testAccount.machine;
  const noteCash = async () => {
    figures.push({ at: now(), funds: await watcher.account.funds({ market: "hk" }) });
  };
  /** Returns a desk whose clients see the cash late. */
  const late = (desk: PlanDesk): PlanDesk => ({
    client(why) {
      const client = desk.client(why);
      const funds = async () => {
        await noteCash();
        return figures.findLast(({ at }) => at <= now() - cashLagMs!)?.funds ?? figures[0]!.funds;
      };
      return { ...client, account: { ...client.account, funds } };
    },
    reconcile: (options) => desk.reconcile(options),
    whyHalted: () => desk.whyHalted(),
    store: desk.store,
    account: desk.account,
    machine: desk.machine,
  });
  const events: ExecutionEvent[] = [];
  const foreign = new Set<string>();
  const readOnce = async (): Promise<AtBroker> => {
    const used: Record<string, string> = {};
    const open: string[] = [];
    for await (const order of watcher.orders.today({ market: "hk" })) {
      const { orderId, side, symbol, filledQuantity = "0", unfilledQuantity = "0", canCancel, status } =
        order;
      if (foreign.has(orderId)) continue;
      const isOpen = canCancel === true || status?.includes("pending") === true;
      if (isOpen) open.push(orderId);
      const key = `${side} ${symbol}`;
      used[key] = add(used[key] ?? "0", filledQuantity, isOpen ? unfilledQuantity : "0");
    }
    return { used, open, cash: (await watcher.account.funds({ market: "hk" })).available! };
  };
  /** Reads again if a fault that was meant for the execution failed this reading. */
  const readBroker = async (): Promise<AtBroker> => {
    for (;;) {
      try {
        return await readOnce();
      } catch (error) {
        if (!(error instanceof BusyError)) throw error;
      }
    }
  };
  const checked = async (plan: Plan) => {
    const at = await readBroker();
    for (const [key, used] of Object.entries(at.used)) {
      const cap = add(
        "0",
        ...plan.trades.filter(({ side, symbol }) => `${side} ${symbol}` === key).map(({ quantity }) =>
          quantity
        ),
      );
      assert(compare(used, cap) <= 0, `${key}: ${used} is more than the plan's ${cap}`);
    }
    const buffer = plan.cashBuffer.HKD ?? "0";
    assert(compare(at.cash, buffer) >= 0, `the cash ${at.cash} is below the buffer ${buffer}`);
    return at;
  };
  let failure: { error: unknown } | undefined;
  const machineFor = (plan: Plan): Machine => ({
    ...testAccount.machine,
    setTimer: (ms, callback) =>
      testAccount.machine.setTimer(ms, async () => {
        testAccount.round();
        try {
          if (cashLagMs !== undefined) await noteCash();
          const at = await checked(plan);
          await onWait?.(at);
        } catch (error) {
          failure ??= { error };
        }
        callback();
      }),
  });
  return {
    events,
    foreign,
    readBroker,
    deskFor: (plan: Plan) => testAccount.open({ machine: machineFor(plan), resolveMs: 0 }),
    async run(
      plan: Plan,
      terms: Record<string, unknown> = {},
      options: RebalanceOptions = {},
    ): Promise<RebalanceReport> {
      const desk = testAccount.open({ machine: machineFor(plan), resolveMs: 0 });
      const report = await rebalance(cashLagMs === undefined ? desk : late(desk), plan, termsOf(terms), {
        onEvent: (event) => events.push(event),
        ...options,
      });
      if (failure !== undefined) throw failure.error;
      await checked(plan);
      return report;
    },
    /** Returns the texts of the events of one kind. */
    texts: (kind: ExecutionEvent["kind"]) =>
      events.filter((each) => each.kind === kind).map(({ text }) => text),
    [Symbol.asyncDispose]: () => watcher.close(),
  };
}

/** Terms with which the trades of the tests fill within minutes. */
export const QUICK = { peg: "mid", repriceEvery: "20s", maxReprices: "30", deadline: "30m" };

/** A price that rises away from a purchase at the bid, so that the purchase stays open. */
export const RISING = [
  { what: "price", symbol: "00700.HK", at: "2025-08-15 10:30", to: "606.00", over: "1m" },
] as const;

export const SALES = [
  { symbol: "00027.HK", side: "sell", quantity: "1000" },
  { symbol: "09999.HK", side: "sell", quantity: "300" },
] as const;
export const PURCHASE = { symbol: "00700.HK", side: "buy", quantity: "200" } as const;
