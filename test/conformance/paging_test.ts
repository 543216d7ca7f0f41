/** Checks long lists over every transport: three styles of paging, a retried page, and an inconsistent list. */
import { assertEquals, assertRejects } from "@std/assert";
import { ProtocolError } from "../../mod.ts";
import type { Client } from "../../lib/client/client.ts";
import type { Paged } from "../../lib/client/paging.ts";
import {
  type AccountUnderTest,
  conformance,
  gapOf,
  openSimulatedAccount,
  ORDER,
  transports,
} from "./simulated_account.ts";

const SPAN = { from: "2025-08-11", to: "2025-08-14" };

async function sizes(list: Paged<unknown>): Promise<number[]> {
  const found: number[] = [];
  for await (const { rows } of list.pages()) found.push(rows.length);
  assertEquals(list.isComplete, true);
  return found;
}

const idsOf = async (list: Paged<{ orderId?: string }>) => {
  const rows = await list.toArray();
  return rows.map(({ orderId }) => orderId);
};

/** Places five conditional orders that do not trigger. */
async function placeConditional({ client }: Pick<AccountUnderTest, "client">): Promise<string[]> {
  const ids: string[] = [];
  for (const triggerValue of ["571.00", "572.00", "573.00", "574.00", "575.00"]) {
    const { orderId } = await client.orders.place({
      ...ORDER,
      side: "sell",
      price: "570.00",
      orderType: "stop-loss-limit",
      tradingHours: "regular",
      validDays: 5,
      triggerValue,
    });
    ids.push(orderId);
  }
  return ids;
}

conformance(
  "fills.history() reads pages by cursor until a short page, and returns each row once",
  async ({ client }) => {
    // Four days of four fills.
    const list = (limit: number) => client.fills.history({ market: "hk", ...SPAN, limit });
    assertEquals(await sizes(list(5)), [5, 5, 5, 1]);
    // After a full last page the client must request one more page.
    assertEquals(await sizes(list(8)), [8, 8, 0]);
    const rows = await list(3).toArray();
    assertEquals(rows, await list(99).toArray());
    assertEquals(new Set(rows.map(({ cursor }) => cursor)).size, 16);
  },
);

conformance("conditionalOrders.today() reads pages by number until the last page", async (desk) => {
  // The account needs a holding to sell.
  await desk.client.orders.place({ ...ORDER, quantity: "500", price: "610.00" });
  desk.clock.advance(60_000);
  desk.round();
  const ids = await placeConditional(desk);
  const list = (limit: number) => desk.client.conditionalOrders.today({ market: "hk", limit });
  assertEquals(await sizes(list(2)), [2, 2, 1]);
  assertEquals((await idsOf(list(2))).sort(), ids.sort());
});

conformance(
  "futures.fillsHistory() reads pages by number until the mark of the last page",
  async ({ client }) => {
    const list = (limit: number) => client.futures.fillsHistory({ ...SPAN, limit });
    const all = await list(99).toArray();
    const expected = Array.from({ length: Math.ceil(all.length / 3) }, (_, index) => {
      return Math.min(3, all.length - index * 3);
    });
    assertEquals(all.length > 4, true, `${all.length} fills`);
    assertEquals(await sizes(list(3)), expected);
    assertEquals(await list(3).toArray(), all);
  },
);

conformance("algo.list() reads pages by number until a short page", async ({ client }) => {
  for (let index = 0; index < 3; index++) {
    await client.algo.place({
      market: "hk",
      symbol: "00700.HK",
      side: "buy",
      orderType: "limit",
      price: "560.00",
      quantity: "1000",
      strategy: "twap",
      settings: { maxChildQuantity: "100", sensitivity: "neutral" },
    });
  }
  assertEquals(await sizes(client.algo.list({ from: "2025-08-15", to: "2025-08-15", limit: 2 })), [2, 1]);
}, { skip: { direct: gapOf("algo.list") } });

conformance(
  "a page that is rejected as busy is requested again, and each row is returned once",
  async (desk) => {
    const list = () => desk.client.fills.history({ market: "hk", ...SPAN, limit: 5 }).toArray();
    const expected = await list();
    const { faults } = desk.simulator;
    faults.arm({ kind: "busy", operation: "fills.history", skip: 2 });
    assertEquals(await list(), expected);
    assertEquals(faults.struck("busy"), 1);
  },
);

conformance("a repeated, decreasing or missing cursor ends the reading with an error", async (desk) => {
  const { faults } = desk.simulator;
  const kinds = {
    "cursor-repeat": "cursor-backwards",
    "cursor-backward": "cursor-backwards",
    "cursor-empty": "cursor-missing",
  } as const;
  for (const [kind, code] of Object.entries(kinds) as [keyof typeof kinds, string][]) {
    faults.arm({ kind, operation: "fills.history", skip: 1 });
    const list = desk.client.fills.history({ market: "hk", ...SPAN, limit: 5 });
    const error = await assertRejects(() => list.toArray(), ProtocolError);
    assertEquals([error.code, list.isComplete, faults.struck(kind)], [code, false, 1]);
  }
});

conformance(
  "a list with short pages is read completely, and a list with a missing page causes an error",
  async (desk) => {
    const { client, simulator: { faults } } = desk;
    const list = (limit: number) => client.fills.history({ market: "hk", ...SPAN, limit });
    const all = await list(99).toArray();
    faults.arm({ kind: "short-page", operation: "fills.history", times: 100 });
    assertEquals(await list(5).toArray(), all);
    faults.clear();
    faults.arm({ kind: "empty-page", operation: "fills.history", skip: 2 });
    const error = await assertRejects(() => list(5).toArray(), ProtocolError, "page 3 came without rows");
    assertEquals(error.code, "page-missing");
    // From page 3 on the list is empty, like today's list after midnight.
    faults.arm({ kind: "empty-page", operation: "fills.history", skip: 2, times: 100 });
    const walk = list(5);
    await assertRejects(() => walk.toArray(), ProtocolError, "Cannot read fills.history to its end");
    assertEquals(walk.isComplete, false);
  },
);

conformance(
  "a list that grows at its beginning returns each row once",
  async ({ client, simulator: { faults } }) => {
    const list = () => client.fills.history({ market: "hk", ...SPAN, limit: 5 });
    const all = await idsOf(list());
    faults.arm({ kind: "insert-row", operation: "fills.history", skip: 2 });
    assertEquals(await idsOf(list()), ["inserted-1", ...all]);
    assertEquals(faults.struck("insert-row"), 1);
  },
);

Deno.test("four lists of an account are the same over every transport, page by page", async () => {
  await using testAccount = await openSimulatedAccount();
  const lists: Record<string, (client: Client) => Paged<unknown>> = {
    "fills.history": (client) => client.fills.history({ market: "hk", ...SPAN, limit: 7 }),
    "orders.history": (client) => client.orders.history({ market: "us", ...SPAN, limit: 7 }),
    "fundJournal.history": (client) => client.fundJournal.history({ market: "hk", ...SPAN, limit: 7 }),
    "futures.ordersHistory": (client) => client.futures.ordersHistory({ ...SPAN, limit: 4 }),
  };
  const seen: Record<string, unknown[]> = {};
  for (const transport of transports) {
    await using client = await testAccount.connect(transport);
    for (const [name, list] of Object.entries(lists)) {
      const pages: unknown[] = [];
      for await (const page of list(client).pages()) pages.push(page);
      assertEquals(pages.length > 1, true, `${name} has ${pages.length} pages`);
      assertEquals(pages, seen[name] ??= pages, `${name} over ${transport}`);
    }
  }
});
