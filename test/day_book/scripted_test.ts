import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DayBookError, type DayBookOptions, exportDayBook } from "../../lib/day_book/mod.ts";
import { InvalidParamsError } from "../../lib/errors.ts";
import { readTree, type Script, scriptedGateway, type WireRow } from "./scripted_gateway.ts";
import { temporaryFolder } from "./simulated.ts";

const LATER = Date.parse("2025-08-20T10:00:00+08:00");
const DAY = "2025-08-15";
const FILLS = "TradeQueryHistoryDeliverList";
const ORDERS = "TradeQueryHistoryEntrustList";
const JOURNAL = "TradeQueryHistoryFundJourList";

const buy: WireRow = {
  stockCode: "00700.HK",
  stockName: 'Tencent, "HK"',
  exchangeType: "K",
  entrustId: "0017",
  entrustBs: "1",
  entrustTypeNum: "3",
  businessPrice: "350.20",
  businessAmount: "100",
  businessBalance: "35020.00",
  date: "20250815",
  businessTime: "093005",
  fareVo: {
    fare0: "3.00",
    fare1: "36.00",
    fare2: "1.98",
    fare3: "0.95",
    fare6: "15.00",
    fare9: "0.05",
    farex: "2.00",
    faret: "58.98",
  },
};
const bought: WireRow = {
  businessBalance: "-35078.98",
  type: "5",
  typeDesc: "buy",
  fundJourParentType: "1",
  time: "2025-08-15 09:30:05",
};

/** Returns a book in which each fill has its own order, unless orders are given. */
function bookOf(fills: WireRow[], journal: WireRow[], orders: WireRow[] = fills, code = "K"): Script {
  return {
    [`${FILLS} ${code} 20250815`]: fills,
    [`${JOURNAL} ${code} 20250815`]: journal,
    [`${ORDERS} ${code} 20250815`]: orders,
  };
}

async function exported(script: Script, options: Partial<DayBookOptions> = {}) {
  await using broker = scriptedGateway(script);
  using folder = temporaryFolder();
  const result = await exportDayBook(broker.client, {
    markets: ["hk"],
    accounts: ["securities"],
    from: DAY,
    to: DAY,
    out: folder.path,
    now: () => LATER,
    ...options,
  });
  const files = readTree(folder.path);
  const read = (name: string) => files[`${DAY}/${name}`] ?? "";
  return { result, read, files, summary: JSON.parse(read("summary.json")), calls: broker.calls };
}

const oneDay = {
  markets: ["hk"],
  accounts: ["securities"],
  from: DAY,
  to: DAY,
  now: () => LATER,
} as const;

const usBook = bookOf([{ ...buy, exchangeType: "P" }], [bought], [{ ...buy, exchangeType: "P" }], "P");

