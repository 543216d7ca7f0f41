import { assert, assertEquals, assertThrows } from "@std/assert";
import { subtract } from "../../lib/decimal.ts";
import type { Order } from "../../lib/operations/orders.ts";
import { Broker } from "../../lib/simulator/broker/broker.ts";
import { Refusal } from "../../lib/simulator/contract.ts";
import { SimulatedMarket } from "../../lib/simulator/market/mod.ts";
import type { ScriptEntry } from "../../lib/simulator/mod.ts";
import { scriptPlan } from "../../lib/simulator/script.ts";
import { ManualClock } from "../../lib/time.ts";

const SECOND = 1_000;
const CLOSED = "current time does not allow entrust";
const LOCKED = "the exchange accepts no such request in this phase";
const shared = new SimulatedMarket({ seed: 1 });
const hk = (time: string, date = "2025-08-18") => Date.parse(`${date}T${time}+08:00`);
const tencent = { market: "hk", symbol: "00700.HK", side: "buy", quantity: "100" };
const DAY = shared.dayBar("00700.HK", "2025-08-18")!;

function open(at: number, seed = 1, market = shared) {
  const clock = new ManualClock(at);
  const broker = new Broker({ seed, clock, days: 5, market });
  const place = (order: Record<string, unknown>) => {
    const { orderId } = broker.call("orders.place", { ...tencent, ...order }) as { orderId: string }; // the answer of the operation
    return orderId;
  };
  const cancel = (orderId: string, symbol = "00700.HK") =>
    broker.call("orders.cancel", { market: "hk", symbol, orderId });
  const amend = (orderId: string, price: string) =>
    broker.call("orders.amend", { market: "hk", symbol: "00700.HK", orderId, quantity: "100", price });
  const fillsOf = (id: string) => broker.matches().fills.filter((fill) => fill.id.startsWith(`${id}-`));
  const status = (id: string) =>
    (broker.call("orders.today", { market: "hk", limit: 99 }) as Order[]) // the answer of the operation
      .find(({ orderId }) => orderId === id)?.status;
  const to = (instant: number) => {
    clock.set(instant);
    broker.settle();
  };
  return { clock, broker, place, cancel, amend, fillsOf, status, to };
}

const refused = (act: () => unknown) => assertThrows(act, Refusal).text;

/** Returns the Hong Kong time of the opening or closing auction, at which an at-auction order fills. */
function matchOf(seed: number, { date = "2025-08-18", enter = "09:10:00" } = {}): string {
  const desk = open(hk(enter, date), seed);
  const id = desk.place({ orderType: "auction", price: "0" });
  desk.to(desk.clock.now() + 15 * 60 * SECOND);
  const [fill] = desk.fillsOf(id);
  return new Date(Date.parse(fill!.at) + 8 * 3_600_000).toISOString().slice(11, 19);
}

Deno.test("the auctions match in a random second of their last two minutes, half-days included", () => {
  const seeds = [1, 2, 3, 4, 5, 6];
  const opening = seeds.map((seed) => matchOf(seed));
  const closing = seeds.map((seed) => matchOf(seed, { enter: "16:02:00" }));
  const half = seeds.map((seed) => matchOf(seed, { enter: "12:02:00", date: "2025-12-24" }));
  for (
    const [times, from, to] of [[opening, "09:20", "09:22"], [closing, "16:08", "16:10"], [
      half,
      "12:08",
      "12:10",
    ]] as const
  ) {
    assert(times.every((time) => time >= `${from}:00` && time < `${to}:00`), times.join(" "));
    assert(new Set(times).size > 3, times.join(" "));
  }
  assertEquals(matchOf(1), opening[0], "the seed decides the second");
  assert(matchOf(1, { date: "2025-08-19" }) !== opening[0]);
});

