import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  checkWrittenImports,
  codeLimits,
  OwnStepError,
  refuseCode,
} from "../../lib/recipes/own_steps/code_files.ts";
import { describeOwnStep, readExport, runOwnStep } from "../../lib/recipes/own_steps/own_step.ts";
import { loadRecipe, RecipeError, type StepContext } from "../../lib/recipes/mod.ts";
import { temporaryFolder } from "../day_book/simulated.ts";
import { type Noted, stepContext } from "./support.ts";

/** Longer than anything here takes on a busy machine, and shorter than the timeouts of the tested code. */
const PATIENCE_MS = 60_000;

const step = (body: string, more = "") =>
  `import { defineStep } from "hsgate/recipes";\n${more}\n` +
  `export default defineStep({ effect: "read", permissions: { run: ["sh"] }, async run(_, context) {\n${body}\n} });\n`;

/** A folder with a recipe of one step, `./own_step.ts`, and other files by their paths. */
function folderWith(own: string, files: Readonly<Record<string, string>> = {}) {
  const folder = temporaryFolder();
  const all = {
    "own.yaml": "name: own\nsteps: [{ id: own, uses: ./own_step.ts }]\n",
    "own_step.ts": own,
    ...files,
  };
  for (const [path, text] of Object.entries(all)) {
    Deno.mkdirSync(`${folder.path}/${path}`.replace(/[^/]*$/, ""), { recursive: true });
    Deno.writeTextFileSync(`${folder.path}/${path}`, text);
  }
  const recipe = () => loadRecipe(`${folder.path}/own.yaml`);
  return {
    path: folder.path,
    recipe,
    async run(given: Partial<StepContext> = {}, noted?: Noted): Promise<unknown> {
      return await (await recipe()).steps[0]!.run(stepContext(undefined, given, noted));
    },
    async issue(): Promise<string> {
      const error = await assertRejects(recipe, RecipeError);
      return error.issues.map(({ message }) => message).join("\n");
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const isAlive = async (pid: number) => {
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "stat=", "-p", String(pid)] }).output();
  const state = new TextDecoder().decode(stdout).trim();
  return state !== "" && !state.startsWith("Z");
};

