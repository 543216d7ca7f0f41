/**
 * Runs `hsgate next`.
 *
 * @module
 */
import { type Calendars, showInstant } from "../../../lib/calendars/mod.ts";
import type { Store } from "../../../lib/store/store.ts";
import { storeNotes } from "../../../lib/runner/explain/store_notes.ts";
import { runKeyOf } from "../../../lib/runner/schedule/plan_run.ts";
import { nextSlots } from "../../../lib/runner/schedule/slots.ts";
import { collidingSlot } from "../../../lib/runner/schedule/listing.ts";
import { whyPlan } from "../../../lib/recipes/live.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { NextInput } from "../next.ts";
import { checkListColumns, listView, printList } from "../../terminal/list_output.ts";
import { type Column, plain } from "../../terminal/print.ts";
import { calendarsOf, clockOf } from "../../terminal/arguments.ts";
import { openStore, storeExists } from "../shared/store_file.ts";
import { pausedSchedules } from "../../../lib/runner/queries/schedules.ts";
import { loadRecipes, servedRecipes } from "../shared/recipe_files.ts";
import {
  limitsShown,
  noteOf,
  type Precision,
  precisionOf,
  readable,
  type ShownSlot,
  shownSlot,
} from "../shared/slot_lines.ts";

interface Row extends ShownSlot {
  recipe: string;
  /** Why its schedule is paused. */
  paused?: string;
  /**
   * If the session already had a run before the schedule was edited: the instant of that run, ISO 8601 in UTC.
   */
  doneFor?: string;
  /** Why its run will be a plan that sends nothing. */
  plan?: string;
}

/**
 * Lists the next slots recipe by recipe; the recipe with the earliest slot comes first. With `--by-time` or JSON
 * output, lists the slots of all recipes together by time.
 */
export async function run({ args, flags, host }: NextInput): Promise<number> {
  const count = countOf(flags.count ?? "3");
  const view = listView(flags);
  checkListColumns(view, columnsIn("minutes"));
  const now = clockOf(flags.now, host);
  const calendars = calendarsOf(host);
  const loaded = await loadRecipes(args, { host, now });
  const { served: recipes, waiting, refused } = await servedRecipes(loaded, { host, now });
  for (const line of waiting) host.note(`hsgate: warning: ${plain(line)}`);
  for (const { text } of refused) host.note(`hsgate: warning: ${plain(text)}`);
  const paused = new Map<string, string>();
  const colliding = new Map<string, string>();
  // Without a store there are no paused recipes.
  if (flags.store !== undefined || await storeExists(flags, host)) {
    await using store = await openStore(flags, { host, mustExist: true });
    for (const [key, why] of await pausedSchedules(store)) paused.set(key, why);
    for (const [key, instant] of await collidingKeys(store, recipes, { calendars, after: now(), count })) {
      colliding.set(key, instant);
    }
    for (const note of await storeNotes(store, calendars, recipes)) host.note(`hsgate: ${plain(note)}`);
  }
  const limits = await limitsShown(flags, host);
  const all = recipes.map((recipe) =>
    slotsOf(recipe, { calendars, after: now(), count, paused, colliding, plan: whyPlan(recipe, limits) })
  );
  const byTime = (a: Row | undefined, b: Row | undefined) =>
    Date.parse(a?.at ?? "") - Date.parse(b?.at ?? "");
  const rows = flags["by-time"] || view.output.startsWith("json")
    ? all.flat().sort(byTime)
    : all.filter(({ length }) => length > 0).sort(([a], [b]) => byTime(a, b)).flat();
  const columns = columnsIn(precisionOf(rows.map(({ local }) => local)));
  printList(host, view, { columns, rows, empty: "no slots" });
  if (view.output === "table") {
    // Print these reasons in full, because a narrow terminal cuts the notes.
    const set = rows.flatMap(({ setByHand, local }) =>
      setByHand === undefined ? [] : [`${local.slice(0, 10)} is overridden: ${setByHand}`]
    );
    for (const line of new Set(set)) host.out(plain(line));
  }
  return loaded.report.ok ? 0 : 2;
}

const columnsIn = (precision: Precision): Column<Row>[] => [
  { title: "when", keep: true, of: ({ local }) => readable(local, precision) },
  { title: "zone", keep: true, of: ({ zone }) => zone },
  { title: "recipe", id: true, of: ({ recipe }) => recipe },
  { title: "schedule", id: true, of: ({ schedule }) => schedule },
  {
    title: "note",
    of: (row) =>
      [
        noteOf(row),
        row.doneFor === undefined ? "" : `not run: the session already has a run, for ${row.doneFor}`,
        row.paused === undefined ? "" : `paused: ${row.paused}`,
        row.plan === undefined ? "" : `plan, sends nothing: ${row.plan}`,
      ].filter(Boolean).join("; "),
  },
  { title: "session", extra: true, of: ({ session }) => session ?? "" },
  { title: "utc", extra: true, of: ({ at }) => at },
];

/**
 * Returns the next slots of a recipe, soonest first: `count` for each schedule, so that a frequent schedule does not
 * hide the other schedules.
 */
function slotsOf(
  recipe: CompiledRecipe,
  { calendars, after, count, paused, colliding, plan }: {
    calendars: Calendars;
    after: number;
    count: number;
    plan: string | undefined;
    paused: ReadonlyMap<string, string>;
    colliding: ReadonlyMap<string, string>;
  },
): Row[] {
  const slots = recipe.schedules.flatMap((schedule) =>
    nextSlots(calendars, schedule, after, count).map((slot) => ({ ...slot, scheduleId: schedule.id }))
  ).sort((a, b) => a.at - b.at);
  return slots.map((slot) => {
    const why = paused.get(`${recipe.name}/${slot.scheduleId}`);
    const doneFor = colliding.get(`${recipe.name}/${slot.scheduleId}/${slot.key}`);
    return {
      recipe: recipe.name,
      ...shownSlot(calendars, recipe, slot),
      ...doneFor !== undefined && { doneFor },
      ...why !== undefined && { paused: why },
      ...plan !== undefined && { plan },
    };
  });
}

/**
 * Returns the coming slots whose session already had a run before the schedule was edited: the run key of the slot, and
 * the instant of that run.
 */
async function collidingKeys(
  store: Store,
  recipes: readonly CompiledRecipe[],
  { calendars, after, count }: { calendars: Calendars; after: number; count: number },
): Promise<[string, string][]> {
  return (await Array.fromAsync(
    recipes,
    async (recipe) =>
      (await Array.fromAsync(
        recipe.schedules.filter(({ form }) => form === "calendar"),
        async (schedule) =>
          (await Array.fromAsync(
            nextSlots(calendars, schedule, after, count),
            async (slot): Promise<[string, string][]> => {
              const runKey = runKeyOf(recipe.name, schedule, slot);
              const instant = await collidingSlot(store, { runKey, slotAt: slot.at });
              return instant === undefined ? [] : [[runKey, showInstant(instant)]];
            },
          )).flat(),
      )).flat(),
  )).flat();
}

function countOf(given: string): number {
  if (/^([1-9]\d?|100)$/.test(given)) return Number(given);
  throw new UsageError(`Cannot use --count "${given}": write a number from 1 to 100`);
}
