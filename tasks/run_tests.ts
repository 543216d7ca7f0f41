/**
 * Starts `deno test` with what the tests may do, and counts what it says.
 *
 * @module
 */

/** Tests that ran. */
export interface Counts {
  passed: number;
  failed: number;
  /** Tests that were skipped, such as those that need a PostgreSQL where there is none. */
  skipped: number;
}

/** What {@linkcode runTests} runs. */
interface RunTestsOptions {
  /** Flags and paths for `deno test`; a path among them stands instead of `paths`. */
  args?: readonly string[];
  /** Files and folders to look in. */
  paths: readonly string[];
}

const root = new URL("..", import.meta.url);

/**
 * Reads the counts from the last summary that `deno test` wrote. A run that failed without a failed test, as when
 * the types do not fit, counts as one failure.
 */
export function countTests(output: string, success: boolean): Counts {
  // deno-lint-ignore no-control-regex -- colours are escape sequences
  const plain = output.replaceAll(/\x1b\[[\d;]*m/g, "");
  const summary =
    /^(?:ok|FAILED) \| (\d+) passed(?: \(\d+ steps?\))? \| (\d+) failed(?: \(\d+ steps?\))?(?: \| (\d+) ignored)?/gm;
  const [, passed = "0", failed = "0", skipped = "0"] = [...plain.matchAll(summary)].at(-1) ?? [];
  return { passed: Number(passed), failed: Number(failed) || (success ? 0 : 1), skipped: Number(skipped) };
}

/** Runs tests with the permissions that they need, shows what they say, and resolves to the counts. */
export async function runTests({ args = [], paths }: RunTestsOptions): Promise<Counts> {
  const flags = args.filter((arg) => arg.startsWith("-"));
  const chosen = args.filter((arg) => !arg.startsWith("-"));
  const child = new Deno.Command(Deno.execPath(), {
    cwd: root,
    args: [
      "test",
      "--frozen",
      "--parallel",
      // Tests freeze processes and look at them, fill disks, and ask for names that do not exist. What must do with
      // less says so itself: the pure rooms run with no permissions at all.
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

/** Asks with which real parts the tests run, in lines. */
export async function realParts(): Promise<string> {
  // In a process of its own: it connects to a database and mounts a disk, which this one may not.
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    cwd: root,
    args: ["run", "--frozen", "--allow-all", "test/support/real_parts.ts"],
    stderr: "inherit",
  }).output();
  return new TextDecoder().decode(stdout).trimEnd();
}
