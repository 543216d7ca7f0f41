import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { readBook } from "../../lib/calendars/book.ts";
import { type ConnectFile, makeConnect } from "../../tasks/calendars/connect_rule.ts";
import connectFile from "../../lib/calendars/connect.json" with { type: "json" };
import CONNECT from "../../lib/calendars/data/CONNECT.json" with { type: "json" };
import { mergeCalendars, type RulingFile } from "../../tasks/calendars/merge.ts";
import {
  type CalendarRecord,
  groupDays,
  listDays,
  readHours,
  type SourceFile,
} from "../../lib/calendars/records.ts";
import XHKG from "../../lib/calendars/data/XHKG.json" with { type: "json" };
import XNYS from "../../lib/calendars/data/XNYS.json" with { type: "json" };
import XSHG from "../../lib/calendars/data/XSHG.json" with { type: "json" };
import rulings from "../../lib/calendars/rulings.json" with { type: "json" };
import exchangeCalendars from "../../lib/calendars/sources/exchange_calendars.json" with { type: "json" };
import pandasCalendars from "../../lib/calendars/sources/pandas_market_calendars.json" with { type: "json" };

const pure = { permissions: "none" } as const;

// The cast is needed because the type of a JSON import has the years as members and no index signature.
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

Deno.test("the committed data is the result of the sources and rulings", pure, () => {
  const merged = mergeCalendars(sources, rulings as RulingFile); // a JSON import widens "kind" to string
  assertEquals(merged.problems, []);
  assertEquals(JSON.stringify(merged.data), JSON.stringify({ XHKG, XNYS, XSHG }));
});

const connectOf = (changes: Partial<ConnectFile> = {}) => {
  const { data } = mergeCalendars(sources, rulings as RulingFile);
  return makeConnect({ ...connectFile as unknown as ConnectFile, ...changes }, {
    hongKong: readBook(data.XHKG!), // the data has both calendars, as the test above checks
    mainland: readBook(data.XSHG!),
    version: rulings.version,
  });
};

Deno.test(
  "the committed days of Stock Connect follow from the rule, and every published list agrees with them",
  pure,
  () => {
    const { data, problems } = connectOf();
    assertEquals(problems, []);
    assertEquals(JSON.stringify(data), JSON.stringify(CONNECT));
  },
);

Deno.test(
  "makeConnect() reports a published list that differs from the rule, and an unannounced closure on a trading day",
  pure,
  () => {
    const notice = { direction: "southbound" as const, what: "a list", source: "https://example.org" };
    const { problems } = connectOf({
      notices: [{ ...notice, from: "2022-01-24", through: "2022-01-28", closed: "2022-01-26 2022-01-28" }],
      unannounced: { "2020": "10-12 10-13", "2021": "10-13", "2023": "07-17 09-01 09-08" },
      added: [{ ...notice, direction: "northbound", days: { "2023": "05-25 10-20" } }],
    });
    assertEquals(problems, [
      "CONNECT: 2020-10-12 is listed as closed by weather, but Hong Kong trades",
      'CONNECT southbound: 2022-01-26 is open by the rule but closed in "a list" (https://example.org)',
      'CONNECT southbound: 2022-01-27 is closed by the rule but open in "a list" (https://example.org)',
      'CONNECT northbound: 2023-12-22 differs from "a list" (https://example.org)',
    ]);
  },
);

Deno.test("without rulings, the seven Hong Kong days and the projected year are problems", pure, () => {
  const { problems } = mergeCalendars(sources, { version: "2025.1.1", rulings: [] });
  const days = problems.filter((line) => line.startsWith("XHKG") && line.includes("in only one source"));
  assertEquals(days.map((line) => line.slice(6, 16)), [
    "2020-10-13",
    "2021-04-06",
    "2021-10-13",
    "2023-09-01",
    "2023-09-08",
    "2024-09-06",
    "2026-04-07",
  ]);
  assertStringIncludes(
    problems.join("\n"),
    'XHKG: half-days differ (hours "09:30-12:00" and none; days 2018-02-15',
  );
  assertStringIncludes(problems.join("\n"), "XSHG: only one source covers days after 2026-12-31");
});

Deno.test("the data marks the projected mainland year", pure, () => {
  assertEquals([XSHG.projectedFrom, XSHG.through], ["2027-01-01", "2027-12-31"]);
  assertEquals("projectedFrom" in XHKG, false);
});

