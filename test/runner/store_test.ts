import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Ledger, LedgerError } from "../../lib/runner/ledger.ts";
import { acceptLoss, backupLedger, verifyLedgerFile } from "../../lib/runner/ledger_care.ts";
import { whyUnmarked } from "../../lib/runner/ledger_mark.ts";
import { migrations } from "../../lib/runner/migrations.ts";
import { cli } from "../cli/support.ts";
import { killInWrite } from "./store_child.ts";
import { at, bench, DAY, HOUR, orders, recipe, runsOf, step, temporaryFolder } from "./support.ts";

const KEY = "orders/s1/2025-12-22";
const NOW = at("2025-12-22T02:01:00Z");
const accepting = { actor: "me", because: "no order was placed", now: NOW };

/** A ledger whose process was killed in a write, with everything in its "-wal". */
async function killed(): Promise<{ path: string } & Disposable> {
  const folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  await killInWrite(path);
  return { path, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** Opens a ledger and returns what its runs are; the error when it is refused. */
function openedAs(path: string): string[] | LedgerError {
  try {
    using ledger = new Ledger(path);
    return runsOf(ledger);
  } catch (error) {
    if (error instanceof LedgerError) return error;
    throw error;
  }
}

function assertRefused(path: string, why: string): void {
  const error = openedAs(path);
  assert(error instanceof LedgerError, `${why}: ${error}`);
  assertStringIncludes(error.message, why);
  assertStringIncludes(error.message, "hsgate ledger accept");
  const faults = verifyLedgerFile(path);
  assert(faults.length > 0 && faults.join("; ").includes(why), faults.join("; "));
}

Deno.test("a ledger that is empty, cut off or gone is refused while its mark names a write", async () => {
  using ledger = await killed();
  const { path } = ledger;
  // Control: as the kill left it, it opens and knows the write.
  const copy = `${path}.copy`;
  for (const end of ["", "-wal", ".mark"]) Deno.copyFileSync(`${path}${end}`, `${copy}${end}`);
  assertEquals(openedAs(copy), [`${KEY} running live`]);
  const named = `account "default" had 1 write, the last step "place" of ${KEY}`;
  const cases: [what: string, why: string, harm: () => void][] = [
    ["0 bytes", "the file is empty", () => Deno.truncateSync(path, 0)],
    ["1 byte", "the file is cut off", () => Deno.writeFileSync(path, new Uint8Array([83]))],
    ["gone", "the file is gone", () => Deno.removeSync(path)],
    ["gone with its -wal", "the file is gone", () => Deno.removeSync(`${path}-wal`)],
  ];
  for (const [what, why, harm] of cases) {
    harm();
    assertRefused(path, why);
    const error = openedAs(path);
    assertStringIncludes(String(error), named, what);
  }
});

Deno.test("a ledger that lost its -wal after a kill is refused, as it lacks the write", async () => {
  using ledger = await killed();
  const { path } = ledger;
  // What was there before the write is in the file itself.
  const before = `${path}.before`;
  {
    using older = new Ledger(before);
    older.event(0, "test", {});
  }
  Deno.removeSync(`${path}-wal`);
  assertRefused(path, "older than its mark");
  // Another ledger altogether in its place is refused as well.
  Deno.renameSync(before, path);
  assertRefused(path, "not the ledger that its mark belongs to");
});

Deno.test("an older copy is refused and one that knows every write is not, with the mark or without", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  const recipes = [orders([]), recipe()];
  const pass = async (ledger: Ledger, start: string) => {
    const b = bench({ start, recipes, ledger });
    b.scheduler.start();
    await b.host.pass(DAY);
    await b.scheduler.stop();
  };
  for (const [day, backup] of [["2025-12-22", "older.db"], ["2025-12-23", "newest.db"]] as const) {
    const ledger = new Ledger(path);
    await pass(ledger, `${day}T00:00:00Z`);
    await backupLedger(ledger, `${folder.path}/${backup}`);
    ledger[Symbol.dispose]();
  }
  const names = () => [...Deno.readDirSync(folder.path)].map(({ name }) => name).sort();
  assertEquals(names(), ["hsgate.db", "hsgate.db.mark", "newest.db", "older.db"]);
  Deno.copyFileSync(`${folder.path}/older.db`, path);
  assertRefused(path, 'it knows 1 of 2 writes on account "default"');
  Deno.copyFileSync(`${folder.path}/newest.db`, path);
  assert(Array.isArray(openedAs(path)));
  assertEquals(verifyLedgerFile(path), []);
  // Elsewhere a copy has no mark, and gets its own when it is used.
  assertEquals(verifyLedgerFile(`${folder.path}/older.db`), []);
  assertEquals(names().filter((name) => name.startsWith("older")), ["older.db"]);
  assert(Array.isArray(openedAs(`${folder.path}/older.db`)));
  assert(names().includes("older.db.mark"));
});

Deno.test("a first start, a crash before the mark and a ledger of the version before go on as ever", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  Deno.writeFileSync(path, new Uint8Array());
  assertEquals(openedAs(path), []); // made empty by somebody, and nothing was ever in it
  Deno.removeSync(`${path}.mark`);
  assertEquals(openedAs(path), []);
  // A write was committed and the process died before the mark said so: the ledger knows more, and is believed.
  const ledger = new Ledger(path);
  ledger.countWrite({ account: "a", runKey: "r", step: "s", at: 0 });
  ledger[Symbol.dispose]();
  assertEquals(openedAs(path), []);
  assertStringIncludes(Deno.readTextFileSync(`${path}.mark`), '"number": 1');
  // A ledger of an earlier version has neither.
  const older = `${folder.path}/older.db`;
  {
    using old = new DatabaseSync(older);
    old.exec("create table migration (version integer primary key) strict");
    for (const [index, statements] of migrations.slice(0, 3).entries()) {
      for (const sql of statements) old.exec(sql);
      old.exec(`insert into migration (version) values (${index + 1})`);
    }
  }
  assertEquals(openedAs(older), []);
  assertEquals(JSON.parse(Deno.readTextFileSync(`${older}.mark`)).lastWrites, {});
  // A mark that cannot be read shows nothing.
  Deno.writeTextFileSync(`${path}.mark`, "{");
  assertStringIncludes(String(openedAs(path)), "is damaged");
  assertEquals(verifyLedgerFile(path), ["its mark is damaged"]);
  Deno.removeSync(path);
  for (const end of ["-wal", "-shm"]) if (existsSync(`${path}${end}`)) Deno.removeSync(`${path}${end}`);
  assertEquals(verifyLedgerFile(path), ["its mark is damaged", "the file is gone"]);
  // So does a "-wal" without its file, which SQLite would delete.
  const other = `${folder.path}/other.db`;
  Deno.writeFileSync(`${other}-wal`, new Uint8Array(100));
  assertStringIncludes(String(openedAs(other)), "the file is gone, though");
  assertStringIncludes(verifyLedgerFile(other).join(), "the file is gone, though");
  Deno.writeTextFileSync(other, "x"); // what SQLite takes for an empty database
  Deno.removeSync(`${other}-wal`);
  assertStringIncludes(String(openedAs(other)), "it has 1 byte; put the newest copy in its place, or move");
  Deno.writeTextFileSync(other, "xx");
  assertThrows(() => new Ledger(other), Error, "file is not a database");
});

