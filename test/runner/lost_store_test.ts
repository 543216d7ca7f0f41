/** Tests of a store that cannot be reached, of a server that is restarted or exhausted, and of a wrong clock. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { openPostgres } from "../../lib/store/postgres.ts";
import { StoreError } from "../../lib/store/store_error.ts";
import type { CompiledRecipe } from "../../lib/recipes/compiled.ts";
import { Redactor } from "../../lib/redact.ts";
import { why } from "../../lib/runner/explain/why.ts";
import { verifyStore } from "../../lib/runner/queries/store_care.ts";
import { Scheduler } from "../../lib/runner/schedule/scheduler.ts";
import type { Store } from "../../lib/store/store.ts";
import { behindProxy } from "../support/database_proxy.ts";
import { asAdmin, temporarySchema } from "../support/postgres.ts";
import { hasServer, type PostgresServer, startServer } from "../support/postgres_server.ts";
import { postgres } from "../support/stores.ts";
import { FRIDAY_MORNING, type Simulated, simulated } from "../day_book/simulated.ts";
import { systemMachine } from "../../lib/time.ts";
import { brokerBench, countPlaced, KEY, ORDER, writer } from "./broker_bench.ts";
import { every, MINUTE, recipe, runsOf, step } from "./support.ts";

/** Starts a scheduler before the slot of its recipe, and collects the errors of its passes. */
async function benchOn(store: Store, broker: Simulated, write: CompiledRecipe, start?: string) {
  const errors: unknown[] = [];
  const b = await brokerBench(broker, {
    store,
    recipes: [write],
    ...start !== undefined && { start },
    onSchedulerEvent: (event) => void (event.type === "error" && errors.push(event.error)),
  });
  await b.scheduler.start();
  return { ...b, errors };
}

const tell = (store: Store, write: CompiledRecipe) =>
  why(store, write, {
    calendars: builtInCalendars,
    date: "2025-08-15",
    now: Date.parse("2025-08-15T02:10:00Z"),
  });

Deno.test({
  name:
    "a run that cannot reach its store continues to read and sends nothing, and its earlier writes are known (PostgreSQL)",
  ignore: postgres === undefined,
  async fn() {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    await using place = await behindProxy(postgres!, { askMs: 500 }); // else the test is skipped
    const before = await countPlaced(broker);
    const refused: string[] = [];
    let funds: unknown;
    const write = writer(async ({ client: connect }) => {
      const client = await connect();
      await client.orders.place(ORDER);
      place.proxy.goDown();
      funds = await client.account.funds({ market: "hk" });
      await client.orders.place(ORDER).catch((error) => void refused.push(error.message));
      await client.orders.place(ORDER).catch((error) => void refused.push(error.message));
    });
    {
      await using b = await benchOn(await place.open(), broker, write);
      await b.machine.pass(MINUTE);
      await b.scheduler.stop();
      const warnings = b.events.flatMap((event) => event.type === "warning" ? [event.message] : []);
      assertStringIncludes(warnings.join("\n"), 'step "one" had sent orders.place (done)');
    }
    assert(funds !== undefined);
    assertEquals(
      refused,
      Array(2).fill(
        "Cannot write now: the store did not confirm that this process still holds the run's lease",
      ),
    );
    assertEquals(await countPlaced(broker), before + 1);
    // Another process, which can reach the store, takes over.
    await using b = await benchOn(place.direct, broker, write, "2025-08-15T02:02:00Z");
    await b.machine.pass(MINUTE);
    await b.scheduler.stop();
    // The order desk knows the outcome of the only order, so nobody has to resolve the run, and nothing is sent again.
    assertEquals(await runsOf(place.direct), [`${KEY} failed step live`]);
    const told = await tell(place.direct, write);
    assertStringIncludes(told, "was interrupted: intent");
    assertStringIncludes(told, "is acknowledged (order ");
    assertEquals(await countPlaced(broker), before + 1);
  },
});

/** Defines a test with its own PostgreSQL server. The test prints one line and ends if the server cannot start. */
function testServer(
  name: string,
  run: (server: PostgresServer) => Promise<void>,
) {
  Deno.test({
    name: `${name} (PostgreSQL)`,
    ignore: !hasServer,
    async fn() {
      const server = await startServer();
      // deno-lint-ignore no-console -- reports that the test could not run
      if (typeof server === "string") return console.log(server);
      await using _ = server;
      await run(server);
    },
  });
}

testServer(
  "if the server is restarted while a run writes, one order is sent, and nothing is lost",
  async (server) => {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    const restart = async () => {
      await server.stop();
      await server.start();
    };
    for (const [index, when] of ["before the order", "after the order"].entries()) {
      const before = await countPlaced(broker);
      const write = writer(async ({ client: connect }) => {
        const client = await connect();
        if (when === "before the order") await restart();
        await client.orders.place(ORDER);
        if (when === "after the order") await restart();
      });
      await using b = await benchOn(
        await openPostgres(`${server.url}&schema=restart${index}`),
        broker,
        write,
      );
      await b.machine.pass(MINUTE);
      await b.scheduler.stop();
      assertEquals([when, await runsOf(b.store)], [when, [`${KEY} ok live`]]);
      assertEquals(await countPlaced(broker), before + 1);
      assertEquals(await verifyStore(b.store), []);
      assertStringIncludes(await tell(b.store, write), "succeeded");
    }
  },
);

