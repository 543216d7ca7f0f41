/**
 * Tests exports from a gateway that withdraws rows: the folder loses nothing, and every missing row is
 * listed.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { bookOf, DAY, EVENING, isList, LATER, openBook, summaryOf, trade } from "./books.ts";
import { okText, type WireRow } from "./scripted_gateway.ts";

const empties = { "[]": '{"data":[]}', "data: null": '{"data":null}', "null": "null", "{}": "{}" };

for (const [what, data] of Object.entries(empties)) {
  for (const kind of ["provisional day", "final day of the last session", "refreshed day"] as const) {
    Deno.test(`exportDayBook() keeps a ${kind} when every list answers ok with ${what}`, async () => {
      const isOld = kind === "refreshed day";
      await using book = openBook(bookOf("hk", 20), { now: () => isOld ? LATER : EVENING, refresh: isOld });
      if (kind === "provisional day") {
        // The fees of one fill are missing.
        const fills = book.broker.script["TradeQueryHistoryDeliverList K 20250815"]!;
        fills[0] = { ...fills[0], fareVo: {} };
      }
      const first = await book.exportDay();
      assertEquals([first.days[0]?.action, first.days[0]?.status], [
        "written",
        kind === "provisional day" ? "provisional" : "final",
      ]);
      const before = book.files(DAY);
      book.broker.answer = ({ key }) => isList(key) ? okText(data) : undefined;
      const second = await book.exportDay();
      const [day] = second.days;
      assertEquals([second.ok, day?.action, day?.status], [false, "disputed", "provisional"]);
      assertEquals(book.files(DAY), before, "the day is as it was, byte for byte");
      assertEquals(day?.beside, [`${book.out}/${DAY}.disputed-1`]);
      const lost = second.differences.filter(({ check }) => check === "rows").map(({ list }) => list);
      for (const list of ["fills", "orders", "fund_journal"] as const) {
        assertEquals(lost.filter((each) => each === list).length, 20, list);
      }
      // A person can distinguish both readings, and each missing row is listed.
      const beside = book.files(`${DAY}.disputed-1`);
      const summary = summaryOf(beside);
      assertEquals([summary.standing, summary.contradicts, summary.rows.fills], ["disputed", [DAY], 0]);
      assertEquals(summaryOf(before).standing, "day");
      assertStringIncludes(beside["differences.csv"]!, `buy 100 00700.HK at 350.20 (order 7, 09:30:05)`);
      // Another export with the same answers changes nothing.
      const third = await book.exportDay();
      assertEquals([third.ok, third.days[0]?.action, book.names()], [false, "disputed", [
        DAY,
        `${DAY}.disputed-1`,
      ]]);
      assertEquals(book.files(`${DAY}.disputed-1`), beside);
      // The control: once the broker answers again, the day is final and the disputed reading is removed.
      book.broker.answer = () => undefined;
      book.broker.script = bookOf("hk", 20);
      const last = await book.exportDay();
      assertEquals([last.ok, last.days[0]?.status, book.names()], [true, "final", [DAY]]);
    });
  }
}

Deno.test("exportDayBook() keeps a day when the lists of one of its markets become empty", async () => {
  const both = { ...bookOf("hk", 3), ...bookOf("us", 2) };
  await using book = openBook(both, { markets: ["hk", "us"], refresh: true });
  assertEquals((await book.exportDay()).days[0]?.status, "final");
  const before = book.files(DAY);
  book.broker.script = bookOf("hk", 3);
  const { ok, days, differences } = await book.exportDay();
  assertEquals([ok, days[0]?.action], [false, "disputed"]);
  assertEquals(differences.filter(({ market }) => market !== "us"), []);
  assertEquals(differences.length, 2 * 3);
  assertEquals(book.files(DAY), before);
});

/** Changes to one list of a day, and the difference that the export must report. */
const takenBack: Record<string, { list: string; change: (rows: WireRow[]) => WireRow[]; lost: string }> = {
  "a fill": {
    list: "TradeQueryHistoryDeliverList",
    change: (rows) => rows.slice(1),
    lost: "buy 100 AAPL at 350.20 (order 1, 09:30:05) is in 2025-08-15 but not in the new reading",
  },
  "one of two identical lines": {
    list: "TradeQueryHistoryFundJourList",
    change: (rows) => rows.slice(1),
    lost: "buy-securities of -35065.00 is in 2025-08-15 but not in the new reading",
  },
  "the fees of a fill": {
    list: "TradeQueryHistoryDeliverList",
    change: ([first, ...rest]) => [{ ...first, fareVo: {} }, ...rest],
    lost:
      "buy 100 AAPL at 350.20 (order 1, 09:30:05): total is 45.00 in 2025-08-15 but nothing in the new reading",
  },
  "part of a fee": {
    list: "TradeQueryHistoryDeliverList",
    change: (
      [first, ...rest],
    ) => [{ ...first, fareVo: { fare0: "29.99", fare6: "15.00", faret: "44.99" } }, ...rest],
    lost:
      "buy 100 AAPL at 350.20 (order 1, 09:30:05): total is 45.00 in 2025-08-15 but 44.99 in the new reading",
  },
  "part of a filled quantity": {
    list: "TradeQueryHistoryEntrustList",
    change: ([first, ...rest]) => [{ ...first, businessAmount: "99" }, ...rest],
    lost:
      "buy 100 AAPL at 350.20 (order 1, 09:30:05): filledQuantity is 100 in 2025-08-15 but 99 in the new reading",
  },
};

