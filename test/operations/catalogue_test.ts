import { assertEquals } from "@std/assert";
import protobuf from "protobufjs";
import { RequestType, ResponseType } from "../../lib/dictionaries/message_type.ts";
import { findOperation, gatewayOperations, operations } from "../../lib/operations/mod.ts";
import { type AnyOperation, gatewayPath } from "../../lib/operations/operation.ts";
import { pushes } from "../../lib/operations/pushes.ts";
import type { FieldInfo, FieldsInfo, ValueType } from "../../lib/operations/types.ts";
import accountProto from "../../proto/account.proto" with { type: "text" };
import commonProto from "../../proto/common.proto" with { type: "text" };
import futuresProto from "../../proto/futures.proto" with { type: "text" };
import ordersProto from "../../proto/orders.proto" with { type: "text" };
import quotesProto from "../../proto/quotes.proto" with { type: "text" };
import sessionProto from "../../proto/session.proto" with { type: "text" };
// Facts from the broker's documents. A parameter is written "name: type"; "?" marks an optional one, "= x" a default.
import facts from "./gateway_operations.json" with { type: "json" };

const pure = { permissions: "none" } as const;

const socketOf = (operation: AnyOperation) => "gap" in operation.socket ? undefined : operation.socket;

/** Returns one of our parameters in the notation of the facts. */
function notation({ wire, type, optional, fallback }: FieldInfo): string {
  const given = fallback === undefined ? undefined : type.encode(fallback);
  const mark = optional && fallback === undefined ? "?" : "";
  return `${wire}${mark}: ${wireType(type)}${given === undefined ? "" : ` = ${JSON.stringify(given)}`}`;
}

/** Returns the wire type of a parameter, by encoding a sample. */
function wireType(type: ValueType<unknown>): string {
  if (type.fields !== undefined) {
    const inner = type.proto.includes("Security") ? "Security" : "object";
    return type.name.startsWith("list of") ? `${inner}[]` : inner;
  }
  const isList = type.name.startsWith("list of ");
  const sample = type.dictionary?.names[0] ?? samples[type.name.replace("list of ", "")] ?? 1;
  const sent = type.encode(isList ? [sample] : sample);
  const one = Array.isArray(sent) ? sent[0] : sent;
  const name = typeof one === "string" ? "string" : Number.isSafeInteger(one) ? "int" : `not known: ${one}`;
  return isList ? `${name}[]` : name;
}

const samples: Record<string, string> = {
  text: "x",
  secret: "x",
  "listing code": "AAPL",
  "order id": "1",
  decimal: "1",
  "decimal above zero": "1",
  "decimal of zero or more": "1",
  date: "2025-08-15",
  "date and time": "2025-08-15 09:30:00",
  "time of day": "09:30:00",
};

// Parameters for which the catalogue differs from the documents, with the reason.
const decisions: Record<string, [documented: string, ours: string]> = {
  // The default is swap rates; the catalogue sends it explicitly.
  "account.exchangeRates rateType": ['rateType?: string = "0"', 'rateType: string = "0"'],
  // Servers answer with code 2001 if the market is missing.
  "account.holdings exchangeType": ["exchangeType?: string", "exchangeType: string"],
  // There is only one client type; the catalogue always sends it.
  "account.maxBuy clientType": ["clientType?: int", "clientType: int = 0"],
  "account.maxSell clientType": ["clientType?: int", "clientType: int = 0"],
  "orders.place clientType": ["clientType?: int", "clientType: int = 0"],
  // Servers require the two paging parameters unless order numbers are given. The catalogue always sends them.
  "orders.today queryCount": ["queryCount?: int = 20", "queryCount: int = 20"],
  "orders.today queryParamStr": ['queryParamStr?: string = "0"', 'queryParamStr: string = "0"'],
  // The new price is optional for a conditional order; servers reject other orders without one.
  "orders.amend entrustPrice": ["entrustPrice: string", "entrustPrice?: string"],
  "algo.place sessionType": ["sessionType: string", 'sessionType: string = "0"'],
  "algo.list pageNo": ["pageNo: string", 'pageNo: string = "1"'],
  "algo.list pageSize": ["pageSize: string", 'pageSize: string = "20"'],
  "conditionalOrders.today pageSize": ["pageSize: int", "pageSize: int = 20"],
  "futures.place orderOptions": ['orderOptions?: string = "0"', 'orderOptions: string = "0"'],
  "futures.amend orderOptions": ['orderOptions?: string = "0"', 'orderOptions: string = "0"'],
  "quotes.ticks limit": ["limit: int", "limit: int = 100"],
  "quotes.bars direction": ["direction: int", "direction: int = 1"],
  "quotes.bars exRightFlag": ["exRightFlag: int", "exRightFlag: int = 0"],
};

