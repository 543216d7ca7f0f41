/** Tests that the sums of a day agree to the cent, and that each kind of difference is found. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Decimal } from "../../lib/decimal.ts";
import type { Broker } from "../../lib/simulator/broker/broker.ts";
import { startGateway } from "../../lib/simulator/gateway/mod.ts";
import { MoneyCheck } from "../../lib/swarm/money.ts";

const hongKong = (time: string) => Date.parse(`${time}+08:00`);

interface Row {
  [name: string]: unknown;
  fees?: Record<string, Decimal>;
}

/**
 * Trades for a day, and returns what the check finds the next morning. If it finds nothing, the next trading day is
 * checked too. `change` may change the answer of a list. With `twice`, the check gets each fill twice.
 */
async function checked(change: (name: string, rows: Row[]) => Row[] = (_, rows) => rows, twice = false) {
  let now = hongKong("2025-08-15T10:00:00");
  await using simulated = await startGateway({
    seed: 3,
    clock: { now: () => now },
    days: 3,
    fillsPerDay: 2,
    httpPort: 0,
    pushPort: 0,
    controlToken: "none",
    pushIntervalMs: 0,
  });
  const { broker } = simulated;
  const call = broker.call.bind(broker);
  const fills = new Map<string, { orderId: string; quantity: Decimal; price: Decimal }>();
  broker.onOrderPush(({ update }) => {
    const { matchId, orderId = "", fillQuantity: quantity = "0", fillPrice: price = "0" } = update;
    if (matchId === undefined || quantity === "0") return;
    fills.set(matchId, { orderId, quantity, price });
    if (twice) fills.set(`${matchId} again`, { orderId, quantity, price });
  });
  // This order stays open all day. The money that it reserves still belongs to the account.
  const far = { market: "hk", symbol: "00700.HK", side: "buy", orderType: "enhanced-limit" };
  call("orders.place", { ...far, price: "400", quantity: "100" });
  const money = new MoneyCheck({ broker, fills });
  for (const [side, symbol, price] of [["buy", "00700.HK", "620"], ["sell", "02020.HK", "80"]] as const) {
    call("orders.place", { market: "hk", symbol, side, orderType: "enhanced-limit", price, quantity: "200" });
  }
  for (let minute = 0; minute < 30; minute++, now += 60_000) simulated.round();
  assert(fills.size >= 2, "both orders are filled");
  now = hongKong("2025-08-16T07:00:00");
  broker.call = (name, params) => {
    const rows = call(name, params);
    // Only lists are changed; a later page of a list is empty.
    return Array.isArray(rows) && rows.length > 0
      ? change(name, rows as Row[]) as unknown as typeof rows
      : rows;
  };
  const found = money.check("2025-08-15");
  if (found !== undefined) return found;
  now = hongKong("2025-08-19T07:00:00");
  return money.check("2025-08-18"); // a day without fills
}

/** Changes the first row of a list. */
const first = (list: string, change: (row: Row) => Row[]) => (name: string, rows: Row[]) =>
  name === list ? [...change(structuredClone(rows[0]!)), ...rows.slice(1)] : rows;

Deno.test("cash, holdings, fees and the fund journal of a day of the simulator agree to the cent", async () => {
  assertEquals(await checked(), undefined);
});

for (
  const [what, change, text] of [
    [
      "a fee is a cent more",
      first("fills.history", (row) => [{ ...row, fees: { ...row.fees, commission: "99.99" } }]),
      "the fees of order",
    ],
    [
      "a fill has another quantity",
      first("fills.history", (row) => [{ ...row, filledQuantity: "199" }]),
      "the list of fills",
    ],
    [
      "a fill has another amount",
      first("fills.history", (row) => [{ ...row, fillAmount: "1.00" }]),
      "the list of fills",
    ],
    ["a fill is missing", first("fills.history", () => []), "the list of fills"],
    ["a fill is listed twice", first("fills.history", (row) => [row, row]), "the list of fills"],
    [
      "an entry of the journal is a cent less",
      first("fundJournal.history", (row) => [{ ...row, amount: "-0.01" }]),
      "for trades",
    ],
    [
      "cash moves without a trade",
      first("fundJournal.history", (row) => [row, { ...row, type: "interest", amount: "0.01" }]),
      "the cash of 2025-08-15",
    ],
    ["a holding is missing", first("account.holdings", () => []), "the account holds"],
  ] as const
) {
  Deno.test(`MoneyCheck finds a difference if ${what}`, async () =>
    assertStringIncludes(await checked(change) ?? "", text));
}

Deno.test("MoneyCheck finds a difference if a fill is counted twice", async () => {
  assertStringIncludes(await checked(undefined, true) ?? "", "its pushes have");
});

Deno.test("the holdings of a day agree if shares were split in the morning", () => {
  let quantity = "500";
  const call = (name: string) =>
    name === "account.holdings"
      ? [{ symbol: "01211.HK", quantity }]
      : name === "account.funds"
      ? { available: "1.00", frozen: "0.00" }
      : [];
  // The check calls no other operation of a broker.
  const money = new MoneyCheck({ broker: { call } as unknown as Broker, fills: new Map() });
  assertEquals(money.check("2025-06-09"), undefined);
  quantity = "1500";
  assertEquals(money.check("2025-06-10"), undefined);
  assertEquals(money.check("2025-06-11"), undefined);
  quantity = "4500";
  assertStringIncludes(money.check("2025-06-12") ?? "", "the account holds 4500 of 01211.HK");
});
