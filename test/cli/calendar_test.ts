import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { commands } from "../../tasks/commands/table.ts";
import { cli, folder } from "./runner_support.ts";

/** A Saturday before the mainland announced its 2027 holidays. */
const NOW = Date.parse("2026-11-21T05:00:00Z");

const hongKong = JSON.parse(
  Deno.readTextFileSync(new URL("../../lib/calendars/data/XHKG.json", import.meta.url)),
);

/** A folder with a local calendar file, and the command line that uses it. */
async function calendars(files: Record<string, string> = {}) {
  const place = await folder(files);
  const path = `${place.path}/days.json`;
  const run = (...words: string[]) => cli(words, { env: { HSGATE_CALENDARS: path }, now: () => NOW });
  return { ...place, path, run, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() };
}

const lastLines = (text: string, count: number) => text.trimEnd().split("\n").slice(-count);

Deno.test("calendar prints sessions as JSON with local hours and UTC", async () => {
  const { code, out } = await cli([
    "calendar",
    "XHKG",
    "--from",
    "2025-12-23",
    "--to",
    "2025-12-26",
    "--json",
  ]);
  assertEquals(code, 0);
  assertEquals(JSON.parse(out), [
    {
      date: "2025-12-23",
      open: "09:30",
      close: "16:00",
      breaks: [{
        from: "12:00",
        to: "13:00",
        fromUtc: "2025-12-23T04:00:00Z",
        toUtc: "2025-12-23T05:00:00Z",
      }],
      halfDay: false,
      openUtc: "2025-12-23T01:30:00Z",
      closeUtc: "2025-12-23T08:00:00Z",
      zone: "Asia/Hong_Kong",
    },
    {
      date: "2025-12-24",
      open: "09:30",
      close: "12:00",
      breaks: [],
      halfDay: true,
      openUtc: "2025-12-24T01:30:00Z",
      closeUtc: "2025-12-24T04:00:00Z",
      zone: "Asia/Hong_Kong",
    },
  ]);
  const text =
    (await cli(["calendar", "XHKG", "--from", "2025-12-23", "--to", "2025-12-28"], { columns: 120 })).out;
  assertStringIncludes(text, "2025-12-24  09:30  12:00");
  assertEquals(text.split("\n").length, 4);
});

Deno.test("calendar rejects a range that is partly outside the coverage, and names the coverage", async () => {
  for (
    const [from, to, day] of [["2027-12-31", "2028-01-03", "2028-01-03"], [
      "2017-12-29",
      "2018-01-05",
      "2017-12-29",
    ]]
  ) {
    // Each case has three dates, so `from` and `to` are defined.
    const { code, out, err } = await cli(["calendar", "XHKG", "--from", from!, "--to", to!, "--json"]);
    assertEquals([code, JSON.parse(out).error.class], [2, "CalendarUnknownError"]);
    assertStringIncludes(err, `whether XHKG trades on ${day}: the calendar covers 2018-01-01 to 2027-12-31`);
  }
});

Deno.test("calendar lists ten years at once, and marks projected days", async () => {
  const { code, out } = await cli([
    "calendar",
    "XSHG",
    "--from",
    "2018-01-01",
    "--to",
    "2027-12-31",
    "--json",
  ]);
  const days: { date: string; projected?: boolean }[] = JSON.parse(out);
  assertEquals([code, days[0]?.date, days.at(-1)?.date], [0, "2018-01-02", "2027-12-31"]);
  assertEquals(days.find(({ projected }) => projected)?.date, "2027-01-04");
  const shown = await cli(["calendar", "XSHG", "--from", "2027-01-04"]);
  assertStringIncludes(shown.out, "projected");
  assertStringIncludes(shown.err, "XSHG is projected from 2027-01-01 on");
});

Deno.test("calendar without a name lists the coverage of each calendar", async () => {
  const { code, out } = await cli(["calendar", "--json"]);
  const rows: { mic: string; from: string; through: string; projectedFrom?: string }[] = JSON.parse(out);
  assertEquals(code, 0);
  assertEquals(
    rows.map(({ mic, from, through, projectedFrom }) => [mic, from, through, projectedFrom].join(" ").trim()),
    [
      "XHKG 2018-01-01 2027-12-31",
      "XNYS 2018-01-01 2027-12-31",
      ...["XSHG", "XSHE", "CONNECT_SH", "CONNECT_SZ", "CONNECT_HK"].map((mic) =>
        `${mic} 2018-01-01 2027-12-31 2027-01-01`
      ),
    ],
  );
  assertEquals((await cli(["calendar", "--from", "2026-01-01"])).code, 2);
});

