/** Tests of the counts that `deno task test` prints, and of the second run of failed files. */
import { assertEquals } from "@std/assert";
import { runTests } from "../../tasks/run_tests.ts";

/** Runs the given test files in a new folder, and resolves to the counts. */
async function counted(...files: readonly string[]) {
  const folder = await Deno.makeTempDir();
  try {
    for (const [at, text] of files.entries()) {
      await Deno.writeTextFile(`${folder}/t${at}_test.ts`, text.replaceAll("FOLDER", folder));
    }
    // Like the tests for both stores, this test is declared in another file. So Deno reports a place outside the test
    // file.
    const declare = `export function declare() { ${failsOnce.replaceAll("FOLDER", folder)} }`;
    await Deno.writeTextFile(`${folder}/declare.ts`, declare);
    return await runTests({ paths: [folder], write: () => {} });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const passes = `Deno.test("passes", () => {});`;
const fails = `Deno.test("fails", () => { throw new Error("as it must"); });`;
/** A test that another file declares, like the tests for both stores. */
const declaredElsewhere = `import { declare } from "./declare.ts"; declare();`;
/** Fails at the first run, and passes at the second. */
const failsOnce = `Deno.test("fails once", () => Deno.mkdirSync("FOLDER/seen", { recursive: seen() }));
function seen() { try { return Deno.statSync("FOLDER/seen").isDirectory; } catch { throwOnce(); return false; } }
function throwOnce() { Deno.mkdirSync("FOLDER/seen"); throw new Error("as it must, once"); }`;
const doesNotLoad = `throw new Error("as it must");`;

Deno.test("a test that passes only by itself counts as passed, and a test that fails twice as failed", async () => {
  assertEquals(await counted(passes, failsOnce), { passed: 2, failed: 0, skipped: 0 });
  assertEquals(await counted(passes, declaredElsewhere), { passed: 2, failed: 0, skipped: 0 });
  assertEquals(await counted(passes, fails), { passed: 1, failed: 1, skipped: 0 });
});

Deno.test("if a failure remains after the second run, the counts of the first run are kept", async () => {
  assertEquals((await counted(failsOnce, fails)).failed, 2);
  assertEquals((await counted(failsOnce, doesNotLoad)).failed, 2);
});

Deno.test("more than three failed files are not run again", async () => {
  assertEquals((await counted(passes, failsOnce, fails, fails, fails)).failed, 4);
});

Deno.test("no test file changes what all test files share: the umask, the working folder and the environment", async () => {
  const found: string[] = [];
  const search = async (folder: URL) => {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const file = new URL(isDirectory ? `${name}/` : name, folder);
      if (isDirectory) await search(file);
      else if (name.endsWith("_test.ts") && changesProcess.test(await Deno.readTextFile(file))) {
        found.push(name);
      }
    }
  };
  await search(new URL("../", import.meta.url));
  assertEquals(found, [], "each of these files needs its own process");
});

/** Calls that change the process. `deno test --parallel` runs all files in threads of one process. */
const changesProcess = /\bDeno\s*\.\s*(umask\(\S|chdir\(|env\s*\.\s*(set|delete)\()/;
