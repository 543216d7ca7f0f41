import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { relative } from "../../tasks/commands/init/toolkit.ts";
import { findFolder, writeAll } from "../../tasks/commands/init/work_folder.ts";
import { InterruptedError } from "../../tasks/terminal/exit_codes.ts";
import { cli, directEnvOf, envOf, folder, simulate, simulatePlatform, trustEnv } from "./support.ts";

const all = [
  ".gitignore",
  "README.md",
  "account.ts",
  "deno.json",
  "deno.lock",
  "fees.ts",
  "hsgate.yaml",
  "notebook.ipynb",
  "recipe.schema.json",
  "recipes",
];

/** Returns the names in a folder. */
async function namesIn(path: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).sort();
}

/** Runs `deno` in a folder, as a user does. */
async function deno(cwd: string, args: readonly string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1", ...trustEnv, ...env },
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

/** Answers questions one after the other, and records them. */
function person(...answers: (string | Error)[]) {
  const asked: string[] = [];
  const answer = (question: string) => {
    asked.push(question);
    const next = answers.shift();
    if (next instanceof Error) throw next;
    if (next === undefined) throw new Error(`no answer is left for ${question}`);
    return next;
  };
  return { asked, answer };
}

/** Checks the folder and its code cells with Deno and with `hsgate check`. */
async function assertFine(path: string): Promise<void> {
  const { cells } = JSON.parse(await Deno.readTextFile(`${path}/notebook.ipynb`));
  const code = cells.flatMap((cell: { cell_type: string; source: string[] }) =>
    cell.cell_type === "code" ? cell.source : []
  );
  const words = [["fmt", "--check"], ["lint"]];
  for (const each of words) {
    const { code, err } = await deno(path, each);
    assertEquals([each, code, code === 0 ? "" : err], [each, 0, ""]);
  }
  await Deno.writeTextFile(`${path}/cells.ts`, code.join(""));
  const types = await deno(path, ["check", "--quiet", "."]);
  assertEquals([types.code, types.err], [0, ""]);
  const check = await deno(path, ["task", "hsgate", "check"]);
  assertStringIncludes(check.err, "hsgate: 2 recipes, no mistakes\n");
  assertEquals(check.code, 0);
}

Deno.test("init writes a folder that works at once with a simulator, also if its path has a space and a hash", async () => {
  await using temp = await folder();
  // A space and a hash often cause errors in paths.
  const path = `${temp.path}/my desk #1`;
  const { code, out, err } = await cli(["init", path, "--yes"]);
  assertEquals([code, err], [0, ""]);
  assertStringIncludes(out, "for a simulated broker, markets hk and us, session times of XHKG:");
  assertStringIncludes(out, `  cd '${path}'\n  deno task -q hsgate check `);
  assertEquals(await namesIn(path), all);
  assertEquals(await namesIn(`${path}/recipes`), ["end_of_day.yaml", "morning_snapshot.yaml"]);
  await assertFine(path);

  const fees = await deno(path, ["task", "fees"]);
  assertEquals(fees.code, 0, fees.err);
  assert(/^hk: [1-9]\d* fills of \d+\.\d+, fees \d+\.\d+$/m.test(fees.out), fees.out);
  assert(/^us: [1-9]\d* fills of \d+\.\d+, fees \d+\.\d+$/m.test(fees.out), fees.out);
  const run = await deno(path, ["task", "hsgate", "run", "end_of_day"]);
  assertEquals(run.code, 0, run.out + run.err);
  assertStringIncludes(run.err, "connected to a simulated broker");
  assertStringIncludes((await deno(path, ["task", "hsgate", "runs"])).out, "end-of-day/");
  const [, recipe = ""] = /```yaml\n([^]*?)```/.exec(await Deno.readTextFile(`${path}/README.md`)) ?? [];
  await Deno.writeTextFile(`${path}/recipes/every_minute.yaml`, recipe);
  const minute = await deno(path, ["task", "hsgate", "run", "every_minute"]);
  assertEquals(minute.code, 0, minute.out + minute.err);

  await Deno.writeTextFile(
    `${path}/recipes/my_own.ts`,
    `import { defineRecipe } from "hsgate/recipes";
export default defineRecipe({
  name: "my-own",
  connect: "simulator",
  schedule: { every: "1m" },
  steps: [{ id: "funds", uses: "account.funds", with: { market: "hk" } }],
});
`,
  );
  const untrusted = await deno(path, ["task", "hsgate", "run", "my-own"]);
  assertEquals(untrusted.code, 2, untrusted.out + untrusted.err);
  assertStringIncludes(untrusted.err, 'run "hsgate trust ');
  const trusted = await deno(path, ["task", "hsgate", "trust", "recipes/my_own.ts", "--yes"]);
  assertEquals(trusted.code, 0, trusted.out + trusted.err);
  const own = await deno(path, ["task", "hsgate", "run", "my-own"]);
  assertEquals(own.code, 0, own.out + own.err);

  const cells = await deno(path, ["run", "--allow-net=127.0.0.1", "cells.ts"]);
  assertEquals(cells.code, 0, cells.err);
  assertStringIncludes(cells.out, '"00700.HK"');
});

Deno.test("init adapts the recipe templates, and keeps their comments", async () => {
  await using temp = await folder();
  const { code } = await cli(["init", `${temp.path}/us`, "--connect=gateway", "--markets=us", "--yes"]);
  assertEquals(code, 0);
  assertEquals(
    await Deno.readTextFile(`${temp.path}/us/recipes/end_of_day.yaml`),
    `# yaml-language-server: $schema=../recipe.schema.json
# Exports the last five trading days of your markets after the close and before the open, and checks the totals.
# After the close, a day is provisional because its fees are not known yet. Before the next open the fees are known, and
# the day becomes final. Final days do not change.
#
# To change: the markets and accounts, the calendar of the market that you trade most, the number of days, the folder.
name: end-of-day
description: Fills with fees, orders and the fund journal of the last five trading days
schedule:
  - { id: provisional, calendar: XNYS, at: close+45m }
  - { id: final, calendar: XNYS, at: open-45m }
params:
  sessions: 5
steps:
  - id: day-book
    uses: export-day-book
    with:
      markets: [us]
      # For an account without futures: [securities]. If the broker rejects the futures lists, the days stay provisional.
      accounts: [securities]
      sessions: \${{ params.sessions }}
      out: out/day-books
      formats: [csv, jsonl]
`,
  );
  await cli(["init", `${temp.path}/cn`, "--markets", "shenzhen,hk", "--calendar", "xhkg", "--yes"]);
  const morning = await Deno.readTextFile(`${temp.path}/cn/recipes/morning_snapshot.yaml`);
  assertStringIncludes(
    morning,
    `# A simulated broker in the process of the run. Without this line, the recipe uses the broker of the settings.
connect: simulator
schedule: { calendar: XHKG, at: open-10m }
deadline: 6h
steps:
  - id: snapshot
    uses: snapshot
    with:
      account: [shenzhen, hk]
      holdings: [shenzhen, hk]
      quotes: ["000333.SZ", "00700.HK", "00005.HK"]
      out: out/snapshots
`,
  );
});

Deno.test("init for a gateway: commands, script and notebook reach the gateway of the settings", async () => {
  await using temp = await folder();
  await using gateway = await simulate({ clock: { now: () => Date.now() } });
  const { HSGATE_GATEWAY_URL, ...secrets } = envOf(gateway);
  const path = `${temp.path}/desk`;
  const { code, out } = await cli(["init", path, "--gateway", HSGATE_GATEWAY_URL!, "--yes", "--json"]);
  assertEquals(code, 0);
  const { folder: where, connect, markets, calendar, next } = JSON.parse(out);
  assertEquals([where, connect, markets, calendar], [path, "gateway", ["hk", "us"], "XHKG"]);
  assertEquals(next.slice(0, 2), [`cd ${path}`, "deno task -q hsgate doctor"]);
  await assertFine(path);
  const settings = await Deno.readTextFile(`${path}/hsgate.yaml`);
  assertStringIncludes(settings, `transport: gateway\ngatewayUrl: ${HSGATE_GATEWAY_URL}\n`);
  assertStringIncludes(settings, "\nstore: hsgate.db\n");

  const doctor = await deno(path, ["task", "hsgate", "doctor", "--json"], secrets);
  assertEquals(doctor.code, 0, doctor.out + doctor.err);
  const fees = await deno(path, ["task", "fees"], secrets);
  assert(/^hk: [1-9]\d* fills/m.test(fees.out), fees.out + fees.err);
  const cells = await deno(path, ["run", "-A", "cells.ts"], secrets);
  assertEquals(cells.code, 0, cells.err);
});

Deno.test("init for the direct transport: the script logs in over the socket, and the folder contains no secret", async () => {
  await using temp = await folder();
  await using leases = await folder();
  await using platform = await simulatePlatform({ clock: { now: () => Date.now() }, days: 15 });
  const env = directEnvOf(platform.info, leases.path);
  const { HSGATE_TRANSPORT: _, HSGATE_AUTH_URL, ...secrets } = env;
  const path = `${temp.path}/desk`;
  const words = ["init", path, "--connect", "direct", "--auth-url", HSGATE_AUTH_URL!, "--yes"];
  const { code, out } = await cli(words, { env });
  assertEquals(code, 0);
  assertStringIncludes(out, "deno task -q hsgate keys new --out secrets");
  await assertFine(path);
  for (const name of all.filter((each) => each !== "recipes")) {
    const text = await Deno.readTextFile(`${path}/${name}`);
    for (const secret of [platform.info.mobile, platform.info.loginPassword, platform.info.tradePassword]) {
      assert(!text.includes(secret), name);
    }
  }
  const missing = await deno(path, ["task", "fees"], { HSGATE_LEASE_FOLDER: leases.path });
  assertStringIncludes(missing.err, "HSGATE_MOBILE");
  const fees = await deno(path, ["task", "fees"], secrets);
  assert(/^hk: [1-9]\d* fills/m.test(fees.out), fees.out + fees.err);
});

Deno.test("init asks, accepts names and numbers, and asks again with the nearest name", async () => {
  await using temp = await folder();
  await Deno.writeTextFile(`${temp.path}/full.txt`, "");
  const path = `${temp.path}/desk`;
  const { asked, answer } = person("gatway", "2", "127.0.0.1:1", "", "3, us", "2", temp.path, path);
  const { code, err } = await cli(["init"], { answer, env: { npm_command: "exec" } });
  assertEquals(code, 0);
  assertEquals(asked, [
    "Way [simulator]: ",
    "Way [simulator]: ",
    "Address [http://127.0.0.1:11111]: ",
    "Address [http://127.0.0.1:11111]: ",
    "Markets [hk,us]: ",
    "Exchange [CONNECT_SZ]: ",
    "Folder [../trading]: ",
    "Folder [../trading]: ",
  ]);
  assertStringIncludes(err, 'Cannot use "gatway" as the way to the broker: did you mean "gateway"?');
  assertStringIncludes(err, 'write it like "http://127.0.0.1:11111"');
  assertStringIncludes(err, `Cannot write into "${temp.path}": it contains "full.txt"; name a new folder`);
  assertStringIncludes(
    await Deno.readTextFile(`${path}/README.md`),
    `Created by \`hsgate init\` for the broker's gateway program, markets shenzhen and us, session times of XNYS.`,
  );
  // A user who has Deno only through npm can type the printed commands.
  assertStringIncludes(
    await Deno.readTextFile(`${path}/README.md`),
    `npx -y deno@${Deno.version.deno} task -q fees`,
  );
});

Deno.test("init prints how to start Deno on this machine: by its name, through npx, or by its path", async () => {
  const npx = `npx -y deno@${Deno.version.deno}`;
  const cases: [programs: string[], deno: string][] = [
    [["deno", "npx"], "deno"],
    [["npx"], npx],
    [[], Deno.execPath()],
  ];
  for (const [programs, deno] of cases) {
    await using temp = await folder();
    for (const name of programs) await Deno.writeTextFile(`${temp.path}/${name}`, "");
    const env = { PATH: `/missing:${temp.path}`, HSGATE_COMMAND: "hsgate" };
    const { code, out, err } = await cli(["init", `${temp.path}/desk`, "--yes", "--json"], { env });
    assertEquals(code, 0, err);
    assertEquals(JSON.parse(out).next.at(-1), `${deno} task -q fees`);
  }
});

Deno.test("init writes nothing if the user presses Ctrl-C at a question", async () => {
  await using temp = await folder();
  const { answer } = person("", "", new InterruptedError("interrupted"));
  const { code, err } = await cli(["init", `${temp.path}/desk`], { answer });
  assertEquals(code, 130);
  assertStringIncludes(err, "nothing was written\nhsgate: interrupted");
  assertEquals(await namesIn(temp.path), []);
});

Deno.test("init proposes the current folder if it is empty, and otherwise a new folder inside it", async () => {
  await using temp = await folder();
  const words = ["run", "-A", new URL("../../tasks/hsgate.ts", import.meta.url).pathname, "init", "--yes"];
  const first = await deno(temp.path, words);
  assertEquals(first.code, 0, first.err);
  assertStringIncludes(first.out, "into this folder, for a simulated broker");
  assert(!first.out.includes("  cd "));
  const second = await deno(temp.path, words);
  assertStringIncludes(second.out, 'into "trading", for a simulated broker');
  assertEquals(await namesIn(`${temp.path}/trading`), all);
});

Deno.test("init without a terminal says so and uses the defaults", async () => {
  await using temp = await folder();
  const { code, err } = await cli(["init", `${temp.path}/desk`]);
  assertEquals(code, 0);
  assertEquals(
    err,
    "hsgate: no terminal to ask questions on: using the default for everything that no flag sets\n",
  );
});

Deno.test("init rejects a folder that is not empty, and changes nothing there", async () => {
  await using temp = await folder();
  for (const name of ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "hsgate.yaml"]) {
    await Deno.writeTextFile(`${temp.path}/${name}`, "mine");
  }
  const { code, err } = await cli(["init", temp.path, "--yes"]);
  assertEquals(code, 2);
  assertStringIncludes(err, `it contains "a.txt", "b.txt", "c.txt", "d.txt", "e.txt" and 1 more`);
  assertEquals((await namesIn(temp.path)).length, 6);
  assertEquals(await Deno.readTextFile(`${temp.path}/hsgate.yaml`), "mine");
  const file = await cli(["init", `${temp.path}/a.txt`, "--yes"]);
  assertEquals(file.code, 2);
  assertStringIncludes(file.err, `Cannot write into "${temp.path}/a.txt": it is a file`);
  const empty = await cli(["init", "", "--yes"]);
  assertEquals(empty.code, 2);
  assertStringIncludes(empty.err, 'Cannot write into "": name a new folder, or "." for this one');
});

