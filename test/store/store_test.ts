import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Store } from "../../lib/store/store.ts";
import { StoreError } from "../../lib/store/store_error.ts";
import { temporaryFolder } from "../runner/support.ts";
import { migrations } from "../../lib/store/migrations.ts";
import { testBoth } from "../support/stores.ts";

const add = (store: Store, name: string, until = 0) =>
  store.run("insert into lease (name, holder, fence, until) values (?, '', 0, ?)", name, until);
const names = async (store: Store) =>
  (await store.all<{ name: string }>("select name from lease order by name")).map(({ name }) => name);

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  return (await assertRejects(() => work, StoreError)).code;
}

testBoth("Store returns the values that were stored, and numbers as numbers", async (place) => {
  await using store = await place.open();
  assertEquals(await add(store, "it's ?", 8_640_000_000_000_000), 1);
  await store.run("update lease set fence = ?", Number.MAX_SAFE_INTEGER);
  const row = await store.get<object>(
    "select name, holder, fence, until from lease where name = ?",
    "it's ?",
  );
  assertEquals({ ...row }, {
    name: "it's ?",
    holder: "",
    fence: Number.MAX_SAFE_INTEGER,
    until: 8_640_000_000_000_000,
  });
  await add(store, "b", 5);
  assertEquals(
    {
      ...await store.get<object>(
        "select count(*) as n, sum(case when until < 9 then until end) as s, min(until) = 5 as five from lease",
      ),
    },
    { n: 2, s: 5, five: 1 },
  );
  assertEquals(await store.get("select name from lease where name = 'a ? b'"), undefined);
  await store.event(1, "test", {}, undefined);
  assertEquals(
    (await store.all<{ run_key: null }>("select run_key from event")).map((each) => each.run_key),
    [
      null,
    ],
  );
  assertEquals(await store.run("update lease set until = 1"), 2);
  await assertRejects(() => store.get("select 9007199254740993 as n"), Error);
});

testBoth("Store compares keys byte by byte, whatever the language", async (place) => {
  await using store = await place.open();
  for (const name of ["b", "B", "a/1", "a-1", "é", "a"]) await add(store, name);
  assertEquals(await names(store), ["B", "a", "a-1", "a/1", "b", "é"]);
  assertEquals((await store.all("select name from lease where name > 'a' and name < 'b'")).length, 2);
});

testBoth("Store.transaction() saves everything or nothing, including nested transactions", async (place) => {
  await using store = await place.open();
  await assertRejects(
    () =>
      store.transaction(async () => {
        await add(store, "a");
        await store.transaction(() => add(store, "b"));
        throw new RangeError("stop");
      }),
    RangeError,
    "stop",
  );
  assertEquals(await names(store), []);
  const result = await store.transaction(async () => {
    await add(store, "a");
    return await store.transaction(async () => (await names(store)).length);
  });
  assertEquals(result, 1);
  assertEquals(await names(store), ["a"]);
});

testBoth(
  "Store.transaction() saves nothing if a statement failed, even if its error was caught",
  async (place) => {
    await using store = await place.open();
    await add(store, "a");
    await assertRejects(
      () =>
        store.transaction(async () => {
          await add(store, "b");
          await add(store, "a").catch(() => {});
        }),
      Error,
    );
    const after = store.transaction(async () => {
      await add(store, "a").catch(() => {});
      await add(store, "c");
    });
    assertEquals(await codeOf(after), "failed");
    assertEquals(await names(store), ["a"]);
  },
);

testBoth("Store rejects a statement that comes after the end of its transaction", async (place) => {
  await using store = await place.open();
  const { promise, resolve } = Promise.withResolvers<void>();
  let late: Promise<unknown> | undefined;
  await store.transaction(() => {
    late = promise.then(() => add(store, "late"));
  });
  resolve();
  assertEquals(await codeOf(late!), "ended");
  assertEquals(await names(store), []);
});

testBoth("Store keeps statements of other calls out of a transaction", async (place) => {
  await using store = await place.open();
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = store.transaction(async () => {
    await add(store, "a");
    await promise;
    await add(store, "b");
    throw new RangeError("stop");
  }).catch(() => {});
  const second = add(store, "c");
  const seen = names(store);
  resolve();
  await first;
  await second;
  assertEquals(await seen, ["c"]);
});

testBoth("Store keeps other callers out of a transaction that had to wait for another one", async (place) => {
  await using store = await place.open();
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = store.transaction(() => add(store, "a"));
  const second = store.transaction(async () => {
    await add(store, "b");
    begun.resolve();
    await end.promise;
    throw new RangeError("stop");
  }).catch(() => {});
  await first;
  await begun.promise;
  const third = add(store, "c");
  end.resolve();
  await Promise.all([second, third]);
  assertEquals(await names(store), ["a", "c"]);
});

