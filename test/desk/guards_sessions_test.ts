/** Tests of when each market accepts an order: the first and the last second of each period. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { BrokerError } from "../../lib/errors.ts";
import { assertRefuses, check, ORDER as HK, quoteTime } from "./guards_market.ts";

const US = { market: "us", symbol: "AAPL", quantity: "1", price: "200", side: "buy", orderType: "limit" };
const SH = { ...HK, market: "shanghai", symbol: "600519.SH", price: "10" };
const FUTURE = {
  symbol: "HSI2508.HK",
  price: "25000",
  quantity: "1",
  side: "buy",
  orderType: "limit",
  validity: "day",
};
const limits = { quoteMaxAge: "off", priceCollar: "off" };
const FRIDAY = "2025-08-15";
const HALF_DAY = "2025-12-24";
/** The last trading day of the contract. */
const LAST_DAY = "2025-08-28";

/** Returns whether the session rule lets an order pass at a local time of its market. */
async function accepts(order: object, at: string): Promise<boolean> {
  const { market, validity } = order as { market?: string; validity?: string };
  const zone = market === "us" ? "America/New_York" : "Asia/Hong_Kong";
  const now = Temporal.PlainDateTime.from(at).toZonedDateTime(zone).epochMilliseconds;
  try {
    await check(order, { now, limits, ...validity !== undefined && { operation: "futures.place" } });
    return true;
  } catch (error) {
    if (error instanceof BrokerError && error.message.includes("guard rail session ")) return false;
    throw error;
  }
}

const afterHours = { ...FUTURE, session: "after-hours" };
const extended = { ...US, tradingHours: "extended" };
const auction = { ...HK, orderType: "auction-limit" };
/** The first second of a period, and the first one after it. */
const periods: [what: string, order: object, from: string, until: string][] = [
  ["Hong Kong, morning", HK, `${FRIDAY}T09:30:00`, `${FRIDAY}T12:00:00`],
  ["Hong Kong, afternoon", HK, `${FRIDAY}T13:00:00`, `${FRIDAY}T16:00:00`],
  ["Hong Kong, half day", HK, `${HALF_DAY}T09:30:00`, `${HALF_DAY}T12:00:00`],
  ["Hong Kong, opening auction", auction, `${FRIDAY}T09:00:00`, `${FRIDAY}T09:22:00`],
  ["Hong Kong, closing auction", auction, `${FRIDAY}T16:01:00`, `${FRIDAY}T16:10:00`],
  ["United States", US, `${FRIDAY}T09:30:00`, `${FRIDAY}T16:00:00`],
  ["United States, extended hours", extended, `${FRIDAY}T04:00:00`, `${FRIDAY}T20:00:00`],
  [
    "United States, option",
    { ...extended, symbol: "AAPL250919C230000" },
    `${FRIDAY}T09:30:00`,
    `${FRIDAY}T16:00:00`,
  ],
  // A market order does not trade in extended hours.
  [
    "United States, market order",
    { ...extended, orderType: "market" },
    `${FRIDAY}T09:30:00`,
    `${FRIDAY}T16:00:00`,
  ],
  ["the mainland, morning", SH, `${FRIDAY}T09:15:00`, `${FRIDAY}T11:30:00`],
  ["the mainland, afternoon", SH, `${FRIDAY}T12:55:00`, `${FRIDAY}T15:00:00`],
  ["futures, morning", FUTURE, `${FRIDAY}T08:45:00`, `${FRIDAY}T12:00:00`],
  ["futures, afternoon", FUTURE, `${FRIDAY}T12:30:00`, `${FRIDAY}T16:30:00`],
  ["futures, last day of the contract", afterHours, `${LAST_DAY}T12:30:00`, `${LAST_DAY}T16:00:00`],
  ["futures, night", afterHours, `${FRIDAY}T17:15:00`, "2025-08-16T03:00:00"],
];

for (const [what, order, from, until] of periods) {
  Deno.test(`session: ${what}`, async () => {
    const before = (at: string) => Temporal.PlainDateTime.from(at).subtract({ seconds: 1 }).toString();
    const times = [before(from), from, before(until), until];
    assertEquals(await Promise.all(times.map((at) => accepts(order, at))), [false, true, true, false]);
  });
}

Deno.test("session: futures orders of the night session must request it, and a half day has no night session", async () => {
  assertEquals(await accepts(FUTURE, `${FRIDAY}T20:00:00`), false);
  assertEquals(await accepts(afterHours, `${FRIDAY}T10:00:00`), true);
  const january = { ...afterHours, symbol: "HSI2601.HK" };
  assertEquals(await accepts(january, `${HALF_DAY}T20:00:00`), false);
  assertEquals(await accepts(january, "2025-12-23T20:00:00"), true);
});