Deno.test({
  name: "init writes nothing through a link, and nothing into a folder where others could replace the files",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using dir = await folder();
    await Deno.mkdir(`${dir.path}/shared`);
    await Deno.chmod(`${dir.path}/shared`, 0o777);
    await Deno.mkdir(`${dir.path}/outside`);
    await Deno.mkdir(`${dir.path}/here`);
    await Deno.symlink("../outside", `${dir.path}/here/link`);
    await Deno.symlink("../new", `${dir.path}/here/dangling`);
    const refused = async (path: string, why: string) => {
      const { code, err } = await cli(["init", `${dir.path}/${path}`, "--yes"]);
      assertEquals(code === 0, false, path);
      assertStringIncludes(err, why);
    };
    await refused("shared", "others may write to it (mode 0777); if you know what is in it, run: chmod go-w");
    await refused("shared/new", `they may write to the folder "${dir.path}/shared" (mode 0777)`);
    await refused("here/link", "a link leads to");
    await refused("here/dangling", "Cannot ");
    for (const path of ["shared", "outside"]) assertEquals(await namesIn(`${dir.path}/${path}`), []);
    assertEquals(await namesIn(dir.path), ["here", "outside", "shared"]);
  },
});

Deno.test("init accepts a folder that contains only a new repository", async () => {
  await using temp = await folder();
  await Deno.mkdir(`${temp.path}/.git`);
  assertEquals((await cli(["init", temp.path, "--yes"])).code, 0);
  assertEquals(await namesIn(temp.path), [".git", ...all]);
});