async function isGone(pid: number): Promise<boolean> {
  for (let left = PATIENCE_MS; left > 0; left -= 100) {
    if (!await isAlive(pid)) return true;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return false;
}

Deno.test("a step may import only files of its folder, the toolkit and node: modules", async () => {
  const fine = folderWith(
    step(
      "return { ok: true, helper, note, client: typeof createClient, slash: basename('a/b') };",
      'import { helper } from "./lib/helper.ts";\nimport note from "./note.txt" with { type: "text" };\n' +
        'import { createClient } from "hsgate";\nimport { basename } from "node:path";',
    ),
    { "lib/helper.ts": "export const helper = 1;", "note.txt": "hello" },
  );
  using _fine = fine;
  assertEquals(await fine.run(), { ok: true, helper: 1, note: "hello", client: "function", slash: "b" });

  using outside = temporaryFolder();
  const key = `${outside.path}/key.pem`;
  await Deno.writeTextFile(key, "PRIVATE KEY");
  await Deno.writeTextFile(`${outside.path}/key.json`, '{ "key": 1 }');
  const inside = (path: string) => `it imports "${path}", which is outside the folder of the recipe`;
  const foreign = (name: string) =>
    `"own_step.ts" imports "${name}": only files of its folder, "hsgate/recipes" and the toolkit's other modules`;
  const cases: [line: string, reason: string][] = [
    [`import key from ${JSON.stringify(key)} with { type: "text" };`, inside(key)],
    [`import key from "${outside.path}/key.json" with { type: "json" };`, inside(`${outside.path}/key.json`)],
    [
      `const key = await import("${outside.path}/key.json", { with: { type: "json" } });`,
      `${outside.path}/key.json`,
    ],
    ['import key from "./link.txt" with { type: "text" };', "link.txt"],
    ['import "npm:left-pad@1.3.0";', foreign("npm:left-pad@1.3.0")],
    ['import "jsr:@std/csv";', foreign("jsr:@std/csv")],
    ['import "https://example.com/x.ts";', foreign("https://example.com/x.ts")],
    ['import "zod";', '"zod"'],
    ['import "left-pad";', '"left-pad"'],
    ['import "./none.ts";', "there is no file"],
    ['import { createRequire } from "node:module";', 'imports "node:module", which loads files that nobody'],
    [
      'import "data:text/javascript,export{}";',
      foreign("data:text/javascript,export{}"),
    ],
    ['await import("data:text/javascript,export{}");', foreign("data:text/javascript,export{}")],
    [
      'export type { x } from "blob:null/1";',
      foreign("blob:null/1"),
    ],
    ['import old from "./old.cjs";', '"old.cjs" is CommonJS, whose "require" loads files that nobody'],
  ];
  for (const [line, reason] of cases) {
    using folder = folderWith(step("return { ok: true };", line), { "old.cjs": 'require("./late.cjs");' });
    await Deno.symlink(key, `${folder.path}/link.txt`);
    const issue = await folder.issue();
    assertStringIncludes(issue, 'steps.0.uses: Cannot use step "own_step.ts": ');
    assertStringIncludes(issue, reason);
    assert(!issue.includes("PRIVATE"), issue);
    // `hsgate check` rejects the import too, even before anybody has trusted the step.
    const url = (name: string) => new URL(`file://${folder.path}/${name}`);
    const { message } = await assertRejects(
      () => checkWrittenImports(url("own_step.ts"), url("")),
      OwnStepError,
    );
    assertStringIncludes(message, reason);
    Deno.writeTextFileSync(`${folder.path}/between.ts`, Deno.readTextFileSync(`${folder.path}/own_step.ts`));
    Deno.writeTextFileSync(
      `${folder.path}/own_step.ts`,
      'import own from "./between.ts";\nexport default own;\n',
    );
    const further = await assertRejects(() => checkWrittenImports(url("own_step.ts"), url("")), OwnStepError);
    assertStringIncludes(further.message, reason.replace('"own_step.ts" imports', '"between.ts" imports'));
  }
  await checkWrittenImports(new URL(`file://${fine.path}/own_step.ts`), new URL(`file://${fine.path}/`));
});

Deno.test("a link inside the folder cannot lead an import out of it, even if the file was read before under another name", async () => {
  using outer = temporaryFolder();
  await Deno.writeTextFile(`${outer.path}/key.pem`, "PRIVATE KEY");
  const imports = 'import one from "./a/x.ts";\nimport two from "./x.ts";';
  using folder = folderWith(step("return { ok: true, one, two };", imports), {
    "key.pem": "decoy",
    "a/x.ts": 'import key from "../key.pem" with { type: "text" };\nexport default key;',
  });
  await Deno.symlink("a/x.ts", `${folder.path}/x.ts`);
  const issue = await folder.issue();
  assertStringIncludes(issue, "key.pem");
  assert(!issue.includes("PRIVATE"), issue);
  // The control: two separate files instead of a link. Both import the decoy.
  await Deno.remove(`${folder.path}/x.ts`);
  await Deno.writeTextFile(
    `${folder.path}/x.ts`,
    'import key from "./key.pem" with { type: "text" };\nexport default key;',
  );
  assertEquals(await folder.run(), { ok: true, one: "decoy", two: "decoy" });
});

Deno.test("a step's process loads no unchecked file and no foreign package, under any name or in a worker", async () => {
  const late = 'Deno.writeTextFileSync("ran", "ran");';
  const ways: Record<string, string> = {
    "a name made at run time": 'await import("./la" + "te.ts")',
    "a package that Deno has in its cache": `await import("npm:zod" + "@^4"); ${late}`,
    "an absolute address": 'await import(new URL("./la" + "te.ts", here).href)',
    "an address beside the copy": 'await import(new URL("./la" + "te.ts", import.meta.url).href)',
    "an escaped name": 'await import(here.replace("own_step.ts", "l%61te.ts"))',
    "a query": 'await import("./la" + "te.ts?again")',
    "another host": 'await import(here.replace("file://", "file://localhost").replace("own_step", "late"))',
    "a data address":
      "await import(`data:text/javascript,import ${JSON.stringify(new URL('./late.ts', here))}`)",
    "data": 'await import("./la" + "te.json", { with: { type: "json" } })',
    "text": 'await import("./la" + "te.txt", { with: { type: "text" } })',
    "node:module": 'await import("node:mod" + "ule")',
    "a worker": `await new Promise((resolve, reject) => {
      const worker = new Worker(new URL("./la" + "te.ts", here), { type: "module" });
      worker.onerror = (event) => { event.preventDefault(); reject(new Error(event.message)); };
    })`,
    "a worker of node:": `const { Worker } = await import("node:worker_threads");
      await new Promise((resolve, reject) => {
        new Worker(new URL("./la" + "te.ts", here)).on("error", reject).on("exit", resolve);
      })`,
  };
  const own = `import { defineStep } from "hsgate/recipes";
export default defineStep({
  effect: "read",
  permissions: { read: ["."], write: ["."] },
  params: { way: { type: "text" } },
  async run({ way }) {
    const here = "file://" + Deno.cwd() + "/own_step.ts";
    switch (way) {
      case "checked": await import("./known.ts"); break;
${Object.entries(ways).map(([way, code]) => `      case ${JSON.stringify(way)}: ${code}; break;`).join("\n")}
    }
  },
});
`;
  using folder = folderWith(own, {
    "late.ts": late,
    "late.txt": "late",
    "late.json": "{}",
    "known.ts": late.replace("ran", "known-ran"),
  });
  const run = async (way: string) => {
    const path = `${folder.path}/own.yaml`;
    Deno.writeTextFileSync(
      path,
      `name: own\nsteps: [{ id: own, uses: ./own_step.ts, with: { way: ${JSON.stringify(way)} } }]\n`,
    );
    return await (await loadRecipe(path)).steps[0]!.run(stepContext(undefined));
  };
  await run("checked"); // the control
  assert(await Deno.stat(`${folder.path}/known-ran`));
  for (const way of Object.keys(ways)) {
    const error = await assertRejects(() => run(way), OwnStepError);
    const why = way.startsWith("a package")
      ? "it loads a package that is not one of hsgate's own"
      : "it loads a file that was not checked";
    assertStringIncludes(error.message, why, way);
    assertEquals([...Deno.readDirSync(folder.path)].some(({ name }) => name === "ran"), false, way);
  }
});

Deno.test("a parameter of a custom step that is null has its default, as the check assumes", async () => {
  const own = `import { defineStep } from "hsgate/recipes";
export default defineStep({
  effect: "read",
  permissions: {},
  params: { who: { type: "text", default: "nobody" } },
  run: ({ who }) => ({ who }),
});
`;
  using folder = folderWith(own, {
    "own.yaml": 'name: own\nsteps: [{ id: own, uses: ./own_step.ts, with: { who: "${{ scheduleId }}" } }]\n',
  });
  const output = await (await folder.recipe()).steps[0]!.run(stepContext(undefined));
  assertEquals(output, { who: "nobody" });
});

Deno.test("refuseCode() names a foreign package in the same way, whether or not Deno has the package's list of versions", () => {
  for (const reason of ["The lockfile is out of date.", "not found in cache, --cached-only is specified."]) {
    const { message } = refuseCode(new URL("file:///recipes/own_step.ts"), reason);
    assertEquals(
      message,
      'Cannot use step "own_step.ts": it loads a package that is not one of hsgate\'s own',
    );
  }
});

Deno.test("a step leaves nothing in Deno's cache, whether by web storage, a worker or modules created at run time", async () => {
  const word = crypto.randomUUID();
  const mirrored = Array.from(word).reverse().join("");
  // Reversed, so that the word is in no file unless the code writes it.
  const leave = `const word = Array.from("${mirrored}").reverse().join("");
    const put = \`await caches.open("\${word}").then(() => postMessage("stored"), () => {});\`;
    const stored = [];
    const blob = (text, type) => URL.createObjectURL(new Blob([text], { type }));
    try { localStorage.setItem(word, word); stored.push("localStorage"); } catch { /* expected */ }
    await caches.open(word).then(() => stored.push("caches"), () => {});
    const typed = "export const a: string = '" + word + "';";
    await import("data:application/typescript," + encodeURIComponent(typed));
    await import(blob(typed, "application/typescript"));
    const worker = new Worker(blob(put + "postMessage(1)", "text/javascript"), { type: "module" });
    await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => { if (data === "stored") stored.push("caches in a worker"); resolve(); };
      worker.onerror = (event) => { event.preventDefault(); reject(new Error(event.message)); };
    });
    worker.terminate();
    if (stored.length > 0) throw new Error("stored: " + stored);`;
  using folder = folderWith(
    `import { defineStep } from "hsgate/recipes";\n${leave}\nexport default defineStep({ effect: "read", permissions: {},` +
      `\nasync run() {\n${leave}\nreturn { ok: true }; } });\n`,
  );
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { denoDir } = JSON.parse(new TextDecoder().decode(stdout));
  assertEquals(await folder.run(), { ok: true });
  const { stdout: found } = await new Deno.Command("grep", { args: ["-rls", word, denoDir] }).output();
  assertEquals(new TextDecoder().decode(found), "");
});

Deno.test("a step that stores values in localStorage or caches fails with an error that says what to do instead", async () => {
  for (
    const [use, name] of [["localStorage.setItem('a', 'b')", "localStorage"], [
      "await caches.open('a')",
      "caches",
    ]]
  ) {
    const expected =
      `Cannot use step "own_step.ts": it uses ${name}, which code of a recipe does not have; to keep ` +
      'values, let the step write a file that its permission "write" names';
    using atRun = folderWith(step(`${use};`));
    const { message } = await assertRejects(() => atRun.run(), OwnStepError);
    assertEquals(message, expected);
    using atLoad = folderWith(step("return {};", `${use};`));
    assertStringIncludes(await atLoad.issue(), expected.slice(expected.indexOf("it uses")));
  }
});

Deno.test("code without permissions that fills Deno's cache is ended, with a named error", async () => {
  // Each module has its own text, which Deno stores several times.
  using folder = folderWith(
    `const text = "export const a = [" + "'word',".repeat(200_000) + "];";
for (let count = 0; count < 10_000; count++) await import("data:text/javascript," + encodeURIComponent(text + count));
export default {};\n`,
  );
  assertStringIncludes(
    await folder.issue(),
    "it stores more than the maximum of 128 MiB in Deno's cache",
  );
});

Deno.test("configuration and packages of a step's folder are ignored: no download, no script, no lock file", async () => {
  let requests = 0;
  await using registry = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
    requests++;
    return new Response("{}");
  });
  const address = `http://127.0.0.1:${registry.addr.port}/`;
  using folder = folderWith(step("return { ok: true };"), {
    "deno.json": JSON.stringify({
      imports: { "hsgate/recipes": "./evil.ts", "left-pad": "npm:left-pad@1.3.0" },
      nodeModulesDir: "auto",
    }),
    "evil.ts": 'export const defineStep = () => { throw new Error("evil"); };',
    ".npmrc": `registry=${address}\n`,
    "package.json": JSON.stringify({ dependencies: { "left-pad": "1.3.0" } }),
  });
  const before = [...Deno.readDirSync(folder.path)].map(({ name }) => name).sort();
  assertEquals(await folder.run(), { ok: true });
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name).sort(), before);
  assertEquals(requests, 0);
});

