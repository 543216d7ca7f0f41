/**
 * Tests which answers count as a rejection of a write, over each transport. Only answers with a known code or text do.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type Client, createClient } from "../../lib/client/client.ts";
import { connect } from "../../lib/client/connect.ts";
import { codeMeanings, ResponseCode, textsOfCode } from "../../lib/dictionaries/response_code.ts";
import {
  BrokerError,
  MarketClosedError,
  OutcomeUnknownError,
  ProtocolError,
  RejectedError,
  showValue,
  TransportError,
} from "../../lib/errors.ts";
import { operations } from "../../lib/operations/mod.ts";
import { type AnyOperation, parseRefusal } from "../../lib/operations/operation.ts";
import { provingLists } from "../../lib/operations/proof.ts";
import { memory } from "../../lib/transports/memory.ts";
import { adviceFor } from "../../tasks/terminal/error_report.ts";
import { farEnd, json, ok, type Reaction, refused } from "../support/far_end.ts";
import { directFarEnd } from "./direct_far_end.ts";

const ORDER = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "500",
  side: "buy",
  orderType: "enhanced-limit",
} as const;
const ID = { market: "hk", symbol: "00700.HK", orderId: "7" } as const;
const retry = { attempts: 1 };

/**
 * Calls a server that gives the same answer to every request. Resolves to the error of a write, the error of a read,
 * and the number of requests of the write.
 */
async function endsAt(reaction: Reaction): Promise<[write: BrokerError, read: BrokerError, writes: number]> {
  await using end = farEnd(() => reaction);
  await using client = await connect({ gateway: { url: end.url }, retry });
  const write = await assertRejects(() => client.orders.place(ORDER), BrokerError);
  const writes = end.arrived.length;
  return [write, await assertRejects(() => client.account.funds({ market: "hk" }), BrokerError), writes];
}

Deno.test("a rejection without a known code leaves a write's outcome unknown, and rejects a read", async () => {
  const texts = [
    "request timeout",
    "请求超时",
    "",
    "资金不足",
    "insufficient funds",
    "[1016] invalid parameter",
    "(1012)",
    "error 1016",
    "1016.HK is not known",
    "112ms without an answer",
    "7777 something new",
    "10160 longer",
    "2002 parameter refused",
    "3002 buying power too small",
    "0000",
    "order taken; current time does not allow entrust for its second part",
    "112 orders in the queue, timed out waiting for the exchange",
    "1012 ms elapsed, no answer from the exchange",
    "1016: the order was accepted with a warning",
    "1016 invalid parameters were repaired",
    "1012 invalid parameter",
  ];
  for (const text of texts) {
    const [write, read, writes] = await endsAt(refused(text));
    assert(write instanceof OutcomeUnknownError, `${text}: ${write.name}`);
    assertStringIncludes(write.message, text);
    assertEquals([text, writes], [text, 1]);
    assert(read instanceof RejectedError, `${text}: ${read.name}`);
    assertEquals(read.text, text);
  }
  const odd = [
    '{"ok":false}',
    '{"ok":false,"err":null,"data":null}',
    '{"ok":false,"err":1016,"data":null}',
    '{"ok":false,"err":{"code":"1016"},"data":null}',
  ];
  for (const body of odd) {
    const [write, read] = await endsAt(json(body));
    assert(write instanceof OutcomeUnknownError, `${body}: ${write.name}`);
    assert(read instanceof RejectedError, `${body}: ${read.name}`);
  }
});

Deno.test("an error next to ok: true leaves a write's outcome unknown and fails a read; words of success are not errors", async () => {
  const end = (err: unknown, data: unknown) => json(JSON.stringify({ ok: true, err, data }));
  for (const err of ["1017 request timeout", "partial result", "系统错误", 500, { code: 1 }]) {
    const [write, read, writes] = await endsAt(end(err, { data: "7", assetBalance: "1.00" }));
    const text = typeof err === "object" ? JSON.stringify(err) : String(err);
    assert(write instanceof OutcomeUnknownError, `${text}: ${write.name}`);
    assert(read instanceof ProtocolError, `${text}: ${read.name}`);
    assertEquals([write.code, read.code, writes], ["ok-with-error", "ok-with-error", 1]);
    for (const { message } of [write, read]) assertStringIncludes(message, text);
  }
  // Controls: no error, and words that servers send if there is none.
  for (const err of ["", " ", null, undefined, false, 0, "0", "0000", "OK", "success", "成功", {}]) {
    await using broker = farEnd(() => end(err, { data: "7", assetBalance: "1.00" }));
    await using client = await connect({ gateway: { url: broker.url }, retry });
    assertEquals((await client.orders.place(ORDER)).orderId, "7", String(err));
    assertEquals((await client.account.funds({ market: "hk" })).totalAssets, "1.00", String(err));
  }
});

