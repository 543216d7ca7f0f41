import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { KeptCode } from "../../lib/recipes/own_steps/code_files.ts";
import { baseName, OtherRecipes } from "../../lib/recipes/files/load_recipe.ts";
import { offerTrust, Trust, type TrustOffer } from "../../lib/runner/trust/trust.ts";
import { TrustFile } from "../../lib/runner/trust/trust_file.ts";
import { NamedFileError } from "../../lib/recipes/files/named_files.ts";
import { hasProgram } from "../support/programs.ts";
import {
  cli,
  envOf,
  folder,
  MORNING,
  simulate,
  spawned,
  start,
  takeTrace,
  trustAll,
  trustEnv,
} from "./support.ts";

const STEP = (permissions = "{ run: ['touch'] }") =>
  `import { defineStep } from "hsgate/recipes";
export default defineStep({
  effect: "read",
  permissions: ${permissions},
  async run(_params, { out }) {
    await new Deno.Command("touch", { args: ["ran"] }).output();
    return { ok: true };
  },
});
`;

/** Somebody else's folder, a gateway with the user's password, and a server that accepts everything. */
async function world(files: (url: string) => Readonly<Record<string, string>>) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await simulate());
  const dir = stack.use(await folder());
  const heard: string[] = [];
  const server = stack.use(
    Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
      heard.push(await request.text());
      return new Response();
    }),
  );
  const texts = files(`http://127.0.0.1:${server.addr.port}/`);
  for (const [name, text] of Object.entries(texts)) await Deno.writeTextFile(`${dir.path}/${name}`, text);
  const store = `${dir.path}/l.db`;
  const env = { ...envOf(gateway), HSGATE_VOLATILE_STORE: "allow" };
  return {
    path: dir.path,
    gateway,
    heard,
    store,
    env,
    hsgate: async (...words: string[]) => {
      const names = [...Deno.readDirSync(dir.path)].filter(({ isFile }) => isFile).map(({ name }) => name);
      const files = Object.fromEntries(
        names.filter((name) => /\.(yaml|ts)$/.test(name))
          .map((name) => [`${dir.path}/${name}`, Deno.readTextFileSync(`${dir.path}/${name}`)]),
      );
      return await cli([...words, ...words[0] === "run" ? ["--out", dir.path] : []], { env, files });
    },
    has: (name: string) => Deno.stat(`${dir.path}/${name}`).then(() => true, () => false),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const strace = await hasProgram("strace");

const orders = "steps:\n  - { id: orders, uses: orders.today, with: { market: hk } }\n";
const slot = "schedule: { calendar: XHKG, at: open+30m }\nmisfire: { action: latest, grace: 2h }\n";

/** Attempts of a hostile recipe, and what `check` and the rejected commands must print about each. */
const attacks: Readonly<
  Record<string, { text: (url: string) => string; files?: Record<string, string>; told: string }>
> = {
  "the output of a command": {
    text: (url) =>
      `name: r\n${slot}secrets: { x: { command: [touch, ran] } }\nsteps:\n` +
      `  - { id: tell, uses: notify, with: { webhook: "${url}", text: "\${secret:x}" } }\n`,
    told: 'runs a program: ["touch","ran"] (secret "x")',
  },
  "the trade password to a webhook": {
    text: (url) =>
      `name: r\n${slot}secrets: { x: { env: HSGATE_TRADE_PASSWORD } }\nsteps:\n` +
      `  - { id: tell, uses: notify, with: { webhook: "${url}", text: "\${secret:x}" } }\n`,
    told: 'reads an environment variable: HSGATE_TRADE_PASSWORD (secret "x")',
  },
  "a private key to a webhook": {
    text: (url) =>
      `name: r\n${slot}secrets: { x: { file: /etc/hostname } }\nsteps:\n` +
      `  - { id: tell, uses: notify, with: { webhook: "${url}", text: "\${secret:x}" } }\n`,
    told: 'reads a file: /etc/hostname (secret "x")',
  },
  "the account to a host": {
    text: (url) =>
      `name: r\n${slot}${orders}  - { id: tell, uses: notify, with: { webhook: "${url}", data: "\${{ outputs.orders }}" } }\n`,
    told: "connects to: http://127.0.0.1:",
  },
  "the account in a notice": {
    text: (url) => `name: r\n${slot}${orders}notify: [{ on: always, with: { webhook: "${url}" } }]\n`,
    told: "(notice 1)",
  },
  "a ping": { text: (url) => `name: r\n${slot}${orders}ping: "${url}"\n`, told: "(ping)" },
  "a program of a custom step": {
    text: () => `name: r\n${slot}steps: [{ id: own, uses: ./own_step.ts }]\n`,
    files: { "own_step.ts": STEP() },
    told: "runs TypeScript of its folder: ./own_step.ts",
  },
  "an order": {
    text: () =>
      `name: r\n${slot}window: XHKG.open+5m..XHKG.close-10m\nsteps:\n  - id: buy\n    uses: orders.place\n` +
      "    with: { market: hk, symbol: 00700.HK, side: buy, quantity: '100', price: '400', orderType: enhanced-limit }\n",
    told: 'writes at the broker: orders.place (step "buy")',
  },
  "the end of your trade login": {
    text: () => `name: r\n${slot}steps: [{ id: out, uses: account.logout }]\n`,
    told: 'ends or takes over a login, pushes or market data: account.logout (step "out")',
  },
  "the end of order pushes, by the broker's name": {
    text: () => `name: r\n${slot}steps: [{ id: out, uses: TradeUnsubscribe }]\n`,
    told: 'ends or takes over a login, pushes or market data: orders.unsubscribe (step "out")',
  },
  "the end of another program's market data, by a recording of pushes": {
    text: () =>
      `name: r\n${slot}steps: [{ id: out, uses: watch, with: { securities: [00700.HK], for: 1s } }]\n`,
    told: 'ends or takes over a login, pushes or market data: quotes.unsubscribe (step "out")',
  },
  "the end of another program's market data, by an archive of bars": {
    text: () =>
      `name: r\n${slot}steps:\n` +
      '  - { id: out, uses: snapshot, with: { bars: { securities: ["00700.HK"], intervals: [day], from: "2025-08-01" } } }\n',
    told: 'ends or takes over a login, pushes or market data: quotes.unsubscribe (step "out")',
  },
  "the end of every other login, by a direct connection": {
    text: () => `name: r\n${slot}connect: direct\n${orders}`,
    told: "ends or takes over a login, pushes or market data: connect: direct (connect)",
  },
  "a gateway of its own": {
    text: (url) => `name: r\n${slot}connect: { gateway: "${url}" }\n${orders}`,
    told: "(connect)",
  },
};

for (const [what, { text, files = {}, told }] of Object.entries(attacks)) {
  Deno.test(`a hostile recipe can do nothing before it is trusted: ${what}`, async () => {
    await using w = await world((url) => ({ "r.yaml": text(url), ...files }));
    const cwd = Deno.cwd();
    const path = `${w.path}/r.yaml`;
    const checked = await w.hsgate("check", path);
    assertEquals(checked.code, 0, checked.err);
    assertStringIncludes(checked.out, told);
    assertStringIncludes(checked.out, `not trusted: it does not run until you run: hsgate trust ${path}`);
    const where = ["--store", w.store];
    const days = ["--from", "2025-08-14", "--recipes", w.path];
    const ways = [
      ["run", path],
      ["run", path, ...where],
      ["run", path, ...where, "--manual"],
      ["run", path, "--dry-run"],
      ["schedule", path, ...where, "--once"],
      ["backfill", "r", ...where, ...days],
      ["backfill", "r", ...where, ...days, "--queue"],
      ["notify", path, "--test"],
    ];
    for (const words of ways) {
      const { code, err } = await w.hsgate(...words);
      assertEquals(code, 2, `${words.join(" ")}: ${err}`);
      assertStringIncludes(err, 'Cannot run "r": nobody has trusted it');
      assertStringIncludes(err, told);
      assertStringIncludes(err, `run "hsgate trust ${path}"`);
    }
    assertEquals([w.heard, await w.has("ran"), await Deno.stat(`${cwd}/ran`).catch(() => "none")], [
      [],
      false,
      "none",
    ]);
  });
}

Deno.test("a recipe without trust replaces a file beside the recipe only if a step wrote it, and replaces its own report in every run", async () => {
  await using w = await world(() => ({
    "r.yaml":
      'name: r\nparams: { to: own.csv, cell: a }\nsteps:\n  - id: to\n    uses: convert-report\n    with: { to: "${{ params.to }}", rows: [{ cell: "${{ params.cell }}" }] }\n',
  }));
  const kept = ["hsgate.notes.json", "book.json", "own.csv"];
  for (const name of kept) Deno.writeTextFileSync(`${w.path}/${name}`, "kept");
  const report = (to: string, cell: string, ...flags: string[]) =>
    spawned(["run", "r.yaml", "--param", `to=${to}`, "--param", `cell=${cell}`, ...flags], {
      env: w.env,
      cwd: w.path,
    });
  for (const name of kept) {
    const { code, err } = await report(name, "a");
    assertEquals([code === 0, Deno.readTextFileSync(`${w.path}/${name}`)], [false, "kept"], name);
    assertStringIncludes(
      err,
      /^(own|book)\./.test(name) ? `Cannot replace "${name}"` : "Cannot use the path",
    );
  }
  // A step replaces its own reports, without and with a store. It also replaces any file below `out/` or in a folder
  // that --out names.
  for (
    const [to, at, ...flags] of [
      ["new.csv", "new.csv"],
      ["stored.csv", "stored.csv", "--store", w.store],
      ["out/deep/old.csv", "out/deep/old.csv"],
      ["old.csv", "named/old.csv", "--out", "named"],
    ] as [string, string, ...string[]][]
  ) {
    if (at.endsWith("old.csv")) {
      Deno.mkdirSync(`${w.path}/${at.slice(0, -8)}`, { recursive: true });
      Deno.writeTextFileSync(`${w.path}/${at}`, "of an earlier version");
    }
    for (const cell of at === to && !at.includes("/") ? ["a", "b"] : ["a"]) {
      const { code, err } = await report(to, cell, ...flags);
      assertEquals([code, err], [0, err]);
      assertEquals(Deno.readTextFileSync(`${w.path}/${at}`), `cell\r\n${cell}\r\n`);
    }
  }
  // A step does not replace a report that the user has changed.
  Deno.writeTextFileSync(`${w.path}/new.csv`, "my notes");
  const { err } = await report("new.csv", "d");
  assertStringIncludes(err, 'Cannot replace "new.csv": a step did not write its content');
  assertEquals(Deno.readTextFileSync(`${w.path}/new.csv`), "my notes");
  // Nor does a step replace the report through a link below `out/` that leads back into the working folder.
  Deno.symlinkSync("..", `${w.path}/out/up`);
  const { err: linked } = await report("out/up/new.csv", "e");
  assertStringIncludes(linked, 'Cannot replace "out/up/new.csv": a step did not write its content');
  assertEquals(Deno.readTextFileSync(`${w.path}/new.csv`), "my notes");
});

Deno.test("a recipe that only reads from the configured broker into its folder runs without trust", async () => {
  await using w = await world(() => ({
    "r.yaml":
      `name: r\n${orders}  - { id: to, uses: convert-report, with: { to: orders.csv, rows: "\${{ outputs.orders }}" } }\n`,
    "sim.yaml":
      "name: sim\nconnect: simulator\nwindow: XHKG.open+5m..XHKG.close-10m\nsteps: [{ id: all, uses: cancel-open-orders, with: { markets: [hk] } }]\n",
  }));
  const { code, err } = await w.hsgate("run", `${w.path}/r.yaml`);
  assertEquals(code, 0, err);
  const { files } = JSON.parse((await w.hsgate("check", w.path, "--json")).out);
  // Orders at a simulator are harmless.
  assertEquals(files.map(({ name, trust }: Record<string, string>) => [name, trust]), [["r", "plain"], [
    "sim",
    "plain",
  ]]);
  const trusted = await w.hsgate("trust", w.path);
  assertEquals([trusted.code, trusted.err], [
    0,
    "hsgate: nothing was recorded: none of this needs trust\n",
  ]);
});

Deno.test("a trusted recipe runs, and an edit of it or of its code ends the trust", async () => {
  const text = "name: r\nsteps: [{ id: own, uses: ./own_step.ts }]\n";
  await using w = await world(() => ({
    "r.yaml": text,
    "own_step.ts": `import "./word.ts";\n${STEP()}`,
    "word.ts": "",
  }));
  const path = `${w.path}/r.yaml`;
  const trusted = await w.hsgate("trust", path, "--yes", "--json");
  assertEquals(trusted.code, 0, trusted.err);
  assertEquals(
    JSON.parse(trusted.out)[0].powers.map(({ kind, name }: Record<string, string>) => `${kind} ${name}`),
    ["program touch", "code ./own_step.ts", "login reads the account"],
  );
  const ran = await w.hsgate("run", path);
  assertEquals([ran.code, await w.has("ran")], [0, true], ran.err);
  const edits: [string, string, string][] = [
    ["r.yaml", `${text}# edited\n`, text],
    ["word.ts", "// edited\n", ""],
  ];
  for (const [name, edited, before] of edits) {
    await Deno.writeTextFile(`${w.path}/${name}`, edited);
    const { code, err } = await w.hsgate("run", path);
    assertEquals(code, 2, name);
    assertStringIncludes(err, "it was changed after it was trusted");
    const { out } = await w.hsgate("check", path);
    assertStringIncludes(out, "changed after it was trusted");
    const { out: list } = await w.hsgate("trust", "--list", "--json");
    const row = JSON.parse(list).find((each: { path: string }) => each.path === Deno.realPathSync(path));
    assertEquals(row.state, "changed");
    await Deno.writeTextFile(`${w.path}/${name}`, before);
    assertEquals((await w.hsgate("run", path)).code, 0, name);
  }
  assertEquals((await w.hsgate("trust", path, "--remove")).code, 0);
  assertStringIncludes((await w.hsgate("run", path)).err, "nobody has trusted it");
});

Deno.test("code that asks for more permissions during a run than when it was trusted is rejected", async () => {
  await using w = await world(() => ({
    "r.yaml": "name: r\nsteps: [{ id: own, uses: ./own_step.ts }]\n",
    "own_step.ts": STEP(),
  }));
  await trustAll(`${w.path}/r.yaml`);
  const { path } = TrustFile.of((name) => trustEnv[name as keyof typeof trustEnv]);
  // This edit of the record pretends that the step asked for no program when it was trusted.
  const record = JSON.parse(await Deno.readTextFile(path!));
  const own = record.recipes[await Deno.realPath(`${w.path}/r.yaml`)];
  own.powers = own.powers.filter((power: string) => power !== "program touch");
  await Deno.writeTextFile(path!, JSON.stringify(record));
  const { code, err } = await w.hsgate("run", `${w.path}/r.yaml`);
  assertEquals([code, await w.has("ran")], [2, false]);
  assertStringIncludes(err, "runs a program: touch");
});

Deno.test("a recipe that runs a trusted recipe needs its own trust, and an edit of the inner recipe ends that trust", async () => {
  const inner = (url: string) =>
    `name: inner\nparams: { to: "${url}" }\nsteps: [{ id: tell, uses: notify, with: { webhook: "\${{ params.to }}", text: hello } }]\n`;
  let edited = "";
  await using w = await world((url) => {
    edited = inner(`${url}edited`);
    return {
      "inner.yaml": inner(url),
      "outer.yaml": "name: outer\nsteps: [{ id: in, uses: run, with: { recipe: inner } }]\n",
      "any.yaml":
        'name: any\nparams: { which: inner }\nsteps: [{ id: in, uses: run, with: { recipe: "${{ params.which }}" } }]\n',
    };
  });
  await trustAll(`${w.path}/inner.yaml`);
  for (const name of ["outer", "any"]) {
    const { code, err } = await w.hsgate("run", `${w.path}/${name}.yaml`);
    assertEquals(code, 2, err);
    assertStringIncludes(err, `Cannot run "${name}": nobody has trusted it`);
  }
  assertEquals(w.heard, []);
  await trustAll(`${w.path}/outer.yaml`);
  const ran = await w.hsgate("run", `${w.path}/outer.yaml`);
  assertEquals([ran.code, w.heard.length], [0, 1], ran.err);
  await Deno.writeTextFile(`${w.path}/inner.yaml`, edited);
  assertEquals((await w.hsgate("run", `${w.path}/outer.yaml`)).code, 2);
  assertEquals(w.heard.length, 1);
});

Deno.test("trust asks on a terminal, needs --yes elsewhere, and records nothing on a no", async () => {
  await using dir = await folder();
  const path = `${dir.path}/r.yaml`;
  await Deno.writeTextFile(path, `name: r\n${orders}ping: "http://127.0.0.1:9/"\n`);
  const env = { HSGATE_TRUST_FILE: `${dir.path}/own/trust.json` };
  const silent = await cli(["trust", path], { env });
  assertEquals(silent.code, 2);
  assertStringIncludes(silent.err, "--yes");
  const no = await cli(["trust", path], { env, answer: "" });
  assertEquals(no.code, 2);
  assertStringIncludes(no.err, 'Trust "r" as shown? [y/N] ');
  assertEquals((await cli(["trust", "--list", "--json"], { env })).out, "[]\n");
  const yes = await cli(["trust", path], { env, answer: "y" });
  assertEquals([yes.code, JSON.parse((await cli(["trust", "--list", "--json"], { env })).out).length], [
    0,
    1,
  ]);
  const { mode } = await Deno.stat(env.HSGATE_TRUST_FILE);
  assertEquals(mode! & 0o777, 0o600);
});

Deno.test({
  name: "a trust record that others may write to, or of another user, is rejected",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using dir = await folder();
    const path = `${dir.path}/r.yaml`;
    await Deno.writeTextFile(path, `name: r\n${orders}ping: "http://127.0.0.1:9/"\n`);
    const file = `${dir.path}/own/trust.json`;
    const env = { HSGATE_TRUST_FILE: file };
    await cli(["trust", path, "--yes"], { env });
    const refused = async (why: string) => {
      for (const words of [["run", path], ["check", path], ["trust", "--list"], ["trust", path, "--yes"]]) {
        const { code, err } = await cli(words, { env, files: { [path]: await Deno.readTextFile(path) } });
        assert(code !== 0, words.join(" "));
        assertStringIncludes(err, why);
      }
    };
    await Deno.chmod(file, 0o620);
    await refused(`others may write to it (mode 0620)`);
    await Deno.chmod(file, 0o600);
    await Deno.chmod(`${dir.path}/own`, 0o777);
    await refused(`they may write to the folder "${dir.path}/own" (mode 0777)`);
    await Deno.chmod(`${dir.path}/own`, 0o700);
    // Only root can give a file to another user.
    if (Deno.uid() === 0) {
      await Deno.chown(file, 65534, 65534);
      await refused("it belongs to user 65534");
      await Deno.chown(file, 0, 0);
    }
    const relative = await cli(["trust", "--list"], { env: { HSGATE_TRUST_FILE: "trust.json" } });
    assertStringIncludes(relative.err, "write an absolute path");
    assertEquals((await cli(["trust", "--list"], { env })).code, 0);
  },
});

