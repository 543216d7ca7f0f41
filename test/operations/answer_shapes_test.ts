/**
 * Tests `examine()`, which describes an answer without its values, `answersOf()`, which makes answers from such a
 * description, and `readReport()`.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { type Difference, examine, type Seen } from "../../lib/operations/answer_shapes.ts";
import { operations } from "../../lib/operations/mod.ts";
import { readReport } from "../../lib/probe/report.ts";
import { answersOf } from "../../lib/operations/shaped_answers.ts";
import { reportWith } from "../support/probe_report.ts";

const order = {
  entrustId: "5001",
  exchangeType: "K",
  stockCode: "00700.HK",
  entrustAmount: "100",
  entrustPrice: "550.20",
  entrustBs: "1",
  entrustType: "0",
  queryParamStr: "1",
};

function differences(
  name: string,
  data: unknown,
  envelope: object = {},
): Pick<Difference, "path" | "kind" | "weight">[] {
  const text = JSON.stringify({ ok: true, err: "", data, ...envelope });
  return examine(operations.get(name)!, { over: "gateway", status: 200, text }).differences
    .filter(({ weight }) => weight !== "absent")
    .map(({ path, kind, weight }) => ({ path, kind, weight }));
}

Deno.test("examine() finds no difference in the documented answer", () => {
  assertEquals(differences("orders.today", { data: [order, order] }), []);
  assertEquals(differences("account.exchangeRates", { USD: { HKD: "7.8" } }), []);
});

for (
  const [what, name, data, path, kind, weight] of [
    [
      "a member that is not listed",
      "orders.today",
      { data: [{ ...order, orderLabel: "x" }] },
      "data.data[].orderLabel",
      "extra",
      "differs",
    ],
    [
      "a number in place of a decimal text",
      "orders.today",
      { data: [{ ...order, entrustPrice: 550.2 }] },
      "data.data[].entrustPrice",
      "type",
      "differs",
    ],
    [
      "a list in place of a text",
      "orders.today",
      { data: [{ ...order, stockName: ["x"] }] },
      "data.data[].stockName",
      "type",
      "breaks",
    ],
    [
      "a grouped number",
      "orders.today",
      { data: [{ ...order, entrustPrice: "1,550.20" }] },
      "data.data[].entrustPrice",
      "form",
      "differs",
    ],
    [
      "a code that is not listed",
      "orders.today",
      { data: [{ ...order, status: "~" }] },
      "data.data[].status",
      "code",
      "differs",
    ],
    ["an item that is null", "orders.today", { data: [null] }, "data.data[]", "null", "breaks"],
    [
      "a list without the member that should contain it",
      "orders.today",
      [order],
      "data",
      "envelope",
      "differs",
    ],
    ["one record in place of a list", "orders.today", order, "data", "envelope", "differs"],
    [
      "a required member that is empty",
      "fills.today",
      { data: [{ ...order, businessPrice: "", businessAmount: "1" }] },
      "data.data[].businessPrice",
      "missing",
      "breaks",
    ],
    ["a list under another name", "account.holdings", { data: [] }, "data.data", "alias", "differs"],
    ["null in place of the list", "quotes.ticks", { ticker: null }, "data.ticker", "null", "breaks"],
  ] as const
) {
  Deno.test(`examine() reports ${what}`, () => {
    const found = differences(name, data).filter((each) => each.path === path);
    assert(
      found.some((each) => each.kind === kind && each.weight === weight),
      JSON.stringify(differences(name, data)),
    );
  });
}

Deno.test("examine() reports an envelope with another member, and an answer that is not JSON", () => {
  assertEquals(differences("orders.today", { data: [] }, { code: 0 }), [
    { path: "code", kind: "envelope", weight: "differs" },
  ]);
  const { differences: found, answer } = examine(operations.get("orders.today")!, {
    over: "gateway",
    status: 502,
    text: "<html>",
  });
  assertEquals(found.map(({ kind, weight }) => [kind, weight]), [["envelope", "breaks"]]);
  assertEquals(answer, { over: "gateway", status: 502 });
});

Deno.test("examine() counts how often a member was missing, and keeps the digits of large numbers", () => {
  const text = `{"ok":true,"err":"","data":{"basicQot":[
    {"security":{"dataType":10000,"code":"00700.HK"},"volume":12345678901234567890},
    {"security":{"dataType":10000,"code":"00005.HK"}}]}}`;
  const { answer, differences: found } = examine(operations.get("quotes.latest")!, {
    over: "gateway",
    status: 200,
    text,
  });
  const rows = answer.body?.record?.members.data?.record?.members.basicQot?.list?.of?.record;
  assertEquals([rows?.times, rows?.members.volume?.times], [2, 1]);
  assertEquals(rows?.members.volume?.numbers, { whole: [1, 20, 20] });
  const missing = found.find(({ path }) => path.endsWith("[].volume"));
  assertEquals([missing?.kind, missing?.weight, missing?.times, missing?.of], ["missing", "absent", 1, 2]);
});

Deno.test("names that could be values do not appear: only their length does", () => {
  const data = { data: [{ ...order, "88001234567": "1", "AAPL": { x: 1 }, "Chan Tai Man": 1, "陈大文": 2 }] };
  const text = JSON.stringify({ ok: true, err: "88001234567 is wrong", data, "": 1 });
  const { answer, differences: found } = examine(operations.get("orders.today")!, {
    over: "gateway",
    status: 200,
    text,
  });
  const shown = JSON.stringify([answer, found]);
  for (const value of ["8800", "AAPL", "Chan", "陈", "00700", "550", "5001"]) {
    assert(!shown.includes(value), `${value} in ${shown}`);
  }
  assert(shown.includes("[name of 11 characters]"));
});

Deno.test("a code is shown only if it looks like the listed codes, and not if there are many", () => {
  const rows = (codes: string[]) => ({ data: codes.map((status) => ({ ...order, status })) });
  const shown = (codes: string[]) => {
    const text = JSON.stringify({ ok: true, err: "", data: rows(codes) });
    return JSON.stringify(examine(operations.get("orders.today")!, { over: "gateway", status: 200, text }));
  };
  assert(shown(["Z9"]).includes("Z9"));
  assert(!shown(["Zebra"]).includes("Zebra"));
  const many = ["Z1", "Z2", "Z3", "Z4", "Z5", "Z6", "Z7"];
  const { answer, differences: found } = JSON.parse(shown(many));
  for (const code of many) assert(!JSON.stringify([answer, found]).includes(code), code);
});

/** Returns the forms, codes and types at every path, without counts and lengths. */
function formsOf(seen: Seen | undefined, path = ""): string[] {
  if (seen === undefined) return [];
  const { texts = {}, numbers = {}, codes = [], flags = [0, 0], list, record } = seen;
  return [
    ...codes.length > 0 ? codes.map((code) => `${path} code ${code}`) : [
      ...Object.keys(texts).map((form) => `${path} text ${form}`),
      ...Object.keys(numbers).map((form) => `${path} number ${form}`),
    ],
    ...flags[0] > 0 ? [`${path} true`] : [],
    ...flags[1] > 0 ? [`${path} false`] : [],
    ...seen.null ? [`${path} null`] : [],
    ...list ? [`${path} list`, ...formsOf(list.of, `${path}[]`)] : [],
    ...Object.entries(record?.members ?? {}).flatMap(([name, member]) => [
      ...member.times < record!.times ? [`${path}.${name} sometimes missing`] : [],
      ...formsOf(member, `${path}.${name}`),
    ]),
  ];
}

