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
import type { FieldInfo, FieldsInfo, ValueType } from "../../lib/operations/types.ts";
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

/** Reads whose answers have no members by name: lists of single values, and the rates by currency. */
const withoutMembers = [
  "account.exchangeRates",
  "algo.children",
  "quotes.optionExpiries",
  "quotes.optionCodes",
  "quotes.overnightSymbols",
];

/** How to make a record with few members. */
interface Sparse {
  /** Value of all other members. */
  nothing: null | "" | undefined;
  /** Whether it also contains the records and lists of records that an answer may lack. */
  inner: boolean;
}

/** A value as the broker sends it, and as hsgate must return it. */
interface Pair<T> {
  wire: T;
  ours: T;
}

/** Returns a record with the members that an answer must have; if there are none, with its first member. */
function sparseRecord(fields: FieldsInfo, sparse: Sparse): Pair<Record<string, unknown>> {
  const all = Object.entries(fields);
  const needed = all.filter(([, { key, type }]) => key || (sparse.inner && type.fields !== undefined));
  const given = new Map(needed.length === 0 ? all.slice(0, 1) : needed);
  const pair: Pair<Record<string, unknown>> = { wire: {}, ours: {} };
  for (const [name, { wire, type }] of all) {
    const value = given.has(name) ? sparseValue(type, sparse) : undefined;
    pair.wire[wire] = value === undefined ? sparse.nothing : value.wire;
    if (value !== undefined) pair.ours[name] = value.ours;
  }
  return pair;
}

function sparseValue(type: ValueType<unknown>, sparse: Sparse): Pair<unknown> {
  if (type.item !== undefined) {
    const { wire, ours } = sparseValue(type.item, sparse);
    return { wire: [wire], ours: [ours] };
  }
  if (type.fields !== undefined) return sparseRecord(type.fields, sparse);
  for (const wire of ["7", 7, true, "09:30:00"]) {
    try {
      return { wire, ours: type.decode(wire) };
    } catch { /* the type needs another sample */ }
  }
  throw new Error(`no sample for ${type.name}`);
}

/** Returns what a call resolves to: the record, or only the list or the record in it. */
const resultOf = ({ response }: AnyOperation, { rows, record, ...others }: Record<string, unknown>) =>
  "rows" in response ? rows : record ?? { ...others, ...rows !== undefined && { rows } };

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

  if (withoutMembers.includes(name)) continue;
  const { fields = {} } = response;
  Deno.test(`${name} returns no value for a member that is null, empty or missing`, async () => {
    for (const inner of [false, true]) {
      for (const nothing of [null, "", undefined] as const) {
        const { wire, ours } = sparseRecord(fields, { nothing, inner });
        const answer = await ask(operation, withData(JSON.stringify(wire)));
        assertEquals(answer, resultOf(operation, ours), JSON.stringify(wire));
      }
    }
  });

  const lists = Object.entries(fields).filter(([, { key, type }]) => key && type.isList);
  if (lists.length === 0) continue;
  Deno.test(`${name} returns an empty list for a missing list`, async () => {
    const others = Object.entries(fields).filter(([each]) => lists.every(([list]) => list !== each));
    const { wire, ours } = sparseRecord(Object.fromEntries(others), { nothing: undefined, inner: false });
    const empty = Object.fromEntries(lists.map(([list]) => [list, []]));
    assertEquals(await ask(operation, withData(JSON.stringify(wire))), { ...ours, ...empty });
  });
}

Deno.test("only the answers of five reads have no members by name, so no member can be missing in them", () => {
  const hasMembers = ({ response: { fields = {} } }: AnyOperation) =>
    Object.values(fields).some(({ type }) => !type.isList || type.fields !== undefined);
  assertEquals(reads.filter((each) => !hasMembers(each)).map(({ name }) => name), withoutMembers);
});

Deno.test("account.exchangeRates throws on a rate that is null or empty, and leaves out a missing one", async () => {
  const { exchangeRates } = account;
  for (const nothing of ["null", '""']) {
    const data = `{"USD":{"HKD":${nothing},"CNY":"7"}}`;
    const error = await assertRejects(() => ask(exchangeRates, withData(data)), ProtocolError);
    assertStringIncludes(error.message, "Cannot read the answer of account.exchangeRates: data: expected ");
  }
  assertEquals(await ask(exchangeRates, withData('{"USD":{"CNY":"7"}}')), { USD: { CNY: "7" } });
});

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
