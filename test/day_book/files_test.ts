/** Tests that the files of a day reach the disk, and that later changes to them are noticed. */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { DayBookError } from "../../lib/day_book/mod.ts";
import { ExportFolder } from "../../lib/day_book/folder/export_folder.ts";
import { readRows } from "../../lib/day_book/rows/files.ts";
import { exists } from "../../lib/private_files.ts";
import { bookOf, DAY, openBook } from "./books.ts";
import { temporaryFolder } from "./simulated.ts";

/** System calls of the program in order: files by their inode number, folders by their path. */
type SystemCall = { call: "sync" | "write"; ino: number } | { call: "rename"; from: string; to: string };

/** Records the system calls of the program while a function runs. */
async function watched(run: () => Promise<unknown>): Promise<SystemCall[]> {
  const calls: SystemCall[] = [];
  const { syncSync, writeSync } = Deno.FsFile.prototype;
  const { renameSync } = Deno;
  const numberOf = (file: Deno.FsFile) => file.statSync().ino ?? 0;
  Deno.FsFile.prototype.syncSync = function () {
    calls.push({ call: "sync", ino: numberOf(this) });
    syncSync.call(this);
  };
  Deno.FsFile.prototype.writeSync = function (bytes) {
    calls.push({ call: "write", ino: numberOf(this) });
    return writeSync.call(this, bytes);
  };
  Deno.renameSync = (from, to) => {
    calls.push({ call: "rename", from: String(from), to: String(to) });
    renameSync(from, to);
  };
  try {
    await run();
  } finally {
    Object.assign(Deno.FsFile.prototype, { syncSync, writeSync });
    Deno.renameSync = renameSync;
  }
  return calls;
}

const inoOf = (path: string) => Deno.statSync(path).ino ?? 0;

Deno.test("exportDayBook() syncs every file, its folder and the parent folder to the disk, in that order", async () => {
  await using book = openBook(bookOf("hk", 5), { owner: "mine" });
  const out = `${book.out}/new/books`;
  const calls = await watched(() => book.exportDay({ out, wire: true }));
  const place = `${out}/${DAY}`;
  const published = calls.findIndex((each) => each.call === "rename" && each.to === place);
  assert(published > 0, "the day was renamed to its final name");
  const lastOf = (call: SystemCall["call"], ino: number, before = calls.length) =>
    calls.slice(0, before).findLastIndex((each) => each.call === call && "ino" in each && each.ino === ino);
  const names = [...Deno.readDirSync(place)].map(({ name }) => name);
  assert(
    names.includes("summary.json") && names.includes("fills.wire.jsonl") && names.length >= 11,
    names.join(),
  );
  const folderSynced = lastOf("sync", inoOf(place), published);
  assert(folderSynced >= 0, "the names in the day's folder are on the disk before the rename");
  for (const name of names) {
    const ino = inoOf(`${place}/${name}`);
    const synced = lastOf("sync", ino, published);
    assert(synced >= 0, `${name} was synced to the disk before the rename`);
    assert(synced > lastOf("write", ino), `${name} was not written to afterwards`);
    assert(synced < folderSynced, `${name} existed when its folder was synced`);
  }
  assert(lastOf("sync", inoOf(out)) > published, "the day's own name is on the disk afterwards");
  // A folder that the export created is an entry in its parent folder, so the parent must be synced too.
  for (const above of [`${book.out}/new`, book.out]) assert(lastOf("sync", inoOf(above)) >= 0, above);
  const account = `${out}/account.json`;
  assert(lastOf("sync", inoOf(account)) > lastOf("write", inoOf(account)), "account.json is on the disk");
});

Deno.test("exportDayBook() syncs the folder after the renames that set a day aside and drop a disputed reading", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"], refresh: true });
  await book.exportDay();
  book.broker.script = bookOf("us", 2);
  await book.exportDay();
  book.broker.script = bookOf("us", 4);
  const calls = await watched(() => book.exportDay());
  const out = inoOf(book.out);
  for (const name of [`.${DAY}.previous`, `.${DAY}.disputed-1.dropped`]) {
    const renamed = calls.findIndex((each) => each.call === "rename" && each.to === `${book.out}/${name}`);
    assert(renamed >= 0, name);
    assert(calls.slice(renamed).some((each) => each.call === "sync" && each.ino === out), name);
  }
});

