/** Tests that no day becomes final with an incomplete or rejected list, or with rows without a date. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { bookOf, DAY, isList, LATER, openBook, summaryOf, trade } from "./books.ts";
import { okText, readTree, refusal, type ScriptedCall, type WireRow } from "./scripted_gateway.ts";

/** Returns a function that answers like a server with at most `most` rows per page. */
function pagesOf(most: number): (asked: ScriptedCall) => string | undefined {
  return ({ key, params, rows }) => {
    if (!isList(key)) return undefined;
    const start = Number(params.queryParamStr);
    const page = rows.slice(start, start + most).map((row, index) => ({
      ...row,
      queryParamStr: `${start + index + 1}`,
    }));
    return okText(JSON.stringify({ data: page }));
  };
}

Deno.test("exportDayBook() reads every row of a server that gives twenty rows at a time", async () => {
  await using book = openBook(bookOf("us", 250), { markets: ["us"] });
  book.broker.answer = pagesOf(20);
  const { ok, days: [day] } = await book.exportDay();
  const summary = summaryOf(book.files(DAY));
  assertEquals([ok, day?.status, summary.complete], [true, "final", true]);
  assertEquals(day?.rows, { fills: 250, orders: 250, fund_journal: 250 });
  // The control: the same rows in pages of the requested size.
  book.broker.answer = () => undefined;
  const whole = await book.exportDay();
  assertEquals([whole.ok, whole.days[0]?.status, whole.days[0]?.rows.fills], [true, "final", 250]);
});

Deno.test("exportDayBook() reports no list as complete if the broker rejects the query after the last row", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"] });
  book.broker.answer = ({ key, params }) =>
    isList(key) && params.queryParamStr !== "0" ? refusal("1016 invalid parameter") : undefined;
  const { ok, days: [day] } = await book.exportDay();
  assertEquals([ok, day?.status, day?.rows.fills], [false, "provisional", 3]);
  assertStringIncludes(day!.incomplete[0]!, "the broker rejected the query for further rows");
});

const undated: Record<string, { list: string; member: string; says: string }> = {
  fills: {
    list: "TradeQueryHistoryDeliverList",
    member: "date",
    says: "us: 1 of 3 rows of fills have no date",
  },
  orders: {
    list: "TradeQueryHistoryEntrustList",
    member: "date",
    says: "us: 1 of 3 rows of orders have no date",
  },
  journal: {
    list: "TradeQueryHistoryFundJourList",
    member: "time",
    says: "us: 1 of 3 rows of fund_journal have no time",
  },
};
for (const [what, { list, member, says }] of Object.entries(undated)) {
  Deno.test(`exportDayBook() makes no day final with a row of ${what} whose ${member} is empty`, async () => {
    const key = `${list} P 20250815`;
    const right = bookOf("us", 3);
    await using book = openBook(
      { ...right, [key]: right[key]!.map((row, index) => index === 1 ? { ...row, [member]: "" } : row) },
      { markets: ["us"] },
    );
    const { days: [day] } = await book.exportDay();
    assertEquals([day?.status, day?.provisionalBecause], ["provisional", [says]]);
    book.broker.script = right;
    assertEquals((await book.exportDay()).days[0]?.status, "final");
  });
}

const future: WireRow = {
  stockCode: "HSI2508.HK",
  entrustId: "9",
  entrustBs: "1",
  businessPrice: "25000",
  businessAmount: "1",
  date: "20250815",
};
const BOTH = { accounts: ["securities", "futures"] } as const;

Deno.test("exportDayBook() works with a broker without a list of futures orders, and names the list that was not read", async () => {
  await using book = openBook(
    { ...bookOf("hk", 2), "FuturesQueryHistoryDeliverList 20250815": [future] },
    BOTH,
  );
  const { ok, days: [day] } = await book.exportDay();
  assertEquals([ok, day?.status, day?.markets.hk?.status], [false, "provisional", "final"]);
  assertEquals(day?.rows, { fills: 2, orders: 2, fund_journal: 2, futures_fills: 1 });
  assertEquals(day?.incomplete, [
    "futures: futures_orders were not read: Cannot complete futures.ordersHistory: 1007 no futures account",
  ]);
  const files = book.files(DAY);
  assert("futures_fills.csv" in files && !("futures_orders.csv" in files));
  assertEquals([summaryOf(files).complete, summaryOf(files).incomplete], [false, day?.incomplete]);
});

