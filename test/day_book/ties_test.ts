import { assertEquals, assertStringIncludes } from "@std/assert";
import { checkJournal, checkOrders } from "../../lib/day_book/checks/day_checks.ts";
import { type DayBookFormat, exportDayBook } from "../../lib/day_book/mod.ts";
import { newTally, tallyRow } from "../../lib/day_book/checks/tally.ts";
import { sideOfFill, sideOfLine, type TradeRow } from "../../lib/day_book/rows/trades.ts";
import { readTree, type Script, scriptedGateway, type WireRow } from "./scripted_gateway.ts";
import { temporaryFolder } from "./simulated.ts";

/** Fills as `[side, amount, fees, net]`, with the net amount computed by hand. */
type Fill = [side: string, amount: string, fees: string, net: string];
type Line = [type: string, amount: string];

function journalCheck(fills: Fill[], lines: Line[]) {
  const [fillTally, journal] = [newTally(), newTally()];
  const fillRows: TradeRow[] = [];
  const lineRows: TradeRow[] = [];
  for (const [index, [side, fillAmount, total, net]] of fills.entries()) {
    const row = { symbol: "00700.HK", side, fillAmount, fees: { total } };
    tallyRow(fillTally, row, { list: "fills", market: "hk", day: "2025-08-15", merged: true });
    fillRows.push({ rowKey: `fill ${index}`, side: sideOfFill(side)!, net });
  }
  for (const [index, [type, amount]] of lines.entries()) {
    tallyRow(journal, { type, amount }, {
      list: "fund_journal",
      market: "hk",
      day: "2025-08-15",
      merged: false,
    });
    const side = sideOfLine(type);
    if (side !== undefined) lineRows.push({ rowKey: `line ${index}`, side, net: amount });
  }
  const { result, detail, findings } = checkJournal({
    fills: fillTally,
    journal,
    currency: "HKD",
    fillRows: () => fillRows,
    lineRows: () => lineRows,
  });
  return { result, detail, rows: findings.map(({ rowKey, actual }) => rowKey ?? `sum ${actual}`) };
}

const three: Fill[] = [
  ["buy", "1000.00", "5.00", "-1005.00"],
  ["buy", "2000.00", "6.00", "-2006.00"],
  ["sell", "3000.00", "7.00", "2993.00"],
];

Deno.test("checkJournal() finds the line of each fill, in any order and notation", () => {
  const lines: Line[] = [
    ["sold", "2993"],
    ["interest-for-client", "0.01"],
    ["buy-securities", "-2006.000"],
    ["buy-securities", "-1005.0"],
  ];
  assertEquals(journalCheck(three, lines), {
    result: "passed",
    detail: "-18.000 HKD in the fills net of fees and in buy-securities, sold, line by line",
    rows: [],
  });
});

Deno.test("checkJournal() names the rows when two lines are wrong by opposite amounts", () => {
  const { result, detail, rows } = journalCheck(three, [
    ["buy-securities", "-905.00"],
    ["buy-securities", "-2106.00"],
    ["sell-securities", "2993.00"],
  ]);
  assertEquals([result, rows], ["differs", ["fill 0", "fill 1", "line 0", "line 1"]]);
  assertEquals(
    detail,
    "2 fills without a matching line, 2 lines without a matching fill; the sums are equal, -18.00 HKD",
  );
});

Deno.test("checkJournal() finds a cent too much and a cent too little", () => {
  for (const amount of ["2993.01", "2992.99"]) {
    const { result, rows } = journalCheck(three, [
      ["buy-securities", "-1005.00"],
      ["buy-securities", "-2006.00"],
      ["sell-securities", amount],
    ]);
    assertEquals([result, rows], ["differs", ["fill 2", "line 2"]], amount);
    const summed = journalCheck(three, [["buy-securities", "-3011.00"], ["sell-securities", amount]]);
    assertEquals([summed.result, summed.rows.length], ["differs", 1], `${amount}, one line for each side`);
  }
});

Deno.test("checkJournal() names a missing line, and a line without a fill", () => {
  const few = journalCheck(three, [["buy-securities", "-1005.00"], ["sell-securities", "2993.00"]]);
  assertEquals([few.result, few.rows], ["differs", ["fill 1"]]);
  const more: Line[] = [
    ["buy-securities", "-1005.00"],
    ["buy-securities", "-1005.00"],
    ["buy-securities", "-2006.00"],
    ["sell-securities", "2993.00"],
  ];
  assertEquals(journalCheck(three, more).rows, ["line 1"]);
  assertEquals(journalCheck([], [["buy-securities", "-1.00"], ["sell-securities", "1.00"]]).rows, [
    "line 0",
    "line 1",
  ]);
});

