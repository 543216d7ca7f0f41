import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { InvalidParamsError } from "../../lib/errors.ts";
import { emptyLocalFile, formatLocalFile, parseLocalFile } from "../../lib/calendars/local_file.ts";
import { Faults } from "../../lib/calendars/check_data.ts";
import {
  builtInCalendars,
  builtInData,
  Calendars,
  type Mic,
  type Override,
} from "../../lib/calendars/mod.ts";
import type { CalendarData } from "../../lib/calendars/records.ts";
import { changesBetween, checkUpdate } from "../../lib/calendars/update.ts";

const pure = { permissions: "none" } as const;

const line = (mic: Mic, date: string, hours: string): Override => ({
  mic,
  date,
  hours,
  because: "a notice",
  setAt: "2026-11-21T05:00:00Z",
});

const hours = (calendars: Calendars, mic: Mic, date: string) => {
  const session = calendars.sessionOn(mic, date);
  if (typeof session === "string") return session;
  const { open, close, breaks, halfDay } = session;
  return `${open}-${close} ${breaks.length}${halfDay ? " half-day" : ""}`;
};

Deno.test("Calendars apply overrides to a market, and leave the built-in calendars as they are", pure, () => {
  {
    const calendars = new Calendars({
      overrides: [line("XNYS", "2026-12-09", "closed"), line("XHKG", "2026-12-25", "open")],
    });
    assertEquals(hours(calendars, "XNYS", "2026-12-09"), "closed");
    assertEquals(hours(calendars, "XHKG", "2026-12-25"), "09:30-16:00 1");
    assertEquals(calendars.overridesOn("XNYS", "2026-12-09").map(({ because }) => because), ["a notice"]);
    assertEquals(calendars.overridesOn("XNYS", "2026-12-10"), []);
  }
  const days = [hours(builtInCalendars, "XNYS", "2026-12-09"), hours(builtInCalendars, "XHKG", "2026-12-25")];
  assertEquals(days, ["09:30-16:00 0", "closed"]);
});

Deno.test("Calendars apply other hours, and half-days if they are marked as such", pure, () => {
  const days = [
    line("XHKG", "2026-12-09", "13:00-16:00"),
    { ...line("XHKG", "2026-12-10", "09:30-12:00"), halfDay: true },
    line("XHKG", "2026-12-11", "09:30-12:00"),
    line("XHKG", "2026-12-24", "open"),
  ];
  {
    const calendars = new Calendars({ overrides: days });
    assertEquals(hours(calendars, "XHKG", "2026-12-09"), "13:00-16:00 0");
    assertEquals(hours(calendars, "XHKG", "2026-12-10"), "09:30-12:00 0 half-day");
    assertEquals(hours(calendars, "XHKG", "2026-12-11"), "09:30-12:00 0");
    assertEquals(hours(calendars, "XHKG", "2026-12-24"), "09:30-16:00 1");
  }
});

Deno.test(
  "an override of Hong Kong or of a mainland exchange also applies to the Stock Connect links of that exchange",
  pure,
  () => {
    const days = [
      line("XHKG", "2026-12-09", "closed"),
      line("XSHG", "2026-12-10", "closed"),
      line("XHKG", "2026-12-11", "14:00-16:00"),
      line("CONNECT_SH", "2026-12-14", "closed"),
    ];
    {
      const calendars = new Calendars({ overrides: days });
      const on = (date: string) =>
        (["CONNECT_SH", "CONNECT_SZ", "CONNECT_HK"] as const).map((mic) => hours(calendars, mic, date));
      assertEquals(on("2026-12-09"), ["closed", "closed", "closed"]);
      assertEquals(on("2026-12-10"), ["closed", "09:30-15:00 1", "closed"]);
      assertEquals(on("2026-12-11"), ["14:00-15:00 0", "14:00-15:00 0", "14:00-16:00 0"]);
      assertEquals(on("2026-12-14"), ["closed", "09:30-15:00 1", "09:30-16:00 1"]);
      assertEquals(hours(calendars, "XSHE", "2026-12-10"), "09:30-15:00 1");
      assertEquals(calendars.overridesOn("CONNECT_SZ", "2026-12-09").length, 1);
    }
  },
);