const changedText = "was changed after the export wrote it";
const damages: Record<string, [damage: (path: string) => void, reason: string, restoredReason: string]> = {
  "was cut short": [(path) => Deno.truncateSync(path, 100), changedText, changedText],
  "was changed by a digit": [
    (path) => Deno.writeTextFileSync(path, Deno.readTextFileSync(path).replace("35020.00", "35021.00")),
    changedText,
    changedText,
  ],
  "is missing": [(path) => Deno.removeSync(path), "is missing", "was missing"],
};

for (const [what, [damage, reason, restoredReason]] of Object.entries(damages)) {
  Deno.test(`exportDayBook() does not report a day as kept if one of its files ${what}`, async () => {
    await using book = openBook(bookOf("us", 3), { markets: ["us"] });
    await book.exportDay();
    assertEquals((await book.exportDay()).days[0]?.action, "kept");
    const whole = book.files(DAY);
    damage(`${book.out}/${DAY}/fills.csv`);
    const broken = book.files(DAY);
    // The broker no longer has the same data: the day stays as it is, and the message says what to do.
    book.broker.script = bookOf("us", 4);
    const { ok, days: [day], differences } = await book.exportDay();
    assertEquals([ok, day?.action, day?.beside.length], [false, "disputed", 1]);
    assertEquals([differences[0]?.check, differences[0]?.expected.length], ["files", "sha256 ".length + 64]);
    assertEquals(
      differences[0]?.message,
      `"${book.out}/${DAY}/fills.csv" ${reason}: restore it from a backup, or move ` +
        `"${book.out}/${DAY}" away and export the day again`,
    );
    assertEquals(book.files(DAY), broken);
    // The broker has the same data: the file is restored, and the damage is reported once.
    book.broker.script = bookOf("us", 3);
    Deno.removeSync(`${book.out}/${DAY}.disputed-1`, { recursive: true });
    const restored = await book.exportDay();
    assertEquals([restored.ok, restored.days[0]?.action, restored.differenceCount], [false, "restored", 1]);
    assertStringIncludes(
      restored.differences[0]!.message,
      `fills.csv" ${restoredReason}: the broker sent the same data again, and the file is restored`,
    );
    assertEquals(book.files(DAY), whole);
    const after = await book.exportDay();
    assertEquals([after.ok, after.days[0]?.action], [true, "kept"]);
  });
}

Deno.test("exportDayBook() compares a new reading with the undamaged files of a damaged day", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"] });
  await book.exportDay();
  Deno.truncateSync(`${book.out}/${DAY}/fills.jsonl`, 100);
  book.broker.script = bookOf("us", 2);
  const { differences } = await book.exportDay();
  assertEquals(differences.map(({ check, list }) => `${check} ${list ?? ""}`), [
    "files ",
    "rows fills",
    "rows orders",
    "rows fund_journal",
  ]);
});

Deno.test("exportDayBook() does not remove a damaged reading that contradicts a day", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"], refresh: true });
  await book.exportDay();
  book.broker.script = bookOf("us", 2);
  await book.exportDay();
  Deno.truncateSync(`${book.out}/${DAY}.disputed-1/fills.csv`, 100);
  book.broker.script = bookOf("us", 3);
  const { ok, days: [day] } = await book.exportDay();
  assertEquals([ok, day?.action, book.names()], [false, "disputed", [DAY, `${DAY}.disputed-1`]]);
});

Deno.test("exportDayBook() reports a damaged summary, and still exports another day", async () => {
  await using book = openBook({ ...bookOf("us", 3), ...bookOf("us", 2, { day: "2025-08-14" }) }, {
    markets: ["us"],
  });
  await book.exportDay();
  Deno.writeTextFileSync(`${book.out}/${DAY}/summary.json`, "{");
  const error = await assertRejects(() => book.exportDay(), DayBookError);
  assertEquals(error.code, "not-a-day-book");
  assertStringIncludes(error.message, "its summary.json is missing or damaged; move it away, restore it");
  assertEquals((await book.exportDay({ from: "2025-08-14", to: "2025-08-14" })).days[0]?.action, "written");
});

