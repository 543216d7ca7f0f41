/** Tests that steps read and write only inside the folder of their run. */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { createClient } from "../../lib/client/client.ts";
import { confined, isInside, safeName } from "../../lib/confined_paths.ts";
import { compileRecipe, type StepContext } from "../../lib/recipes/mod.ts";
import { exists } from "../../lib/private_files.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import { memory } from "../../lib/transports/memory.ts";
import { FRIDAY_MORNING, simulated, temporaryFolder } from "../day_book/simulated.ts";
import { stepContext } from "./support.ts";

/** Makes the folder of a run, and beside it a folder "outside" that the recipe must not reach. */
function place() {
  const folder = temporaryFolder();
  const [out, outside] = [`${folder.path}/run`, `${folder.path}/outside`];
  for (const each of [out, outside]) Deno.mkdirSync(each);
  return {
    out,
    outside,
    /** Returns the names of the files outside the folder of the run. */
    leaked: () =>
      [...Deno.readDirSync(folder.path)].map(({ name }) => name).filter((name) => name !== "run").flatMap(
        (name) => name === "outside" ? [...Deno.readDirSync(outside)].map((each) => each.name) : [name],
      ),
    async run(uses: string, given: unknown, context: Partial<StepContext> = {}) {
      const text = JSON.stringify({ name: "test", steps: [{ id: "step", uses, with: given }] });
      const recipe = await compileRecipe(text, "test.json");
      return await recipe.steps[0]!.run(stepContext(undefined, { out, ...context }));
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const rows = [{ a: "1" }];

Deno.test("convert-report writes and reads only inside the folder of the run", async () => {
  using at = place();
  Deno.writeTextFileSync(`${at.outside}/secret.json`, '[{"key":"value"}]');
  Deno.symlinkSync(at.outside, `${at.out}/link`);
  Deno.symlinkSync(`${at.outside}/new.csv`, `${at.out}/dangling.csv`);
  Deno.symlinkSync(`${at.outside}/secret.json`, `${at.out}/linked.json`);
  const wrong = [
    { rows, to: "../outside/x.csv" },
    { rows, to: `${at.outside}/x.csv` },
    { rows, to: "a/../../outside/x.csv" },
    { rows, to: "link/x.csv" },
    { rows, to: "link/deeper/x.csv" },
    { rows, to: "dangling.csv" },
    { rows, to: "a\nb.csv" },
    { rows, to: "deno.json" },
    { rows, to: "sub/Package.json" },
    { rows, to: ".vscode/settings.json" },
    { rows, to: "hsgate.calendars.json" },
    { rows, to: "our.Calendars.json" },
    { rows, to: "trades.db.mark/x.csv" },
    { rows, to: "recipes/own.json" },
    { rows, to: "sub/Recipes/new.json" },
    { rows, to: "..x/y.csv" },
    { rows, to: "readme.md" },
    { rows, to: "package-lock.json" },
    { from: "../outside/secret.json", to: "x.csv" },
    { from: `${at.outside}/secret.json`, to: "x.csv" },
    { from: "linked.json", to: "x.csv" },
    { from: "link/secret.json", to: "x.csv" },
  ];
  for (const given of wrong) {
    const error = await assertRejects(
      () => at.run("convert-report", given),
      TypeError,
      "Cannot use the path",
    );
    assertStringIncludes(error.message, "a recipe may only use files in");
  }
  assertEquals(at.leaked(), ["secret.json"]);
  assert(![...Deno.readDirSync(at.out)].some(({ isFile }) => isFile), "nothing was written");
  // Controls: the same names inside, and an absolute path that is inside.
  for (const to of ["x.csv", "a/../b/x.csv", "x..y/z..csv", `${at.out}/z/x.csv`]) {
    const { path } = await at.run("convert-report", { rows, to }) as { path: string }; // the output of the step
    assertEquals(Deno.readTextFileSync(path), "a\r\n1\r\n");
    assert(isInside(at.out, path));
  }
});

Deno.test("convert-report replaces a link at the path of its temporary file", async () => {
  using at = place();
  Deno.writeTextFileSync(`${at.outside}/precious`, "kept");
  Deno.symlinkSync(`${at.outside}/precious`, `${at.out}/x.csv.part`);
  await at.run("convert-report", { rows, to: "x.csv" });
  assertEquals(Deno.readTextFileSync(`${at.outside}/precious`), "kept");
  assertEquals(Deno.readTextFileSync(`${at.out}/x.csv`), "a\r\n1\r\n");
});

Deno.test("a dry run uses its own folder instead of a folder elsewhere, and also rejects ..", async () => {
  using at = place();
  const dry = { keepWithin: true };
  await assertRejects(() => at.run("convert-report", { rows, to: "../x.csv" }, dry), TypeError, "outside");
  const { path } = await at.run("convert-report", { rows, to: "/srv/x.csv" }, dry) as { path: string };
  assertEquals([path, at.leaked()], [`${at.out}/srv/x.csv`, []]);
});

Deno.test("snapshot writes bars inside the folder of the run, even if the symbol contains a path", async () => {
  using at = place();
  const security = { type: "hk-stock", symbol: "../../../outside/00700.HK" };
  const endpoint = (path: string) => ({
    ok: true,
    err: "",
    data: path === "/hq/KL"
      ? {
        security: { dataType: "10000", code: security.symbol, stockCode: security.symbol },
        kline: [{ date: 20250814, openPrice: "1", closePrice: "2" }],
      }
      : {},
  });
  await using client = createClient(memory(endpoint));
  const bars = { securities: [security], from: "2025-08-14" };
  const context = { client: () => Promise.resolve(client) };
  const { files } = await at.run("snapshot", { bars }, context) as { files: string[] }; // the output of the step
  assertEquals([files.length, at.leaked()], [1, []]);
  assert(isInside(`${at.out}/out/snapshots/bars`, files[0]!), files[0]);
  await assertRejects(
    () => at.run("snapshot", { bars, out: "../outside" }, context),
    TypeError,
    "outside the",
  );
  Deno.symlinkSync(at.outside, `${at.out}/link`);
  await assertRejects(
    () => at.run("snapshot", { bars, out: "link" }, context),
    TypeError,
    "a link in the path",
  );
  assertEquals(at.leaked(), []);
});

Deno.test("watch appends to no file through a link, and leaves the target and its mode unchanged", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const { gatewayUrl, pushAddress, tradePassword, tradePasswordKey } = broker.simulator.info;
  await using client = createClient(gateway({ url: gatewayUrl, push: pushAddress, tradePasswordKey }), {
    tradePassword,
  });
  const record = { securities: ["00700.HK"], topics: ["quote"], for: "10m", orders: false, out: "pushes" };
  for (const kind of ["file", "hsgate.yaml", "folder", "broken"]) {
    using at = place();
    const target = `${at.out}/${kind === "hsgate.yaml" ? kind : "src/quote.jsonl"}`;
    Deno.mkdirSync(`${at.out}/src`);
    if (kind !== "broken") {
      Deno.writeTextFileSync(target, "kept");
      if (Deno.build.os !== "windows") Deno.chmodSync(target, 0o644);
    }
    const day = `${at.out}/pushes/2025-08-15`;
    Deno.mkdirSync(kind === "folder" ? `${at.out}/pushes` : day, { recursive: true });
    if (kind === "folder") Deno.symlinkSync(`${at.out}/src`, day);
    else Deno.symlinkSync(target, `${day}/quote.jsonl`);
    const ending = new AbortController();
    const running = at.run("watch", record, {
      client: () => Promise.resolve(client),
      now: () => broker.clock.now(),
      signal: ending.signal,
      sleep: () => new Promise<void>((resolve) => ending.signal.addEventListener("abort", () => resolve())),
    }).catch((error) => error).finally(() => ending.abort());
    const until = Date.now() + 10_000;
    while (!ending.signal.aborted && Date.now() < until) {
      broker.clock.advance(5_000);
      broker.simulator.round();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    ending.abort();
    const error = await running;
    assert(error instanceof TypeError && /link/.test(error.message), `${kind}: ${error}`);
    if (kind === "broken") assert(!exists(target));
    else assertEquals(Deno.readTextFileSync(target), "kept", kind);
    if (kind !== "broken" && Deno.build.os !== "windows") {
      assertEquals(Deno.statSync(target).mode! & 0o777, 0o644, kind);
    }
  }
});

Deno.test("confined() rejects a link to a file of hsgate, or to a file that programs load", () => {
  using folder = temporaryFolder();
  const top = folder.path;
  for (const each of ["recipes", ".git", "plain"]) Deno.mkdirSync(`${top}/${each}`);
  for (const [name, target] of [["a", "hsgate.yaml"], ["b", "recipes"], ["c", ".git"], ["d", "deno.json"]]) {
    if (target!.includes(".") && target !== ".git") Deno.writeTextFileSync(`${top}/${target}`, "");
    Deno.symlinkSync(`${top}/${target}`, `${top}/${name}`);
    const path = target === "recipes" || target === ".git" ? `${name}/x.csv` : name!;
    assertThrows(() => confined(top, path), TypeError, "a link in the path leads to");
  }
  Deno.symlinkSync(`${top}/plain`, `${top}/e`);
  assertEquals(confined(top, "e/x.csv"), `${top}/e/x.csv`);
});

Deno.test("confined() rejects hidden files and settings that programs load, but not the folders of a Kubernetes volume", () => {
  using folder = temporaryFolder();
  const refused = [
    ".x.csv",
    "..x.csv",
    "...",
    "..data.csv",
    "CLAUDE.md",
    "agents.md",
    "CLAUDE.local.md",
    "AGENTS.override.md",
    "a/Gemini.md",
    "a/SKILL.md",
    "CONVENTIONS.md",
    "copilot-instructions.md",
    "review.prompt.md",
    "rules.mdc",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules/a.md",
    ".github/a.md",
    ".aider.conf.yml",
    "Makefile",
    "a/vite.config.ts",
  ];
  for (const path of refused) assertThrows(() => confined(folder.path, path), TypeError, "programs load");
  for (
    const path of [
      "..data/x.csv",
      "..2026_11_29_10_00_00.123/x.csv",
      "config.ts",
      "makefile.csv",
      "agents.csv",
      "report.md",
    ]
  ) {
    assertEquals(confined(folder.path, path), `${folder.path}/${path}`);
  }
});

Deno.test("watch and export-day-book write only inside the folder of the run", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  using at = place();
  const context = { client: () => Promise.resolve(broker.client), now: () => broker.clock.now() };
  const record = { securities: ["00700.HK"], for: "1s", orders: false };
  const day = { markets: ["hk"], accounts: ["securities"], from: "2025-08-14", to: "2025-08-14" };
  for (const out of ["../outside", at.outside]) {
    await assertRejects(() => at.run("watch", { ...record, out }, context), TypeError, "outside the folder");
    await assertRejects(() => at.run("export-day-book", { ...day, out }, context), TypeError, "outside the");
  }
  Deno.mkdirSync(`${at.out}/books`);
  for (const [name, target] of [[".day-book.lock", "lock"], ["2025-08-14", ""], ["account.json", "a"]]) {
    Deno.symlinkSync(`${at.outside}/${target}`, `${at.out}/books/${name}`);
    await assertRejects(
      () => at.run("export-day-book", { ...day, out: "books" }, context),
      Error,
      `"${name}" is a symbolic link`,
    );
    Deno.removeSync(`${at.out}/books/${name}`);
  }
  assertEquals(at.leaked(), []);
  await at.run("export-day-book", { ...day, out: "books" }, context);
  assert([...Deno.readDirSync(`${at.out}/books/2025-08-14`)].length > 0);
});

Deno.test("safeName() returns a different and safe file name for each text", async () => {
  const kept = ["00700.HK", "AAPL", "BRK.B", "HSI2508.HK", "TSLA250815C00350000"];
  assertEquals(await Promise.all(kept.map(safeName)), kept);
  const texts = [
    ...kept,
    ...[
      "",
      ".",
      "..",
      "...",
      "../x",
      "/",
      "\\",
      "a/b",
      "a%2Fb",
      "A/B",
      "aapl",
      "Aapl",
      "%",
      "%%",
      "A.",
      "A%2E",
    ],
    ...[
      "CON",
      "NUL.HK",
      "%43ON",
      "\0",
      "\n",
      "x\u202ey",
      "騰訊",
      "é",
      "e\u0301",
      "\ud800",
      " ",
      "A ",
      "~",
      "%~",
    ],
    ..."ABC".split("").map((end) => "X".repeat(5000) + end),
    ..."ABC".split("").map((end) => "/".repeat(300) + end),
  ];
  const names = await Promise.all(texts.map(safeName));
  for (const name of names) assert(/^[A-Z0-9._%~-]{1,150}$/.test(name) && !/^\.|\.$/.test(name), name);
  assertEquals(new Set(names.map((name) => name.toLowerCase())).size, texts.length);
});

Deno.test("confined() accepts a folder in any spelling, also one that does not exist yet or is a link", () => {
  using folder = temporaryFolder();
  Deno.mkdirSync(`${folder.path}/real`);
  Deno.symlinkSync(`${folder.path}/real`, `${folder.path}/alias`);
  assertEquals(confined(`${folder.path}/alias`, "a/b"), `${folder.path}/alias/a/b`);
  assertEquals(confined(`${folder.path}/new/`, "./a"), `${folder.path}/new/a`);
  assertEquals(confined("", "out/a"), "out/a");
  assertEquals(confined("data", "out/a"), "data/out/a");
  assertEquals(confined("data", ""), "data");
  const error = assertThrows(() => confined("", "/etc/passwd"), TypeError);
  assertEquals(
    error.message,
    'Cannot use the path "/etc/passwd": it is outside the folder of the run; a recipe may only use files in the ' +
      "working folder; --out DIR names another folder",
  );
  assert(isInside("/a", "/a") && isInside("/", "/a") && isInside("a", "a/b") && !isInside("/a", "/ab"));
  assert(!isInside("/a", "/a/../b") && !isInside("a", ".."));
});