Deno.test("a secret's program that appeared after its recipe was trusted is rejected as new or changed", async () => {
  await using dir = await folder();
  const recipe = `${dir.path}/r.yaml`;
  await Deno.writeTextFile(recipe, "name: r\nsteps: []\n");
  await Deno.writeTextFile(`${dir.path}/get.sh`, "#!/bin/sh\necho 1\n", { mode: 0o700 });
  const trust = Trust.of((name) => name === "HSGATE_TRUST_FILE" ? `${dir.path}/trust.json` : undefined);
  const error = await assertRejects(
    () => trust.checkSecret({ command: [`${dir.path}/get.sh`] }, [recipe]),
    NamedFileError,
  );
  assertStringIncludes(
    error.message,
    `get.sh": it is new or was changed after its recipe was trusted; check the file`,
  );
});

Deno.test("commands report a damaged trust record clearly, whatever is damaged in it", async () => {
  await using dir = await folder();
  const path = `${dir.path}/r.yaml`;
  await Deno.writeTextFile(path, `name: r\n${orders}ping: "http://127.0.0.1:9/"\n`);
  const file = `${dir.path}/trust.json`;
  const env = { HSGATE_TRUST_FILE: file };
  await cli(["trust", path, "--yes"], { env });
  const { recipes: { [await Deno.realPath(path)]: whole } } = JSON.parse(Deno.readTextFileSync(file));
  const code = (...copies: unknown[]) => ({ ...whole, code: [{ sha256: "x", copies }] });
  const records: unknown[] = [
    ...[null, 5, {}, { ...whole, sha256: 1 }, { ...whole, code: undefined }, { ...whole, code: 5 }],
    ...[{ ...whole, powers: [1] }, { ...whole, runs: [{}] }, { ...whole, named: {} }, { ...whole, text: 1 }],
    ...[code(null), code({ name: "./a.ts", content: "%" }), code({ name: "./%.ts", content: "" })],
    code({ name: "//h/a.ts", content: "" }),
  ];
  const others = [{ settings: { x: {} } }, { stores: { x: { id: 1 } } }, { calendars: { x: null } }];
  const texts = [
    ...["", "{", "null"],
    ...records.map((record) => JSON.stringify({ version: 1, recipes: { [path]: record } })),
    ...others.map((each) => JSON.stringify({ version: 1, recipes: {}, ...each })),
  ];
  for (const text of texts) {
    Deno.writeTextFileSync(file, text);
    for (const words of [["run", path], ["check", path], ["trust", "--list"], ["trust", path, "--yes"]]) {
      const { code, out, err } = await cli(words, { env, files: { [path]: Deno.readTextFileSync(path) } });
      assert(code !== 0, `${words}: ${text}`);
      assertStringIncludes(
        err,
        `Cannot use the record of trusted recipes "${file}": it is damaged`,
        `${words}: ${text}`,
      );
      assertEquals(/internal error/.test(out + err), false, out + err);
    }
  }
});