/** Replaces the digests of row keys, for tests that do not check them. */
const withoutDigests = (text: string) => text.replaceAll(/\/[0-9a-f]{16}\//g, "/#/");

Deno.test("exportDayBook() writes fills as CSV with each fee in its column, and two identical rows twice", async () => {
  const { result, read } = await exported(bookOf([buy, buy], [bought, bought]));
  assertEquals(
    withoutDigests(read("fills.csv")),
    "rowKey,market,currency,symbol,name,orderId,side,orderType,orderTypeText,price,quantity,fillPrice," +
      "filledQuantity,unfilledQuantity,fillAmount,date,orderTime,fillTime,status,statusText,canCancel,canAmend," +
      "counterpartySeat,remarkType,remark,venue,commission,stampDutyOrSecFee,tradingFeeOrTaf,tradingLevy," +
      "optionRegulatoryFee,optionClearingFee,platformFee,reservedFee,auditTrailFee,disputeCouncilLevy," +
      "settlementFee,total\r\n" +
      'hk/2025-08-15/fills/#/1,hk,HKD,00700.HK,"Tencent, ""HK""",0017,buy,limit,,,,350.20,100,,35020.00,' +
      "2025-08-15,,09:30:05,,,,,,,,,3.00,36.00,1.98,0.95,,,15.00,,,0.05,2.00,58.98\r\n" +
      'hk/2025-08-15/fills/#/2,hk,HKD,00700.HK,"Tencent, ""HK""",0017,buy,limit,,,,350.20,100,,35020.00,' +
      "2025-08-15,,09:30:05,,,,,,,,,3.00,36.00,1.98,0.95,,,15.00,,,0.05,2.00,58.98\r\n",
  );
  assertEquals(result.differences, []);
  assertEquals([result.ok, result.rows, result.days[0]?.status], [true, 6, "final"]);
});

Deno.test("exportDayBook() writes the journal with code and meaning, and keeps codes that no table lists", async () => {
  const { read, summary } = await exported(bookOf([], [{ businessBalance: "1.5", type: 777 }, bought]));
  assertEquals(
    withoutDigests(read("fund_journal.csv")),
    "rowKey,market,currency,amount,type,typeText,parentType,time,typeCode,typeMeaning\r\n" +
      "hk/2025-08-15/fund_journal/#/1,hk,HKD,1.5,unlisted:777,,,,777,\r\n" +
      "hk/2025-08-15/fund_journal/#/1,hk,HKD,-35078.98,buy-securities,buy,1,2025-08-15 09:30:05,5,buy securities\r\n",
  );
  assertEquals(
    withoutDigests(read("fund_journal.jsonl")).split("\n")[0],
    '{"rowKey":"hk/2025-08-15/fund_journal/#/1","market":"hk","currency":"HKD","amount":"1.5","type":"unlisted:777",' +
      '"typeCode":"777"}',
  );
  assertEquals(summary.unlistedCodes, { "hk fund_journal type 777": 1 });
});

Deno.test("exportDayBook() sums fees, journal types and money by currency", async () => {
  const sell = { ...buy, entrustBs: "2", entrustId: "18" };
  const sold = { ...bought, type: "6", businessBalance: "34961.02" };
  const deposit = { businessBalance: "1000", type: "95" };
  const { summary } = await exported(bookOf([buy, sell, buy], [bought, sold, bought, deposit]));
  assertEquals(summary.totals, {
    HKD: {
      bought: "70040.00",
      cashOfFills: "-35196.94",
      fees: {
        commission: "9.00",
        disputeCouncilLevy: "0.15",
        platformFee: "45.00",
        settlementFee: "6.00",
        stampDutyOrSecFee: "108.00",
        total: "176.94",
        tradingFeeOrTaf: "5.94",
        tradingLevy: "2.85",
      },
      journal: {
        "buy-securities": { amount: "-70157.96", code: "5", lines: 2 },
        "funds-deposit": { amount: "1000", code: "95", lines: 1 },
        "sell-securities": { amount: "34961.02", code: "6", lines: 1 },
      },
      journalTotal: "-34196.94",
      markets: ["hk"],
      sold: "35020.00",
    },
  });
  assertEquals(summary.rows, { fills: 3, fund_journal: 4, orders: 3 });
});

Deno.test("exportDayBook() writes exactly the files that the summary lists", async () => {
  const script = { ...bookOf([buy], [bought]), ...usBook };
  const { files, summary } = await exported(script, { markets: ["hk", "us"] });
  const names = [
    "columns.json",
    "fills.csv",
    "fills.jsonl",
    "fund_journal.csv",
    "fund_journal.jsonl",
    "orders.csv",
  ];
  assertEquals(Object.keys(summary.files), [...names, "orders.jsonl"]);
  assertEquals(Object.keys(files), [
    ".day-book.lock",
    ...[...names, "orders.jsonl", "summary.json"].map((name) => `${DAY}/${name}`),
  ]);
  assertEquals(files[`${DAY}/fills.csv`]!.trimEnd().split("\r\n").map((row) => row.split(",")[1]), [
    "market",
    "hk",
    "us",
  ]);
});

Deno.test("exportDayBook() lists every difference in the file and in its result, with its row if it is about one row", async () => {
  const badFees = { ...buy, fareVo: { fare0: "3.00", faret: "3.01" } };
  const badAmount = { ...buy, entrustId: "19", businessBalance: "35021.00" };
  const orders = [{ ...buy, businessAmount: "300" }];
  const { result, read, summary } = await exported(bookOf([badFees, badAmount], [bought, bought], orders));
  assertEquals(
    result.differences.map(({ check, list, expected, actual, rowKey }) => [
      check,
      list,
      expected,
      actual,
      rowKey !== undefined,
    ]),
    [
      ["fees", "fills", "3.00", "3.01", true],
      ["amounts", "fills", "35020.00", "35021.00", true],
      ["orders", "fills", "300", "200", false],
      ["journal", "fund_journal", "-70102.99", "-70157.96", false],
    ],
  );
  assertEquals([result.ok, result.differenceCount, summary.differences], [false, 4, 4]);
  const rows = read("differences.csv").split("\r\n");
  assertEquals(rows[0], "check,market,list,rowKey,expected,actual,message");
  assertStringIncludes(rows[1]!, "the fees add up to 3.00, but the total is 3.01");
  assertStringIncludes(rows[1]!, result.differences[0]!.rowKey!);
  assertEquals(rows.length, 6);
});

Deno.test("exportDayBook() accepts a rounded mean price of a merged fill, but not in US fills", async () => {
  // 600 shares at 10.00 and 300 at 10.02: the mean 10.00666… is shown as 10.0067.
  const merged = { ...buy, businessPrice: "10.0067", businessAmount: "900", businessBalance: "9006.00" };
  const line = { ...bought, businessBalance: "-9064.98" };
  const hk = await exported(bookOf([merged], [line]));
  assertEquals(hk.result.differences, []);
  const fills = [{ ...merged, exchangeType: "P" }];
  const us = await exported(bookOf(fills, [line], fills, "P"), { markets: ["us"] });
  assertEquals(us.result.differences.map(({ check, message }) => [check, message]), [
    ["amounts", "10.0067 times 900 is 9006.0300, but the amount is 9006.00 (off by 0.0300)"],
  ]);
});

Deno.test("exportDayBook() counts a US option as a hundred shares", async () => {
  const option = {
    ...buy,
    stockCode: "AAPL250815C2300000",
    exchangeType: "P",
    businessPrice: "1.25",
    businessAmount: "2",
    businessBalance: "250.00",
  };
  const { result } = await exported(
    bookOf([option], [{ ...bought, businessBalance: "-308.98" }], [option], "P"),
    { markets: ["us"] },
  );
  assertEquals(result.differences, []);
});

Deno.test("exportDayBook() keeps every digit from the wire to the file and into the sums", async () => {
  const digits = "123456789012345678.123456789";
  const huge = {
    ...buy,
    businessPrice: digits,
    businessAmount: "1",
    businessBalance: digits,
    fareVo: {
      fare0: "raw:0.1234567890123456789012345",
      fare6: "1e-20",
      faret: "0.1234567890123456789112345",
    },
  };
  const { read, result, summary } = await exported(
    bookOf([huge], [{ ...bought, businessBalance: "-123456789012345678.2469135780123456789112345" }]),
  );
  const [, row = ""] = read("fills.csv").split("\r\n");
  assertStringIncludes(row, `,${digits},1,,${digits},`);
  assertStringIncludes(row, ",0.1234567890123456789012345,");
  assertStringIncludes(row, ",1e-20,");
  assertEquals(result.differences, []);
  assertEquals(summary.totals.HKD.bought, digits);
  assertEquals(summary.totals.HKD.cashOfFills, "-123456789012345678.2469135780123456789112345");
});

Deno.test("exportDayBook() reports unreadable numbers, and rows of other days and other markets", async () => {
  const odd = [
    { ...buy, businessBalance: "n/a", entrustId: "1" },
    { ...buy, date: "20250814", entrustId: "2" },
    { ...buy, exchangeType: "P", entrustId: "3" },
    { ...buy, exchangeType: "9", entrustBs: "7", entrustId: "4" },
  ];
  const orders = [{ ...buy, businessAmount: "300" }, { ...buy, entrustBs: "7" }];
  const { result, read, summary } = await exported(bookOf(odd, [], orders));
  assertEquals(result.differences.map(({ check, expected, actual }) => [check, expected, actual]), [
    ["values", "a decimal", "n/a"],
    ["values", "2025-08-15", "2025-08-14"],
    ["values", "hk", "us"],
  ]);
  assertEquals(read("fills.csv").split("\r\n").length, 6);
  assertEquals(summary.unlistedCodes, {
    "hk fills market 9": 1,
    "hk fills side 7": 1,
    "hk orders side 7": 1,
  });
  const [journal] = summary.checks.filter(({ check }: { check: string }) => check === "journal");
  assertEquals(journal.result, "not-checkable");
  assertEquals(journal.detail, "2 fills have no amount or no known side");
  assertEquals(summary.status, "provisional");
});

Deno.test("exportDayBook() documents each column with its wire code", async () => {
  const { read } = await exported(bookOf([], []));
  const { columns } = JSON.parse(read("columns.json"));
  const [header = ""] = read("fills.csv").split("\r\n");
  assertEquals(columns.fills.map(({ name }: { name: string }) => name).join(), header);
  const find = (name: string) => columns.fills.find((column: { name: string }) => column.name === name);
  assertEquals(find("platformFee"), {
    name: "platformFee",
    wire: "fareVo.fare6",
    meaning: "fee: platform fee",
    unit: "listing's currency",
  });
  assertEquals([find("total").wire, find("fillAmount").wire, find("side").wire], [
    "fareVo.faret",
    "businessBalance",
    "entrustBs",
  ]);
  assertEquals(find("side").codes[1], { code: "2", name: "sell", meaning: "sell (close long)" });
});

Deno.test("exportDayBook() reads all pages to the end, each row once", async () => {
  const fills = Array.from({ length: 250 }, (_, index) => ({ ...buy, entrustId: String(index) }));
  const { read, calls, summary } = await exported(bookOf(fills, []), { formats: ["jsonl"] });
  const lines = read("fills.jsonl").trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.map(({ orderId }) => orderId), Array.from({ length: 250 }, (_, index) => String(index)));
  assertEquals(new Set(lines.map(({ rowKey }) => rowKey)).size, 250);
  assertEquals(calls.filter((call) => call.startsWith(FILLS)), [
    `${FILLS} K 20250815 0`,
    `${FILLS} K 20250815 99`,
    `${FILLS} K 20250815 198`,
    // A server may use smaller pages, so the export must check that no row follows row 249.
    `${FILLS} K 20250815 249`,
  ]);
  assertEquals(summary.files["fills.csv"], undefined);
});