Deno.test("a write is not sent when its mark cannot be written, and reads go on", async () => {
  for (const isBroken of [false, true]) {
    using folder = temporaryFolder();
    const path = `${folder.path}/hsgate.db`;
    const began: string[] = [];
    const ledger = new Ledger(path);
    // A folder in the mark's place: nothing can be renamed over it.
    if (isBroken) {
      Deno.removeSync(`${path}.mark`);
      Deno.mkdirSync(`${path}.mark/kept`, { recursive: true });
    }
    using b = bench({ start: "2025-12-22T00:00:00Z", recipes: [orders(began), recipe()], ledger });
    b.scheduler.start();
    await b.host.pass(DAY);
    await b.scheduler.stop();
    assertEquals(began.length, isBroken ? 0 : 1);
    assertEquals(runsOf(ledger), [
      `${KEY} ${isBroken ? "failed step" : "ok"} live`,
      "eod/s1/2025-12-22 ok live",
    ]);
    const error =
      ledger.get<{ error: string | null }>("select error from step_run where effect = 'write'")!.error;
    if (isBroken) assertStringIncludes(error!, "Cannot write the mark");
  }
});

Deno.test("the mark is on disk before the write is sent", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  const marks: string[] = [];
  const ledger = new Ledger(path);
  const place = step({
    id: "place",
    effect: "write",
    run: () => Promise.resolve(void marks.push(Deno.readTextFileSync(`${path}.mark`))),
  });
  using b = bench({ start: "2025-12-22T01:00:00Z", recipes: [orders([], { steps: [place] })], ledger });
  b.scheduler.start();
  await b.host.pass(2 * HOUR);
  await b.scheduler.stop();
  assertEquals(marks.length, 1);
  assertEquals(JSON.parse(marks[0]!).lastWrites, {
    default: { number: 1, run: KEY, step: "place", at: "2025-12-22T02:00:00.000Z" },
  });
});

