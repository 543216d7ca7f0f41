import { assert, assertEquals } from "@std/assert";
import { add, compare, divide, multiply, subtract } from "../../lib/decimal.ts";
import { Refusal } from "../../lib/simulator/contract.ts";
import { readPrice, writePrice } from "../../lib/simulator/broker/account/money.ts";
import { Quotation } from "../../lib/simulator/broker/matching/quotation.ts";
import { Tape } from "../../lib/simulator/broker/matching/tape.ts";
import { hk, market, open, refused } from "./desk.ts";

const DATE = "2025-08-15";
const MORNING = hk(DATE, "10:00:00");
const SECOND = 1_000;
const tencent = { market: "hk", symbol: "00700.HK", quantity: "100" };
const best = (at: number, side: "bids" | "asks") =>
  market.orderBook("00700.HK", at)[side][0]!.price.toFixed(2);
/** Returns the text of a rejection, or an empty text if there is none. */
function textOf(act: () => unknown): string {
  try {
    act();
    return "";
  } catch (error) {
    if (error instanceof Refusal) return error.text;
    throw error;
  }
}
const steps = (price: string, count: number) => add(price, multiply("0.50", String(count)));

Deno.test("a limit order is filled only at the best price, and the rest waits; an enhanced limit order is filled at more prices", () => {
  const symbol = "00001.HK";
  const { asks } = market.orderBook(symbol, MORNING + SECOND);
  assertEquals(asks.slice(0, 2).map(({ price, volume }) => [price, volume]), [[50.6, "2500"], [
    50.65,
    "17000",
  ]]);
  const order = { market: "hk", symbol, side: "buy", quantity: "5000", price: "51.00" };
  const pricesOf = (orderType: string) => {
    const desk = open(MORNING);
    const id = desk.place({ ...order, orderType });
    desk.to(MORNING + 10 * SECOND);
    assertEquals(desk.order("hk", id)?.price, "51.00");
    return desk.fillsOf(id).map(({ price }) => price);
  };
  assertEquals(new Set(pricesOf("limit")), new Set(["50.60"]));
  assert(pricesOf("enhanced-limit").some((price) => Number(price) > 50.6));
});

Deno.test("each of the nine price steps beyond the best price has the size of its price band", () => {
  const quotation = new Quotation(market, new Tape(market));
  const furthest = (
    symbol: string,
    side: "buy" | "sell",
    orderType: "limit" | "enhanced-limit",
    at: number,
  ) => {
    const instrument = market.instrument(symbol)!;
    const order = {
      book: "hk",
      instrument,
      isSell: side === "sell",
      orderType,
      price: readPrice("1"),
    } as const;
    return writePrice(quotation.furthest(order, DATE, at)!);
  };
  // The step of 00005.HK is 0.05 up to 100.00, and 0.10 above it: three steps to 100.00, and six above it.
  let at = hk(DATE, "09:30:05");
  while (market.orderBook("00005.HK", at).asks[0]!.price !== 99.85) at += SECOND;
  assertEquals(furthest("00005.HK", "buy", "enhanced-limit", at), "100.60");
  assertEquals(furthest("00005.HK", "buy", "limit", at), "99.85");
  // From the other side: four steps down to 100.00, and five below it.
  while (market.orderBook("00005.HK", at).bids[0]!.price !== 100.4) at += SECOND;
  assertEquals(furthest("00005.HK", "sell", "enhanced-limit", at), "99.75");
  assertEquals(furthest("00005.HK", "sell", "limit", at), "100.40");
});

