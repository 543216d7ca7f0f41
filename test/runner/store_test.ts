import { countWrite, type Store } from "../../lib/store/store.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { StoreError } from "../../lib/store/store_error.ts";
import { acceptLoss, backupStore, verifyStoreFile } from "../../lib/runner/queries/store_care.ts";
import { whyUnmarked } from "../../lib/store/mark.ts";
import { cli } from "../cli/support.ts";
import { killInWrite } from "./store_child.ts";
import { at, bench, DAY, HOUR, orders, recipe, runsOf, step, temporaryFolder } from "./support.ts";

const KEY = "orders/s1/2025-12-22";
const NOW = at("2025-12-22T02:01:00Z");
const accepting = { actor: "me", because: "no order was placed", now: NOW };

/** A store whose process was killed during a write, with all data in its "-wal". */
async function killed(): Promise<{ path: string } & Disposable> {
  const folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  await killInWrite(path);
  return { path, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** Opens a store and returns its runs; or the error if the store is rejected. */
async function openedAs(path: string): Promise<string[] | StoreError> {
  try {
    await using store = await openSqlite(path);
    return await runsOf(store);
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
}

async function assertRefused(path: string, why: string): Promise<void> {
  const error = await openedAs(path);
  assert(error instanceof StoreError, `${why}: ${error}`);
  assertStringIncludes(error.message, why);
  assertStringIncludes(error.message, "hsgate store accept");
  const faults = await verifyStoreFile(path);
  assert(faults.length > 0 && faults.join("; ").includes(why), faults.join("; "));
}

Deno.test("a store that is empty, cut off or missing is rejected while its mark records a write", async () => {
  using store = await killed();
  const { path } = store;
  // Control: as the kill left it, the store opens and contains the write.
  const copy = `${path}.copy`;
  for (const end of ["", "-wal", ".mark"]) Deno.copyFileSync(`${path}${end}`, `${copy}${end}`);
  assertEquals(await openedAs(copy), [`${KEY} running live`]);
  const named = `account "default" had 1 write, the last step "place" of ${KEY}`;
  const cases: [what: string, why: string, harm: () => void][] = [
    ["0 bytes", "the file is empty", () => Deno.truncateSync(path, 0)],
    ["1 byte", "the file is cut off", () => Deno.writeFileSync(path, new Uint8Array([83]))],
    ["gone", "the file is missing", () => Deno.removeSync(path)],
    ["gone with its -wal", "the file is missing", () => Deno.removeSync(`${path}-wal`)],
  ];
  for (const [what, why, harm] of cases) {
    harm();
    await assertRefused(path, why);
    const error = await openedAs(path);
    assertStringIncludes(String(error), named, what);
  }
});

Deno.test("a store that lost its -wal after a kill is rejected, because it lacks the write", async () => {
  using store = await killed();
  const { path } = store;
  const other = `${path}.other`;
  {
    await using another = await openSqlite(other);
    await another.event(0, "test", {});
  }
  Deno.removeSync(`${path}-wal`);
  await assertRefused(path, "older than its mark");
  // A different store in its place is rejected too.
  Deno.renameSync(other, path);
  await assertRefused(path, "not the store that its mark belongs to");
});

Deno.test("an older copy in place of the store is rejected, the newest copy is not, and a copy elsewhere gets its own mark", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  const recipes = [orders([]), recipe()];
  const pass = async (store: Store, start: string) => {
    const b = await bench({ start, recipes, store });
    await b.scheduler.start();
    await b.machine.pass(DAY);
    await b.scheduler.stop();
  };
  for (const [day, backup] of [["2025-12-22", "older.db"], ["2025-12-23", "newest.db"]] as const) {
    const store = await openSqlite(path);
    await pass(store, `${day}T00:00:00Z`);
    await backupStore(store, `${folder.path}/${backup}`);
    await store[Symbol.asyncDispose]();
  }
  const names = () => [...Deno.readDirSync(folder.path)].map(({ name }) => name).sort();
  assertEquals(names(), ["hsgate.db", "hsgate.db.mark", "newest.db", "older.db"]);
  Deno.copyFileSync(`${folder.path}/older.db`, path);
  await assertRefused(path, 'it contains 1 of 2 writes on account "default"');
  Deno.copyFileSync(`${folder.path}/newest.db`, path);
  assert(Array.isArray(await openedAs(path)));
  assertEquals(await verifyStoreFile(path), []);
  // In another place a copy has no mark, and gets one when it is used.
  assertEquals(await verifyStoreFile(`${folder.path}/older.db`), []);
  assertEquals(names().filter((name) => name.startsWith("older")), ["older.db"]);
  assert(Array.isArray(await openedAs(`${folder.path}/older.db`)));
  assert(names().includes("older.db.mark"));
});

Deno.test("a first start, and a start before the mark was written, work; a damaged mark or a missing file is rejected", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  Deno.writeFileSync(path, new Uint8Array());
  assertEquals(await openedAs(path), []); // an empty file that never contained anything
  Deno.removeSync(`${path}.mark`);
  assertEquals(await openedAs(path), []);
  // A write was committed, and the process died before updating the mark: the store contains more than the mark, and is
  // accepted.
  const store = await openSqlite(path);
  await countWrite(store, { account: "a", runKey: "r", step: "s", at: 0 });
  await store[Symbol.asyncDispose]();
  assertEquals(await openedAs(path), []);
  assertStringIncludes(Deno.readTextFileSync(`${path}.mark`), '"number": 1');
  // A damaged mark proves nothing.
  Deno.writeTextFileSync(`${path}.mark`, "{");
  assertStringIncludes(String(await openedAs(path)), "is damaged");
  assertEquals(await verifyStoreFile(path), ["its mark is damaged"]);
  Deno.removeSync(path);
  for (const end of ["-wal", "-shm"]) if (existsSync(`${path}${end}`)) Deno.removeSync(`${path}${end}`);
  assertEquals(await verifyStoreFile(path), ["its mark is damaged", "the file is missing"]);
  // A "-wal" without its main file, which SQLite would delete, is rejected too.
  const other = `${folder.path}/other.db`;
  Deno.writeFileSync(`${other}-wal`, new Uint8Array(100));
  assertStringIncludes(String(await openedAs(other)), "the file is missing, although");
  assertStringIncludes((await verifyStoreFile(other)).join(), "the file is missing, although");
  Deno.writeTextFileSync(other, "x"); // SQLite treats this as an empty database
  Deno.removeSync(`${other}-wal`);
  assertStringIncludes(
    String(await openedAs(other)),
    "it has 1 byte; replace the store with its newest copy, or move",
  );
  Deno.writeTextFileSync(other, "xx");
  await assertRejects(async () => await openSqlite(other), Error, "file is not a database");
});

Deno.test("a write is not sent if its mark cannot be written, but reads continue", async () => {
  for (const isBroken of [false, true]) {
    using folder = temporaryFolder();
    const path = `${folder.path}/hsgate.db`;
    const began: string[] = [];
    const store = await openSqlite(path);
    // A folder takes the place of the mark, because a file cannot replace a folder.
    if (isBroken) {
      Deno.removeSync(`${path}.mark`);
      Deno.mkdirSync(`${path}.mark/kept`, { recursive: true });
    }
    await using b = await bench({
      start: "2025-12-22T00:00:00Z",
      recipes: [orders(began), recipe()],
      store,
    });
    await b.scheduler.start();
    await b.machine.pass(DAY);
    await b.scheduler.stop();
    assertEquals(began.length, isBroken ? 0 : 1);
    assertEquals(await runsOf(store), [
      `${KEY} ${isBroken ? "failed step" : "ok"} live`,
      "eod/s1/2025-12-22 ok live",
    ]);
    const error =
      (await store.get<{ error: string | null }>("select error from step_run where effect = 'write'"))!
        .error;
    if (isBroken) assertStringIncludes(error!, "Cannot write the mark");
  }
});

Deno.test("the mark is on disk before the write is sent", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  const marks: string[] = [];
  const store = await openSqlite(path);
  const place = step({
    id: "place",
    effect: "write",
    run: () => Promise.resolve(void marks.push(Deno.readTextFileSync(`${path}.mark`))),
  });
  await using b = await bench({
    start: "2025-12-22T01:00:00Z",
    recipes: [orders([], { steps: [place] })],
    store,
  });
  await b.scheduler.start();
  await b.machine.pass(2 * HOUR);
  await b.scheduler.stop();
  assertEquals(marks.length, 1);
  assertEquals(JSON.parse(marks[0]!).lastWrites, {
    default: { number: 1, run: KEY, step: "place", at: "2025-12-22T02:00:00.000Z" },
  });
});

