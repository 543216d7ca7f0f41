/**
 * Tests what the client does about each fault of a gateway call, over real sockets. Each test also checks that the
 * fault really happened. `watch_test.ts` tests the faults of pushes.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { connect } from "../../lib/client/connect.ts";
import {
  BusyError,
  type Client,
  LoginExpiredError,
  OutcomeUnknownError,
  ProtocolError,
  TransportError,
} from "../../mod.ts";
import { ManualClock } from "../../lib/time.ts";
import {
  type Fault,
  faultKinds,
  type SimulatedGateway,
  startGateway,
} from "../../lib/simulator/gateway/mod.ts";

/** A Friday morning in Hong Kong, with the market open. */
const openMarket = Date.parse("2025-08-15T10:00:00+08:00");
const order = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "550.00",
  side: "buy",
  orderType: "limit",
} as const;
const range = { from: "2025-07-01", to: "2025-08-14" };

interface Desk {
  gateway: SimulatedGateway;
  client: Client;
}

async function withDesk(
  test: (desk: Desk) => Promise<void>,
  options: { timeoutMs?: number } = {},
): Promise<void> {
  await using gateway = await startGateway({
    seed: 7,
    clock: new ManualClock(openMarket),
    days: 40,
    fillsPerDay: 3,
    pushIntervalMs: 0,
  });
  const { gatewayUrl: url, pushAddress: push, tradePassword, tradePasswordKey } = gateway.info;
  await using client = await connect({
    gateway: { url, push, tradePasswordKey, ...options },
    tradePassword,
    retry: { attempts: 3, waitMs: 1 },
  });
  await client.account.login();
  await test({ gateway, client });
}

const ordersNow = ({ client }: Desk) => client.orders.today({ market: "hk" }).toArray();
const struck = (gateway: SimulatedGateway, kind: Fault["kind"]) => gateway.faults.struck(kind);

Deno.test("lost-answer: the order was placed once, and the caller gets an unknown outcome", async () => {
  await withDesk(async (desk) => {
    const before = (await ordersNow(desk)).length;
    desk.gateway.faults.arm({ kind: "lost-answer", operation: "orders.place", times: 5 });
    await assertRejects(
      () => desk.client.orders.place(order),
      OutcomeUnknownError,
      "look in orders.today and fills.today",
    );
    assertEquals(struck(desk.gateway, "lost-answer"), 1, "sent once, although the fault was ready for five");
    assertEquals((await ordersNow(desk)).length, before + 1);
    // Control: a read meets the same fault and is sent three times.
    desk.gateway.faults.clear();
    desk.gateway.faults.arm({ kind: "lost-answer", operation: "account.funds", times: 5 });
    await assertRejects(() => desk.client.account.funds({ market: "hk" }), TransportError);
    // One strike of the order and three of the read; the runtime may add more.
    assert(struck(desk.gateway, "lost-answer") >= 4);
  });
});

Deno.test("lost-request: no order was placed, and the caller gets an unknown outcome", async () => {
  await withDesk(async (desk) => {
    const before = (await ordersNow(desk)).length;
    desk.gateway.faults.arm({ kind: "lost-request", operation: "orders.place", times: 5 });
    await assertRejects(() => desk.client.orders.place(order), OutcomeUnknownError);
    assertEquals([struck(desk.gateway, "lost-request"), (await ordersNow(desk)).length], [1, before]);
  });
});

Deno.test("reset-after: an answer cut at any byte is never accepted as complete", async () => {
  await withDesk(async (desk) => {
    const { gateway, client } = desk;
    const cheap = { ...order, symbol: "00939.HK", quantity: "1000", price: "5.00" };
    const start = (await ordersNow(desk)).length;
    let cuts = 0;
    let accepted = 0;
    for (let bytes = 0;; bytes++) {
      gateway.faults.arm({ kind: "reset-after", bytes, operation: "orders.place" });
      try {
        await client.orders.place(cheap);
        accepted++;
        break; // the answer is shorter than the cut, so it arrived completely
      } catch (error) {
        assert(error instanceof OutcomeUnknownError, `cut after ${bytes} bytes: ${error}`);
        cuts++;
      }
    }
    assert(cuts > 60, `only ${cuts} cuts`);
    assertEquals(
      (await ordersNow(desk)).length,
      start + cuts + accepted,
      "each attempt has exactly one order",
    );
  });
});