testBoth(
  "Store runs the transactions of two open stores one after the other, and single writes too",
  async (place) => {
    await using one = await place.open();
    await using other = await place.open();
    await add(one, "a");
    const grow = (store: Store) =>
      store.transaction(async () => {
        const row = await store.get<{ until: number }>("select until from lease where name = 'a'");
        await Promise.resolve();
        await store.run("update lease set until = ? where name = 'a'", row!.until + 1);
      });
    const single = () => other.run("update lease set until = until + 1 where name = 'a'");
    await Promise.all(
      Array.from({ length: 30 }, (_, index) => [grow(one), grow(other), ...index % 3 === 0 ? [single()] : []])
        .flat(),
    );
    assertEquals((await one.get<{ until: number }>("select until from lease"))?.until, 70);
  },
);

testBoth("Store throws a busy error when another open store keeps it locked", async (place, { name }) => {
  await using one = await place.open();
  await using other = await place.open({ waitMs: 200 });
  const { promise, resolve } = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const held = one.transaction(async () => {
    await add(one, "a");
    began.resolve();
    await promise;
  });
  await began.promise;
  assertEquals(await codeOf(other.transaction(() => add(other, "b"))), "busy");
  assertEquals(await codeOf(add(other, "b")), "busy");
  assertEquals(await names(other), [], `reads wait for nobody in ${name}`);
  resolve();
  await held;
  await add(other, "b");
  assertEquals(await names(one), ["a", "b"]);
});

testBoth("Stores that open a new database at the same time create its tables once", async (place) => {
  const stores = await Promise.all(Array.from({ length: 4 }, () => place.open()));
  const ids = await Promise.all(stores.map((each) => each.get<{ id: string }>("select id from store")));
  assertEquals(new Set(ids.map((each) => each?.id)).size, 1);
  for (const each of stores) await each[Symbol.asyncDispose]();
  await using store = await place.open();
  assertEquals((await store.all("select version from migration")).length, migrations.length);
});

testBoth("Store rejects a database of a newer version", async (place) => {
  {
    await using store = await place.open();
    await store.run("insert into migration (version) values (99)");
  }
  const error = await assertRejects(() => place.open(), StoreError);
  assertEquals(error.code, "newer-store");
  assertStringIncludes(error.message, "it has version 99");
});

testBoth(
  "Store enforces the rules of its tables: a write step begins once, and a log line belongs to a run",
  async (place) => {
    await using store = await place.open();
    await store.run(
      `insert into run (run_key, recipe, schedule_id, kind, class, slot_at, due_at, state, recipe_sha, trace_id)
      values ('r', 'x', 's', 'live', 'write', 0, 0, 'due', '', '')`,
    );
    const begin = (attempt: number) =>
      store.run(
        `insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, started_at)
        values ('r', 'place', 0, ?, 'write', 'k', 'begun', 0)`,
        attempt,
      );
    await begin(1);
    const error = await assertRejects(() => begin(2), Error);
    assert(/unique/i.test(String(error)), String(error));
    await assertRejects(
      () => store.run("insert into log (run_key, at, level, text) values ('no', 0, 'info', '')"),
      Error,
    );
  },
);

Deno.test({
  name: "openSqlite() removes other users' access to an existing store, and to SQLite's files beside it",
  ignore: Deno.build.os === "windows",
  async fn() {
    using folder = temporaryFolder();
    const path = `${folder.path}/hsgate.db`;
    // While the store is open, SQLite keeps the files beside it.
    await using other = await openSqlite(path);
    await add(other, "a");
    const modes = () =>
      ["", "-wal", "-shm", ".mark"].map((end) => (Deno.statSync(path + end).mode! & 0o777).toString(8));
    assertEquals(modes(), ["600", "600", "600", "600"]);
    for (const end of ["", "-wal", "-shm"]) Deno.chmodSync(path + end, 0o666);
    const again = await openSqlite(path);
    await add(again, "b");
    assertEquals([modes(), await names(other)], [["600", "600", "600", "600"], ["a", "b"]]);
    await again[Symbol.asyncDispose]();
    // An empty file that somebody has created before the store opens it.
    const empty = `${folder.path}/empty.db`;
    Deno.writeTextFileSync(empty, "", { mode: 0o666 });
    Deno.chmodSync(empty, 0o666);
    await using store = await openSqlite(empty);
    await add(store, "c");
    for (const end of ["", "-wal", "-shm"]) {
      assertEquals(Deno.statSync(empty + end).mode! & 0o777, 0o600, end);
    }
  },
});
