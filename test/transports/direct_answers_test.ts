/**
 * Tests answers that match no call: the client never gives such an answer to another call, and never loses an order
 * id.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { connect, type DirectClient } from "../../lib/client/connect.ts";
import { OutcomeUnknownError, ProtocolError } from "../../lib/errors.ts";
import { futures } from "../../lib/operations/futures.ts";
import { operations } from "../../lib/operations/mod.ts";
import { requestNumber, responseNumber } from "../../lib/transports/direct/payloads.ts";
import type { DirectEvent } from "../../lib/transports/direct/events.ts";
import { type DirectFarEnd, directFarEnd, type FarCall } from "./direct_far_end.ts";
import { waitUntil } from "../support/waits.ts";

const ORDER = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "500",
  side: "buy",
  orderType: "enhanced-limit",
} as const;
const [PLACE, MAX_BUY] = [16, 19];

function connectTo({ options }: DirectFarEnd): Promise<DirectClient> {
  return connect({ direct: options, retry: { attempts: 1 } });
}

function eventsOf(client: DirectClient): DirectEvent[] {
  const seen: DirectEvent[] = [];
  const events = client.transport.events();
  (async () => {
    for await (const event of events) seen.push(event);
  })();
  return seen;
}

const faultsOf = (events: DirectEvent[]) =>
  events.flatMap((event) => event.type === "fault" ? [event.error.code] : []);
const lateOf = (events: DirectEvent[]) =>
  events.flatMap((event) => event.type === "late-answer" ? [[event.operation, event.result]] : []);

const orderIs = ({ answer }: FarCall, data: string) => answer({ told: ["CommonStringResponse", { data }] });
const quantityIs = ({ answer }: FarCall, data: number) => answer({ told: ["CommonIntResponse", { data }] });
const maxBuy = (client: DirectClient) =>
  client.account.maxBuy({ market: "hk", symbol: "00700.HK", price: "500" });

Deno.test("an answer without a matching call does not affect later answers, and no order id is lost", async () => {
  let placed = 0;
  await using farEnd = await directFarEnd({
    async onCall(call) {
      if (call.request.type === MAX_BUY) return await call.send(quantityIs(call, 700));
      const answer = orderIs(call, `A${++placed}`);
      await call.send(...placed === 1 ? [call.answer({ id: "0", code: "1003", text: "stray" })] : [], answer);
    },
  });
  await using client = await connectTo(farEnd);
  const seen = eventsOf(client);
  const first = await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
  assertEquals(first.code, "answer-unasked");
  const others = [];
  for (let index = 0; index < 3; index++) others.push(await client.orders.place(ORDER));
  assertEquals(others, [{ orderId: "A2" }, { orderId: "A3" }, { orderId: "A4" }]);
  assertEquals(lateOf(seen), [["orders.place", { orderId: "A1" }]]);
  assertEquals(faultsOf(seen), ["1003"]);
  assertEquals(await maxBuy(client), { quantity: "700" });
});

Deno.test("a repeated answer does not affect the only waiting call", async () => {
  let firstAnswer: Uint8Array | undefined;
  await using farEnd = await directFarEnd({
    async onCall(call) {
      if (call.request.type === PLACE) return await call.send(firstAnswer = orderIs(call, "A1"));
      await call.send(firstAnswer!, firstAnswer!);
      await call.send(quantityIs(call, 700));
    },
  });
  await using client = await connectTo(farEnd);
  const seen = eventsOf(client);
  assertEquals(await client.orders.place(ORDER), { orderId: "A1" });
  assertEquals(await maxBuy(client), { quantity: "700" });
  assertEquals(faultsOf(seen), ["answer-repeated", "answer-repeated"]);
});

Deno.test("an answer with an id that this client never used fails the only waiting call", async () => {
  await using farEnd = await directFarEnd({
    async onCall(call) {
      await call.send(call.answer({ id: "somebody-else", code: "1003", text: "stray" }), orderIs(call, "A1"));
    },
  });
  await using client = await connectTo(farEnd);
  const seen = eventsOf(client);
  await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
  await waitUntil("a late answer", () => lateOf(seen).length !== 0);
  assertEquals(lateOf(seen), [["orders.place", { orderId: "A1" }]]);
});

Deno.test("an answer without its payload is an error for a list, and leaves a write's outcome unknown", async () => {
  await using farEnd = await directFarEnd({ onCall: (call) => call.send(call.answer()) });
  await using client = await connectTo(farEnd);
  for (
    const read of [
      () => client.account.holdings({ market: "hk" }),
      () => client.account.funds({ market: "hk" }),
      () => client.orders.today({ market: "hk" }).toArray(),
      () => maxBuy(client),
    ]
  ) assertEquals((await assertRejects(read, ProtocolError)).code, "no-payload");
  const error = await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
  assertEquals(error.code, "no-payload");
});

Deno.test("an empty list with a payload is accepted", async () => {
  await using farEnd = await directFarEnd({
    onCall: (call) => call.send(call.answer({ told: ["StockQueryHoldsListResponse", {}] })),
  });
  await using client = await connectTo(farEnd);
  assertEquals(await client.account.holdings({ market: "hk" }), []);
});

Deno.test("an answer with another operation's type number is rejected, whatever its id", async () => {
  let type = 17; // the type number of a cancellation, with the payload of an order
  await using farEnd = await directFarEnd({
    onCall: (call) =>
      call.send(call.answer({
        type,
        told: call.request.type === PLACE
          ? ["CommonStringResponse", { data: "A1" }]
          : ["CommonIntResponse", { data: 700 }],
      })),
  });
  await using client = await connectTo(farEnd);
  const write = await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
  const read = await assertRejects(() => maxBuy(client), ProtocolError);
  assertEquals([write.code, read.code], ["unexpected-type", "unexpected-type"]);
  for (type = 1; type <= 4; type++) { // the type numbers of generic answers
    assertEquals(await client.orders.place(ORDER), { orderId: "A1" });
    assertEquals(await maxBuy(client), { quantity: "700" });
  }
});

Deno.test("every operation on the socket has a type number for its answers", () => {
  for (const operation of operations.values()) {
    if (!("gap" in operation.socket)) assert(responseNumber(operation) >= 0, operation.name);
  }
  // Some futures operations have different type numbers for requests and answers.
  assertEquals([32, 42], [requestNumber(futures.place), responseNumber(futures.place)]);
  assertEquals(responseNumber(futures.maxQuantity), 39);
});
