import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { cli, folder, spawned } from "./runner_support.ts";

const close =
  "name: close\nschedule: { calendar: XHKG, at: close+45m }\nmisfire: skip\nsteps:\n  - { id: a, uses: orders.today, with: { market: hk } }\n";
const night =
  "name: night\nschedule: { cron: '30 2 * * *', timezone: America/New_York }\nmisfire: skip\nsteps:\n  - { id: a, uses: orders.today, with: { market: us } }\n";
const wrong = "name: wrong\nsteps:\n  - id: a\n    uses: orders.todya\n    with: { market: hk }\n";
const NOW = "2025-12-23T12:00:00+08:00";

Deno.test("check lists the next ten slots, the holidays between them, and the clock changes of two years", async () => {
  await using dir = await folder({ "close.yaml": close, "night.yaml": night });
  const { code, out } = await cli(["check", dir.path, "--json", "--now", NOW]);
  assertEquals(code, 0);
  const [first, second] = JSON.parse(out).files;
  assertEquals([first.name, first.path], ["close", `${dir.path}/close.yaml`]);
  assertEquals(first.next.slice(0, 4), [
    // Hong Kong closes at noon on Christmas Eve and is closed for the next two days.
    {
      schedule: "main",
      at: "2025-12-23T08:45:00Z",
      local: "2025-12-23T16:45:00+08:00",
      zone: "Asia/Hong_Kong",
      session: "2025-12-23",
    },
    {
      schedule: "main",
      at: "2025-12-24T04:45:00Z",
      local: "2025-12-24T12:45:00+08:00",
      zone: "Asia/Hong_Kong",
      session: "2025-12-24",
    },
    {
      schedule: "main",
      at: "2025-12-25T08:45:00Z",
      local: "2025-12-25T16:45:00+08:00",
      zone: "Asia/Hong_Kong",
      session: "2025-12-25",
      skipped: "holiday",
    },
    {
      schedule: "main",
      at: "2025-12-26T08:45:00Z",
      local: "2025-12-26T16:45:00+08:00",
      zone: "Asia/Hong_Kong",
      session: "2025-12-26",
      skipped: "holiday",
    },
  ]);
  assertEquals(first.next.filter(({ skipped }: { skipped?: string }) => skipped === undefined).length, 10);
  // 02:30 does not exist on 8 March 2026 and on 14 March 2027. The recipe runs at the first instant after the gap.
  assertEquals(second.clockChanges, [
    {
      schedule: "main",
      kind: "gap",
      wall: "2026-03-08T02:30",
      zone: "America/New_York",
      runsAt: ["2026-03-08T07:00:00Z"],
    },
    {
      schedule: "main",
      kind: "gap",
      wall: "2027-03-14T02:30",
      zone: "America/New_York",
      runsAt: ["2027-03-14T07:00:00Z"],
    },
  ]);
});

Deno.test("check names file, line, column and the nearest name for a mistake, and ends with 2", async () => {
  await using dir = await folder({
    "close.yaml": close,
    "wrong.yaml": wrong,
    "hsgate.yaml": "gatewayUrl: x\n",
  });
  const { code, out, err } = await cli(["check", dir.path, "--now", NOW]);
  assertEquals(code, 2);
  assertStringIncludes(out, `${dir.path}/wrong.yaml:4:11: `);
  assertStringIncludes(out, "orders.today");
  assertStringIncludes(
    out,
    "  Thu 2025-12-25 16:45 Asia/Hong_Kong  main  nothing to do: the exchange is closed\n",
  );
  assertEquals(err, "hsgate: 1 of 2 recipes is wrong\n");
  const json = JSON.parse((await cli(["check", `${dir.path}/wrong.yaml`, "--json"])).out);
  assertEquals([json.ok, json.files[0].issues[0].line, json.files[0].next], [false, 4, []]);
});