Deno.test("top-level code of a step or a recipe must end in time, can access nothing, and must export plain data", async () => {
  using folder = folderWith("while (true);\nexport default {};\n", {
    "endless.ts": "await new Promise(() => setInterval(() => {}, 1000));\nexport default {};\n",
    "peek.ts": 'export default { name: Deno.env.get("HOME") };\n',
    "rule.ts":
      'export default { name: "x", steps: [{ id: "a", uses: "notify", with: { text: () => 1 } }] };\n',
    "round.ts": "const x: any = { name: 'x' };\nx.x = x;\nexport default x;\n",
    "none.ts": "export const x = 1;\n",
    "fine.ts": 'console.log("hello");\nsetInterval(() => {}, 1000);\n' +
      'export default { name: "fine", steps: [{ id: "a", uses: "account.funds", with: { market: "hk" } }] };\n',
  });
  const url = (name: string) => new URL(`file://${folder.path}/${name}`);
  const options = { folder: url(""), loadMs: 2_000 };
  const late = "it is not loaded within 2 s: the code at its top level must end";
  await assertRejects(() => describeOwnStep(url("own_step.ts"), options), OwnStepError, late);
  await assertRejects(() => readExport(url("endless.ts"), options), OwnStepError, late);
  const issueOf = async (name: string) => {
    const error = await assertRejects(() => loadRecipe(`${folder.path}/${name}`), RecipeError);
    return error.issues.map(({ message }) => message).join("\n");
  };
  assertStringIncludes(await issueOf("peek.ts"), "NotCapable");
  assertEquals(
    await issueOf("rule.ts"),
    'it cannot be loaded: its default export contains a function at "steps.0.with.text": expected plain JSON data',
  );
  assertStringIncludes(await issueOf("round.ts"), 'a circular reference at "x"');
  assertStringIncludes(await issueOf("none.ts"), "expected a default export");
  assertEquals((await loadRecipe(`${folder.path}/fine.ts`)).name, "fine");
});