Deno.test("offerTrust() compiles an inner recipe once for all recipes that run it, and once for itself", async () => {
  await using w = await world(() => ({
    "a.yaml": "name: a\nsteps: [{ id: x, uses: run, with: { recipe: x } }]\n",
    "b.yaml": "name: b\nsteps: [{ id: x, uses: run, with: { recipe: x } }]\n",
    "x.yaml": `name: x\n${orders}`,
  }));
  const compiled: string[] = [];
  const mayRunCode = (file: string) => compiled.push(baseName(file)) > 0;
  const offers = new Map<string, TrustOffer>();
  const others = new OtherRecipes();
  for (const name of ["a.yaml", "b.yaml", "x.yaml"]) {
    const options = { at: MORNING, mayRunCode };
    for (const each of await offerTrust(`${w.path}/${name}`, options, offers, others)) {
      offers.set(each.path, each);
    }
  }
  assertEquals([...offers.values()].map(({ recipe }) => recipe.name), ["a", "x", "b"]);
  // x.yaml is compiled once as the recipe that others run, and once by itself.
  assertEquals(compiled.toSorted(), ["a.yaml", "b.yaml", "x.yaml", "x.yaml"]);
});

Deno.test("a scheduler runs the trusted version until the edit is trusted, and says so", async () => {
  await using w = await world((url) => ({
    "beat.yaml":
      `name: beat\nschedule: { every: 1s }\nmisfire: { grace: 30s }\nsteps:\n  - { id: tell, uses: notify, with: { webhook: "${url}", text: first } }\n`,
  }));
  const path = `${w.path}/beat.yaml`;
  await trustAll(path);
  const text = await Deno.readTextFile(path);
  const words = ["schedule", w.path, "--store", w.store];
  const texts = () => new Set(w.heard.map((each) => JSON.parse(each).text));
  const untilHeard = async (fits: () => boolean) => {
    const late = AbortSignal.timeout(60_000);
    while (!fits()) {
      assert(!late.aborted, `the message did not arrive: ${[...texts()]}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  for (const when of ["while it runs", "before it starts"]) {
    const process = start(words, { env: w.env });
    let err = "";
    const reading = (async () => {
      for await (const part of process.stderr.pipeThrough(new TextDecoderStream())) err += part;
    })();
    if (when === "while it runs") {
      await untilHeard(() => w.heard.length > 0);
      await Deno.writeTextFile(path, text.replace("first", "second"));
    }
    await untilHeard(() => err.includes('"beat" has changed and the change is not trusted'));
    const before = w.heard.length;
    await untilHeard(() => w.heard.length > before + 1);
    assertEquals([...texts()], ["first"], when);
    const next = await cli(["next", path]);
    assertStringIncludes(
      next.err,
      '"beat" has changed and the change is not trusted, so the trusted version runs',
    );
    const looks = [["runs"], ["why", "beat", "2025-08-15", "--recipes", w.path]];
    const told = `"${path}" has changed and the change is not trusted; schedulers and timers run`;
    for (const look of looks) {
      assertStringIncludes((await cli([...look, "--store", w.store])).err, told, look[0]);
    }
    if (when === "before it starts") {
      await trustAll(path);
      for (const look of looks) {
        assert(!(await cli([...look, "--store", w.store])).err.includes(told), look[0]);
      }
      await untilHeard(() => texts().has("second"));
    }
    process.kill("SIGTERM");
    await process.stdout.cancel();
    await Promise.all([process.status, reading]);
  }
});

Deno.test("a timer runs the trusted version until the edit is trusted; a user's run is rejected", async () => {
  await using w = await world((url) => ({
    "r.yaml":
      `name: r\n${slot}steps: [{ id: tell, uses: notify, with: { webhook: "${url}", text: first } }]\n`,
  }));
  const path = `${w.path}/r.yaml`;
  await trustAll(path);
  await Deno.writeTextFile(path, (await Deno.readTextFile(path)).replace("first", "second"));
  const person = await w.hsgate("run", path, "--store", w.store);
  assertEquals([person.code, w.heard], [2, []]);
  const timer = await w.hsgate("run", path, "--store", w.store, "--if-new");
  assertEquals(timer.code, 0, timer.err);
  assertStringIncludes(timer.err, '"r" has changed and the change is not trusted');
  assertEquals(w.heard.map((each) => JSON.parse(each).text), ["first"]);
});

Deno.test("a scheduler and a timer also run the trusted version of TypeScript: of a recipe, of a step and of its imports", async () => {
  const recipe = (market: string) =>
    `import { defineRecipe } from "hsgate/recipes";
import { name } from "./lib/name.ts";
export default defineRecipe({
  name,
  schedule: { calendar: "XHKG", at: "open+30m" },
  misfire: { action: "latest", grace: "2h" },
  steps: [{ id: "orders", uses: "orders.today", with: { market: "${market}" } }, { id: "own", uses: "./steps/own.ts" }],
});
`;
  const own = `import { defineStep } from "hsgate/recipes";
import { word } from "../lib/word.ts";
import note from "./note.txt" with { type: "text" };
export default defineStep({
  effect: "read",
  permissions: { write: ["said"] },
  run: async () => { await Deno.writeTextFile("said", word + note + "\\n", { append: true }); return { ok: true }; },
});
`;
  for (const edited of ["r.ts", "lib/word.ts", "steps/note.txt"]) {
    await using w = await world(() => ({}));
    const files: Record<string, string> = {
      "r.ts": recipe("hk"),
      "lib/name.ts": 'export const name = "r";\n',
      "lib/word.ts": 'export const word = "first";\n',
      "steps/own.ts": own,
      "steps/note.txt": "!",
    };
    for (const [name, text] of Object.entries(files)) {
      await Deno.mkdir(`${w.path}/${name}`.replace(/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${w.path}/${name}`, text);
    }
    const path = `${w.path}/r.ts`;
    const said = () => Deno.readTextFileSync(`${w.path}/steps/said`).trim().split("\n");
    await trustAll(path);
    const where = ["--store", w.store];
    const text = files[edited]!;
    const evil = text.replace('"hk"', '"us"').replace('"r"', '"other"').replace("first", "evil")
      .replace("word + note", '"evil"').replace("!", "evil");
    assert(evil !== text);
    await Deno.writeTextFile(`${w.path}/${edited}`, evil);
    const person = await w.hsgate("run", path, ...where);
    assertEquals(person.code, 2, edited);
    assertStringIncludes(person.err, "it was changed after it was trusted", edited);
    for (const words of [["run", path, ...where, "--if-new"], ["schedule", path, ...where, "--once"]]) {
      const { code, err } = await w.hsgate(...words);
      assertEquals(code, 0, `${edited}: ${err}`);
      assertStringIncludes(err, '"r" has changed and the change is not trusted, so the trusted version runs');
    }
    const told = "schedulers and timers run the trusted version";
    for (const words of [["runs"], ["why", "r", "2025-08-15", "--recipes", w.path]]) {
      assertStringIncludes((await w.hsgate(...words, ...where)).err, told, `${edited} ${words[0]}`);
    }
    assertEquals(said(), ["first!"], edited);
  }
});