Deno.test("answersOf() makes answers that show every type, form and code, and every missing member", () => {
  const operation = operations.get("orders.today")!;
  const rows = [
    { ...order, entrustPrice: "1,550.20", tradingHours: null, extra: { data: [1, "x", true] } },
    { ...order, entrustBs: 2, status: "~", entrustAmount: -12.5, list: [] },
    { entrustId: "", statusDesc: "已成", when: "2025/08/15", list: [{ a: "2025-08-15 10:00:00" }] },
  ];
  const text = JSON.stringify({ ok: true, err: "", data: { data: rows } });
  const { answer } = examine(operation, { over: "gateway", status: 200, text });
  const made = answersOf(answer);
  const again = new Set(made.flatMap((each) => {
    assert(each.over === "gateway");
    return formsOf(examine(operation, each).answer.body);
  }));
  for (const form of formsOf(answer.body)) assert(again.has(form), `${form} in ${[...again].join("\n")}`);
});

Deno.test("a hostile answer neither changes objects of the program nor overflows the stack", () => {
  const operation = operations.get("orders.today")!;
  const row = '{"entrustId":"5001","constructor":"x","toString":{"valueOf":1},"__proto__":{"a":1}}';
  const text = `{"ok":true,"err":"","data":{"data":[${row}]}}`;
  const { answer } = examine(operation, { over: "gateway", status: 200, text });
  assertEquals((Object as { times?: number }).times, undefined);
  const members = answer.body?.record?.members.data?.record?.members.data?.list?.of?.record?.members ?? {};
  assertEquals(Object.entries(members).find(([name]) => name === "constructor")?.[1].times, 1);
  for (const levels of [100, 3_000, 40_000]) {
    const deep = `{"ok":true,"err":"","data":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    const { answer, differences } = examine(operation, { over: "gateway", status: 200, text: deep });
    assert(differences.length > 0 && JSON.stringify(answer).length < 10_000);
  }
});

Deno.test("a long text with many digits does not block examine()", () => {
  // A pattern that tries again at every digit would take half an hour here.
  assertEquals(
    differences("orders.today", { data: [{ ...order, stockName: `${"1".repeat(1_000_000)}x` }] }),
    [],
  );
});

Deno.test("answersOf() rejects a shape whose answers would not end or would be huge", () => {
  const codes = { times: 1, codes: Array.from({ length: 64 }, (_, code) => String(code)) };
  const nested = (levels: number): Seen => {
    if (levels === 0) return { times: 1, texts: { digits: [1, 1, 1] } };
    const members = { a: nested(levels - 1), b: codes };
    return { times: 1, list: { times: 1, sizes: [1, 3], of: { times: 1, record: { times: 1, members } } } };
  };
  const answered = (body: Seen) => answersOf({ over: "gateway", status: 200, body });
  assertEquals(answered(nested(1)).length, 1);
  // 64^8 rows: without a limit this call never returns.
  assertThrows(() => answered(nested(8)), TypeError, "more than");
  const [date] = answered({ times: 1, texts: { "yyyy-mm-ddThh:mm:ss": [1, 19, 2 ** 40] } });
  assert(date?.over === "gateway" && date.text.length < 200_000);
});

Deno.test("readReport() rejects a report that is nested too deep, before anything reads it recursively", () => {
  const shape = `${'{"times":1,"list":{"times":1,"sizes":[1,1],"of":'.repeat(3000)}{"times":1}${
    "}}".repeat(3000)
  }`;
  assertThrows(() => readReport(`{"calls":${shape}}`, "r.json"), TypeError, "nested too deep");
});

Deno.test("readReport() rejects a message number that no frame can contain", () => {
  const report = (type: number) => reportWith({ type });
  assertEquals(readReport(report(19), "r.json").calls[0]?.answer?.type, 19);
  for (const type of [1e308, -1.5, 2 ** 31]) {
    assertThrows(() => readReport(report(type), "r.json"), TypeError, "calls.0.answer.type: ");
  }
});

Deno.test("readReport() rejects a report of too many calls or values, before it checks each of them", () => {
  // Each wrong value would need an error of its own.
  const calls = (count: number) => JSON.stringify({ calls: Array.from({ length: count }, () => ({})) });
  assertThrows(() => readReport(calls(2_001), "r.json"), TypeError, "it has 2001 calls, more than 2000");
  const differences = (count: number) => JSON.stringify({ calls: [{ differences: Array(count).fill(1) }] });
  assertThrows(() => readReport(differences(200_001), "r.json"), TypeError, "it has more than 200000 values");
  // Controls: below the limits, the error names the first wrong member.
  assertThrows(() => readReport(calls(2_000), "r.json"), TypeError, "what: ");
  assertThrows(() => readReport(differences(1_000), "r.json"), TypeError, "what: ");
});
