/**
 * Runs three schedulers over one PostgreSQL, each behind its own proxy. At random, a scheduler is killed or is cut off
 * from the store, while the recipes place orders at a simulated broker. To run the trial for longer:
 *
 *     deno run -A test/runner/three_machines.ts --minutes 10 --seed 1
 *
 * @module
 */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openPostgres } from "../../lib/store/postgres.ts";
import { why } from "../../lib/runner/explain/why.ts";
import { describeRun } from "../../lib/runner/explain/why_run.ts";
import type { RunRow } from "../../lib/runner/queries/runs.ts";
import { type Harm, proxyFor } from "../support/database_proxy.ts";
import { temporarySchema } from "../support/postgres.ts";
import { FRIDAY_MORNING, simulated } from "../day_book/simulated.ts";
import { assertNothingLost, kill, lines } from "./nothing_lost.ts";
import { countOrders, spawnScheduler, writeEnd } from "./scheduler_child.ts";
import { randomFrom } from "../../lib/time.ts";
import { every, recipe, temporaryFolder } from "./support.ts";

/** Settings of a run of the three machines. */
interface Trial {
  seed: number;
  seconds: number;
  slotMs: number;
  leaseMs: number;
  /** How long the database may take to answer. @default that of the store */
  answerMs?: number;
  /** How long a step takes. @default 40 ms */
  stepMs?: number;
  killEveryMs: number;
  harmEveryMs: number;
}

const HARMS: readonly Harm[] = ["cut", "cut-answer", "stall", "half-close", "partition"];

/**
 * Runs the machines, and checks at the end that each slot ended once, that the states in the store agree with the
 * broker's orders, and that no order was placed twice.
 */