Deno.test({
  name:
    "a trusted recipe does not run, and its code is not loaded, while others could write to one of its files",
  ignore: Deno.build.os === "windows" || Deno.uid() !== 0,
  async fn() {
    await using w = await world((url) => ({
      "tells.yaml":
        `name: tells\n${slot}steps: [{ id: tell, uses: notify, with: { webhook: "${url}", text: first } }]\n`,
      "own.yaml": `name: own\n${slot}steps: [{ id: own, uses: ./own_step.ts }]\n`,
      "own_step.ts": `import "./helper.ts";\n${STEP()}`,
      "helper.ts": "export {};\n",
      "typed.ts":
        `import "./helper.ts";\nexport default { name: "typed", schedule: { calendar: "XHKG", at: "open+30m" }, ` +
        'misfire: { action: "latest", grace: "2h" }, steps: [{ id: "a", uses: "orders.today", with: { market: "hk" } }] };\n',
    }));
    const at = (name: string) => `${w.path}/${name}`;
    const recipes = {
      "tells.yaml": ["tells.yaml"],
      "own.yaml": ["own_step.ts", "helper.ts"],
      "typed.ts": ["helper.ts"],
    };
    const where = ["--store", w.store];
    for (const [recipe, files] of Object.entries(recipes)) {
      for (const name of files) {
        const file = await Deno.realPath(at(name));
        const ways: Record<string, [open: () => void, close: () => void]> = {
          "others may write to it (mode 0606)": [
            () => Deno.chmodSync(file, 0o606),
            () => Deno.chmodSync(file, 0o644),
          ],
          "it belongs to user 4711": [
            () => Deno.chownSync(file, 4711, 4711),
            () => Deno.chownSync(file, 0, 0),
          ],
          "others may replace it": [
            () => Deno.chmodSync(w.path, 0o777),
            () => Deno.chmodSync(w.path, 0o700),
          ],
        };
        for (const [why, [open, close]] of Object.entries(ways)) {
          open();
          const refused = await w.hsgate("trust", at(recipe), "--yes");
          close();
          assertEquals(refused.code, 2, `${recipe} ${name} ${why}`);
          assertStringIncludes(refused.err, why);
          await trustAll(at(recipe));
          open();
          const run = await w.hsgate("run", at(recipe), ...where);
          close();
          assertEquals([run.code, w.heard, await w.has("ran")], [2, [], false], `${recipe} ${name} ${why}`);
          assertStringIncludes(run.err, 'cannot trust "');
          assertStringIncludes(run.err, why);
        }
      }
    }
    // Control: the owner's own group may write to the files, as root's group may in an image.
    for (const name of ["own.yaml", "own_step.ts", "helper.ts"]) Deno.chmodSync(at(name), 0o664);
    assertEquals((await w.hsgate("run", at("own.yaml"), ...where)).code, 0);
    // A timer runs the trusted version in the meantime.
    Deno.chmodSync(at("tells.yaml"), 0o606);
    const timer = await w.hsgate("run", at("tells.yaml"), ...where, "--if-new");
    assertEquals([timer.code, w.heard.length], [0, 1], timer.err);
    assertStringIncludes(
      timer.err,
      'the trusted version of "tells" runs, because the changed one cannot be trusted: "',
    );
  },
});

Deno.test({
  name:
    `no secret of an untrusted recipe is resolved: its program does not start, and its file is not opened${
      strace ? "" : " (skipped: there is no strace here)"
    }`,
  ignore: !strace,
  async fn() {
    await using other = await folder();
    const file = `${other.path}/key.pem`;
    await Deno.writeTextFile(file, "PRIVATE");
    const trace = `${other.path}/trace`;
    const mark = `mark-${crypto.randomUUID()}`;
    await using w = await world((url) => ({
      "r.yaml": `name: r
${slot}secrets:
  a: { command: [echo, ${mark}] }
  b: { file: ${file} }
  c: { env: HSGATE_TRADE_PASSWORD }
ping: "${url}\${secret:a}"
steps:
  - { id: tell, uses: notify, with: { webhook: "${url}", text: "\${secret:a} \${secret:b} \${secret:c}" } }
notify: [{ on: always, with: { webhook: "${url}\${secret:b}" } }]
`,
    }));
    const path = `${w.path}/r.yaml`;
    const where = ["--store", w.store];
    const run = ["run", path, ...where, "--manual"];
    const isResolved = async (words: readonly string[]) => {
      const { code, err } = await spawned(words, { env: w.env, trace, cwd: w.path });
      const calls = (await takeTrace(trace)).join("\n");
      assert(calls.includes('tasks/hsgate.ts"'), err);
      return { code, resolved: [mark, file].map((each) => calls.includes(each)) };
    };
    const words = [
      run,
      ["run", path, ...where],
      ["run", path, ...where, "--if-new"],
      ["run", path, ...where, "--dry-run"],
      ["schedule", path, ...where, "--once"],
      ["backfill", "r", ...where, "--from", "2025-08-14", "--recipes", w.path],
      ["notify", path, "--test"],
      ["check", path, "--run"],
      ["next", path],
      ["test", path, "--from", "2025-08-14", "--to", "2025-08-14"],
    ];
    const nothing = [false, false];
    for (const each of words) {
      assertEquals((await isResolved(each)).resolved, nothing, each.join(" "));
    }
    assertEquals(w.heard, []);
    await trustAll(path);
    assertEquals(await isResolved(run), { code: 0, resolved: [true, true] }, "the control: a trusted recipe");
    assertStringIncludes(w.heard.join(), `${mark} PRIVATE`);
    // After an edit, the recipe no longer gets the secrets.
    await Deno.writeTextFile(path, `${await Deno.readTextFile(path)}# edited\n`);
    assertEquals(await isResolved(run), { code: 2, resolved: nothing });
  },
});

