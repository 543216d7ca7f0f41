/**
 * Tests the arguments of an endpoint in memory, the handling of its answers, the encryption of the trade password, and
 * pushes. The conformance suite tests everything else.
 */
import { Buffer } from "node:buffer";
import { createCipheriv } from "node:crypto";
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  OutcomeUnknownError,
  ProtocolError,
  RejectedError,
  TransportError,
  UnmappedError,
} from "../../mod.ts";
import { createClient } from "../../lib/client/client.ts";
import {
  memory,
  type MemoryEndpoint,
  type MemoryLine,
  type MemoryOptions,
} from "../../lib/transports/memory.ts";
import { isConnected, until } from "../conformance/simulated_account.ts";

const order = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "350.20",
  side: "buy",
  orderType: "limit",
} as const;
const ok = (data: unknown) => ({ ok: true, err: "", data });
const clientOf = (endpoint: MemoryEndpoint, options: MemoryOptions = {}) =>
  createClient(memory(endpoint, options), { retry: { attempts: 2, waitMs: 1 } });

Deno.test("memory() passes the endpoint a path and parameters in the broker's spelling", async () => {
  const calls: unknown[] = [];
  await using client = clientOf((path, params, { timeoutMs, signal }) => {
    calls.push({ path, params, timeoutMs, aborted: signal.aborted });
    return ok({ data: "9" });
  });
  assertEquals(await client.orders.place(order, { timeoutMs: 700 }), { orderId: "9" });
  const params = {
    exchangeType: "K",
    stockCode: "00700.HK",
    entrustAmount: "100",
    entrustPrice: "350.20",
    entrustBs: "1",
    entrustType: "3",
    clientType: 0,
  };
  assertEquals(calls, [{ path: "/trade/TradeEntrust", params, timeoutMs: 700, aborted: false }]);
  assertEquals(await client.raw("trade", "Later", { a: 1, b: undefined }), { data: "9" });
  assertEquals((calls[1] as { params: unknown }).params, { a: 1 });
});

Deno.test("memory() encrypts the trade password as the gateway transport does", async () => {
  const seen: unknown[] = [];
  await using client = clientOf((path, params) => {
    seen.push(path, params);
    return ok({ success: true });
  }, { tradePasswordKey: "MDEyMzQ1Njc4OWFiY2RlZg==" });
  await client.account.login({ password: "sesame-123" });
  assertEquals(seen, ["/trade/TradeLogin", { password: "FSWBnHkrmTcvs+dhT9KhCQ==" }]);
});

Deno.test("memory() encrypts a trade password of any length with any key as OpenSSL does", async () => {
  const seen: unknown[] = [];
  for (const bytes of [16, 24, 32]) {
    const key = Buffer.from(Array.from({ length: bytes }, (_, index) => index * 7));
    await using client = clientOf((_path, params) => {
      seen.push(params);
      return ok({ success: true });
    }, { tradePasswordKey: key.toString("base64") });
    for (const length of [1, 15, 16, 17, 31, 32, 33]) {
      const password = "密".repeat(length).slice(0, length - 1) + "x";
      await client.account.login({ password });
      const cipher = createCipheriv(`aes-${bytes * 8}-ecb`, key, null);
      const expected = Buffer.concat([cipher.update(password, "utf8"), cipher.final()]).toString("base64");
      assertEquals(seen.pop(), { password: expected });
    }
  }
});

Deno.test("memory() keeps every digit of an answer that is text", async () => {
  await using client = clientOf(() =>
    '{"ok":true,"err":"","data":{"assetBalance":12345678901234567890.123456789}}'
  );
  assertEquals((await client.account.funds({ market: "hk" })).totalAssets, "12345678901234567890.123456789");
});

Deno.test("memory() distinguishes a call that was not executed from one that may have been", async () => {
  const refuse: MemoryEndpoint = () => {
    throw new TransportError("Cannot send the call: the endpoint is closed");
  };
  await using locked = clientOf(refuse);
  const unsent = await assertRejects(() => locked.orders.place(order), TransportError);
  assertEquals([unsent.code, unsent.transport], ["not-connected", "memory"]);
  await using broken = clientOf(() => Promise.reject(new Error("the endpoint crashed")));
  const open = await assertRejects(
    () => broken.orders.place(order),
    OutcomeUnknownError,
    "the endpoint crashed",
  );
  assertEquals(open.code, "connection-lost");
});

Deno.test("memory() handles rejections and invalid answers like the gateway transport", async () => {
  const answers: Record<string, [text: unknown, kind: new (...args: never[]) => Error]> = {
    refusal: [{ ok: false, err: "1016 no such thing", data: null }, RejectedError],
    html: ["<html>", ProtocolError],
    list: ["[1]", ProtocolError],
    shape: [{ ok: true, err: "", data: { data: 7 } }, ProtocolError],
  };
  for (const [name, [answer, kind]] of Object.entries(answers)) {
    // The endpoint returns a value that its type does not allow, as a real server may.
    await using client = clientOf(() => answer as string);
    const thrown = await client.orders.today({ market: "hk" }).toArray().catch((error: unknown) => error);
    assert(thrown instanceof kind, `${name}: ${thrown}`);
  }
});

Deno.test("memory() aborts the endpoint's signal when the caller stops waiting", async () => {
  const aborted = Promise.withResolvers<void>();
  await using client = clientOf((_path, _params, { signal }) => {
    signal.addEventListener("abort", () => aborted.resolve());
    return new Promise(() => {});
  });
  await assertRejects(() => client.orders.place(order, { timeoutMs: 20 }), OutcomeUnknownError);
  await aborted.promise;
});

Deno.test("memory() has pushes if a source is given, and otherwise throws an error that says so", async () => {
  await using without = clientOf(() => ok({}));
  await assertRejects(() => until(without.watch(), () => false), UnmappedError, "no pushes");

  const lines: MemoryLine[] = [];
  let stopped = 0;
  await using client = clientOf(() => ok({ success: true }), {
    pushes(line) {
      lines.push(line);
      return () => void stopped++;
    },
  });
  const events = client.watch();
  await until(events, isConnected);
  lines[0]!.end("the line was cut");
  const after = await until(events, isConnected);
  const gap = after.find(({ type }) => type === "gap");
  assert(gap?.type === "gap" && gap.reason.includes("the line was cut"));
  // A body that is not a push breaks the connection like a damaged frame.
  lines[1]!.push(new Uint8Array([255, 255, 255]));
  const again = await until(events, isConnected);
  assert(again.some((event) => event.type === "connection" && event.error instanceof ProtocolError));
  assertEquals([lines.length, stopped], [3, 2]);
  lines[0]!.push(new Uint8Array(0)); // pushes on an ended connection are ignored
  await events.return?.();
  await client.close();
  assertEquals(stopped, 3);
});