Deno.test("exportDayBook() creates a folder for a day without trading only if the day has rows", async () => {
  const interest = { businessBalance: "0.42", type: "122", time: "2025-08-16 08:00:00" };
  const { result } = await exported({ [`${JOURNAL} K 20250816`]: [interest] }, {
    from: "2025-08-15",
    to: "2025-08-17",
  });
  assertEquals(result.days.map(({ day, rows }) => [day, rows.fund_journal]), [
    ["2025-08-15", 0],
    ["2025-08-16", 1],
  ]);
});

Deno.test("exportDayBook() exports days that no calendar covers, and marks them", async () => {
  const far = { ...buy, date: "20350815" };
  await using broker = scriptedGateway({
    [`${FILLS} K 20350815`]: [far],
    [`${ORDERS} K 20350815`]: [far],
    [`${JOURNAL} K 20350815`]: [{ ...bought, time: "2035-08-15 09:30:05" }],
  });
  broker.clock = () => Date.parse("2035-09-01T00:00:00Z");
  using folder = temporaryFolder();
  await exportDayBook(broker.client, {
    markets: ["hk"],
    accounts: ["securities"],
    from: "2035-08-14",
    to: "2035-08-19",
    out: folder.path,
    now: broker.clock,
  });
  const days = [...Deno.readDirSync(folder.path)].map(({ name }) => name).filter((name) =>
    name.startsWith("2")
  );
  // The eighteenth and nineteenth are a weekend without rows.
  assertEquals(days.sort(), ["2035-08-14", "2035-08-15", "2035-08-16", "2035-08-17"]);
  const { markets } = JSON.parse(Deno.readTextFileSync(`${folder.path}/2035-08-15/summary.json`));
  assertEquals([markets.hk.session, markets.hk.status], ["unknown", "final"]);
});