Deno.test("no purchase is at nine times the last price or more, no sale at a ninth of it or less", () => {
  const desk = open(MORNING);
  const order = {
    market: "hk",
    symbol: "00939.HK",
    quantity: "1000",
    side: "buy",
    orderType: "enhanced-limit",
  };
  const last = market.lastPrice("00939.HK", MORNING);
  const nine = (Math.ceil(Number(last) * 9 * 20) / 20).toFixed(2);
  assertEquals(
    refused(() => desk.place({ ...order, price: nine })),
    `price "${nine}" of "00939.HK" is nine times the last price ${last} or more`,
  );
  desk.place({ ...order, price: subtract(nine, "0.05") });
  const [{ symbol, quantity }] = desk.ask<[{ symbol: string; quantity: string }]>("account.holdings", {
    market: "hk",
  });
  const price = market.lastPrice(symbol, MORNING);
  const tick = Number(market.tickSize(symbol, DATE, divide(price, "9", 4, "down")));
  const ninth = (Math.floor(Number(price) / 9 / tick) * tick).toFixed(2);
  const sale = { market: "hk", symbol, quantity, side: "sell", orderType: "enhanced-limit" };
  assertEquals(
    refused(() => desk.place({ ...sale, price: ninth })),
    `price "${ninth}" of "${symbol}" is a ninth of the last price ${price} or less`,
  );
  desk.place({ ...sale, price: add(ninth, String(tick)) });
  // A purchase far below the market stays with the broker.
  desk.place({ ...order, price: "0.50" });
});

Deno.test("the broker keeps an order more than 4% behind the market, and sends it when the market comes near", () => {
  const last = market.lastPrice("00700.HK", MORNING + SECOND);
  // The last step that is within 4%.
  const edge = (Math.ceil(Number(last) * 0.96 * 2) / 2).toFixed(2);
  const desk = open(MORNING);
  const order = { ...tencent, orderType: "enhanced-limit", side: "buy" };
  const [near, far] = [
    desk.place({ ...order, price: edge }),
    desk.place({ ...order, price: subtract(edge, "0.5") }),
  ];
  desk.to(MORNING + SECOND);
  const queued = () => desk.broker.matches().queues.map(({ orderId }) => orderId);
  assertEquals(queued(), [near]);
  const { status, canCancel, canAmend } = desk.order("hk", far)!;
  assertEquals([status, canCancel, canAmend], ["accepted", true, true]);
  // `far` is sent in the second of the first trade at which its price is within 4%, and joins the queue a second later.
  const { at } = market.prints("00700.HK", MORNING + SECOND, hk(DATE, "16:00:00"))
    .find(({ price }) => compare(subtract(edge, "0.5"), multiply(price, "0.96")) >= 0)!;
  const sentAt = Math.ceil(at / SECOND) * SECOND;
  desk.to(sentAt);
  assertEquals(queued(), [near]);
  desk.to(sentAt + SECOND);
  assertEquals(queued(), [near, far]);
});

Deno.test("before 2025-08-04 the broker sends an order at most 24 price steps behind the market", () => {
  const at = hk("2025-08-01", "10:00:00");
  const last = market.lastPrice("00700.HK", at + SECOND);
  const desk = open(at);
  const order = { ...tencent, orderType: "enhanced-limit", side: "buy" };
  assertEquals(market.tickSize("00700.HK", "2025-08-01", last), "0.50");
  const near = desk.place({ ...order, price: steps(last, -24) });
  desk.place({ ...order, price: steps(last, -25) });
  desk.to(at + SECOND);
  assertEquals(desk.broker.matches().queues.map(({ orderId }) => orderId), [near]);
});

Deno.test("Stock Connect refuses prices outside the price cage, and purchases far below the best bid", () => {
  const at = hk(DATE, "10:00:00");
  const symbol = "600519.SH";
  const { asks, bids } = market.orderBook(symbol, at);
  const [ask, bid] = [asks[0]!.price, bids[0]!.price];
  const cents = (value: number, round: (value: number) => number) => (round(value * 100) / 100).toFixed(2);
  const order = { market: "shanghai", symbol, orderType: "limit", side: "buy", quantity: "100" };
  const top = cents(ask * 1.02, Math.floor);
  const bottom = cents(bid * 0.97, Math.ceil);
  const place = (price: string) => open(at).place({ ...order, price });
  const cage = (price: string) =>
    `price "${price}" of "${symbol}" is outside the price cage around ${ask.toFixed(2)}`;
  // The account may not have the cash for a purchase at the upper edge. The broker checks the price first, so this does
  // not matter here.
  const above = add(top, "0.01");
  assertEquals(refused(() => place(above)), cage(above));
  assert(!/cage|bid/.test(textOf(() => place(top))));
  const below = subtract(bottom, "0.01");
  assertEquals(
    refused(() => place(below)),
    `price "${below}" of "${symbol}" is more than 3% below the best bid ${bid.toFixed(2)}`,
  );
  assert(!/cage|bid/.test(textOf(() => place(bottom))));
});