Deno.test("exportDayBook() loses no futures fills if the broker rejects their query once", async () => {
  const futures = {
    "FuturesQueryHistoryDeliverList 20250815": [future],
    "FuturesQueryHistoryEntrustList 20250815": [future],
  };
  await using book = openBook({ ...bookOf("hk", 2), ...futures }, { ...BOTH, refresh: true });
  book.broker.answer = ({ key }) => key.startsWith("Futures") ? refusal("9999 maintenance") : undefined;
  assertEquals((await book.exportDay()).days[0]?.status, "provisional");
  book.broker.answer = () => undefined;
  assertEquals((await book.exportDay()).days[0]?.status, "final");
  const before = book.files(DAY);
  // The broker rejects the query after the futures rows were written: the day stays, and the result names the lists.
  book.broker.answer = ({ key }) => key.startsWith("Futures") ? refusal("9999 maintenance") : undefined;
  const { ok, days: [day], differences } = await book.exportDay();
  assertEquals([ok, day?.action], [false, "disputed"]);
  assertEquals(differences.map(({ list, expected, actual }) => [list, expected, actual]), [
    ["futures_fills", "1 rows", "not read"],
    ["futures_orders", "1 rows", "not read"],
  ]);
  assertEquals(book.files(DAY), before);
});

Deno.test("exportDayBook() queries only the accounts that it exports", async () => {
  await using book = openBook({ ...bookOf("hk", 2), "FuturesQueryHistoryDeliverList 20250815": [future] });
  await book.exportDay();
  assertEquals(book.broker.calls.filter((call) => call.startsWith("Futures")), []);
  await using other = openBook(
    {
      "FuturesQueryHistoryDeliverList 20250815": [future],
      "FuturesQueryHistoryEntrustList 20250815": [future],
    },
    { accounts: ["futures"], markets: [] },
  );
  const { ok, days: [day] } = await other.exportDay();
  assertEquals([ok, day?.status, day?.rows], [true, "final", { futures_fills: 1, futures_orders: 1 }]);
  assertEquals(other.broker.calls.filter((call) => call.startsWith("Trade")), []);
});

Deno.test("exportDayBook() stops if the broker rejects the query for a list of securities", async () => {
  await using book = openBook(bookOf("hk", 2));
  book.broker.answer = ({ key }) =>
    key.startsWith("TradeQueryHistoryFundJour") ? refusal("9999 maintenance") : undefined;
  let said = "";
  await book.exportDay().catch((error) => said = error.message);
  assertStringIncludes(
    said,
    "Cannot export 2025-08-15: Cannot complete fundJournal.history: 9999 maintenance",
  );
  assertEquals(book.names(), []);
});

Deno.test("exportDayBook() calls today's list incomplete if its day changed between two pages", async () => {
  const { fareVo: _, ...fresh } = trade("us", "1").fill;
  const rows = Array.from({ length: 120 }, (_, index) => ({ ...fresh, entrustId: String(index) }));
  const next = { ...fresh, date: "20250816", entrustId: "next" };
  await using book = openBook({
    "TradeQueryRealDeliverList P": rows,
    "TradeQueryRealEntrustList P": rows,
  }, { markets: ["us"] });
  // The second page is read after midnight in New York: the list starts again, and there is no history yet.
  book.broker.answer = ({ key, params }) =>
    key.startsWith("TradeQueryRealDeliver") && params.queryParamStr !== "0"
      ? okText(
        JSON.stringify({ data: params.queryParamStr === "99" ? [{ ...next, queryParamStr: "100" }] : [] }),
      )
      : undefined;
  const { ok, days: [day] } = await book.exportDay({ now: () => Date.parse("2025-08-15T16:30:00-04:00") });
  assertEquals([ok, day?.status, day?.rows.fills], [false, "provisional", 99]);
  assertEquals(day?.incomplete, [
    "us: fills may be incomplete: today's list also shows 2025-08-16, so it may no longer contain all rows of this day",
  ]);
});

