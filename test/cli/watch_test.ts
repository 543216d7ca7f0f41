import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ProtocolError } from "../../lib/errors.ts";
import type { TransportEvent } from "../../lib/transports/push/events.ts";
import { lineOf } from "../../tasks/commands/watch/board.ts";
import { InterruptedError } from "../../tasks/terminal/exit_codes.ts";
import { ManualClock } from "../../lib/time.ts";
import { cli, envOf, folder, MORNING, simulate, start, storeEnv, type World } from "./support.ts";
import { readUntil } from "../support/waits.ts";

/** Ends a watch like Ctrl-C, after a line has arrived. */
function untilLine(isIt: (line: string) => boolean): Pick<World, "signal" | "onLine"> {
  const controller = new AbortController();
  return {
    // A push that never comes must not block the tests forever.
    signal: AbortSignal.any([controller.signal, AbortSignal.timeout(20_000)]),
    onLine: (line) => isIt(line) && controller.abort(new InterruptedError("interrupted")),
  };
}

Deno.test("watch writes each push as one line of JSON, and unsubscribes at Ctrl-C", async () => {
  await using gateway = await simulate({ pushIntervalMs: 50 });
  const { code, out, err } = await cli(["watch", "00700.HK", "--json"], {
    env: envOf(gateway),
    ...untilLine((line) => JSON.parse(line).type === "quote"),
  });
  assertEquals({ code, err }, { code: 130, err: "hsgate: interrupted\n" });
  const quote = out.trimEnd().split("\n").map((line) => JSON.parse(line)).find(({ type }) =>
    type === "quote"
  );
  assertEquals(quote.data.security, { type: "hk-stock", symbol: "00700.HK" });
  assertEquals(typeof quote.data.quote.lastPrice, "string");
  assertEquals(gateway.state().subscriptions, 0);
  for (let tries = 0; gateway.state().pushConnections > 0 && tries < 100; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 10)); // the server notices the closed connection a moment later
  }
  assertEquals(gateway.state().pushConnections, 0);
});

Deno.test("watch shows order changes next to the quotes", async () => {
  await using gateway = await simulate({ pushIntervalMs: 50 });
  await using files = await folder();
  const env = envOf(gateway);
  const order =
    '{"market":"hk","symbol":"00700.HK","quantity":"100","price":"580.00","side":"buy","orderType":"limit"}';
  let placed: Promise<unknown> | undefined;
  const until = untilLine((line) => line.includes("order "));
  const { code, out } = await cli(["watch", "00700.HK"], {
    env,
    signal: until.signal,
    onLine: (line) => {
      placed ??= cli(["call", "orders.place", order], { env: { ...env, ...storeEnv(files) } });
      until.onLine?.(line);
    },
  });
  await placed;
  assertEquals(code, 130);
  assert(/\d\d:\d\d:\d\d {2}00700\.HK {2}\d+\.\d\d [+-]\d+\.\d\d% {2}volume /.test(out));
  assert(/order \d+ {2}buy 00700\.HK {2}accepted 100 at 580\.00/.test(out), out);
});

Deno.test("watch draws a table that fits the terminal, and restores the cursor", async () => {
  await using gateway = await simulate({ pushIntervalMs: 50 });
  const controller = new AbortController();
  const row = /^00700\.HK +\d+\.\d\d +[+-]\d+\.\d\d% +\d+\.\d\d +\d+\.\d\d/;
  const { code, out } = await cli(["watch", "00700.HK", "AAPL", "--topics", "quote,order-book"], {
    env: envOf(gateway),
    columns: 80,
    signal: controller.signal,
    // Waits until quote and order book have arrived, however long that takes.
    onLine: (text) => {
      if (text.split("\n").some((line) => row.test(line))) {
        controller.abort(new InterruptedError("interrupted"));
      }
    },
  });
  assertEquals(code, 130);
  assert(out.startsWith("\x1b[?25l"));
  assert(out.endsWith("\x1b[?25h"));
  const last = out.slice(out.lastIndexOf("\x1b[J") + 3).split("\n");
  assert(/^symbol +last +change +bid +ask +time/.test(last[0]!));
  assert(row.test(last[1]!), last[1]);
  for (const line of last) assert(line.replace("\x1b[?25h", "").length <= 80, line);
});