Deno.test("check warns about every plain HTTP address on another machine", async () => {
  const orders = "steps:\n  - { id: a, uses: orders.today, with: { market: hk } }\n";
  const step = (url: string) =>
    `name: s\nsteps:\n  - { id: tell, uses: notify, with: { webhook: "${url}", text: hello } }\n`;
  const recipes: [text: (url: string) => string, by: string][] = [
    [step, 'step "tell"'],
    [(url) => `name: n\n${orders}notify: [{ on: failure, with: { webhook: "${url}" } }]\n`, "notice 1"],
    [(url) => `name: p\n${orders}ping: "${url}"\n`, "ping"],
    [(url) => `name: c\nconnect: { gateway: "${url}" }\n${orders}`, "connect"],
  ];
  for (const [text, by] of recipes) {
    const warningsAbout = async (url: string) => {
      await using dir = await folder({ "r.yaml": text(url) });
      const { code, err } = await cli(["check", dir.path]);
      assertEquals(code, 0, err);
      return err.split("\n").filter((line) => line.includes("warning")).join("\n").replaceAll(dir.path, "");
    };
    assertStringIncludes(
      await warningsAbout("http://example.com/x"),
      `/r.yaml: ${by}: http://example.com is plain HTTP to another machine`,
    );
    assertEquals(await warningsAbout("https://example.com/x"), "");
    assertEquals(await warningsAbout("http://127.0.0.1:8/x"), "");
  }
});

Deno.test("check rejects a folder that does not exist or contains no recipe", async () => {
  await using dir = await folder({});
  for (const path of [dir.path, `${dir.path}/none`]) {
    const { code, out, err } = await cli(["check", path]);
    assertEquals([code, out], [2, ""]);
    assertStringIncludes(err, "Cannot find recipes: there is no");
  }
});

Deno.test("check, run as a process, accepts the recipes in recipes/", async () => {
  const { code, err } = await spawned(["check", "recipes"]);
  assertEquals([code, err], [0, "hsgate: 8 recipes, no mistakes; 4 are not trusted\n"]);
});

Deno.test("schema writes the JSON Schema of recipes to stdout or a file", async () => {
  await using dir = await folder({});
  const { code, out } = await cli(["schema"]);
  assertEquals(code, 0);
  const schema = JSON.parse(out);
  assert(["name", "schedule", "steps"].every((name) => name in schema.properties));
  const file = `${dir.path}/recipe.schema.json`;
  assertEquals((await cli(["schema", "--out", file])).code, 0);
  assertEquals(await Deno.readTextFile(file), out);
});

Deno.test("next lists slots by recipe, or by time, with skipped days and reasons", async () => {
  await using dir = await folder({ "close.yaml": close, "night.yaml": night });
  const next = async (...more: string[]) => {
    const { code, out } = await cli(["next", dir.path, "--now", NOW, ...more], { columns: 200 });
    assertEquals(code, 0);
    return out.trimEnd().split("\n").map((line) => line.replaceAll(/ {2,}/g, "|"));
  };
  assertEquals(await next(), [
    "when|zone|recipe|schedule|note",
    "Tue 2025-12-23 02:30|America/New_York|night|main",
    "Wed 2025-12-24 02:30|America/New_York|night|main",
    "Thu 2025-12-25 02:30|America/New_York|night|main",
    "Tue 2025-12-23 16:45|Asia/Hong_Kong|close|main",
    "Wed 2025-12-24 12:45|Asia/Hong_Kong|close|main",
    "Thu 2025-12-25 16:45|Asia/Hong_Kong|close|main|nothing to do: the exchange is closed",
    "Fri 2025-12-26 16:45|Asia/Hong_Kong|close|main|nothing to do: the exchange is closed",
    "Mon 2025-12-29 16:45|Asia/Hong_Kong|close|main",
  ]);
  assertEquals(await next("--count", "3", "--by-time"), [
    "when|zone|recipe|schedule|note",
    "Tue 2025-12-23 02:30|America/New_York|night|main",
    "Tue 2025-12-23 16:45|Asia/Hong_Kong|close|main",
    "Wed 2025-12-24 12:45|Asia/Hong_Kong|close|main",
    "Wed 2025-12-24 02:30|America/New_York|night|main",
    "Thu 2025-12-25 02:30|America/New_York|night|main",
    "Thu 2025-12-25 16:45|Asia/Hong_Kong|close|main|nothing to do: the exchange is closed",
    "Fri 2025-12-26 16:45|Asia/Hong_Kong|close|main|nothing to do: the exchange is closed",
    "Mon 2025-12-29 16:45|Asia/Hong_Kong|close|main",
  ]);
});

Deno.test("next and check do not hide a daily schedule behind a frequent one", async () => {
  const funds = "steps:\n  - { id: f, uses: account.funds, with: { market: hk } }\n";
  const often = "schedule:\n  - { id: often, every: 1m }\n  - { id: daily, calendar: XHKG, at: close+45m }\n";
  await using dir = await folder({
    "both.yaml": `name: both\n${often}${funds}`,
  });
  const { out } = await cli(["next", dir.path, "--now", NOW, "--columns", "recipe,schedule"], {
    columns: 80,
  });
  const count = (schedule: string) => out.split("\n").filter((line) => line === `both    ${schedule}`).length;
  // Each schedule has three slots that run. `daily` also has two skipped slots: Christmas and the day after it.
  assertEquals([count("often"), count("daily")], [3, 5], out);
  const checked = await cli(["check", `${dir.path}/both.yaml`, "--now", NOW]);
  assertStringIncludes(checked.out, "  Tue 2025-12-23 16:45 Asia/Hong_Kong  daily\n");
});