Deno.test("rerun and notices --send send nothing for a recipe that was edited after its trust, or was never trusted", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close(); // the first notice cannot be sent, so it waits
  let edited = "";
  await using w = await world((url) => {
    const text = (to: string) =>
      `name: r\n${slot}${orders}  - { id: tell, uses: notify, with: { webhook: "${url}", text: "${to}" } }\n` +
      `notify: [{ on: always, with: { webhook: "${to}" } }]\n`;
    edited = text(`${url}other`);
    return { "r.yaml": text(`http://127.0.0.1:${port}/`) };
  });
  const path = `${w.path}/r.yaml`;
  await trustAll(path);
  const where = ["--store", w.store, "--recipes", w.path];
  const first = await w.hsgate("run", path, "--store", w.store, "--manual");
  const key = /run key (\S+)/.exec(first.out)![1]!;
  assertEquals(w.heard.length, 1, "the control: the trusted version runs");
  const ways = [["rerun", key, "--from-start", ...where], ["notices", "--send", ...where]];
  const refused = async (why: string) => {
    for (const words of ways) {
      const { code, err } = await w.hsgate(...words);
      assertEquals(code, 2, `${words}: ${err}`);
      assertStringIncludes(err, why);
      assertStringIncludes(err, `run "hsgate trust ${path}"`);
    }
    assertEquals(w.heard.length, 1);
  };
  await Deno.writeTextFile(path, edited);
  await refused('Cannot run "r": it was changed after it was trusted');
  await w.hsgate("trust", path, "--remove");
  await refused('Cannot run "r": nobody has trusted it');
  await trustAll(path);
  for (const words of [...ways].reverse()) {
    const before = w.heard.length;
    const { err } = await w.hsgate(...words);
    assert(w.heard.length > before, `${words}: ${err}`);
  }
});

Deno.test("check rejects the imports that trust rejects, and does not call a recipe valid if it did not load the recipe", async () => {
  await using other = await folder();
  await Deno.writeTextFile(`${other.path}/a.ts`, "export default {};\n");
  await using w = await world(() => ({
    "r.ts": `import a from "./between.ts";\nexport default { name: "r", a };\n`,
    "between.ts": `export { default } from "${other.path}/a.ts";\n`,
  }));
  const path = `${w.path}/r.ts`;
  for (const words of [["check", path], ["trust", path, "--yes"]]) {
    const { code, out, err } = await w.hsgate(...words);
    assertEquals(code, 2, words[0]);
    assertStringIncludes(
      out + err,
      `it cannot be loaded: it imports "${other.path}/a.ts", which is outside the folder of the recipe`,
      words[0],
    );
  }
  await Deno.writeTextFile(path, 'export default { name: "r", steps: [] };\n');
  const { code, err } = await w.hsgate("check", path);
  assertEquals(code, 0, err);
  assertStringIncludes(err, "no mistake found, but 1 of 1 recipes was not loaded");
});

Deno.test("check and test load no untrusted TypeScript; check --run loads it in a process without permissions", async () => {
  await using w = await world(() => ({
    "own.yaml": `name: own\n${slot}steps: [{ id: own, uses: ./own_step.ts }]\n`,
    "own_step.ts": STEP(),
    "program.ts": 'throw new Error("it ran");\n',
  }));
  const checked = await w.hsgate("check", w.path, "--json");
  assertEquals(checked.code, 0, checked.err);
  const standings = (out: string) =>
    JSON.parse(out).files.map(({ path, trust, issues }: Record<string, unknown[] | string>) =>
      `${String(path).replace(/.*\//, "")} ${trust} ${issues!.length}`
    );
  assertEquals(standings(checked.out), ["own.yaml unknown 0", "program.ts unknown 0"]);
  const loaded = await w.hsgate("check", w.path, "--json", "--run");
  assertEquals(loaded.code, 2);
  assertEquals(standings(loaded.out), ["own.yaml unknown 0", "program.ts undefined 1"]);
  assertStringIncludes(loaded.out, '"kind":"program","name":"touch"');
  const rehearsed = await w.hsgate(
    "test",
    `${w.path}/own.yaml`,
    "--from",
    "2025-08-14",
    "--to",
    "2025-08-14",
  );
  assertEquals([rehearsed.code, await w.has("ran")], [2, false]);
  assertStringIncludes(rehearsed.err, 'Cannot run "own": nobody has trusted it');
});

const traced =
  "open,openat,creat,execve,connect,bind,sendto,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat," +
  "link,linkat,symlink,symlinkat";

