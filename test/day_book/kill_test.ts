import { assert, assertEquals } from "@std/assert";
import type { DayBookEvent } from "../../lib/day_book/mod.ts";
import { ExportFolder } from "../../lib/day_book/folder/export_folder.ts";
import { exists } from "../../lib/private_files.ts";
import { type ExportJob, spawnExport } from "./export_child.ts";
import { readTree } from "./scripted_gateway.ts";
import {
  buyOnce,
  FRIDAY_MORNING,
  SATURDAY,
  type Simulated,
  simulated,
  temporaryFolder,
} from "./simulated.ts";

const RANGE = { from: "2025-08-13", to: "2025-08-15" };
const MOMENTS = 50;

/**
 * Returns a folder before an export, and the files and events of the export. On the disk Friday is provisional, but the
 * broker has cleared it since, so the export replaces it. Wednesday was removed, so the export writes it.
 */
async function beforeAndAfter(broker: Simulated, folder: string) {
  await buyOnce(broker);
  const before = `${folder}/before`;
  await broker.exportDays({ ...RANGE, out: before, markets: ["hk", "us"] });
  Deno.removeSync(`${before}/2025-08-13`, { recursive: true });
  broker.clock.set(SATURDAY);
  broker.simulator.round();
  const after = `${folder}/after`;
  copyFolder(before, after);
  const events: DayBookEvent[] = [];
  const result = await broker.exportDays({
    ...RANGE,
    out: after,
    markets: ["hk", "us"],
    onProgress: (event) => events.push(event),
  });
  assertEquals(result.days.map(({ day, action, status }) => [day, action, status]), [
    ["2025-08-13", "written", "final"],
    ["2025-08-14", "kept", "final"],
    ["2025-08-15", "replaced", "final"],
  ]);
  return { before, after: readTree(after), events };
}

function copyFolder(from: string, to: string): void {
  Deno.mkdirSync(to, { recursive: true });
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    if (isDirectory) copyFolder(`${from}/${name}`, `${to}/${name}`);
    else Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
  }
}

function jobOf(broker: Simulated, out: string): ExportJob {
  const { gatewayUrl, tradePassword, tradePasswordKey } = broker.simulator.info;
  return {
    gatewayUrl,
    tradePassword,
    tradePasswordKey,
    markets: ["hk", "us"],
    ...RANGE,
    out,
    now: SATURDAY,
  };
}

/** Kills a process. A process that has just ended is ignored. */
function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Checks that every visible day folder contains all files of its summary, with their sizes. */
function assertWholeDays(out: string): void {
  for (const { name } of Deno.readDirSync(out)) {
    if (name.startsWith(".")) continue;
    const { files } = JSON.parse(Deno.readTextFileSync(`${out}/${name}/summary.json`));
    const there = [...Deno.readDirSync(`${out}/${name}`)].map((file) => file.name).sort();
    assertEquals(there, [...Object.keys(files), "summary.json"].sort());
    for (const file of Object.keys(files)) {
      assertEquals(Deno.statSync(`${out}/${name}/${file}`).size, files[file].bytes, `${name}/${file}`);
    }
  }
}

Deno.test("exportDayBook() ends with the same bytes after being killed at fifty events", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING, fillsPerDay: 400 });
  using folder = temporaryFolder();
  const { before, after, events } = await beforeAndAfter(broker, folder.path);
  const stages = events.flatMap((event, index) =>
    event.type === "stage" ? [{ stage: event.stage, at: index + 1 }] : []
  );
  // There is a kill at every stage of moving a day into place. The remaining kills are spread over all events.
  const moments = new Set(stages.map(({ at }) => at));
  for (let step = 0; moments.size < MOMENTS && step < events.length; step++) {
    moments.add(1 + (step * 7) % events.length);
  }
  assert(events.length > MOMENTS, `${events.length} events are too few`);
  assert(stages.some(({ stage }) => stage === "set-aside"), "a day was set aside");
  let killed = 0;
  for (const killAt of [...moments].slice(0, MOMENTS)) {
    const out = `${folder.path}/run-${killAt}`;
    copyFolder(before, out);
    const { signal } = await spawnExport({ ...jobOf(broker, out), killAt }).output();
    if (signal === "SIGKILL") killed++;
    assertWholeDays(out);
    ExportFolder.open(out)[Symbol.dispose](); // cleans up after the killed run
    assertEquals(
      [exists(`${out}/2025-08-14`), exists(`${out}/2025-08-15`)],
      [true, true],
      `the earlier days are kept after a kill at event ${killAt}`,
    );
    await broker.exportDays({ ...RANGE, out, markets: ["hk", "us"] });
    assertEquals(readTree(out), after, `killed at event ${killAt}`);
    Deno.removeSync(out, { recursive: true });
  }
  assertEquals(killed, MOMENTS);
});

Deno.test("exportDayBook() ends with the same bytes after being killed repeatedly within its first 60 ms", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING, fillsPerDay: 400 });
  using folder = temporaryFolder();
  const { before, after } = await beforeAndAfter(broker, folder.path);
  const out = `${folder.path}/out`;
  copyFolder(before, out);
  let killed = 0;
  for (const ms of [1, 5, 10, 20, 30, 45, 60]) {
    const child = spawnExport(jobOf(broker, out));
    const reader = child.stdout.getReader();
    await reader.read();
    await new Promise((resolve) => setTimeout(resolve, ms));
    kill(child);
    reader.releaseLock();
    await child.stdout.cancel();
    if ((await child.status).signal === "SIGKILL") killed++;
    assertWholeDays(out);
  }
  assert(killed >= 3, `only ${killed} were killed in time`);
  await broker.exportDays({ ...RANGE, out, markets: ["hk", "us"] });
  assertEquals(readTree(out), after);
});