Deno.test("next lists the valid recipes next to an invalid one, and ends with 2", async () => {
  await using dir = await folder({ "close.yaml": close, "wrong.yaml": wrong });
  const { code, out, err } = await cli(["next", dir.path, "--count", "1", "--json", "--now", NOW]);
  assertEquals(code, 2);
  assertEquals(JSON.parse(out).map(({ recipe, at }: Record<string, string>) => [recipe, at]), [
    ["close", "2025-12-23T08:45:00Z"],
  ]);
  assertStringIncludes(err, `${dir.path}/wrong.yaml:4:11: `);
});

const refusals: [string[], string][] = [
  [
    ["calendar", "XHKH"],
    'Cannot use calendar "XHKH": there are XHKG, XNYS, XSHG, XSHE, CONNECT_SH, CONNECT_SZ, CONNECT_HK; did you mean "XHKG"?',
  ],
  [["calendar", "XHKG", "--from", "2031-01-01"], "the calendar covers"],
  [["calendar", "XHKG", "--from", "2025-02-30"], "write a day that exists"],
  [["calendar", "XHKG", "--from", "2025-02-03", "--to", "2025-02-01"], "the first day is after the last"],
  [["next", "recipes", "--count", "0"], "write a number from 1 to 100"],
];
for (const [words, reason] of refusals) {
  Deno.test(`hsgate ${words.join(" ")} is rejected with exit code 2`, async () => {
    const { code, out, err } = await cli(words);
    assertEquals([code, out], [2, ""]);
    assertStringIncludes(err, reason);
  });
}

Deno.test("check reports the problem of each file, and checks the others", async () => {
  const bomb = [
    "a: &a [1, 2]",
    ..."bcde".split("").map((name, index) => {
      const before = `*${"abcd"[index]}`;
      return `${name}: &${name} [${Array(9).fill(before).join(", ")}]`;
    }),
  ].join("\n");
  await using dir = await folder({ "bomb.yaml": `name: bomb\n${bomb}\n`, "close.yaml": close });
  await Deno.symlink("nowhere.yaml", `${dir.path}/x.yaml`);
  await Deno.writeFile(`${dir.path}/y.yaml`, Uint8Array.from([0x61, 0x3a, 0x20, 0xe9]));
  const { code, out, err } = await cli(["check", dir.path, "--now", NOW]);
  assertEquals([code, err], [2, "hsgate: 3 of 4 recipes are wrong\n"]);
  assertStringIncludes(out, "close  ");
  assertStringIncludes(out, `${dir.path}/bomb.yaml:5:`);
  assertStringIncludes(
    out,
    `${dir.path}/x.yaml:1:1: it cannot be read: it is a link to a file that is not there\n`,
  );
  assertStringIncludes(out, `${dir.path}/y.yaml:1:4: it is not UTF-8: byte 0xE9 at offset 3`);
  const next = await cli(["next", dir.path, "--count", "1", "--json", "--now", NOW]);
  assertEquals([next.code, JSON.parse(next.out).length], [2, 1]);
});

const cancelling = (head: string) =>
  `name: cancel\n${head}\nsteps:\n  - { id: a, uses: orders.cancel, with: { market: hk, symbol: "00700.HK", orderId: "1" } }\n`;
const WINDOW = "window: XHKG.open+5m..XHKG.close-10m";