Deno.test({
  name:
    `check in a hostile folder connects to nothing, starts nothing, reads nothing outside and writes nothing${
      strace ? "" : " (skipped: there is no strace here)"
    }`,
  ignore: !strace,
  async fn() {
    await using dir = await folder();
    await using other = await folder();
    const elsewhere = `${other.path}/secret.yaml`;
    await Deno.writeTextFile(elsewhere, "name: s3cr3t\n");
    const files: Record<string, string> = {
      "evil.yaml": `name: evil
secrets: { x: { command: [touch, "${dir.path}/ran"] }, k: { file: "${elsewhere}" } }
connect: { gateway: "http://127.0.0.1:9/" }
ping: "\${secret:x}"
steps:
  - { id: own, uses: ./own_step.ts }
  - { id: in, uses: run, with: { recipe: program } }
  - { id: tell, uses: notify, with: { webhook: "\${secret:x}", text: "\${secret:k}" } }
`,
      "own_step.ts": "while (true);\nexport default {};\n",
      "reads.yaml": "name: reads\nsteps: [{ id: own, uses: ./reads_step.ts }]\n",
      "reads_step.ts": `import text from "${elsewhere}" with { type: "text" };
import "https://127.0.0.1:9/x.ts";
import "npm:left-pad";
while (true);
export default { text };
`,
      "reads.ts": `export * from "${elsewhere}";\nexport default { name: "reads-too" };\n`,
      "program.ts": 'while (true);\nexport default { name: "program" };\n',
      "deno.json": '{ "imports": { "hsgate/recipes": "npm:left-pad" }, "nodeModulesDir": "auto" }',
      "package.json": '{ "dependencies": { "left-pad": "*" }, "scripts": { "postinstall": "touch ran" } }',
      ".npmrc": "registry=http://127.0.0.1:9/\n",
      ".env": "HSGATE_CONFIG=/etc/hostname\n",
      "hsgate.yaml": `calendars: ${elsewhere}\nstore: ${other.path}/l.db\ntradePasswordFile: ${elsewhere}\n`,
      "hsgate.db": "",
    };
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${dir.path}/${name}`, text);
    await Deno.symlink(elsewhere, `${dir.path}/link.yaml`);
    const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
    const info = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
    const { denoDir } = JSON.parse(new TextDecoder().decode(info.stdout));
    const trace = `${other.path}/trace`;
    const before = [...Deno.readDirSync(dir.path)].map(({ name }) => name).sort();
    // The test starts hsgate as a user does: with the toolkit's own task, here with the toolkit's paths. Only the task
    // may set DENO_NO_UPDATE_CHECK.
    const { tasks } = JSON.parse(await Deno.readTextFile(`${root}deno.json`));
    const program = `--config '${root}deno.json' '${root}tasks/hsgate.ts'`;
    const task = tasks.hsgate.command.replace("tasks/hsgate.ts", program);
    const config = `${other.path}/task.json`;
    await Deno.writeTextFile(config, JSON.stringify({ tasks: { hsgate: task } }));
    const env: Record<string, string> = { ...Deno.env.toObject(), ...trustEnv, NO_COLOR: "1" };
    delete env.DENO_NO_UPDATE_CHECK;
    const { stdout, stderr } = await new Deno.Command("strace", {
      args: [
        ...["-ff", "-v", "-s", "4096", "-o", trace, "-e", `trace=${traced}`],
        ...[
          Deno.execPath(),
          "task",
          "--quiet",
          "--config",
          config,
          "--cwd",
          dir.path,
          "hsgate",
          "check",
          ".",
        ],
      ],
      cwd: dir.path,
      clearEnv: true,
      env,
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assertStringIncludes(text(stdout), "evil  ./evil.yaml", text(stderr));
    const outside = `it imports "${elsewhere}", which is outside the folder of the recipe`;
    const foreign = '"reads_step.ts" imports "https://127.0.0.1:9/x.ts": only files of its folder';
    assertStringIncludes(text(stdout), `Cannot use step "reads_step.ts": ${foreign}`);
    assertStringIncludes(text(stdout), `./reads.ts:1:1: it cannot be loaded: ${outside}`);
    assert(!text(stdout).includes("s3cr3t") && !text(stderr).includes("s3cr3t"));
    const calls = (await takeTrace(trace)).filter((line) => !line.includes(" ENOENT "));
    assertEquals(calls.filter((line) => /connect\(|bind\(|sendto\(/.test(line) && /AF_INET/.test(line)), []);
    const programs = calls.filter((line) => line.startsWith("execve("));
    const launcher = programs.find((line) => line.includes('"task"'));
    const [started, ...others] = programs.filter((line) => line !== launcher);
    assert(
      launcher !== undefined && started !== undefined && others.length === 0,
      "only the task and the program",
    );
    // Deno checks for its newer version half a second after a program starts, at most once a day. The trace may miss
    // this check, so the test looks at the variable.
    assertStringIncludes(started, '"DENO_NO_UPDATE_CHECK=1"');
    assert(!launcher.includes("DENO_NO_UPDATE_CHECK"), "the test does not set it");
    // Files that the runtime itself reads, and its cache.
    const ofRuntime = [
      "/proc",
      "/sys",
      "/dev",
      "/lib",
      "/usr",
      "/etc",
      denoDir,
      root.replace(/\/$/, ""),
      Deno.execPath(),
    ];
    const own = [...ofRuntime, config, `${Deno.env.get("HOME")}/.npmrc`, trustEnv.HSGATE_TRUST_FILE];
    const isBelow = (path: string, folders: readonly string[]) =>
      folders.some((each) => path === each || path.startsWith(`${each}/`));
    const isWrite = (line: string) =>
      !/^open(at)?\(/.test(line) && !/^execve/.test(line) || /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC/.test(line);
    const paths = calls.flatMap((line) => {
      const [, path] = /"(\/[^"]*)"/.exec(line) ?? [];
      return path === undefined ? [] : [{ path, line }];
    });
    assert(paths.some(({ path }) => path.endsWith("/evil.yaml")), "the trace shows what is read");
    const real = await Deno.realPath(dir.path);
    assertEquals(paths.filter(({ path }) => !isBelow(path, [...own, dir.path, real])), []);
    assertEquals(paths.filter(({ path, line }) => isWrite(line) && !isBelow(path, [denoDir, "/dev"])), []);
    assertEquals([...Deno.readDirSync(dir.path)].map(({ name }) => name).sort(), before);
  },
});

Deno.test("an edited step never runs as the trusted version, whatever name it or its import has", async () => {
  const own = (word: string) =>
    `import { defineStep } from "hsgate/recipes";
import "./https:lib.ts";
export default defineStep({
  effect: "read",
  permissions: { write: ["said"] },
  run: async () => { await Deno.writeTextFile("said", "${word}\\n", { append: true }); return { ok: true }; },
});
`;
  await using w = await world(() => ({
    "r.yaml":
      `name: r\n${slot}steps: [{ id: own, uses: ./own_step.ts }, { id: again, uses: ./own_step.ts }]\n`,
    "own_step.ts": own("first"),
    "https:lib.ts": "export {};\n",
  }));
  const path = `${w.path}/r.yaml`;
  const timer = () => w.hsgate("run", path, "--if-new", "--store", w.store);
  await trustAll(path);
  await Deno.writeTextFile(`${w.path}/own_step.ts`, own("evil"));
  const { code, err } = await timer();
  assertEquals(code, 0, err);
  assertStringIncludes(err, "so the trusted version runs");
  assertEquals(Deno.readTextFileSync(`${w.path}/said`), "first\nfirst\n");

  // A trust record without the copies of the code, or with other copies, does not make the edited file trusted.
  const trust = new TrustFile(trustEnv.HSGATE_TRUST_FILE);
  const real = await Deno.realPath(path);
  const evil = new TextEncoder().encode(own("evil")).toBase64();
  for (
    const change of [
      () => undefined,
      (copies: KeptCode) => copies.map((each) => ({ ...each, name: each.name.replace("own_step", "other") })),
      (copies: KeptCode) => copies.map((each, index) => index === 0 ? { ...each, content: evil } : each),
    ]
  ) {
    await trust.change(({ recipes }) => {
      const record = recipes.get(real)!;
      const code = record.code.map((each) => ({ ...each, copies: change(each.copies!) }));
      recipes.set(real, { ...record, code });
    });
    const refused = await timer();
    assertEquals(refused.code, 2, refused.err);
    assertStringIncludes(refused.err, "it was changed after it was trusted");
    assertEquals(Deno.readTextFileSync(`${w.path}/said`), "first\nfirst\n");
    await Deno.writeTextFile(`${w.path}/own_step.ts`, own("first"));
    await trustAll(path);
    await Deno.writeTextFile(`${w.path}/own_step.ts`, own("evil"));
  }
});

Deno.test({
  name: "a recipe is not trusted, and does not run, while others could replace a link on the way to its code",
  ignore: Deno.build.os === "windows" || Deno.uid() !== 0,
  async fn() {
    await using w = await world(() => ({
      "r.yaml": `name: r\n${slot}steps: [{ id: own, uses: ./shared/cur/own_step.ts }]\n`,
    }));
    const path = `${w.path}/r.yaml`;
    await Deno.mkdir(`${w.path}/shared`);
    for (const version of ["v1", "v2"]) {
      await Deno.mkdir(`${w.path}/${version}`);
      await Deno.writeTextFile(`${w.path}/${version}/own_step.ts`, STEP().replace("ran", version));
    }
    const link = async (version: string) => {
      await Deno.remove(`${w.path}/shared/cur`).catch(() => {});
      await Deno.symlink(`../${version}`, `${w.path}/shared/cur`);
    };
    await link("v1");
    const run = () => w.hsgate("run", path, "--store", w.store);
    const why = `others may replace it: they may write to the folder "${await Deno.realPath(w.path)}/shared"`;
    await Deno.chmod(`${w.path}/shared`, 0o777);
    const refused = await w.hsgate("trust", path, "--yes");
    assertEquals(refused.code, 2);
    assertStringIncludes(refused.err, why);
    await Deno.chmod(`${w.path}/shared`, 0o755);
    await trustAll(path);
    await Deno.chmod(`${w.path}/shared`, 0o777);
    const exposed = await run();
    assertEquals(exposed.code, 2);
    assertStringIncludes(exposed.err, why);
    await Deno.chmod(`${w.path}/shared`, 0o755);
    // First the control with the trusted link, then a link that leads to other code.
    assertEquals((await run()).code, 0);
    assert(await w.has("v1/v1"));
    await link("v2");
    const changed = await run();
    assertEquals(changed.code, 2);
    assertStringIncludes(changed.err, "it was changed after it was trusted");
    const timer = await w.hsgate("run", path, "--if-new", "--store", w.store);
    assertStringIncludes(timer.err, "so the trusted version runs");
    assertEquals([await w.has("v1/v2"), await w.has("v2/v2")], [false, false]);
  },
});

/** Recipes that send what another recipe reads. They run that recipe directly, or through a third recipe. */
const outerOfPlain = (url: string) => {
  const outer = (name: string, inner: string, read: string) =>
    `name: ${name}\n${slot}steps:\n  - { id: x, uses: run, with: { recipe: ${inner} } }\n` +
    `  - { id: tell, uses: notify, with: { webhook: "${url}", text: "\${{ outputs.x.${read}.available }}" } }\n`;
  return {
    "inner.yaml": innerOf("hk"),
    "mid.yaml": "name: mid\nsteps: [{ id: b, uses: run, with: { recipe: inner } }]\n",
    "outer.yaml": outer("outer", "inner", "a"),
    "top.yaml": outer("top", "mid", "b.a"),
  };
};
const innerOf = (market: string) =>
  `name: inner\nsteps: [{ id: a, uses: account.funds, with: { market: ${market} } }]\n`;

Deno.test("if a trusted recipe runs a recipe that is edited, is removed or has its name in a second file, the trust ends", async () => {
  await using w = await world(outerOfPlain);
  const path = `${w.path}/outer.yaml`;
  const [plainFile, copy] = [`${w.path}/inner.yaml`, `${w.path}/other.yaml`];
  await trustAll(w.path);
  const where = ["--store", w.store, "--recipes", w.path];
  const first = await w.hsgate("run", path, "--store", w.store, "--manual");
  assertEquals([first.code, w.heard.length], [0, 1], first.err);
  const key = /run key (\S+)/.exec(first.out)![1]!;
  const changes: Record<string, { change: () => Promise<void>; back: () => Promise<void>; why: string }> = {
    "an edit": {
      change: () => Deno.writeTextFile(plainFile, innerOf("us")),
      back: () => Deno.writeTextFile(plainFile, innerOf("hk")),
      why: `the recipe "inner" that it runs ("${plainFile}") was changed after it was trusted`,
    },
    "a second file": {
      change: () => Deno.writeTextFile(copy, innerOf("us")),
      back: () => Deno.remove(copy),
      why:
        `the recipe "inner" that it runs ("${plainFile}", and "${copy}" has the same name) was changed after it was trusted`,
    },
    "a file in its place": {
      change: () => Deno.rename(plainFile, copy),
      back: () => Deno.rename(copy, plainFile),
      why: `the recipe "inner" that it runs ("${copy}") was changed after it was trusted`,
    },
    "a removal": {
      change: () => Deno.remove(plainFile),
      back: () => Deno.writeTextFile(plainFile, innerOf("hk")),
      why: "expected the name of a recipe in the same folder",
    },
  };
  for (const [what, { change, back, why }] of Object.entries(changes)) {
    const whyOfTop = why.includes("was changed") ? why : 'recipe "mid" itself has mistakes: check';
    await change();
    const ways = [
      ["run", path],
      ["run", `${w.path}/top.yaml`],
      ["run", path, "--store", w.store, "--manual"],
      ["rerun", key, "--from-start", ...where],
      ["backfill", "outer", "--from", "2025-08-13", "--to", "2025-08-14", ...where],
      ["notify", "--test", "outer", "--recipes", w.path],
    ];
    for (const words of ways) {
      const { code, err } = await w.hsgate(...words);
      assertEquals([code, w.heard.length], [2, 1], `${what}: ${words}: ${err}`);
      assertStringIncludes(err, words[1]!.endsWith("/top.yaml") ? whyOfTop : why, `${what}: ${words}`);
    }
    const { out } = await w.hsgate("trust", "--list");
    for (const each of [path, `${w.path}/top.yaml`]) {
      const checked = await w.hsgate("check", each);
      const wanted = (each === path ? why : whyOfTop).replace(" was changed after", " changed after");
      assertStringIncludes(checked.out, wanted, `${what}: ${each}`);
      const [line = ""] = out.split("\n").filter((line) => line.includes(`  ${each} `));
      assertStringIncludes(line, '  the recipe "inner" that it runs', what);
    }
    await back();
    assertStringIncludes((await w.hsgate("check", path)).err, "hsgate: 1 recipe, no mistakes\n", what);
  }
  const { code, err } = await w.hsgate("run", path, "--store", w.store, "--manual");
  assertEquals([code, w.heard.length], [0, 2], err);
  // When the user trusts again, hsgate names the recipe that has changed.
  await Deno.writeTextFile(plainFile, innerOf("us"));
  const asked = await w.hsgate("trust", path, "--yes");
  assertStringIncludes(
    asked.out,
    `changed after it was trusted: the recipe "inner" that it runs ("${plainFile}")`,
  );
  assertEquals((await w.hsgate("run", path)).code, 0);
  assertEquals(w.heard.length, 3);
});

Deno.test("a timer and a scheduler run the trusted version of the recipes that a trusted recipe runs", async () => {
  await using w = await world(outerOfPlain);
  const path = `${w.path}/outer.yaml`;
  await Deno.writeTextFile(path, (await Deno.readTextFile(path)).replace(slot, "schedule: { every: 1s }\n"));
  await trustAll(w.path);
  const texts = () => w.heard.map((each) => JSON.parse(each).text);
  assertEquals((await w.hsgate("run", path)).code, 0);
  const [trusted] = texts();
  await Deno.writeTextFile(`${w.path}/inner.yaml`, innerOf("us"));
  const timer = await w.hsgate("run", path, "--store", w.store, "--if-new");
  assertEquals([timer.code, texts()], [0, [trusted, trusted]], timer.err);
  const waits = '"outer" has changed and the change is not trusted, so the trusted version runs';
  assertStringIncludes(timer.err, waits);
  for (const args of [[path], [w.path]]) {
    const before = w.heard.length;
    const process = start(["schedule", ...args, "--store", `${w.store}-${args[0] === path}`], { env: w.env });
    let err = "";
    const reading = (async () => {
      for await (const part of process.stderr.pipeThrough(new TextDecoderStream())) err += part;
    })();
    const late = AbortSignal.timeout(60_000);
    while (w.heard.length < before + 2) {
      assert(!late.aborted, `the messages did not arrive: ${err}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    process.kill("SIGTERM");
    await process.stdout.cancel();
    await Promise.all([process.status, reading]);
    assertStringIncludes(err, waits);
    assertEquals([...new Set(texts())], [trusted], args[0]);
  }
  await trustAll(path);
  assertEquals((await w.hsgate("run", path)).code, 0);
  assert(texts().at(-1) !== trusted, "the control: the edit sends other data");
});