Deno.test("acceptLoss() continues without the lost data, and repeats no past write", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  const began: string[] = [];
  const run = async (ms: number, start: string) => {
    const store = await openSqlite(path);
    await using b = await bench({ start, recipes: [orders(began)], store });
    await b.scheduler.start();
    await b.machine.pass(ms);
    await b.scheduler.stop();
    return await runsOf(store);
  };
  await run(HOUR, "2025-12-22T00:00:00Z"); // lists nothing yet
  const copy = `${folder.path}/copy.db`;
  {
    await using store = await openSqlite(path);
    await backupStore(store, copy);
  }
  await run(HOUR, "2025-12-22T01:30:00Z");
  assertEquals(began.length, 1);
  Deno.copyFileSync(copy, path);
  for (const end of ["-wal", "-shm"]) {
    Deno.copyFileSync(copy, `${path}${end}`), Deno.removeSync(`${path}${end}`);
  }
  // The slot of 02:00 is within its grace period, so a scheduler with only this copy would send the write again.
  await assertRefused(path, "older than its mark");
  assertStringIncludes((await acceptLoss(path, accepting))!, 'lacks step "one"');
  assertEquals(await run(HOUR, "2025-12-22T02:01:00Z"), []);
  assertEquals(began.length, 1);
  // A second acceptLoss() has nothing to accept, and the next day's write is sent normally.
  assertEquals(await acceptLoss(path, accepting), undefined);
  assertEquals(await run(DAY, "2025-12-23T00:00:00Z"), ["orders/s1/2025-12-23 ok live"]);
  assertEquals(began.length, 2);
  assertStringIncludes(Deno.readTextFileSync(`${path}.mark`), '"number": 2');
});