Deno.test("init rejects contradictory flags before it writes", async () => {
  await using temp = await folder();
  const path = `${temp.path}/desk`;
  const cases: [string[], string][] = [
    [["--connect", "direkt"], 'Cannot use "direkt" as the way to the broker: did you mean "direct"?'],
    [["--markets", "hk,tokyo"], 'Cannot use "tokyo" as a market: there are hk, us, shenzhen, shanghai'],
    [["--markets", ","], "Cannot create a folder without a market"],
    [["--calendar", "XHKX"], 'Cannot use "XHKX" as the exchange: did you mean "XHKG"?'],
    [["--connect", "direct", "--gateway", "http://127.0.0.1:1"], "Cannot use --gateway"],
    [["--connect", "simulator", "--auth-url", "https://host"], "Cannot use --auth-url"],
    [["--gateway", "https://127.0.0.1:11111"], "the gateway uses only HTTP"],
    [["--auth-url", "http://host"], "plain HTTP is accepted only on loopback"],
  ];
  for (const [flags, expected] of cases) {
    const { code, err } = await cli(["init", path, "--yes", ...flags]);
    assertEquals(code, 2);
    assertStringIncludes(err, expected);
  }
  assertEquals(await namesIn(temp.path), []);
});

Deno.test("writeAll() removes what it has written if a file cannot be written", async () => {
  await using temp = await folder();
  const target = await findFolder(`${temp.path}/new/desk`);
  const files = [{ path: "one.txt", text: "1" }, { path: "two/b.txt", text: "2" }, {
    path: "two",
    text: "3",
  }];
  let failed = false;
  await writeAll(target, files).catch(() => failed = true);
  assertEquals([failed, await namesIn(temp.path)], [true, []]);
});