Deno.test("gatewayOperations are the 53 of the documents, 37 of them in the API document", pure, () => {
  assertEquals(facts.length, 53);
  assertEquals(facts.filter(({ inDocument }) => inDocument).length, 37);
  assertEquals(gatewayOperations.length, 53);
  assertEquals(gatewayOperations.filter(({ extra }) => !extra).length, 37);
  assertEquals(
    gatewayOperations.map((operation) => gatewayPath(operation)).toSorted(),
    facts.map(({ path }) => path).toSorted(),
  );
});

Deno.test(
  "exactly these reads have days as parameters, and exactly these reads of the present name an operation for past days",
  pure,
  () => {
    const reads = [...operations.values()].filter(({ effect }) => effect === "read");
    // Their requests contain a day or a time (API document 4.4 to 4.6; for algorithmic orders, the community Go SDK).
    assertEquals(reads.filter(({ answers }) => answers !== "now").map(({ name }) => name).toSorted(), [
      "algo.children",
      "algo.list",
      "conditionalOrders.history",
      "fills.history",
      "fundJournal.history",
      "futures.fillsHistory",
      "futures.ordersHistory",
      "orders.history",
      "quotes.bars",
    ]);
    const named = reads.flatMap(({ name, instead }) => instead === undefined ? [] : [[name, instead]]);
    assertEquals(named, [
      ["orders.today", "orders.history"],
      ["fills.today", "fills.history"],
      ["fundJournal.today", "fundJournal.history"],
      ["conditionalOrders.today", "conditionalOrders.history"],
      ["futures.ordersToday", "futures.ordersHistory"],
      ["futures.fillsToday", "futures.fillsHistory"],
      ["quotes.latest", "quotes.bars"],
      ["quotes.ticks", "quotes.bars"],
      ["quotes.timeShare", "quotes.bars"],
    ]);
    for (const [name, instead = ""] of named) {
      const other = operations.get(instead);
      assertEquals([other?.effect, other?.answers], ["read", undefined], name);
    }
    // Writes and session calls have no answer about a day.
    const others = [...operations.values()].filter(({ effect }) => effect !== "read");
    assertEquals(others.filter(({ answers, instead }) => answers !== undefined || instead !== undefined), []);
  },
);

for (const fact of facts) {
  Deno.test(`${fact.name} is ${fact.path} as documented`, pure, () => {
    const operation = operations.get(fact.name)!;
    assertEquals(gatewayPath(operation), fact.path);
    assertEquals(!operation.extra, fact.inDocument);
    assertEquals(operation.effect, fact.effect);
    assertEquals(operation.variantOf, undefined);
    const documented = fact.params.map((param) => {
      const decision = decisions[`${fact.name} ${param.split(/[?:]/)[0]}`];
      if (decision !== undefined) assertEquals(param, decision[0]);
      return decision?.[1] ?? param;
    });
    assertEquals(
      Object.values(operation.request.fields!).map(notation).toSorted(),
      documented.toSorted(),
    );
    const paging = operation.paging && `${operation.paging.style}, ${operation.paging.last}`;
    assertEquals(paging ?? null, fact.paging);
    const members = Object.values(operation.response.fields ?? {}).map(({ wire }) => wire);
    for (const member of fact.dataMembers) assertEquals(members.includes(member), true, member);
  });

  Deno.test(`${fact.name} has the documented numbers and messages on the socket`, pure, () => {
    const operation = operations.get(fact.name)!;
    const socket = socketOf(operation);
    if (socket === undefined) {
      assertEquals([fact.request, fact.response], [null, null]);
      return;
    }
    const requestType = socket.requestType ?? operation.wire;
    assertEquals(RequestType.encode(requestType), fact.request!);
    assertEquals(ResponseType.encode(socket.responseType ?? requestType), fact.response!);
    assertEquals(socket.request, fact.requestMessage);
    // The documents do not name the message of this answer; it is a Common* message with a text.
    const response = fact.name === "account.extendedHours" ? "CommonStringResponse" : fact.responseMessage;
    assertEquals(socket.response, response);
  });
}