Deno.test("checkJournal() distinguishes sides", () => {
  const { result, rows } = journalCheck(three, [
    ["buy-securities", "-1005.00"],
    ["sell-securities", "-2006.00"],
    ["sell-securities", "2993.00"],
  ]);
  // The sums are equal.
  assertEquals([result, rows], ["differs", ["fill 1", "line 1"]]);
  const two: Fill[] = [["sell", "10.00", "0", "10.00"], ["buy", "10.00", "0", "-10.00"]];
  assertEquals(
    journalCheck(two, [["buy-securities", "10.00"], ["sell-securities", "-10.00"]]).rows.length,
    4,
  );
});

Deno.test("checkJournal() compares only sums if the broker does not book fill by fill, and says so", () => {
  const { result, detail, rows } = journalCheck(three, [["buy-securities", "-3011.00"], [
    "sell-securities",
    "2993.00",
  ]]);
  assertEquals([result, rows], ["passed", []]);
  assertStringIncludes(detail, "as sums: 3 fills and 2 lines do not match one by one");
  const off = journalCheck(three, [["buy-securities", "-3000.00"], ["sell-securities", "2982.01"]]);
  assertEquals([off.result, off.rows], ["differs", ["sum -17.99"]]);
  assertStringIncludes(off.detail, "total -18.00 HKD, the journal -17.99 (off by 0.01)");
});

Deno.test("checkJournal() reports fills without any line as a difference", () => {
  const { result, detail, rows } = journalCheck(three, [["interest-for-client", "5.00"]]);
  assertEquals([result, rows], ["differs", ["sum no lines"]]);
  assertEquals(
    detail,
    "the journal has no line for a trade; the 3 fills net of fees total -18.00 HKD",
  );
  assertEquals(journalCheck([], [["interest-for-client", "5.00"]]).result, "passed");
});

Deno.test("checkOrders() finds wrong quantities in both directions, and missing orders", () => {
  const tallyOf = (list: "fills" | "orders", ...quantities: string[]) => {
    const tally = newTally();
    for (const filledQuantity of quantities) {
      const row = { symbol: "00700.HK", side: "buy", filledQuantity };
      tallyRow(tally, row, { list, market: "hk", day: "2025-08-15", merged: true });
    }
    return tally;
  };
  const fills = tallyOf("fills", "100", "200");
  assertEquals(checkOrders(fills, tallyOf("orders", "300.0")).result, "passed");
  for (const ordered of ["299", "301"]) {
    const { result, findings } = checkOrders(fills, tallyOf("orders", ordered));
    assertEquals([result, findings[0]?.expected, findings[0]?.actual], ["differs", ordered, "300"]);
  }
  assertEquals(checkOrders(fills, tallyOf("orders")).result, "differs");
  assertEquals(checkOrders(tallyOf("fills"), tallyOf("orders")).result, "passed");
});

Deno.test("tallyRow() reads a date at the start of a time, and no date from a Unix time", () => {
  const findings = (time: string) =>
    tallyRow(newTally(), { type: "sold", amount: "1", time }, {
      list: "fund_journal",
      market: "hk",
      day: "2025-08-15",
      merged: false,
    }).length;
  for (const time of ["2025-08-15 09:30:05", "20250815", "20250815093005"]) {
    assertEquals(findings(time), 0, time);
  }
  for (const time of ["2025-08-14 09:30:05", "20250814", "20250814093005"]) {
    assertEquals(findings(time), 1, time);
  }
  // Seconds and milliseconds; the last two are from the years 2033 and 2034.
  for (const time of ["1755221405", "1755221405000", "2011121314", "2025081409000"]) {
    assertEquals(findings(time), 0, time);
  }
});

const DAY = "2025-08-15";
const fill: WireRow = {
  stockCode: "00700.HK",
  stockName: 'Two\r\nlines, "quoted"',
  exchangeType: "K",
  entrustId: "1",
  entrustBs: "1",
  businessPrice: "10.00",
  businessAmount: "100",
  businessBalance: "1000.00",
  date: "20250815",
  fareVo: { fare0: "5.00", faret: "5.00" },
};
const fills = [fill, { ...fill, entrustId: "2", businessBalance: "1000.00" }, {
  ...fill,
  entrustId: "3",
  businessAmount: "200",
  businessBalance: "2000.00",
}];
const lines = ["-1005.00", "-1005.00", "-2005.00"].map((businessBalance) => ({
  businessBalance,
  type: "5",
  time: "2025-08-15 09:30:05",
}));