Deno.test("calendar set overrides a day for later commands, and calendar unset removes the override", async () => {
  await using place = await calendars();
  const set = await place.run(
    "calendar",
    "set",
    "xnys",
    "2026-12-09",
    "closed",
    "--because",
    "day of mourning",
  );
  assertEquals([set.code, set.out], [0, `XNYS 2026-12-09 is now closed, in "${place.path}"\n`]);
  const listed = await place.run("calendar", "XNYS", "--from", "2026-12-08", "--to", "2026-12-10", "--json");
  assertEquals(JSON.parse(listed.out).map(({ date }: { date: string }) => date), [
    "2026-12-08",
    "2026-12-10",
  ]);
  const table = await place.run("calendar", "XNYS", "--from", "2026-12-08", "--to", "2026-12-10");
  assertStringIncludes(
    table.err,
    "XNYS 2026-12-09 was overridden on 2026-11-21: closed, because day of mourning",
  );
  const late = await place.run(
    "calendar",
    "set",
    "XHKG",
    "2026-12-10",
    "13:00-16:00",
    "--because",
    "typhoon",
    "--json",
  );
  assertEquals(JSON.parse(late.out).hours, "13:00-16:00");
  assertEquals(JSON.parse(await Deno.readTextFile(place.path)).overrides.length, 2);
  const back = await place.run("calendar", "unset", "XNYS", "2026-12-09");
  assertStringIncludes(back.out, "XNYS 2026-12-09 is open 09:30-16:00 again");
  const again = await place.run("calendar", "unset", "XNYS", "2026-12-09");
  assertEquals(again.code, 2);
  assertStringIncludes(again.err, "has none; it overrides XHKG 2026-12-10");
  // A command without the file does not use the override.
  const other = await cli(["calendar", "XHKG", "--from", "2026-12-10", "--json"]);
  assertEquals(JSON.parse(other.out)[0].open, "09:30");
});

Deno.test("calendar set reports an override that is not needed, and that Shenzhen has its own calendar", async () => {
  await using place = await calendars();
  const idle = await place.run("calendar", "set", "XHKG", "2026-12-25", "closed", "--because", "x");
  assertStringIncludes(idle.err, "the calendar already says the same");
  assertStringIncludes(
    (await place.run("calendar")).out,
    'no longer needed, because the calendar now says the same: "calendar unset',
  );
  const mainland = await place.run("calendar", "set", "XSHG", "2026-12-09", "closed", "--because", "x");
  assertStringIncludes(mainland.err, "XSHE is open 09:30-15:00");
});

Deno.test("calendar set reports the effect on Stock Connect", async () => {
  await using place = await calendars();
  const noon = ["calendar", "set", "XHKG", "2026-11-24", "09:30-12:00", "--because", "signal 8 since 10:20"];
  const cut = await place.run(...noon);
  assertEquals(cut.out, `XHKG 2026-11-24 is now open 09:30-12:00, in "${place.path}"\n`);
  assertEquals(
    cut.err,
    "hsgate: the hours count as an unannounced early close or late open, for Stock Connect too: CONNECT_SH " +
      "is open 09:30-11:30, CONNECT_SZ is open 09:30-11:30, CONNECT_HK is open 09:30-12:00; " +
      "use --half-day if the exchange announced a half-day\n",
  );
  const half = await place.run(...noon, "--half-day");
  assertEquals(half.out, `XHKG 2026-11-24 is now open 09:30-12:00, a half-day, in "${place.path}"\n`);
  assertStringIncludes(half.err, "Stock Connect on that day: CONNECT_SH is open 09:30-15:00");
  assertEquals(JSON.parse(await Deno.readTextFile(place.path)).overrides[0].halfDay, true);
});

Deno.test("calendar set rejects impossible values, and writes nothing", async () => {
  await using place = await calendars();
  const because = ["--because", "x"];
  for (
    const [words, reason] of [
      [["XHKG", "2026-12-09", "closed"], "give the reason with --because"],
      [["XHKH", "2026-12-09", "closed", ...because], 'did you mean "XHKG"?'],
      [["XHKG", "2026-12-12", "open", ...because], "it is a weekend"],
      [["XHKG", "2028-01-03", "open", ...because], "the calendar covers 2018-01-01 to 2027-12-31"],
      [
        ["XHKG", "2026-02-30", "open", ...because],
        'Cannot use the day "2026-02-30" of XHKG: write a day that exists',
      ],
      [
        ["XHKG", "2026-12-09", "09:30-11:00", "--half-day", ...because],
        "the half-day hours of XHKG are 09:30-12:00",
      ],
      [["XSHG", "2026-12-09", "09:30-11:30", "--half-day", ...because], "XSHG has no half-days"],
      [["XHKG", "2026-12-09", "13:00-12:00", ...because], "each after the one before"],
      [["XHKG", "2026-12-09", "shut", ...because], "write closed, open, or hours"],
    ] as const
  ) {
    const { code, err } = await place.run("calendar", "set", ...words);
    assertEquals(code, 2, err);
    assertStringIncludes(err, reason);
  }
  assertEquals([...Deno.readDirSync(place.path.replace("/days.json", ""))], []);
});