Deno.test("watch ends with 4 when the push port is closed", async () => {
  await using gateway = await simulate({ pushIntervalMs: 50 });
  using closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = closed.addr;
  closed.close();
  const { code, out, err } = await cli(["watch", "00700.HK", "--json", "--push", `127.0.0.1:${port}`], {
    env: envOf(gateway),
  });
  assertEquals({ code, out: out.includes('"quote"') }, { code: 4, out: false });
  assertStringIncludes(err, "hsgate: ");
});

Deno.test("watch as a process unsubscribes at Ctrl-C before it ends", async () => {
  await using gateway = await simulate({ pushIntervalMs: 50 });
  const process = start(["watch", "00700.HK", "--json"], { env: envOf(gateway) });
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  seen = await readUntil('"quote"', reader, (text) => text.includes('"quote"'), { text: seen });
  assertEquals(gateway.state().subscriptions, 1);
  process.kill("SIGINT");
  while (!(await reader.read()).done) { /* what is still under way */ }
  const { code } = await process.status;
  assertEquals(code, 130);
  assertEquals(await new Response(process.stderr).text(), "hsgate: interrupted\n");
  assertEquals(gateway.state().subscriptions, 0);
});

Deno.test("watch ends with 130 at Ctrl-C although the gateway does not answer when it unsubscribes", async () => {
  await using gateway = await simulate({ pushIntervalMs: 50 });
  gateway.faults.arm({ kind: "delay", operation: "quotes.unsubscribe", ms: 3_600_000, when: "answer" });
  const { code, err } = await cli(["watch", "00700.HK", "--json", "--timeout", "600"], {
    env: envOf(gateway),
    ...untilLine((line) => JSON.parse(line).type === "quote"),
  });
  assertEquals({ code, err }, { code: 130, err: "hsgate: interrupted\n" });
  assertEquals(gateway.faults.struck("delay"), 1);
});

Deno.test("a line about a push has at most 2,000 characters of the broker", () => {
  const symbol = "K".repeat(7_000_000);
  const events = [
    { type: "quote", sentAt: 0, data: { security: { type: "hk-stock", symbol }, quote: { lastPrice: "1" } } },
    {
      type: "tick",
      sentAt: 0,
      data: { security: { type: "hk-stock", symbol }, tick: { side: "buy", volume: "1" } },
    },
    { type: "order", sentAt: 0, data: { symbol, side: "buy", orderId: symbol, quantity: "100" } },
    { type: "gap", from: 0, to: 1, reason: symbol },
  ];
  // Only the members that the line uses.
  for (const event of events) assertEquals(lineOf(event as unknown as TransportEvent)!.length, 2_001);
});

Deno.test("a line about a broker queue says how many more brokers there are", () => {
  const line = (count: number) =>
    lineOf({
      type: "brokers",
      sentAt: 0,
      data: {
        security: { type: "hk-stock", symbol: "00700.HK" },
        side: "buy",
        brokers: Array.from({ length: count }, (_, index) => ({ broker: String(1000 + index) })),
      },
      // Only the members that the line uses.
    } as unknown as TransportEvent);
  assertEquals(line(5), "00700.HK  buy brokers 1000 1001 1002 1003 1004");
  assertEquals(line(8), "00700.HK  buy brokers 1000 1001 1002 1003 1004 and 3 more");
});

