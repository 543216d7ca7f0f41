/**
 * Checks missing members of answers. Over the gateway they are an error or absent, and never zero. Over the socket, a
 * missing number has its default, and a missing text is absent.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { createClient } from "../../lib/client/client.ts";
import { OutcomeUnknownError, ProtocolError } from "../../lib/errors.ts";
import { account } from "../../lib/operations/account.ts";
import { gatewayOperations, operations } from "../../lib/operations/mod.ts";
import type { AnyOperation } from "../../lib/operations/operation.ts";
import { orders } from "../../lib/operations/orders.ts";
import { quotes } from "../../lib/operations/quotes.ts";
import { isListMissing } from "../../lib/operations/wire_rows.ts";
import type { FieldInfo } from "../../lib/operations/types.ts";
import { decodeAnswer, responseNumber } from "../../lib/transports/direct/payloads.ts";
import { memory } from "../../lib/transports/memory.ts";
import { loadMessages } from "../../lib/wire/messages.ts";

/** Calls an operation over a gateway that answers with this envelope. The parameters do not matter here. */
async function ask(operation: AnyOperation, envelope: string): Promise<unknown> {
  await using transport = memory(() => envelope);
  return await transport.call({ ...operation, request: noParams }, {}, {});
}
const noParams = { ...account.logout.request };
const withData = (data: string) => `{"ok":true,"err":"","data":${data}}`;

/** Returns the members that an answer must have. */
const promised = ({ response }: AnyOperation): FieldInfo[] =>
  Object.values(response.fields ?? {}).filter((each) => "key" in each);

const reads = gatewayOperations.filter(({ effect }) => effect === "read");
const writes = gatewayOperations.filter(({ effect }) => effect === "write");

for (const operation of reads) {
  const { name, response } = operation;
  Deno.test(`${name} throws on a missing answer instead of returning no data`, async () => {
    const envelopes = [withData("null"), '{"ok":true,"err":""}', withData('""')];
    for (const envelope of envelopes) {
      const error = await assertRejects(() => ask(operation, envelope), ProtocolError);
      assert(error.code === "no-answer" || error.code === "unexpected-shape", error.code);
      assertStringIncludes(error.message, `Cannot read the answer of ${name}: data`);
    }
    // Some servers omit an empty list; every other answer must have a member.
    if ("rows" in response) {
      const left = await ask(operation, withData("{}")) as unknown[];
      assertEquals([left, isListMissing(left)], [[], true]);
      for (const data of ['{"foo":1}', '{"code":500,"message":"internal error"}', '{"total":0}']) {
        const error = await assertRejects(() => ask(operation, withData(data)), ProtocolError);
        assertStringIncludes(error.message, `got ${data}`);
      }
      // The control: an empty list.
      const [{ wire }] = Object.values(response.fields ?? {}) as [FieldInfo];
      const empty = await ask(operation, withData(`{"${wire}":[],"code":0}`)) as unknown[];
      assertEquals([empty, isListMissing(empty)], [[], false]);
    } else await assertRejects(() => ask(operation, withData("{}")), ProtocolError);
  });

  const members = "rows" in response ? Object.values(response.fields ?? {}) : promised(operation);
  for (const { wire } of members) {
    Deno.test(`${name} names "${wire}" when it is null`, async () => {
      const error = await assertRejects(() => ask(operation, withData(`{"${wire}":null}`)), ProtocolError);
      assertStringIncludes(error.message, `data.${wire}: expected `);
    });
  }

  Deno.test(`${name} returns no value for a missing member`, async () => {
    // Every member is null or missing, except one unimportant text.
    const fields = Object.values(response.fields ?? {});
    if ("rows" in response || fields.length === 0) return;
    const spare = fields.find(({ type }) => type.name === "text" || type.name === "decimal");
    if (spare === undefined || promised(operation).some(({ type }) => !type.isList)) return;
    const answer = await ask(operation, withData(`{"${spare.wire}":"7"}`));
    const values = Object.values(answer as Record<string, unknown>);
    assertEquals(values.filter((each) => !Array.isArray(each)), ["7"]);
  });
}