Deno.test("relative() returns the path from one folder to another", () => {
  const way = (from: string, to: string) => relative(new URL(from), new URL(to));
  assertEquals(way("file:///home/me/desk/", "file:///home/me/hsgate/"), "../hsgate/");
  assertEquals(way("file:///home/me/hsgate/desk/", "file:///home/me/hsgate/"), "../");
  assertEquals(way("file:///desk/", "file:///opt/a%20b/hsgate/"), "../opt/a b/hsgate/");
  assertEquals(way("file:///home/me/", "file:///home/me/hsgate/"), "./hsgate/");
});

Deno.test("init pins the packages that a script of the folder may load: exactly those of the toolkit", async () => {
  await using dir = await folder();
  const path = `${dir.path}/desk`;
  assertEquals((await cli(["init", path, "--yes"])).code, 0);
  const lock = await Deno.readTextFile(`${path}/deno.lock`);
  const modules = ["hsgate", "hsgate/recipes", "hsgate/settings", "hsgate/simulator", "hsgate/rehearsal"];
  await Deno.writeTextFile(`${path}/all.ts`, modules.map((name) => `import "${name}";\n`).join(""));
  const all = await deno(path, ["run", "all.ts"]);
  assertEquals([all.code, all.err], [0, ""]);
  // A package that is not pinned is rejected, even if it is already in the cache.
  await Deno.writeTextFile(`${path}/other.ts`, 'import "npm:zod@4";\n');
  const other = await deno(path, ["run", "other.ts"]);
  assert(other.code !== 0 && /lockfile is out of date/i.test(other.err), other.err);
  // A package with other content than the pinned one would be rejected, because its hash is in the file.
  const { npm } = JSON.parse(lock) as { npm: Record<string, { integrity?: string }> };
  for (const [name, { integrity }] of Object.entries(npm)) assert(integrity?.startsWith("sha512-"), name);
  assertEquals(await Deno.readTextFile(`${path}/deno.lock`), lock);
});