Deno.test("every ruling about a day cites a page", pure, () => {
  for (const { kind, sources } of rulings.rulings) {
    if (kind === "single-source") continue; // a projection has no notice to cite
    assertEquals(sources.length > 0 && sources.every((page) => page.startsWith("https://")), true);
  }
});

Deno.test(
  "mergeCalendars() reports a day that one source lacks, and follows a ruling for either source",
  pure,
  () => {
    const [a, b] = [record({ closed: { "2025": "01-01 07-01" } }), record()];
    assertEquals(merge(a, b).problems, [
      "XTST: 2025-07-01 is closed in only one source, and no ruling decides it",
    ]);
    const closed = merge(a, b, [{ ...cited, kind: "closed", date: "2025-07-01" }]);
    assertEquals([closed.problems, closed.data.XTST?.closed], [[], { "2025": "01-01 07-01" }]);
    assertEquals(closed.data.XTST?.sources, ["left", "right", "https://example.org/notice"]);
    const open = merge(a, b, [{ ...cited, kind: "open", date: "2025-07-01" }]);
    assertEquals([open.problems, open.data.XTST?.closed], [[], { "2025": "01-01" }]);
  },
);

Deno.test("mergeCalendars() reports other hours, other zones and missing exchanges", pure, () => {
  assertEquals(merge(record(), record({ regular: "09:00-16:00" })).problems, [
    'XTST: "regular" is "09:30-16:00" and "09:00-16:00", and no ruling decides it',
  ]);
  assertEquals(merge(record(), record({ mic: "XOTH" })).problems, [
    'XOTH: only "right" has its calendar',
    'XTST: only "left" has its calendar',
  ]);
});

Deno.test("mergeCalendars() reports unused rulings, each with the reason", pure, () => {
  const [a, b] = [record({ closed: { "2025": "01-01 07-01" } }), record()];
  const settled = { ...cited, kind: "closed" as const, date: "2025-07-01" };
  const idle = (...lines: RulingFile["rulings"]) => merge(a, b, [settled, ...lines]).problems;
  assertEquals(idle({ ...cited, kind: "closed", date: "2025-01-01" }), [
    'XTST: the ruling "closed 2025-01-01" is unused: the sources agree on the day',
  ]);
  assertEquals(idle({ ...cited, kind: "open", date: "2025-07-02" }), [
    'XTST: the ruling "open 2025-07-02" is unused: the sources agree on the day',
  ]);
  assertEquals(idle(settled), [
    'XTST: the ruling "closed 2025-07-01" is unused: it is given twice',
  ]);
  const half = { kind: "half-days" as const, hours: "09:30-12:00", everyYear: "12-24", eves: {} };
  assertEquals(idle({ ...cited, ...half, takeFrom: "left" }), [
    'XTST: the ruling "half-days" is unused: the sources agree on half-days',
  ]);
  assertEquals(idle({ ...cited, kind: "hours", date: "2025-07-05", hours: "13:00-16:00" }), [
    'XTST: the ruling "hours 2025-07-05" is unused: it is not a weekday that both sources cover', // a Saturday
  ]);
  assertEquals(idle({ ...cited, kind: "hours", date: "2025-07-07", hours: "09:30-16:00" }), [
    'XTST: the ruling "hours 2025-07-07" is unused: these are the regular hours',
  ]);
  const span = { kind: "single-source" as const, from: "2026-01-01", through: "2026-12-31" };
  assertEquals(idle({ ...cited, ...span, takeFrom: "left" }), [
    'XTST: the ruling "single-source" is unused: both sources end on the same day',
  ]);
  assertEquals(idle({ ...cited, ...span, takeFrom: "wright" }), [
    'XTST: the ruling "single-source" is unused: no source is called "wright"',
  ]);
  // deno-lint-ignore no-explicit-any -- an unknown kind, which only JSON can contain
  assertEquals(idle({ ...cited, kind: "close", date: "2025-08-01" } as any), [
    'XTST: the ruling "close 2025-08-01" is unused: unknown kind of ruling',
  ]);
  assertEquals(idle({ ...cited, mic: "XTSR", kind: "closed", date: "2025-07-01" }), [
    "XTSR: it has a ruling, but no source has its calendar",
  ]);
});

