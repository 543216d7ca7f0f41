/** Tests pushes from the real simulator through the client. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { connect } from "../../lib/client/connect.ts";
import { type Client, InvalidParamsError, TransportError, type TransportEvent } from "../../mod.ts";
import { ManualClock } from "../../lib/time.ts";
import { type SimulatedGateway, startGateway } from "../../lib/simulator/gateway/mod.ts";
import { farEnd, ok } from "../support/far_end.ts";
import { push, startPushFarEnd } from "../support/push_far_end.ts";
import { within } from "../support/waits.ts";

const openMarket = Date.parse("2025-08-15T10:00:00+08:00");
const tencent = { type: "hk-stock", symbol: "00700.HK" } as const;
const hsbc = { type: "hk-stock", symbol: "00005.HK" } as const;
const resting = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "550.00",
  side: "buy",
  orderType: "limit",
} as const;

interface Desk {
  gateway: SimulatedGateway;
  clock: ManualClock;
  client: Client;
}

async function withDesk(test: (desk: Desk) => Promise<void>): Promise<void> {
  const clock = new ManualClock(openMarket);
  await using gateway = await startGateway({ seed: 7, clock, days: 5, fillsPerDay: 2, pushIntervalMs: 20 });
  const { gatewayUrl: url, pushAddress: push, tradePassword, tradePasswordKey } = gateway.info;
  await using client = await connect({ gateway: { url, push, tradePasswordKey }, tradePassword });
  await client.account.login();
  await test({ gateway, clock, client });
}

/** Reads events until one matches; returns all of them. */
async function until(
  events: AsyncIterator<TransportEvent>,
  fits: (event: TransportEvent) => boolean,
): Promise<TransportEvent[]> {
  const taken: TransportEvent[] = [];
  for (;;) {
    const { value, done } = await within("an event that fits", events.next());
    if (done) throw new Error(`the events ended after ${taken.map(({ type }) => type).join(", ")}`);
    taken.push(value);
    if (fits(value)) return taken;
  }
}

const isConnected = (event: TransportEvent) => event.type === "connection" && event.state === "connected";
const orderEvents = (events: TransportEvent[]) =>
  events.flatMap((event) => event.type === "order" ? [event.data] : []);

Deno.test("watch() yields quotes of the named securities, and order changes", async () => {
  await withDesk(async ({ client, clock, gateway }) => {
    const events = client.watch({ securities: [tencent] });
    const [quote] = (await until(events, ({ type }) => type === "quote")).slice(-1);
    assert(quote?.type === "quote");
    assertEquals(quote.data.security?.symbol, "00700.HK");
    const [asked] = await client.quotes.latest({ securities: [tencent] });
    assertEquals(quote.data.quote?.lastPrice, asked?.lastPrice);

    clock.advance(60_000);
    gateway.round();
    await until(events, ({ type }) => type === "quote");
    const { orderId } = await client.orders.place(resting);
    const accepted = await until(events, ({ type }) => type === "order");
    assertEquals(orderEvents(accepted).map((each) => [each.orderId, each.symbol, each.side, each.status]), [
      [orderId, "00700.HK", "buy", "accepted"],
    ]);
    await events.return?.();
  });
});

Deno.test("watch() is subscribed at the gateway only while it runs", async () => {
  await withDesk(async ({ client, gateway }) => {
    const events = client.watch({ securities: [tencent, hsbc], topics: ["quote", "order-book"] });
    await until(events, ({ type }) => type === "book");
    assertEquals(gateway.state().subscriptions > 0, true);
    await events.return?.();
    assertEquals(gateway.state().subscriptions, 0);
  });
});