Deno.test("a step does not run if it or one of its imports was edited after the check", async () => {
  using folder = folderWith(
    step("return { ok: true, value };", 'import { value } from "./value.ts";'),
    { "value.ts": "export const value = 1;" },
  );
  const recipe = await folder.recipe();
  const run = () => recipe.steps[0]!.run(stepContext(undefined));
  assertEquals(await run(), { ok: true, value: 1 });
  const changed = "was changed after it was checked, so it was not run";
  await Deno.writeTextFile(`${folder.path}/value.ts`, "export const value = 2;");
  await assertRejects(run, OwnStepError, changed);
  await Deno.writeTextFile(`${folder.path}/value.ts`, "export const value = 1;");
  assertEquals(await run(), { ok: true, value: 1 });
  const own = await Deno.readTextFile(`${folder.path}/own_step.ts`);
  await Deno.writeTextFile(`${folder.path}/own_step.ts`, own.replace('effect: "read"', 'effect: "write"'));
  await assertRejects(run, OwnStepError, changed);
  await Deno.remove(`${folder.path}/own_step.ts`);
  await assertRejects(run, OwnStepError, changed);
});

Deno.test("a step's child processes end with the step, and the step waits for none of them", async () => {
  const body = `const child = new Deno.Command("sh", { args: ["-c", "WORDS"] }).spawn();
    child.unref();
    context.log("info", String(child.pid));
    await NEXT;
    return { ok: true, pid: child.pid };`;
  {
    using folder = folderWith(step(body.replace("WORDS", "sleep 600; true").replace("NEXT", "0")));
    const { pid } = await folder.run() as { pid: number };
    assert(await isGone(pid), "the process that it left behind is ended");
  }
  {
    using folder = folderWith(
      step(body.replace("WORDS", "sleep 600; true").replace("NEXT", "new Promise(() => {})")),
    );
    const stop = new AbortController();
    const pids: string[] = [];
    const log = (_level: string, message: string) => {
      pids.push(message);
      stop.abort(new TypeError("enough"));
    };
    await assertRejects(() => folder.run({ signal: stop.signal, log }), TypeError, "enough");
    assert(await isGone(Number(pids[0])), "a step that is stopped takes its processes with it");
  }
  {
    // A process that leaves the group keeps the step's output open, but the step ends anyway.
    const words = "setsid sh -c 'echo \\$\\$; exec sleep 600' &";
    using folder = folderWith(step(`
      const { stdout } = await new Deno.Command("sh", { args: ["-c", "${words}"], stderr: "inherit", stdout: "piped" })
        .spawn().stdout.getReader().read().then(({ value }) => ({ stdout: new TextDecoder().decode(value) }));
      throw new TypeError(\`left \${stdout.trim()} behind\`);`));
    const error = await assertRejects(() => folder.run(), OwnStepError, "behind");
    const pid = Number(/left (\d+)/.exec(error.message)?.[1]);
    assert(pid > 1 && await isGone(pid), "a process that has left the group is found by its environment");
  }
});