const scriptOf = (journal: WireRow[], orders: WireRow[] = fills): Script => ({
  "TradeQueryHistoryDeliverList K 20250815": fills,
  "TradeQueryHistoryEntrustList K 20250815": orders,
  "TradeQueryHistoryFundJourList K 20250815": journal,
});

function exporting(script: Script, formats?: DayBookFormat[]) {
  const broker = scriptedGateway(script);
  const folder = temporaryFolder();
  return {
    broker,
    folder,
    exportDay: async (refresh = false) => {
      const { days: [day], ...result } = await exportDayBook(broker.client, {
        markets: ["hk"],
        accounts: ["securities"],
        from: DAY,
        to: DAY,
        out: folder.path,
        now: () => Date.parse("2025-08-20T10:00:00+08:00"),
        refresh,
        ...(formats && { formats }),
      });
      return { ...result, day: day! };
    },
    async [Symbol.asyncDispose]() {
      await broker[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

for (
  const [what, spoiled, check] of [
    ["journal", scriptOf([]), "journal"],
    ["orders", scriptOf(lines, []), "orders"],
  ] as const
) {
  Deno.test(`exportDayBook() with no ${what} is not ok and not final, and the next run corrects it`, async () => {
    await using book = exporting(spoiled);
    const first = await book.exportDay();
    assertEquals(first.differences.map((each) => each.check), [check]);
    assertEquals([first.ok, first.day.status, first.day.action], [false, "provisional", "written"]);
    assertEquals(first.day.provisionalBecause, ["hk: 1 difference was found"]);
    book.broker.script = scriptOf(lines);
    const second = await book.exportDay();
    assertEquals([second.ok, second.day.status, second.day.action], [true, "final", "replaced"]);
    assertEquals((await book.exportDay()).day.action, "kept");
  });
}

for (const formats of [["csv"], ["jsonl"]] as DayBookFormat[][]) {
  Deno.test(`exportDayBook() names fills and lines that do not match by their keys, from ${formats}`, async () => {
    const swapped = [{ ...lines[0], businessBalance: "-1105.00" }, lines[1]!, {
      ...lines[2],
      businessBalance: "-1905.00",
    }];
    await using book = exporting(scriptOf(swapped), formats);
    const { ok, differences } = await book.exportDay();
    assertEquals(ok, false);
    assertEquals(differences.map(({ list, expected, actual }) => [list, expected, actual]), [
      ["fills", "-1005.00", "no line"],
      ["fills", "-2005.00", "no line"],
      ["fund_journal", "no line", "-1105.00"],
      ["fund_journal", "no line", "-1905.00"],
    ]);
    const text = Object.entries(readTree(book.folder.path)).filter(([name]) =>
      /(fills|journal)\./.test(name)
    );
    for (const { rowKey } of differences) {
      assertEquals(text.filter(([, rows]) => rows.includes(rowKey!)).length, 1, rowKey);
    }
  });
}

Deno.test("exportDayBook() keeps a final day when a refresh returns the same journal lines without their time", async () => {
  await using book = exporting(scriptOf(lines));
  assertEquals((await book.exportDay()).day.action, "written");
  const before = readTree(book.folder.path);
  book.broker.script = scriptOf(lines.map((line) => ({ ...line, time: "" })));
  const { ok, day } = await book.exportDay(true);
  assertEquals([ok, day.action, day.status, day.differences], [true, "kept-final", "final", 0]);
  assertEquals(readTree(book.folder.path), before);
});

Deno.test("exportDayBook() reads a final day again if its summary shows that the journal was not compared", async () => {
  await using book = exporting(scriptOf(lines));
  await book.exportDay();
  const path = `${book.folder.path}/${DAY}/summary.json`;
  const summary = JSON.parse(Deno.readTextFileSync(path));
  for (const each of summary.checks) if (each.check === "journal") each.result = "not-checkable";
  Deno.writeTextFileSync(path, JSON.stringify(summary));
  assertEquals((await book.exportDay()).day.action, "replaced");
  assertEquals((await book.exportDay()).day.action, "kept");
});
