import { assertEquals, assertStringIncludes } from "@std/assert";
import { mergeCalendars, type RulingFile } from "../../lib/calendars/merge.ts";
import {
  type CalendarRecord,
  groupDays,
  readHours,
  type SourceFile,
  spellDays,
} from "../../lib/calendars/records.ts";
import XHKG from "../../lib/calendars/data/XHKG.json" with { type: "json" };
import XNYS from "../../lib/calendars/data/XNYS.json" with { type: "json" };
import XSHG from "../../lib/calendars/data/XSHG.json" with { type: "json" };
import rulings from "../../lib/calendars/rulings.json" with { type: "json" };
import exchangeCalendars from "../../lib/calendars/sources/exchange_calendars.json" with { type: "json" };
import pandasCalendars from "../../lib/calendars/sources/pandas_market_calendars.json" with { type: "json" };

const pure = { permissions: "none" } as const;

// A JSON import's type lists the years of every object, which no index signature takes.
const sources = {
  exchange_calendars: exchangeCalendars,
  pandas_market_calendars: pandasCalendars,
} as unknown as Record<string, SourceFile>;

const record = (changes: Partial<CalendarRecord> = {}): CalendarRecord => ({
  mic: "XTST",
  zone: "Asia/Hong_Kong",
  from: "2025-01-01",
  through: "2025-12-31",
  regular: "09:30-16:00",
  closed: { "2025": "01-01" },
  halfDay: null,
  halfDays: {},
  ...changes,
});

const merge = (a: CalendarRecord, b: CalendarRecord, lines: RulingFile["rulings"] = []) =>
  mergeCalendars(
    { left: { source: "left", calendars: [a] }, right: { source: "right", calendars: [b] } },
    { version: "2025.1.1", rulings: lines },
  );

const cited = { mic: "XTST", because: "a notice", sources: ["https://example.org/notice"] };

Deno.test("the committed data is what the sources and rulings make", pure, () => {
  const merged = mergeCalendars(sources, rulings as RulingFile); // a JSON import widens "kind" to string
  assertEquals(merged.problems, []);
  assertEquals(JSON.stringify(merged.data), JSON.stringify({ XHKG, XNYS, XSHG }));
});

Deno.test("without the rulings the seven Hong Kong days and the projected year are problems", pure, () => {
  const { problems } = mergeCalendars(sources, { version: "2025.1.1", rulings: [] });
  const days = problems.filter((line) => line.startsWith("XHKG") && line.includes("one source only"));
  assertEquals(days.map((line) => line.slice(6, 16)), [
    "2020-10-13",
    "2021-04-06",
    "2021-10-13",
    "2023-09-01",
    "2023-09-08",
    "2024-09-06",
    "2026-04-07",
  ]);
  assertStringIncludes(problems.join("\n"), "XHKG: half-days differ (2018-02-15");
  assertStringIncludes(problems.join("\n"), "XSHG: after 2026-12-31 one source is alone");
});

Deno.test("the projected mainland year is marked in the file", pure, () => {
  assertEquals([XSHG.projectedFrom, XSHG.through], ["2027-01-01", "2027-12-31"]);
  assertEquals("projectedFrom" in XHKG, false);
});

Deno.test("every dispute about a day cites a page", pure, () => {
  for (const { kind, sources } of rulings.rulings) {
    if (kind === "single-source") continue; // a projection has no notice to cite
    assertEquals(sources.length > 0 && sources.every((page) => page.startsWith("https://")), true);
  }
});

Deno.test("mergeCalendars() reports a day that one source lacks, and takes a ruling either way", pure, () => {
  const [a, b] = [record({ closed: { "2025": "01-01 07-01" } }), record()];
  assertEquals(merge(a, b).problems, [
    "XTST: 2025-07-01 is closed in one source only, and no ruling settles it",
  ]);
  const closed = merge(a, b, [{ ...cited, kind: "closed", date: "2025-07-01" }]);
  assertEquals([closed.problems, closed.data.XTST?.closed], [[], { "2025": "01-01 07-01" }]);
  assertEquals(closed.data.XTST?.sources, ["left", "right", "https://example.org/notice"]);
  const open = merge(a, b, [{ ...cited, kind: "open", date: "2025-07-01" }]);
  assertEquals([open.problems, open.data.XTST?.closed], [[], { "2025": "01-01" }]);
});

Deno.test("mergeCalendars() reports other hours, other zones and missing exchanges", pure, () => {
  assertEquals(merge(record(), record({ regular: "09:00-16:00" })).problems, [
    'XTST: "regular" is "09:30-16:00" and "09:00-16:00", and no ruling settles it',
  ]);
  assertEquals(merge(record(), record({ mic: "XOTH" })).problems, ['XTST: only "left" has it']);
});

Deno.test("mergeCalendars() refuses hours for a day that is closed", pure, () => {
  const { problems } = merge(record(), record(), [
    { ...cited, kind: "hours", date: "2025-01-01", hours: "13:00-16:00" },
  ]);
  assertEquals(problems, ["XTST: 2025-01-01 has hours by ruling, yet it is closed"]);
});

Deno.test("spellDays(), groupDays() and readHours() read the compact forms", pure, () => {
  const days = { "2025": "01-01 12-25", "2026": "01-01" };
  assertEquals(spellDays(days), ["2025-01-01", "2025-12-25", "2026-01-01"]);
  assertEquals(groupDays(["2026-01-01", "2025-12-25", "2025-01-01"]), days);
  assertEquals(readHours("09:30-12:00 13:00-16:00"), [
    { from: "09:30", to: "12:00" },
    { from: "13:00", to: "16:00" },
  ]);
});