Deno.test("exportDayBook() accepts no day with a forged summary.json, without digests of its files, or with a link as a file", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"] });
  await book.exportDay();
  const [folder, path] = [`${book.out}/${DAY}`, `${book.out}/${DAY}/summary.json`];
  const original = Deno.readTextFileSync(path);
  const changed = (change: Record<string, unknown>) =>
    Deno.writeTextFileSync(path, JSON.stringify({ ...JSON.parse(original), ...change }));
  for (
    const wrong of [
      { files: { "../../secret": { bytes: 1, sha256: "" } } },
      { files: { "fills.csv": null } },
      { settings: {} },
      { markets: { us: null } },
      { markets: { constructor: { lists: {} } } },
      { rows: null },
      { checks: [null] },
      // The names of lists become parts of the paths that `--join` writes.
      { rows: { "x/../../../escaped": 1 } },
      { markets: { us: { lists: { "../../secret": { rows: 1, origin: "history" } } } } },
      { markets: { us: { lists: { fills: { rows: 1, origin: "/../../secret" } } } } },
      { settings: { ...JSON.parse(original).settings, formats: ["/../../secret.txt"] } },
      { settings: { ...JSON.parse(original).settings, markets: ["__proto__"] } },
      { day: "../x" },
    ]
  ) {
    changed(wrong);
    const error = await assertRejects(() => book.exportDay(), DayBookError);
    assertEquals(error.code, "not-a-day-book", JSON.stringify(wrong));
  }
  Deno.writeTextFileSync(path, "null");
  assertEquals((await assertRejects(() => book.exportDay(), DayBookError)).code, "not-a-day-book");
  // Without digests any content would count as exported.
  changed({ files: {} });
  const { days: [day], differences } = await book.exportDay();
  assertEquals(day?.action, "disputed");
  assertEquals(
    [differences[0]?.expected, differences[0]?.actual],
    ["a digest in summary.json", "no digest"],
  );
  assertStringIncludes(differences[0]!.message, `"${path}" has no digest of "fills.csv": restore it`);
  Deno.writeTextFileSync(path, original);
  Deno.writeTextFileSync(`${book.out}/secret`, "private key");
  Deno.removeSync(`${folder}/fills.csv`);
  Deno.symlinkSync("../secret", `${folder}/fills.csv`);
  for (const change of [{}, { files: {} }]) {
    changed(change);
    assertEquals((await assertRejects(() => book.exportDay(), DayBookError)).code, "link");
  }
});

Deno.test("exportDayBook() writes and publishes nothing through a link that replaces the folder of an unfinished day", async () => {
  for (const stage of ["read", "hasSecret"]) {
    await using book = openBook(bookOf("us", 3), { markets: ["us"] });
    const [partial, victim] = [`${book.out}/.${DAY}.partial`, `${book.out}/victim`];
    Deno.mkdirSync(victim, { recursive: true });
    const mine = ["fills.csv", "fills.jsonl", "summary.json", "precious.part"];
    for (const name of mine) Deno.writeTextFileSync(`${victim}/${name}`, "precious");
    const plant = () => {
      Deno.renameSync(partial, `${book.out}/moved`);
      // The link leads to a folder with the files that the export needs.
      for (const { name } of Deno.readDirSync(`${book.out}/moved`)) {
        if (!exists(`${victim}/${name}`)) Deno.copyFileSync(`${book.out}/moved/${name}`, `${victim}/${name}`);
      }
      Deno.symlinkSync("victim", partial);
    };
    let isPlanted = false;
    const error = await assertRejects(
      () =>
        book.exportDay({
          onProgress: (event) => event.type === "stage" && event.stage === stage && plant(),
          hasSecret: () => {
            if (stage === "hasSecret" && !isPlanted) plant();
            isPlanted = true;
            return false;
          },
        }),
      DayBookError,
    );
    assertEquals([error.code, exists(`${book.out}/${DAY}`), exists(partial)], ["link", false, false], stage);
    assertStringIncludes(error.message, "another program replaced the folder of the unfinished day");
    for (const name of mine) assertEquals(Deno.readTextFileSync(`${victim}/${name}`), "precious", name);
  }
});