Deno.test("acceptLoss() marks each running run of an old copy as unknown, and replaces an empty store with a new one", async () => {
  using store = await killed();
  const { path } = store;
  // Makes the store a copy from the moment when the run was claimed and had not begun its step.
  {
    using db = new DatabaseSync(path);
    db.exec("delete from step_run; delete from account_write");
  }
  await assertRefused(path, "older than its mark");
  assertEquals(await acceptLoss(`${path}.none`, accepting), undefined); // there was never a store
  assertStringIncludes((await acceptLoss(path, accepting))!, "it contains 0 of 1 writes");
  assertEquals(await openedAs(path), [`${KEY} unknown loss_accepted live`]);
  Deno.truncateSync(path, 0);
  Deno.writeFileSync(`${path}-wal`, new Uint8Array(100));
  await assertRejects(async () => await acceptLoss(path, accepting), StoreError, "move");
  Deno.removeSync(`${path}-wal`);
  assertStringIncludes((await acceptLoss(path, accepting))!, "the file is empty");
  assertEquals(await openedAs(path), []);
});

Deno.test("store verify and accept report what is lost and how to continue; a second accept has nothing to do", async () => {
  using store = await killed();
  const { path } = store;
  Deno.removeSync(path);
  Deno.removeSync(`${path}-wal`);
  const verified = await cli(["store", "verify", "--store", path]);
  assertEquals(verified.code, 7);
  assertStringIncludes(verified.out, `the last step "place" of ${KEY}`);
  assertStringIncludes(verified.err, "store accept");
  for (const words of [["runs"], ["why", "orders", "2025-12-22"]]) {
    const { code, err } = await cli([...words, "--store", path]);
    assertEquals([code, err.includes("the file is missing")], [1, true], err);
  }
  const bare = await cli(["store", "accept", "--store", path]);
  assertEquals([bare.code, bare.err.includes("--because")], [2, true], bare.err);
  const accepted = await cli([
    "store",
    "accept",
    "--store",
    path,
    "--because",
    "none was placed",
    "--json",
  ]);
  assertEquals(accepted.code, 0, accepted.err);
  assertStringIncludes(JSON.parse(accepted.out).lost, "the file is missing");
  assertEquals((await cli(["runs", "--store", path])).out, "there are no runs\n");
  const again = await cli(["store", "accept", "--store", path, "--because", "none was placed"]);
  assertEquals(again.code, 2, again.err);
});