Deno.test("delay beyond the timeout: a write has an unknown outcome and is placed once; the next order keeps its own price", async () => {
  await withDesk(async (desk) => {
    const before = (await ordersNow(desk)).length;
    desk.gateway.faults.arm({ kind: "delay", ms: 4_000, operation: "orders.place" });
    const error = await assertRejects(
      () => desk.client.orders.place(order, { timeoutMs: 700 }),
      OutcomeUnknownError,
    );
    assertEquals([error.code, struck(desk.gateway, "delay")], ["timeout", 1]);
    const next = await desk.client.orders.place({ ...order, price: "551.00" });
    const orders = await ordersNow(desk);
    assertEquals(orders.length, before + 2);
    assertEquals(decimalText(orders.find(({ orderId }) => orderId === next.orderId)?.price), "551");
  });
});

const decimalText = (value: string | undefined) => value?.replace(/\.0+$/, "");

Deno.test("delay: a read waits for its answer while later reads finish first", async () => {
  await withDesk(async ({ gateway, client }) => {
    gateway.faults.arm({ kind: "delay", ms: 2_000, operation: "account.holdings" });
    const finished: string[] = [];
    await Promise.all([
      client.account.holdings({ market: "hk" }).then(() => finished.push("holdings")),
      client.account.funds({ market: "hk" }).then(() => finished.push("funds")),
    ]);
    assertEquals([finished, struck(gateway, "delay")], [["funds", "holdings"], 1]);
  });
});

Deno.test("busy: a read is retried; a write is sent once, and has an unknown outcome", async () => {
  await withDesk(async (desk) => {
    desk.gateway.faults.arm({ kind: "busy", operation: "account.funds", times: 2 });
    assert((await desk.client.account.funds({ market: "hk" })).available !== undefined);
    assertEquals(struck(desk.gateway, "busy"), 2);
    desk.gateway.faults.arm({ kind: "busy", operation: "account.funds", times: 3 });
    await assertRejects(() => desk.client.account.funds({ market: "hk" }), BusyError);

    const before = (await ordersNow(desk)).length;
    desk.gateway.faults.arm({ kind: "busy", operation: "orders.place", times: 3 });
    const error = await assertRejects(() => desk.client.orders.place(order), OutcomeUnknownError);
    assertEquals([error.code, struck(desk.gateway, "busy"), (await ordersNow(desk)).length], [
      "1011",
      6,
      before,
    ]);
  });
});

Deno.test("http-error and not-json: reads fail with the right error class; writes are unknown and sent once", async () => {
  await withDesk(async ({ gateway, client }) => {
    gateway.faults.arm({ kind: "http-error", operation: "account.funds", times: 3 });
    assertEquals(
      (await assertRejects(() => client.account.funds({ market: "hk" }), TransportError)).code,
      "http-503",
    );
    gateway.faults.arm({ kind: "http-error", operation: "orders.place", times: 3 });
    await assertRejects(() => client.orders.place(order), OutcomeUnknownError);
    assertEquals(struck(gateway, "http-error"), 4);

    gateway.faults.clear();
    gateway.faults.arm({ kind: "not-json", operation: "account.funds" });
    assertEquals(
      (await assertRejects(() => client.account.funds({ market: "hk" }), ProtocolError)).code,
      "not-json",
    );
    gateway.faults.arm({ kind: "not-json", operation: "orders.place" });
    await assertRejects(() => client.orders.place(order), OutcomeUnknownError);
    assertEquals(struck(gateway, "not-json"), 2);
  });
});

Deno.test("huge-body: an answer above the limit is rejected, with a length or in chunks", async () => {
  await withDesk(async ({ gateway, client }) => {
    for (const chunked of [false, true]) {
      gateway.faults.arm({ kind: "huge-body", operation: "account.funds", bytes: 40 * 1024 * 1024, chunked });
      const error = await assertRejects(() => client.account.funds({ market: "hk" }), ProtocolError);
      assertEquals(error.code, "too-large");
    }
    assertEquals(struck(gateway, "huge-body"), 2);
  });
});

Deno.test("expired-login: a read logs in again; a write fails and is not placed", async () => {
  await withDesk(async (desk) => {
    desk.gateway.faults.arm({ kind: "expired-login", operation: "account.holdings" });
    const holdings = await desk.client.account.holdings({ market: "hk" });
    assert(holdings.length > 0);
    const before = (await ordersNow(desk)).length;
    desk.gateway.faults.arm({ kind: "expired-login", operation: "orders.place" });
    await assertRejects(() => desk.client.orders.place(order), LoginExpiredError);
    assertEquals([struck(desk.gateway, "expired-login"), (await ordersNow(desk)).length], [2, before]);
  });
});

Deno.test("expired-login during paging: every row arrives once", async () => {
  await withDesk(async ({ gateway, client }) => {
    const list = () => client.fills.history({ market: "hk", ...range, limit: 5 }).toArray();
    const expected = await list();
    assert(expected.length > 20);
    gateway.faults.arm({ kind: "expired-login", operation: "fills.history", skip: 2 });
    assertEquals(await list(), expected);
    assertEquals(struck(gateway, "expired-login"), 1);
  });
});