Deno.test(
  "an override with short hours also shortens Stock Connect, unless it marks the day as a Hong Kong half-day",
  pure,
  () => {
    const noon = line("XHKG", "2026-11-24", "09:30-12:00");
    const on = (overrides: Override[]) => {
      const links: string[] = [];
      {
        const calendars = new Calendars({ overrides });
        links.push(
          ...(["CONNECT_SH", "CONNECT_SZ", "CONNECT_HK"] as const).map((mic) =>
            hours(calendars, mic, "2026-11-24")
          ),
        );
      }
      return links;
    };
    assertEquals(on([noon]), ["09:30-11:30 0", "09:30-11:30 0", "09:30-12:00 0"]);
    assertEquals(on([{ ...noon, halfDay: true }]), [
      "09:30-15:00 1",
      "09:30-15:00 1",
      "09:30-12:00 0 half-day",
    ]);
    assertEquals(on([line("XSHG", "2026-11-24", "09:30-11:00")]), [
      "09:30-11:00 0",
      "09:30-15:00 1",
      "09:30-11:00 0",
    ]);
  },
);

Deno.test("Calendars.version() changes only with overrides that affect the market", pure, () => {
  const plain = builtInCalendars.version("XHKG");
  assert(/^20\d\d\.\d+\.\d+$/.test(plain), plain);
  {
    const calendars = new Calendars({ overrides: [line("XHKG", "2026-12-09", "closed")] });
    const version = calendars.version("XHKG");
    assert(version.startsWith(`${plain}+1.`), version);
    assert(calendars.version("CONNECT_SZ").endsWith(version.slice(plain.length)));
    assertEquals(calendars.version("XNYS"), plain);
    const other = new Calendars({ overrides: [line("XHKG", "2026-12-10", "closed")] });
    assert(other.version("XHKG") !== version);
  }
});

Deno.test(
  "builtInCalendars.isOverrideNeedless() returns true if the data says the same, except on a projected day",
  pure,
  () => {
    assertEquals(builtInCalendars.isOverrideNeedless(line("XHKG", "2026-12-25", "closed")), true);
    const noon = line("XHKG", "2026-12-24", "09:30-12:00");
    assertEquals(builtInCalendars.isOverrideNeedless({ ...noon, halfDay: true }), true);
    // Unlike the half-day in the data, the override shortens northbound trading.
    assertEquals(builtInCalendars.isOverrideNeedless(noon), false);
    assertEquals(builtInCalendars.isOverrideNeedless(line("XHKG", "2026-12-24", "open")), false);
    assertEquals(builtInCalendars.isOverrideNeedless(line("XSHG", "2027-10-01", "closed")), false);
    assertEquals([
      builtInCalendars.isProjected("XSHG", "2026-12-31"),
      builtInCalendars.isProjected("XSHG", "2027-01-04"),
    ], [false, true]);
    {
      const calendars = new Calendars({ overrides: [line("XSHG", "2027-01-04", "open")] });
      assertEquals(calendars.isProjected("XSHG", "2027-01-04"), false);
      assertEquals(calendars.isProjected("CONNECT_HK", "2027-01-05"), true);
    }
  },
);

Deno.test("days outside the coverage stay unknown even with an override", pure, () => {
  {
    const calendars = new Calendars({ overrides: [line("XHKG", "2028-01-03", "open")] });
    assertEquals(hours(calendars, "XHKG", "2028-01-03"), "unknown");
    assertEquals(calendars.overridesOn("XHKG", "2028-01-03"), []);
  }
});

Deno.test("parseLocalFile() returns the content that formatLocalFile() was given", pure, async () => {
  const file = { ...emptyLocalFile(), overrides: [line("XNYS", "2026-12-09", "closed")] };
  file.calendars.XNYS = { ...builtInData.XNYS, version: "2027.1.1" };
  assertEquals(await parseLocalFile(formatLocalFile(file), "x.json"), file);
});

