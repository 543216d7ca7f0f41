import { assert, assertEquals, assertThrows } from "@std/assert";
import { add, type Decimal, divide, multiply } from "../../lib/decimal.ts";
import type { AlgoOrder } from "../../lib/operations/algo.ts";
import type { ConditionalOrder } from "../../lib/operations/conditional_orders.ts";
import type { Fill } from "../../lib/operations/fills.ts";
import type { Order } from "../../lib/operations/orders.ts";
import { Broker } from "../../lib/simulator/broker/broker.ts";
import { Refusal } from "../../lib/simulator/contract.ts";
import { ManualClock } from "../../lib/time.ts";
import { all, always, ask } from "./asked.ts";

const markets = ["hk", "us", "shanghai", "shenzhen"] as const;
const at = (hongKong: string) => Date.parse(`${hongKong.replace(" ", "T")}:00+08:00`);

/** Returns all conditional orders of a market's history. */
function conditionals(broker: Broker, market: string): ConditionalOrder[] {
  const rows: ConditionalOrder[] = [];
  for (let page = 1;; page++) {
    const query = { market, from: "2000-01-01 00:00:00", to: "2099-12-31 00:00:00", page, limit: 99 };
    const answer = ask<{ rows: ConditionalOrder[]; totalPages: string }>(
      broker,
      "conditionalOrders.history",
      query,
    );
    rows.push(...answer.rows);
    if (page >= Number(answer.totalPages)) return rows;
  }
}

function algos(broker: Broker, market: string): AlgoOrder[] {
  const rows: AlgoOrder[] = [];
  for (let page = 1;; page++) {
    const query = { market, from: "2000-01-01", to: "2099-12-31", page, limit: 99 };
    const found = ask<AlgoOrder[]>(broker, "algo.list", query);
    rows.push(...found);
    if (found.length < 99) return rows;
  }
}

/** Counts of the rows that were compared. */
interface Compared {
  triggered: number;
  untriggered: number;
  algos: number;
}

/** Checks that conditional and algorithmic orders agree with the ordinary orders and fills of the same days. */
function compareLists(broker: Broker): Compared {
  const counts: Compared = { triggered: 0, untriggered: 0, algos: 0 };
  for (const market of markets) {
    const orders = all<Order>(broker, "orders.history", { market, ...always });
    const fills = all<Fill>(broker, "fills.history", { market, ...always });
    const ids = new Set<string>();
    const takenIds = new Set<string>();
    for (const row of conditionals(broker, market)) {
      assert(!ids.has(row.orderId!), `${row.orderId} is there twice`);
      ids.add(row.orderId!);
      assertEquals([row.market, row.canCancel, row.canAmend], [market, false, false]);
      assert(row.createdAt! < row.endsAt!, row.orderId);
      if (row.status !== "triggered") {
        counts.untriggered++;
        continue;
      }
      counts.triggered++;
      const sent = orders.find((order) =>
        order.symbol === row.symbol && order.side === row.side && order.quantity === row.quantity &&
        `${order.date} ${order.orderTime}` >= row.createdAt! &&
        `${order.date} ${order.orderTime}` <= row.endsAt! &&
        Number(order.price) === Number(row.price) && !takenIds.has(order.orderId!)
      );
      assert(sent !== undefined, `conditional order ${row.orderId} sent no order`);
      takenIds.add(sent.orderId!);
      // The market reached the trigger on the day.
      const bar = broker.market.dayBar(row.symbol!, sent.date!)!;
      const trigger = Number(row.triggerValue);
      const waitsForRise = row.orderType!.startsWith("take-profit") === (row.side === "sell");
      assert(
        waitsForRise ? Number(bar.high) >= trigger : Number(bar.low) <= trigger,
        `${row.orderId}: not reached`,
      );
    }
    for (const row of algos(broker, market)) {
      counts.algos++;
      assert(!ids.has(row.orderId!), `${row.orderId} is there twice`);
      ids.add(row.orderId!);
      const { date, symbol, side } = row;
      const childrenOn = (day: string | undefined) =>
        ask<string[]>(broker, "algo.children", { orderId: row.orderId, date: day, market });
      const children = childrenOn(date);
      assertEquals(childrenOn("2024-01-02"), []);
      assert(children.length > 0, row.orderId);
      let [quantity, amount]: Decimal[] = ["0", "0"];
      for (const id of children) {
        const child = orders.find(({ orderId }) => orderId === id)!;
        assertEquals([child?.date, child?.symbol, child?.side], [date, symbol, side], `child ${id}`);
        for (const fill of fills.filter(({ orderId }) => orderId === id)) {
          quantity = add(quantity!, fill.filledQuantity);
          amount = add(amount!, multiply(fill.fillPrice, fill.filledQuantity));
        }
      }
      assertEquals(quantity, row.filledQuantity);
      assertEquals(add(row.filledQuantity!, row.unfilledQuantity!), row.quantity);
      const mean = Number(divide(amount!, quantity!, 8, "half-up"));
      assert(
        Math.abs(mean - Number(row.averagePrice)) < 0.0001,
        `${row.orderId}: ${mean}, ${row.averagePrice}`,
      );
      assertEquals(row.status === "filled", row.unfilledQuantity === "0", row.orderId);
    }
  }
  return counts;
}

