/** Tests that the day book has the same bytes over every transport. */
import { assert, assertEquals } from "@std/assert";
import { exportDayBook } from "../../lib/day_book/mod.ts";
import {
  openSimulatedAccount,
  type SimulatedAccount,
  type TransportName,
} from "../conformance/simulated_account.ts";
import { readTree } from "./scripted_gateway.ts";
import { FRIDAY_MORNING, SATURDAY, temporaryFolder } from "./simulated.ts";

const WEEK = { from: "2025-08-13", to: "2025-08-15" };
const MARKETS = ["hk", "us", "shanghai", "shenzhen"] as const;

/** Returns the result of an export over one transport: all files, each day's status, and whether it is ok. */
async function exported(testAccount: SimulatedAccount, transport: TransportName) {
  await using client = await testAccount.connect(transport);
  using folder = temporaryFolder();
  const result = await exportDayBook(client, {
    ...WEEK,
    out: folder.path,
    markets: MARKETS,
    now: () => testAccount.clock.now(),
  });
  const { [".day-book.lock"]: _, ["account.json"]: account, ...files } = readTree(folder.path);
  // Only the direct transport has the account's developer key.
  assertEquals(account !== undefined, transport === "direct");
  return { files, days: result.days.map(({ day, status }) => `${day} ${status}`), ok: result.ok };
}

async function assertSame(testAccount: SimulatedAccount, days: string[]): Promise<Record<string, string>> {
  const expected = await exported(testAccount, "gateway");
  assertEquals(expected.days, days);
  assert(expected.ok, "the export over the gateway has no differences");
  for (const transport of ["direct", "memory"] as const) {
    const other = await exported(testAccount, transport);
    assertEquals(Object.keys(other.files).sort(), Object.keys(expected.files).sort());
    for (const [name, text] of Object.entries(expected.files)) assertEquals(other.files[name], text, name);
    assertEquals(other, expected);
  }
  return expected.files;
}

Deno.test("exportDayBook() writes the same bytes of final days over every transport", async () => {
  await using testAccount = await openSimulatedAccount({ at: SATURDAY, days: 3, fillsPerDay: 30 });
  const files = await assertSame(testAccount, WEEK_FINAL);
  // The control: the rows contain the values that could differ, above all the fees that have no field number on the
  // socket.
  const rows = files["2025-08-14/fills.jsonl"]!.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(rows.length, 4 * 30);
  const of = (market: string) => rows.filter((row) => row.market === market);
  assert(of("hk").every((row) => /^\d+\.\d\d$/.test(row.disputeCouncilLevy)), "Hong Kong has the levy");
  assert(of("us").every((row) => /^\d+\.\d\d$/.test(row.auditTrailFee)), "New York has the audit trail fee");
  assert(of("hk").some((row) => row.disputeCouncilLevy !== "0.00"));
});

const WEEK_FINAL = ["2025-08-13 final", "2025-08-14 final", "2025-08-15 final"];

Deno.test("exportDayBook() writes the same bytes of a provisional day over every transport", async () => {
  await using testAccount = await openSimulatedAccount({ at: FRIDAY_MORNING, days: 3, fillsPerDay: 5 });
  await using client = await testAccount.connect("gateway");
  // Two orders on the running day: one above the market, which fills, and one below it, which does not.
  const order = {
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    side: "buy",
    orderType: "limit",
  } as const;
  await client.orders.place({ ...order, price: "600.00" });
  await client.orders.place({ ...order, price: "550.00" });
  testAccount.clock.advance(60_000);
  testAccount.round();
  const files = await assertSame(testAccount, [
    "2025-08-13 final",
    "2025-08-14 final",
    "2025-08-15 provisional",
  ]);
  const lines = (list: string) => files[`2025-08-15/${list}.jsonl`]!.trimEnd().split("\n").length;
  assertEquals([lines("orders"), lines("fills")], [2, 1]);
});