// Finding the lines loads a package, which needs permissions.
Deno.test("parseLocalFile() lists every mistake with its line", async () => {
  const text = `{
  "format": 1,
  "overrides": [
    { "mic": "XHKH", "date": "2026-12-09", "hours": "closed", "because": "x", "setAt": "2026-11-21T00:00:00Z" },
    { "mic": "XHKG", "date": "2026-12-12", "hours": "16:00-13:00", "because": " ", "setAt": "2026-11-31T00:00:00Z" }
  ],
  "overides": []
}`;
  const error = await assertRejects(() => parseLocalFile(text, "x.json"), InvalidParamsError);
  assertEquals(error.issues.map(({ path }) => path.join()), [
    "x.json:7: overides",
    "x.json:4: overrides.0.mic",
    "x.json:5: overrides.1.date", // a Saturday
    "x.json:5: overrides.1.hours",
    "x.json:5: overrides.1.because",
    "x.json:5: overrides.1.setAt", // November has no 31st
  ]);
  const broken = await assertRejects(
    () => parseLocalFile('{\n"format": 1,\n]', "x.json"),
    InvalidParamsError,
  );
  assertStringIncludes(broken.message, "x.json:3");
  await assertRejects(
    () => parseLocalFile('{"format": 1, "overrides": [], "overrides": []}', "x.json"),
    InvalidParamsError,
    'expected each member once, got "overrides"',
  );
});

Deno.test("parseLocalFile() rejects data of another market or zone, and of more years than can be compared", async () => {
  const data = { ...builtInData.XNYS, version: "2099.1.1" };
  const issuesOf = async (XHKG: CalendarData) => {
    const text = formatLocalFile({ ...emptyLocalFile(), calendars: { XHKG } });
    const error = await assertRejects(() => parseLocalFile(text, "x.json"), InvalidParamsError);
    return error.issues.map(({ path, expected }) => `${path.join().replace(/^.*: /, "")}: ${expected}`);
  };
  // With such a file, Hong Kong would get the sessions and the time zone of New York.
  assertEquals(await issuesOf(data), [
    'calendars.XHKG.mic: "XHKG"',
    'calendars.XHKG.zone: "Asia/Hong_Kong"',
  ]);
  const closed = Object.fromEntries(
    Array.from({ length: 9_999 }, (_, year) => [String(year + 1).padStart(4, "0"), "01-01"]),
  );
  const endless = { ...builtInData.XHKG, from: "0001-01-01", through: "9999-12-31", closed };
  assertEquals(
    (await issuesOf(endless))[0],
    "calendars.XHKG.through: a day at most 50 years after 0001-01-01",
  );
});

/** Returns Hong Kong's data with changes and a newer version. */
const newer = (change: (data: CalendarData) => void): CalendarData => {
  const data = structuredClone(builtInData.XHKG);
  data.version = "2027.1.1";
  change(data);
  return data;
};
const without = (data: CalendarData, year: string, day: string) =>
  data.closed[year] = data.closed[year]!.replace(`${day} `, ""); // the year is listed

const NOW = Date.parse("2026-11-21T05:00:00Z");

function faultsOf(data: CalendarData, limits = {}): string[] {
  const faults = new Faults();
  checkUpdate(builtInData.XHKG, data, { now: NOW, allowPast: false, maxChanges: 40, ...limits }, faults);
  return faults.issues.map(({ path, expected }) => `${path.join(".")}: ${expected}`);
}

Deno.test(
  "changesBetween() lists added and removed days, and the holidays of a newly covered year",
  pure,
  () => {
    const data = newer((each) => {
      without(each, "2027", "02-08");
      each.closed["2027"] += " 12-30";
      each.through = "2028-12-31";
      each.closed["2028"] = "12-25";
    });
    const usual = "09:30-12:00 13:00-16:00";
    assertEquals(changesBetween(builtInData.XHKG, data), [
      { date: "2027-02-08", before: "closed", after: usual },
      { date: "2027-12-30", before: usual, after: "closed" },
      { date: "2028-12-25", before: "unknown", after: "closed" },
    ]);
    assertEquals(faultsOf(data), []);
  },
);

