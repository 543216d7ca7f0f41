/**
 * Tests of hostile stores, and of hostile files beside a store. Through such files, SQLite would delete or overwrite a
 * file of the user.
 */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { backupStore, verifyStoreFile } from "../../lib/runner/queries/store_care.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { StoreError } from "../../lib/store/store_error.ts";
import { folder, spawned } from "../cli/support.ts";

const MAGIC = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/**
 * Returns a rollback journal without pages that ends with the name of a super-journal; see
 * https://sqlite.org/fileformat2.html.
 */
function journalNaming(victim: string, pages: number): Uint8Array {
  const name = new TextEncoder().encode(victim);
  const bytes = new Uint8Array(512 + 4 + name.length + 16);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  for (const [at, value] of [[16, pages], [20, 512], [24, 4096]] as const) view.setUint32(at, value);
  view.setUint32(512, 0x40000000 / 4096 + 1);
  bytes.set(name, 516);
  const end = 516 + name.length;
  view.setUint32(end, name.length);
  view.setUint32(end + 4, name.reduce((sum, byte) => (sum + (byte << 24 >> 24)) >>> 0, 0));
  bytes.set(MAGIC, end + 8);
  return bytes;
}

/** A store that no program has open, and a file of the user in another folder. */
async function world() {
  const dir = await folder();
  const [store, victim] = [`${dir.path}/friend/s.db`, `${dir.path}/precious.txt`];
  Deno.mkdirSync(`${dir.path}/friend`, { mode: 0o700 });
  await (await openSqlite(store, { mark: "leave" }))[Symbol.asyncDispose]();
  const file = new DatabaseSync(store);
  file.exec("pragma journal_mode = delete");
  file.close();
  Deno.writeTextFileSync(victim, "precious");
  return { path: dir.path, store, victim, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

type World = Awaited<ReturnType<typeof world>>;

const hostile: Record<string, { plant: (w: World) => void; says: string }> = {
  "a journal that names another file": {
    plant: ({ store, victim }) =>
      Deno.writeFileSync(`${store}-journal`, journalNaming(victim, Deno.statSync(store).size / 4096)),
    says: '-journal" beside it names another file, which SQLite would delete',
  },
  "a log that is a link": {
    plant: ({ store, victim }) => Deno.symlinkSync(victim, `${store}-wal`),
    says: '-wal" beside it: it is a symbolic link, and SQLite would write to its target',
  },
  "shared memory that is a hard link": {
    plant: ({ store, victim }) => Deno.linkSync(victim, `${store}-shm`),
    says: '-shm" beside it: it is a hard link to another file',
  },
  "a journal that is a link": {
    plant: ({ store, victim }) => Deno.symlinkSync(victim, `${store}-journal`),
    says: '-journal" beside it: it is a symbolic link',
  },
};

Deno.test("control: SQLite itself deletes the file that a planted journal names", async () => {
  await using w = await world();
  hostile["a journal that names another file"]!.plant(w);
  const file = new DatabaseSync(w.store);
  file.prepare("select * from store").all();
  file.close();
  assertEquals([...Deno.readDirSync(w.path)].map(({ name }) => name), ["friend"]);
});

for (const [what, { plant, says }] of Object.entries(hostile)) {
  Deno.test({
    name: `a store beside ${what} is not opened, and the file keeps its content and mode`,
    ignore: Deno.build.os === "windows",
    async fn() {
      await using w = await world();
      plant(w);
      Deno.chmodSync(w.victim, 0o644);
      const opened = await openSqlite(w.store).then(() => "opened", ({ message }) => String(message));
      assertStringIncludes(opened, `Cannot use the store "${w.store}": "${w.store}`);
      assertStringIncludes(opened, says);
      const verified = await verifyStoreFile(w.store).then(() => "opened", ({ message }) => String(message));
      assertStringIncludes(verified, says);
      for (const words of [["runs", "--store", w.store], ["trust", w.store, "--yes"]]) {
        const env = { HSGATE_TRUST_FILE: `${w.path}/trust.json`, HSGATE_VOLATILE_STORE: "allow" };
        const { code, err } = await spawned(words, { cwd: w.path, env });
        assertEquals([code !== 0, err.includes(says)], [true, true], err);
      }
      assertEquals(Deno.readTextFileSync(w.victim), "precious");
      assertEquals(Deno.statSync(w.victim).mode! & 0o777, 0o644);
    },
  });
}

Deno.test({
  name: "a backup does not follow links beside its target",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using w = await world();
    await using store = await openSqlite(`${w.path}/own.db`, { mark: "leave" });
    for (const ending of ["-wal", "-shm"]) Deno.symlinkSync(w.victim, `${w.path}/copy.db.part${ending}`);
    await backupStore(store, `${w.path}/copy.db`);
    assertEquals(Deno.readTextFileSync(w.victim), "precious");
    assertEquals(Deno.lstatSync(`${w.path}/copy.db`).isFile, true);
  },
});

/** Objects of a stranger's store: commands would change other rows, or read without end. */
const foreign: Readonly<Record<string, string>> = {
  "a trigger": "create trigger t after insert on event begin delete from halt; end",
  "an endless view in place of a table":
    `drop table step_run; drop table log; drop table artifact; drop table run;
    create view run as with recursive n(i) as (select 1 union all select i + 1 from n) select i as run_key from n`,
  "a computed column": "alter table run add column x text as (hex(zeroblob(100000000)))",
  "a view in place of the id": `drop table store; create view store as
    with recursive n(i) as (select 1 union all select i + 1 from n) select 1 as one, i as id from n order by i`,
};

for (const [what, sql] of Object.entries(foreign)) {
  Deno.test(`a store with ${what} is not opened, even if the user names it, and verify reports it`, async () => {
    await using w = await world();
    const file = new DatabaseSync(w.store);
    file.exec(`pragma foreign_keys = off; ${sql}`);
    file.close();
    const before = Deno.readFileSync(w.store);
    const says =
      "it is not a store as hsgate creates it: it contains other tables, views, triggers or indexes";
    const opened = await openSqlite(w.store, { mark: "leave" }).then(
      () => "opened",
      ({ message }) => String(message),
    );
    assertStringIncludes(opened, `Cannot use the store "${w.store}": ${says}`);
    for (const [words, code] of [[["runs"], 1], [["store", "verify"], 7]] as const) {
      const env = { HSGATE_TRUST_FILE: `${w.path}/trust.json`, HSGATE_VOLATILE_STORE: "allow" };
      const ended = await spawned([...words, "--store", w.store], { cwd: w.path, env });
      assertEquals(ended.code, code, ended.err);
      assertStringIncludes(ended.out + ended.err, says);
    }
    assertEquals(Deno.readFileSync(w.store), before);
  });
}

Deno.test("verify reports a value that no command could read", async () => {
  await using w = await world();
  const file = new DatabaseSync(w.store);
  for (
    const [sql, column] of [
      ["insert into event (at, kind, data) values (1, 'x', 'no JSON')", "data"],
      ["insert into account_write values ('a', 1, 'r', 's', 9007199254740991)", "at"],
      ["insert into account_write values ('a', 9223372036854775807, 'r', 's', 1)", "number"],
    ]
  ) {
    file.exec(`delete from event; delete from account_write; ${sql}`);
    assertStringIncludes((await verifyStoreFile(w.store)).join(), `a value of "${column}" in the table`);
  }
  file.close();
});

Deno.test("a store rejects a text so large that the runtime would end the process", async () => {
  await using store = await openSqlite(":memory:");
  for (
    const work of [
      store.get("select cast(zeroblob(600000000) as text) as x"),
      store.all("select hex(zeroblob(400000000)) as x"),
    ]
  ) {
    const error = await assertRejects(() => work, StoreError);
    assertEquals([error.code, error.message], [
      "value",
      'Cannot use the store ":memory:": a value is larger than 500 MB',
    ]);
  }
});