Deno.test("acceptLoss() goes on without what is lost, and sends no write of the past again", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  const began: string[] = [];
  const run = async (ms: number, start: string) => {
    const ledger = new Ledger(path);
    using b = bench({ start, recipes: [orders(began)], ledger });
    b.scheduler.start();
    await b.host.pass(ms);
    await b.scheduler.stop();
    return runsOf(ledger);
  };
  await run(HOUR, "2025-12-22T00:00:00Z"); // lists nothing yet
  const copy = `${folder.path}/copy.db`;
  {
    using ledger = new Ledger(path);
    await backupLedger(ledger, copy);
  }
  await run(HOUR, "2025-12-22T01:30:00Z");
  assertEquals(began.length, 1);
  Deno.copyFileSync(copy, path);
  for (const end of ["-wal", "-shm"]) {
    Deno.copyFileSync(copy, `${path}${end}`), Deno.removeSync(`${path}${end}`);
  }
  // The slot of 02:00 is within its grace, so that the copy alone would send it again.
  assertRefused(path, "older than its mark");
  assertStringIncludes(acceptLoss(path, accepting)!, 'lacks step "one"');
  assertEquals(await run(HOUR, "2025-12-22T02:01:00Z"), []);
  assertEquals(began.length, 1);
  // Nothing is lost twice, and the next day is written as ever.
  assertEquals(acceptLoss(path, accepting), undefined);
  assertEquals(await run(DAY, "2025-12-23T00:00:00Z"), ["orders/s1/2025-12-23 ok live"]);
  assertEquals(began.length, 2);
  assertStringIncludes(Deno.readTextFileSync(`${path}.mark`), '"number": 2');
});

Deno.test("acceptLoss() makes a new ledger where it is gone, and unknown what a copy shows as running", async () => {
  using ledger = await killed();
  const { path } = ledger;
  // A copy of the moment in which the run was claimed and had not begun its step.
  {
    using db = new DatabaseSync(path);
    db.exec("delete from step_run; delete from account_write");
  }
  assertRefused(path, "older than its mark");
  assertEquals(acceptLoss(`${path}.none`, accepting), undefined); // nothing was ever there
  assertStringIncludes(acceptLoss(path, accepting)!, "it knows 0 of 1 writes");
  assertEquals(openedAs(path), [`${KEY} unknown maintenance live`]);
  Deno.truncateSync(path, 0);
  Deno.writeFileSync(`${path}-wal`, new Uint8Array(100));
  assertThrows(() => acceptLoss(path, accepting), LedgerError, "move");
  Deno.removeSync(`${path}-wal`);
  assertStringIncludes(acceptLoss(path, accepting)!, "the file is empty");
  assertEquals(openedAs(path), []);
});