Deno.test("a step cannot run a recipe that needs trust if the name of that recipe is known only during the run", async () => {
  await using w = await world((url) => ({
    "tell.yaml": `name: tell\nparams: { text: x }\nsteps:\n` +
      `  - { id: tell, uses: notify, with: { webhook: "${url}", text: "\${{ params.text }}" } }\n`,
    "quiet.yaml": "name: quiet\nparams: { text: x }\n" + orders,
    "any.yaml": "name: any\nparams: { which: quiet }\n" +
      'steps: [{ id: in, uses: run, with: { recipe: "${{ params.which }}", params: { text: data } } }]\n',
    "outer.yaml":
      "name: outer\nsteps: [{ id: in, uses: run, with: { recipe: any, params: { which: tell } } }]\n",
    "late.yaml": `name: late\n${orders}  - { id: in, uses: run, with: { recipe: "\${{ runKey }}" } }\n`,
  }));
  await trustAll(`${w.path}/tell.yaml`);
  const store = ["--store", w.store, "--manual"];
  const which = ["--param", "which=tell"];
  for (const words of [["outer"], ["any", ...which], ["any", ...which, ...store]]) {
    const [name, ...rest] = words;
    const { code, out, err } = await w.hsgate("run", `${w.path}/${name}.yaml`, ...rest);
    assertEquals([code !== 0, w.heard], [true, []], `${words}: ${err}`);
    assertStringIncludes(
      out + err,
      'Cannot run recipe "tell" as a step of "any": trust covers only the recipes',
    );
  }
  for (const words of [[], store]) {
    assertEquals((await w.hsgate("run", `${w.path}/any.yaml`, ...words)).code, 0, "the control");
  }
  const late = await w.hsgate("check", `${w.path}/late.yaml`);
  assertStringIncludes(late.out, "steps.1.with.recipe: expected a name that is known before the run");
});

Deno.test("check and trust print the name of a recipe's file in one line, and nothing that looks like another line", async () => {
  await using w = await world((url) => ({
    "a\nforged  recipes\x1b[2J.yaml":
      `name: r\nsteps: [{ id: tell, uses: notify, with: { webhook: "${url}", text: hello } }]\n`,
    "b\nforged: wrong.yaml": "name: 7\n",
  }));
  for (
    const words of [["check", w.path], ["trust", w.path, "--yes"], ["trust", "--list"], ["next", w.path]]
  ) {
    const { out, err } = await w.hsgate(...words);
    assert(!/^forged/m.test(out + err) && !(out + err).includes("\x1b"), `${words}: ${out}${err}`);
  }
});

Deno.test("check shows the host that an address reaches, and rejects a user name in the address of a gateway", async () => {
  const gateway = (url: string) =>
    `name: r\nconnect: { gateway: "${url}" }\nsteps: [{ id: a, uses: account.funds, with: { market: hk } }]\n`;
  await using w = await world(() => ({ "r.yaml": "" }));
  const path = `${w.path}/r.yaml`;
  const check = async (text: string) => {
    await Deno.writeTextFile(path, text);
    return (await w.hsgate("check", path)).out;
  };
  for (
    const url of [
      "https://127.0.0.1:11111@evil.example",
      "https://a:b@evil.example/",
      "https://@evil.example",
    ]
  ) {
    assertStringIncludes(
      await check(gateway(url)),
      "connect.gateway: expected an address without a user name",
      url,
    );
  }
  const shown = [
    ["https://\u0430pple.example/", "host xn--pple-43d.example"],
    ["https://evil.example\\\\.good.example/", "host evil.example"],
    ["https://127.1/", "host 127.0.0.1"],
  ] as const;
  for (const [url, host] of shown) {
    assertStringIncludes(await check(gateway(url)), `, ${host} (connect)`, url);
    const notice =
      `name: r\nsteps: [{ id: n, uses: notify, with: { webhook: "${url}\${{ slot }}", text: x } }]\n`;
    assertStringIncludes(await check(notice), `, ${host} (step "n")`, url);
  }
  assertStringIncludes(
    await check(gateway("HTTPS://good.example:8443/x")),
    "connects to: HTTPS://good.example:8443/x (connect)",
  );
});

