// deno-lint-ignore-file no-console -- a task talks to its terminal
/**
 * Runs every test and prints the counts, alone on the last line. Further arguments go to `deno test`, and name
 * files or folders instead of all.
 *
 * @module
 */
import { runTests } from "./run_tests.ts";

const { passed, failed, skipped } = await runTests({ args: Deno.args, paths: ["test/"] });
if (skipped > 0) {
  console.log(
    `${skipped} skipped; those named "(PostgreSQL)" or "PostgresStore" need a database of this machine, or ` +
      "HSGATE_TEST_POSTGRES=postgres://user@host/database",
  );
}
console.log(`${passed} passed, ${failed} failed`);
Deno.exit(failed === 0 ? 0 : 1);
