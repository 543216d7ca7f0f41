/** Checks that an order whose answer was lost is in the lists that the error names, over every transport. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Client } from "../../lib/client/client.ts";
import { OutcomeUnknownError } from "../../mod.ts";
import { type AccountUnderTest, conformance, ORDER, TENCENT } from "./simulated_account.ts";

type ListRow = { orderId?: string; quantity?: string; filledQuantity?: string; status?: string };

/** Resolves to today's Hong Kong rows of the given lists, by list. */
async function readLists(client: Client, lists: readonly string[]): Promise<Map<string, ListRow[]>> {
  const market = { market: "hk" } as const;
  const readers: Record<string, () => Promise<ListRow[]>> = {
    "orders.today": () => client.orders.today(market).toArray(),
    "fills.today": () => client.fills.today(market).toArray(),
    "conditionalOrders.today": () => client.conditionalOrders.today(market).toArray(),
  };
  const found = new Map<string, ListRow[]>();
  for (const list of lists) found.set(list, await readers[list]!());
  return found;
}

/** Returns the rows of a list whose orders are new. */
function newOrders(list: string, before: Map<string, ListRow[]>, after: Map<string, ListRow[]>): ListRow[] {
  const known = new Set(before.get(list)!.map(({ orderId }) => orderId));
  return after.get(list)!.filter(({ orderId }) => !known.has(orderId));
}

/** Places an order whose answer is lost; with `lost-request`, the order itself is lost. */
async function lose(
  { client, simulator: { faults } }: AccountUnderTest,
  kind: "lost-answer" | "lost-request",
  order: Parameters<Client["orders"]["place"]>[0],
): Promise<OutcomeUnknownError> {
  faults.arm({ kind, operation: "orders.place" });
  const error = await assertRejects(() => client.orders.place(order), OutcomeUnknownError);
  assertEquals(faults.struck(kind), 1);
  return error;
}

conformance(
  "an order that fills before the first query is found among today's orders and fills",
  async (desk) => {
    const { client, clock } = desk;
    const [quote] = await client.quotes.latest({ securities: [TENCENT] });
    const price = String(Math.floor(Number(quote!.lastPrice) * 1.02));
    const before = await readLists(client, ["orders.today", "fills.today"]);
    const { lists } = await lose(desk, "lost-answer", { ...ORDER, price, orderType: "enhanced-limit" });
    clock.advance(60_000);
    desk.round();
    const after = await readLists(client, lists);
    const made = newOrders("orders.today", before, after);
    const fills = newOrders("fills.today", before, after);
    assertEquals(made.map(({ status, quantity }) => [status, quantity]), [["filled", "100"]]);
    assertEquals(fills.map(({ orderId }) => orderId), [made[0]!.orderId]);
    // Control: an order that never arrived is in none of the lists.
    desk.simulator.faults.clear();
    const still = await readLists(client, lists);
    await lose(desk, "lost-request", { ...ORDER, price, orderType: "enhanced-limit" });
    clock.advance(60_000);
    desk.round();
    const none = await readLists(client, lists);
    for (const list of lists) assertEquals([list, newOrders(list, still, none)], [list, []]);
  },
);

conformance(
  "the parts of an order that the broker splits add up to its quantity, until a part is cancelled",
  async (desk) => {
    const { client } = desk;
    const sumOf = (rows: ListRow[]) => rows.reduce((sum, { quantity }) => sum + Number(quantity), 0);
    const before = await readLists(client, ["orders.today"]);
    // The single-order maximum in Hong Kong is 3,000 lots.
    const { lists } = await lose(desk, "lost-answer", { ...ORDER, quantity: "800000", price: "1.00" });
    assert(lists.includes("orders.today"));
    const parts = newOrders("orders.today", before, await readLists(client, ["orders.today"]));
    assertEquals(parts.map(({ quantity }) => quantity).sort(), ["200000", "300000", "300000"]);
    assertEquals(sumOf(parts), 800_000);
    const { orderId = "" } = parts[1]!;
    await client.orders.cancel({ market: "hk", symbol: "00700.HK", orderId });
    const left = newOrders("orders.today", before, await readLists(client, ["orders.today"]))
      .filter(({ status }) => status !== "cancelled");
    assert(sumOf(left) < 800_000 && left.length === 2, JSON.stringify(left));
    // Control: an order within the limit is not split.
    const whole = await readLists(client, ["orders.today"]);
    desk.simulator.faults.clear();
    await client.orders.place({ ...ORDER, quantity: "300000", price: "1.00" });
    assertEquals(newOrders("orders.today", whole, await readLists(client, ["orders.today"])).length, 1);
  },
);

conformance(
  "a conditional order whose answer was lost is in its own list, and not among today's orders",
  async (desk) => {
    const { client } = desk;
    const before = await readLists(client, ["orders.today", "conditionalOrders.today"]);
    const terms = { orderType: "take-profit-limit", triggerValue: "560", validDays: 1 } as const;
    const { lists } = await lose(desk, "lost-answer", { ...ORDER, ...terms });
    assertEquals(lists, ["conditionalOrders.today"]);
    const after = await readLists(client, ["orders.today", "conditionalOrders.today"]);
    assertEquals(newOrders("conditionalOrders.today", before, after).length, 1);
    assertEquals(newOrders("orders.today", before, after), []);
  },
);
