import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DayBookError, type DayBookOptions } from "../../lib/day_book/mod.ts";
import { spawnExport } from "./export_child.ts";
import { exportToLimitedDisk, type LimitedOutcome } from "./limited_disk.ts";
import { readTree } from "./scripted_gateway.ts";
import {
  buyOnce,
  FRIDAY_MORNING,
  SATURDAY,
  type Simulated,
  simulated,
  temporaryFolder,
} from "./simulated.ts";

const WEEK = { from: "2025-08-13", to: "2025-08-15" };
const visibleDays = (out: string) =>
  [...Deno.readDirSync(out)].map(({ name }) => name).filter((name) => name !== ".day-book.lock").sort();

/** Returns the files of an export without faults. */
async function undisturbed(broker: Simulated, options: Partial<DayBookOptions> = {}) {
  using folder = temporaryFolder();
  await broker.exportDays({ ...WEEK, out: folder.path, ...options });
  return readTree(folder.path);
}

async function failure(broker: Simulated, options: Partial<DayBookOptions> & { out: string }) {
  return await assertRejects(() => broker.exportDays({ ...WEEK, ...options }), DayBookError);
}

Deno.test("exportDayBook() finds no difference in any market of the simulated broker, futures included", async () => {
  await using broker = await simulated();
  using folder = temporaryFolder();
  const markets = ["hk", "us", "shanghai", "shenzhen"] as const;
  const result = await broker.exportDays({ ...WEEK, out: folder.path, markets });
  assertEquals(result.differences, []);
  assertEquals([result.ok, result.days.length], [true, 3]);
  for (const { day, status, markets: each } of result.days) {
    assertEquals(status, "final");
    assertEquals([each.hk?.rows.fills, each.us?.rows.fills, each.shanghai?.rows.fills], [40, 40, 40], day);
    assert((each.futures?.rows.futures_fills ?? 0) > 0, "futures fills");
    const { checks } = JSON.parse(Deno.readTextFileSync(`${folder.path}/${day}/summary.json`));
    const tied = checks.filter(({ check, result }: Record<string, string>) =>
      check === "journal" && result === "passed"
    );
    assertEquals(tied.length, 4);
  }
});

Deno.test("exportDayBook() writes nothing when repeated, and the same bytes in an empty folder", async () => {
  await using broker = await simulated();
  using folder = temporaryFolder();
  await broker.exportDays({ ...WEEK, out: folder.path });
  const first = readTree(folder.path);
  const stamps = () =>
    Object.keys(first).map((name) => Deno.statSync(`${folder.path}/${name}`).mtime?.getTime());
  const before = stamps();
  const again = await broker.exportDays({ ...WEEK, out: folder.path, refresh: true });
  assertEquals(again.days.map(({ action }) => action), ["unchanged", "unchanged", "unchanged"]);
  assertEquals([readTree(folder.path), stamps()], [first, before]);
  assertEquals(await undisturbed(broker, { concurrency: 1 }), first);
});

Deno.test("exportDayBook() marks the running day, and makes it final once its fees have arrived", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const orderId = await buyOnce(broker);
  using folder = temporaryFolder();
  const friday = async (at: string) => {
    broker.clock.set(Date.parse(at));
    broker.simulator.round();
    const { days } = await broker.exportDays({ ...WEEK, out: folder.path, accounts: ["securities"] });
    const { status, action, provisionalBecause } = days.at(-1)!;
    const rows = Deno.readTextFileSync(`${folder.path}/2025-08-15/fills.jsonl`).trimEnd().split("\n");
    assertEquals(rows.length, 1);
    const fill = JSON.parse(rows[0]!);
    assertEquals(fill.orderId, orderId);
    return { status, action, provisionalBecause, total: fill.total, rowKey: fill.rowKey };
  };
  const morning = await friday("2025-08-15T11:00:00+08:00");
  assertEquals([morning.status, morning.action, morning.total], ["provisional", "written", undefined]);
  assertStringIncludes(morning.provisionalBecause.join(), "the session is not over");
  const close = await friday("2025-08-15T17:00:00+08:00");
  assertEquals([close.status, close.total], ["provisional", undefined]);
  assertStringIncludes(close.provisionalBecause.join(), "1 of 1 fills have no fees yet");
  const evening = await friday("2025-08-15T20:00:00+08:00");
  assertEquals([evening.status, evening.action, evening.provisionalBecause], ["final", "replaced", []]);
  assert(evening.total !== undefined, "the total of the fees is there");
  assertEquals([close.rowKey, evening.rowKey], [morning.rowKey, morning.rowKey]);
  const saturday = await friday("2025-08-16T12:00:00+08:00");
  assertEquals([saturday.status, saturday.action], ["final", "unchanged"]);
  const monday = await friday("2025-08-19T12:00:00+08:00");
  assertEquals([monday.status, monday.action], ["final", "kept"]);
});

