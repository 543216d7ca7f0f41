// deno-lint-ignore-file no-console -- a task talks to its terminal
/**
 * Runs every test and prints with which real parts, such as a database, and only the counts on the last line. Further
 * arguments go to `deno test`; those that name files or folders, such as `test/runner`, stand instead of all.
 *
 * @module
 */
import { realParts, runTests } from "./run_tests.ts";

const { passed, failed, skipped } = await runTests({ args: Deno.args, paths: ["test/"] });
console.log(await realParts());
if (skipped > 0) console.log(`${skipped} skipped`);
console.log(`${passed} passed, ${failed} failed`);
Deno.exit(failed === 0 ? 0 : 1);