Deno.test("expired-login during a hundred concurrent calls: all get answers", async () => {
  await withDesk(async ({ gateway, client }) => {
    gateway.faults.arm({ kind: "expired-login", operation: "account.funds", skip: 20 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => client.account.funds({ market: "hk" })),
    );
    assertEquals(new Set(answers.map(({ available }) => available)).size, 1);
    assertEquals(struck(gateway, "expired-login"), 1);
  });
});

Deno.test("cursor faults: paging ends with an error instead of a loop or a gap", async () => {
  const expected: [Fault["kind"], string][] = [
    ["cursor-repeat", "cursor-backwards"], // the last row has a smaller cursor than the rows before it
    ["cursor-backward", "cursor-backwards"],
    ["cursor-empty", "cursor-missing"],
  ];
  for (const [kind, code] of expected) {
    await withDesk(async ({ gateway, client }) => {
      gateway.faults.arm({ kind, operation: "fills.history", skip: 1, times: 100 });
      const list = client.fills.history({ market: "hk", ...range, limit: 5 });
      const error = await assertRejects(() => list.toArray(), ProtocolError);
      assert(
        ["cursor-repeated", "cursor-backwards", "cursor-missing"].includes(error.code ?? ""),
        error.code,
      );
      assertEquals([kind, struck(gateway, kind) > 0, list.isComplete], [kind, true, false]);
      if (kind !== "cursor-backward") assertEquals(error.code, code);
    });
  }
});

Deno.test("short-page: paging continues after a page that is shorter than requested, once or always", async () => {
  await withDesk(async ({ gateway, client }) => {
    const list = () => client.fills.history({ market: "hk", ...range, limit: 10 }).toArray();
    const all = await list();
    for (const times of [1, 100]) {
      gateway.faults.arm({ kind: "short-page", operation: "fills.history", skip: 1, times });
      assertEquals(await list(), all);
      gateway.faults.clear();
    }
    assert(struck(gateway, "short-page") > 2);
  });
});

Deno.test("empty-page: a page without a list is an error in the middle of a list, but not after its end", async () => {
  await withDesk(async ({ gateway, client }) => {
    const list = (limit: number) => client.fills.history({ market: "hk", ...range, limit });
    const all = await list(99).toArray();
    gateway.faults.arm({ kind: "empty-page", operation: "fills.history", skip: 2 });
    const error = await assertRejects(() => list(5).toArray(), ProtocolError);
    assertEquals([error.code, struck(gateway, "empty-page")], ["page-missing", 1]);
    assertEquals(
      error.message,
      "Cannot read fills.history to its end: page 3 came without rows, although more rows follow",
    );
    // Each page has a quarter of the list, so the fifth page is after the end.
    gateway.faults.arm({ kind: "empty-page", operation: "fills.history", skip: 4 });
    assertEquals(await list(all.length / 4).toArray(), all);
    assertEquals(struck(gateway, "empty-page"), 2);
  });
});

Deno.test("insert-row: a list that grows at its beginning is read again, and no row arrives twice", async () => {
  await withDesk(async ({ gateway, client }) => {
    const list = () => client.fills.history({ market: "hk", ...range, limit: 5 });
    const all = await list().toArray();
    gateway.faults.arm({ kind: "insert-row", operation: "fills.history", skip: 1 });
    const rows = await list().toArray();
    assertEquals([struck(gateway, "insert-row"), rows.length], [1, all.length + 1]);
    assertEquals(rows.map(({ orderId }) => orderId), ["inserted-1", ...all.map(({ orderId }) => orderId)]);
    // A caller that uses rows as they arrive gets an error, and has to start again.
    gateway.faults.arm({ kind: "insert-row", operation: "fills.history", skip: 1 });
    const walk = list();
    const seen: (string | undefined)[] = [];
    const error = await assertRejects(async () => {
      for await (const { orderId } of walk) seen.push(orderId);
    }, ProtocolError);
    assertEquals([error.code, walk.isComplete], ["list-changed", false]);
    assertEquals(seen, rows.slice(0, seen.length).map(({ orderId }) => orderId));
  });
});

Deno.test("every kind of fault is named in a test of the client", () => {
  const here = Deno.readTextFileSync(new URL(import.meta.url)) +
    Deno.readTextFileSync(new URL("./watch_test.ts", import.meta.url));
  assertEquals(Object.keys(faultKinds).filter((kind) => !here.includes(`"${kind}"`)), []);
});