Deno.test("an invalid calendar file stops commands that use calendars", async () => {
  await using place = await calendars({
    "days.json": '{\n "format": 1,\n "overrides": [{ "mic": "XHKG" }]\n}',
  });
  for (const words of [["calendar", "XHKG"], ["check", "recipes"], ["next"]]) {
    const { code, err } = await place.run(...words);
    assertEquals(code, 2, words.join(" "));
    assertStringIncludes(err, `${place.path}:3: overrides.0.date`);
  }
});

/** A module as `deno info --json` describes it. */
interface InfoModule {
  specifier: string;
  dependencies?: { code?: { specifier?: string } }[];
}

Deno.test("an invalid calendar file does not stop commands that use no calendar", async () => {
  await using place = await calendars({ "days.json": "{" });
  const { code, err } = await place.run("call", "account.funds", '{"market":"hk"}', "--dry-run");
  assertEquals([code, err], [0, ""]);
  const free = commands.filter(({ calendars }) => calendars === false).map(({ name }) => name);
  const ofDesk = ["buy", "sell", "amend", "cancel", "cancel-all", "orders show", "orders", "fills", "halt"];
  assertEquals(free, [
    "swarm",
    "call",
    "portfolio",
    "bars",
    "quote",
    "watch",
    ...ofDesk,
    "login",
    "doctor",
    "probe",
    "lease",
  ]);
  const root = new URL("../../", import.meta.url);
  // The doctor uses the built-in calendars to find the last session, not the local file.
  const looked = await place.run("doctor");
  assert(!`${looked.out}${looked.err}`.includes("days.json"), looked.err);
  await Promise.all(
    // The order desk and the simulated broker use the dates of the built-in calendars, not the local file.
    free.filter((name) =>
      !["doctor", "probe", "swarm", "call", "portfolio", "bars", ...ofDesk].includes(name)
    ).map(
      async (name) => {
        const args = ["info", "--json", `tasks/commands/${name}/body.ts`];
        const { stdout } = await new Deno.Command(Deno.execPath(), { args, cwd: root }).output();
        const { modules }: { modules: InfoModule[] } = JSON.parse(new TextDecoder().decode(stdout));
        const byName = new Map(modules.map((module) => [module.specifier, module]));
        // An import of only types loads no module.
        const found = new Set([`${root.href}tasks/commands/${name}/body.ts`]);
        for (const each of found) {
          for (const { code } of byName.get(each)?.dependencies ?? []) {
            if (code?.specifier !== undefined) found.add(code.specifier);
          }
        }
        const files = [...found].map((specifier) => specifier.slice(root.href.length));
        assert(files.length > 10, `${files.length}`);
        assertEquals(files.filter((file) => file.startsWith("lib/calendars/")), [], name);
      },
    ),
  );
});

Deno.test("next and check report an overridden day, and check warns about uncertain days", async () => {
  const recipe =
    "name: look\nschedule: { calendar: CONNECT_SH, at: close+30m }\nsteps: [{ id: go, uses: account.funds, with: { market: shanghai } }]\n";
  await using place = await calendars({ "look.yaml": recipe });
  await place.run("calendar", "set", "XHKG", "2026-11-24", "closed", "--because", "a black rainstorm");
  await place.run("calendar", "set", "XHKG", "2026-12-25", "closed", "--because", "christmas");
  const next = await place.run("next", `${place.path.replace("days.json", "look.yaml")}`, "--count", "2");
  assertEquals(next.code, 0, next.err);
  assertEquals(
    lastLines(next.out, 4).map((each) => each.slice(0, 14)),
    ["Mon 2026-11-23", "Tue 2026-11-24", "Wed 2026-11-25", "2026-11-24 is "],
  );
  assertStringIncludes(next.out, "2026-11-24 is overridden: XHKG is closed, because a black rainstorm");
  const shown = await place.run("check", place.path.replace("days.json", "look.yaml"));
  assertStringIncludes(
    shown.out,
    "nothing to do: the exchange is closed; override: XHKG is closed, because a black rainstorm",
  );
  const check = await place.run("check", place.path.replace("days.json", "look.yaml"), "--json");
  const { ok, warnings }: { ok: boolean; warnings: string[] } = JSON.parse(check.out);
  assertEquals(ok, true);
  assert(warnings.some((line) => line.startsWith("CONNECT_SH is projected from 2027-01-01 on")));
  assert(warnings.some((line) => line.includes("XHKG 2026-12-25") && line.includes("no longer needed")));
  const late = await cli([
    "check",
    place.path.replace("days.json", "look.yaml"),
    "--now",
    "2027-11-20T00:00:00Z",
  ]);
  assertStringIncludes(late.err, "hsgate: warning: CONNECT_SH ends 2027-12-31");
});