Deno.test("these codes reject a write", () => {
  const refusing = ResponseCode.entries.filter(({ name }) => codeMeanings[name].write === "refused");
  assertEquals(
    refusing.map(({ code }) => code).sort(),
    "1002 1003 1004 1005 1006 1009 1010 1012 1013 1014 1016 112 20033 40001 40002".split(" "),
  );
});

Deno.test("each listed code rejects a write or leaves its outcome unknown as in the table, over each transport", async () => {
  for (const { code, name } of ResponseCode.entries) {
    if (name === "success") continue;
    const isRefusal = codeMeanings[name].write === "refused";
    const ends: [string, BrokerError][] = [];
    const [text] = textsOfCode(name);
    for (
      const err of [code, `${code} ${text}`, `${code}: ${text!.toUpperCase()}`, `${code} ${text}: detail`]
    ) {
      ends.push([err, (await endsAt(refused(err)))[0]]);
      await using client = createClient(memory(() => ({ ok: false, err, data: null })), { retry });
      ends.push([`memory ${err}`, await assertRejects(() => client.orders.place(ORDER), BrokerError)]);
    }
    // If the socket is not initialized, the call was not delivered, and the connection is replaced.
    if (name !== "not-initialized") {
      for (const type of [undefined, 999]) {
        await using end = await directFarEnd({
          onCall: (call) => call.send(call.answer({ type, code, text: "some text" })),
        });
        await using client = await connect({ direct: end.options, retry });
        ends.push([`direct ${type}`, await assertRejects(() => client.orders.place(ORDER), BrokerError)]);
      }
    }
    for (const [how, error] of ends) {
      assertEquals([name, how, error.code], [name, how, code]);
      assertEquals([name, how, error instanceof RejectedError], [name, how, isRefusal], error.name);
      assertEquals([name, how, error instanceof OutcomeUnknownError], [name, how, !isRefusal], error.name);
    }
  }
});

Deno.test("on the socket, an unlisted code leaves a write's outcome unknown, in a system exception and in a rejection", async () => {
  for (
    const [type, code, text] of [[999, "7777", "new"], [undefined, "7777", "new"], [999, "", ""]] as const
  ) {
    await using end = await directFarEnd({ onCall: (call) => call.send(call.answer({ type, code, text })) });
    await using client = await connect({ direct: end.options, retry });
    await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
    // Control: a read throws the broker's rejection.
    await assertRejects(() => client.account.funds({ market: "hk" }), RejectedError);
  }
});

Deno.test("a listed code with another text than its own does not reject a write, but rejects a read", async () => {
  for (const { code, name } of ResponseCode.entries) {
    if (name === "success") continue;
    for (const err of [`${code} some text`, `${code}: some text`, `${code} ${textsOfCode(name).at(-1)}s`]) {
      const [write, read, writes] = await endsAt(refused(err));
      assert(write instanceof OutcomeUnknownError, `${err}: ${write.name}`);
      assert(read instanceof RejectedError, `${err}: ${read.name}`);
      assertEquals([err, writes], [err, 1]);
    }
  }
  // Control: the documented texts, short and long.
  for (
    const err of [
      "1014 login timeout",
      "1014 login timeout (token expired)",
      "1006：not authorised. 权限不足",
    ]
  ) {
    const [write] = await endsAt(refused(err));
    assert(write instanceof RejectedError, `${err}: ${write.name}`);
  }
});