Deno.test("the opening auction fills at the day's open, at one moment for all stocks", () => {
  const desk = open(hk("09:10:00"));
  // The broker freezes cash for an at-auction order at 5 percent above the last price. This limit is higher.
  const above = subtract(DAY.open, "-50");
  const ids = [
    desk.place({ orderType: "auction-limit", price: above }),
    desk.place({ orderType: "auction", price: "0" }),
    desk.place({ orderType: "auction-limit", price: subtract(DAY.open, "5") }),
    desk.place({ orderType: "auction", price: "0", symbol: "00939.HK", quantity: "1000" }),
  ];
  desk.to(hk("09:25:00"));
  const first = ids.map((id) => desk.fillsOf(id)[0]);
  const other = shared.dayBar("00939.HK", "2025-08-18")!.open;
  assertEquals(first.map((fill) => fill?.price), [DAY.open, DAY.open, undefined, other]);
  assertEquals(new Set(first.map((fill) => fill?.rule)), new Set(["opening-auction", undefined]));
  assertEquals(new Set(first.map((fill) => fill?.at)).size, 2);
  // At-auction orders are first, although they came later.
  const order = desk.broker.matches().fills.filter(({ symbol }) => symbol === "00700.HK").map(({ id }) => id);
  assertEquals(order, [`${ids[1]}-1`, `${ids[0]}-1`]);
  // The order that was not matched continues as a limit order.
  assertEquals(desk.status(ids[2]!), "accepted");
  desk.to(hk("09:30:00"));
  const queue = desk.broker.matches().queues.find(({ orderId }) => orderId === ids[2]);
  const level = shared.orderBook("00700.HK", hk("09:30:00")).bids
    .find(({ price }) => price === Number(subtract(DAY.open, "5")));
  assert(level !== undefined);
  assertEquals(queue?.ahead, level.volume);
});

Deno.test("an auction fills the account's orders up to a quarter of the auction's volume; of the rest, only at-auction orders are cancelled", () => {
  const symbol = "00001.HK";
  const { open: price, volume } = shared.dayBar(symbol, "2025-08-18")!;
  let dropped = 0;
  for (let seed = 1; seed <= 8; seed++) {
    const desk = open(hk("09:10:00"), seed);
    const half = { symbol, quantity: "11000" };
    const limit = desk.place({ ...half, orderType: "auction-limit", price: subtract(price, "-0.1") });
    const atAuction = desk.place({ ...half, orderType: "auction", price: "0" });
    desk.to(hk("09:25:00"));
    const quantity = (id: string) => desk.fillsOf(id).reduce((sum, fill) => sum + Number(fill.quantity), 0);
    const sum = quantity(limit) + quantity(atAuction);
    assert(
      sum >= Number(volume) * 0.005 / 4 - 500 && sum <= Number(volume) * 0.02 / 4,
      `seed ${seed}: ${sum}`,
    );
    if (sum === 22_000) continue;
    assert(quantity(limit) === 0 || quantity(atAuction) === 11_000, "at-auction orders come first");
    assertEquals(desk.status(limit), quantity(limit) === 0 ? "accepted" : "part-filled");
    if (quantity(atAuction) === 11_000) continue;
    dropped++;
    assertEquals(desk.status(atAuction), "part-filled-cancelled");
    desk.to(hk("09:31:00"));
    assertEquals(desk.fillsOf(limit)[0]?.rule, "book");
  }
  assert(dropped > 0);
});

Deno.test("an at-auction order that arrives after the match of the opening auction is cancelled; a limit order stays", () => {
  const matchAt = hk(matchOf(1));
  const desk = open(matchAt - 500);
  const ids = [
    desk.place({ orderType: "auction", price: "0" }),
    desk.place({ orderType: "auction-limit", price: DAY.open }),
  ];
  desk.to(matchAt);
  assertEquals(ids.map(desk.status), ["accepted", "accepted"]);
  desk.to(matchAt + SECOND);
  assertEquals(ids.map(desk.status), ["cancelled", "accepted"]);
  desk.to(hk("09:40:00"));
  assertEquals(desk.fillsOf(ids[0]!), []);
  const [fill] = desk.fillsOf(ids[1]!);
  assert(fill === undefined || Date.parse(fill.at) >= hk("09:30:00"));
});

