/** Tests of the prices of a plan's orders and of the hours in which they are sent. */
import { assertEquals } from "@std/assert";
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { marketHours } from "../../lib/rebalance/execution/hours.ts";
import { type MarketView, orderPrice } from "../../lib/rebalance/execution/pricing.ts";
import { planOf, termsOf } from "./support.ts";

const NOW = Date.parse("2025-08-15T10:30:00+08:00");
const view: MarketView = {
  quote: { security: { type: "hk-stock", symbol: "00027.HK" }, lotSize: 1000 },
  stale: undefined,
  bid: "39.24",
  ask: "39.26",
  last: "39.25",
};
const trade = (side: "buy" | "sell", price = "39.24") =>
  planOf([{ symbol: "00027.HK", side, quantity: "1000", price }]).trades[0]!;
const priced = (side: "buy" | "sell", terms: Record<string, unknown>, given: MarketView = view) =>
  orderPrice(trade(side), termsOf(terms), given, NOW);

Deno.test("orderPrice() rounds the peg to the tick away from the market, and says so", () => {
  assertEquals(priced("buy", { peg: "mid" }), {
    price: "39.24",
    text: "39.24 (mid 39.25, rounded to the tick 0.02)",
  });
  assertEquals(priced("sell", { peg: "mid" }), {
    price: "39.26",
    text: "39.26 (mid 39.25, rounded to the tick 0.02)",
  });
  assertEquals(priced("buy", { peg: "bid" }), { price: "39.24", text: "39.24 (bid)" });
  assertEquals(priced("sell", { peg: "ask" }), { price: "39.26", text: "39.26 (ask)" });
  assertEquals(priced("buy", { peg: "last" }), {
    price: "39.24",
    text: "39.24 (last 39.25, rounded to the tick 0.02)",
  });
});

Deno.test("orderPrice() ends the trade beyond the collar in both directions, and accepts a price inside it", () => {
  const at = (bid: string) => priced("buy", { peg: "bid", collar: "0.0051" }, { ...view, bid });
  assertEquals("price" in at("39.44"), true); // 0.20 away; the collar is 0.200124
  for (const bid of ["39.46", "39.02"]) {
    assertEquals(at(bid), {
      end: `the bid price ${bid} of "00027.HK" is more than 0.51 % from the plan's price 39.24`,
    });
  }
});

Deno.test("orderPrice() waits without a price or with an old quote, and ends while trading is suspended", () => {
  assertEquals(priced("buy", { peg: "bid" }, { ...view, bid: undefined }), {
    wait: 'the market of "00027.HK" has no bid price',
  });
  assertEquals(priced("buy", {}, { ...view, stale: "960 s old" }), {
    wait: 'the quote of "00027.HK" is 960 s old',
  });
  assertEquals(priced("buy", {}, { ...view, quote: undefined }), {
    wait: 'the broker gave no quote of "00027.HK"',
  });
  assertEquals(priced("buy", {}, { ...view, quote: { ...view.quote!, isSuspended: true } }), {
    end: '"00027.HK" is suspended from trading',
  });
});

Deno.test("an algorithmic order has the edge of the collar as its limit", () => {
  const algorithm = { strategy: "twap" };
  assertEquals(priced("buy", { algorithm, collar: "0.02" }), {
    price: "40.02",
    text: "40.02 (the collar 40.0248, rounded to the tick 0.02)",
  });
  assertEquals(priced("sell", { algorithm, collar: "0.02" }), {
    price: "38.46",
    text: "38.46 (the collar 38.4552, rounded to the tick 0.02)",
  });
});

Deno.test("marketHours() returns the trading hours within the hours of the terms", () => {
  const at = (time: string, hours?: { from: string; to: string }) => {
    const found = marketHours(builtInCalendars, { market: "hk", hours, now: Date.parse(`${time}+08:00`) });
    if (found.is === "open") {
      return `open until ${new Date(found.until + 8 * 3_600_000).toISOString().slice(0, 16)}`;
    }
    if (found.is === "unknown") return "unknown";
    const next = new Date(found.opensAt + 8 * 3_600_000).toISOString().slice(0, 16);
    return `${found.isBreak ? "break" : "closed"} until ${next}`;
  };
  assertEquals(at("2025-08-15T10:00:00"), "open until 2025-08-15T12:00");
  assertEquals(at("2025-08-15T12:30:00"), "break until 2025-08-15T13:00");
  assertEquals(at("2025-08-15T16:00:00"), "closed until 2025-08-18T09:30");
  const hours = { from: "10:30", to: "11:30" };
  assertEquals(at("2025-08-15T10:00:00", hours), "closed until 2025-08-15T10:30");
  assertEquals(at("2025-08-15T10:30:00", hours), "open until 2025-08-15T11:30");
  assertEquals(at("2025-08-15T11:30:00", hours), "closed until 2025-08-18T10:30");
  assertEquals(at("2125-08-15T11:30:00"), "unknown");
});