for (const [what, { list, change, lost }] of Object.entries(takenBack)) {
  Deno.test(`exportDayBook() keeps a final day when ${what} is withdrawn, and reports it`, async () => {
    await using book = openBook(bookOf("us", 3), { markets: ["us"], refresh: true });
    await book.exportDay();
    const before = book.files(DAY);
    const key = `${list} P 20250815`;
    const right = book.broker.script;
    book.broker.script = { ...right, [key]: change(right[key]!) };
    const { ok, days, differences } = await book.exportDay();
    assertEquals([ok, days[0]?.action], [false, "disputed"]);
    assert(
      differences.some(({ check, message }) => check === "rows" && message === lost),
      differences[0]?.message,
    );
    assertEquals(book.files(DAY), before);
    book.broker.script = right;
    const { ok: isRight, days: [day] } = await book.exportDay();
    assertEquals([isRight, day?.action, book.names()], [true, "unchanged", [DAY]]);
  });
}

Deno.test("exportDayBook() accepts added rows and a fee that rises, and reports the journal line that changed with the fee", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"], refresh: true });
  await book.exportDay();
  const fills = bookOf("us", 4);
  const [first, ...rest] = fills["TradeQueryHistoryDeliverList P 20250815"]!;
  const lines = fills["TradeQueryHistoryFundJourList P 20250815"]!;
  book.broker.script = fills;
  const more = await book.exportDay();
  assertEquals([more.ok, more.days[0]?.action, more.days[0]?.rows.fills], [true, "replaced", 4]);
  fills["TradeQueryHistoryDeliverList P 20250815"] = [
    { ...first, fareVo: { fare0: "31.00", fare6: "15.00", faret: "46.00" } },
    ...rest,
  ];
  // The fee also changes the journal line. The old line is missing from the list, which a person has to review.
  lines[0] = { ...lines[0], businessBalance: "-35066.00" };
  const corrected = await book.exportDay();
  assertEquals(corrected.differences.map(({ list, expected }) => [list, expected]), [
    ["fund_journal", "buy-securities of -35065.00"],
  ]);
});

