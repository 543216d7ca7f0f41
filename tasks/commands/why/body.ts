/**
 * Runs `hsgate why`.
 *
 * @module
 */
import { calendarsOf } from "../../terminal/arguments.ts";
import type { Store } from "../../../lib/store/store.ts";
import { subjectOf, why, type WhySubject } from "../../../lib/runner/explain/why.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { plain } from "../../terminal/print.ts";
import type { WhyInput } from "../why.ts";
import { openStore } from "../shared/store_file.ts";
import { clockOf } from "../../terminal/arguments.ts";
import { findRecipe, getRecipe, notFound } from "../shared/remembered_recipe.ts";
import { warnOfUntrusted } from "../trust/notes.ts";
import { isDate } from "../../../lib/time.ts";

/** Prints one line that explains what the recipe did on the day. */
export async function run({ args: [name = "", date = ""], flags, host }: WhyInput): Promise<number> {
  if (!isDate(date)) {
    throw new UsageError(`Cannot explain "${date}": write a day that exists, such as 2025-08-15`);
  }
  const now = clockOf(flags.now, host);
  await using store = await openStore(flags, { host, mustExist: true });
  const { subject, isKnown } = await subjectNamed(name, store, { folder: flags.recipes, host, now });
  const where = isKnown ? "" : `${await notFound(name, store, flags.recipes)}: `;
  const answer = `${where}${await why(store, subject, { date, now: now(), calendars: calendarsOf(host) })}`;
  await warnOfUntrusted(store, host);
  host.out(flags.json ? JSON.stringify({ recipe: name, date, why: answer }) : plain(answer));
  return 0;
}

type Where = Parameters<typeof getRecipe>[2];

/** Returns the recipe, or the store's details of a recipe that cannot be found or read now. */
async function subjectNamed(
  name: string,
  store: Store,
  where: Where,
): Promise<{ subject: WhySubject; isKnown: boolean }> {
  const remembered = await subjectOf(store, name);
  if (remembered === undefined) return { subject: await getRecipe(name, store, where), isKnown: true };
  const found = await findRecipe(name, store, where);
  return { subject: found ?? remembered, isKnown: found !== undefined };
}