Deno.test("exportDayBook() names futures lists that the broker rejects, and adds them once it returns them", async () => {
  await using broker = scriptedGateway(bookOf([buy], [bought]));
  using folder = temporaryFolder();
  const again = (options: Partial<DayBookOptions> = {}) =>
    exportDayBook(broker.client, {
      ...oneDay,
      accounts: ["securities", "futures"],
      out: folder.path,
      ...options,
    });
  const without = await again();
  assertEquals([without.ok, without.days[0]!.status, without.differences], [false, "provisional", []]);
  assertEquals(without.days[0]!.markets.hk?.status, "final");
  assertEquals(without.days[0]!.provisionalBecause, [
    "futures: futures_fills were not read",
    "futures: futures_orders were not read",
  ]);
  assertEquals(without.days[0]!.incomplete, [
    "futures: futures_fills were not read: Cannot complete futures.fillsHistory: 1007 no futures account",
    "futures: futures_orders were not read: Cannot complete futures.ordersHistory: 1007 no futures account",
  ]);
  assertEquals(Object.keys(without.days[0]!.rows), ["fills", "orders", "fund_journal"]);
  assertEquals(Object.keys(readTree(folder.path)).filter((name) => name.includes("futures")), []);
  const onlySecurities = await again({ accounts: ["securities"] });
  assertEquals([onlySecurities.ok, onlySecurities.days[0]!.status], [true, "final"]);
  assertEquals((await again({ accounts: ["securities"] })).days[0]?.action, "kept");
  const future = {
    stockCode: "HSI2508.HK",
    entrustId: "9",
    entrustBs: "1",
    businessPrice: "25000",
    businessAmount: "1",
  };
  broker.script = {
    ...broker.script,
    "FuturesQueryHistoryDeliverList 20250815": [{ ...future, date: "20250815" }],
    "FuturesQueryHistoryEntrustList 20250815": [{ ...future, date: "20250815" }],
  };
  const result = await again();
  assertEquals([result.ok, result.days[0]?.action, result.days[0]?.status], [true, "replaced", "final"]);
  assertEquals(
    withoutDigests(Deno.readTextFileSync(`${folder.path}/${DAY}/futures_fills.csv`)),
    "rowKey,symbol,name,orderId,side,orderType,orderTypeText,price,quantity,fillPrice,filledQuantity,date,orderTime," +
      "fillTime,status,statusText,canCancel,canAmend,isValid,validity,validityText,validUntil,session\r\n" +
      "futures/2025-08-15/futures_fills/#/1,HSI2508.HK,,9,buy,,,,,25000,1,2025-08-15,,,,,,,,,,,\r\n",
  );
});