Deno.test("an HTTP status does not reject a write; a known code in the body of some statuses does", async () => {
  const empty = '{"ok":false,"err":"no such path","data":null}';
  for (
    const status of [
      "400 Bad",
      "403 Forbidden",
      "404 Not Found",
      "408 Timeout",
      "425 Early",
      "429 Many",
      "499 Gone",
    ]
  ) {
    for (const body of ["", empty]) {
      const [write, read, writes] = await endsAt(json(body, status));
      assert(write instanceof OutcomeUnknownError, `${status}: ${write.name}`);
      assert(read instanceof RejectedError, `${status}: ${read.name}`);
      assertEquals([write.code, read.code, writes], [`http-${status.slice(0, 3)}`, write.code, 1]);
    }
    const known = json('{"ok":false,"err":"1016 invalid parameter","data":null}', status);
    const [write] = await endsAt(known);
    // A server that answers with these statuses has stopped waiting, so the order may have been placed.
    const isOpen = /^(408|425|429|499)/.test(status);
    assertEquals([status, write.name], [status, isOpen ? "OutcomeUnknownError" : "RejectedError"]);
  }
  const [write, read] = await endsAt(
    json('{"ok":false,"err":"1016 invalid parameter","data":null}', "503 Away"),
  );
  assert(write instanceof OutcomeUnknownError && read instanceof TransportError);
});

Deno.test("a rejection with an order number contradicts itself, and leaves a write's outcome unknown", async () => {
  for (const data of ['{"data":"12345"}', '"12345"', '{"orders":[{"entrustId":"1"}]}']) {
    const [write] = await endsAt(json(`{"ok":false,"err":"1016 invalid parameter","data":${data}}`));
    assert(write instanceof OutcomeUnknownError, data);
  }
  await using end = await directFarEnd({
    onCall: (call) =>
      call.send(
        call.answer({ code: "1016", text: "wrong", told: ["CommonStringResponse", { data: "12345" }] }),
      ),
  });
  await using client = await connect({ direct: end.options, retry });
  await assertRejects(() => client.orders.place(ORDER), OutcomeUnknownError);
  // Control: an empty value is not a result.
  for (const data of ["{}", '{"data":""}', '{"data":null}', "[]", '{"success":false}']) {
    const [write] = await endsAt(json(`{"ok":false,"err":"1016 invalid parameter","data":${data}}`));
    assert(write instanceof RejectedError, data);
  }
});

Deno.test("the documented text of a closed market rejects a write, with and without a code", async () => {
  const said = "current time does not allow entrust";
  for (const text of [said, `1008 ${said}`, `${said}.`, "Current time does not allow entrust"]) {
    assert((await endsAt(refused(text)))[0] instanceof MarketClosedError, text);
  }
});

Deno.test("every write of the catalogue names the reads that show its outcome; no read or login does", () => {
  const writes: string[] = [];
  for (const operation of operations.values()) {
    if (operation.effect !== "write") {
      assertEquals([operation.name, operation.provenBy], [operation.name, undefined]);
      continue;
    }
    writes.push(operation.name);
    assert(operation.provenBy !== undefined, `${operation.name} does not say which lists prove it`);
    for (const { lists, when } of operation.provenBy) {
      assert(lists.length > 0, operation.name);
      for (const list of lists) assertEquals([list, operations.get(list)?.effect], [list, "read"]);
      if (when !== undefined) assert(Object.hasOwn(operation.request.fields ?? {}, when.param));
    }
    // No list shows a password. Lists show the outcome of every other write.
    assertEquals([operation.name, operation.provenBy.length > 0], [
      operation.name,
      operation.name !== "futures.resetPassword",
    ]);
  }
  assert(writes.length >= 14, writes.join());
});

/** The order types decide in which list an order appears. */
const expected: [string, Record<string, unknown>, string[]][] = [
  ["orders.place", ORDER, ["orders.today", "fills.today"]],
  [
    "orders.place",
    { ...ORDER, orderType: "stop-loss-limit", triggerValue: "480", validDays: 1 },
    ["conditionalOrders.today"],
  ],
  ["orders.amend", { ...ID, quantity: "100", price: "1" }, ["orders.today", "fills.today"]],
  ["orders.cancel", ID, ["orders.today", "fills.today"]],
  ["orders.cancel", { ...ID, orderType: "take-profit-limit" }, ["conditionalOrders.today"]],
  ["orders.cancelMany", { market: "hk", orderIds: ["7"] }, ["orders.today", "fills.today"]],
  ["orders.cancelAll", { market: "hk" }, ["orders.today", "fills.today"]],
  ["algo.cancel", { orderId: "7", market: "hk" }, ["algo.list"]],
  [
    "algo.cancelChild",
    { orderId: "7", childOrderId: "8", market: "hk" },
    ["algo.children", "orders.today", "fills.today"],
  ],
];

