/**
 * Tests the npm package: packs it, installs it with npm into an empty folder with an empty home, and uses it there.
 * Downloads packages, so `deno task ok` runs it, and `deno task test` does not.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { environment } from "./machine.ts";
import { assertRuns, scriptsOf } from "../support/page_scripts.ts";
import project from "../../deno.json" with { type: "json" };

const root = new URL("../../", import.meta.url).pathname;
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

interface Installed extends AsyncDisposable {
  home: string;
  /** Folder in which the package was installed. */
  folder: string;
  /** Folder with the commands of the installed packages. */
  bin: string;
  env: Record<string, string>;
  /** Runs a program in a folder. @default the folder of the installation */
  run(words: readonly string[], cwd?: string): Promise<{ code: number; out: string; err: string }>;
}

async function install(): Promise<Installed> {
  const place = await Deno.realPath(await Deno.makeTempDir({ prefix: "hsgate-package-" }));
  const [home, folder] = [`${place}/home`, `${place}/scripts`];
  for (const path of [home, folder]) await Deno.mkdir(path, { mode: 0o700 });
  const env = environment(home);
  const run: Installed["run"] = async ([program = "", ...args], cwd = folder) => {
    const command = new Deno.Command(program, { args, cwd, env, clearEnv: true, stdin: "null" });
    const { code, stdout, stderr } = await command.output();
    return { code, out: text(stdout), err: text(stderr) };
  };
  const pack = new Deno.Command(Deno.execPath(), { args: ["task", "-q", "pack", "--out", place], cwd: root });
  const packed = await pack.output();
  assertEquals(packed.code, 0, text(packed.stderr));
  const archive = text(packed.stdout).trim();
  assertEquals(archive, `${place}/hsgate-${project.version}.tgz`);
  const installed = await run(["npm", "install", archive]);
  assertEquals(installed.code, 0, installed.out + installed.err);
  return {
    home,
    folder,
    bin: `${folder}/node_modules/.bin`,
    env,
    run,
    [Symbol.asyncDispose]: () => Deno.remove(place, { recursive: true }),
  };
}

Deno.test("the npm package works in an empty home that has only Node.js and npm", async (t) => {
  await using installed = await install();
  const { folder, bin, env, home, run } = installed;
  const deno = `${bin}/deno`;
  const data = `${home}/.local/share/hsgate`;

  await t.step(
    "npx hsgate copies itself to the data folder once, and prints only the answer of its command",
    async () => {
      const first = await run(["npx", "hsgate", "--version"]);
      assertEquals([first.code, first.out], [0, `hsgate ${project.version}\n`], first.err);
      const [version = ""] = [...Deno.readDirSync(data)].map(({ name }) => name);
      assertEquals(first.err, `hsgate: copied version ${project.version} to "${data}/${version}"\n`);
      const second = await run(["npx", "hsgate", "--version"]);
      assertEquals(second, { code: 0, out: `hsgate ${project.version}\n`, err: "" });
      const wrong = await run(["npx", "hsgate", "quotes"]);
      assertEquals([wrong.code, wrong.out], [2, ""]);
    },
  );

  for (const script of scriptsOf("README.md")) {
    await t.step(`the script ${script.name}.ts of README imports the package`, async () => {
      await assertRuns(script, { folder, deno, env });
    });
  }

  await t.step("a script is checked with the types of the package", async () => {
    await Deno.writeTextFile(
      `${folder}/wrong.ts`,
      'import { connect } from "hsgate";\nawait using client = await connect({ gateway: "http://127.0.0.1:1" });\n' +
        'await client.account.funds({ market: "mars" });\n',
    );
    const fine = await run([deno, "check", "--quiet", "funds.ts", "fees.ts", "order.ts"]);
    assertEquals(fine, { code: 0, out: "", err: "" });
    const wrong = await run([deno, "check", "--quiet", "wrong.ts"]);
    assertEquals(wrong.code, 1);
    assertStringIncludes(wrong.err, `Type '"mars"' is not assignable to type`);
  });

  await t.step(
    "npx hsgate init creates a working folder, and deploy writes paths outside node_modules",
    async () => {
      const init = await run(["npx", "hsgate", "init", "desk", "--yes"]);
      assertEquals(init.code, 0, init.err);
      assertStringIncludes(init.out, "  npx hsgate check ");
      const desk = `${folder}/desk`;
      const day = await run(["npx", "hsgate", "run", "end_of_day"], desk);
      assertEquals(day.code, 0, day.out + day.err);
      const fees = await run([deno, "task", "-q", "fees"], desk);
      assertEquals(fees.code, 0, fees.out + fees.err);
      const store = ["--store", `${home}/h.db`];
      const units = await run(
        ["npx", "hsgate", "deploy", "--to", "systemd", "--out", "units", ...store],
        desk,
      );
      assertEquals(units.code, 0, units.err);
      const [, program = "", runtime = ""] = /^Each start runs (\S+) with (\S+)$/m.exec(units.out) ??
        [];
      assert([program, runtime].every((path) => path.startsWith(`${data}/`)), units.out);
      const unit = await Deno.readTextFile(`${desk}/units/hsgate-end-of-day.service`);
      assertStringIncludes(unit, `${runtime} run`);
      assertStringIncludes(unit, program);
      assert(!unit.includes("node_modules"), unit);
    },
  );

  await t.step("deno task install writes an hsgate command that runs", async () => {
    const [version = ""] = [...Deno.readDirSync(data)].map(({ name }) => name);
    const toolkit = `${data}/${version}/toolkit`;
    const command = await run([deno, "task", "-q", "install", "--root", `${home}/deno`], toolkit);
    assertEquals(command.code, 0, command.err);
    assertStringIncludes(
      command.out,
      `Wrote ${home}/deno/bin/hsgate, which runs ${toolkit}/tasks/hsgate.ts with `,
    );
    const answer = await run([`${home}/deno/bin/hsgate`, "--version"]);
    assertEquals(answer, { code: 0, out: `hsgate ${project.version}\n`, err: "" });
  });
});