Deno.test("check rejects a schedule whose slots are never in the window, and shows the times of slot and window on one day", async () => {
  const lineOf = async (head: string) => {
    await using dir = await folder({ "cancel.yaml": cancelling(head) });
    const { code, out, err } = await cli(["check", dir.path, "--now", NOW]);
    return [code, out.replaceAll(dir.path, "").trimEnd(), err.trimEnd()];
  };
  const wrong = "hsgate: 1 of 1 recipes is wrong";
  assertEquals(await lineOf(`schedule: { calendar: XHKG, at: close+45m }\n${WINDOW}`), [
    2,
    "/cancel.yaml:2:33: schedule.at: expected a time before the window closes: no slot can ever run, because " +
    "on 2025-12-23 the slot is at 16:45, and the window closes at 15:50 (Asia/Hong_Kong)",
    wrong,
  ]);
  const two = `schedule:\n  - { id: fine, calendar: XHKG, at: open+30m }\n` +
    "  - { id: late, cron: 30 17 * * 1-5, timezone: Asia/Hong_Kong }\n";
  assertStringIncludes(
    (await lineOf(`${two}${WINDOW}`))[1] as string,
    "/cancel.yaml:4:23: schedule.1.cron: expected a time before the window closes: no slot can ever run, because ",
  );
  assertEquals(
    await lineOf(
      `schedule: { cron: "0 10 1 1 *", timezone: Asia/Hong_Kong }\nwindow: XHKG.open..XHKG.close-10m`,
    ),
    [
      2,
      "/cancel.yaml:2:1: schedule: expected days on which XHKG trades: no slot can ever run, because the exchange is closed on " +
      "the next 2 days with a slot",
      wrong,
    ],
  );
  assertStringIncludes(
    (await lineOf(`schedule: { cron: "0 3 * * 0", timezone: Asia/Hong_Kong }\n${WINDOW}`))[1] as string,
    "/cancel.yaml:2:1: schedule: expected days on which XHKG trades: ",
  );
  assertEquals(await lineOf(`schedule: { calendar: XHKG, at: "08:00" }\ndeadline: 10m\n${WINDOW}`), [
    2,
    "/cancel.yaml:3:11: deadline: expected a deadline after the window opens: no slot can ever run, because " +
    "on 2025-12-24 the slot is at 08:00, its deadline 10m later, and the window is open from 09:35 to 11:50 " +
    "(Asia/Hong_Kong)",
    wrong,
  ]);
  assertStringIncludes(
    (await lineOf(`schedule: { every: 20m, jitter: 5m }\ndeadline: 4m\n${WINDOW}`))[1] as string,
    '/cancel.yaml:3:11: deadline: expected at least the jitter of schedule "main", 5m',
  );
});

Deno.test("check warns if slots miss the window only on half-days, and does not warn if each day has a slot in the window", async () => {
  const warningOf = async (head: string) => {
    await using dir = await folder({ "cancel.yaml": cancelling(head) });
    const { code, err } = await cli(["check", dir.path, "--now", NOW]);
    assertEquals(code, 0, err);
    return err.split("\n").filter((line) => line.includes("cancel"));
  };
  // The half-days of 2025 and 2026: Christmas Eve, New Year's Eve, and the eve of the lunar new year.
  assertEquals(await warningOf(`schedule: { calendar: XHKG, at: "14:00" }\n${WINDOW}`), [
    'hsgate: warning: "cancel" cannot run on half-days (2025-12-24, 2025-12-31, 2026-02-16, 2026-12-24, 2026-12-31): ' +
    'schedule "main": on 2025-12-24 the slot is at 14:00, and the window closes at 11:50 (Asia/Hong_Kong)',
  ]);
  const fine = [
    "schedule: { calendar: XHKG, at: open+30m }",
    "schedule: { calendar: XHKG, at: open-1h }", // waits for the window
    "schedule: { calendar: XHKG, at: '14:00', halfDays: skip }",
    "schedule: { every: 1s }",
    "schedule: { every: 2h, jitter: 30m }\ndeadline: 1h",
    "schedule: { every: 20m, while: XHKG.open-30m..XHKG.close+2h }",
  ];
  for (const head of fine) assertEquals(await warningOf(`${head}\n${WINDOW}`), [], head);
});

Deno.test("check and next show seconds and fractions if a slot has them", async () => {
  const step = "steps:\n  - { id: a, uses: orders.today, with: { market: hk } }\n";
  await using dir = await folder({
    "a.yaml": `name: a\nschedule: { every: 1s }\n${step}`,
    "b.yaml": `name: b\nschedule: { every: 90s }\n${step}`,
    "c.yaml": `name: c\nschedule: { every: 250ms }\n${step}`,
    "d.yaml": `name: d\nschedule: { every: 1m }\n${step}`,
  });
  const { out } = await cli(["check", dir.path, "--now", NOW]);
  const lines = out.split("\n").filter((line) => line.startsWith("  Tue"));
  assertEquals([0, 1, 10, 20, 23, 30, 31].map((at) => lines[at]), [
    "  Tue 2025-12-23 04:00:01 UTC  main",
    "  Tue 2025-12-23 04:00:02 UTC  main",
    "  Tue 2025-12-23 04:01:30 UTC  main",
    "  Tue 2025-12-23 04:00:00.250 UTC  main",
    "  Tue 2025-12-23 04:00:01.000 UTC  main",
    "  Tue 2025-12-23 04:01 UTC  main",
    "  Tue 2025-12-23 04:02 UTC  main",
  ]);
  const of = async (name: string) =>
    (await cli(["next", `${dir.path}/${name}.yaml`, "--count", "2", "--now", NOW], { columns: 100 })).out
      .split("\n").slice(1, 3).map((line) => line.split("  ")[0]);
  assertEquals(await of("a"), ["Tue 2025-12-23 04:00:01", "Tue 2025-12-23 04:00:02"]);
  assertEquals(await of("d"), ["Tue 2025-12-23 04:01", "Tue 2025-12-23 04:02"]);
});

