// deno-lint-ignore-file no-console -- a task prints to its terminal
/**
 * Runs the tests. Prints which real services and programs the tests can use on this machine, such as PostgreSQL. The
 * last line contains the counts.
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
