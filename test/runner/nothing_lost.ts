/**
 * Checks that schedulers that were killed lost no slot and did nothing twice.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { openPostgres } from "../../lib/store/postgres.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { verifyStore } from "../../lib/runner/queries/store_care.ts";

/** Time between two slots, unless a test has its own. */
const SLOT_MS = 100;

/** Kills a process. Does nothing if the process has already ended. */
export function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Returns the lines of a file; an empty list if it does not exist. */
export function lines(path: string): string[] {
  try {
    return Deno.readTextFileSync(path).split("\n").filter(Boolean);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

function repeated(list: readonly string[]): number {
  return list.length - new Set(list).size;
}

/**
 * Checks that every slot from the first pass to the end has a row and has ended, and that nothing was done twice. Slots
 * after the end do not matter.
 */
export async function assertNothingLost(
  folder: string,
  what: string,
  { end, url, slotMs = SLOT_MS }: { end: number; url?: string; slotMs?: number },
): Promise<void> {
  await using store = url === undefined ? await openSqlite(`${folder}/store.db`) : await openPostgres(url);
  assertEquals(await verifyStore(store), []);
  const counts: Record<string, number> = {};
  for (const name of ["read", "write"]) {
    const first = (await store.get<{ at: number }>(
      "select min(at) as at from event where kind = 'schedule_new' and data like ?",
      `%"${name}"%`,
    ))!.at;
    const slots = (await store.all<{ slot_at: number }>(
      "select slot_at from run where recipe = ? and slot_at <= ? order by slot_at",
      name,
      end,
    ))
      .map(({ slot_at }) => slot_at);
    const expected: number[] = [];
    for (let slot = (Math.floor(first / slotMs) + 1) * slotMs; slot <= end; slot += slotMs) {
      expected.push(slot);
    }
    assertEquals(slots, expected, `slots of ${name}`);
    counts[`${name} slots`] = slots.length;
  }
  const states = await store.all<{ recipe: string; state: string; reason: string | null; n: number }>(
    "select recipe, state, reason, count(*) as n from run where slot_at <= ? group by recipe, state, reason",
    end,
  );
  for (const { recipe, state, reason, n } of states) {
    assert(
      state === "ok" ||
        (recipe === "write" && state === "failed" &&
          (reason === "resolved" || (url !== undefined && reason === "step"))),
      `${recipe} ${state}`,
    );
    const what = `${recipe} ${state}`;
    counts[what] = (counts[what] ?? 0) + n;
  }
  const begun = lines(`${folder}/begun`);
  assertEquals(repeated(begun), 0, "write steps begun twice");
  assertEquals(repeated(lines(`${folder}/ended`)), 0, "runs that ended twice");
  const finished = (await store.get<{ n: number }>(
    "select count(*) as n from (select 1 from event where kind = 'ended' group by run_key having count(*) > 1) as twice",
  ))!.n;
  assertEquals(finished, 0, "runs that ended twice in the store");
  const recovered =
    (await store.get<{ n: number }>("select count(*) as n from event where kind = 'recovered'"))!.n;
  // deno-lint-ignore no-console -- the counts show how much the kills disturbed
  console.log(
    `${what}: ${JSON.stringify({ ...counts, "write steps begun": begun.length, recovered })}`,
  );
}
