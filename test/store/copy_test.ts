/** Tests of copying a store to another store of either kind. */
import { assertEquals, assertRejects } from "@std/assert";
import { insertRun } from "../../lib/runner/queries/runs.ts";
import { verifyStore } from "../../lib/runner/queries/store_care.ts";
import { copyStore } from "../../lib/runner/queries/store_copy.ts";
import { whyNoWrites } from "../../lib/runner/claims/claims.ts";
import { openPostgres } from "../../lib/store/postgres.ts";
import { StoreError } from "../../lib/store/store_error.ts";
import type { Store } from "../../lib/store/store.ts";
import { temporarySchema } from "../support/postgres.ts";
import { kinds, postgres } from "../support/stores.ts";

async function fill(store: Store, runs: number): Promise<void> {
  await store.transaction(async () => {
    for (let index = 0; index < runs; index++) {
      const run = {
        runKey: `eod/${index}`,
        recipe: "eod",
        scheduleId: "s",
        kind: "live",
        class: "read",
        slotAt: index,
        dueAt: index,
        state: "due",
        recipeSha: "",
        traceId: "",
        reason: 'it\'s "é"',
      } as const;
      await insertRun(store, run, 0);
      await store.event(index, "test", { index }, run.runKey);
      await store.run(
        "insert into log (run_key, at, level, text) values (?, ?, 'info', 'line')",
        run.runKey,
        8_640_000_000_000_000,
      );
      await store.run("update run set fence = ? where run_key = ?", Number.MAX_SAFE_INTEGER, run.runKey);
    }
  });
}

for (const source of kinds) {
  for (const target of kinds) {
    Deno.test({
      name:
        `copyStore() copies every row from ${source.name} to ${target.name}, and later rows get higher numbers`,
      ignore: source.isMissing || target.isMissing,
      async fn() {
        await using places = new AsyncDisposableStack();
        const open = async (kind: typeof source) => places.use(await places.use(await kind.place()).open());
        const [from, to] = [await open(source), await open(target)];
        await fill(from, 450);
        const copied = await copyStore(from, to);
        assertEquals(copied.map(({ table, rows }) => [table, rows]).filter(([, rows]) => rows !== 0), [
          ["store", 1],
          ["run", 450],
          ["event", 450],
          ["log", 450],
        ]);
        for (
          const sql of [
            "select * from run order by run_key",
            "select * from log order by seq",
            "select id from store",
          ]
        ) {
          assertEquals(
            (await to.all<object>(sql)).map((row) => ({ ...row })),
            (await from.all<object>(sql)).map((row) => ({ ...row })),
            sql,
          );
        }
        assertEquals(await verifyStore(to), []);
        await to.event(0, "later", {});
        assertEquals((await to.get<{ n: number }>("select max(seq) as n from event"))?.n, 451);
        const error = await assertRejects(() => copyStore(from, to), StoreError);
        assertEquals(error.code, "not-empty");
        assertEquals((await to.get<{ n: number }>("select count(*) as n from run"))?.n, 450);
      },
    });
  }
}

Deno.test({
  name:
    "whyNoWrites() refuses every write while this machine's clock is more than 5 s from the database's (PostgreSQL)",
  ignore: postgres === undefined,
  async fn() {
    await using schema = temporarySchema(postgres!); // else the test is skipped
    let offMs = 0;
    const machine = { now: () => store.now()! + offMs, monotonic: () => performance.now() };
    await using store = await openPostgres(schema.url, { machine });
    for (
      const [off, expected] of [[4_000, undefined], [-4_000, undefined], [6_000, "6.0 s ahead"], [
        -6_000,
        "6.0 s behind",
      ]] as const
    ) {
      offMs = off;
      const why = await whyNoWrites(store, store.now()!);
      assertEquals(
        why?.includes(expected ?? "?"),
        expected === undefined ? undefined : true,
        `${off}: ${why}`,
      );
    }
  },
});