Deno.test("calendar update shows and installs a newer calendar, and --back reinstalls the previous one", async () => {
  const data = structuredClone(hongKong);
  data.version = "2027.1.1";
  data.closed["2027"] = data.closed["2027"].replace("02-08 ", "");
  await using place = await calendars({ "new.json": JSON.stringify(data, null, 2) });
  const file = place.path.replace("days.json", "new.json");
  const dry = await place.run("calendar", "update", file, "--dry-run");
  assertEquals(dry.code, 0, dry.err);
  assertStringIncludes(dry.out, "  added    2027-02-08 09:30-12:00 13:00-16:00");
  assertEquals(JSON.parse((await place.run("calendar", "XHKG", "--from", "2027-02-08", "--json")).out), []);
  assertEquals((await place.run("calendar", "update", file)).code, 0);
  assertEquals(
    JSON.parse((await place.run("calendar", "XHKG", "--from", "2027-02-08", "--json")).out).length,
    1,
  );
  const twice = await place.run("calendar", "update", file);
  assertEquals(twice.code, 2);
  assertStringIncludes(twice.err, `${file}:3: version: expected a version newer than the current "2027.1.1"`);
  const back = await place.run("calendar", "update", "XHKG", "--back");
  assertStringIncludes(back.out, `XHKG changed from version 2027.1.1 to ${hongKong.version}`);
  assertEquals(JSON.parse((await place.run("calendar", "XHKG", "--from", "2027-02-08", "--json")).out), []);
  assertEquals((await place.run("calendar", "update", "XHKG", "--back")).code, 2);
});

Deno.test("calendar update rejects an invalid calendar with reasons and lines, and keeps the current one", async () => {
  const data = structuredClone(hongKong);
  data.version = "2027.1.1";
  data.closed["2026"] += " 12-27"; // a Sunday
  data.halfday = "09:30-12:00";
  await using place = await calendars({ "new.json": JSON.stringify(data, null, 2) });
  const { code, err } = await place.run("calendar", "update", place.path.replace("days.json", "new.json"));
  assertEquals(code, 2);
  assertStringIncludes(err, "new.json:17: closed.2026: expected a weekday");
  assertStringIncludes(err, "halfday: expected one of mic, version");
  const missing = await place.run("calendar", "update", `${place.path}.none`);
  assertEquals(missing.code, 2);
  assertStringIncludes(missing.err, "there is no file");
  const folder = await place.run("calendar", "update", place.path.replace("/days.json", ""));
  assertEquals(folder.code, 2);
  assertStringIncludes(folder.err, "it is a folder: expected a regular file");
});

Deno.test("run uses overridden days, with and without a store", async () => {
  // With the built-in calendar, the step would wait until an instant that has passed, and succeed.
  const recipe = `name: look
connect: { simulator: { seed: 1, at: "2026-11-20T16:30:00+08:00" } }
steps:
  - { id: wait, uses: wait-for, with: { session: { calendar: XHKG, moment: close } } }
  - { id: go, uses: account.funds, with: { market: hk } }
`;
  await using place = await calendars({ "look.yaml": recipe });
  const file = place.path.replace("days.json", "look.yaml");
  const store = ["--store", place.path.replace("days.json", "s.db"), "--manual"];
  const now = () => Date.parse("2026-11-20T08:30:00Z");
  const run = (more: string[]) =>
    cli(["run", file, ...more], { env: { HSGATE_CALENDARS: place.path }, now, fromDisk: true });
  for (const more of [[], store]) {
    const before = await run(more);
    assertEquals(before.code, 0, before.err);
  }
  await place.run("calendar", "set", "XHKG", "2026-11-20", "closed", "--because", "a black rainstorm");
  for (const more of [[], store]) {
    const { code, out, err } = await run(more);
    assertEquals(code, 1, more.join(" "));
    assertStringIncludes(out + err, "close of XHKG: 2026-11-20 is closed");
  }
});
