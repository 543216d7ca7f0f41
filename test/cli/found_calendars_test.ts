/**
 * Tests that a calendar file in the working folder moves no slot unless the user has named it, written it or trusted
 * it.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { folder, spawned } from "./support.ts";

const isWindows = Deno.build.os === "windows";
const FILE = "hsgate.calendars.json";

/** Runs when Hong Kong opens. */
const RECIPE = `name: r
schedule: { calendar: XHKG, at: open }
misfire: { grace: 2h }
connect: simulator
steps: [{ id: orders, uses: orders.today, with: { market: hk } }]
`;

/** A file that moves the opening of one day to the middle of the night. */
const moved = (hours = "02:00-03:00") =>
  JSON.stringify({
    format: 1,
    overrides: [{ mic: "XHKG", date: "2026-11-23", hours, because: "x", setAt: "2026-11-21T05:00:00Z" }],
  });

/** A folder with a recipe and a calendar file, and the user's record of trust. */
async function world(calendars?: string) {
  const dir = await folder();
  const path = `${dir.path}/work`;
  await Deno.mkdir(path, { mode: 0o700 });
  await Deno.writeTextFile(`${path}/r.yaml`, RECIPE);
  const write = (text: string) => Deno.writeTextFile(`${path}/${FILE}`, text, { mode: 0o600 });
  if (calendars !== undefined) await write(calendars);
  const hsgate = (words: readonly string[], env: Record<string, string> = {}) =>
    spawned(words, { cwd: path, env: { HSGATE_TRUST_FILE: `${dir.path}/trust.json`, ...env } });
  return {
    path,
    write,
    hsgate,
    /** Returns the next slot. */
    next: async () => {
      const { code, out, err } = await hsgate(["next", "r.yaml", "--json", "--now", "2026-11-21T05:00:00Z"]);
      assertEquals(code, 0, err);
      return JSON.parse(out)[0].local as string;
    },
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

Deno.test("a calendar file that the user has not named moves no slot before its current content is trusted", async () => {
  await using w = await world(moved());
  const commands = [
    ["next", "r.yaml"],
    ["calendar", "XHKG"],
    ["schedule", "r.yaml", "--once"],
    ["calendar", "set", "XHKG", "2026-11-24", "closed", "--because", "y"],
  ];
  for (const words of commands) {
    const { code, out, err } = await w.hsgate(words);
    assertEquals([code, out], [2, ""], `${words}: ${err}`);
    assertStringIncludes(err, `Cannot use "${FILE}" of this folder: nobody has trusted it`);
    assertStringIncludes(err, `run "hsgate trust ${FILE}", or name it with HSGATE_CALENDARS`);
  }
  assertEquals(await Deno.readTextFile(`${w.path}/${FILE}`), moved());
  const shown = await w.hsgate(["trust", FILE, "--yes"]);
  assertEquals(shown.code, 0, shown.err);
  assertStringIncludes(shown.out, "XHKG 2026-11-23 02:00-03:00: x");
  assertStringIncludes(await w.next(), "2026-11-23T02:00");
  await w.write(moved("03:00-04:00"));
  const edited = await w.hsgate(["next", "r.yaml"]);
  assertEquals(edited.code, 2, edited.err);
  assertStringIncludes(edited.err, "it was changed after it was trusted");
  const listed = JSON.parse((await w.hsgate(["trust", "--list", "--json"])).out);
  assertEquals(listed.map(({ state }: { state: string }) => state), ["changed"]);
  const removed = await w.hsgate(["trust", FILE, "--remove"]);
  assertStringIncludes(removed.out, `no longer trusted: ${await Deno.realPath(w.path)}/${FILE}`);
});

Deno.test("a calendar file is used at once if its user wrote it with a command, or names it", async () => {
  await using w = await world();
  const set = await w.hsgate(["calendar", "set", "XHKG", "2026-11-23", "02:00-03:00", "--because", "x"]);
  assertEquals(set.code, 0, set.err);
  assertStringIncludes(await w.next(), "2026-11-23T02:00");
  await w.write(moved("03:00-04:00"));
  const named = await w.hsgate(["next", "r.yaml", "--json", "--now", "2026-11-21T05:00:00Z"], {
    HSGATE_CALENDARS: FILE,
  });
  assertStringIncludes(JSON.parse(named.out)[0].local, "2026-11-23T03:00");
  const trusted = await w.hsgate(["trust", FILE, "--yes"]);
  assertEquals(trusted.code, 0, trusted.err);
  const unset = await w.hsgate(["calendar", "unset", "XHKG", "2026-11-23"]);
  assertEquals(unset.code, 0, unset.err);
  assertStringIncludes(await w.next(), "2026-11-23T09:30");
});

Deno.test("a calendar file inside the folder needs its own trust, even if trusted settings name it", async () => {
  await using w = await world();
  await Deno.writeTextFile(`${w.path}/days.json`, moved(), { mode: 0o600 });
  await Deno.writeTextFile(`${w.path}/hsgate.yaml`, "calendars: days.json\n", { mode: 0o600 });
  assertEquals((await w.hsgate(["trust", "hsgate.yaml", "--yes"])).code, 0);
  const { code, err } = await w.hsgate(["next", "r.yaml"]);
  assertEquals(code, 2, err);
  assertStringIncludes(err, 'Cannot use "days.json" of this folder: nobody has trusted it');
  assertEquals((await w.hsgate(["trust", "days.json", "--yes"])).code, 0);
  assertStringIncludes(await w.next(), "2026-11-23T02:00");
});

Deno.test("check lists a calendar file that is not trusted, and continues without it", async () => {
  await using w = await world(moved());
  const words = ["check", "r.yaml", "--now", "2026-11-21T05:00:00Z"];
  const { code, out, err } = await w.hsgate(words);
  assertEquals(code, 0, err);
  assertStringIncludes(out, "XHKG 2026-11-23 02:00-03:00: x");
  assertStringIncludes(err, `Cannot use "${FILE}" of this folder: nobody has trusted it`);
  const json = JSON.parse((await w.hsgate([...words, "--json"])).out);
  assertStringIncludes(json.files[0].next[0].local, "2026-11-23T09:30");
  assertEquals([json.ok, json.calendars.trust, json.calendars.days], [true, "unknown", [
    "XHKG 2026-11-23 02:00-03:00: x",
  ]]);
});

Deno.test("check reports a damaged calendar file as a mistake, and still checks the recipes", async () => {
  for (const text of ["{", '{"format": 1, "overrides": [{}]}']) {
    await using w = await world(text);
    const { code, out, err } = await w.hsgate(["check", "r.yaml"]);
    assertEquals(code, 2, err);
    assertStringIncludes(out, FILE);
    assertStringIncludes(out, "r.yaml");
    assertStringIncludes(err, FILE);
    assertStringIncludes(err, "1 recipe, no mistakes");
    const json = JSON.parse((await w.hsgate(["check", "r.yaml", "--json"])).out);
    assertEquals([json.ok, json.files.length, json.files[0].issues], [false, 1, []]);
    assertStringIncludes(json.calendars.error, FILE);
  }
});

Deno.test({
  name:
    "a calendar file that is a link out of the folder, or not a regular file, is not read; check continues",
  ignore: isWindows,
  async fn() {
    await using w = await world();
    const outside = `${w.path}/../outside.json`;
    await Deno.writeTextFile(outside, moved());
    Deno.symlinkSync(outside, `${w.path}/${FILE}`);
    for (const words of [["next", "r.yaml"], ["trust", FILE, "--yes"]]) {
      const { code, err } = await w.hsgate(words);
      assert(code !== 0, err);
      assertStringIncludes(err, "it is a link to a file outside the folder");
    }
    const linked = await w.hsgate(["check", "r.yaml"]);
    assertEquals([linked.code, linked.out.includes("02:00")], [0, false], linked.err);
    Deno.removeSync(`${w.path}/${FILE}`);
    await new Deno.Command("mkfifo", { args: [`${w.path}/${FILE}`] }).output();
    const { code, out, err } = await w.hsgate(["check", "r.yaml"]);
    assertEquals(code, 2, err);
    assertStringIncludes(err, "1 recipe, no mistakes");
    assertStringIncludes(out, FILE);
  },
});