Deno.test("exportDayBook() keeps every row of every reading, and removes a reading that a later one contains", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"], refresh: true });
  await book.exportDay();
  const without = (orderId: string, extra: string[]) => {
    const all = bookOf("us", 3);
    const more = extra.map((id) => trade("us", id));
    return Object.fromEntries(
      Object.entries(all).map(([key, rows]) => [
        key,
        [
          ...rows.filter((row, index) => (row.entrustId ?? String(index + 1)) !== orderId),
          ...more.map(({ fill, line }) => key.includes("Jour") ? line : fill),
        ],
      ]),
    );
  };
  book.broker.script = without("1", ["8"]);
  await book.exportDay();
  book.broker.script = without("2", ["9"]);
  await book.exportDay();
  assertEquals(book.names(), [DAY, `${DAY}.disputed-1`, `${DAY}.disputed-2`]);
  const ordersIn = (name: string) =>
    book.files(name)["orders.jsonl"]!.trimEnd().split("\n").map((line) => JSON.parse(line).orderId).sort();
  assertEquals([ordersIn(DAY), ordersIn(`${DAY}.disputed-1`), ordersIn(`${DAY}.disputed-2`)], [
    ["1", "2", "3"],
    ["2", "3", "8"],
    ["1", "3", "9"],
  ]);
  // This reading contains the day and the first disputed reading; it still contradicts the second one.
  book.broker.script = without("", ["8"]);
  const third = await book.exportDay();
  assertEquals([third.ok, third.days[0]?.action, ordersIn(DAY)], [false, "disputed", ["1", "2", "3", "8"]]);
  assertEquals(book.names(), [DAY, `${DAY}.disputed-2`]);
  assertEquals([third.days[0]?.status, summaryOf(book.files(DAY)).contradicts], ["provisional", [
    `${DAY}.disputed-2`,
  ]]);
  assertStringIncludes(third.differences[0]!.message, `(order 9, 09:30:05) is in ${DAY}.disputed-2`);
  book.broker.script = without("", ["8", "9"]);
  const last = await book.exportDay();
  assertEquals([last.ok, last.days[0]?.action, last.days[0]?.status, book.names()], [
    true,
    "replaced",
    "final",
    [DAY],
  ]);
});

Deno.test("exportDayBook() keeps only the newest disputed reading while a gateway shows varying parts of a day", async () => {
  await using book = openBook(bookOf("us", 5), { markets: ["us"], refresh: true });
  await book.exportDay();
  for (const count of [4, 1, 3, 0, 2]) {
    book.broker.script = bookOf("us", count);
    const { differences } = await book.exportDay();
    assertEquals(
      differences.filter(({ check }) => check === "rows").length,
      (5 - count) * 3,
      `${count} are left`,
    );
    assertEquals(book.names(), [DAY, `${DAY}.disputed-1`]);
    assertEquals(summaryOf(book.files(`${DAY}.disputed-1`)).rows.fills, count);
  }
});

Deno.test("exportDayBook() follows the decision of a person who moves one of two readings away", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"] });
  await book.exportDay();
  book.broker.script = bookOf("us", 2);
  await book.exportDay({ refresh: true });
  assertEquals(book.names(), [DAY, `${DAY}.disputed-1`]);
  // The person decides for the new reading.
  Deno.removeSync(`${book.out}/${DAY}`, { recursive: true });
  const right = await book.exportDay();
  assertEquals([right.ok, right.days[0]?.action, right.days[0]?.status, book.names()], [
    true,
    "written",
    "final",
    [DAY],
  ]);
  // The person decides for the old reading.
  book.broker.script = bookOf("us", 1);
  await book.exportDay({ refresh: true });
  Deno.removeSync(`${book.out}/${DAY}.disputed-1`, { recursive: true });
  const old = await book.exportDay();
  assertEquals([old.ok, old.days[0]?.action, old.days[0]?.rows.fills], [true, "kept", 2]);
});

Deno.test("exportDayBook() reads a final day again while a reading contradicts it", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"] });
  await book.exportDay();
  book.broker.script = bookOf("us", 2);
  await book.exportDay({ refresh: true });
  const calls = book.broker.calls.length;
  const again = await book.exportDay();
  assertEquals([again.ok, again.days[0]?.action], [false, "disputed"]);
  assert(book.broker.calls.length > calls + 3, "it was read");
});

