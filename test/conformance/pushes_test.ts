/**
 * Checks pushes over every transport: order pushes, subscribed quotes, broken connections, and lost or repeated pushes.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { TransportEvent } from "../../mod.ts";
import { InvalidParamsError } from "../../mod.ts";
import {
  type AccountUnderTest,
  conformance,
  isConnected,
  openSimulatedAccount,
  ORDER,
  TENCENT,
  transports,
  until,
} from "./simulated_account.ts";

const HSBC = { type: "hk-stock", symbol: "00005.HK" } as const;
/** An order far above the market price, so that it fills in the next round. */
const CROSSING = { ...ORDER, price: "610.00" };

const ordersOf = (events: TransportEvent[]) =>
  events.flatMap((event) => event.type === "order" ? [event.data] : []);
const isOrder = ({ type }: TransportEvent) => type === "order";
const isQuote = ({ type }: TransportEvent) => type === "quote";
const isFill = (event: TransportEvent) => event.type === "order" && event.data.status === "filled";

/** Advances simulated time, so that orders fill and quotes change. */
function pass({ clock, round }: Pick<AccountUnderTest, "clock" | "round">): void {
  clock.advance(60_000);
  round();
}

/** Repeats rounds until a matching event arrives, because a subscription takes a moment. */
async function roundUntil(
  desk: AccountUnderTest,
  events: AsyncIterator<TransportEvent>,
  fits: (event: TransportEvent) => boolean,
): Promise<TransportEvent[]> {
  const timer = setInterval(() => pass(desk), 15);
  try {
    return await until(events, fits);
  } finally {
    clearInterval(timer);
  }
}

conformance("watch() yields a push for a placed order, and for its fill", async (desk) => {
  const events = desk.client.watch();
  await until(events, isConnected);
  const { orderId } = await desk.client.orders.place(CROSSING);
  const [accepted] = ordersOf(await until(events, isOrder));
  assertEquals(
    [accepted?.orderId, accepted?.symbol, accepted?.side, accepted?.status, accepted?.market],
    [orderId, "00700.HK", "buy", "accepted", "hk"],
  );
  pass(desk);
  const fill = ordersOf(await until(events, isFill)).at(-1);
  assertEquals([fill?.orderId, fill?.filledQuantity, fill?.unfilledQuantity], [orderId, "100", "0"]);
  assert(fill?.matchId !== undefined && fill.fillPrice !== undefined);
  await events.return?.();
});

conformance("watch() yields only quotes of the given securities", async (desk) => {
  const first = desk.client.watch({ securities: [TENCENT], orders: false });
  const second = desk.client.watch({ securities: [HSBC], orders: false });
  const symbols = async (events: AsyncIterator<TransportEvent>) => {
    const seen = [...await roundUntil(desk, events, isQuote), ...await roundUntil(desk, events, isQuote)];
    return new Set(seen.flatMap((event) => event.type === "quote" ? [event.data.security?.symbol] : []));
  };
  assertEquals([...await symbols(first)], ["00700.HK"]);
  assertEquals([...await symbols(second)], ["00005.HK"]);
  await first.return?.();
  await second.return?.();
});

conformance("watch() subscribes only while it runs", async (desk) => {
  const { transport, simulator: { gateway, platform }, memory } = desk;
  const subscriptions = () =>
    ({
      memory: memory.subscriptions,
      gateway: gateway.state().subscriptions,
      direct: platform.state().subscriptions,
    })[transport];
  const events = desk.client.watch({ securities: [TENCENT, HSBC], topics: ["quote", "order-book"] });
  await roundUntil(desk, events, ({ type }) => type === "book");
  assertEquals(subscriptions(), 4);
  await events.return?.();
  assertEquals(subscriptions(), 0);
});

conformance("watch() rejects more than 200 securities with the reason", async ({ client }) => {
  const securities = Array.from(
    { length: 201 },
    (_, index) => ({ type: "us-stock", symbol: `S${index}` } as const),
  );
  const events = client.watch({ securities });
  await assertRejects(() => until(events, isQuote), InvalidParamsError, "at most 200 securities");
});

conformance("a broken stream reconnects, reports a gap, and subscribes again", async (desk) => {
  const events = desk.client.watch({ securities: [TENCENT] });
  await roundUntil(desk, events, isQuote);
  const { faults } = desk.simulator;
  faults.arm({ kind: "cut-push", push: "order", bytes: 20 });
  await desk.client.orders.place(ORDER).catch(() => {}); // over the socket, its answer may be lost with the connection
  const after = await until(events, isConnected);
  const gap = after.find(({ type }) => type === "gap");
  assert(gap?.type === "gap" && gap.to >= gap.from);
  assertEquals(faults.struck("cut-push"), 1);
  await roundUntil(desk, events, isQuote);
  // The order of the lost push is in the list.
  assertEquals((await desk.orderIds()).length, 1);
  await events.return?.();
});