Deno.test("a write whose answer is lost names the lists in which it would appear", async () => {
  await using end = farEnd(() => "hang-up");
  await using client = await connect({ gateway: end.url, retry });
  for (const [name, params, lists] of expected) {
    const operation = operations.get(name)!; // each name is in the catalogue
    const error = await assertRejects(() => client.call(operation, params), OutcomeUnknownError);
    assertEquals([name, error.lists], [name, lists]);
    for (const list of lists) assertStringIncludes(error.message, list);
    for (const { name: other } of listsBut(lists)) {
      assert(!error.message.includes(other), `${name}: ${error.message}`);
    }
  }
  // Control: the outcome of an unknown operation may be in any of the lists.
  const raw = await assertRejects(() => client.raw("trade", "TradeSomethingNew"), OutcomeUnknownError);
  for (const list of ["orders.today", "conditionalOrders.today", "algo.list", "futures.ordersToday"]) {
    assertStringIncludes(raw.message, list);
  }
});

/** Returns every list that shows the outcome of any write. Leaves out the given lists and their history lists. */
function listsBut(lists: string[]): AnyOperation[] {
  const later = lists.map((name) => operations.get(name)?.instead);
  const proving = new Set(
    [...operations.values()].flatMap(({ provenBy = [] }) => provenBy.flatMap((proof) => proof.lists)),
  );
  return [...operations.values()].filter(({ name }) =>
    proving.has(name) && !lists.includes(name) && !later.includes(name)
  );
}

Deno.test("after a batch cancellation, an order that the answer does not mention has an unknown outcome", async () => {
  const cancel = async (data: unknown) => {
    await using end = farEnd(() => ok(data));
    await using client = await connect({ gateway: end.url, retry });
    return await client.orders.cancelMany({ market: "hk", orderIds: ["1", "2", "3"] });
  };
  for (const data of [null, {}]) {
    const nothing = await assertRejects(() => cancel(data), OutcomeUnknownError, "the answer is unreadable");
    assertEquals(nothing.lists, ["orders.today", "fills.today"]);
  }
  for (const data of [{ successEntrustId: [], failCancelEntrust: [] }, { successEntrustId: ["9"] }]) {
    const error = await assertRejects(() => cancel(data), OutcomeUnknownError, "the outcome of 1, 2, 3");
    assertEquals([error.code, error.lists], ["not-mentioned", ["orders.today", "fills.today"]]);
  }
  const failed = [{ failEntrustId: "2", remark: "filled" }];
  await assertRejects(
    () => cancel({ successEntrustId: ["1"], failCancelEntrust: failed }),
    OutcomeUnknownError,
    "the outcome of 3;",
  );
  // An id that is in both lists is as unknown as an id in neither.
  const both = {
    successEntrustId: ["1", "2"],
    failCancelEntrust: [{ failEntrustId: "2", remark: "filled" }, { failEntrustId: "3" }],
  };
  await assertRejects(() => cancel(both), OutcomeUnknownError, "the outcome of 2;");
  await using end = farEnd(() => ok(both));
  await using client = await connect({ gateway: end.url, retry });
  await assertRejects(
    () => client.orders.cancelAll({ market: "hk" }),
    OutcomeUnknownError,
    "the outcome of 2;",
  );
  // Control: each id is mentioned, as cancelled or as failed.
  const answer = await cancel({ successEntrustId: ["1", "3"], failCancelEntrust: failed });
  assertEquals(answer, { cancelled: ["1", "3"], failed: [{ orderId: "2", remark: "filled" }] });
});

/** Returns JSON of lists or objects nested in each other. */
const nested = (levels: number, [open, close] = ["[", "]"]) => open.repeat(levels) + close.repeat(levels);

