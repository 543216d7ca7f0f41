/** Tests of the swarm: its worlds are the same each time, use no real machine, and find wrong programs. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ambient } from "../../lib/swarm/ambient.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { DatabaseSync } from "node:sqlite";
import { Disk, readStore, tornStore, writeStore } from "../../lib/swarm/disk.ts";
import { faultNames, swarm } from "../../lib/swarm/mod.ts";
import { Network } from "../../lib/swarm/pipes.ts";
import { shrink } from "../../lib/swarm/shrink.ts";
import { swarmRecipes } from "../../lib/swarm/programs.ts";
import { runSeed } from "../../lib/swarm/run.ts";
import { outside, World } from "../../lib/swarm/world.ts";

async function folder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ prefix: "hsgate-swarm-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

Deno.test("a seed gives the same events each time, whatever ran before it", async () => {
  await using place = await folder();
  const recipes = await swarmRecipes();
  const run = (seed: number) => runSeed({ seed, folder: place.path, recipes });
  const first = await run(7);
  const other = await run(23);
  const again = await run(7);
  assertEquals([again.hash, again.events, again.orders], [first.hash, first.events, first.orders]);
  assert(other.hash !== first.hash);
  assert(first.orders > 5 && first.events > 1_000, `${first.orders} orders, ${first.events} events`);
});

const { setTimeout, setImmediate } = globalThis;

for (const [seed, transport] of [[7, "gateway"], [1, "direct"]] as const) {
  // A process that dies in a world closes nothing, so its ciphers stay until they are collected.
  const sanitizeResources = false;
  Deno.test(
    `a seed over the ${transport} transport does not depend on real time`,
    { sanitizeResources },
    async () => {
      await using place = await folder();
      const recipes = await swarmRecipes();
      const run = async (onEvent?: () => Promise<void>) => {
        const log: string[] = [];
        const options = {
          seed,
          folder: place.path,
          recipes,
          onEvent,
          onLog: (line: string) => log.push(line),
        };
        return { log, failure: (await runSeed(options)).failure };
      };
      const quick = await run();
      let events = 0;
      const slow = await run(async () => {
        // Gives threads and the event loop time to finish their work.
        if (++events % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
        else await new Promise((resolve) => setImmediate(resolve));
      });
      assertEquals([quick.failure, slow.failure], [undefined, undefined]);
      const differs = slow.log.findIndex((line, at) => line !== quick.log[at]);
      assertEquals([differs, slow.log[differs], slow.log.length], [-1, undefined, quick.log.length]);
    },
  );
}

Deno.test("a world notices work that takes real time", async () => {
  const leaks = await outside(async () => {
    const world = new World(1, 0);
    using _ = ambient(world, new Network(world));
    const process = world.process("one");
    const late = Promise.withResolvers<void>();
    world.schedule(0, process, "begin", () => {
      assertThrows(() => Deno.readDir("/"), Deno.errors.NotSupported, "it takes real time");
      void new Promise((resolve) => setTimeout(resolve, 20)).then(() => {
        world.note(process, "late");
        late.resolve();
      });
    });
    world.onEvent = () => late.promise;
    await world.step(1);
    world.end();
    return world.leaks;
  });
  assertEquals(leaks, ["Deno.readDir", 'after "begin", something waited for the real machine']);
});

Deno.test("a process stops before a transaction, and another one uses the store meanwhile", async () => {
  await using place = await folder();
  const [at, states] = await outside(async () => {
    const world = new World(1, 0);
    using disk = new Disk();
    using _ = ambient(world, new Network(world));
    const [one, two] = [world.process("one"), world.process("two")];
    const found: string[] = [];
    const write = async (name: string) => {
      await using store = await openSqlite(`${place.path}/hsgate.db`, { mark: "leave" });
      if (name === "one") one.onTransaction = () => 60_000;
      await store.transaction(() => store.event(world.now, name, {}));
      for (
        const { event } of await store.all<{ event: string }>("select kind as event from event order by seq")
      ) {
        found.push(`${name} ${event}`);
      }
    };
    world.schedule(0, one, "begin", () => void write("one"));
    world.schedule(0, one, "begin", () => void one.after(5, () => found.push("timer")));
    world.schedule(10_000, two, "begin", () => void write("two"));
    while (await world.step(100_000));
    const last = world.now;
    world.end();
    void disk;
    return [last, found];
  });
  assertEquals([at, states], [100_000, ["two two", "one two", "one one", "timer"]]);
});

Deno.test("a world leaves the clocks, timers and sockets of the program around it as they were", async () => {
  const before = [Date, setTimeout, Deno.connect, Deno.listen, AbortSignal.timeout, crypto.randomUUID];
  const result = await swarm({ seeds: 1, fromSeed: 3 });
  assertEquals(result.failures, []);
  assertEquals(
    [Date, setTimeout, Deno.connect, Deno.listen, AbortSignal.timeout, crypto.randomUUID].map((each, at) =>
      each === before[at]
    ),
    before.map(() => true),
  );
});

Deno.test("without faults, every recorded order ends as it ended at the broker", async () => {
  await using place = await folder();
  const recipes = await swarmRecipes();
  const result = await runSeed({ seed: 5, folder: place.path, recipes, plan: [] });
  assertEquals(result.failure, undefined);
  assert(result.orders > 5);
});

Deno.test("a fault for a write that waits for a planned intent strikes the next call, even if that call is not the write", async () => {
  await using place = await folder();
  const recipes = await swarmRecipes();
  const kind = "busy";
  // A size below 0.6 selects an operation that writes. A planned intent has not sent its write yet.
  const plan = [{ atMs: 0, kind, size: 0.1, state: "planned" }] as const;
  const { coverage, failure } = await runSeed({ seed: 5, folder: place.path, recipes, plan });
  assertEquals([failure, coverage.get(`planned ${kind}`)], [undefined, 1]);
});

Deno.test("a power cut during a commit leaves the earlier commits, if the store waits for the disk", async () => {
  await using place = await folder();
  let number = 0;
  const rowsAfter = (synchronous: string, part: number) => {
    const path = `${place.path}/${++number}.db`;
    using db = new DatabaseSync(path);
    db.exec(`pragma journal_mode = wal; pragma synchronous = ${synchronous}; create table row (text text)`);
    const insert = db.prepare("insert into row values (?)");
    insert.run("first ".repeat(3_000));
    const before = readStore(path);
    insert.run("second ".repeat(3_000));
    const torn = tornStore(db, { before, after: readStore(path), part })!; // the commit has written to the log only
    writeStore(`${path}-torn`, torn);
    using again = new DatabaseSync(`${path}-torn`);
    return again.prepare("select substr(text, 1, 6) as text from row").all().map(({ text }) => text);
  };
  for (const part of [0, 0.3, 0.6, 0.999]) assertEquals([part, rowsAfter("full", part)], [part, ["first "]]);
  // A store that does not wait can lose every commit, also the one that created the table.
  assertThrows(() => rowsAfter("normal", 0), Error, "no such table");
  assertEquals(rowsAfter("normal", 0.999), []);
});

Deno.test("shrinking keeps exactly the faults that the failure needs", async () => {
  const plan = faultNames.slice(0, 20).map((kind, atMs) => ({ kind, atMs, size: 0.5 }));
  const wanted = [plan[3]!, plan[11]!];
  let runs = 0;
  const shortest = await shrink(plan, (fewer) => {
    runs++;
    return Promise.resolve(wanted.every((fault) => fewer.includes(fault)));
  });
  assertEquals(shortest, wanted);
  assert(runs <= 60);
});
