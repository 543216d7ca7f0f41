/** Checks that error texts and classes are the same over every transport. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  BrokerError,
  BusyError,
  InvalidParamsError,
  LoginExpiredError,
  MarketClosedError,
  OutcomeUnknownError,
  ProtocolError,
  RejectedError,
  TransportError,
  UnmappedError,
} from "../../mod.ts";
import { conformance, ORDER, TENCENT } from "./simulated_account.ts";

const SATURDAY_NOON = Date.parse("2025-08-16T12:00:00+08:00");

conformance("a rejection keeps the broker's code and text word for word", async ({ transport, client }) => {
  const unknown = await assertRejects(
    () => client.quotes.bars({ security: TENCENT, start: "2025-08-14", interval: "day", limit: 5 }),
    RejectedError,
  );
  const text = 'security "00700.HK" is not subscribed, and KL answers only for subscribed securities';
  assertEquals([unknown.code, unknown.operation, unknown.transport], ["1016", "quotes.bars", transport]);
  // The gateway puts the code at the start of its text; the socket has a field for each.
  assertEquals(unknown.text, transport === "direct" ? text : `1016 invalid parameter: ${text}`);
  assert(unknown.message.endsWith(text), unknown.message);
});

conformance(
  "an order outside market hours throws a MarketClosedError, and is not among today's orders",
  async (desk) => {
    const error = await assertRejects(() => desk.client.orders.place(ORDER), MarketClosedError);
    assertEquals(error.text.replace(/^\d+ /, ""), "current time does not allow entrust");
    assertEquals(await desk.orderIds(), []);
  },
  { at: SATURDAY_NOON },
);

conformance("a call without a login throws a LoginExpiredError immediately", async (desk) => {
  const sent = desk.count("orders.place");
  const read = await assertRejects(() => desk.client.account.funds({ market: "hk" }), LoginExpiredError);
  const write = await assertRejects(() => desk.client.orders.place(ORDER), LoginExpiredError);
  assertEquals([read.code, write.code, sent()], ["1012", "1012", 1]);
  assertEquals(await desk.orderIds(), []);
  // Control: an operation that needs no login succeeds.
  assertEquals((await desk.client.quotes.latest({ securities: [TENCENT] })).length, 1);
}, { tradePassword: false });

conformance("a wrong parameter is rejected before anything is sent", async ({ client, count }) => {
  const sent = count("orders.place");
  const order = { ...ORDER, quantity: "-1", price: "x" };
  const error = await assertRejects(() => client.orders.place(order), InvalidParamsError);
  assertEquals([error.issues.map(({ path }) => path[0]), sent()], [["quantity", "price"], 0]);
});

conformance(
  "a busy broker: reads are retried, a write is sent once and has an unknown outcome",
  async (desk) => {
    const { client, simulator: { faults } } = desk;
    await client.account.login();
    faults.arm({ kind: "busy", operation: "account.funds", times: 2 });
    await client.account.funds({ market: "hk" });
    faults.arm({ kind: "busy", operation: "account.funds", times: 3 });
    await assertRejects(() => client.account.funds({ market: "hk" }), BusyError);
    faults.arm({ kind: "busy", operation: "orders.place", times: 3 });
    const error = await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
    assertEquals([error.code, faults.struck("busy")], ["1011", 2 + 3 + 1]);
    assertEquals(await desk.orderIds(), []);
  },
);

conformance(
  "an unreadable answer: a read throws a ProtocolError, or has one as its cause; a write has an unknown outcome",
  async (desk) => {
    const { client, simulator: { faults } } = desk;
    await client.account.login();
    faults.arm({ kind: "not-json", operation: "account.holdings", times: 3 });
    const error = await assertRejects(() => client.account.holdings({ market: "hk" }), BrokerError);
    // A damaged frame could be the answer to any call, so the socket closes and every call on it fails.
    if (desk.transport === "direct") {
      assert(
        error instanceof TransportError && error.cause instanceof ProtocolError,
      );
    } else assert(error instanceof ProtocolError);
    faults.clear();
    faults.arm({ kind: "not-json", operation: "orders.place" });
    await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
    assertEquals((await desk.orderIds()).length, 1);
    assert(faults.struck("not-json") >= 2);
  },
);

conformance(
  "an operation that no transport supports is rejected with an UnmappedError",
  async ({ transport, client }) => {
    const error = await assertRejects(
      () => client.platform.openConnection({ deviceId: "x" }),
      UnmappedError,
    );
    assertEquals(error.transport, transport);
  },
);

conformance(
  "the error of a login without an answer shows no password, key or phone number",
  async ({ client, simulator }) => {
    const { info, faults } = simulator;
    const secrets = [info.tradePassword, info.loginPassword, info.mobile, info.tradePasswordKey];
    faults.arm({ kind: "lost-answer", operation: "account.login", times: 20 });
    const error = await assertRejects(() => client.account.login(), Error);
    const shown = Deno.inspect(error, { depth: 9 }) + JSON.stringify(error) + error.message;
    for (const secret of secrets) assertEquals(shown.includes(secret), false);
    assert(faults.struck("lost-answer") > 0);
  },
);