Deno.test("exportDayBook() does not parse a Unix time in seconds as a date", async () => {
  const { result } = await exported(bookOf([], [{ ...bought, type: "95", time: "1755221405" }]));
  assertEquals(result.differences, []);
});

Deno.test("exportDayBook() rejects invalid options before it sends anything", async () => {
  await using broker = scriptedGateway({});
  const error = await assertRejects(
    () =>
      exportDayBook(broker.client, {
        markets: ["hk", "xx" as "hk"],
        from: "2025-08-15",
        to: "2025-02-30",
        out: "",
        formats: [],
        now: () => LATER,
      }),
    InvalidParamsError,
  );
  assertEquals(error.issues.map(({ path }) => path[0]), ["markets", "to", "out", "formats"]);
  assertEquals(broker.calls, []);
});

Deno.test("exportDayBook() writes the same bytes for any order of markets and formats", async () => {
  const script = { ...bookOf([buy], [bought]), ...usBook };
  const first = await exported(script, { markets: ["us", "hk"], formats: ["jsonl", "csv"], concurrency: 1 });
  const second = await exported(script, { markets: ["hk", "us"], formats: ["csv", "jsonl"] });
  assertEquals(first.files, second.files);
});

Deno.test("exportDayBook() does not touch a folder that is not a day book", async () => {
  await using broker = scriptedGateway(bookOf([buy], [bought]));
  using folder = temporaryFolder();
  Deno.mkdirSync(`${folder.path}/${DAY}`);
  Deno.writeTextFileSync(`${folder.path}/${DAY}/notes.txt`, "mine");
  const options = { markets: ["hk"] as const, from: DAY, to: DAY, out: folder.path, now: () => LATER };
  const error = await assertRejects(() => exportDayBook(broker.client, options), DayBookError);
  assertEquals(error.code, "not-a-day-book");
  assertEquals(Deno.readTextFileSync(`${folder.path}/${DAY}/notes.txt`), "mine");
});

Deno.test("exportDayBook() adds a market to a final day, and refuses to drop one", async () => {
  await using broker = scriptedGateway(bookOf([buy], [bought]));
  using folder = temporaryFolder();
  const exportTo = (markets: DayBookOptions["markets"], refresh = false) =>
    exportDayBook(broker.client, {
      markets,
      accounts: ["securities"],
      from: DAY,
      to: DAY,
      out: folder.path,
      now: () => LATER,
      refresh,
    });
  assertEquals((await exportTo(["hk"])).days[0]?.action, "written");
  assertEquals((await exportTo(["us", "hk"])).days[0]?.action, "replaced");
  assertEquals((await exportTo(["hk"])).days[0]?.action, "kept");
  const error = await assertRejects(() => exportTo(["hk"], true), DayBookError);
  assertEquals(error.code, "settings-differ");
  assertStringIncludes(error.message, "contains hk, us as csv, jsonl");
});