Deno.test("a line about an order says that its time is wrong, or that it names another account", () => {
  const data = { symbol: "00700.HK", side: "buy", orderId: "7", quantity: "100" };
  const line = (event: Record<string, unknown>) => lineOf(event as unknown as TransportEvent);
  const order = { type: "order", sentAt: 0, data };
  assertEquals(line(order), "order 7  buy 00700.HK  changed 100");
  assertEquals(
    line({ ...order, offMs: -7_200_000 }),
    "order 7  buy 00700.HK  changed 100  (its time is 120 minutes behind the broker's clock; check the orders)",
  );
  assertStringIncludes(line({ ...order, offMs: 9e15 })!, "its time is more than a day ahead of the broker's");
  assertStringIncludes(
    line({ ...order, unsureAccount: true })!,
    "of an account that is not yours: set fundAccounts",
  );
  const error = new ProtocolError("no", { code: "other-account" });
  const unread = { type: "unknown", expected: "order", notifyType: 1, payloadType: "", sentAt: 0 };
  assertEquals(
    line({ ...unread, error }),
    "an order push names another account than yours, or none: check the orders",
  );
  assertStringIncludes(line(unread)!, "cannot be read: check the orders");
});

Deno.test("watch --output csv and md print the latest quote and each change as a row, and other news on stderr", async () => {
  const clock = new ManualClock(MORNING);
  await using gateway = await simulate({ pushIntervalMs: 50, clock });
  await using files = await folder();
  const env = envOf(gateway);
  for (
    const [output, head, row] of [
      [
        "csv",
        ["symbol,last,bid,ask,time"],
        /^00700\.HK,[\d.]+,[\d.]+,[\d.]+,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
      ],
      [
        "md",
        ["| symbol | last | bid | ask | time (HKT) |", "| --- | ---: | ---: | ---: | --- |"],
        /^\| 00700\.HK \| [\d.]+ \| [\d.]+ \| [\d.]+ \| .+ \|$/,
      ],
    ] as const
  ) {
    let rows = 0;
    const until = untilLine((line) => {
      if (!row.test(line)) return false;
      clock.advance(60_000); // the next minute has another price or time
      return ++rows === 3;
    });
    const { code, out } = await cli(
      ["watch", "00700.HK", "--output", output, "--columns", "symbol,last,bid,ask,time"],
      { env, ...until },
    );
    const lines = out.trimEnd().split("\n");
    assertEquals([code, lines.slice(0, head.length)], [130, [...head]], out);
    const shown = lines.slice(head.length);
    for (const line of shown) assert(row.test(line), line);
    shown.forEach((line, index) => assert(line !== shown[index - 1], "each row shows a change"));
  }
  const order =
    '{"market":"hk","symbol":"00700.HK","quantity":"100","price":"580.00","side":"buy","orderType":"limit"}';
  let placed: Promise<unknown> | undefined;
  const controller = new AbortController();
  const { out, err } = await cli(["watch", "00700.HK", "--output", "csv"], {
    env,
    signal: AbortSignal.any([controller.signal, AbortSignal.timeout(20_000)]),
    onLine: () => {
      placed ??= cli(["call", "orders.place", order], { env: { ...env, ...storeEnv(files) } });
    },
    onNote: (line) => /order \d+/.test(line) && controller.abort(new InterruptedError("interrupted")),
  });
  await placed;
  assert(
    /hsgate: \d\d:\d\d:\d\d HKT {2}order \d+ {2}buy 00700\.HK {2}accepted 100 at 580\.00/.test(err),
    err,
  );
  assert(!out.includes("order "), out);
  const json = await cli(["watch", "00700.HK", "--output", "jsonl"], {
    env,
    ...untilLine((line) => JSON.parse(line).type === "quote"),
  });
  assertEquals(json.code, 130);
  const ticks = await cli(["watch", "00700.HK", "--output", "csv", "--topics", "tick"], { env });
  assertEquals([ticks.code, ticks.out], [2, ""]);
  assertStringIncludes(ticks.err, "name quote or order-book, or use --output jsonl");
});