Deno.test("an unreadable answer leaves a write's outcome unknown, whatever error occurs, and fails a read", async () => {
  const deep = nested(20_000);
  const objects = nested(20_000, ['{"data":', "}"]).replace("}", "1}");
  const bodies = [
    `{"ok":true,"err":"","data":${deep}}`,
    `{"ok":true,"err":"","data":{"data":${deep}}}`,
    `{"ok":true,"err":"","data":${objects}}`,
  ];
  const refusals = [deep, objects].map((data) => `{"ok":false,"err":"1016","data":${data}}`);
  const kept = `{"ok":true,"err":"","data":{"data":"77","enableBalance":"5","more":${deep}}}`;
  for (
    const [body, isReadable] of [
      ...bodies.map((b) => [b, false] as const),
      ...refusals.map((b) => [b, true] as const),
    ]
  ) {
    await using end = farEnd(() => json(body));
    await using client = await connect({ gateway: { url: end.url }, retry });
    for (const keepWire of [undefined, "members", "digits"] as const) {
      const options = keepWire === undefined ? {} : { keepWire };
      const write = await assertRejects(() => client.orders.place(ORDER, options), BrokerError);
      // Nested lists without a value are not a result, however deep they are. So the broker's code decides.
      assertEquals(write.name, isReadable && !body.includes(":1}") ? "RejectedError" : "OutcomeUnknownError");
      const read = await assertRejects(() => client.account.funds({ market: "hk" }, options), BrokerError);
      assertEquals(read.name, isReadable ? "RejectedError" : "ProtocolError");
    }
    const raw = await assertRejects(() => client.raw("trade", "TradeEntrust"), BrokerError);
    assertEquals(raw.name, isReadable && !body.includes(":1}") ? "RejectedError" : "OutcomeUnknownError");
  }
  await using end = farEnd(() => json(kept));
  await using client = await connect({ gateway: { url: end.url }, retry });
  for (const keepWire of ["members", "digits"] as const) {
    await assertRejects(() => client.orders.place(ORDER, { keepWire }), OutcomeUnknownError, "levels");
    await assertRejects(() => client.account.funds({ market: "hk" }, { keepWire }), ProtocolError, "levels");
  }
  // Control: members are not kept unless requested, so deep nesting does no harm.
  assertEquals(await client.orders.place(ORDER), { orderId: "77" });
});

Deno.test("an answer that is nested too deeply to decode is rejected before it is decoded", async () => {
  // Decoding these answers would take many seconds, in which nothing else runs. Brackets inside strings do not nest.
  const bodies = [
    `{"ok":true,"err":"","data":{"data":"7","assetBalance":${nested(3_000_000)}}}`,
    `{"ok":true,"err":"","data":{"holdsList":${nested(3_000_000, ['{"data":', "}"]).replace("}", "1}")}}}`,
    `{"ok":false,"err":"1016","data":${nested(3_000_000)}}`,
  ];
  for (const body of bodies) {
    await using end = farEnd((_, index) => json(body, index === 2 ? "400 Bad Request" : undefined));
    await using client = await connect({ gateway: { url: end.url, maxAnswerBytes: 40_000_000 }, retry });
    const read = await assertRejects(() => client.account.funds({ market: "hk" }), ProtocolError, "levels");
    assertEquals(read.code, "too-deep");
    const raw = await assertRejects(() => client.raw("trade", "TradeEntrust"), OutcomeUnknownError, "levels");
    assertEquals(raw.code, "too-deep");
    const status = await assertRejects(() => client.account.funds({ market: "hk" }), RejectedError);
    assertEquals(status.code, "http-400");
  }
  const text = `{"ok":true,"err":"","data":{"data":"77","more":${JSON.stringify('[{\\"'.repeat(60_000))}}}`;
  await using end = farEnd(() => json(text));
  await using client = await connect({ gateway: end.url, retry });
  assertEquals(await client.orders.place(ORDER), { orderId: "77" });
});

Deno.test("an answer with more than 2,000,000 values is rejected before it is decoded", async () => {
  // Each empty list has three bytes here and more than a hundred in memory.
  const many = (count: number, value = "[]") => `[${`${value},`.repeat(count - 1)}${value}]`;
  const bodies = [
    `{"ok":true,"err":"","data":{"data":"7","assetBalance":${many(2_000_001, "1")}}}`,
    `{"ok":true,"err":"","data":{"holdsList":${many(1_000_000)}}}`,
    `{"ok":false,"err":"1016","data":${many(1_000_000, "{}")}}`,
  ];
  for (const body of bodies) {
    await using end = farEnd((_, index) => json(body, index === 2 ? "400 Bad Request" : undefined));
    await using client = await connect({ gateway: { url: end.url }, retry });
    const read = await assertRejects(
      () => client.account.funds({ market: "hk" }),
      ProtocolError,
      "2000000 values",
    );
    assertEquals(read.code, "too-many-values");
    const raw = await assertRejects(() => client.raw("trade", "TradeEntrust"), OutcomeUnknownError, "values");
    assertEquals(raw.code, "too-many-values");
    const status = await assertRejects(() => client.account.funds({ market: "hk" }), RejectedError);
    assertEquals(status.code, "http-400");
  }
  // Controls: one value less is read, and commas in texts are not values.
  const commas = JSON.stringify(",[{".repeat(1_000_000));
  assertEquals(parseRefusal(`[${commas},${many(1_999_997, "1")}]`), undefined);
  assertEquals(parseRefusal(`[${commas},${many(2_000_000, "1")}]`)?.code, "too-many-values");
});