Deno.test("exportDayBook() calls today's list incomplete if it is emptied during the reading", async () => {
  const { fareVo: _, ...fresh } = trade("us", "1").fill;
  const rows = Array.from({ length: 250 }, (_, index) => ({ ...fresh, entrustId: String(index) }));
  await using book = openBook({ "TradeQueryRealDeliverList P": rows, "TradeQueryRealEntrustList P": rows }, {
    markets: ["us"],
  });
  const now = () => Date.parse("2025-08-15T16:30:00-04:00");
  let emptied = false;
  book.broker.answer = ({ key, params }) => {
    if (!key.startsWith("TradeQueryRealDeliver")) return undefined;
    emptied ||= params.queryParamStr === "198";
    return emptied ? okText(JSON.stringify({ data: [] })) : undefined;
  };
  const { ok, days: [day] } = await book.exportDay({ now });
  assertEquals([ok, day?.status, day?.rows.fills], [false, "provisional", 198]);
  assertEquals(day?.incomplete, [
    "us: fills may be incomplete: Cannot read fills.today to its end: its last row is gone, so the list started again while " +
    "it was read",
  ]);
  // The control: the same list without the change.
  book.broker.answer = () => undefined;
  const whole = await book.exportDay({ now });
  assertEquals([whole.ok, whole.days[0]?.rows.fills, whole.days[0]?.incomplete], [true, 250, []]);
});

Deno.test("exportDayBook() assigns lines without a date to the day on which it has read their list to the end", async () => {
  let now = Date.parse("2025-08-15T23:59:59-04:00");
  const deposit = { businessBalance: "1000.00", type: "95" };
  const read = { "TradeQueryRealFundJourList P": [deposit], ...bookOf("us", 2) };
  await using book = openBook(read, { markets: ["us"], now: () => now });
  book.broker.answer = ({ key }) => {
    if (key.startsWith("TradeQueryRealFundJour")) now = Date.parse("2025-08-16T00:00:01-04:00");
    return undefined;
  };
  const { days: [day] } = await book.exportDay();
  assertEquals([day?.rows.fund_journal, day?.status], [2, "final"]);
  // The control: the same lines a minute earlier.
  await using early = openBook(read, { markets: ["us"], now: () => Date.parse("2025-08-15T23:58:00-04:00") });
  const before = await early.exportDay();
  assertEquals([before.days[0]?.rows.fund_journal, before.days[0]?.status], [1, "provisional"]);
});

Deno.test("exportDayBook() keeps two identical lines of an evening that it exports before clearing, after clearing and once more", async () => {
  const [first, second] = [trade("us", "1"), trade("us", "2")];
  const running = [first, second].map(({ fill: { fareVo: _, ...fresh } }) => fresh);
  const interest = { businessBalance: "0.42", type: "122" };
  await using book = openBook({
    "TradeQueryRealDeliverList P": running,
    "TradeQueryRealEntrustList P": running,
    "TradeQueryRealFundJourList P": [
      { businessBalance: "-35020.00", type: "5" },
      { businessBalance: "-35020.00", type: "5" },
      interest,
      interest,
    ],
  }, { markets: ["us"] });
  const before = await book.exportDay({ now: () => Date.parse("2025-08-15T16:30:00-04:00") });
  assertEquals([before.ok, before.days[0]?.status, before.days[0]?.rows], [
    true,
    "provisional",
    { fills: 2, orders: 2, fund_journal: 4 },
  ]);
  const dated = { ...interest, time: "2025-08-15 18:00:00" };
  book.broker.script = {
    ...bookOf("us", 2),
    "TradeQueryHistoryFundJourList P 20250815": [first.line, second.line, dated, dated],
  };
  const evening = { now: () => Date.parse("2025-08-15T23:00:00-04:00") };
  const after = await book.exportDay(evening);
  assertEquals([after.ok, after.days[0]?.action, after.days[0]?.status], [true, "replaced", "final"]);
  const lines = book.files(DAY)["fund_journal.jsonl"]!.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.map(({ amount }) => amount), ["-35065.00", "-35065.00", "0.42", "0.42"]);
  assertEquals(new Set(lines.map(({ rowKey }) => rowKey)).size, 4);
  const whole = readTree(book.out);
  assertEquals((await book.exportDay(evening)).days[0]?.action, "unchanged");
  assertEquals((await book.exportDay({ refresh: true })).days[0]?.action, "unchanged");
  assertEquals((await book.exportDay({ now: () => LATER })).days[0]?.action, "kept");
  assertEquals(readTree(book.out), whole);
  // The control: the broker withdraws one of the two identical lines.
  book.broker.script = {
    ...bookOf("us", 2),
    "TradeQueryHistoryFundJourList P 20250815": [first.line, second.line, dated],
  };
  const lost = await book.exportDay(evening);
  assertEquals([lost.ok, lost.differences.map(({ message }) => message)], [false, [
    "interest-or-penalty-adjustment of 0.42 is in 2025-08-15 but not in the new reading",
  ]]);
});
