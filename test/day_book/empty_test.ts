/** Empty lists: what a quiet day and a broken gateway have in common, and what tells them apart. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DayBookError } from "../../lib/day_book/mod.ts";
import { bookOf, DAY, EVENING, isList, openBook, summaryOf } from "./books.ts";
import { okText, refusal, type Script } from "./scripted_gateway.ts";

const BEFORE = "2025-08-13";
/** A Friday weeks before, which no question about the day covers. */
const LONG_AGO = "2025-06-13";

Deno.test("exportDayBook() believes in an empty day of a quiet account whose funds answer", async () => {
  await using book = openBook({});
  const { ok, days: [day] } = await book.again();
  assertEquals([ok, day?.action, day?.status, day?.provisionalBecause], [true, "written", "final", []]);
  const { checks } = summaryOf(book.files(DAY));
  assertEquals(checks.find(({ check }: { check: string }) => check === "empty"), {
    check: "empty",
    market: "hk",
    result: "passed",
    detail: "something besides the empty lists of the day answered, and shows nothing of it",
    differences: 0,
  });
  assertEquals((await book.again()).days[0]?.action, "kept");
});

const broken = {
  "funds without amounts": okText("{}"),
  "funds of nothing": okText("null"),
  "a refusal": refusal("1001 unknown system error"),
};
for (const [what, answer] of Object.entries(broken)) {
  Deno.test(`exportDayBook() leaves an empty day provisional when the funds come as ${what}`, async () => {
    await using book = openBook({});
    book.broker.answer = ({ key }) => key.startsWith("TradeQueryMarginFundInfo") ? answer : undefined;
    const { days: [day] } = await book.again();
    assertEquals(day?.status, "provisional");
    assertStringIncludes(day!.provisionalBecause[0]!, "hk: no list has a row, and the funds ");
    // It is not done with: the next export asks again.
    book.broker.answer = () => undefined;
    assertEquals((await book.again()).days[0]?.status, "final");
  });
}

Deno.test("exportDayBook() calls no day final whose lists are not in their answers, and names the answer", async () => {
  for (const [answer, got] of [["null", "data.data"], ['{"data":null}', "data.data"]] as const) {
    await using book = openBook({});
    book.broker.answer = ({ key }) =>
      key.startsWith("TradeQueryHistoryDeliverList") ? okText(answer) : undefined;
    const { days: [day] } = await book.again();
    assertEquals(day?.status, "provisional");
    assertStringIncludes(day!.provisionalBecause.join(), `${got}: expected a list, got null`);
    // It is not done with: the next export asks again.
    book.broker.answer = () => undefined;
    assertEquals((await book.again()).days[0]?.status, "final");
  }
});

Deno.test("exportDayBook() believes in an empty day when the lists around it show other days, whatever the funds", async () => {
  await using book = openBook(bookOf("hk", 5, { day: BEFORE }));
  book.broker.answer = ({ key }) => key.startsWith("TradeQueryMarginFundInfo") ? okText("null") : undefined;
  assertEquals((await book.again()).days[0]?.status, "final");
});

Deno.test("exportDayBook() names a day that is empty by itself and not in the lists around it", async () => {
  await using book = openBook(bookOf("hk", 5));
  book.broker.answer = ({ key, params }) =>
    isList(key) && params.startDate === params.endDate ? okText('{"data":[]}') : undefined;
  const { ok, days: [day], differences } = await book.again();
  assertEquals([ok, day?.status, day?.rows.fills], [false, "provisional", 0]);
  assertEquals(differences.map(({ check, message }) => [check, message]), [[
    "empty",
    "fills asked for 2025-08-14 to 2025-08-16 show 5 rows of this day, and asked for the day show none",
  ]]);
  assertStringIncludes(book.files(DAY)["differences.csv"]!, "empty,hk,");
});

Deno.test("exportDayBook() believes in no emptiness of weeks in which the folder holds trades", async () => {
  await using book = openBook(bookOf("hk", 5, { day: BEFORE }), { owner: "mine" });
  await book.again({ from: BEFORE, to: BEFORE });
  book.broker.answer = ({ key }) => isList(key) ? okText("{}") : undefined;
  const { days: [day] } = await book.again();
  assertEquals([day?.action, day?.status], ["written", "provisional"]);
  assertEquals(day?.provisionalBecause, [
    "hk: no list has a row, and the lists from 2025-08-07 to 2025-08-20 are empty too, although 2025-08-13 has rows here",
  ]);
  // The control: trades long ago say nothing about these weeks.
  await using quiet = openBook(bookOf("hk", 5, { day: LONG_AGO }));
  await quiet.again({ from: LONG_AGO, to: LONG_AGO });
  assertEquals((await quiet.again()).days[0]?.status, "final");
});

