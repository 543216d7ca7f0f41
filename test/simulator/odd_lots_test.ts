import { assert, assertEquals } from "@std/assert";
import { add, multiply } from "../../lib/decimal.ts";
import type { JournalEntry } from "../../lib/operations/fund_journal.ts";
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { writePrice } from "../../lib/simulator/broker/account/money.ts";
import { OddLots } from "../../lib/simulator/broker/matching/odd_lots.ts";
import { dayAt } from "../../lib/simulator/broker/sessions.ts";
import { scriptPlan } from "../../lib/simulator/script.ts";
import { SimulatedMarket } from "../../lib/simulator/market/mod.ts";
import { hk, market, open, refused } from "./desk.ts";

const DATE = "2025-08-18";
const MORNING = hk(DATE, "09:45:00");
const SYMBOL = "00700.HK";
const odd = { market: "hk", symbol: SYMBOL, orderType: "odd-lot", quantity: "37" };
/** Returns the last price times a factor, on the price grid. */
const limitAt = (factor: number, at = MORNING) =>
  (Math.round(Number(market.lastPrice(SYMBOL, at)) * factor * 2) / 2).toFixed(2);

Deno.test("a participant takes an odd lot whole: a sale at a discount, a purchase at a premium", () => {
  for (const [side, factor] of [["buy", 1.05], ["sell", 0.95]] as const) {
    const desk = open(MORNING);
    // Buys a board lot, so that the account has shares to sell.
    desk.place({ ...odd, orderType: "enhanced-limit", quantity: "100", side: "buy", price: limitAt(1.002) });
    desk.to(MORNING + 10_000);
    const id = desk.place({ ...odd, side, price: limitAt(factor) });
    assertEquals(desk.broker.matches().queues, [], "the odd-lot market has no priority");
    desk.to(hk(DATE, "11:59:00"));
    const [fill, ...others] = desk.fillsOf(id);
    assertEquals([fill?.quantity, fill?.rule, others.length], ["37", "odd-lot", 0]);
    const last = Number(market.lastPrice(SYMBOL, Date.parse(fill!.at)));
    const distance = (Number(fill!.price) - last) / last * (side === "buy" ? 1 : -1);
    assert(distance >= 0.002 && distance <= 0.022, `${side} at ${fill!.price}, ${last} on the other board`);
    assertEquals(Number(fill!.price) * 2 % 1, 0, "on the grid");
  }
});

Deno.test("an odd lot waits minutes, also while board lots trade at its limit, and expires if nobody takes it", () => {
  let waited = 0;
  for (let minute = 0; minute < 30; minute++) {
    const at = MORNING + minute * 60_000;
    const desk = open(at);
    const id = desk.place({ ...odd, side: "buy", price: limitAt(1.05, at) });
    const same = desk.place({ ...odd, side: "buy", price: limitAt(1.05, at) });
    desk.to(at + 3_600_000);
    const [fill] = desk.fillsOf(id);
    assertEquals(fill?.at, desk.fillsOf(same)[0]?.at);
    if (Date.parse(fill!.at) > at + 60_000) waited++;
  }
  assert(waited > 15, `${waited} of 30 orders waited`);
  const desk = open(MORNING);
  const atMarket = desk.place({ ...odd, side: "buy", price: market.lastPrice(SYMBOL, MORNING) });
  const low = market.dayBar(SYMBOL, DATE)!.low;
  assert(Number(low) < Number(market.lastPrice(SYMBOL, MORNING)));
  const id = desk.place({ ...odd, side: "buy", price: low });
  desk.to(hk(DATE, "16:10:00"));
  assertEquals(desk.order("hk", id)?.status, "cancelled");
  for (const { at, price } of desk.fillsOf(atMarket)) {
    assert(Number(price) > Number(market.lastPrice(SYMBOL, Date.parse(at))));
  }
});

