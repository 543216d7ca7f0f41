import { assert, assertEquals } from "@std/assert";
import { openPostgres } from "../../lib/store/postgres.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { verifyStore } from "../../lib/runner/queries/store_care.ts";
import { spawnScheduler } from "./scheduler_child.ts";
import { temporaryFolder } from "./support.ts";
import { postgres } from "../support/stores.ts";
import { temporarySchema } from "../support/postgres.ts";

const SLOT_MS = 100;
/** Each of the first readings of the clock, then further and further apart. */
const POINTS = [...Array.from({ length: 40 }, (_, i) => i + 1), 45, 52, 60, 70, 82, 95, 110, 130, 160, 200];

/** Kills a process; one that has just ended is no longer there. */
function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}

function lines(path: string): string[] {
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

/** Every slot from the first look to the last has its row and its end; nothing was done twice. */
async function assertNothingLost(
  folder: string,
  what: string,
  { url, slotMs = SLOT_MS }: { url?: string; slotMs?: number } = {},
): Promise<void> {
  await using store = url === undefined ? await openSqlite(`${folder}/store.db`) : await openPostgres(url);
  assertEquals(await verifyStore(store), []);
  const counts: Record<string, number> = {};
  for (const name of ["read", "write"]) {
    const first = (await store.get<{ at: number }>(
      "select min(at) as at from event where kind = 'schedule_new' and data like ?",
      `%"${name}"%`,
    ))!.at;
    const last =
      (await store.get<{ w: number }>("select watermark as w from schedule where recipe = ?", name))!.w;
    const slots = (await store.all<{ slot_at: number }>(
      "select slot_at from run where recipe = ? order by slot_at",
      name,
    ))
      .map(({ slot_at }) => slot_at);
    const expected: number[] = [];
    for (let slot = (Math.floor(first / slotMs) + 1) * slotMs; slot <= last; slot += slotMs) {
      expected.push(slot);
    }
    assertEquals(slots, expected, `slots of ${name}`);
    counts[`${name} slots`] = slots.length;
  }
  const states = await store.all<{ recipe: string; state: string; reason: string | null; n: number }>(
    "select recipe, state, reason, count(*) as n from run group by recipe, state, reason",
  );
  for (const { recipe, state, reason, n } of states) {
    assert(
      state === "ok" || (recipe === "write" && state === "failed" && reason === "resolved"),
      `${recipe} ${state}`,
    );
    counts[`${recipe} ${state}`] = n;
  }
  const begun = lines(`${folder}/begun`);
  assertEquals(repeated(begun), 0, "write steps begun twice");
  assertEquals(repeated(lines(`${folder}/ended`)), 0, "runs that ended twice");
  const finished = (await store.get<{ n: number }>(
    "select count(*) as n from (select 1 from event where kind = 'ended' group by run_key having count(*) > 1) as twice",
  ))!.n;
  assertEquals(finished, 0, "runs that ended twice in the store");
  const retaken =
    (await store.get<{ n: number }>("select count(*) as n from event where kind = 'recovered'"))!.n;
  // deno-lint-ignore no-console -- the counts are what the test is for
  console.log(
    `${what}: ${JSON.stringify({ ...counts, "write steps begun": begun.length, recovered: retaken })}`,
  );
}

Deno.test("Scheduler loses nothing and begins no write twice, killed at enumerated points", async () => {
  using folder = temporaryFolder();
  const until = Date.now() + 60_000;
  let killed = 0;
  // From the opening of the store through listing, claiming, beginning and ending steps and runs.
  for (const killAt of POINTS) {
    const { signal } = await spawnScheduler({ folder: folder.path, holder: `k${killAt}`, until, killAt })
      .status;
    if (signal === "SIGKILL") killed++;
  }
  assertEquals(killed, POINTS.length);
  const last = await spawnScheduler({ folder: folder.path, holder: "last", until: Date.now() }).status;
  assertEquals(last.code, 0);
  await assertNothingLost(folder.path, `killed at ${killed} points`);
});

Deno.test("Scheduler loses nothing and begins no write twice, three processes killed at random", async () => {
  await killAtRandom();
});

Deno.test({
  name: "Scheduler loses nothing and begins no write twice, three processes killed at random (PostgreSQL)",
  ignore: postgres === undefined,
  async fn() {
    await using schema = temporarySchema(postgres!); // else the test is skipped
    // Slots that come faster than a slow disk takes them would have no end.
    await killAtRandom({ url: schema.url, slotMs: 500 });
  },
});

async function killAtRandom(place: { url?: string; slotMs?: number } = {}): Promise<void> {
  using folder = temporaryFolder();
  const until = Date.now() + 7_000;
  const spawn = (holder: string) => spawnScheduler({ folder: folder.path, holder, until, ...place });
  const children = [spawn("p0"), spawn("p1"), spawn("p2")];
  let kills = 0;
  while (Date.now() < until - 1_500) {
    await new Promise((resolve) => setTimeout(resolve, 250 + Math.random() * 400));
    const index = Math.floor(Math.random() * 3);
    kill(children[index]!);
    if ((await children[index]!.status).signal === "SIGKILL") kills++;
    children[index] = spawn(`r${kills}`);
  }
  for (const child of children) assertEquals((await child.status).code, 0);
  assert(kills >= 5, `${kills} kills are too few`);
  await assertNothingLost(folder.path, `three processes, ${kills} kills`, place);
}