Deno.test("mergeCalendars() reports rulings without a reason or a page", pure, () => {
  const [a, b] = [record({ closed: { "2025": "01-01 07-01" } }), record()];
  const { problems } = merge(a, b, [
    { mic: "XTST", kind: "closed", date: "2025-07-01", because: " ", sources: [] },
  ]);
  assertEquals(problems, ['XTST: the ruling "closed 2025-07-01" gives no reason']);
  const bare = merge(a, b, [{ ...cited, kind: "closed", date: "2025-07-01", sources: ["hearsay"] }]);
  assertEquals(bare.problems, ['XTST: the ruling "closed 2025-07-01" cites no page']);
});

Deno.test("mergeCalendars() reports impossible days of a source", pure, () => {
  const days = record({
    closed: { "2025": "01-01 01-04" },
    halfDay: "09:30-12:00",
    halfDays: { "2025": "01-01" },
  });
  const { problems } = merge(days, { ...days, closed: { ...days.closed, "2026": "01-01" } });
  assertEquals(problems.slice(0, 5), [
    'XTST: 2025-01-04 of "left" is not a weekday',
    'XTST: 2025-01-01 of "left" is both closed and a half-day',
    'XTST: 2025-01-04 of "right" is not a weekday',
    'XTST: 2026-01-01 of "right" is outside 2025-01-01 to 2025-12-31',
    'XTST: 2025-01-01 of "right" is both closed and a half-day',
  ]);
});

Deno.test("mergeCalendars() reports one changed day of one source, and one missing ruling", pure, () => {
  const lines = rulings.rulings as RulingFile["rulings"]; // a JSON import widens "kind" to string
  for (const [index, ruling] of lines.entries()) {
    // These rulings add what both sources lack.
    if (ruling.kind === "hours" || ruling.kind === "closed-since") continue;
    const { problems } = mergeCalendars(sources, { ...rulings, rulings: lines.toSpliced(index, 1) });
    assertEquals(problems.length > 0, true, `no problem without the ruling ${ruling.kind} of ${ruling.mic}`);
  }
  const changed = structuredClone(sources);
  const first = changed.pandas_market_calendars!.calendars.find(({ mic }) => mic === "XNYS")!; // the source has this calendar
  first.closed["2025"] = first.closed["2025"]!.replace("01-09 ", "");
  assertEquals(mergeCalendars(changed, rulings as RulingFile).problems, [
    "XNYS: 2025-01-09 is closed in only one source, and no ruling decides it",
  ]);
});

Deno.test("mergeCalendars() starts the calendar earlier, with closed days, if a ruling says so", pure, () => {
  const { data, problems } = merge(record(), record(), [
    { ...cited, kind: "closed-since", from: "2024-12-27" },
  ]);
  assertEquals(problems, []);
  assertEquals(data.XTST?.from, "2024-12-27");
  assertEquals(data.XTST?.closed["2024"], "12-27 12-30 12-31");
  assertEquals(
    merge(record(), record(), [{ ...cited, kind: "closed-since", from: "2025-01-01" }]).problems,
    [
      'XTST: the ruling "closed-since" is unused: the sources begin on 2025-01-01',
    ],
  );
});

/** Only the left source has half-days: Christmas Eve, and one with a different date each year. */
const short = { halfDay: "09:30-12:00", halfDays: { "2025": "01-28 12-24" } };
const eves: RulingFile["rulings"][number] = {
  ...cited,
  kind: "half-days",
  takeFrom: "left",
  hours: "09:30-12:00",
  everyYear: "12-24",
  eves: { "2025": "01-28" },
};

Deno.test("mergeCalendars() uses half-days of one source if the rule gives them", pure, () => {
  const of = (changes: Partial<CalendarRecord>, lines: RulingFile["rulings"] = [eves]) =>
    merge(record({ ...short, ...changes }), record(), lines).problems;
  assertEquals(of({}), []);
  const wild = { halfDays: { "2025": "01-28 03-13 12-24" } };
  assertEquals(of(wild), [
    'XTST: 2025-03-13 is a half-day in "left" but not by the rule, and no ruling decides it',
  ]);
  const own = { ...cited, kind: "half-day" as const, date: "2025-03-13" };
  assertEquals(of(wild, [eves, own]), []);
  assertEquals(
    merge(record({ ...short, ...wild }), record(), [eves, own]).data.XTST?.halfDays,
    wild.halfDays,
  );
  assertEquals(of({}, [eves, own]), [
    'XTST: the ruling "half-day 2025-03-13" is unused: the sources agree on the day',
  ]);
  assertEquals(of({ halfDays: { "2025": "12-24" } }), [
    'XTST: 2025-01-28 is a half-day by the rule but a full day in "left"',
  ]);
  assertEquals(of({ halfDay: "09:30-13:00" }), [
    'XTST: half-days of "left" have the hours "09:30-13:00", not "09:30-12:00"',
  ]);
  assertEquals(of({ through: "2026-12-31", halfDays: { "2025": "01-28 12-24", "2026": "12-24" } }).slice(1), [
    'XTST: the ruling "half-days" lists no half-day in "eves" for 2026',
  ]);
});