Deno.test("the phases accept entries, amendments and cancellations as the exchange does", () => {
  const desk = open(hk("08:59:59"));
  const auction = { orderType: "auction-limit", price: DAY.open };
  const plain = { orderType: "enhanced-limit", price: DAY.open };
  assertEquals(refused(() => desk.place(auction)), CLOSED);
  desk.to(hk("09:00:00"));
  assertEquals(refused(() => desk.place(plain)), CLOSED);
  const [one, two] = [desk.place(auction), desk.place(auction)];
  desk.to(hk("09:14:59"));
  desk.amend(one, subtract(DAY.open, "20"));
  desk.cancel(two);
  desk.to(hk("09:15:00"));
  desk.place(auction);
  assert(refused(() => desk.cancel(one)).endsWith(LOCKED));
  assert(refused(() => desk.amend(one, DAY.open)).endsWith(LOCKED));
  assertEquals(
    (desk.broker.call("orders.cancelAll", { market: "hk" }) as { cancelled: string[] }).cancelled, // the answer of the operation
    [],
  );
  desk.to(hk("09:22:00"));
  assertEquals([refused(() => desk.place(auction)), refused(() => desk.place(plain))], [CLOSED, CLOSED]);
  assert(refused(() => desk.cancel(one)).endsWith(LOCKED));
  desk.to(hk("09:30:00"));
  assertEquals(refused(() => desk.place(auction)), CLOSED);
  desk.cancel(one);
  const low = { orderType: "enhanced-limit", price: subtract(DAY.close, "30") };
  const [three, four, five] = [desk.place(low), desk.place(low), desk.place(low)];
  desk.to(hk("12:10:00"));
  assert(refused(() => desk.cancel(three)).endsWith(LOCKED));
  desk.to(hk("12:30:00"));
  assert(refused(() => desk.amend(three, DAY.open)).endsWith(LOCKED));
  desk.cancel(three);
  desk.to(hk("16:00:00"));
  assertEquals([refused(() => desk.place(auction)), refused(() => desk.place(plain))], [CLOSED, CLOSED]);
  assert(refused(() => desk.cancel(four)).endsWith(LOCKED));
  desk.to(hk("16:01:00"));
  desk.cancel(four);
  assertEquals(refused(() => desk.place(plain)), CLOSED);
  const six = desk.place({ ...auction, price: DAY.close });
  desk.to(hk("16:06:00"));
  assert(refused(() => desk.cancel(six)).endsWith(LOCKED));
  assertEquals(desk.status(five), "accepted");
  desk.to(hk("16:10:00"));
  assertEquals(refused(() => desk.place(auction)), CLOSED);
  assertEquals(desk.status(five), "cancelled");
});

Deno.test("the auctions refuse prices outside the limits of their phase", () => {
  const limitsAt = (time: string) => {
    const desk = open(hk(time));
    const text = refused(() => desk.place({ orderType: "auction-limit", price: "300" }));
    const [, low = "", high = ""] = /limits (\S+) to (\S+)$/.exec(text) ?? [];
    desk.place({ orderType: "auction-limit", price: DAY[time < "12" ? "open" : "close"] });
    return [low, high].map(Number);
  };
  // 15 percent of the previous close, 592.00.
  assertEquals(limitsAt("09:05:00"), [503.2, 680.8]);
  const [low, high] = limitsAt("09:16:00") as [number, number]; // one low and one high limit
  const price = Number(DAY.open);
  assert(low < price && high > price && low >= price - 6 && high <= price + 6, `${low} to ${high}`);
  const [bid, ask] = limitsAt("16:07:00") as [number, number]; // one bid and one ask
  const close = Number(DAY.close);
  assert(bid < close && ask > close && bid >= close - 6 && ask <= close + 6, `${bid} to ${ask}`);
});

Deno.test("the closing auction refuses prices more than 5 percent from the median of five prices", () => {
  const near = (value: number) => Math.round(value * 1e6) / 1e6;
  let differs = 0;
  for (const date of ["2025-08-18", "2025-08-19", "2025-08-20", "2025-08-21", "2025-08-22", "2025-08-25"]) {
    const prices = ["15:59:00", "15:59:15", "15:59:30", "15:59:45", "16:00:00"]
      .map((time) => Number(shared.lastPrice("00700.HK", hk(time, date))));
    const median = prices.toSorted((a, b) => a - b)[2]!;
    const text = refused(() =>
      open(hk("16:02:00", date)).place({ orderType: "auction-limit", price: "300" })
    );
    const limits = /limits (\S+) to (\S+)$/.exec(text)?.slice(1).map((value) => near(Number(value)));
    assertEquals(limits, [near(median * 0.95), near(median * 1.05)], date);
    if (median !== prices[4] && median !== Math.max(...prices)) differs++;
  }
  assert(differs > 0);
});

