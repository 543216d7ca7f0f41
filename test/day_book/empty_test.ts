/** Tests how an export distinguishes a quiet day from a broken gateway, when both have empty lists. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DayBookError } from "../../lib/day_book/mod.ts";
import { bookOf, DAY, EVENING, isList, openBook, summaryOf } from "./books.ts";
import { okText, refusal, type Script } from "./scripted_gateway.ts";

const BEFORE = "2025-08-13";
/** A Friday weeks earlier, which no query about the day covers. */
const LONG_AGO = "2025-06-13";

Deno.test("exportDayBook() accepts an empty day of a quiet account if the funds query works", async () => {
  await using book = openBook({});
  const { ok, days: [day] } = await book.exportDay();
  assertEquals([ok, day?.action, day?.status, day?.provisionalBecause], [true, "written", "final", []]);
  const { checks } = summaryOf(book.files(DAY));
  assertEquals(checks.find(({ check }: { check: string }) => check === "empty"), {
    check: "empty",
    market: "hk",
    result: "passed",
    detail: "another answer of the broker confirms that the day is empty",
    differences: 0,
  });
  assertEquals((await book.exportDay()).days[0]?.action, "kept");
});

const broken = {
  "funds without amounts": okText("{}"),
  "no funds": okText("null"),
  "a refusal": refusal("1001 unknown system error"),
};
for (const [what, answer] of Object.entries(broken)) {
  Deno.test(`exportDayBook() leaves an empty day provisional if the funds query returns ${what}`, async () => {
    await using book = openBook({});
    book.broker.answer = ({ key }) => key.startsWith("TradeQueryMarginFundInfo") ? answer : undefined;
    const { days: [day] } = await book.exportDay();
    assertEquals(day?.status, "provisional");
    assertStringIncludes(day!.provisionalBecause[0]!, "hk: no list has a row, and the funds ");
    // The day is not done: the next export queries it again.
    book.broker.answer = () => undefined;
    assertEquals((await book.exportDay()).days[0]?.status, "final");
  });
}

Deno.test("exportDayBook() makes no day final if answers lack their lists, and names the answer", async () => {
  for (const [answer, got] of [["null", "data.data"], ['{"data":null}', "data.data"]] as const) {
    await using book = openBook({});
    book.broker.answer = ({ key }) =>
      key.startsWith("TradeQueryHistoryDeliverList") ? okText(answer) : undefined;
    const { days: [day] } = await book.exportDay();
    assertEquals(day?.status, "provisional");
    assertStringIncludes(day!.provisionalBecause.join(), `${got}: expected a list, got null`);
    // The day is not done: the next export queries it again.
    book.broker.answer = () => undefined;
    assertEquals((await book.exportDay()).days[0]?.status, "final");
  }
});

Deno.test("exportDayBook() accepts an empty day if the lists around it show other days, even if the funds query returns nothing", async () => {
  await using book = openBook(bookOf("hk", 5, { day: BEFORE }));
  book.broker.answer = ({ key }) => key.startsWith("TradeQueryMarginFundInfo") ? okText("null") : undefined;
  assertEquals((await book.exportDay()).days[0]?.status, "final");
});

Deno.test("exportDayBook() reports a day whose own lists are empty, while the lists around it have rows of that day", async () => {
  await using book = openBook(bookOf("hk", 5));
  book.broker.answer = ({ key, params }) =>
    isList(key) && params.startDate === params.endDate ? okText('{"data":[]}') : undefined;
  const { ok, days: [day], differences } = await book.exportDay();
  assertEquals([ok, day?.status, day?.rows.fills], [false, "provisional", 0]);
  assertEquals(differences.map(({ check, message }) => [check, message]), [[
    "empty",
    "fills from 2025-08-14 to 2025-08-16 show 5 rows of this day, but the query for the day itself shows none",
  ]]);
  assertStringIncludes(book.files(DAY)["differences.csv"]!, "empty,hk,");
});

Deno.test("exportDayBook() does not accept empty lists for weeks in which the folder has trades", async () => {
  await using book = openBook(bookOf("hk", 5, { day: BEFORE }), { owner: "mine" });
  await book.exportDay({ from: BEFORE, to: BEFORE });
  book.broker.answer = ({ key }) => isList(key) ? okText("{}") : undefined;
  const { days: [day] } = await book.exportDay();
  assertEquals([day?.action, day?.status], ["written", "provisional"]);
  assertEquals(day?.provisionalBecause, [
    "hk: no list has a row, and the lists from 2025-08-07 to 2025-08-20 are empty too, but the kept day 2025-08-13 has rows",
  ]);
  // The control: trades long ago prove nothing about these weeks.
  await using quiet = openBook(bookOf("hk", 5, { day: LONG_AGO }));
  await quiet.exportDay({ from: LONG_AGO, to: LONG_AGO });
  assertEquals((await quiet.exportDay()).days[0]?.status, "final");
});