Deno.test("an empty store next to SQLite's -wal or -shm is rejected; without them it is reported and used as new", async () => {
  for (const end of ["-wal", "-shm"]) {
    using folder = temporaryFolder();
    const path = `${folder.path}/hsgate.db`;
    Deno.writeFileSync(path, new Uint8Array());
    Deno.writeFileSync(`${path}${end}`, new Uint8Array());
    assertStringIncludes(String(await openedAs(path)), "the file is empty, although");
    assertStringIncludes((await verifyStoreFile(path)).join(), "shows that it was in use");
  }
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  Deno.writeFileSync(path, new Uint8Array());
  assertStringIncludes((await verifyStoreFile(path)).join(), "the next run starts a new store");
  assertEquals(await openedAs(path), []);
  assertEquals([await verifyStoreFile(path), whyUnmarked(path)], [[], undefined]);
  Deno.removeSync(`${path}.mark`);
  assertEquals(await verifyStoreFile(path), []);
  assertStringIncludes(whyUnmarked(path) ?? "", `its mark "${Deno.realPathSync(path)}.mark" is missing`);
});

Deno.test("a store behind links uses the files next to the real file, even if that is missing", async () => {
  using folder = temporaryFolder();
  const [real, link, second] = ["data/real.db", "link.db", "second.db"].map((name) =>
    `${folder.path}/${name}`
  );
  Deno.mkdirSync(`${folder.path}/data`);
  Deno.symlinkSync("data/real.db", link!);
  Deno.symlinkSync(link!, second!);
  await (await openSqlite(real!))[Symbol.asyncDispose](); // a store is never created through a link
  {
    await using store = await openSqlite(second!);
    await countWrite(store, { account: "a", runKey: "r", step: "s", at: 0 });
    await store.mark();
  }
  const names = () => [...Deno.readDirSync(folder.path)].map(({ name }) => name).sort();
  assertEquals(names(), ["data", "link.db", "second.db"]);
  for (const path of [link!, second!, real!]) assertEquals([path, await openedAs(path)], [path, []]); // the control
  Deno.removeSync(real!);
  for (const path of [link!, second!, real!]) {
    assertStringIncludes(String(await openedAs(path)), "the file is missing, although");
    assertStringIncludes((await verifyStoreFile(path)).join(), "the file is missing, although");
  }
  Deno.removeSync(`${real}.mark`);
  Deno.writeFileSync(`${real}-wal`, new Uint8Array(100));
  assertStringIncludes(String(await openedAs(link!)), "real.db-wal");
});

Deno.test("verifying a store of a newer version reports the version, whatever its tables are named", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  {
    await using store = await openSqlite(path);
    await store.run("insert into migration (version) values (99)");
  }
  {
    using file = new DatabaseSync(path);
    file.exec(`create table "a""b" (n integer) strict`);
  }
  const error = await assertRejects(() => verifyStoreFile(path), StoreError);
  assertEquals(error.code, "newer-store");
});