Deno.test("a step that ends its own process fails for that reason, whatever it printed before", async () => {
  using folder = folderWith(step('console.log("an error was handled"); console.log("bye"); Deno.exit(0);'));
  const error = await assertRejects(() => folder.run(), OwnStepError);
  assertStringIncludes(
    error.message,
    "it ended its own process before it returned, for example with Deno.exit()",
  );
  assert(!error.message.includes("bye"), error.message);
  // Control: after another exit code, the error is what the step printed.
  using failing = folderWith(step('console.error("error: the disk is gone"); Deno.exit(3);'));
  await assertRejects(() => failing.run(), OwnStepError, "the disk is gone");
});

Deno.test("processes of a step end when the program is killed, and the step's temporary folder is removed", async () => {
  const main = `import { loadRecipe } from "hsgate/recipes";
    import { stepContext } from "${import.meta.resolve("./support.ts")}";
    const recipe = await loadRecipe(Deno.args[0]);
    const log = (_level, message) => console.log(message);
    await recipe.steps[0].run(stepContext(undefined, { log }));`;
  const body = `const words = "setsid sh -c 'echo \\$\\$; exec sleep 600' &";
    const { stdout } = new Deno.Command("sh", { args: ["-c", words], stdout: "piped" }).spawn();
    const { value } = await stdout.getReader().read();
    context.log("info", Deno.pid + " " + new TextDecoder().decode(value).trim());
    while (true);`;
  using folder = folderWith(step(body), { "main.ts": main });
  using temporary = temporaryFolder();
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      "--config",
      decodeURIComponent(new URL("../../deno.json", import.meta.url).pathname),
      `${folder.path}/main.ts`,
      `${folder.path}/own.yaml`,
    ],
    env: { TMPDIR: temporary.path },
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const pids = new TextDecoder().decode(value).trim().split(" ").map(Number);
  assertEquals(pids.length, 2);
  for (const pid of pids) {
    assert(pid > 1 && await isAlive(pid), "the control: it runs as long as the program");
  }
  const folders = () => Array.from(Deno.readDirSync(temporary.path)).map(({ name }) => name);
  assertEquals(folders().length, 1);
  child.kill("SIGKILL");
  await child.status;
  await reader.cancel();
  for (const pid of pids) assert(await isGone(pid), `${pid} ends with the program`);
  for (let left = PATIENCE_MS; left > 0 && folders().length > 0; left -= 100) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assertEquals(folders(), []);
});

Deno.test({
  name: "a step does not run from a temporary folder that another user could replace",
  ignore: Deno.build.os === "windows",
  async fn() {
    const main = `import { loadRecipe } from "hsgate/recipes";
      import { stepContext } from "${import.meta.resolve("./support.ts")}";
      try {
        const recipe = await loadRecipe(Deno.args[0]);
        console.log(JSON.stringify(await recipe.steps[0].run(stepContext(undefined))));
      } catch (error) {
        console.log(error.message);
      }`;
    using folder = folderWith(step("return { ok: true };"), { "main.ts": main });
    using temporary = temporaryFolder();
    const run = async () => {
      const { stdout } = await new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", "-A", "--no-check", "--config"],
          decodeURIComponent(new URL("../../deno.json", import.meta.url).pathname),
          `${folder.path}/main.ts`,
          `${folder.path}/own.yaml`,
        ],
        env: { TMPDIR: temporary.path },
        stderr: "inherit",
      }).output();
      return new TextDecoder().decode(stdout).trim();
    };
    const ran = JSON.stringify({ ok: true });
    assertEquals(await run(), ran); // control: only this user may write to the folder
    Deno.chmodSync(temporary.path, 0o777);
    assertStringIncludes(await run(), "others may replace it");
    assertEquals([...Deno.readDirSync(temporary.path)], []);
    Deno.chmodSync(temporary.path, 0o1777); // like /tmp
    assertEquals(await run(), ran);
  },
});