Deno.test("two watches of one client share the stream, and each gets only its own securities", async () => {
  await withDesk(async ({ client, clock, gateway }) => {
    const first = client.watch({ securities: [tencent], orders: false });
    const second = client.watch({ securities: [hsbc], orders: false });
    const symbolsOf = (events: TransportEvent[]) =>
      new Set(events.flatMap((event) => event.type === "quote" ? [event.data.security?.symbol] : []));
    const seen = [
      await until(first, ({ type }) => type === "quote"),
      await until(second, ({ type }) => type === "quote"),
    ];
    clock.advance(60_000);
    gateway.round();
    seen.push(await until(first, ({ type }) => type === "quote"));
    assertEquals(seen.map((events) => [...symbolsOf(events)]), [["00700.HK"], ["00005.HK"], ["00700.HK"]]);
    await first.return?.();
    await second.return?.();
  });
});

Deno.test("watch() rejects more than 200 securities with the reason", async () => {
  await withDesk(async ({ client, gateway }) => {
    const securities = Array.from(
      { length: 201 },
      (_, index) => ({ type: "us-stock" as const, symbol: `S${index}` }),
    );
    const events = client.watch({ securities });
    await assertRejects(
      () => until(events, ({ type }) => type === "quote"),
      InvalidParamsError,
      "at most 200 securities",
    );
    assertEquals(gateway.state().subscriptions, 0);
  });
});

Deno.test("quotes.subscribe() accepts at most 200 securities in all calls, and subscribes again after a break", async () => {
  await withDesk(async ({ client, gateway }) => {
    const invented = Array.from({ length: 199 }, (_, i) => ({ type: "us-stock" as const, symbol: `S${i}` }));
    await client.quotes.subscribe({ topic: "quote", securities: [tencent, hsbc] });
    await assertRejects(
      () => client.quotes.subscribe({ topic: "tick", securities: invented }),
      InvalidParamsError,
      "at most 200 securities",
    );
    assertEquals(gateway.state().subscriptions, 2);
    await client.quotes.unsubscribe({ topic: "quote", securities: [hsbc] });
    assertEquals(gateway.state().subscriptions, 1);
    await assertRejects(
      () => client.quotes.subscribe({ topic: "quote", securities: [] }),
      InvalidParamsError,
      "securities",
    );

    const events = client.watch({});
    await until(events, isConnected);
    gateway.faults.arm({ kind: "cut-push" });
    await client.orders.place(resting);
    await until(events, ({ type }) => type === "gap");
    await until(events, isConnected);
    assertEquals(gateway.state().subscriptions, 1);
    await events.return?.();
  });
});

Deno.test("quotes.unsubscribe() does not cancel the subscription of a running watch", async () => {
  await withDesk(async ({ client, gateway }) => {
    const events = client.watch({ securities: [tencent] });
    await until(events, ({ type }) => type === "quote");
    await client.quotes.unsubscribe({ topic: "quote", securities: [tencent] });
    assertEquals(gateway.state().subscriptions, 1);
    await events.return?.();
    assertEquals(gateway.state().subscriptions, 0);
  });
});

Deno.test('"cut-push": the stream reconnects, subscribes again and reports the gap', async () => {
  await withDesk(async ({ client, clock, gateway }) => {
    const events = client.watch({ securities: [tencent] });
    await until(events, ({ type }) => type === "quote");
    gateway.faults.arm({ kind: "cut-push" });
    clock.advance(60_000);
    gateway.round();
    const after = await until(events, isConnected);
    const gap = after.find((event) => event.type === "gap");
    assert(gap?.type === "gap");
    assert(gap.to >= gap.from);
    assertEquals(gateway.faults.struck("cut-push"), 1);
    clock.advance(60_000);
    gateway.round();
    await until(events, ({ type }) => type === "quote");
    await events.return?.();
  });
});

