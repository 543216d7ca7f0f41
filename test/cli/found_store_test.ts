/** Tests of stores in the working folder that the user has not named, and of stores that others could have written. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { TrustFile } from "../../lib/runner/trust/trust_file.ts";
import { trustStore } from "../../lib/runner/trust/trusted_stores.ts";
import { folder, spawned } from "./support.ts";

const isWindows = Deno.build.os === "windows";
const isRoot = !isWindows && Deno.uid() === 0;

const RECIPE = `name: r
schedule: { every: 1h }
misfire: { grace: 2h }
connect: simulator
steps: [{ id: orders, uses: orders.today, with: { market: hk } }]
`;

/** Adds a due run with a finished step, and a queued notice. */
const WAITING = `
  insert into run (run_key, recipe, schedule_id, kind, class, slot_at, due_at, state, recipe_sha, trace_id)
    values ('r/every/1', 'r', 'every', 'live', 'write', 1, 1, 'due', 'x', 'x');
  insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, output, started_at)
    values ('r/every/1', 'orders', 0, 1, 'read', 'x', 'ok', '{}', 1);
  insert into schedule (recipe, schedule_id, spec, watermark, updated_at, file)
    values ('r', 'every', '{}', 1, 1, 'elsewhere/r.yaml');
  insert into outbox (dedupe_key, channel, body, next_try, created_at)
    values ('r/every/1 late', 'webhook', '{}', 1, 1);`;

/** Creates a store; returns its id. */
async function makeStore(path: string): Promise<string> {
  await using store = await openSqlite(path);
  return (await store.ownMark())!.store;
}

/** Changes the file of a store, as any program could. */
function alter(path: string, sql: string): void {
  const file = new DatabaseSync(path);
  file.exec(sql);
  file.close();
}