Deno.test("showValue() reads only as much of a value as it shows", () => {
  let reads = 0;
  const rows = Array.from({ length: 1_000 }, () => ({
    get name() {
      reads++;
      return "x".repeat(10);
    },
  }));
  assertEquals(
    showValue(rows),
    '[{"name":"xxxxxxxxxx"},{"name":"xxxxxxxxxx"},{"name":"xxxxxxxxxx"},{"name":"x…',
  );
  assert(reads < 20, `${reads}`);
  assertEquals(showValue(JSON.parse(nested(50_000))).length, 78);
  const values = [
    null,
    true,
    1.5,
    'a"b',
    [],
    {},
    [1, undefined, "x"],
    { a: undefined, b: [{ c: null }] },
    new Date(0),
    [NaN],
  ];
  for (const value of values) assertEquals(showValue(value), JSON.stringify(value));
  assertEquals([showValue(undefined), showValue(5n), showValue([5n])], ["nothing", "5", "[5]"]);
});

Deno.test("an answer without the order, or with another one, leaves a write's outcome unknown", async () => {
  const write = async (act: (client: Client) => Promise<unknown>, data: unknown) => {
    await using end = farEnd(() => ok({ data }));
    await using client = await connect({ gateway: end.url, retry });
    return await act(client);
  };
  const place = (client: Client) => client.orders.place(ORDER);
  for (const id of [0, "0", "000", "-1", -1, "1,2", "1;2", "success", "true", '"7"', "7 8", ""]) {
    await assertRejects(() => write(place, id), OutcomeUnknownError);
  }
  const cancels: ((client: Client) => Promise<unknown>)[] = [
    (client) => client.orders.cancel(ID),
    (client) => client.futures.cancel({ orderId: "7", symbol: "HSI2508.HK" }),
    (client) => client.algo.cancel({ orderId: "7", market: "hk" }),
  ];
  for (const cancel of cancels) {
    await assertRejects(() => write(cancel, "999"), OutcomeUnknownError, "the outcome of 7");
    // Control: the answer names the requested order.
    assertEquals(await write(cancel, "7"), { orderId: "7" });
    assertEquals(await write(cancel, 7), { orderId: "7" });
  }
  // Control: typical order numbers; an amended order may have a new number.
  for (const id of ["8842", "A-17", "20250818/000012", "SIM.7"]) {
    assertEquals(await write(place, id), { orderId: id });
  }
  const amend = (client: Client) => client.orders.amend({ ...ID, quantity: "100", price: "1" });
  assertEquals(await write(amend, "8"), { orderId: "8" });
});

Deno.test("the advice after a lost write names commands that work: --all only for lists with pages, a market only for lists with a market", () => {
  const adviceOn = (name: string, params: unknown) => {
    const operation = operations.get(name)!; // each is in the catalogue
    const lists = provingLists(operation, params);
    return adviceFor(new OutcomeUnknownError("lost", { lists }))!;
  };
  const placed = adviceOn("orders.place", ORDER);
  assertStringIncludes(placed, '"hsgate call orders.today --all"');
  assertStringIncludes(placed, "with the market of the order");
  for (const name of ["futures.place", "algo.place"]) {
    const advice = adviceOn(name, {});
    assert(!advice.includes("market of the order"), advice);
    for (const [, list = "", all] of advice.matchAll(/hsgate call (\S+?)( --all)?"/g)) {
      assertEquals([list, all !== undefined], [list, operations.get(list)?.paging !== undefined]);
    }
  }
});