for (const operation of writes) {
  Deno.test(`${operation.name} has an unknown outcome if the answer is empty`, async () => {
    const broken = ["null", "{}", '""', '{"data":null}', '{"data":""}', '{"orderId":null}', '{"data":" "}'];
    for (const data of broken) {
      await assertRejects(() => ask(operation, withData(data)), OutcomeUnknownError);
    }
  });
}

Deno.test("rows without their key members cause an error that names row and member", async () => {
  const cases: [AnyOperation, string, string][] = [
    [orders.today, '{"data":[{"stockCode":"AAPL","entrustBs":"1"}]}', "data.data.0.entrustId"],
    [account.holdings, '{"holdsList":[{"currentAmount":"100"}]}', "data.holdsList.0.stockCode"],
    [quotes.latest, '{"basicQot":[{"lastPrice":12.5}]}', "data.basicQot.0.security"],
    [quotes.ticks, '{"ticker":[{"price":1},{}]}', "data.ticker.1.price"],
    [quotes.bars, '{"kline":[{"date":"2025-08-15"}]}', "data.kline.0.closePrice"],
  ];
  for (const [operation, data, path] of cases) {
    const error = await assertRejects(() => ask(operation, withData(data)), ProtocolError);
    assertStringIncludes(error.message, `${path}: expected `);
  }
});

Deno.test("account.funds throws on a missing answer, and each missing member is absent", async () => {
  await using client = createClient(memory(() => withData('{"assetBalance":"12.50","enableBalance":null}')));
  assertEquals(await client.account.funds({ market: "hk" }), { totalAssets: "12.50" });
  for (const data of ["null", "{}", '{"assetBalance":null}', '{"strange":1}']) {
    await using broken = createClient(memory(() => withData(data)));
    await assertRejects(
      () => broken.account.funds({ market: "hk" }),
      ProtocolError,
      "expected a record",
    );
  }
});

Deno.test("over the socket a missing number has its default, and a missing text is absent", async () => {
  const messages = await loadMessages();
  const read = (operation: AnyOperation, name: string, plain: Record<string, unknown>) =>
    decodeAnswer({ operation, transport: "direct" }, {
      type: responseNumber(operation),
      id: "1",
      time: 0,
      code: "0000",
      text: "",
      payload: { name, bytes: messages.encode(name, plain) },
    }, { messages });
  assertEquals(read(account.maxBuy, "CommonIntResponse", {}), { quantity: "0" });
  assertEquals(read(orders.today, "TradeQueryRealEntrustListResponse", {}), []);
  const row = { stockCode: "AAPL", entrustBs: "1", entrustId: "8" };
  assertEquals(read(orders.today, "TradeQueryRealEntrustListResponse", { data: [row] }), [
    { symbol: "AAPL", side: "buy", orderId: "8", canCancel: false, canAmend: false },
  ]);
  assertThrows(() => read(account.funds, "TradeQueryMarginFundInfoResponse", {}), ProtocolError);
  assertThrows(() => read(orders.place, "CommonStringResponse", {}), OutcomeUnknownError);
});

Deno.test("every read with one record or one value rejects an empty answer", () => {
  // The loop above does not cover the platform's own operations, because the gateway does not have them.
  for (const operation of operations.values()) {
    if (operation.effect !== "read" || "rows" in operation.response) continue;
    for (const nothing of [null, undefined, {}]) {
      assert(refuses(operation, nothing), `${operation.name} accepts ${JSON.stringify(nothing)}`);
    }
  }
});

function refuses({ response }: AnyOperation, data: unknown): boolean {
  try {
    response.decode(data);
    return false;
  } catch {
    return true;
  }
}