Deno.test("decisions name parameters that exist", pure, () => {
  for (const name of Object.keys(decisions)) {
    const [operation = "", wire = ""] = name.split(" ");
    const fields = Object.values(operations.get(operation)!.request.fields!);
    assertEquals(fields.some((field) => field.wire === wire), true, name);
  }
});

Deno.test("only platform and socket operations have no gateway path", pure, () => {
  const others = [...operations.values()].filter(({ group }) => group === null);
  const rows = others.map((operation) => {
    const socket = socketOf(operation);
    const type = socket && (socket.requestType ?? operation.wire);
    return [
      operation.name,
      operation.platformPath ?? null,
      operation.effect,
      type === undefined ? null : RequestType.encode(type),
      type === undefined ? null : ResponseType.encode(socket!.responseType ?? type),
    ];
  });
  assertEquals(rows, [
    ["account.keepLogin", null, "session", 1000, 1000],
    ["account.shortSale", null, "read", 45, 46],
    ["futures.resetPassword", null, "write", 41, 1],
    ["platform.login", "/hs/v2/login", "session", null, null],
    ["platform.servers", "/hs/config/queryServer", "read", null, null],
    ["platform.claimLevel2", "/hs/hqPermission/lv2/switch", "session", null, null],
    ["platform.openConnection", null, "session", 0, 0],
  ]);
});

Deno.test("operations that write are exactly these", pure, () => {
  const writes = [...operations.values()].filter(({ effect }) => effect === "write").map(({ name }) => name);
  assertEquals(writes.toSorted(), [
    "algo.act",
    "algo.amend",
    "algo.cancel",
    "algo.cancelChild",
    "algo.place",
    "futures.amend",
    "futures.cancel",
    "futures.place",
    "futures.resetPassword",
    "orders.amend",
    "orders.cancel",
    "orders.cancelAll",
    "orders.cancelMany",
    "orders.place",
  ]);
});

Deno.test(
  "findOperation() finds an operation by hsgate's name and by the broker's name, but a variant only by hsgate's name",
  pure,
  () => {
    assertEquals(findOperation("orders.place")?.wire, "TradeEntrust");
    assertEquals(findOperation("TradeEntrust")?.name, "orders.place");
    assertEquals(findOperation("TradeBatchCancelEntrust")?.name, "orders.cancelMany");
    assertEquals(findOperation("tradeentrust"), undefined);
  },
);

// The messages of proto/, parsed with a different library than the transports use.
const root = new protobuf.Root();
for (const text of [accountProto, commonProto, futuresProto, ordersProto, quotesProto, sessionProto]) {
  protobuf.parse(text, root, { keepCase: true });
}
root.resolveAll();

/** Compares fields with a message, and returns one line for each mistake. */
function compareFields(where: string, fields: FieldsInfo, message: string, wrong: string[]): void {
  const type = root.lookup(message, [protobuf.Type]) as protobuf.Type | null; // the filter allows only types
  if (type === null) return void wrong.push(`${where}: no message "${message}"`);
  for (const [name, info] of Object.entries(fields)) {
    const found = type.fields[info.wire];
    const place = `${where}.${name} (${message}.${info.wire})`;
    if (found === undefined) {
      if (info.gap === undefined) wrong.push(`${place}: no such field`);
      continue;
    }
    if (info.gap !== undefined) wrong.push(`${place}: exists, and is called a gap`);
    const isList = info.type.name.startsWith("list of ");
    if (found.repeated !== isList) wrong.push(`${place}: repeated ${found.repeated}, list ${isList}`);
    if (!info.type.proto.includes(found.type)) {
      wrong.push(`${place}: ${found.type} where ${info.type.proto.join(" or ")} is expected`);
    }
    if (info.type.fields !== undefined) compareFields(place, info.type.fields, found.type, wrong);
  }
}

/** Returns the fields of an answer's message, or none if the type has no fields. */
const answerFields = (type: ValueType<unknown>): FieldsInfo => type.fields ?? {};