Deno.test("ledger verify and accept say what is lost and how to go on; a second accept has nothing to do", async () => {
  using ledger = await killed();
  const { path } = ledger;
  Deno.removeSync(path);
  Deno.removeSync(`${path}-wal`);
  const verified = await cli(["ledger", "verify", "--ledger", path]);
  assertEquals(verified.code, 7);
  assertStringIncludes(verified.out, `the last step "place" of ${KEY}`);
  assertStringIncludes(verified.err, "ledger accept");
  for (const words of [["runs"], ["why", "orders", "2025-12-22"]]) {
    const { code, err } = await cli([...words, "--ledger", path]);
    assertEquals([code, err.includes("the file is gone")], [1, true], err);
  }
  const bare = await cli(["ledger", "accept", "--ledger", path]);
  assertEquals([bare.code, bare.err.includes("--because")], [2, true], bare.err);
  const accepted = await cli([
    "ledger",
    "accept",
    "--ledger",
    path,
    "--because",
    "none was placed",
    "--json",
  ]);
  assertEquals(accepted.code, 0, accepted.err);
  assertStringIncludes(JSON.parse(accepted.out).lost, "the file is gone");
  assertEquals((await cli(["runs", "--ledger", path])).out, "there are no runs\n");
  const again = await cli(["ledger", "accept", "--ledger", path, "--because", "none was placed"]);
  assertEquals(again.code, 2, again.err);
});

Deno.test("an empty ledger beside what SQLite keeps of one in use is refused; alone it is told and taken as new", () => {
  for (const end of ["-wal", "-shm"]) {
    using folder = temporaryFolder();
    const path = `${folder.path}/hsgate.db`;
    Deno.writeFileSync(path, new Uint8Array());
    Deno.writeFileSync(`${path}${end}`, new Uint8Array());
    assertStringIncludes(String(openedAs(path)), "the file is empty, though");
    assertStringIncludes(verifyLedgerFile(path).join(), "shows that it was in use");
  }
  using folder = temporaryFolder();
  const path = `${folder.path}/hsgate.db`;
  Deno.writeFileSync(path, new Uint8Array());
  assertStringIncludes(verifyLedgerFile(path).join(), "the next run begins a new one");
  assertEquals(openedAs(path), []);
  assertEquals([verifyLedgerFile(path), whyUnmarked(path)], [[], undefined]);
  Deno.removeSync(`${path}.mark`);
  assertEquals(verifyLedgerFile(path), []);
  assertStringIncludes(whyUnmarked(path) ?? "", `its mark "${Deno.realPathSync(path)}.mark" is missing`);
});

Deno.test("a ledger behind links uses the files beside the real one, also when that is gone", () => {
  using folder = temporaryFolder();
  const [real, link, second] = ["data/real.db", "link.db", "second.db"].map((name) =>
    `${folder.path}/${name}`
  );
  Deno.mkdirSync(`${folder.path}/data`);
  Deno.symlinkSync("data/real.db", link!);
  Deno.symlinkSync(link!, second!);
  {
    using ledger = new Ledger(second!);
    ledger.countWrite({ account: "a", runKey: "r", step: "s", at: 0 });
    ledger.mark();
  }
  const names = () => [...Deno.readDirSync(folder.path)].map(({ name }) => name).sort();
  assertEquals(names(), ["data", "link.db", "second.db"]);
  for (const path of [link!, second!, real!]) assertEquals([path, openedAs(path)], [path, []]); // the control
  Deno.removeSync(real!);
  for (const path of [link!, second!, real!]) {
    assertStringIncludes(String(openedAs(path)), "the file is gone, though");
    assertStringIncludes(verifyLedgerFile(path).join(), "the file is gone, though");
  }
  Deno.removeSync(`${real}.mark`);
  Deno.writeFileSync(`${real}-wal`, new Uint8Array(100));
  assertStringIncludes(String(openedAs(link!)), "real.db-wal");
});
