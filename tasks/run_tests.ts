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
  /** Writes a piece of the output. @default to the terminal */
  write?(piece: Uint8Array): unknown;
}

const root = new URL("..", import.meta.url);
const writeToTerminal = (piece: Uint8Array) => Deno.stdout.write(piece);

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

/** Maximum number of files with failed tests to run again. If more files fail, the cause is not a slow machine. */
const MOST_AGAIN = 3;

/**
 * Returns the files of the failed tests, each once, from the lines of a parallel run: `FILE => TEST ... FAILED`.
 * Returns no file if anything other than these tests failed, such as a file that could not be loaded.
 */
export function failedFiles(output: string, failed: number): string[] {
  // deno-lint-ignore no-control-regex -- colours are escape sequences
  const plain = output.replaceAll(/\x1b\[[\d;]*m/g, "");
  const files = [...plain.matchAll(/^(\S+\.ts) => .* \.\.\. FAILED\b/gm)].map(([, file]) => file!);
  return files.length === failed ? [...new Set(files)] : [];
}

/**
 * Runs tests with the permissions that they need, prints their output, and resolves to the counts.
 *
 * Test files run in parallel, so a loaded machine may be too slow for one of them. If at most three files
 * failed, they run once more, one after the other. If all of them pass then, they count as passed, and a line
 * names them, because such a test still needs a fix.
 */
export async function runTests(options: RunTestsOptions): Promise<Counts> {
  const { write = writeToTerminal } = options;
  const first = await denoTest(options, ["--parallel"]);
  const files = failedFiles(first.output, first.counts.failed);
  if (files.length === 0 || files.length > MOST_AGAIN) return first.counts;
  const say = (text: string) => write(new TextEncoder().encode(`\n${text}\n`));
  await say(`These files failed while others ran too; running them again by themselves: ${files.join(", ")}`);
  const alone = await denoTest({ ...options, args: [...flagsOf(options.args), ...files], paths: [] }, []);
  if (alone.counts.failed > 0) return first.counts;
  await say(`These files passed only by themselves; their tests need a fix: ${files.join(", ")}`);
  return { ...first.counts, passed: first.counts.passed + first.counts.failed, failed: 0 };
}

function flagsOf(args: readonly string[] = []): string[] {
  return args.filter((arg) => arg.startsWith("-"));
}

async function denoTest(
  options: RunTestsOptions,
  flags: readonly string[],
): Promise<{ counts: Counts; output: string }> {
  const { args = [], paths, write = writeToTerminal } = options;
  const chosen = args.filter((arg) => !arg.startsWith("-"));
  const child = new Deno.Command(Deno.execPath(), {
    cwd: root,
    args: [
      "test",
      "--frozen",
      ...flags,
      // Tests stop processes, inspect them, fill disks and resolve host names, so they need all permissions. Tests of
      // pure code restrict their own permissions to none.
      "--allow-all",
      "--ignore=test/bench",
      ...flagsOf(args),
      ...(chosen.length > 0 ? chosen : paths),
    ],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let output = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    output += decoder.decode(chunk, { stream: true });
    await write(chunk);
  }
  const { success } = await child.status;
  return { counts: countTests(output, success), output };
}

/**
 * Resolves to lines that say which real services and programs the tests can use on this machine, such as PostgreSQL.
 */
export async function realParts(): Promise<string> {
  // Use a separate process, which may connect to a database and mount a disk. This process has no permission for that.
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    cwd: root,
    args: ["run", "--frozen", "--allow-all", "test/support/real_parts.ts"],
    stderr: "inherit",
  }).output();
  return new TextDecoder().decode(stdout).trimEnd();
}