Deno.test("each catalogue field exists in its message with a matching type", pure, () => {
  const wrong: string[] = [];
  for (const operation of operations.values()) {
    const socket = socketOf(operation);
    if (socket === undefined) continue;
    const { request, response, name } = operation;
    if (socket.request !== null) {
      compareFields(`${name} request`, request.fields ?? {}, socket.request, wrong);
    } else if (Object.keys(request.fields ?? {}).length > 0) wrong.push(`${name}: parameters, no message`);
    if (socket.response !== null) {
      compareFields(`${name} answer`, answerFields(response), socket.response, wrong);
      if (!response.proto.includes(socket.response)) wrong.push(`${name}: answer is not ${socket.response}`);
    }
  }
  for (const push of Object.values(pushes)) {
    compareFields(`push ${push.type}`, push.payload.fields!, push.message, wrong);
  }
  assertEquals(wrong, []);
});

Deno.test(
  "compareFields() reports an absent field, a wrong type, a false gap and a missing message",
  pure,
  () => {
    const wrong: string[] = [];
    const text = { proto: ["string"], name: "text" } as unknown as ValueType<unknown>; // the other members are not used
    const fields = {
      absent: { wire: "nowhere", type: text, optional: false },
      number: { wire: "clientType", type: text, optional: false },
      gap: { wire: "exchange", type: text, optional: false, gap: "not published" },
    };
    compareFields("x", fields, "TradeEntrustRequest", wrong);
    compareFields("y", {}, "NoSuchMessage", wrong);
    assertEquals(wrong, [
      "x.absent (TradeEntrustRequest.nowhere): no such field",
      "x.number (TradeEntrustRequest.clientType): int32 where string is expected",
      "x.gap (TradeEntrustRequest.exchange): exists, and is called a gap",
      'y: no message "NoSuchMessage"',
    ]);
  },
);

Deno.test("messages have no fields that the catalogue omits, except these", pure, () => {
  const left = new Set<string>();
  const visit = (fields: FieldsInfo, message: string) => {
    const type = root.lookupType(message);
    const wires = new Set(Object.values(fields).map(({ wire }) => wire));
    for (const field of type.fieldsArray) if (!wires.has(field.name)) left.add(`${message}.${field.name}`);
    for (const { type: inner, wire } of Object.values(fields)) {
      const found = type.fields[wire];
      if (inner.fields !== undefined && found !== undefined) visit(inner.fields, found.type);
    }
  };
  for (const { socket, request, response } of operations.values()) {
    if ("gap" in socket) continue;
    if (socket.request !== null) visit(request.fields ?? {}, socket.request);
    if (socket.response !== null) visit(answerFields(response), socket.response);
  }
  for (const push of Object.values(pushes)) visit(push.payload.fields!, push.message);
  assertEquals([...left].toSorted(), [
    "OrderVo.fareVo", // fees belong to fills; lists of orders omit them
    "TradeLoginRequest.authParam", // the vendor's own client leaves both empty
    "TradeLoginRequest.authType",
    "TradeStockDeliverNotify.fundAccount", // the account number is personal data
  ]);
});

Deno.test(
  "messages have the documented field numbers, even if they differ from the order in the documents",
  pure,
  () => {
    const rows: [string, string, number][] = [
      ["HoldsVo", "costPrice", 7],
      ["FareVo", "fare7", 8],
      ["FareVo", "farex", 9],
      ["FareVo", "faret", 10],
      ["OrderVo", "fareVo", 23],
      ["OrderVo", "canBeUpdated", 25],
      ["FuturesOrderVo", "entrustAmount", 7],
      ["FuturesOrderVo", "canBeCanceled", 17],
      ["FuturesOrderVo", "entrustTypeNum", 20],
      ["FuturesOrderVo", "canBeUpdated", 24],
      ["TradeQueryMarginFundInfoResponse", "currentCreditLimit", 30],
      ["TradeQueryMarginFundInfoResponse", "unitMaxCreditLimit", 33],
      ["TradeQueryMarginFundInfoResponse", "buyPower", 40],
      ["TradeQueryMarginFundInfoResponse", "buyPowerMoney", 52],
      ["TradeEntrustRequest", "condTrackType", 13],
      ["TradeCancelEntrustRequest", "entrustType", 6],
      ["OrderBookFullNotify", "side", 2],
      ["OrderBookFullNotify", "orderBookList", 3],
      ["OrderBookFullNotify", "mktTmType", 4],
      ["TradeStockDeliverNotify", "entrustNo", 12],
      ["TradeStockDeliverNotify", "matchNo", 22],
      ["InitConnectResp", "heartbeatIntervalSec", 2],
    ];
    for (const [message, field, number] of rows) {
      assertEquals(root.lookupType(message).fields[field]!.id, number, `${message}.${field}`);
    }
  },
);