Deno.test("exportDayBook() accepts an empty day with missing lists only if another list of the day is present, or lists of the weeks around it have rows", async () => {
  await using book = openBook(bookOf("hk", 5));
  book.broker.answer = ({ key }) => isList(key) ? okText("{}") : undefined;
  const { ok, days: [day] } = await book.exportDay();
  assertEquals([ok, day?.status, day?.rows.fills], [false, "provisional", 0]);
  assertStringIncludes(day!.provisionalBecause[0]!, "the answer contains no list");
  assertStringIncludes(day!.incomplete[0]!, "the answer contains no list");
  // One list of the day is present, so the server leaves out empty lists.
  for (const there of ["Deliver", "Entrust", "FundJour"]) {
    await using one = openBook({});
    one.broker.answer = ({ key }) => isList(key) && !key.includes(there) ? okText("{}") : undefined;
    assertEquals((await one.exportDay()).days[0]?.status, "final", there);
  }
  // The same applies to a day between days with rows.
  await using between = openBook(bookOf("hk", 5, { day: BEFORE }));
  between.broker.answer = ({ key, rows }) => isList(key) && rows.length === 0 ? okText("{}") : undefined;
  assertEquals((await between.exportDay()).days[0]?.status, "final");
});

Deno.test("exportDayBook() finds an unfilled order of a day whose own lists are left out, in the lists around the day", async () => {
  const { ["TradeQueryHistoryEntrustList K 20250815"]: orders } = bookOf("hk", 1);
  const unfilled = orders!.map(({ businessAmount: _, businessBalance: _b, ...order }) => order);
  await using book = openBook({
    ...bookOf("hk", 5, { day: BEFORE }),
    ...bookOf("hk", 5, { day: "2025-08-14" }),
    "TradeQueryHistoryEntrustList K 20250815": unfilled,
  });
  book.broker.answer = ({ key, params }) =>
    isList(key) && params.startDate === params.endDate && params.startDate === "20250815"
      ? okText("{}")
      : undefined;
  const { ok, days: [day], differences } = await book.exportDay();
  assertEquals([ok, day?.status], [false, "provisional"]);
  assertStringIncludes(
    differences[0]?.message ?? "",
    "orders from 2025-08-14 to 2025-08-16 show 1 rows of this day",
  );
});

Deno.test("exportDayBook() stops at an answer that has other members instead of a list", async () => {
  for (const answer of ['{"foo":1}', '{"code":500,"message":"internal error"}', '{"data":{"code":500}}']) {
    await using book = openBook(bookOf("hk", 5));
    book.broker.answer = ({ key }) => isList(key) ? okText(answer) : undefined;
    const error = await assertRejects(() => book.exportDay(), DayBookError);
    assertStringIncludes(error.message, 'expected a list under "data", got {');
    assertEquals(book.names(), []);
  }
});

Deno.test("exportDayBook() reports a list that is left out although the day's other lists have rows", async () => {
  for (const list of ["Deliver", "Entrust", "FundJour"]) {
    await using book = openBook(bookOf("hk", 5));
    book.broker.answer = ({ key }) => isList(key) && key.includes(list) ? okText("{}") : undefined;
    const { ok, days: [day] } = await book.exportDay();
    assertEquals([ok, day?.status], [false, "provisional"], list);
  }
});

Deno.test("exportDayBook() queries each range of weeks once for all its empty days, and the funds once", async () => {
  await using book = openBook({});
  await book.exportDay({ from: "2025-08-14", to: "2025-08-19" });
  const asked = (name: string) => book.broker.calls.filter((call) => call.startsWith(name)).length;
  assertEquals(asked("TradeQueryMarginFundInfo"), 1);
  // One query for each of the six days, one for each of the four trading days with its neighbours, and one for the
  // weeks around all of them.
  assertEquals(asked("TradeQueryHistoryDeliverList"), 6 + 4 + 1);
});

Deno.test("exportDayBook() accepts rows in one list of a day as evidence that the day's other lists are really empty", async () => {
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
    assertEquals((await book.exportDay()).days[0]?.status, "final");
  }
});

Deno.test("exportDayBook() makes no new empty day final while the lists around it may be incomplete", async () => {
  await using book = openBook(bookOf("hk", 30, { day: "2025-08-14" }));
  book.broker.answer = ({ key, params, rows }) => {
    if (!isList(key) || params.startDate === params.endDate) return undefined;
    // A server with pages of ten rows that returns only the first page.
    if (params.queryParamStr !== "0") return refusal("1016 invalid parameter");
    const page = rows.slice(0, 10).map((row, index) => ({ ...row, queryParamStr: `${index + 1}` }));
    return okText(JSON.stringify({ data: page }));
  };
  const { days: [day] } = await book.exportDay({ now: () => EVENING + 86_400_000 });
  assertEquals(day?.status, "provisional");
  assertStringIncludes(
    day!.provisionalBecause[0]!,
    "the lists around the day prove nothing: fills may be incomplete",
  );
});
