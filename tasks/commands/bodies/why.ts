/**
 * What `hsgate why` does.
 *
 * @module
 */
import { why } from "../../../lib/runner/why.ts";
import { UsageError } from "../exit_codes.ts";
import { plain } from "../print.ts";
import type { WhyInput } from "../why.ts";
import { openLedger } from "./ledger_file.ts";
import { clockOf } from "./lists.ts";
import { recipeNamed } from "./recipe_files.ts";

/** Prints one line. */
export async function run({ args: [name = "", date = ""], flags, host }: WhyInput): Promise<number> {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(date) && !Number.isNaN(Date.parse(date)) &&
    new Date(date).toISOString().startsWith(date);
  if (!isDay) throw new UsageError(`Cannot tell of "${date}": write a day that exists, such as 2025-08-15`);
  const now = clockOf(flags.now, host);
  const recipe = await recipeNamed(name, { folder: flags.recipes, host, now });
  using ledger = await openLedger(flags, { host, mustExist: true });
  const answer = why(ledger, recipe, { date, now: now() });
  host.out(flags.json ? JSON.stringify({ recipe: name, date, why: answer }) : plain(answer));
  return 0;
}
