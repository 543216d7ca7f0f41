/**
 * What `hsgate why` does.
 *
 * @module
 */
import type { Ledger } from "../../../lib/runner/ledger.ts";
import { subjectOf, why, type WhySubject } from "../../../lib/runner/why.ts";
import { UsageError } from "../exit_codes.ts";
import { plain } from "../print.ts";
import type { WhyInput } from "../why.ts";
import { openLedger } from "./ledger_file.ts";
import { clockOf } from "./lists.ts";
import { findRecipe, getRecipe, notFound } from "./remembered_recipe.ts";
import { tellUntrusted } from "./trust_notes.ts";

/** Prints one line. */
export async function run({ args: [name = "", date = ""], flags, host }: WhyInput): Promise<number> {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(date) && !Number.isNaN(Date.parse(date)) &&
    new Date(date).toISOString().startsWith(date);
  if (!isDay) throw new UsageError(`Cannot tell of "${date}": write a day that exists, such as 2025-08-15`);
  const now = clockOf(flags.now, host);
  using ledger = await openLedger(flags, { host, mustExist: true });
  const { subject, isKnown } = await subjectNamed(name, ledger, { folder: flags.recipes, host, now });
  const where = isKnown ? "" : `${notFound(name, ledger, flags.recipes)}: `;
  const answer = `${where}${why(ledger, subject, { date, now: now() })}`;
  await tellUntrusted(ledger, host);
  host.out(flags.json ? JSON.stringify({ recipe: name, date, why: answer }) : plain(answer));
  return 0;
}

type Where = Parameters<typeof getRecipe>[2];

/** The recipe, or what the ledger remembers of one that is not found or that nobody can read now. */
async function subjectNamed(
  name: string,
  ledger: Ledger,
  where: Where,
): Promise<{ subject: WhySubject; isKnown: boolean }> {
  const remembered = subjectOf(ledger, name);
  if (remembered === undefined) return { subject: await getRecipe(name, ledger, where), isKnown: true };
  const found = await findRecipe(name, ledger, where);
  return { subject: found ?? remembered, isKnown: found !== undefined };
}