Deno.test("session: a contract has no night session after its last day, and no later day", async () => {
  const times = [`${LAST_DAY}T20:00:00`, "2025-08-29T02:00:00", "2025-08-29T10:00:00"];
  assertEquals(await Promise.all(times.map((at) => accepts(afterHours, at))), [false, false, false]);
  const september = { ...afterHours, symbol: "HSI2509.HK" };
  assertEquals(await Promise.all(times.map((at) => accepts(september, at))), [true, true, true]);
});

Deno.test("session: an amendment has the hours with which its order was placed, and any hours if no intent placed it", async () => {
  const at = (time: string, zone: string) =>
    Temporal.PlainDateTime.from(`${FRIDAY}T${time}`).toZonedDateTime(zone).epochMilliseconds;
  const passes = async (placed: object | undefined, changed: object, now: number) => {
    const { operation, ...amendment } = { operation: "orders.amend", orderId: "7", ...changed };
    const order = { market: "us", ...placed, orderId: "7", quantity: "2", side: "buy" };
    const place = operation.replace("amend", "place");
    const earlier = placed === undefined
      ? []
      : [{ operation: place, params: placed, orderIds: ["7"], at: now - 60_000 }];
    try {
      await check(amendment, { operation, now, limits, orders: [{ ...order, ...changed }], earlier });
      return true;
    } catch (error) {
      if (error instanceof BrokerError && error.message.includes("guard rail session ")) return false;
      throw error;
    }
  };
  const early = at("08:00:00", "America/New_York");
  const amended = { market: "us", symbol: "AAPL", quantity: "1", price: "200" };
  const us = await Promise.all([extended, US, undefined].map((placed) => passes(placed, amended, early)));
  assertEquals(us, [true, false, true]);
  const night = at("20:00:00", "Asia/Hong_Kong");
  const { orderType: _, ...terms } = FUTURE;
  const future = { operation: "futures.amend", ...terms };
  assertEquals([await passes(afterHours, future, night), await passes(FUTURE, future, night)], [true, false]);
  // Hong Kong's stocks have no extended hours, so a refusal does not name them.
  const orders = [{ ...HK, orderId: "7", side: "buy" }];
  const amendment = { market: "hk", symbol: HK.symbol, orderId: "7", quantity: "100", price: HK.price };
  const error = await assertRejects(
    () => check(amendment, { operation: "orders.amend", now: night, limits, orders }),
    BrokerError,
  );
  assert(!error.message.includes("extended hours"), error.message);
});

Deno.test("session: a dark-pool order passes at any time, because only the broker checks it", async () => {
  assertEquals(await accepts({ ...HK, orderType: "dark-pool" }, `${FRIDAY}T18:00:00`), true);
});

Deno.test("priceCollar: in extended hours, the order book of the session that trades counts", async () => {
  const asked: unknown[] = [];
  const market = {
    quote: { lastPrice: "200", lotSize: 1 },
    bid: "199.99",
    ask: "200.01",
    onBook: (session: unknown) => asked.push(session),
  };
  for (const time of ["08:00:00", "11:00:00", "17:00:00"]) {
    const now = Temporal.PlainDateTime.from(`${FRIDAY}T${time}`).toZonedDateTime("America/New_York");
    await check(extended, { now: now.epochMilliseconds, market, limits: { priceCollar: "1%" } });
  }
  assertEquals(asked, ["pre-market", undefined, "after-hours"]);
});

Deno.test("quoteMaxAge: in extended hours, the quote of the session that trades counts", async () => {
  const now =
    Temporal.PlainDateTime.from(`${FRIDAY}T08:00:00`).toZonedDateTime("America/New_York").epochMilliseconds;
  const old = { quote: { lastPrice: "200", marketTime: quoteTime(now - 61_000, "us") } };
  await assertRefuses("quoteMaxAge", extended, { now, market: old }, "61 s old");
  const asked: unknown[] = [];
  const market = {
    quote: { lastPrice: "200", lotSize: 1 },
    onQuote: (session: unknown) => asked.push(session),
  };
  await check(extended, { now, market });
  await check(extended, { now: now + 2 * 3_600_000, market });
  await check(extended, { now: now + 9 * 3_600_000, market });
  assertEquals(asked, ["pre-market", undefined, "after-hours"]);
});
