/** Tests members and fees that the catalogue does not know: always counted, and kept as sent on request. */
import { assertEquals } from "@std/assert";
import { exportDayBook } from "../../lib/day_book/mod.ts";
import { openSimulatedAccount } from "../conformance/simulated_account.ts";
import { bookOf, DAY, openBook, summaryOf } from "./books.ts";
import { readTree } from "./scripted_gateway.ts";
import { SATURDAY, temporaryFolder } from "./simulated.ts";

/** Empty members, which servers send for values that a row does not have. */
const nothing = { noted: "", linked: null, marks: [], more: {} };

/** Returns two fills; the first has a member and a fee that the catalogue does not know. */
function strangeBook() {
  const script = bookOf("us", 2);
  const key = "TradeQueryHistoryDeliverList P 20250815";
  const [first, second] = script[key]!;
  const fareVo = { fare0: "30.00", fare6: "15.00", fare10: "2.50", faret: "47.50" };
  script[key] = [
    { ...first, fareVo, matchNo: "raw:12345678901234567890.50", tags: ["a"], ...nothing },
    second!,
  ];
  const lines = script["TradeQueryHistoryFundJourList P 20250815"]!;
  lines[0] = { ...lines[0], businessBalance: "-35067.50", currency: "USD" };
  return script;
}

Deno.test("exportDayBook() counts unknown members, and includes unknown fees in the sum of the fees", async () => {
  await using book = openBook(strangeBook(), { markets: ["us"] });
  const { ok, differences, days: [day] } = await book.exportDay();
  assertEquals([ok, differences, day?.status], [true, [], "final"]);
  const summary = summaryOf(book.files(DAY));
  assertEquals(summary.unknownMembers, {
    "us fills fareVo.fare10": 1,
    "us fills matchNo": 1,
    "us fills tags": 1,
    "us fund_journal currency": 1,
  });
  assertEquals(summary.totals.USD.unknownFees, { fare10: "2.50" });
  assertEquals(Object.keys(book.files(DAY)).filter((name) => name.includes("wire")), []);
});

Deno.test("exportDayBook() still finds fees with a wrong total if one of them is unknown", async () => {
  const script = strangeBook();
  const [first, second] = script["TradeQueryHistoryDeliverList P 20250815"]!;
  const fareVo = { fare0: "30.00", fare6: "15.00", fare10: "2.00", faret: "47.50" };
  script["TradeQueryHistoryDeliverList P 20250815"] = [{ ...first, fareVo }, second!];
  await using book = openBook(script, { markets: ["us"] });
  const { differences } = await book.exportDay();
  assertEquals(differences.map(({ check, expected, actual }) => [check, expected, actual]), [[
    "fees",
    "45.00",
    "47.50",
  ]]);
});

Deno.test("exportDayBook() with wire writes each row as the broker sent it, with all digits and its key", async () => {
  await using book = openBook(strangeBook(), { markets: ["us"], wire: true });
  await book.exportDay();
  const files = book.files(DAY);
  const lines = files["fills.wire.jsonl"]!.trimEnd().split("\n");
  const ours = files["fills.jsonl"]!.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(
    lines[0],
    `{"rowKey":"${
      ours[0].rowKey
    }","wire":{"stockCode":"AAPL","exchangeType":"P","entrustId":"1","entrustBs":"1",` +
      '"businessPrice":"350.20","businessAmount":"100","businessBalance":"35020.00","date":"20250815",' +
      '"businessTime":"093005","fareVo":{"fare0":"30.00","fare6":"15.00","fare10":"2.50","faret":"47.50"},' +
      '"matchNo":12345678901234567890.50,"tags":["a"],"noted":"","linked":null,"marks":[],"more":{},' +
      '"queryParamStr":"1"}}',
  );
  assertEquals(lines.length, 2);
  const summary = summaryOf(files);
  assertEquals([summary.settings.wire, Object.keys(summary.files).filter((name) => name.includes("wire"))], [
    true,
    [
      "fills.wire.jsonl",
      "fund_journal.wire.jsonl",
      "orders.wire.jsonl",
    ],
  ]);
  // A day with these files keeps them.
  assertEquals((await book.exportDay()).days[0]?.action, "kept");
  await book.exportDay({ wire: false, refresh: true }).then(
    () => Promise.reject(new Error("the export accepted fewer files than the day has")),
    ({ code }) => assertEquals(code, "settings-differ"),
  );
});

Deno.test("exportDayBook() adds the broker's rows to a day that was exported without them", async () => {
  await using book = openBook(bookOf("us", 2), { markets: ["us"] });
  await book.exportDay();
  const added = await book.exportDay({ wire: true });
  assertEquals([added.ok, added.days[0]?.action], [true, "replaced"]);
  assertEquals(book.files(DAY)["orders.wire.jsonl"]!.split("\n").length, 3);
});

for (const way of ["gateway", "direct", "memory"] as const) {
  Deno.test(`exportDayBook() with wire has every row of every list over the ${way} transport`, async () => {
    await using testAccount = await openSimulatedAccount({ at: SATURDAY, days: 1, fillsPerDay: 3 });
    await using client = await testAccount.connect(way);
    using folder = temporaryFolder();
    const result = await exportDayBook(client, {
      markets: ["hk"],
      from: DAY,
      to: DAY,
      out: folder.path,
      now: () => testAccount.clock.now(),
      wire: true,
    });
    assertEquals(result.ok, true);
    const files = readTree(`${folder.path}/${DAY}`);
    const keysIn = (name: string) =>
      files[name]!.trimEnd().split("\n").map((line) => JSON.parse(line).rowKey);
    for (const list of ["fills", "orders", "fund_journal", "futures_fills", "futures_orders"]) {
      assertEquals(keysIn(`${list}.wire.jsonl`), keysIn(`${list}.jsonl`), list);
    }
    const fill = JSON.parse(files["fills.wire.jsonl"]!.split("\n")[0]!);
    assertEquals([fill.wire.stockCode.length > 0, typeof fill.wire.fareVo.faret], [true, "string"]);
    assertEquals(summaryOf(files).unknownMembers, {});
  });
}