Deno.test("exportDayBook() reports no loss when Hong Kong's fills are merged and lines get their fees", async () => {
  const { fill, line } = trade("hk", "17");
  const { fareVo: _, ...fresh } = fill;
  const half = { ...fresh, businessAmount: "50", businessBalance: "17510.00" };
  await using book = openBook({
    "TradeQueryRealDeliverList K": [half, { ...half, businessTime: "100000" }],
    "TradeQueryRealEntrustList K": [fresh],
    "TradeQueryRealFundJourList K": [
      { businessBalance: "-35100.00", type: "23" },
      { businessBalance: "-17510.00", type: "5" },
      { businessBalance: "-17510.00", type: "5" },
      { businessBalance: "1000.00", type: "95" },
    ],
  });
  const first = await book.exportDay({ now: () => Date.parse("2025-08-15T15:00:00+08:00") });
  assertEquals([first.days[0]?.status, first.days[0]?.rows], ["provisional", {
    fills: 2,
    orders: 1,
    fund_journal: 4,
  }]);
  const deposit = { businessBalance: "1000.00", type: "95", time: "2025-08-15 11:00:00" };
  const history = (lines: WireRow[], merged = fill) => ({
    "TradeQueryHistoryDeliverList K 20250815": [merged],
    "TradeQueryHistoryEntrustList K 20250815": [merged],
    "TradeQueryHistoryFundJourList K 20250815": lines,
  });
  book.broker.script = history([line, deposit]);
  const cleared = await book.exportDay({ now: () => EVENING });
  assertEquals([cleared.ok, cleared.days[0]?.action, cleared.days[0]?.status], [true, "replaced", "final"]);
  assertEquals(cleared.days[0]?.rows, { fills: 1, orders: 1, fund_journal: 2 });
});

Deno.test("exportDayBook() reports no loss while a Hong Kong order continues to fill in the history", async () => {
  const { fill, line } = trade("hk", "17");
  const at = (quantity: string, amount: string, net: string, time: string) => {
    const merged = { ...fill, businessAmount: quantity, businessBalance: amount, businessTime: time };
    return {
      "TradeQueryHistoryDeliverList K 20250815": [merged],
      "TradeQueryHistoryEntrustList K 20250815": [merged],
      "TradeQueryHistoryFundJourList K 20250815": [{ ...line, businessBalance: net }],
    };
  };
  await using book = openBook(at("100", "35020.00", "-35065.00", "100000"));
  await book.exportDay({ now: () => Date.parse("2025-08-15T11:00:00+08:00") });
  book.broker.script = at("300", "105060.00", "-105105.00", "140000");
  const { ok, days: [day] } = await book.exportDay({ now: () => Date.parse("2025-08-15T15:00:00+08:00") });
  assertEquals([ok, day?.action, day?.status], [true, "replaced", "provisional"]);
  // The control: the same change after the day is cleared.
  const cleared = await book.exportDay({ now: () => EVENING });
  assertEquals(cleared.days[0]?.status, "final");
  book.broker.script = at("400", "140080.00", "-140125.00", "150000");
  const changed = await book.exportDay({ now: () => EVENING });
  assertEquals(changed.differences.map(({ list }) => list), ["fills", "fund_journal"]);
});

Deno.test("exportDayBook() reports no loss when the broker changes the wording of a line", async () => {
  const script = bookOf("us", 2);
  await using book = openBook(script, { markets: ["us"], refresh: true });
  await book.exportDay();
  const key = "TradeQueryHistoryFundJourList P 20250815";
  book.broker.script = { ...script, [key]: script[key]!.map((line) => ({ ...line, typeDesc: "买入" })) };
  const { ok, days: [day] } = await book.exportDay();
  assertEquals([ok, day?.action], [true, "replaced"]);
});