Deno.test("past conditional and algorithmic orders agree with the past orders and fills, on several seeds", () => {
  for (const seed of [1, 7, 20250815]) {
    const broker = new Broker({
      seed,
      clock: new ManualClock(at("2025-08-15 10:00")),
      days: 60,
      fillsPerDay: 5,
    });
    const { triggered, untriggered, algos } = compareLists(broker);
    assert(
      triggered > 40 && untriggered > 40 && algos > 20,
      `seed ${seed}: ${triggered} ${untriggered} ${algos}`,
    );
    const [first] = conditionals(broker, "hk");
    const { orderId, symbol, createdAt } = first!;
    const query = { market: "hk", symbol, from: createdAt, to: createdAt };
    const only = ask<{ rows: ConditionalOrder[] }>(broker, "conditionalOrders.history", query);
    assertEquals(only.rows.map((row) => row.orderId), [orderId]);
    assertEquals(ask<{ rows: unknown[] }>(broker, "conditionalOrders.today", { market: "hk" }).rows, []);
    const [algo] = algos > 0
      ? ask<AlgoOrder[]>(broker, "algo.list", { from: "2000-01-01", to: "2099-12-31" })
      : [];
    const refusal = assertThrows(
      () => broker.call("algo.cancel", { market: algo!.market, orderId: algo!.orderId }),
      Refusal,
    );
    assertEquals(refusal.text, `algorithmic order "${algo!.orderId}" is ${algo!.status}`);
  }
});

Deno.test("a day that the broker has simulated has the same rows when it is queried as a past day", () => {
  const clock = new ManualClock(at("2025-08-18 09:40"));
  const broker = new Broker({ seed: 1, clock, days: 5 });
  const last = broker.market.lastPrice("00700.HK", clock.now());
  const shared = { market: "hk", symbol: "00700.HK", side: "buy" } as const;
  const price = String(Math.round(Number(last)));
  const trailing = {
    orderType: "take-profit-limit",
    quantity: "200",
    price,
    triggerValue: price,
    validDays: 3,
  };
  broker.call("orders.place", { ...shared, ...trailing });
  broker.call("orders.place", {
    ...shared,
    orderType: "stop-loss-limit",
    quantity: "100",
    price: "900",
    triggerValue: "900",
  });
  broker.call("orders.place", {
    ...shared,
    orderType: "enhanced-limit",
    quantity: "300",
    price: String(Number(price) + 5),
  });
  broker.call("algo.place", {
    ...shared,
    orderType: "limit",
    tradingHours: "regular",
    strategy: "iceberg",
    quantity: "600",
    price: String(Number(price) + 5),
    settings: { displayQuantity: "200" },
  });
  clock.set(at("2025-08-18 18:59"));
  const without = <T extends { cursor?: string }>(rows: T[]) => rows.map(({ cursor: _, ...row }) => row);
  const query = { from: "2025-08-18", to: "2025-08-18", market: "hk" };
  const day = () => ({
    algo: ask<AlgoOrder[]>(broker, "algo.list", query),
    conditional: conditionals(broker, "hk").filter(({ createdAt = "" }) => createdAt >= "2025-08-18"),
  });
  const lived = {
    ...day(),
    orders: without(ask<Order[]>(broker, "orders.today", { market: "hk", limit: 99 })),
  };
  assertEquals(lived.conditional.map(({ status }) => status), ["triggered", "pending"]);
  clock.set(at("2025-08-20 10:00"));
  const past = { ...day(), orders: without(ask<Order[]>(broker, "orders.history", { ...query, limit: 99 })) };
  // The second conditional order was valid for a day, and expired in the meantime.
  const [, pending] = lived.conditional;
  lived.conditional[1] = { ...pending!, status: "expired", canCancel: false, canAmend: false };
  assertEquals(past, lived);
  assert(past.orders.length > 3 && past.algo[0]!.filledQuantity !== "0");
  compareLists(broker);
});
