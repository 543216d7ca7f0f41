// deno-lint-ignore-file no-console -- a task talks to its terminal
/**
 * Runs every test and prints the counts, alone on the last line. Further arguments go to `deno test`, and name
 * files or folders instead of all.
 *
 * @module
 */
import { runTests } from "./run_tests.ts";

const { passed, failed } = await runTests({ args: Deno.args, paths: ["test/"] });
console.log(`${passed} passed, ${failed} failed`);
Deno.exit(failed === 0 ? 0 : 1);
