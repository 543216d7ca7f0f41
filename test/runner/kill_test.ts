/** Tests that killed schedulers lose no slot and begin no write twice. */
import { assertEquals } from "@std/assert";
import { assertNothingLost, kill, lines } from "./nothing_lost.ts";
import { spawnScheduler, writeEnd } from "./scheduler_child.ts";
import { temporaryFolder } from "./support.ts";
import { threeMachines } from "./three_machines.ts";
import { postgres } from "../support/stores.ts";

/** The process is killed at these readings of its clock: at each of the first readings, then at growing distances. */
const POINTS = [...Array.from({ length: 40 }, (_, i) => i + 1), 45, 52, 60, 70, 82, 95, 110, 130, 160, 200];

Deno.test("Scheduler loses nothing and begins no write twice when it is killed at each of many points", async () => {
  using folder = temporaryFolder();
  // Together, the processes take a minute or more to start. The last process runs all slots that became due meanwhile.
  const slotMs = 400;
  let killed = 0;
  // The points cover opening the store, listing, claiming, and beginning and ending steps and runs.
  for (const killAt of POINTS) {
    const { signal } = await spawnScheduler({ folder: folder.path, holder: `k${killAt}`, slotMs, killAt })
      .status;
    if (signal === "SIGKILL") killed++;
  }
  assertEquals(killed, POINTS.length);
  const end = writeEnd(folder.path);
  const last = await spawnScheduler({ folder: folder.path, holder: "last", slotMs }).status;
  assertEquals(last.code, 0);
  await assertNothingLost(folder.path, `killed at ${killed} points`, { end, slotMs });
});

Deno.test("Scheduler loses nothing and begins no write twice when three processes are killed at random", async () => {
  await killAtRandom();
});

Deno.test({
  name:
    "three machines that are killed and cut off from their store at random lose nothing and write nothing twice (PostgreSQL)",
  ignore: postgres === undefined,
  async fn() {
    // If slots became due faster than a slow disk can store them, the test would not end.
    await threeMachines(postgres!, {
      seed: Math.floor(Math.random() * 2 ** 31),
      seconds: 8,
      slotMs: 1_000,
      leaseMs: 4_000,
      answerMs: 1_000,
      killEveryMs: 1_500,
      harmEveryMs: 400,
    });
  },
});

async function killAtRandom(): Promise<void> {
  using folder = temporaryFolder();
  const spawn = (holder: string) => spawnScheduler({ folder: folder.path, holder });
  const children = [spawn("p0"), spawn("p1"), spawn("p2")];
  // The kills begin after the first step has begun, however long the processes needed to start.
  const begun = () => lines(`${folder.path}/begun`).length;
  while (begun() === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  for (let kills = 0; kills < 10; kills++) {
    await new Promise((resolve) => setTimeout(resolve, 250 + Math.random() * 400));
    const index = Math.floor(Math.random() * 3);
    kill(children[index]!); // there are three
    assertEquals((await children[index]!.status).signal, "SIGKILL");
    children[index] = spawn(`r${kills}`);
  }
  const end = writeEnd(folder.path);
  for (const child of children) assertEquals((await child.status).code, 0);
  await assertNothingLost(folder.path, "three processes, 10 kills", { end });
}