Deno.test("mergeCalendars() reports the different hours of half-days", pure, () => {
  assertEquals(merge(record(short), record({ ...short, halfDay: "09:30-13:00" })).problems, [
    'XTST: half-days differ (hours "09:30-12:00" and "09:30-13:00"), and no ruling decides it',
  ]);
});

Deno.test(
  "the ruling's eves of Lunar New Year are the days before that day in the Chinese calendar",
  pure,
  () => {
    const ruling = (rulings as RulingFile).rulings.find(({ kind }) => kind === "half-days"); // a JSON import widens "kind" to string
    assert(ruling?.kind === "half-days");
    const days = listDays(ruling.eves);
    assertEquals(days.length, 10);
    for (const day of days) {
      const next = Temporal.PlainDate.from(day).add({ days: 1 }).withCalendar("chinese");
      assertEquals([next.monthCode, next.day], ["M01", 1], day);
    }
  },
);

Deno.test("mergeCalendars() reports impossible hours in rulings", pure, () => {
  for (const hours of ["09:30-08:00", "09:30-12:00 11:00-16:00", "rubbish", "25:00-26:00", ""]) {
    assertEquals(merge(record(), record(), [{ ...cited, kind: "hours", date: "2025-07-07", hours }]), {
      data: {},
      problems: [
        `rulings.json: XTST: the ruling "hours 2025-07-07" has the hours "${hours}": ` +
        'expected hours in order, such as "13:00-16:00"',
      ],
    });
  }
  assertEquals(merge(record(), record(), [{ ...cited, kind: "closed", date: "2025-13-45" }]).problems, [
    'rulings.json: XTST: the ruling "closed 2025-13-45" has "2025-13-45", which is not a day',
  ]);
});

Deno.test("mergeCalendars() reports unreadable values of a source with file, market and value", pure, () => {
  const of = (changes: Partial<CalendarRecord>) => merge(record(changes), record()).problems;
  assertEquals(of({ closed: { "2025": "01-01 13-45" } }), [
    'sources/left.json: XTST: "closed" has "2025-13-45": expected a date that exists',
  ]);
  assertEquals(of({ closed: { "2025": "01-01 01-01" } }), [
    'sources/left.json: XTST: "closed" has "2025-01-01": expected each day once',
  ]);
  assertEquals(of({ through: "2025-02-30", regular: "16:00-09:30", halfDay: "noon" }), [
    'sources/left.json: XTST: "through" has "2025-02-30": expected a date that exists',
    'sources/left.json: XTST: "regular" has "16:00-09:30": expected hours in order',
    'sources/left.json: XTST: "halfDay" has "noon": expected hours in order',
  ]);
});

Deno.test("mergeCalendars() rejects a ruling with hours for a closed day", pure, () => {
  const { problems } = merge(record(), record(), [
    { ...cited, kind: "hours", date: "2025-01-01", hours: "13:00-16:00" },
  ]);
  assertEquals(problems, ["XTST: 2025-01-01 has a ruling with hours, but it is closed"]);
});

Deno.test("listDays(), groupDays() and readHours() convert the compact forms", pure, () => {
  const days = { "2025": "01-01 12-25", "2026": "01-01" };
  assertEquals(listDays(days), ["2025-01-01", "2025-12-25", "2026-01-01"]);
  assertEquals(groupDays(["2026-01-01", "2025-12-25", "2025-01-01"]), days);
  assertEquals(readHours("09:30-12:00 13:00-16:00"), [
    { from: "09:30", to: "12:00" },
    { from: "13:00", to: "16:00" },
  ]);
});
