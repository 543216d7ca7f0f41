/**
 * Starts `deno test` with the permissions of the tests, and reads the counts from its output.
 *
 * @module
 */

/** Numbers of tests by result. */
export interface Counts {
  passed: number;
  failed: number;
  /** Tests that were skipped, for example because PostgreSQL is not available. */
  skipped: number;
}

/** Options of {@linkcode runTests}. */
interface RunTestsOptions {
  /** Flags and paths for `deno test`. Paths here replace `paths`. */
  args?: readonly string[];
  /** Files and folders with tests. */
  paths: readonly string[];
}

const root = new URL("..", import.meta.url);

/**
 * Returns the counts in the last summary that `deno test` wrote. A run that failed without a failed test, for example
 * because of a type error, counts as one failure.
 */
export function countTests(output: string, success: boolean): Counts {
  // deno-lint-ignore no-control-regex -- colours are escape sequences
  const plain = output.replaceAll(/\x1b\[[\d;]*m/g, "");
  const summary =
    /^(?:ok|FAILED) \| (\d+) passed(?: \(\d+ steps?\))? \| (\d+) failed(?: \(\d+ steps?\))?(?: \| (\d+) ignored)?/gm;
  const [, passed = "0", failed = "0", skipped = "0"] = [...plain.matchAll(summary)].at(-1) ?? [];
  return { passed: Number(passed), failed: Number(failed) || (success ? 0 : 1), skipped: Number(skipped) };
}

/** Runs tests with the permissions that they need, prints their output, and resolves to the counts. */
export async function runTests({ args = [], paths }: RunTestsOptions): Promise<Counts> {
  const flags = args.filter((arg) => arg.startsWith("-"));
  const chosen = args.filter((arg) => !arg.startsWith("-"));
  const child = new Deno.Command(Deno.execPath(), {
    cwd: root,
    args: [
      "test",
      "--frozen",
      "--parallel",
      // Tests stop processes, inspect them, fill disks and resolve host names, so they need all permissions. Tests of
      // pure code restrict their own permissions to none.
      "--allow-all",
      "--ignore=test/bench",
      ...flags,
      ...(chosen.length > 0 ? chosen : paths),
    ],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let output = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    output += decoder.decode(chunk, { stream: true });
    await Deno.stdout.write(chunk);
  }
  const { success } = await child.status;
  return countTests(output, success);
}

/** Resolves to lines that say with which real parts the tests run, such as a database. */
export async function realParts(): Promise<string> {
  // Use a separate process, which may connect to a database and mount a disk. This process may not.
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    cwd: root,
    args: ["run", "--frozen", "--allow-all", "test/support/real_parts.ts"],
    stderr: "inherit",
  }).output();
  return new TextDecoder().decode(stdout).trimEnd();
}