Deno.test("exportDayBook() with refresh replaces a changed final day, but never with a provisional one", async () => {
  await using broker = scriptedGateway(bookOf([buy], [bought]));
  using folder = temporaryFolder();
  const again = () =>
    exportDayBook(broker.client, {
      markets: ["hk"],
      accounts: ["securities"],
      from: DAY,
      to: DAY,
      out: folder.path,
      now: () => LATER,
      refresh: true,
    });
  assertEquals((await again()).days[0]?.action, "written");
  assertEquals((await again()).days[0]?.action, "unchanged");
  broker.script = bookOf([buy], [bought, { ...bought, businessBalance: "1", type: "95" }]);
  const changed = await again();
  assertEquals([changed.days[0]?.action, changed.days[0]?.rows.fund_journal], ["replaced", 2]);
  const { fareVo: _, ...withoutFees } = buy;
  broker.script = bookOf([withoutFees], [bought]);
  const before = readTree(`${folder.path}/${DAY}`);
  const kept = await again();
  assertEquals([kept.ok, kept.days[0]?.action, kept.days[0]?.status], [false, "disputed", "provisional"]);
  assertEquals(readTree(`${folder.path}/${DAY}`), before);
});

Deno.test("exportDayBook() restores a truncated file of a final day, and reports that", async () => {
  await using broker = scriptedGateway(bookOf([buy], [bought]));
  using folder = temporaryFolder();
  const again = () => exportDayBook(broker.client, { ...oneDay, out: folder.path });
  await again();
  const before = readTree(folder.path);
  Deno.truncateSync(`${folder.path}/${DAY}/fills.csv`, 100);
  const restored = await again();
  assertEquals([restored.ok, restored.days[0]?.action], [false, "restored"]);
  assertEquals(readTree(folder.path), before);
  assertEquals((await again()).days[0]?.action, "kept");
});

Deno.test("exportDayBook() returns the same result for an unchanged day as when it was written", async () => {
  await using broker = scriptedGateway(bookOf([{ ...buy, businessBalance: "1.00" }], [bought]));
  using folder = temporaryFolder();
  const again = () => exportDayBook(broker.client, { ...oneDay, out: folder.path });
  const [first, second] = [await again(), await again()];
  // The export reads it again because it is not final.
  assertEquals(second.days[0]?.action, "unchanged");
  assertEquals(second.differences, first.differences);
  assertEquals([second.ok, second.differenceCount], [false, first.differenceCount]);
  assert(first.differenceCount > 0);
});

Deno.test("exportDayBook() uses today's list while the history of a recent day is incomplete", async () => {
  const { fareVo: _, ...fresh } = buy;
  const second = { ...fresh, entrustId: "0018" };
  await using broker = scriptedGateway({
    ...bookOf([buy], []),
    "TradeQueryRealDeliverList K": [fresh, second, { ...fresh, date: "20250814" }],
    "TradeQueryRealEntrustList K": [fresh, second],
    "TradeQueryRealFundJourList K": [{ businessBalance: "-35020.00", type: "5" }],
  });
  broker.clock = () => Date.parse("2025-08-15T20:00:00+08:00");
  using folder = temporaryFolder();
  const result = await exportDayBook(broker.client, {
    markets: ["hk"],
    accounts: ["securities"],
    from: DAY,
    to: DAY,
    out: folder.path,
    now: broker.clock,
  });
  assertEquals(result.days[0]?.rows, { fills: 2, orders: 2, fund_journal: 1 });
  // The history rows already have fees, so they are kept too.
  const [early] = Deno.readTextFileSync(`${folder.path}/${DAY}/fills.history.jsonl`).split("\n");
  assertEquals([JSON.parse(early!).orderId, JSON.parse(early!).total], ["0017", "58.98"]);
  assertEquals(result.days[0]?.provisionalBecause, [
    "hk: fills come from today's list",
    "hk: orders come from today's list",
    "hk: fund_journal come from today's list",
    "hk: 2 of 2 fills have no fees yet",
  ]);
});