Deno.test("trust says that a step which may connect to this machine can send orders past the guard rails", async () => {
  const more = "; its code can also send orders to a gateway there, past the guard rails";
  for (
    const [host, isHere] of [
      ["127.0.0.1:11111", true],
      ["localhost", true],
      ["[::1]:11111", true],
      ["0.0.0.0:11111", true],
      ["127.0.0.0/8", true],
      ["ip6-localhost:11111", true],
      ["vm:11111", true],
      ["host.docker.internal", true],
      ["192.168.1.20:11111", true],
      ["data.example:443", false],
    ] as const
  ) {
    await using dir = await folder();
    await Deno.writeTextFile(
      `${dir.path}/own_step.ts`,
      `import { defineStep } from "hsgate/recipes";\nexport default defineStep({ effect: "read", ` +
        `permissions: { net: ["${host}"] }, run: () => Promise.resolve({}) });\n`,
    );
    await Deno.writeTextFile(`${dir.path}/r.yaml`, "name: r\nsteps: [{ id: own, uses: ./own_step.ts }]\n");
    const env = { HSGATE_TRUST_FILE: `${dir.path}/trust.json` };
    const { out, err } = await spawned(["trust", `${dir.path}/r.yaml`, "--yes"], { cwd: dir.path, env });
    const line = out.split("\n").find((line) => line.includes("connects to"))?.trim();
    assertEquals(line, `connects to: ${host}${isHere ? more : ""} (step "own")`, err);
  }
});

Deno.test("the JSON of check and trust has the warnings of each power, and the host that an address really reaches", async () => {
  await using w = await world(() => ({
    "own_step.ts":
      `import { defineStep } from "hsgate/recipes";\nexport default defineStep({ effect: "read", ` +
      `permissions: { net: ["localhost:11111"], read: ["data"], write: ["data"] }, ` +
      `run: () => Promise.resolve({}) });\n`,
    "r.yaml":
      "name: r\nsecrets: { x: { command: [make, token] } }\nsteps:\n  - { id: own, uses: ./own_step.ts }\n" +
      '  - { id: tell, uses: notify, with: { webhook: "https://exämple.example/", text: "${secret:x}" } }\n',
  }));
  for (const words of [["check", "--run"], ["trust", "--yes"]]) {
    const { out } = await w.hsgate(words[0]!, `${w.path}/r.yaml`, words[1]!, "--json");
    const found = JSON.parse(out);
    const { powers } = (Array.isArray(found) ? found : found.files)[0];
    const warnings = powers.map((
      { name, anyFile, deletes, trades, host }: Record<string, unknown>,
    ) => [name, { anyFile, deletes, trades, host }]);
    const of = (name: string) => Object.fromEntries(warnings)[name];
    const none = { anyFile: undefined, deletes: undefined, trades: undefined, host: undefined };
    assertEquals(of('["make","token"]'), { ...none, anyFile: true });
    assertEquals(of("localhost:11111"), { ...none, trades: true });
    assertEquals(of("https://exämple.example/"), { ...none, host: "xn--exmple-cua.example" });
    assert(
      warnings.some(([name, { deletes }]: [string, typeof none]) => name === "data" && deletes),
      words[0],
    );
  }
});

Deno.test("trust shows a command as a whole, with escapes for characters that nobody can see, or rejects it", async () => {
  const recipe = (command: readonly string[]) =>
    `name: n\nsecrets: { s: { command: ${JSON.stringify(command)} } }\nsteps:\n` +
    "  - { id: n, uses: notify, with: { webhook: 'http://127.0.0.1:9/', text: '${secret:s}' } }\n";
  await using w = await world(() => ({
    "whole.yaml": recipe(["/bin/echo", ...Array(3).fill("x".repeat(490)), "THE-END"]),
    "hidden.yaml": recipe(["/bin/echo", "a\u202eb\u3164\u2800"]),
    "long.yaml": recipe(["/usr/bin/touch", ...Array(220).fill("x".repeat(490)), "THE-END"]),
  }));
  for (const command of ["check", "trust"]) {
    const words = command === "trust" ? ["--yes"] : [];
    const whole = await w.hsgate(command, `${w.path}/whole.yaml`, ...words);
    assertEquals(whole.code, 0, whole.out + whole.err);
    assertStringIncludes(whole.out, '"THE-END"]');
    const hidden = await w.hsgate(command, `${w.path}/hidden.yaml`, ...words);
    assertStringIncludes(hidden.out, String.raw`"a\u202eb\u3164\u2800"]`);
    const long = await w.hsgate(command, `${w.path}/long.yaml`, ...words);
    assertEquals(long.code, 2, long.out);
    assertStringIncludes(long.out + long.err, "a command of at most 2000 characters");
  }
});

Deno.test("trust shows the warning about a power of one step, even if another step has the same power without a warning", async () => {
  await using w = await world(() => ({
    "first.ts": `import { defineStep } from "hsgate/recipes";\nexport default defineStep({ effect: "read", ` +
      `permissions: { write: ["out"] }, run: () => Promise.resolve({}) });\n`,
    "second.ts":
      `import { defineStep } from "hsgate/recipes";\nexport default defineStep({ effect: "read", ` +
      `permissions: { read: ["out"], write: ["out"] }, run: () => Promise.resolve({}) });\n`,
    "r.yaml": "name: r\nsteps:\n  - { id: one, uses: ./first.ts }\n  - { id: two, uses: ./second.ts }\n",
  }));
  const { out } = await w.hsgate("trust", `${w.path}/r.yaml`, "--yes");
  assertStringIncludes(out, "writes files: out; its code can also delete any file of yours");
});

Deno.test("a recipe that writes CSV texts unchanged runs only after trust", async () => {
  await using w = await world(() => ({
    "r.yaml": "name: r\nsteps:\n" +
      '  - { id: made, uses: convert-report, with: { rows: [{ a: "=1+1" }], to: a.csv, exactCsv: true } }\n',
    "plain.yaml": "name: plain\nsteps:\n" +
      '  - { id: made, uses: convert-report, with: { rows: [{ a: "=1+1" }], to: b.csv } }\n',
  }));
  const line = "writes CSV texts unchanged, which a spreadsheet may run as formulas: exactCsv: true";
  assertStringIncludes((await w.hsgate("check", `${w.path}/r.yaml`)).out, line);
  const { code, err } = await w.hsgate("run", `${w.path}/r.yaml`);
  assert(code !== 0 && err.includes("trust"), err);
  assertEquals((await w.hsgate("run", `${w.path}/plain.yaml`)).code, 0);
});

Deno.test("trust says that a step which may read and write a folder can delete any file", async () => {
  const own = (read: string, write: string) =>
    `import { defineStep } from "hsgate/recipes";\nexport default defineStep({ effect: "read", ` +
    `permissions: { read: ["${read}"], write: ["${write}"] }, run: () => Promise.resolve({}) });\n`;
  const listed = async (read: string, write: string) => {
    await using dir = await folder();
    await Deno.mkdir(`${dir.path}/recipes/data`, { recursive: true });
    await Deno.symlink("data", `${dir.path}/recipes/link`);
    const [from, to] = [read, write].map((name) => name.replace("DIR", `${dir.path}/recipes`));
    await Deno.writeTextFile(`${dir.path}/recipes/own_step.ts`, own(from!, to!));
    await Deno.writeTextFile(
      `${dir.path}/recipes/r.yaml`,
      "name: r\nsteps: [{ id: own, uses: ./own_step.ts }]\n",
    );
    const env = { HSGATE_TRUST_FILE: `${dir.path}/trust.json` };
    const { out, err } = await spawned(["trust", `${dir.path}/recipes/r.yaml`, "--yes"], {
      cwd: dir.path,
      env,
    });
    return out.split("\n").find((line) => line.includes("writes files"))?.trim().replace(dir.path, "DIR") ??
      err;
  };
  const more = "; its code can also delete any file of yours";
  assertEquals(await listed("out", "out"), `writes files: out${more} (step "own")`);
  assertEquals(await listed(".", "out"), `writes files: out${more} (step "own")`);
  assertEquals(await listed("out/a", "out"), `writes files: out${more} (step "own")`);
  assertEquals(await listed("in", "out"), 'writes files: out (step "own")');
  // The same folder in another spelling, relative to the folder of the step's file.
  const same = [["data", "DIR/data"], ["../recipes/data", "data"], ["link", "data"], [
    "DATA",
    "data",
  ]] as const;
  for (const [read, write] of same) assertStringIncludes(await listed(read, write), more, `${read} ${write}`);
  if (Deno.build.os === "linux") {
    assertStringIncludes(await listed("/proc/self/cwd/recipes/data", "data"), "hsgate does not open");
  }
});

Deno.test("TrustFile.of() never finds the record in the working folder", () => {
  const pathOf = (values: Record<string, string>) => TrustFile.of((name) => values[name]).path;
  assertEquals(pathOf({ HOME: "/home/me" }), "/home/me/.config/hsgate/trust.json");
  assertEquals(pathOf({ XDG_CONFIG_HOME: "x", HOME: "/home/me" }), "/home/me/.config/hsgate/trust.json");
  for (const HOME of [".", "recipes", "./home"]) assertEquals(pathOf({ HOME }), undefined);
});
