/** Tests attacks on an open direct connection, by a platform or by somebody on the network. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { connect, DisplacedError, TransportError } from "../../mod.ts";
import { HourlyLimit } from "../../lib/transports/push/reconnect.ts";
import { encodeFrame } from "../../lib/wire/framing.ts";
import { exportPrivateKey, exportPublicKey, generateKeyPair } from "../../lib/wire/keys.ts";
import { waitUntil } from "../support/waits.ts";
import { directFarEnd, type FarCall } from "./direct_far_end.ts";

const MAX_BUY = 19;
const answerOf = (call: FarCall) => call.answer({ told: ["CommonIntResponse", { data: 700 }] });

/** Watches orders during one read. Resolves to the received orders, the reasons of gaps and the codes of faults. */
async function seenWhile(frames: (call: FarCall) => Uint8Array[], expectedGaps = 0) {
  await using far = await directFarEnd({
    onCall: async (call) => {
      const isRead = call.request.type === MAX_BUY;
      await call.send(
        ...isRead ? frames(call) : [call.answer({ told: ["CommonBoolResponse", { success: true }] })],
      );
    },
  });
  await using client = await connect({ direct: far.options, retry: { attempts: 1 } });
  const orders: string[] = [];
  const gaps: string[] = [];
  const faults: (string | undefined)[] = [];
  const stop = new AbortController();
  const watching = (async () => {
    for await (const event of client.watch({ signal: stop.signal })) {
      if (event.type === "order") orders.push(event.data.orderId ?? "");
      if (event.type === "gap" && !event.reason.startsWith("the time of a push")) gaps.push(event.reason);
    }
  })();
  const telling = (async () => {
    for await (const event of client.transport.events()) {
      if (event.type === "fault") faults.push(event.error.code);
    }
  })();
  const maxBuy = { market: "hk", symbol: "00700.HK", price: "500" } as const;
  assertEquals(await client.account.maxBuy(maxBuy), { quantity: "700" });
  await waitUntil("the last push", () => orders.includes("last") && gaps.length >= expectedGaps);
  stop.abort();
  await watching;
  await client.close();
  await telling;
  return { orders, gaps, faults, opened: far.opened.filter((kind) => kind === "trade").length };
}

const sealed = (call: FarCall, serial: number, orderId: string) =>
  call.frame({ type: "push", serial, body: call.orderPush(orderId) });

Deno.test("an unencrypted push is accepted until an encrypted one has arrived, then rejected and reported as a gap", async () => {
  const seen = await seenWhile((call) => [
    sealed(call, 0, "clear-before"),
    sealed(call, 0, "clear-too"),
    sealed(call, 9, "encrypted"),
    sealed(call, 0, "clear-after"),
    sealed(call, 0, "clear-again"),
    answerOf(call),
    sealed(call, 10, "last"),
  ], 1);
  assertEquals(seen.orders, ["clear-before", "clear-too", "encrypted", "last"]);
  assertEquals(seen.faults, ["push-clear", "push-clear"]);
  assertEquals(seen.gaps, [
    "the connection rejected unencrypted pushes, because earlier pushes were encrypted",
  ]);
  assertEquals(seen.opened, 1, "the connection stays");
});

Deno.test("an encrypted answer that was relabelled as a push does not make the client reject the platform's unencrypted pushes", async () => {
  const seen = await seenWhile((call) => {
    // The signature does not cover the header, so anybody on the network can change the type of a frame.
    const relabelled = call.answer({ id: "another call" });
    relabelled[2] = 3;
    return [relabelled, sealed(call, 0, "clear"), answerOf(call), sealed(call, 10, "last")];
  });
  assertEquals([seen.orders, seen.faults, seen.gaps], [["clear", "last"], [], []]);
});

Deno.test("an RSA frame after the first answer, and a request, are rejected before decryption", async () => {
  const seen = await seenWhile((call) => [
    call.frame({ type: "response", serial: 0, body: new Uint8Array(100) }),
    call.frame({ type: "request", serial: 0, body: new Uint8Array(100) }),
    call.frame({ type: "request", serial: 5, body: new Uint8Array(100) }),
    answerOf(call),
    sealed(call, 10, "last"),
  ]);
  assertEquals(seen.orders, ["last"]);
  assertEquals(seen.faults, ["rsa-late", "request", "request"]);
  assert(seen.opened === 1, "the connection stays");
});