Deno.test("an order that is open at the close takes part in the closing auction", () => {
  // The market closes above this price, so the order is not filled before the close.
  const desk = open(hk("15:59:59"));
  const buys = ["0", "5", "-0.5"].map((less) =>
    desk.place({ orderType: "enhanced-limit", price: subtract(DAY.close, less) })
  );
  const at = matchOf(1, { enter: "16:02:00" });
  desk.to(hk(at) - SECOND);
  const waiting = buys.filter((id) => desk.status(id) === "accepted");
  assert(waiting.includes(buys[1]!));
  desk.to(hk(at));
  const better = desk.fillsOf(buys[2]!)[0]!;
  assertEquals([better.price, better.rule, Date.parse(better.at)], [DAY.close, "closing-auction", hk(at)]);
  assertEquals([desk.status(buys[1]!), desk.fillsOf(buys[1]!).length], ["cancelled", 0]);
  assert(desk.fillsOf(buys[0]!).every(({ price }) => price === DAY.close));
});

Deno.test("an order whose limit the closing auction does not accept cannot be amended into it", () => {
  const desk = open(hk("15:00:00"));
  const [far, near] = ["540", "575"].map((price) => desk.place({ orderType: "enhanced-limit", price }));
  desk.to(hk("16:03:00"));
  assertEquals([far, near].map((id) => desk.status(id!)), ["accepted", "accepted"]);
  assertEquals(
    refused(() => desk.amend(far!, "600")),
    `order "${far}" cannot be amended now: its price is outside the closing auction's limits`,
  );
  desk.amend(near!, "600");
  desk.to(hk("16:11:00"));
  assertEquals([far, near].map((id) => [desk.status(id!), desk.fillsOf(id!).length]), [["cancelled", 0], [
    "filled",
    1,
  ]]);
});

Deno.test("auctions give the same fills however often the broker is queried", () => {
  const run = (step: number) => {
    const desk = open(hk("09:02:00"));
    desk.place({ orderType: "auction-limit", price: DAY.open, quantity: "500" });
    desk.place({ orderType: "auction", price: "0", quantity: "300" });
    for (let at = desk.clock.now(); at < hk("16:30:00"); at += step) desk.to(at);
    desk.to(hk("16:30:00"));
    return desk.broker.matches();
  };
  const often = run(17 * SECOND);
  assertEquals(often, run(5 * 3_600 * SECOND));
  assert(often.fills.length > 0);
});

Deno.test("the opening auction does not depend on what happens during and after a halt", () => {
  const script: ScriptEntry[] = [
    { what: "halt", symbol: "00700.HK", at: "2025-08-18 09:30", for: "90m" },
    { what: "price", symbol: "00700.HK", at: "2025-08-18 10:59", to: "640" },
  ];
  const halted = new SimulatedMarket({ seed: 1, plan: scriptPlan(script) });
  assertEquals(halted.dayBar("00700.HK", "2025-08-18")?.open, "640.00"); // the first trade after the halt
  const fillOf = (market: SimulatedMarket) => {
    const desk = open(hk("09:10:00"), 1, market);
    const id = desk.place({ orderType: "auction", price: "0" });
    desk.to(hk("09:16:00"));
    const limits = refused(() => desk.place({ orderType: "auction-limit", price: "300" }));
    desk.to(hk("09:25:00"));
    return [limits, desk.fillsOf(id)];
  };
  assertEquals(fillOf(halted), fillOf(shared));
});

Deno.test("an auction does not match a stock whose halt begins in the second of the match", () => {
  for (const [seed, enter, start] of [[49, "09:10:00", "09:21"], [128, "16:03:00", "16:09"]] as const) {
    const script: ScriptEntry[] = [{
      what: "halt",
      symbol: "00700.HK",
      at: `2025-08-18 ${start}`,
      for: "3m",
    }];
    const halted = new SimulatedMarket({ seed, plan: scriptPlan(script) });
    assertEquals(matchOf(seed, { enter }), `${start}:00`);
    const desk = open(hk(enter), seed, halted);
    const id = desk.place({ orderType: "auction", price: "0" });
    desk.to(hk("16:30:00"));
    assertEquals([desk.status(id), desk.fillsOf(id).length], ["cancelled", 0], start);
  }
});