/** The user's folder with a store, somebody else's folder next to it, and the user's record of trust. */
async function world() {
  const stack = new AsyncDisposableStack();
  const { path } = stack.use(await folder());
  const trust = new TrustFile(`${path}/trust.json`);
  for (const name of ["own", "friend"]) {
    Deno.mkdirSync(`${path}/${name}`, { mode: 0o700 });
    Deno.writeTextFileSync(`${path}/${name}/r.yaml`, RECIPE);
  }
  const own = `${path}/own/hsgate.db`;
  const id = await makeStore(own);
  await trustStore(trust, { id, path: own, at: 0 });
  return {
    own,
    friend: `${path}/friend/hsgate.db`,
    trust,
    hsgate: (place: "own" | "friend", ...words: string[]) =>
      spawned(words, {
        cwd: `${path}/${place}`,
        env: { HSGATE_TRUST_FILE: trust.path!, HSGATE_VOLATILE_STORE: "allow" },
      }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Returns the names in the folder of a store, and the bytes of the store. */
const stateOf = (path: string) => ({
  names: [...Deno.readDirSync(path.replace(/\/[^/]*$/, ""))].map(({ name }) => name).sort(),
  bytes: Deno.readFileSync(path),
});

Deno.test("a copy of the user's own store is not used in another folder, and is neither opened nor changed there", async () => {
  await using w = await world();
  Deno.copyFileSync(w.own, w.friend);
  // Opening the store would switch it to a write-ahead log, and create the mark.
  alter(w.friend, `pragma journal_mode = delete; ${WAITING}`);
  const before = stateOf(w.friend);
  for (
    const words of [["runs"], ["next", "r.yaml"], ["schedule", "r.yaml", "--once"], ["store", "verify"]]
  ) {
    const { code, out, err } = await w.hsgate("friend", ...words);
    assertEquals([code, out], [2, ""], `${words}: ${err}`);
    assertStringIncludes(err, 'Cannot use the store "hsgate.db" of this folder: you did not create it');
    assertEquals(stateOf(w.friend), before, `${words}`);
  }
  const own = await w.hsgate("own", "runs", "--json");
  assertEquals([own.code, own.out.trim()], [0, "[]"], own.err);
});

Deno.test("a store that replaces a trusted one, and a store with foreign tables, are not used", async () => {
  await using w = await world();
  const swaps: [what: string, swap: () => Promise<unknown>][] = [
    ["another id", () => makeStore(w.own)],
    ["a view", async () => {
      const id = await makeStore(w.own);
      alter(
        w.own,
        `pragma foreign_keys = off; drop table store; create view store as
          with recursive n(i) as (select 1 union all select i + 1 from n)
          select 1 as one, '${id}' as id from n order by i`,
      );
    }],
  ];
  const dir = w.own.replace(/\/[^/]*$/, "");
  for (const [what, swap] of swaps) {
    for (const { name } of [...Deno.readDirSync(dir)]) {
      if (name !== "r.yaml") Deno.removeSync(`${dir}/${name}`);
    }
    await swap();
    const before = stateOf(w.own);
    const { code, err } = await w.hsgate("own", "runs");
    assertEquals(code, 2, `${what}: ${err}`);
    assertStringIncludes(err, "another store was here when you created or trusted it", what);
    assertEquals(stateOf(w.own).bytes, before.bytes, what);
  }
});

Deno.test("trust rejects a store with a trigger that has the name of a table, and a store that lacks a table", async () => {
  const changes = [
    // SQLite lets a trigger have the name of a table. These statements put the table last. In a map by name, the table
    // would therefore hide the trigger.
    `create trigger "halt" after insert on lease begin delete from intent; end; pragma writable_schema = on;
      update sqlite_schema set rowid = rowid + 1000 where name = 'halt' and type = 'table';
      update sqlite_schema set rowid = rowid + 2000 where tbl_name = 'halt' and type = 'index'`,
    "drop table intent_change",
  ];
  for (const sql of changes) {
    await using w = await world();
    await makeStore(w.friend);
    const file = new DatabaseSync(w.friend, { defensive: false });
    file.exec(sql);
    file.close();
    const { code, out, err } = await w.hsgate("friend", "trust", "hsgate.db", "--yes");
    assertEquals([code, out], [2, ""], err);
    assertStringIncludes(err, 'Cannot trust "hsgate.db": it is not a store as hsgate creates it');
  }
});

Deno.test("trust rejects a store with a value that no command could read, and lists only the start of a long list", async () => {
  await using w = await world();
  await makeStore(w.friend);
  const intent = (columns: string, values: string) =>
    `insert into intent (id, account, kind, operation, fingerprint, state, timeout_ms, ${columns})
      values ('i', 'a', 'place', 'orders.place', 'f', 'sent', 1, ${values})`;
  const wrong: [sql: string, column: string, table: string][] = [
    [intent("created_at, params, why", "1, '{', '{}'"), "params", "intent"],
    [intent("created_at, params, why", "1, '{}', '5'"), "why", "intent"],
    [intent("created_at, params, why, order_ids", "1, '{}', '{}', '{}'"), "order_ids", "intent"],
    [intent("created_at, params, why, earlier", "1, '{}', '{}', 'x'"), "earlier", "intent"],
    [intent("created_at, params, why", "9223372036854775807, '{}', '{}'"), "created_at", "intent"],
    ["insert into event (at, kind, data) values (1, 'x', '[')", "data", "event"],
    [WAITING.replaceAll("'webhook', '{}'", "'webhook', ''"), "body", "outbox"],
  ];
  for (const [sql, column, table] of wrong) {
    alter(w.friend, sql);
    const { code, out, err } = await w.hsgate("friend", "trust", "hsgate.db", "--yes");
    assertEquals([code, out], [2, ""], err);
    assertStringIncludes(err, `a value of "${column}" in the table "${table}" is not one that hsgate writes`);
    alter(
      w.friend,
      ["intent", "event", "outbox", "step_run", "run", "schedule"].map((each) => `delete from ${each};`).join(
        "",
      ),
    );
  }
  alter(
    w.friend,
    `with recursive n (i) as (select 1 union all select i + 1 from n where i < 120)
      insert into schedule (recipe, schedule_id, spec, watermark, updated_at, file)
        select 'r' || i, 's', '{}', 1, 1, i || replace(hex(zeroblob(4000)), '0', 'x') from n`,
  );
  const { code, out, err } = await w.hsgate("friend", "trust", "hsgate.db", "--yes");
  assertEquals(code, 0, err);
  const lines = out.split("\n");
  assertStringIncludes(out, "and from 70 more files");
  assert(lines.length < 70 && lines.every((line) => line.length < 2_100), `${lines.length} lines`);
});

Deno.test({
  name:
    "if others could have written a store or a file next to it, the store is rejected, even if it is named or trusted",
  ignore: isWindows,
  async fn() {
    await using w = await world();
    const dir = w.own.replace(/\/[^/]*$/, "");
    const beside = `${w.own}-journal`;
    const changes: [path: string, mode: number, back: number, why: string][] = [
      [w.own, 0o666, 0o600, "others may write to it (mode 0666)"],
      [`${w.own}.mark`, 0o602, 0o600, 'hsgate.db.mark" beside it: others may write to it (mode 0602)'],
      [beside, 0o602, 0o600, 'hsgate.db-journal" beside it: others may write to it (mode 0602)'],
      [dir, 0o777, 0o700, "others may add files beside it"],
      // In a folder with the sticky bit, others cannot replace the store, but they can add a journal for it.
      [dir, 0o1777, 0o700, "others may add files beside it"],
    ];
    Deno.writeTextFileSync(beside, "");
    Deno.chmodSync(beside, 0o600);
    for (const [path, mode, back, why] of changes) {
      Deno.chmodSync(path, mode);
      for (const words of [["runs"], ["runs", "--store", w.own], ["trust", "hsgate.db", "--yes"]]) {
        const { code, err } = await w.hsgate("own", ...words);
        assertEquals(code, 2, `${path} ${words}: ${err}`);
        assertStringIncludes(err, why);
      }
      const listed = JSON.parse((await w.hsgate("own", "trust", "--list", "--json")).out);
      assertEquals(listed.map(({ state }: { state: string }) => state), ["changed"], path);
      Deno.chmodSync(path, back);
    }
    Deno.removeSync(beside);
    for (const words of [["runs"], ["runs", "--store", w.own]]) {
      assertEquals((await w.hsgate("own", ...words)).code, 0);
    }
  },
});

Deno.test({
  name: "a store of another user is rejected, even if empty",
  ignore: !isRoot,
  async fn() {
    await using w = await world();
    Deno.writeTextFileSync(w.friend, "");
    for (const [place, path] of [["own", w.own], ["friend", w.friend]] as const) {
      Deno.chownSync(path, 4711, 4711);
      for (
        const words of [["schedule", "r.yaml", "--once"], ["schedule", "r.yaml", "--once", "--store", path]]
      ) {
        const { code, err } = await w.hsgate(place, ...words);
        assertEquals(code, 2, `${words}: ${err}`);
        assertStringIncludes(err, "it belongs to user 4711, and this program runs as user 0");
      }
    }
    assertEquals(stateOf(w.friend), { names: ["hsgate.db", "r.yaml"], bytes: new Uint8Array() });
    assertEquals((await w.trust.read()).stores.size, 1);
  },
});

Deno.test({
  name: "a group may write to a store and its folder only if its number is the user's number",
  ignore: !isRoot,
  async fn() {
    await using w = await world();
    const dir = w.own.replace(/\/[^/]*$/, "");
    // A group with the user's number, as in a pod, counts as the group of only that user. Any other group does not.
    for (const [gid, code] of [[0, 0], [4711, 2]] as const) {
      for (const [path, mode, back] of [[w.own, 0o660, 0o600], [dir, 0o770, 0o700]] as const) {
        Deno.chownSync(path, 0, gid);
        Deno.chmodSync(path, mode);
        const seen = await w.hsgate("own", "runs");
        assertEquals(seen.code, code, `${path} ${gid}: ${seen.err}`);
        Deno.chmodSync(path, back);
      }
    }
  },
});

Deno.test({
  name:
    "a store that is not a regular file is rejected without opening it, and so is a link to a file elsewhere",
  ignore: isWindows,
  async fn() {
    await using w = await world();
    await new Deno.Command("mkfifo", { args: [w.friend] }).output();
    for (const words of [["schedule", "r.yaml", "--once"], ["trust", "hsgate.db", "--yes"]]) {
      const { code, err } = await w.hsgate("friend", ...words);
      assertEquals(code, 2, err);
      assert(/it is not a regular file|there is no such file/.test(err), err);
    }
    Deno.removeSync(w.friend);
    Deno.symlinkSync(w.own, w.friend);
    for (const words of [["runs"], ["trust", "hsgate.db", "--yes"]]) {
      const { code, err } = await w.hsgate("friend", ...words);
      assertEquals(code, 2, err);
      assertStringIncludes(err, "it is a link to a file outside");
    }
  },
});

Deno.test("trust shows unfinished runs, queued notices, unfinished order writes and recipe files of a store, and does not change its file", async () => {
  await using w = await world();
  await makeStore(w.friend);
  alter(
    w.friend,
    `pragma journal_mode = delete; ${WAITING}
    insert into intent (id, account, kind, operation, params, fingerprint, why, state, order_ids, child_ids, created_at, timeout_ms)
      values ('01K2', 'gateway 127.0.0.1:11111', 'place', 'orders.place', '{}', 'x', '{}', 'unknown', '[]', '[]', 1, 1);`,
  );
  Deno.removeSync(`${w.friend}.mark`);
  const before = stateOf(w.friend);
  const { code, out, err } = await w.hsgate("friend", "trust", "hsgate.db", "--yes");
  assertEquals(code, 0, err);
  for (
    const line of [
      'its schedules come from "elsewhere/r.yaml"',
      "has 1 unfinished run (they may start)",
      "r/every/1  due, 1 step done",
      "has 1 queued notice (a scheduler sends them)",
      "r/every/1 late  by webhook",
      "has 1 unfinished order write (they block the same orders, and count in the limits of their account)",
      "01K2  orders.place, unknown, of gateway 127.0.0.1:11111",
    ]
  ) assertStringIncludes(out, line);
  assertEquals(stateOf(w.friend), before);
  const json = JSON.parse((await w.hsgate("friend", "trust", "hsgate.db", "--yes", "--json")).out);
  assertEquals([json[0].unfinished, json[0].runs.length, json[0].notices.length], [1, 1, 1]);
  const runs = await w.hsgate("friend", "runs", "--json");
  assertEquals([runs.code, JSON.parse(runs.out).length], [0, 1], runs.err);
});

/**
 * Changes of a store's schema that hsgate never makes. The view and the column could keep a reader busy. The trigger and
 * the index do their work when a program writes.
 */
const foreign: Readonly<Record<string, string>> = {
  "a view in place of a table": `pragma foreign_keys = off; drop table run; create view run as
    with recursive n(i) as (select 1 union all select i + 1 from n) select i as run_key, 'due' as state from n`,
  "a trigger": "create trigger t after insert on run begin delete from run; end",
  "a computed column": "alter table run add column x text as (hex(zeroblob(100000000)))",
  "an index on an expression": "create index i on run (hex(zeroblob(length(run_key))))",
};

for (const [what, sql] of Object.entries(foreign)) {
  Deno.test(`trust rejects a store with ${what}, and reads no row of the store`, async () => {
    await using w = await world();
    await makeStore(w.friend);
    alter(w.friend, sql);
    const { code, out, err } = await w.hsgate("friend", "trust", "hsgate.db", "--yes");
    assertEquals([code, out], [2, ""], err);
    assertStringIncludes(err, 'Cannot trust "hsgate.db": it is not a store as hsgate creates it');
    assertEquals((await w.trust.read()).stores.size, 1);
  });
}

Deno.test("a new store that replaces a lost one still counts as the user's own", async () => {
  await using w = await world();
  Deno.removeSync(w.own);
  const lost = await w.hsgate("own", "runs");
  assertStringIncludes(lost.err, "the file is missing");
  const accepted = await w.hsgate("own", "store", "accept", "--because", "tests");
  assertEquals(accepted.code, 0, accepted.err);
  const { code, err } = await w.hsgate("own", "runs");
  assertEquals(code, 0, err);
});