Deno.test("folders of killed programs are removed at the next start, but no folder in use", async () => {
  using temporary = temporaryFolder();
  using folder = folderWith(step("return { ok: true };"));
  const old = new Date(Date.now() - 3_600_000);
  const ancient = new Date(Date.now() - 48 * 3_600_000);
  for (
    const [name, at, lock] of [
      ["left", old, true],
      ["used", old, true],
      ["young", new Date(), true],
      ["unlocked", old, false],
      ["ancient", ancient, false],
    ] as const
  ) {
    const path = `${temporary.path}/hsgate-step-${name}`;
    await Deno.mkdir(path);
    if (lock) await Deno.writeTextFile(`${path}/lock`, "");
    await Deno.utime(path, at, at);
  }
  // A folder of another user may contain a named pipe, and opening a named pipe for writing waits for a reader.
  const hasPipes = Deno.build.os !== "windows";
  const pipes = hasPipes ? ["hsgate-step-foreign", "hsgate-step-pipe"] : [];
  for (const name of pipes) {
    const path = `${temporary.path}/${name}`;
    await Deno.mkdir(path);
    await new Deno.Command("mkfifo", { args: [`${path}/lock`] }).output();
    await Deno.utime(path, ancient, ancient);
  }
  const isRoot = hasPipes && Deno.uid() === 0;
  const foreign = `${temporary.path}/hsgate-step-foreign2`;
  if (isRoot) {
    await Deno.mkdir(foreign);
    await Deno.writeTextFile(`${foreign}/lock`, "");
    await Deno.utime(foreign, ancient, ancient);
    for (const path of [foreign, `${temporary.path}/hsgate-step-foreign`]) await Deno.chown(path, 4711, 4711);
  }
  await Deno.mkdir(`${temporary.path}/other`);
  using used = await Deno.open(`${temporary.path}/hsgate-step-used/lock`, { write: true });
  await used.lock(true);
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "eval",
      "--no-lock",
      `import { describeOwnStep } from "${import.meta.resolve("../../lib/recipes/own_steps/own_step.ts")}";
       await describeOwnStep(new URL("file://${folder.path}/own_step.ts"));`,
    ],
    env: { TMPDIR: temporary.path },
    signal: AbortSignal.timeout(4 * PATIENCE_MS),
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  const names = Array.from(Deno.readDirSync(temporary.path)).map(({ name }) => name).sort();
  const kept = ["hsgate-step-unlocked", "hsgate-step-used", "hsgate-step-young", "other", ...pipes];
  assertEquals(names, [...kept, ...isRoot ? ["hsgate-step-foreign2"] : []].sort());
});

Deno.test("the output of a step is limited: the length of a line, and the number of lines", async () => {
  const noted: Noted = { artifacts: [], logs: [] };
  using long = folderWith(step(`
    const chunk = new Uint8Array(1024 * 1024).fill(120);
    for (let count = 0; count < 64; count++) Deno.stderr.writeSync(chunk);
    console.log("\\nafter it");
    return { ok: true };`));
  assertEquals(await long.run({}, noted), { ok: true });
  assertEquals(noted.logs.map((line) => line.length), [codeLimits.line + 28, 8]);
  assertEquals(noted.logs[1], "after it");

  const many: Noted = { artifacts: [], logs: [] };
  using lines = folderWith(step(`
    console.log(Array.from({ length: 30_000 }, (_, at) => "line " + at).join("\\n"));
    for (let count = 0; count < 20_000; count++) context.log("info", "log " + count);
    return { ok: true };`));
  assertEquals(await lines.run({}, many), { ok: true });
  const more = (word: string) => many.logs.filter((line) => line.startsWith(word)).length;
  assertEquals([more("line "), more("log ")], [codeLimits.lines, codeLimits.lines]);
  assertEquals([more("it prints more"), more("it logs more")], [1, 1]);
});

Deno.test("a step that returns too much or needs too much memory fails with a named error", async () => {
  const answers = folderWith(
    step(`return { ok: true, text: "x".repeat(context.attempt * 16 * 1024 * 1024) };`),
  );
  using _answers = answers;
  await assertRejects(() => answers.run(), OwnStepError, "it answers with more than 16 MiB");
  using fine = folderWith(step(`return { ok: true, text: "x".repeat(15 * 1024 * 1024) };`));
  assertEquals((await fine.run() as { text: string }).text.length, 15 * 1024 * 1024);
  using hungry = folderWith(step("const all = []; for (;;) all.push(new Array(1_000_000).fill(1.5));"));
  await assertRejects(
    () => hungry.run(),
    OwnStepError,
    "it ran out of memory: it may have 512 MiB of values",
  );
  using forged = folderWith(step(`Deno.stdout.writeSync(new TextEncoder().encode("\\n\\u0001hsgate {{\\n"));
    await new Promise(() => setInterval(() => {}, 1000));`));
  await assertRejects(
    () => forged.run(),
    OwnStepError,
    "it wrote a line that begins like hsgate's own messages",
  );
});

