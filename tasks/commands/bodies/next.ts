/**
 * What `hsgate next` does.
 *
 * @module
 */
import { ledgerNotes } from "../../../lib/runner/ledger_notes.ts";
import { nextSlots } from "../../../lib/runner/slots.ts";
import type { CompiledRecipe } from "../../../lib/steps/mod.ts";
import { UsageError } from "../exit_codes.ts";
import type { NextInput } from "../next.ts";
import { plain, tableLines } from "../print.ts";
import { clockOf } from "./lists.ts";
import { ledgerExists, openLedger, pausedOf } from "./ledger_file.ts";
import { loadRecipes } from "./recipe_files.ts";
import { noteOf, precisionOf, readable, type ShownSlot, shownSlot } from "./slot_lines.ts";

interface Row extends ShownSlot {
  recipe: string;
  /** Why its schedule stands still. */
  paused?: string;
}

/** Lists slots of all recipes, soonest first. */
export async function run({ args, flags, host }: NextInput): Promise<number> {
  const count = countOf(flags.count ?? "5");
  const now = clockOf(flags.now, host);
  const { recipes, report } = await loadRecipes(args, { host, now });
  const paused = new Map<string, string>();
  // Without a ledger nobody has paused anything.
  if (flags.ledger !== undefined || await ledgerExists(flags, host)) {
    using ledger = await openLedger(flags, { host, mustExist: true });
    for (const [key, why] of pausedOf(ledger)) paused.set(key, why);
    for (const note of ledgerNotes(ledger, recipes)) host.note(`hsgate: ${plain(note)}`);
  }
  const rows = recipes.flatMap((recipe) => slotsOf(recipe, { after: now(), count, paused }))
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  if (flags.json) host.out(JSON.stringify(rows));
  else if (rows.length === 0) host.out("nothing is to run");
  else {
    const precision = precisionOf(rows.map(({ local }) => local));
    const columns = [
      { title: "when", of: ({ local }: Row) => readable(local, precision) },
      { title: "zone", of: ({ zone }: Row) => zone },
      { title: "recipe", of: ({ recipe }: Row) => recipe },
      { title: "schedule", of: ({ schedule }: Row) => schedule },
      {
        title: "note",
        of: (row: Row) =>
          [noteOf(row), row.paused === undefined ? "" : `paused: ${row.paused}`].filter(Boolean).join("; "),
      },
    ];
    for (const line of tableLines(host, columns, rows)) host.out(line);
    // A narrow terminal cuts the notes, and these are reasons that somebody wrote down.
    const set = rows.flatMap(({ setByHand, local }) =>
      setByHand === undefined ? [] : [`${local.slice(0, 10)} was set by hand: ${setByHand}`]
    );
    for (const line of new Set(set)) host.out(plain(line));
  }
  return report.ok ? 0 : 2;
}

function slotsOf(
  recipe: CompiledRecipe,
  { after, count, paused }: { after: number; count: number; paused: ReadonlyMap<string, string> },
): Row[] {
  const slots = recipe.schedules.flatMap((schedule) =>
    nextSlots(schedule, after, count).map((slot) => ({ ...slot, scheduleId: schedule.id }))
  ).sort((a, b) => a.at - b.at);
  const last = slots.filter(({ skipped }) => skipped === undefined)[count - 1];
  return slots.filter(({ at }) => last === undefined || at <= last.at).map((slot) => {
    const why = paused.get(`${recipe.name}/${slot.scheduleId}`);
    return { recipe: recipe.name, ...shownSlot(recipe, slot), ...why !== undefined && { paused: why } };
  });
}

function countOf(given: string): number {
  if (/^([1-9]\d?|100)$/.test(given)) return Number(given);
  throw new UsageError(`Cannot use --count "${given}": write a number from 1 to 100`);
}