Deno.test("the odd-lot market accepts less than a lot, trades only in continuous trading, and has no volatility control", () => {
  const desk = open(MORNING);
  refused(() => desk.place({ ...odd, side: "buy", quantity: "100", price: limitAt(1) }));
  refused(() => desk.place({ ...odd, side: "buy", quantity: "137", orderType: "limit", price: limitAt(1) }));
  const lunch = open(hk(DATE, "12:05:00"));
  const id = lunch.place({ ...odd, side: "buy", price: limitAt(1.05, lunch.now()) });
  lunch.to(hk(DATE, "13:00:00") - 1_000);
  assertEquals(lunch.fillsOf(id), []);
  lunch.to(hk(DATE, "14:00:00"));
  assertEquals(lunch.fillsOf(id).length, 1);

  const plan = scriptPlan([{ what: "price", symbol: SYMBOL, at: `${DATE} 10:30`, to: "500" }]);
  const jump = new SimulatedMarket({ seed: 1, plan });
  const paused = open(hk(DATE, "10:31:00"), { market: jump });
  const { pauses } = (paused.place({ ...odd, side: "buy", price: "700.00" }), paused.broker.matches());
  assertEquals(pauses.map(({ kind }) => kind), ["cooling-off"]);
  refused(() =>
    paused.place({ ...odd, orderType: "enhanced-limit", quantity: "100", side: "buy", price: "700.00" })
  );
});

Deno.test("a sold odd lot is in the journal to the cent, and its fills do not depend on how often the broker is queried", () => {
  const run = (step: number) => {
    const desk = open(MORNING);
    desk.place({ ...odd, side: "buy", price: limitAt(1.04) });
    for (let at = MORNING + step; at < hk(DATE, "11:00:00"); at += step) desk.to(at);
    desk.to(hk(DATE, "11:00:00"));
    desk.place({ ...odd, side: "sell", quantity: "36", price: limitAt(0.94) });
    for (let at = desk.now() + step; at < hk(DATE, "15:59:00"); at += step) desk.to(at);
    desk.to(hk(DATE, "15:59:00"));
    return desk;
  };
  const desk = run(47_000);
  const { fills } = desk.broker.matches();
  assertEquals(fills.map(({ quantity, rule }) => [quantity, rule]), [["37", "odd-lot"], ["36", "odd-lot"]]);
  assertEquals(fills, run(36_000_000).broker.matches().fills);
  desk.to(hk(DATE, "19:00:01"));
  const cleared = desk.cleared("hk", DATE);
  const amounts = (rows: readonly JournalEntry[]) =>
    rows.reduce((sum, { amount }) => add(sum, amount), "0.00");
  const expected = cleared.reduce((sum, { side, fillPrice, filledQuantity, fees }) => {
    const gross = multiply(fillPrice, filledQuantity);
    return add(sum, side === "sell" ? gross : `-${gross}`, `-${fees!.total!}`);
  }, "0.00");
  assertEquals(Number(amounts(desk.journal("hk", DATE))), Number(expected));
});

Deno.test("a limit at exactly a participant's price is enough, and no participant is nearer than 0.3% to the market", () => {
  for (const [side, factor] of [["buy", 1.05], ["sell", 0.95]] as const) {
    const fillAt = (price: string) => {
      const desk = open(MORNING);
      desk.place({
        ...odd,
        orderType: "enhanced-limit",
        quantity: "100",
        side: "buy",
        price: limitAt(1.002),
      });
      desk.to(MORNING + 10_000);
      const id = desk.place({ ...odd, side, price });
      desk.to(hk(DATE, "11:59:00"));
      return desk.fillsOf(id)[0]!;
    };
    const first = fillAt(limitAt(factor));
    assertEquals(fillAt(first.price), first);
  }
  const lots = new OddLots(7, market);
  const day = dayAt(builtInCalendars, "hk", MORNING);
  let nearest = Infinity;
  for (const { from, to } of day.segments) {
    for (let at = from; at < to; at += 1_000) {
      const price = lots.price(SYMBOL, { day, isSell: false, at });
      if (price === undefined) continue;
      nearest = Math.min(nearest, Number(writePrice(price)) / Number(market.lastPrice(SYMBOL, at)) - 1);
    }
  }
  assert(nearest >= 0.003 && nearest < 0.02, String(nearest));
});