Deno.test("only the first RSA frame of a connection is decrypted, and a first answer must have the id of our request", async () => {
  const maxBuy = { market: "hk", symbol: "00700.HK", price: "500" } as const;
  const [old, displaced] = [{ id: "an old connection" }, { code: "1013", text: "logged in elsewhere" }];
  for (const replayed of [old, { ...old, ...displaced }, { id: "", ...displaced }, { id: "0" }]) {
    let opened = 0;
    await using far = await directFarEnd({
      // Six times, because five unreadable first answers would already stop the connection.
      init: () => ++opened <= 6 ? replayed : {},
      afterInit: encodeFrame(
        { type: "response", signature: new Uint8Array(128).fill(9) },
        new Uint8Array(128),
      ),
      onCall: (call) => call.send(answerOf(call)),
    });
    await using client = await connect({ direct: far.options, retry: { attempts: 1 } });
    const faults: (string | undefined)[] = [];
    const telling = (async () => {
      for await (const event of client.transport.events()) {
        if (event.type === "fault") faults.push(event.error.code);
      }
    })();
    for (let attempt = 1; attempt <= 6; attempt++) {
      const error = await assertRejects(() => client.account.maxBuy(maxBuy), TransportError);
      assertEquals(error.code, "first-answer-unasked", `${Deno.inspect(replayed)} ${error}`);
    }
    assertEquals(await client.account.maxBuy(maxBuy), { quantity: "700" });
    assertEquals(far.opened.length, 7, "each replayed answer ends its connection");
    await client.close();
    await telling;
    assertEquals(faults, Array(7).fill("rsa-late"), "the second RSA frame of each connection");
  }
});

Deno.test("a rejection of the first request is accepted with the request's id and with 0", async () => {
  const maxBuy = { market: "hk", symbol: "00700.HK", price: "500" } as const;
  for (const id of [{}, { id: "0" }]) {
    await using far = await directFarEnd({
      init: () => ({ ...id, code: "1013", text: "logged in elsewhere" }),
      onCall: () => {},
    });
    await using client = await connect({ direct: far.options, retry: { attempts: 1 } });
    await assertRejects(() => client.account.maxBuy(maxBuy), DisplacedError);
    assertEquals(client.transport.state("trade").phase, "stopped");
  }
});

Deno.test("a first answer of more than 16 segments is rejected like every unreadable first answer", async () => {
  const maxBuy = { market: "hk", symbol: "00700.HK", price: "500" } as const;
  // A segment contains 117 bytes. With the other members of the answer, these texts fill 16 and 17 segments.
  for (const [text, isTaken] of [["x".repeat(1740), true], ["x".repeat(1860), false]] as const) {
    await using far = await directFarEnd({
      init: () => ({ text }),
      onCall: (call) => call.send(answerOf(call)),
    });
    await using client = await connect({ direct: far.options, retry: { attempts: 1 } });
    if (isTaken) assertEquals(await client.account.maxBuy(maxBuy), { quantity: "700" });
    else {
      const reason = "Cannot read the first answer of the trade server";
      await assertRejects(() => client.account.maxBuy(maxBuy), Error, reason);
    }
  }
});

Deno.test("keys of another size are rejected before anything is sent", async () => {
  await using far = await directFarEnd({ onCall: () => {} });
  const { privateKey, publicKey } = generateKeyPair(2048);
  for (
    const [keys, what] of [
      [{ privateKey: exportPrivateKey(privateKey) }, "private"],
      [{ platformKey: exportPublicKey(publicKey) }, "public"],
    ] as const
  ) {
    const error = await assertRejects(async () => {
      await using client = await connect({ direct: { ...far.options, ...keys }, retry: { attempts: 1 } });
      await client.account.funds({ market: "hk" });
    }, TypeError);
    assert(
      error instanceof Error && /2048/.test(error.message) && /1024/.test(error.message),
      `${what}: ${error}`,
    );
  }
  assertEquals([far.posted, far.opened], [[], []]);
});

Deno.test("a connection that keeps breaking is reopened only a limited number of times per hour", () => {
  const limit = new HourlyLimit(3);
  const MINUTE = 60_000;
  assertEquals([0, 1, 2].map((minute) => limit.wait(minute * MINUTE, 500)), [500, 500, 500]);
  // The first of the three attempts was half a second after the start, so the fourth is at least an hour later.
  assertEquals(limit.wait(3 * MINUTE, 500), 57 * MINUTE + 500);
  assertEquals(limit.wait(200 * MINUTE, 500), 500);
  assertThrows(() => new HourlyLimit(0), RangeError, "perHour");
  const unset = new HourlyLimit();
  for (let attempt = 0; attempt < 120; attempt++) assertEquals(unset.wait(0, 500), 500);
  assertEquals(unset.wait(0, 500), 60 * MINUTE + 500);
});

Deno.test("reconnect.perHour limits the attempts of a connection that keeps breaking", async () => {
  await using far = await directFarEnd({
    onCall: () => {},
    hangsUp: () => true,
  });
  const direct = { ...far.options, heartbeatMs: 10, trade: false };
  await using client = await connect({
    direct: { ...direct, reconnect: { minMs: 1, maxMs: 1, perHour: 2 } },
    retry: { attempts: 1 },
  });
  const waits: number[] = [];
  const telling = (async () => {
    for await (const { phase, waitMs = 0 } of client.transport.states()) {
      if (phase === "waiting") waits.push(waitMs);
    }
  })();
  const tencent = { type: "hk-stock", symbol: "00700.HK" } as const;
  await assertRejects(() => client.quotes.latest({ securities: [tencent] }), TransportError);
  await waitUntil("the third wait", () => waits.length === 3);
  assertEquals(waits.slice(0, 2), [1, 1]);
  assert(waits[2]! > 3_500_000, `${waits}`);
  await client.close();
  await telling;
});
