/** What a platform, or somebody in between, may not do to an open connection. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { connect } from "../../mod.ts";
import { HourlyLimit } from "../../lib/transports/push_waits.ts";
import { exportPrivateKey, exportPublicKey, generateKeyPair } from "../../lib/wire/keys.ts";
import { waitUntil } from "../support/waits.ts";
import { directFarEnd, type FarCall } from "./direct_far_end.ts";

const MAX_BUY = 19;
const answerOf = (call: FarCall) => call.answer({ told: ["CommonIntResponse", { data: 700 }] });

/** Watches orders while one read is made; resolves to the orders that came and the codes of the faults. */
async function seenWhile(frames: (call: FarCall) => Uint8Array[]) {
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
  const faults: (string | undefined)[] = [];
  const stop = new AbortController();
  const watching = (async () => {
    for await (const event of client.watch({ signal: stop.signal })) {
      if (event.type === "order") orders.push(event.data.orderId ?? "");
    }
  })();
  const telling = (async () => {
    for await (const event of client.transport.events()) {
      if (event.type === "fault") faults.push(event.error.code);
    }
  })();
  const maxBuy = { market: "hk", symbol: "00700.HK", price: "500" } as const;
  assertEquals(await client.account.maxBuy(maxBuy), { quantity: "700" });
  await waitUntil("the last push", () => orders.includes("last"));
  stop.abort();
  await watching;
  await client.close();
  await telling;
  return { orders, faults, opened: far.opened.filter((kind) => kind === "trade").length };
}

const sealed = (call: FarCall, serial: number, orderId: string) =>
  call.frame({ type: "push", serial, body: call.orderPush(orderId) });

Deno.test("a push in clear is refused and counted once an encrypted one has come, and taken before that", async () => {
  const seen = await seenWhile((call) => [
    sealed(call, 0, "clear-before"),
    sealed(call, 9, "encrypted"),
    sealed(call, 0, "clear-after"),
    answerOf(call),
    sealed(call, 10, "last"),
  ]);
  assertEquals(seen.orders, ["clear-before", "encrypted", "last"]);
  assertEquals(seen.faults, ["push-clear"]);
  assertEquals(seen.opened, 1, "the connection stays");
});

Deno.test("a frame under RSA after the first answer, and a request, are refused before they are opened", async () => {
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

Deno.test("keys of another size are refused before anything is sent", async () => {
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

Deno.test("a line that breaks again and again is opened a bounded number of times in an hour", () => {
  const limit = new HourlyLimit(3);
  const MINUTE = 60_000;
  assertEquals([0, 1, 2].map((minute) => limit.wait(minute * MINUTE, 500)), [500, 500, 500]);
  // The first of the three was due half a second after the start; the fourth is not before an hour later.
  assertEquals(limit.wait(3 * MINUTE, 500), 57 * MINUTE + 500);
  assertEquals(limit.wait(200 * MINUTE, 500), 500);
  assertThrows(() => new HourlyLimit(0), RangeError, "perHour");
});
