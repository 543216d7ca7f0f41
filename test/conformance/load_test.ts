/**
 * Checks the limits of load: twenty callers at once with a slow or busy broker or a gateway that answers 503, and a
 * reader that does not take its pushes. Orders must not wait.
 */
import { assert, assertEquals } from "@std/assert";
import { BusyError, TransportError } from "../../mod.ts";
import type { TransportEvent } from "../../mod.ts";
import { conformance, isConnected, ORDER, until } from "./simulated_account.ts";

const CALLERS = 20;
const ATTEMPTS = 3;

conformance("an order is answered while twenty slow reads are in progress", async (desk) => {
  const { client, simulator: { faults } } = desk;
  await client.account.login(); // so that the order need not wait for a login
  faults.arm({ kind: "delay", operation: "account.funds", ms: 5000, when: "request", times: CALLERS });
  const given = new AbortController();
  let answered = 0;
  const reads = Array.from(
    { length: CALLERS },
    () => client.account.funds({ market: "hk" }, { signal: given.signal }).then(() => answered++, () => {}),
  );
  // The broker has all reads before the order is sent.
  while (faults.struck("delay") < CALLERS) await new Promise((resolve) => setTimeout(resolve, 5));
  const { orderId } = await client.orders.place(ORDER);
  assertEquals([answered, (await desk.orderIds()).includes(orderId)], [0, true]);
  given.abort();
  await Promise.all(reads);
}, { timeoutMs: 60_000 });

conformance(
  "twenty readers of a busy broker try three times each, and an order among them is sent once",
  async (desk) => {
    const { client, simulator: { faults } } = desk;
    await client.account.login();
    faults.arm({ kind: "busy", operation: "account.funds", times: 1000 });
    const read = () => client.account.funds({ market: "hk" }).then(() => "answered", (error) => error.name);
    const reads = Array.from({ length: CALLERS }, read);
    const placed = desk.count("orders.place");
    const { orderId } = await client.orders.place(ORDER);
    assertEquals(await Promise.all(reads), Array(CALLERS).fill(BusyError.name));
    assertEquals([faults.struck("busy"), placed(), await desk.orderIds()], [CALLERS * ATTEMPTS, 1, [
      orderId,
    ]]);
    // Control: the same readers when the broker is no longer busy.
    faults.clear();
    assertEquals(await Promise.all(Array.from({ length: CALLERS }, read)), Array(CALLERS).fill("answered"));
  },
);

conformance(
  "twenty readers of a gateway that answers 503 try at most three times each, and succeed afterwards",
  async (desk) => {
    const { client, simulator: { faults } } = desk;
    await client.account.login();
    faults.arm({ kind: "http-error", operation: "account.funds", status: 503, times: 1000 });
    const read = () => client.account.funds({ market: "hk" }).then(() => "answered", (error) => error.name);
    assertEquals(
      await Promise.all(Array.from({ length: CALLERS }, read)),
      Array(CALLERS).fill(TransportError.name),
    );
    assert(faults.struck("http-error") <= CALLERS * ATTEMPTS, `${faults.struck("http-error")} calls`);
    faults.clear();
    assertEquals(await Promise.all(Array.from({ length: CALLERS }, read)), Array(CALLERS).fill("answered"));
  },
  { skip: { direct: "its calls go over sockets and not over HTTP" } },
);

/** With more waiting quotes than this, a newer quote replaces an older one. */
const MOST_WAITING = 4096;
const SYMBOLS = [
  "00700.HK",
  "00005.HK",
  "09988.HK",
  "03690.HK",
  "01810.HK",
  "00941.HK",
  "00388.HK",
  "01299.HK",
];
const isQuote = ({ type }: TransportEvent) => type === "quote";

conformance(
  "a reader that stops loses no order; its quotes arrive in their order, and some are conflated",
  async (desk) => {
    const { client, clock, round } = desk;
    const events = client.watch({ securities: SYMBOLS.map((symbol) => ({ type: "hk-stock", symbol })) });
    await until(events, isConnected);
    // The subscription is active as soon as the first quote has arrived.
    const early = setInterval(() => (clock.advance(1000), round()), 15);
    const begun = await until(events, isQuote).finally(() => clearInterval(early));
    const placed: string[] = [];
    const rounds = Math.ceil(1.5 * MOST_WAITING / SYMBOLS.length);
    for (let count = 1; count <= rounds; count++) {
      clock.advance(1000);
      round();
      if (count % 40 === 0) placed.push(String((await client.orders.place(ORDER)).orderId));
      else await new Promise((resolve) => setTimeout(resolve)); // let the sockets work
    }
    const last = placed.at(-1);
    const seen = [
      ...begun,
      ...await until(events, (event) => event.type === "order" && event.data.orderId === last),
    ];
    const orders = seen.flatMap((event) => event.type === "order" ? [event.data.orderId] : []);
    assertEquals(orders, placed);
    const times = new Map<string, string>();
    let conflated = 0;
    for (const event of seen) {
      if (event.type === "conflated") conflated += event.count;
      if (event.type !== "quote") continue;
      const { symbol } = event.data.security!;
      const time = event.data.quote!.marketTime ?? "";
      assert(time >= (times.get(symbol) ?? ""), "an older quote came after a newer one");
      times.set(symbol, time);
    }
    assert(conflated > 0, `${seen.filter(isQuote).length} quotes, none conflated`);
    await events.return?.();
  },
);
