// deno-lint-ignore-file no-console -- a task talks to its terminal
/**
 * Runs the tests. Prints the real parts that the tests used, such as a database, and the counts on the last line.
 * Passes its arguments to `deno test`. If no argument is a file or a folder, such as `test/runner`, runs all tests.
 *
 * @module
 */
import { realParts, runTests } from "./run_tests.ts";

const { passed, failed, skipped } = await runTests({ args: Deno.args, paths: ["test/"] });
console.log(await realParts());
if (skipped > 0) console.log(`${skipped} skipped`);
console.log(`${passed} passed, ${failed} failed`);
Deno.exit(failed === 0 ? 0 : 1);