conformance(
  "a repeated push is delivered once, and reordered pushes are delivered in the new order",
  async (desk) => {
    const { client, simulator: { faults } } = desk;
    const events = client.watch();
    await until(events, isConnected);
    faults.arm({ kind: "duplicate-push", push: "order" });
    const { orderId } = await client.orders.place(ORDER);
    // The second push has the same bytes, so readers get it once.
    assertEquals(ordersOf(await until(events, isOrder)).map((each) => each.orderId), [orderId]);

    faults.arm({ kind: "reorder-push", push: "order" });
    const first = await client.orders.place({ ...ORDER, price: "551.00" });
    const second = await client.orders.place({ ...ORDER, price: "552.00" });
    const turned = [...await until(events, isOrder), ...await until(events, isOrder)];
    assertEquals(ordersOf(turned).map((each) => each.orderId), [second.orderId, first.orderId]);
    assertEquals([faults.struck("duplicate-push"), faults.struck("reorder-push")], [1, 1]);
    assertEquals(await desk.orderIds(), [orderId, first.orderId, second.orderId].sort());
    await events.return?.();
  },
);

conformance("a fill whose push was lost is in the list of fills", async (desk) => {
  const { client, simulator: { faults } } = desk;
  const events = client.watch();
  await until(events, isConnected);
  const unseen = await client.orders.place(CROSSING);
  await until(events, isOrder);
  faults.arm({ kind: "drop-push", push: "order" });
  pass(desk);
  // Control: the fault occurred, the stream is connected, and the next order is pushed.
  assertEquals(faults.struck("drop-push"), 1);
  const seen = await client.orders.place(ORDER);
  const told = ordersOf(await until(events, isOrder));
  assertEquals(told.map(({ orderId }) => orderId), [seen.orderId]);
  const fills = await client.fills.today({ market: "hk" }).toArray();
  assertEquals(fills.map(({ orderId, status }) => [orderId, status]), [[unseen.orderId, "filled"]]);
  await events.return?.();
});

conformance(
  "a push may arrive before the answer to its order, with the same order number",
  async (desk) => {
    const { client, simulator: { faults } } = desk;
    const events = client.watch();
    await until(events, isConnected);
    faults.arm({ kind: "delay", ms: 3_000, operation: "orders.place" });
    let answered = false;
    const placed = client.orders.place(ORDER).finally(() => answered = true);
    const [push] = ordersOf(await until(events, isOrder));
    assertEquals([answered, faults.struck("delay")], [false, 1]);
    assertEquals(push?.orderId, (await placed).orderId);
    await events.return?.();
  },
);

conformance("watch() ends with its signal, and with the client", async (desk) => {
  const controller = new AbortController();
  const events = desk.client.watch({ securities: [TENCENT], signal: controller.signal });
  await roundUntil(desk, events, isQuote);
  controller.abort();
  for await (const _ of events);
  const others = desk.client.watch();
  await until(others, isConnected);
  await desk.client.close();
  for await (const _ of others);
});

Deno.test("the pushes of an account are the same events over every transport", async () => {
  await using testAccount = await openSimulatedAccount();
  const seen: Record<string, { orders: unknown[]; quote: unknown }> = {};
  const clients = await Promise.all(transports.map((transport) => testAccount.connect(transport)));
  const streams = clients.map((client) => client.watch({ securities: [TENCENT] }));
  const isLatest = (event: TransportEvent) =>
    event.type === "quote" && event.sentAt === testAccount.simulator.clock.now();
  try {
    for (const events of streams) await until(events, isConnected);
    for (const client of clients) await client.quotes.subscribe({ topic: "quote", securities: [TENCENT] });
    await clients[0]!.orders.place(CROSSING);
    pass(testAccount);
    for (const [index, transport] of transports.entries()) {
      const taken = await until(streams[index]!, isFill);
      // The platform sends quotes over a separate socket, so they may arrive before or after the fill.
      if (!taken.some(isLatest)) taken.push(...await until(streams[index]!, isLatest));
      seen[transport] = { orders: taken.filter(isOrder), quote: taken.findLast(isLatest) };
    }
  } finally {
    for (const events of streams) await events.return?.();
    for (const client of clients) await client.close();
  }
  assertEquals(seen.memory!.orders.length, 2);
  assert(seen.memory!.quote !== undefined);
  for (const transport of transports) assertEquals(seen[transport], seen.memory, transport);
});