export async function threeMachines(database: string, trial: Trial): Promise<void> {
  const { seed, seconds, slotMs, killEveryMs, harmEveryMs, ...rest } = trial;
  // deno-lint-ignore no-console -- the seed is needed to repeat a failure
  console.log(`seed ${seed}`);
  const random = randomFrom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!; // it is not empty
  using folder = temporaryFolder();
  await using broker = await simulated({ at: FRIDAY_MORNING });
  await using schema = temporarySchema(database);
  const { gatewayUrl, tradePassword, tradePasswordKey } = broker.simulator.info;
  await using doors = new AsyncDisposableStack();
  const machines = Array.from({ length: 3 }, () => {
    const { proxy, url } = proxyFor(schema.url);
    return { proxy: doors.use(proxy), url };
  });
  const start = (index: number, name: string) => ({
    name,
    index,
    child: spawnScheduler({
      folder: folder.path,
      url: machines[index]!.url, // there are three
      holder: name,
      slotMs,
      broker: { gatewayUrl, tradePassword: tradePassword!, tradePasswordKey: tradePasswordKey! },
      ...rest,
    }),
  });
  const running = machines.map((_, index) => start(index, `p${index}`));
  // The measured time begins with the first write step, however long the start of the machines took.
  while (lines(`${folder.path}/begun`).length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  const until = Date.now() + seconds * 1_000;
  /** When each process was killed. */
  const kills = new Map<string, number>();
  const harms: Partial<Record<Harm, number>> = {};
  let [nextKill, nextHarm] = [Date.now() + killEveryMs, Date.now() + harmEveryMs];
  // Nothing is killed or cut in the last quarter of the time (at most 30 s), so that the remaining runs can end.
  const quietAt = until - Math.min(seconds * 250, 30_000);
  while (Date.now() < quietAt) {
    await new Promise((resolve) =>
      setTimeout(resolve, Math.max(10, Math.min(nextKill, nextHarm) - Date.now()))
    );
    if (Date.now() >= nextHarm) {
      nextHarm = Date.now() + harmEveryMs * (0.5 + random());
      const harm = pick(HARMS);
      pick(machines).proxy.plan(Math.floor(random() * 40), harm);
      harms[harm] = (harms[harm] ?? 0) + 1;
    }
    if (Date.now() < nextKill) continue;
    nextKill = Date.now() + killEveryMs * (0.67 + random() * 0.67);
    const index = Math.floor(random() * machines.length);
    const { child, name } = running[index]!; // there are three
    kill(child);
    const killedAt = Date.now();
    if ((await child.status).signal === "SIGKILL") kills.set(name, killedAt);
    running[index] = start(index, `r${kills.size}`);
  }
  for (const { proxy } of machines) proxy.count();
  await new Promise((resolve) => setTimeout(resolve, until - Date.now()));
  const end = writeEnd(folder.path);
  for (const { child, name } of running) assertEquals((await child.status).code, 0, `exit code of ${name}`);
  await using store = await openPostgres(schema.url);
  await assertNothingLost(folder.path, `three machines, ${kills.size} kills, ${JSON.stringify(harms)}`, {
    end,
    url: schema.url,
    slotMs,
  });

  // The states in the store must agree with the broker's orders.
  const placed = await broker.client.orders.today({ market: "hk", limit: 99 }).toArray();
  const writes = await store.all<RunRow>("select * from run where recipe = 'write' order by slot_at");
  assert(writes.length <= 400, "the price of an order names its slot");
  const counts: Record<string, number> = {};
  // The machines did not wait for slots after the end, so these are not checked.
  const isBeforeEnd = (row: RunRow) => row.slot_at <= end;
  for (const row of writes.filter(isBeforeEnd)) {
    const orders = countOrders(placed, row.slot_at, slotMs);
    const told = await describeRun(store, row, { zone: "UTC", now: Date.now() });
    assertEquals(orders, row.state === "ok" || told.includes("resolved it as ok") ? 1 : 0, told);
    const expected = { ok: "succeeded", failed: "failed" }[row.state as string] ?? row.state;
    assert(told.includes(expected) || told.includes("resolved it as"), told);
    const what = `${row.state}${row.reason === null ? "" : ` ${row.reason}`}, ${orders} orders`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  const reads = await store.all<RunRow>("select * from run where recipe = 'read'");
  for (const row of reads.filter(isBeforeEnd)) {
    assertStringIncludes(await describeRun(store, row, { zone: "UTC", now: Date.now() }), "succeeded");
  }

  // Only one machine at a time may be in a step that writes. A process that is killed in the step writes no "leave".
  let inside: string | undefined;
  const left = new Set(
    lines(`${folder.path}/account`).flatMap((line) => line.startsWith("leave ") ? [line.slice(6)] : []),
  );
  for (const line of lines(`${folder.path}/account`)) {
    const [what, who] = [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)];
    if (what === "enter") {
      assert(inside === undefined || !left.has(inside), `${who} began to write while ${inside} was writing`);
      inside = who;
    } else if (inside === who) inside = undefined;
  }

  const takenOver: number[] = [];
  for (
    const { at, data } of await store.all<{ at: number; data: string }>(
      `select r.at, (select c.data from event c where c.run_key = r.run_key and c.kind = 'claimed' and c.seq < r.seq
      order by c.seq desc limit 1) as data from event r where r.kind = 'recovered'`,
    )
  ) {
    const killedAt = kills.get(JSON.parse(data).holder);
    if (killedAt !== undefined) takenOver.push(at - killedAt);
  }
  const day = new Date().toISOString().slice(0, 10);
  const slot = recipe({ name: "write", schedules: [every(slotMs)] });
  // deno-lint-ignore no-console -- the counts are what the trial is for
  console.log([
    `slots that write: ${JSON.stringify(counts)}`,
    `runs of killed processes: ${takenOver.length}, taken over after ${
      Math.round(Math.max(0, ...takenOver) / 1000)
    } s at most`,
    `why: ${await why(store, slot, { calendars: builtInCalendars, date: day, now: Date.now() })}`,
  ].join("\n"));
  if (takenOver.some((ms) => ms > 40_000)) {
    throw new Error("Cannot accept the trial: a takeover took more than 40 s");
  }
}

if (import.meta.main) {
  const { postgres } = await import("../support/stores.ts");
  const option = (name: string, usual: number) => {
    const at = Deno.args.indexOf(`--${name}`);
    return at < 0 ? usual : Number(Deno.args[at + 1]);
  };
  if (postgres === undefined) {
    throw new TypeError("Cannot run: there is no PostgreSQL; set HSGATE_TEST_POSTGRES");
  }
  await threeMachines(postgres, {
    seed: option("seed", Math.floor(Math.random() * 2 ** 31)),
    seconds: option("minutes", 10) * 60,
    slotMs: 5_000,
    leaseMs: 30_000,
    stepMs: 1_000,
    killEveryMs: 30_000,
    harmEveryMs: 5_000,
  });
}