Deno.test("readRows() names the line of a file that is not a row", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/fills.jsonl`;
  const good = '{"rowKey":"hk/1"}';
  for (const line of ["null", "1", "[]", '"x"', "{}", '{"rowKey":{}}', '{"rowKey"', "[".repeat(100_000)]) {
    Deno.writeTextFileSync(path, `${good}\n${line}\n`);
    const error = assertThrows(() => [...readRows(path, "jsonl")], DayBookError);
    assertEquals([error.code, error.message.split(";")[0]], [
      "not-a-row",
      `Cannot read "${path}": line 2 is not a row of a day book`,
    ]);
  }
});

Deno.test("readRows() reads a huge row and a file with an unclosed quote in seconds, and rejects a row above its limit", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/fills`;
  const long = "x".repeat(24 * 1024 * 1024);
  Deno.writeTextFileSync(`${path}.jsonl`, `{"rowKey":"1","name":"${long}"}\n{"rowKey":"2"}\n`);
  // The line ends fall on every position of a block.
  const lines = 'a""\r\n'.repeat(65_536);
  Deno.writeTextFileSync(`${path}.csv`, `rowKey,name\r\n1,"${lines}"\r\n2,"b""\r\n"\r\n`);
  const begun = performance.now();
  assertEquals([...readRows(`${path}.jsonl`, "jsonl")].map(({ rowKey }) => rowKey), ["1", "2"]);
  const rows = [...readRows(`${path}.csv`, "csv")];
  assertEquals(rows.map(({ rowKey }) => rowKey).at(-1), "2");
  assertEquals(rows.at(-1)?.name, 'b"\n', "the parser turns a line end within quotes into \\n");
  const open = `${"a".repeat(30)}\r\n`.repeat(400_000);
  Deno.writeTextFileSync(`${path}.csv`, `rowKey,name\r\n1,"${open}`);
  assertEquals([...readRows(`${path}.csv`, "csv")], [], "a row without an end is no row");
  const ms = performance.now() - begun;
  assert(ms < 20_000, `${ms} ms`);
  Deno.writeTextFileSync(`${path}.jsonl`, "x".repeat(1024 * 1024).repeat(65));
  assertStringIncludes(
    assertThrows(() => [...readRows(`${path}.jsonl`, "jsonl")], DayBookError).message,
    "a row has more than 67108864 characters",
  );
});

Deno.test("exportDayBook() keeps final days that an older version wrote, and reads its empty days again", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"] });
  const older = (path: string) => {
    const { standing: _, contradicts: _c, unknownMembers: _u, ...summary } = JSON.parse(
      Deno.readTextFileSync(path),
    );
    const { markets, formats } = summary.settings;
    const checks = summary.checks.filter(({ check }: { check: string }) => check !== "empty");
    const settings = { markets, formats, futures: false };
    Deno.writeTextFileSync(path, JSON.stringify({ ...summary, version: 1, settings, checks }));
  };
  await book.exportDay();
  older(`${book.out}/${DAY}/summary.json`);
  assertEquals((await book.exportDay()).days[0]?.action, "kept");
  const empty = { from: "2025-08-01", to: "2025-08-01" };
  await book.exportDay(empty);
  older(`${book.out}/2025-08-01/summary.json`);
  book.broker.script = { ...book.broker.script, ...bookOf("us", 2, { day: "2025-08-01" }) };
  const again = await book.exportDay(empty);
  assertEquals([again.days[0]?.action, again.days[0]?.rows.fills], ["replaced", 2]);
});

Deno.test("ExportFolder cleans up disputed readings that a killed run left half moved or half removed", () => {
  using folder = temporaryFolder();
  const at = (name: string) => `${folder.path}/${name}`;
  const left = [`.${DAY}.disputed-1.dropped`, `.${DAY}.disputed-2.previous`, `.${DAY}.disputed-3.previous`];
  for (const name of [...left, `${DAY}.disputed-3`]) {
    Deno.mkdirSync(at(name));
    Deno.writeTextFileSync(`${at(name)}/summary.json`, name);
  }
  using exportFolder = ExportFolder.open(folder.path);
  assertEquals(exportFolder.disputed(DAY), [`${DAY}.disputed-2`, `${DAY}.disputed-3`]);
  assertEquals(Deno.readTextFileSync(at(`${DAY}.disputed-2/summary.json`)), left[1]);
  assertEquals(Deno.readTextFileSync(at(`${DAY}.disputed-3/summary.json`)), `${DAY}.disputed-3`);
  assertEquals(left.filter((name) => exists(at(name))), []);
  assertEquals(exportFolder.nextDisputed(DAY), `${DAY}.disputed-4`);
});

Deno.test("exportDayBook() unlocks explicitly: closing the file is not enough while a process is being started", async () => {
  await using book = openBook(bookOf("us", 1), { markets: ["us"] });
  const { unlockSync } = Deno.FsFile.prototype;
  let unlocked = 0;
  Deno.FsFile.prototype.unlockSync = function () {
    unlocked++;
    unlockSync.call(this);
  };
  try {
    await book.exportDay();
  } finally {
    Deno.FsFile.prototype.unlockSync = unlockSync;
  }
  assertEquals(unlocked, 1);
});