Deno.test("exportDayBook() leaves out days that have not begun", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  using folder = temporaryFolder();
  const result = await broker.exportDays({ from: "2025-08-14", to: "2025-08-18", out: folder.path });
  assertEquals(result.notBegun, ["2025-08-16", "2025-08-17", "2025-08-18"]);
  assertEquals(visibleDays(folder.path), ["2025-08-14", "2025-08-15"]);
});

for (const kind of ["cursor-repeat", "cursor-backward", "cursor-empty"] as const) {
  Deno.test(`exportDayBook() stops when paging is broken by ${kind}, keeps earlier days, and continues later`, async () => {
    await using broker = await simulated({ fillsPerDay: 250 });
    using folder = temporaryFolder();
    broker.simulator.faults.arm({ kind, operation: "fills.history", skip: 4 });
    const error = await failure(broker, { out: folder.path, accounts: ["securities"] });
    assertEquals(broker.simulator.faults.struck(kind), 1);
    assertEquals([error.code, error.day, error.kept], ["interrupted", "2025-08-14", ["2025-08-13"]]);
    assertStringIncludes(error.message, "Cannot export 2025-08-14: Cannot read fills.history to its end");
    assertEquals(visibleDays(folder.path), ["2025-08-13"]);
    const result = await broker.exportDays({ ...WEEK, out: folder.path, accounts: ["securities"] });
    assertEquals(result.days.map(({ action }) => action), ["kept", "written", "written"]);
    assertEquals(readTree(folder.path), await undisturbed(broker, { accounts: ["securities"] }));
  });
}

Deno.test("exportDayBook() continues after pages that are too short", async () => {
  await using broker = await simulated({ fillsPerDay: 250 });
  using folder = temporaryFolder();
  broker.simulator.faults.arm({ kind: "short-page", operation: "fills.history", times: 3 });
  const result = await broker.exportDays({ ...WEEK, out: folder.path });
  assertEquals([broker.simulator.faults.struck("short-page"), result.ok], [3, true]);
  assertEquals(readTree(folder.path), await undisturbed(broker));
});

Deno.test("exportDayBook() finds missing fills, because the orders show a higher filled quantity", async () => {
  await using broker = await simulated({ fillsPerDay: 250 });
  using folder = temporaryFolder();
  broker.simulator.faults.arm({ kind: "empty-page", operation: "fills.history" });
  const result = await broker.exportDays({ ...WEEK, out: folder.path });
  assertEquals(broker.simulator.faults.struck("empty-page"), 1);
  assertEquals([result.ok, result.days[0]?.differences], [false, result.differenceCount]);
  const checks = new Set(result.differences.map(({ check, day }) => `${day} ${check}`));
  assertEquals([...checks].sort(), ["2025-08-13 journal", "2025-08-13 orders"]);
});

Deno.test("exportDayBook() succeeds despite a busy broker, broken connections and an expired login", async () => {
  await using broker = await simulated();
  using folder = temporaryFolder();
  broker.simulator.faults.arm({ kind: "busy", operation: "fills.history", skip: 1 });
  broker.simulator.faults.arm({ kind: "reset-after", operation: "orders.history", bytes: 300, skip: 1 });
  broker.simulator.faults.arm({ kind: "expired-login", operation: "fundJournal.history", skip: 4 });
  const result = await broker.exportDays({ ...WEEK, out: folder.path });
  assertEquals(Object.keys(broker.simulator.faults.counts).sort(), ["busy", "expired-login", "reset-after"]);
  assertEquals(result.ok, true);
  assertEquals(readTree(folder.path), await undisturbed(broker));
});

Deno.test("exportDayBook() keeps earlier days when the gateway disappears, and says what to do", async () => {
  await using broker = await simulated();
  using folder = temporaryFolder();
  const onProgress: DayBookOptions["onProgress"] = (event) => {
    if (event.type === "day-started" && event.day === "2025-08-14") void broker.simulator.close();
  };
  const error = await failure(broker, { out: folder.path, onProgress });
  assertEquals([error.code, error.day, error.kept], ["unreachable", "2025-08-14", ["2025-08-13"]]);
  assertStringIncludes(
    error.message,
    "1 day is kept (2025-08-13 to 2025-08-13); check that the gateway is running, then run the same export again to continue",
  );
  assertEquals(visibleDays(folder.path), ["2025-08-13"]);
});

Deno.test("exportDayBook() stops when its signal is aborted, and leaves no partial day", async () => {
  await using broker = await simulated();
  using folder = temporaryFolder();
  const stop = new AbortController();
  const onProgress: DayBookOptions["onProgress"] = (event) => {
    if (event.type === "rows" && event.day === "2025-08-14") stop.abort();
  };
  const error = await failure(broker, { out: folder.path, onProgress, signal: stop.signal });
  assertEquals([error.code, error.kept], ["aborted", ["2025-08-13"]]);
  assertEquals(visibleDays(folder.path), ["2025-08-13"]);
  const early = await failure(broker, { out: `${folder.path}/never`, signal: AbortSignal.abort() });
  assertEquals(early.code, "aborted");
});