Deno.test("exportDayBook() finds missing rows although fills were merged and lines got their fees", async () => {
  const { fill, line } = trade("hk", "17");
  const { fareVo: _, ...fresh } = fill;
  await using book = openBook({
    "TradeQueryRealDeliverList K": [fresh, { ...fresh, businessTime: "100000" }],
    "TradeQueryRealEntrustList K": [{ ...fresh, businessAmount: "200" }],
    "TradeQueryRealFundJourList K": [
      { businessBalance: "-35020.00", type: "5" },
      { businessBalance: "-35020.00", type: "5" },
      { businessBalance: "1000.00", type: "95" },
    ],
  });
  await book.exportDay({ now: () => Date.parse("2025-08-15T15:00:00+08:00") });
  book.broker.script = {
    "TradeQueryHistoryDeliverList K 20250815": [fill],
    "TradeQueryHistoryEntrustList K 20250815": [fill],
    "TradeQueryHistoryFundJourList K 20250815": [line],
  };
  const { ok, days, differences } = await book.exportDay({ now: () => EVENING });
  assertEquals([ok, days[0]?.action], [false, "disputed"]);
  assertEquals(differences.map(({ message }) => message), [
    "00700.HK buy: filledQuantity totals 200 in 2025-08-15 but 100 in the new reading",
    "00700.HK buy: fillAmount totals 70040.00 in 2025-08-15 but 35020.00 in the new reading",
    "buy 200 00700.HK at 350.20 (order 17, 09:30:05): filledQuantity is 200 in 2025-08-15 but 100 in the new reading",
    "funds-deposit of 1000.00 is in 2025-08-15 but not in the new reading",
  ]);
});

Deno.test("exportDayBook() reports a row that is in the history but not in today's list", async () => {
  const [first, second, third] = ["1", "2", "3"].map((id) => trade("us", id).fill);
  await using book = openBook({
    "TradeQueryHistoryDeliverList P 20250815": [first!],
    "TradeQueryHistoryEntrustList P 20250815": [first!, second!, third!],
    "TradeQueryRealDeliverList P": [second!, third!],
    "TradeQueryRealEntrustList P": [first!, second!, third!],
  }, { markets: ["us"] });
  const again = () => book.exportDay({ now: () => Date.parse("2025-08-16T12:00:00+08:00") });
  const { ok, differences } = await again();
  assertEquals(ok, false);
  assertEquals(differences.filter(({ check }) => check === "rows").map(({ message }) => message), [
    "buy 100 AAPL at 350.20 (order 1, 09:30:05) is in the history but not in today's list",
  ]);
  // The day keeps both lists, so no row is missing when the export reads both lists again.
  const ordersIn = (name: string) =>
    book.files(DAY)[name]!.trimEnd().split("\n").map((line) => JSON.parse(line).orderId);
  assertEquals([ordersIn("fills.jsonl"), ordersIn("fills.history.jsonl")], [["2", "3"], ["1"]]);
  assertEquals((await again()).days[0]?.action, "unchanged");
  // If the history loses a row that today's list never had, the export reports that too.
  book.broker.script = {
    ...book.broker.script,
    "TradeQueryHistoryDeliverList P 20250815": [],
    "TradeQueryRealDeliverList P": [second!, third!],
  };
  const lost = await again();
  assertEquals([lost.ok, lost.days[0]?.action], [false, "disputed"]);
  assertStringIncludes(
    lost.differences[0]!.message,
    "(order 1, 09:30:05) is in 2025-08-15 but not in the new reading",
  );
});

Deno.test("exportDayBook() keeps a provisional reading with more rows as disputed beside a final day", async () => {
  await using book = openBook(bookOf("us", 2), { markets: ["us"], refresh: true });
  await book.exportDay();
  const before = book.files(DAY);
  const more = bookOf("us", 3);
  const fills = more["TradeQueryHistoryDeliverList P 20250815"]!;
  const { fareVo: _, ...fresh } = fills[2]!;
  more["TradeQueryHistoryDeliverList P 20250815"] = [...fills.slice(0, 2), fresh];
  book.broker.script = more;
  const { ok, days: [day], differences } = await book.exportDay();
  assertEquals([ok, day?.action, book.files(DAY)], [false, "disputed", before]);
  assertStringIncludes(
    differences[0]!.message,
    "(order 3, 09:30:05) is in the new reading but not in 2025-08-15",
  );
  assertEquals(summaryOf(book.files(`${DAY}.disputed-1`)).rows.fills, 3);
  // The reading becomes the day once it is final itself.
  book.broker.script = bookOf("us", 3);
  const final = await book.exportDay();
  assertEquals([final.ok, final.days[0]?.status, final.days[0]?.rows.fills, book.names()], [
    true,
    "final",
    3,
    [DAY],
  ]);
});