Deno.test("a step runs the bytes that were checked, whatever its files contain when its process loads them", async () => {
  using folder = folderWith(
    step("return { ok: true, value };", 'import { value } from "./cur/value.ts";'),
    { "v1/value.ts": "export const value = 1;", "v2/value.ts": "export const value = 2;" },
  );
  const link = (target: string) => {
    Deno.removeSync(`${folder.path}/cur`);
    Deno.symlinkSync(target, `${folder.path}/cur`);
  };
  Deno.symlinkSync("v1", `${folder.path}/cur`);
  const file = new URL(`file://${folder.path}/own_step.ts`);
  const about = await describeOwnStep(file, { folder: new URL(".", file) });
  const run = () => runOwnStep(file, about, { params: {}, context: stepContext(undefined) });
  assertEquals(await run(), { ok: true, value: 1 });
  // The link was replaced, and now leads to other code.
  link("v2");
  await assertRejects(run, OwnStepError, "was changed after it was checked, so it was not run");
  link("v1");
  // The link changes all the time, so it also changes between the check and the load.
  let isOver = false;
  const swap = (async () => {
    for (let version = 2; !isOver; version = 3 - version) {
      link(`v${version}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();
  const values = new Set<unknown>();
  for (let round = 0; round < 10; round++) {
    await run().then((output) => values.add((output as { value: number }).value), (error) => {
      assert(error instanceof OwnStepError);
    });
  }
  isOver = true;
  await swap;
  assertEquals([...values].filter((value) => value !== 1), []);
});

Deno.test("a step whose file or import has an unusual name is rejected", async () => {
  const issueOfUses = async (uses: string) => {
    using folder = folderWith(step("return { ok: true };"));
    await Deno.symlink("loop.ts", `${folder.path}/loop.ts`);
    await Deno.writeTextFile(
      `${folder.path}/own.yaml`,
      `name: own\nsteps: [{ id: own, uses: "${uses}" }]\n`,
    );
    return await folder.issue();
  };
  for (
    const uses of [".//own_step.ts", "./a\\\\own_step.ts", "./own_step.ts?x.ts", "./a/%2e%2e/own_step.ts"]
  ) {
    assertStringIncludes(await issueOfUses(uses), "a TypeScript file beside the recipe", uses);
  }
  for (const uses of ["./%.ts", "./%ff_step.ts"]) {
    assertStringIncludes(await issueOfUses(uses), "write the plain name of the file", uses);
  }
  for (
    const uses of ["./a\\0b.ts", "./a%00b.ts", `./${"a".repeat(300)}.ts`, "./own.yaml/x.ts", "./loop.ts"]
  ) {
    assertStringIncludes(await issueOfUses(uses), "cannot be read: ", uses);
  }
  for (const name of [".//lib.ts", "./lib.ts?again", "./lib.ts#again", "./l%69b.ts", "./%ff.ts", "./%.ts"]) {
    using folder = folderWith(step("return { ok: true };", `import "${name}";`), { "lib.ts": "" });
    assertStringIncludes(await folder.issue(), "write the plain name of the file", name);
  }
  for (const name of ["./a%00b.ts", `./${"a".repeat(300)}.ts`, "./own.yaml/x.ts"]) {
    using folder = folderWith(step("return { ok: true };", `import "${name}";`));
    assertStringIncludes(await folder.issue(), "cannot be read: ", name);
  }
  // The name looks like an address, but is the name of a file.
  using folder = folderWith(step("return { ok: true };", 'import "./https:lib.ts";'), { "https:lib.ts": "" });
  assertEquals(await folder.run(), { ok: true });
});

Deno.test("a step that imports too many files is rejected before they are read", async () => {
  const imports = (count: number) =>
    Array.from({ length: count }, (_, at) => `import "./m${at}.ts";`).join("\n");
  for (
    const [count, expected] of [[199, 'there is no file "'], [200, "it imports more than 200 files"]] as const
  ) {
    using folder = folderWith(step("return { ok: true };", imports(count)));
    assertStringIncludes(await folder.issue(), expected);
  }
});

Deno.test("finding imports reads no device and no file outside the folder, even for an import that only Deno finds", async () => {
  for (
    const line of [
      'import "./big.ts";',
      '/// <reference types="./big.ts" />',
      'import "/dev/zero";',
      '/// <reference types="/dev/zero" />',
    ]
  ) {
    using folder = folderWith(`${line}\n${step("return { ok: true };")}`);
    await Deno.symlink("/dev/zero", `${folder.path}/big.ts`);
    const issue = await folder.issue();
    assert(/is not a regular file|is outside the folder/.test(issue), `${line}: ${issue}`);
  }
});

Deno.test("a step's import that its text does not show is found, and is part of the code", async () => {
  using folder = folderWith(
    `/// <reference types="./types.d.ts" />\n${step("return { ok: true };")}`,
    { "types.d.ts": 'import "./further.ts";', "further.ts": "export {};" },
  );
  const file = new URL(`file://${folder.path}/own_step.ts`);
  const { code } = await describeOwnStep(file);
  assertEquals(
    code.files,
    ["own_step.ts", "types.d.ts", "further.ts"].map((name) => `${folder.path}/${name}`),
  );
});

Deno.test("a step that describes itself wrongly, or with too many names, causes a mistake and not an internal error", async () => {
  const say = (about: string) =>
    `Deno.stdout.writeSync(new TextEncoder().encode("\\n\\u0001hsgate " + JSON.stringify(${about}) + "\\n"));\n` +
    "export default {};\n";
  const described = (about: string) => say(`{ type: "described", about: ${about} }`);
  const fine = 'effect: "read", params: {}, permissions: {}';
  const many = (count: number) => `Array.from({ length: ${count} }, (_, i) => "n" + i)`;
  const wrong: [code: string, expected: string][] = [
    [described("null"), "its default export is not a step"],
    [described("[]"), "its default export is not a step"],
    [described('{ effect: "read", params: {} }'), "its permissions are not a map"],
    [described('{ effect: "read", params: {}, permissions: null }'), "its permissions are not a map"],
    [
      described(`{ ${fine}, permissions: { toString: ["x"] } }`),
      'its permission "toString" is not a list of names',
    ],
    [
      described(`{ ${fine}, permissions: { read: ["\\0x"] } }`),
      'its permission "read" is not a list of names',
    ],
    [
      described(`{ ${fine}, permissions: { net: ["a\\nb"] } }`),
      'its permission "net" is not a list of names',
    ],
    [
      described(`{ ${fine}, permissions: { env: ["${"X".repeat(4097)}"] } }`),
      'its permission "env" is not a list',
    ],
    [described(`{ ${fine}, permissions: { read: ${many(201)} } }`), "has 201 names, and 200 are the maximum"],
    [
      described(`{ ${fine}, params: Object.fromEntries(${many(201)}.map((n) => [n, { type: "text" }])) }`),
      "201 params",
    ],
    [described(`{ ${fine}, params: { a: null } }`), 'the type of "a" in its params is not one of'],
    [described(`{ ${fine}, outputs: "x" }`), "its outputs are not a map"],
    [say('{ type: "failed" }'), "that cannot be read"],
    [say('{ type: "constructor" }'), "that cannot be read"],
    [say("5"), "that cannot be read"],
  ];
  for (const [code, expected] of wrong) {
    using folder = folderWith(code);
    assertStringIncludes(await folder.issue(), expected, code);
  }
  using most = folderWith(step("return { ok: true };").replace('["sh"]', "Array(200).fill('sh')"));
  assertEquals(await most.run(), { ok: true });
});

Deno.test("a step that sends an invalid result or message fails, and the error says why", async () => {
  const say = (message: string) =>
    `Deno.stdout.writeSync(new TextEncoder().encode("\\n\\u0001hsgate " + JSON.stringify(${message}) + "\\n"));`;
  const wrong: [body: string, expected: string][] = [
    [
      "let v: unknown = 1; for (let i = 0; i < 5000; i++) v = [v]; return v;",
      "nested deeper than 200 levels",
    ],
    [
      'let v: unknown = 1; for (let i = 0; i < 250; i++) v = { v }; context.log("info", "x", { v });',
      "nested deeper",
    ],
    [`${say('{ type: "log", level: "loud", message: "x" }')} return 1;`, "that cannot be read"],
    [`${say('{ type: "progress", event: null }')} return 1;`, "that cannot be read"],
    [`${say('{ type: "call", id: 1, operation: 5 }')} return 1;`, "that cannot be read"],
    ["throw Object.assign(new Error(), { message: { a: 1 } });", "[object Object]"],
  ];
  for (const [body, expected] of wrong) {
    using folder = folderWith(step(body));
    const error = await assertRejects(() => folder.run(), OwnStepError);
    assertStringIncludes(error.message, expected, body);
  }
  using fine = folderWith(
    step("let v: unknown = 1; for (let i = 0; i < 150; i++) v = [v]; return { ok: true, v };"),
  );
  assertEquals((await fine.run() as { ok: boolean }).ok, true);
});