Deno.test("exportDayBook() rejects a folder into which another export is writing", async () => {
  await using broker = await simulated();
  using folder = temporaryFolder();
  let second: Promise<DayBookError> | undefined;
  const onProgress: DayBookOptions["onProgress"] = (event) => {
    if (event.type === "rows") second ??= failure(broker, { out: folder.path });
  };
  await broker.exportDays({ ...WEEK, out: folder.path, onProgress });
  const error = await second!;
  assertEquals(error.code, "locked");
  assertStringIncludes(error.message, "another export is writing there; wait for it to end");
  assertEquals(readTree(folder.path), await undisturbed(broker));
});

Deno.test("exportDayBook() cleans up what killed runs left, and touches nothing else", async () => {
  await using broker = await simulated();
  using folder = temporaryFolder();
  await broker.exportDays({ ...WEEK, out: folder.path });
  const whole = readTree(folder.path);
  const at = (name: string) => `${folder.path}/${name}`;
  // Killed after the old day was set aside and before the new one was renamed.
  Deno.renameSync(at("2025-08-13"), at(".2025-08-13.previous"));
  // Killed before the export removed the old day that it had set aside.
  Deno.mkdirSync(at(".2025-08-14.previous"));
  // Killed while writing.
  Deno.mkdirSync(at(".2025-08-15.partial"));
  Deno.writeTextFileSync(at(".2025-08-15.partial/fills.csv"), "half a li");
  Deno.writeTextFileSync(at("mine.txt"), "mine");
  const result = await broker.exportDays({ ...WEEK, out: folder.path });
  assertEquals(result.days.map(({ action }) => action), ["kept", "kept", "unchanged"]);
  assertEquals(readTree(folder.path), { ...whole, "mine.txt": "mine" });
});

Deno.test("exportDayBook() rejects a path that is not a folder", async () => {
  await using broker = await simulated();
  using folder = temporaryFolder();
  Deno.writeTextFileSync(`${folder.path}/file`, "mine");
  const error = await failure(broker, { out: `${folder.path}/file` });
  assertEquals(error.code, "not-a-folder");
  assertEquals(Deno.readTextFileSync(`${folder.path}/file`), "mine");
});

Deno.test("exportDayBook() reports a missing write permission of the program", async () => {
  await using broker = await simulated();
  using folder = temporaryFolder();
  const { gatewayUrl, tradePassword, tradePasswordKey } = broker.simulator.info;
  const job = {
    gatewayUrl,
    tradePassword,
    tradePasswordKey,
    markets: ["hk" as const],
    ...WEEK,
    now: SATURDAY,
  };
  const child = spawnExport({ ...job, out: `${folder.path}/out` }, ["--allow-net", "--allow-read"]);
  const { code, stdout } = await child.output();
  const { code: errorCode, message } = JSON.parse(new TextDecoder().decode(stdout));
  assertEquals([code, errorCode], [1, "not-writable"]);
  assertStringIncludes(message, "allow writing there or choose another folder");
  assertEquals([...Deno.readDirSync(folder.path)], []);
});

async function limited(mount: string, remount: string) {
  await using broker = await simulated({ fillsPerDay: 150 });
  using folder = temporaryFolder();
  const { gatewayUrl, tradePassword, tradePasswordKey } = broker.simulator.info;
  const outcome = await exportToLimitedDisk({
    gatewayUrl,
    tradePassword,
    tradePasswordKey,
    markets: ["hk"],
    ...WEEK,
    out: folder.path,
    now: SATURDAY,
    mount,
    remount,
  });
  return { outcome, expected: await undisturbed(broker) };
}

/** Returns whether the test was possible. Only root can mount a disk; otherwise prints the reason. */
function wasTried({ skipped }: LimitedOutcome): boolean {
  // deno-lint-ignore no-console -- a skipped test must print its reason
  if (skipped !== undefined) console.log(`skipped: ${skipped}`);
  return skipped === undefined;
}

Deno.test("exportDayBook() keeps earlier days when the disk is full, and continues once there is space", async () => {
  // One day takes about 400 kB, so the disk is full in the second one.
  const { outcome, expected } = await limited("size=600k", "size=20m");
  if (!wasTried(outcome)) return;
  assertEquals([outcome.code, outcome.kept], ["disk-full", ["2025-08-13"]]);
  assertStringIncludes(outcome.message ?? "", "no space left for");
  assertStringIncludes(outcome.message ?? "", "make room, then run the same export again to continue");
  assertEquals(outcome.after?.filter((name) => !name.startsWith("2025-08-13/")), [".day-book.lock"]);
  assertEquals(outcome.repeated, expected);
});

Deno.test("exportDayBook() reports a disk that is not writable", async () => {
  const { outcome, expected } = await limited("ro", "rw");
  if (!wasTried(outcome)) return;
  assertEquals([outcome.code, outcome.kept, outcome.after], ["not-writable", [], []]);
  assertStringIncludes(outcome.message ?? "", "allow writing there or choose another folder");
  assertEquals(outcome.repeated, expected);
});