testServer(
  "if the server is down at a slot, an error says so, and the order is sent once the server is back",
  async (server) => {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    const before = await countPlaced(broker);
    const write = writer(async ({ client }) => await (await client()).orders.place(ORDER));
    await using b = await benchOn(await openPostgres(server.url), broker, write);
    await server.stop();
    await b.machine.pass(MINUTE);
    assertEquals(await countPlaced(broker), before);
    assert(b.errors.length > 0);
    for (const error of b.errors) {
      assert(
        error instanceof StoreError && error.code === "lost-connection",
        String(error),
      );
    }
    await server.start();
    await b.machine.pass(MINUTE);
    await b.scheduler.stop();
    assertEquals(await runsOf(b.store), [`${KEY} ok live`]);
    assertEquals(await countPlaced(broker), before + 1);
  },
);

testServer(
  "while the database server's disk is full, no order is sent or repeated, and the error says what to do",
  async (server) => {
    // deno-lint-ignore no-console -- reports that the test could not run
    if (server.fill === undefined) return console.log("not tried: no right to mount a file system");
    await using broker = await simulated({ at: FRIDAY_MORNING });
    const before = await countPlaced(broker);
    const write = writer(async ({ client }) => await (await client()).orders.place(ORDER));
    const store = await openPostgres(server.url);
    await using b = await benchOn(store, broker, write);
    server.fill();
    // The server still has room in its pages and in its own log. The loop below uses up this room.
    const text = () => Array.from({ length: 400 }, () => crypto.randomUUID()).join("");
    const full = await assertRejects(async () => {
      for (;;) await store.event(0, "filler", { text: text() });
    }, StoreError);
    assertStringIncludes(full.message, "No space left on device");
    assertStringIncludes(full.message, "free space on the server");
    assertEquals(full.code, "full");
    await b.machine.pass(MINUTE);
    assertEquals(await countPlaced(broker), before, "no order while the row of its run cannot be kept");
    assert(b.errors.length > 0);
    for (const error of b.errors) assert(error instanceof StoreError && error.code === "full", String(error));
    assert(
      (await store.get<{ n: number }>("select count(*) as n from run"))!.n <= 1,
      "reads of the store work",
    );
    server.free();
    await b.machine.pass(2 * MINUTE);
    await b.scheduler.stop();
    assertEquals(await countPlaced(broker), before + 1);
    assertEquals(await runsOf(b.store), [`${KEY} ok live`]);
  },
);

testServer("if the connections of a role are used up, the error says what to do", async (server) => {
  await asAdmin(
    server.url,
    "create role few login connection limit 1; grant create on database postgres to few",
  );
  const url = `${server.url.replace("admin@", "few@")}&schema=few`;
  await using first = await openPostgres(url);
  const error = await assertRejects(() => openPostgres(url), StoreError);
  assertEquals(error.code, "full");
  assertStringIncludes(error.message, "too many connections for role");
  assertStringIncludes(error.message, "end other programs that are connected, or raise max_connections");
  await first.event(0, "still works", {});
});

Deno.test({
  name: "a machine whose clock is off writes nothing and says so, and another machine writes (PostgreSQL)",
  ignore: postgres === undefined,
  async fn() {
    await using schema = temporarySchema(postgres!); // else the test is skipped
    const began: string[] = [];
    let read = 0;
    const given = {
      schedules: [every(1_000)],
      misfire: { graceMs: MINUTE, action: "all", max: 100 },
    } as const;
    const write = recipe({
      ...given,
      name: "write",
      class: "write",
      steps: [step({ effect: "write", run: ({ stepKey }) => Promise.resolve(void began.push(stepKey)) })],
    });
    const reader = recipe({ ...given, name: "read", steps: [step({ run: () => Promise.resolve(++read) })] });
    const blocked: string[] = [];
    const schedulerOn = (store: Store, holder: string) =>
      new Scheduler({
        calendars: () => builtInCalendars,
        store,
        machine: systemMachine,
        holder,
        recipes: [write, reader],
        out: "",
        redactor: new Redactor(),
        client: () => Promise.reject(new TypeError("no client")),
        secret: () => Promise.reject(new TypeError("no secrets")),
        onSchedulerEvent: (event) =>
          void (event.type === "held" && blocked.push(`${event.because} ${event.by}`)),
      });
    const day = () => new Date().toISOString().slice(0, 10);
    const pass = async (scheduler: Scheduler, until: () => Promise<boolean> | boolean) => {
      for (let left = 200; left > 0 && !await until(); left--) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        await scheduler.tick();
        await scheduler.drain();
      }
      assert(await until());
    };
    for (const [byMs, expected] of [[8_000, "8.0 s ahead of"], [-8_000, "8.0 s behind"]] as const) {
      blocked.length = 0;
      began.length = read = 0;
      await using wrong = await openPostgres(schema.url, {
        machine: { now: () => Date.now() + byMs, monotonic: () => performance.now() },
      });
      const off = schedulerOn(wrong, `off ${byMs}`);
      await pass(off, () => read > 0 && blocked.length > 0);
      assertEquals(began, []);
      assertStringIncludes(blocked[0]!, `unsafe this machine's clock is ${expected} the database's`);
      const told = await why(wrong, write, { calendars: builtInCalendars, date: day(), now: wrong.now()! });
      assertStringIncludes(told, `this machine's clock is ${expected} the database's`);
      await off.stop();
      // The control: a machine with the right time.
      await using right = await openPostgres(schema.url);
      const on = schedulerOn(right, `on ${byMs}`);
      await pass(on, () => began.length > 0);
      await on.stop();
    }
  },
});