Deno.test("run warns about a column that no row has, writes the report, and ends with 7", async () => {
  await using dir = await folder({ "rows.csv": "symbol,price\r\n00700.HK,350.20\r\n" });
  const path = `${dir.path}/report.yaml`;
  const files = {
    [path]: `name: report
params: { columns: [symbol, prise] }
steps:
  - { id: table, uses: convert-report, with: { from: rows.csv, to: table.md, columns: "\${{ params.columns }}" } }
`,
  };
  const { code, err } = await cli(["run", path, "--out", dir.path], { files });
  assertEquals(code, 7, err);
  assertStringIncludes(err, 'table: warn: no row has the column "prise"; did you mean "price"?');
  assertStringIncludes(await Deno.readTextFile(`${dir.path}/table.md`), "| 00700.HK |  |");
  const sound = await cli(["run", path, "--out", dir.path, "--param", "columns=symbol,price"], { files });
  assertEquals(sound.code, 0, sound.err);
});

Deno.test("when check searches for the recipe of a step, it skips files that begin with the name of another recipe, and limits the total size of the files that it compiles", async () => {
  const step = (id: number) => `  - { id: s${id}, uses: orders.today, with: { market: hk } }\n`;
  const steps = `steps:\n${Array.from({ length: 450 }, (_, id) => step(id)).join("")}`;
  const names = Array.from({ length: 60 }, (_, index) => `a${index}.yaml`);
  const beside = (text: (index: number) => string) =>
    Object.fromEntries(names.map((name, index) => [name, text(index)]));
  const files = {
    "r.yaml": "name: r\nsteps: [{ id: a, uses: run, with: { recipe: x } }]\n",
    "x.yaml": "name: x\nsteps: [{ id: a, uses: orders.today, with: { market: hk } }]\n",
  };
  {
    // Each file begins with its own name, and mentions "x" in a comment. Each has a mistake, which check reports only
    // if it compiles the file.
    await using dir = await folder({
      ...files,
      ...beside((index) => `# a recipe\nname: a${index} # mine\n# name: x\nsteps: wrong\n`),
    });
    const { code, err } = await cli(["check", `${dir.path}/r.yaml`]);
    assertEquals([code, err], [0, "hsgate: 1 recipe, no mistakes\n"]);
  }
  // These files do not begin with their names, so check must compile them to find "x". Their total size is limited.
  await using dir = await folder({ ...files, ...beside((index) => `${steps}# name: x\nname: a${index}\n`) });
  const { code, out } = await cli(["check", `${dir.path}/r.yaml`]);
  assertEquals(code, 2);
  assertStringIncludes(
    out,
    "at most 1024 KiB in all files that hsgate compiles to find the recipes that this one runs",
  );
});

Deno.test("check ends with 130 after Ctrl-C, even with many heavy recipes", async () => {
  const schedules = Array.from(
    { length: 50 },
    (_, i) => `  - { id: s${i}, cron: '30 2 * * *', timezone: America/New_York }\n`,
  );
  const heavy = (name: string) =>
    `name: ${name}\nschedule:\n${
      schedules.join("")
    }steps:\n  - { id: a, uses: orders.today, with: { market: us } }\n`;
  const files = Array.from({ length: 60 }, (_, i): [string, string] => [`r${i}.yaml`, heavy(`r${i}`)]);
  await using dir = await folder(Object.fromEntries(files));
  let at = 0;
  const interruptWhen = () => {
    at ||= performance.now();
    return performance.now() > at + 3_000;
  };
  const { code, out } = await spawned(["check", dir.path], { interruptWhen });
  assertEquals([code, out], [130, ""]);
});