Deno.test("exportDayBook() believes in no emptiness that answers without a list say alone", async () => {
  await using book = openBook(bookOf("hk", 5));
  book.broker.answer = ({ key }) => isList(key) ? okText("{}") : undefined;
  const { ok, days: [day] } = await book.again();
  assertEquals([ok, day?.status, day?.rows.fills], [false, "provisional", 0]);
  assertStringIncludes(day!.provisionalBecause[0]!, "the answer holds no list");
  assertStringIncludes(day!.incomplete[0]!, "the answer holds no list");
  // A list of the day is there, so the others are those of a server that leaves out empty lists.
  for (const there of ["Deliver", "Entrust", "FundJour"]) {
    await using one = openBook({});
    one.broker.answer = ({ key }) => isList(key) && !key.includes(there) ? okText("{}") : undefined;
    assertEquals((await one.again()).days[0]?.status, "final", there);
  }
  // And so are those of a day between days with rows.
  await using between = openBook(bookOf("hk", 5, { day: BEFORE }));
  between.broker.answer = ({ key, rows }) => isList(key) && rows.length === 0 ? okText("{}") : undefined;
  assertEquals((await between.again()).days[0]?.status, "final");
});

Deno.test("exportDayBook() stops at an answer of other members in the place of a list", async () => {
  for (const answer of ['{"foo":1}', '{"code":500,"message":"internal error"}', '{"data":{"code":500}}']) {
    await using book = openBook(bookOf("hk", 5));
    book.broker.answer = ({ key }) => isList(key) ? okText(answer) : undefined;
    const error = await assertRejects(() => book.again(), DayBookError);
    assertStringIncludes(error.message, 'expected a list under "data", got {');
    assertEquals(book.names(), []);
  }
});

Deno.test("exportDayBook() names a list that is left out and that the other lists of the day contradict", async () => {
  for (const list of ["Deliver", "Entrust", "FundJour"]) {
    await using book = openBook(bookOf("hk", 5));
    book.broker.answer = ({ key }) => isList(key) && key.includes(list) ? okText("{}") : undefined;
    const { ok, days: [day] } = await book.again();
    assertEquals([ok, day?.status], [false, "provisional"], list);
  }
});

Deno.test("exportDayBook() asks for weeks once for all empty days in them, and for the funds once", async () => {
  await using book = openBook({});
  await book.again({ from: "2025-08-14", to: "2025-08-19" });
  const asked = (name: string) => book.broker.calls.filter((call) => call.startsWith(name)).length;
  assertEquals(asked("TradeQueryMarginFundInfo"), 1);
  // Each day is asked for, each trading day with its neighbours as well, and the weeks once for all of them.
  assertEquals(asked("TradeQueryHistoryDeliverList"), 6 + 4 + 1);
});

Deno.test("exportDayBook() takes orders without fills, and lines without trades, for the word of another list", async () => {
  const { ["TradeQueryHistoryEntrustList K 20250815"]: orders } = bookOf("hk", 2);
  const unfilled = orders!.map(({ businessAmount: _, businessBalance: _b, fareVo: _f, ...order }) => order);
  const interest = { businessBalance: "0.42", type: "122", time: "2025-08-15 08:00:00" };
  const scripts: Script[] = [
    { "TradeQueryHistoryEntrustList K 20250815": unfilled },
    { "TradeQueryHistoryFundJourList K 20250815": [interest] },
  ];
  for (const script of scripts) {
    await using book = openBook(script);
    book.broker.answer = ({ key }) => key.startsWith("TradeQueryMarginFundInfo") ? okText("null") : undefined;
    assertEquals((await book.again()).days[0]?.status, "final");
  }
});

Deno.test("exportDayBook() calls no first-time day final while the lists of its neighbours may be cut", async () => {
  await using book = openBook(bookOf("hk", 30, { day: "2025-08-14" }));
  book.broker.answer = ({ key, params, rows }) => {
    if (!isList(key) || params.startDate === params.endDate) return undefined;
    // A server with pages of ten rows, which answers for the first page only.
    if (params.queryParamStr !== "0") return refusal("1016 invalid parameter");
    const page = rows.slice(0, 10).map((row, index) => ({ ...row, queryParamStr: `${index + 1}` }));
    return okText(JSON.stringify({ data: page }));
  };
  const { days: [day] } = await book.again({ now: () => EVENING + 86_400_000 });
  assertEquals(day?.status, "provisional");
  assertStringIncludes(day!.provisionalBecause[0]!, "the lists around the day do not tell: fills may be cut");
});