Deno.test('a "duplicate-push" is delivered once; pushes stay swapped after a "reorder-push"; after a "drop-push", the list has the order', async () => {
  await withDesk(async ({ client, gateway }) => {
    const events = client.watch({});
    await until(events, isConnected);
    gateway.faults.arm({ kind: "duplicate-push", push: "order" });
    const { orderId } = await client.orders.place(resting);
    const once = await until(events, ({ type }) => type === "order");
    assertEquals(orderEvents(once).map((each) => each.orderId), [orderId]);

    gateway.faults.arm({ kind: "reorder-push", push: "order" });
    const first = await client.orders.place(resting);
    const second = await client.orders.place(resting);
    const turned = [
      ...await until(events, ({ type }) => type === "order"),
      ...await until(events, ({ type }) => type === "order"),
    ];
    assertEquals(
      orderEvents(turned).map((each) => each.orderId),
      [second.orderId, first.orderId],
      "the repeated push did not come a second time",
    );

    gateway.faults.arm({ kind: "drop-push", push: "order" });
    const unseen = await client.orders.place(resting);
    const seen = await client.orders.place(resting);
    assertEquals(
      orderEvents(await until(events, ({ type }) => type === "order")).map((each) => each.orderId),
      [seen.orderId],
    );
    const listed = (await client.orders.today({ market: "hk" }).toArray()).map((each) => each.orderId);
    assert(listed.includes(unseen.orderId), "the list contains the order whose push was lost");
    const kinds = ["duplicate-push", "reorder-push", "drop-push"] as const;
    assertEquals(kinds.map((kind) => gateway.faults.struck(kind)), [1, 1, 1]);
    await events.return?.();
  });
});

Deno.test("watch() ends with its signal, and with the client", async () => {
  await withDesk(async ({ client }) => {
    const controller = new AbortController();
    const events = client.watch({ securities: [tencent], signal: controller.signal });
    await until(events, ({ type }) => type === "quote");
    controller.abort();
    for await (const _ of events);

    const others = client.watch({ securities: [tencent] });
    await until(others, ({ type }) => type === "quote");
    await client.close();
    for await (const _ of others);
  });
});

Deno.test("watch() on a closed push port fails immediately with the reason", async () => {
  await withDesk(async ({ gateway }) => {
    const { gatewayUrl: url } = gateway.info;
    await using client = await connect({ gateway: { url, push: "127.0.0.1:9" } });
    await assertRejects(() => until(client.watch(), () => false), TransportError);
  });
});

Deno.test("watch() checks the time of pushes against every answer of the client", async () => {
  const HOUR = 3_600_000;
  await using pushEnd = startPushFarEnd();
  const over = Promise.withResolvers<void>();
  await using end = farEnd(async ({ path }) => {
    if (path === "/trade/TradeSubscribe") await over.promise;
    const { send } = ok({ enableBalance: "5" });
    return { send: send.replace("\r\n", `\r\nDate: ${new Date().toUTCString()}\r\n`) };
  });
  // This machine's clock is an hour slow.
  await using client = await connect({
    gateway: { url: end.url, push: `127.0.0.1:${pushEnd.port}` },
    machine: { now: () => Date.now() - HOUR },
  });
  const events = client.watch();
  const isOrder = ({ type }: TransportEvent) => type === "order";
  const order = (entrustNo: string, at: number) =>
    push(1, "TradeStockDeliverNotify", { fundAccount: "88001", stockCode: "00700.HK", entrustNo }, at);
  const first = until(events, ({ type }) => type === "gap");
  const far = await pushEnd.next();
  await far.send(order("1", Date.now()));
  const [ahead] = (await first).filter(isOrder);
  assert(ahead?.type === "order" && ahead.offMs !== undefined && ahead.offMs > 0.9 * HOUR);
  await client.account.funds({ market: "hk" });
  await far.send(order("2", Date.now() - HOUR), order("3", Date.now()));
  const later = [...await until(events, isOrder), ...await until(events, isOrder)].filter(isOrder);
  const marks = later.map((event) => event.type === "order" && event.offMs);
  assertEquals(marks.map((ms) => typeof ms === "number" ? Math.round(ms / HOUR) : ms), [-1, undefined]);
  over.resolve();
  await events.return?.();
});
