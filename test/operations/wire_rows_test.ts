import { assertEquals } from "@std/assert";
import { createClient } from "../../lib/client/client.ts";
import { fillFields } from "../../lib/operations/fills.ts";
import { futures } from "../../lib/operations/futures.ts";
import { account } from "../../lib/operations/account.ts";
import type { AnyOperation } from "../../lib/operations/operation.ts";
import { orders } from "../../lib/operations/orders.ts";
import { quotes } from "../../lib/operations/quotes.ts";
import { decodeAnswer, responseNumber } from "../../lib/transports/direct/payloads.ts";
import { loadMessages } from "../../lib/wire/messages.ts";
import { eachUnknown, unknownMembers, wireAnswerOf, wireOf } from "../../lib/operations/wire_rows.ts";
import { memory } from "../../lib/transports/memory.ts";

const row =
  '{"stockCode":"AAPL","entrustBs":"1","entrustId":"8","entrustPrice":12345678901234567890.50,"matchNo":7}';
const params = { market: "us", from: "2025-08-15", to: "2025-08-15", limit: 3, cursor: "0" } as const;

/** Returns a client whose answers all have this data. */
const answering = (data: string) => createClient(memory(() => `{"ok":true,"err":"","data":${data}}`));

Deno.test("wireOf() returns the broker's row only for a call that requested it", async () => {
  for (const data of [`{"data":[${row}]}`, `[${row}]`, `{"data":{"data":[${row}]}}`, row]) {
    await using client = answering(data);
    const [kept] = await client.call(orders.history, params, { keepWire: "members" });
    assertEquals([wireOf(kept!)?.matchNo, wireOf(kept!)?.stockCode], [7, "AAPL"], data);
    const [plain] = await client.call(orders.history, params);
    assertEquals(wireOf(plain!), undefined);
  }
});

Deno.test("wireOf() returns rows of lists that have page counters", async () => {
  await using client = answering(`{"data":[${row}],"curPageNo":1,"lastPage":1}`);
  const range = { from: params.from, to: params.to, page: 1, limit: 3 };
  const { rows } = await client.call(futures.fillsHistory, range, { keepWire: "members" });
  assertEquals(rows.map((each) => wireOf(each)?.matchNo), [7]);
});

Deno.test("wireOf() keeps every digit of a number on request, and does not change our row", async () => {
  await using client = answering(`[${row}]`);
  const [digits] = await client.call(orders.history, params, { keepWire: "digits" });
  assertEquals(JSON.stringify(wireOf(digits!)), row);
  const [plain] = await client.call(orders.history, params);
  assertEquals(JSON.stringify(digits), JSON.stringify(plain));
});

Deno.test("eachUnknown() reports unknown members that are not empty, with their path", () => {
  const found: [string, unknown][] = [];
  const wire = {
    stockCode: "AAPL",
    fareVo: { fare0: "1.00", fare10: "2.00", fare11: "" },
    matchNo: 7,
    tags: ["a"],
    linked: null,
    marks: [],
    more: {},
  };
  eachUnknown(fillFields, wire, (path, value) => found.push([path, value]));
  assertEquals(found, [["fareVo.fare10", "2.00"], ["matchNo", 7], ["tags", ["a"]]]);
});

Deno.test("wireAnswerOf() returns the whole answer, and unknownMembers() counts unknown members", async () => {
  const cases: [AnyOperation, string, [string, number][]][] = [
    [orders.history, `{"data":[${row},${row}],"next":5}`, [["matchNo", 2]]],
    [account.funds, '{"assetBalance":"1.00","bonus":"2.00","empty":""}', [["bonus", 1]]],
    [account.buyingPower, '{"data":{"longOpenAvailable":"3","leverage":"2"}}', [["leverage", 1]]],
    [quotes.ticks, '{"ticker":[{"price":1.50,"seq":7},{"price":2,"seq":8}],"delay":1}', [
      ["ticker.seq", 2],
      ["delay", 1],
    ]],
    // Control: an answer without unknown members.
    [account.maxSell, '{"data":7}', []],
  ];
  for (const [operation, data, expected] of cases) {
    await using transport = memory(() => `{"ok":true,"err":"","data":${data}}`);
    const request = account.logout.request;
    const answer = await transport.call({ ...operation, request }, {}, { keepWire: "digits" });
    assertEquals(JSON.stringify(wireAnswerOf(answer)), data);
    assertEquals([...unknownMembers(operation, wireAnswerOf(answer))], expected);
    const plain = await transport.call({ ...operation, request }, {}, {});
    assertEquals(wireAnswerOf(plain), undefined);
  }
});

Deno.test("over the socket, fields without a definition are kept under their numbers", async () => {
  const messages = await loadMessages();
  const known = messages.encode("OrderVo", { stockCode: "AAPL", entrustBs: "1", entrustId: "8" });
  // Field 90 is a text, 91 the whole number 300, 92 a double; 92 is repeated.
  const double = new Uint8Array([0xe1, 0x05, ...new Uint8Array(new Float64Array([1.5]).buffer)]);
  const unknown = new Uint8Array([0xd2, 0x05, 2, 0x68, 0x69, 0xd8, 0x05, 0xac, 0x02, ...double, ...double]);
  const order = new Uint8Array([...known, ...unknown]);
  const name = "TradeQueryRealEntrustListResponse";
  const bytes = new Uint8Array([0x0a, order.length, ...order]);
  const response = {
    type: responseNumber(orders.today),
    id: "1",
    time: 0,
    code: "0000",
    text: "",
    payload: { name, bytes },
  };
  const context = { operation: orders.today, transport: "direct" };
  const answer = decodeAnswer(context, response, { messages, keepWire: "members" });
  const text = new Uint8Array(new Float64Array([1.5]).buffer).toBase64();
  assertEquals(wireAnswerOf(answer), {
    data: [{
      stockCode: "AAPL",
      entrustBs: "1",
      entrustId: "8",
      "#90": "hi",
      "#91": "300",
      "#92": [text, text],
    }],
  });
  assertEquals([...unknownMembers(orders.today, wireAnswerOf(answer))], [["#90", 1], ["#91", 1], ["#92", 1]]);
  // A call that does not request the broker's own answer skips this work.
  assertEquals(wireAnswerOf(decodeAnswer(context, response, { messages })), undefined);
});