Deno.test("the price cage allows cheap stocks 0.10, and does not apply to funds", () => {
  const symbol = "600036.SH";
  const ask = "3.00";
  // The check reads only the best prices and the last price.
  const tape = { levels: () => [{ price: readPrice(ask) }], price: () => readPrice(ask) } as unknown as Tape;
  const quotation = new Quotation(market, tape);
  const refusal = (price: string, kind: "stock" | "etf") =>
    quotation.refusal({
      book: "shanghai",
      instrument: { ...market.instrument(symbol)!, kind },
      isSell: false,
      orderType: "limit",
      price: readPrice(price),
    }, MORNING);
  const [top, above] = [add(ask, "0.10"), add(ask, "0.11")];
  assertEquals([refusal(top, "stock"), refusal(above, "etf")], [undefined, undefined]);
  assertEquals(
    refusal(above, "stock"),
    `price "${above}" of "${symbol}" is outside the price cage around ${ask}`,
  );
});

Deno.test("Stock Connect accepts no orders at lunch until 12:55, and no cancellations before the auctions match", () => {
  const closed = "current time does not allow entrust";
  const order = { market: "shanghai", symbol: "600036.SH", orderType: "limit", side: "buy", quantity: "100" };
  const priceAt = (at: number) => subtract(market.lastPrice("600036.SH", at), "0.50");
  for (
    const [time, isOpen] of [["11:29:59", true], ["11:30:00", false], ["12:54:59", false], [
      "12:55:00",
      true,
    ]] as const
  ) {
    const at = hk(DATE, time);
    const act = () => open(at).place({ ...order, price: priceAt(at) });
    if (isOpen) act();
    else assertEquals(refused(act), closed, time);
  }
  for (
    const [placed, time, allowed] of [
      ["09:15:00", "09:19:59", true],
      ["09:15:00", "09:20:00", false],
      ["09:15:00", "09:24:59", false],
      ["09:15:00", "09:25:00", true],
      ["14:56:00", "14:56:59", true],
      ["14:56:00", "14:57:00", false],
      ["14:56:00", "14:59:59", false],
    ] as const
  ) {
    const date = "2025-08-18";
    const desk = open(hk(date, placed));
    const price = (Math.ceil(Number(market.lastPrice("600036.SH", hk(date, placed))) * 98) / 100).toFixed(2);
    const orderId = desk.place({ ...order, price });
    desk.to(hk(date, time));
    const cancel = () => desk.ask("orders.cancel", { market: "shanghai", symbol: "600036.SH", orderId });
    if (allowed) cancel();
    else assert(refused(cancel).endsWith("the exchange accepts no such request in this phase"), time);
  }
});

Deno.test("kept orders give the same fills however often the broker is queried", () => {
  const run = (step: number) => {
    const desk = open(MORNING);
    for (const less of ["10", "20", "24", "26", "28"]) {
      const price = subtract(steps(best(MORNING, "bids"), 0), less);
      desk.place({ ...tencent, orderType: "enhanced-limit", side: "buy", price });
    }
    for (let at = MORNING; at < hk(DATE, "15:59:59"); at += step) desk.to(at);
    desk.to(hk(DATE, "15:59:59"));
    return desk.broker.matches();
  };
  assertEquals(run(131 * SECOND), run(7 * 3_600 * SECOND));
});
