// deno-lint-ignore-file no-console -- a task prints to its terminal
/**
 * Runs all checks that a change must pass, and prints the result of each check. The last line contains only the
 * counts of the tests; each other check that fails counts as one failed test. `--no-tests` leaves the tests out.
 *
 * @module
 */
import project from "../deno.json" with { type: "json" };
import { type Counts, runTests } from "./run_tests.ts";

interface Check {
  name: string;
  run: () => Promise<{ good: boolean; note: string; output: string; counts?: Counts }>;
}

const root = new URL("..", import.meta.url);

/** Returns a check that runs deno once and passes if deno exits with code 0. */
function deno(name: string, ...args: string[]): Check {
  const run = async () => {
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: root }).output();
    const text = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
    return { good: success, note: "", output: text };
  };
  return { name, run };
}

function tests(name: string, args: readonly string[], paths: readonly string[]): Check {
  const run = async () => {
    const counts = await runTests({ args, paths });
    const note = `${counts.passed} passed, ${counts.failed} failed`;
    return { good: counts.failed === 0, note, output: "", counts };
  };
  return { name, run };
}

/** Yields the files whose comments or pages contain examples to run. */
function* filesWithExamples(): Generator<string> {
  const search = function* (folder: string): Generator<string> {
    for (const { name, isDirectory } of Deno.readDirSync(new URL(`${folder}/`, root))) {
      const path = folder === "." ? name : `${folder}/${name}`;
      if (isDirectory) yield* search(path);
      else if (/\.(ts|md)$/.test(name)) yield path;
    }
  };
  const top = [...Deno.readDirSync(root)].map(({ name }) => name).filter((name) =>
    /^(README\.md|mod\.ts)$/.test(name)
  );
  for (const path of [...top, ...["lib", "docs"].flatMap((folder) => [...search(folder)])]) {
    if (/```(ts|typescript)\s*$/m.test(Deno.readTextFileSync(new URL(path, root)))) yield path;
  }
}

const permit = (...flags: string[]) => ["run", "--frozen", ...flags];
const examples = [...filesWithExamples()];
const checks: Check[] = [
  deno("format", "fmt", "--check"),
  deno("lint", "lint"),
  deno("types", "check", "--frozen", "."),
  // Fails if a public type must be inferred: then the package would lack types. The check "types" has checked the rest.
  deno("publish", "publish", "--dry-run", "--allow-dirty", "--quiet", "--no-check"),
  // Fails if a member of the public exports has no description, or names a type that none of the exports contains.
  deno("descriptions", "doc", "--lint", ...Object.values(project.exports)),
  deno("imports", ...permit("--allow-read", `--allow-run=${Deno.execPath()}`), "tasks/imports.ts"),
  deno("reference", ...permit("--allow-read", `--allow-run=${Deno.execPath()}`), "tasks/docs.ts", "--check"),
  deno("calendars", ...permit("--allow-read"), "tasks/calendars.ts", "--check"),
  tests("package", ["--quiet"], ["test/package/installed.ts", "test/package/first_minutes.ts"]),
  ...(examples.length === 0 ? [] : [tests("examples", ["--doc", "--quiet"], examples)]),
  ...(Deno.args.includes("--no-tests") ? [] : [tests("tests", ["--reporter=dot"], ["test/"])]),
];

const total: Counts = { passed: 0, failed: 0, skipped: 0 };
const lines: string[] = [];
for (const { name, run } of checks) {
  const start = performance.now();
  const { good, note, output, counts } = await run();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  lines.push(`${good ? "ok    " : "FAILED"}  ${name.padEnd(12)} ${seconds.padStart(6)} s  ${note}`.trimEnd());
  if (!good && output !== "") console.error(`\n${name}:\n${output.trimEnd()}\n`);
  total.passed += counts?.passed ?? 0;
  total.failed += counts?.failed ?? (good ? 0 : 1);
}
console.log(`\n${lines.join("\n")}\n`);
console.log(`${total.passed} passed, ${total.failed} failed`);
Deno.exit(total.failed === 0 ? 0 : 1);