Deno.test(
  "checkUpdate() rejects changed past days, an old version, less coverage, another zone and too many changes",
  pure,
  () => {
    const past = newer((each) => void without(each, "2020", "10-13"));
    assertEquals(faultsOf(past), [
      'closed.2020: "closed": days before 2026-11-21 must not change; --allow-past allows it',
    ]);
    assertEquals(faultsOf(past, { allowPast: true }), []);
    assertEquals(faultsOf({ ...newer(() => {}), version: builtInData.XHKG.version }), [
      `version: a version newer than the current "${builtInData.XHKG.version}"`,
    ]);
    assertEquals(faultsOf(newer((each) => each.through = "2027-12-30")), [
      'through: "2027-12-31" or later: coverage must not shrink',
    ]);
    assertEquals(faultsOf(newer((each) => each.zone = "Asia/Shanghai")), ['zone: "Asia/Hong_Kong"']);
    assertEquals(faultsOf(newer((each) => void without(each, "2027", "02-08")), { maxChanges: 0 }), [
      ": at most 0; --max-changes allows more",
    ]);
  },
);

Deno.test("Calendars use installed data only if it is newer than the built-in data", pure, () => {
  const data = newer((each) => void without(each, "2027", "02-08"));
  const newerOne = new Calendars({ calendars: { XHKG: data } });
  assertEquals([hours(newerOne, "XHKG", "2027-02-08"), newerOne.version("XHKG")], [
    "09:30-16:00 1",
    "2027.1.1",
  ]);
  const olderOne = new Calendars({ calendars: { XHKG: { ...data, version: "2026.9.30" } } });
  assertEquals(hours(olderOne, "XHKG", "2027-02-08"), "closed");
});

Deno.test("parseLocalFile() names the line of a mistake in the JSON", async () => {
  const rest = '  "overrides": []\n}\n';
  for (
    const [line, text, got] of [
      [2, `{\n  "format": x,\n${rest}`, '"\\"format\\": x,"'],
      [2, `{\n  "format": x, "note": "as at position 40",\n${rest}`, '"\\"format\\": x, \\"note\\"'],
      [4, `{\n  "format": 1,\n  "overrides": [{},\n  ],\n${rest}`, '"],"'],
      [3, `{\n  "format": 1\n${rest}`, '"\\"overrides\\": []"'],
      [5, `{\n  "format": 1,\n${rest}x`, '"x"'],
      [1, "", '""'],
    ] as const
  ) {
    const { message } = await assertRejects(() => parseLocalFile(text, "days.json"), InvalidParamsError);
    assertStringIncludes(message, `Cannot read "days.json": days.json:${line}: expected JSON, got ${got}`);
  }
});

Deno.test("parseLocalFile() lists at most two hundred mistakes, also for large or deeply nested files", async () => {
  const messageOf = async (text: string) => {
    const error = await assertRejects(() => parseLocalFile(text, "days.json"), InvalidParamsError);
    return error.message.split("\n");
  };
  const wrong = '{"mic":"X"}';
  const many = await messageOf(`{"format":1,"overrides":[\n${Array(4000).fill(wrong).join(",\n")}]}`);
  assertEquals([many.length, many.at(-1)], [202, "and 23799 more"]);
  assertStringIncludes(many[200]!, "days.json:35: overrides.33.");
  // If the parser compared each name with all others, or each year with all days, these files would take minutes.
  const names = (count: number) => Array.from({ length: count }, (_, index) => `"n${index}":1`).join(",");
  const market = await messageOf(`{"format":1,"calendars":{"XHKG":{${names(18_000)}}}}`);
  assertStringIncludes(market[1]!, "days.json:1: calendars.XHKG.n0: expected one of mic");
  const large = await messageOf(`{"format":1,"overrides":[${Array(80_000).fill(wrong).join()}]}`);
  assertStringIncludes(large[1]!, "days.json: overrides.0.mic: expected one of");
  const deep = await messageOf(`{"format":1,"overrides":${"[".repeat(100_000)}${"]".repeat(100_000)}}`);
  assertStringIncludes(deep[0]!, "overrides.0: expected an object");
  const closed = Object.fromEntries(
    Array.from({ length: 9000 }, (_, year) => [String(year + 1000), Array(15).fill("01-03").join(" ")]),
  );
  const years = await messageOf(JSON.stringify({
    format: 1,
    calendars: { XHKG: { ...builtInData.XHKG, from: "1000-01-01", through: "9999-12-31", closed } },
  }));
  assertEquals([years.length, years.at(-1)?.startsWith("and ")], [202, true]);
});
