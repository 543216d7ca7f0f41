import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { orders as orderOperations } from "../../lib/operations/orders.ts";
import { recentIntents } from "../../lib/desk/queries.ts";
import { recoverExpired, resolveOutcome } from "../../lib/runner/claims/claims.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { isTemporary } from "../../lib/store/store_error.ts";
import { verifyStore } from "../../lib/runner/queries/store_care.ts";
import type { RunEvent } from "../../lib/runner/run/report.ts";
import { FRIDAY_MORNING, simulated } from "../day_book/simulated.ts";
import { testBoth } from "./both_stores.ts";
import { brokerBench, countPlaced, KEY, ORDER, writer } from "./broker_bench.ts";
import { spawnWriter } from "./lease_child.ts";
import { at, type Bench, HOUR, MINUTE, orders, runsOf, step, temporaryFolder } from "./support.ts";

const endOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => event.type === "run-ended" ? [`${event.state} ${event.reason}`] : []);
const warningsOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => event.type === "warning" ? [event.message] : []);

/** Starts the due run, and waits until it has ended. The clock does not advance meanwhile. */
async function runOne(b: Bench): Promise<void> {
  await b.scheduler.tick();
  await b.scheduler.drain();
}

/**
 * Lets the machine sleep past the lease. Another process notices the expired lease, and a person resolves the write as
 * failed.
 */
async function loseLease({ machine, store }: Bench): Promise<void> {
  machine.sleep(35_000);
  assertEquals((await recoverExpired(store, machine.now())).map(({ state }) => state), ["waiting_recovery"]);
  const [runKey] = (await runsOf(store))[0]!.split(" ");
  assert(await resolveOutcome(store, { runKey: runKey!, state: "failed", actor: "me", now: machine.now() }));
}

/** Returns whether a process is in a transaction that locks the store. */
async function isLocked(path: string): Promise<boolean> {
  try {
    await using store = await openSqlite(path, { waitMs: 0 });
    await store.transaction(() => Promise.resolve());
    return false;
  } catch (error) {
    if (isTemporary(error)) return true;
    throw error;
  }
}

testBoth("a step that lost its lease during sleep sends no second order", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const before = await countPlaced(broker);
  const refused: string[] = [];
  let signal: AbortSignal | undefined;
  const b: Bench = await brokerBench(broker, {
    recipes: [writer(async (context) => {
      signal = context.signal;
      const client = await context.client();
      await client.orders.place(ORDER);
      await loseLease(b);
      const note = (error: Error) => void refused.push(error.message);
      // Each of the three ways to place an order must fail, even if the step continues after the first rejection.
      await client.orders.place(ORDER).catch(note);
      await client.call(orderOperations.place, ORDER).catch(note);
      await client.raw("trade", "TradeEntrust", {}).catch(note);
    })],
  });
  await using _ = b;
  await b.scheduler.tick();
  b.machine.jump(MINUTE);
  await runOne(b);
  assertEquals(
    refused,
    Array(3).fill(`Cannot continue run "${KEY}": this process lost its lease`),
  );
  assertEquals(await countPlaced(broker), before + 1);
  assertEquals((signal?.reason as Error).name, "LeaseLostError");
  assertEquals(endOf(b.events), ["lost write"]);
  assertEquals(warningsOf(b.events), [
    'lost the lease to another process; before that, step "one" had sent orders.place (done); ' +
    "look in orders.today, fills.today",
  ]);
  assertEquals(await runsOf(b.store), [`${KEY} failed resolved live`]);
  assertEquals(await verifyStore(b.store), []);
});

testBoth(
  "a step keeps its run after an unnoticed sleep, but its window still applies",
  async () => {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    const before = await countPlaced(broker);
    const refused: string[] = [];
    const b: Bench = await brokerBench(broker, {
      recipes: [writer(async (context) => {
        const client = await context.client();
        b.machine.sleep(MINUTE);
        await client.orders.place(ORDER);
        b.machine.sleep(6 * HOUR); // 16:01, eleven minutes after the window closed
        await client.orders.place(ORDER).catch((error) => void refused.push(error.message));
      })],
    });
    await using _ = b;
    await b.scheduler.tick();
    b.machine.jump(5_000);
    await runOne(b);
    assertEquals(await countPlaced(broker), before + 1);
    assertEquals(refused, ["Cannot write now: its window closed at 2025-08-15T07:50:00Z"]);
    // The run fails, because an order was not sent, although the step ignored the error.
    assertEquals(endOf(b.events), ["failed window"]);
  },
);

for (
  const [what, sleepMs, error, end] of [
    [
      "its lease has expired",
      35_000,
      `Cannot continue run "${KEY}": this process lost its lease`,
      "lost write",
    ],
    [
      "its window has closed",
      15_000,
      "Cannot write now: its window closed at 2025-08-15T07:50:00Z",
      "failed window",
    ],
  ] as const
) {
  testBoth(
    `a process that sleeps between the last check and the record of an order does not send the order if ${what}`,
    async () => {
      await using broker = await simulated({ at: FRIDAY_MORNING });
      const before = await countPlaced(broker);
      const refused: string[] = [];
      let sleeps = false;
      const b: Bench = await brokerBench(broker, {
        // The desk looks for the halt file after the run has renewed its lease, and before the order's transaction.
        haltedByFile() {
          if (sleeps) b.machine.sleep(sleepMs);
          sleeps = false;
          return undefined;
        },
        recipes: [writer(async (context) => {
          const client = await context.client();
          await client.orders.place(ORDER);
          b.machine.sleep(at("2025-08-15T07:49:50Z") - b.machine.now());
          sleeps = true;
          await client.orders.place({ ...ORDER, price: "301" })
            .catch((error) => void refused.push(error.message));
        })],
      });
      await using _ = b;
      await b.scheduler.tick();
      b.machine.jump(5_000);
      await runOne(b);
      assertEquals(await countPlaced(broker), before + 1);
      assertEquals(refused, [error]);
      assertEquals(endOf(b.events), [end]);
      const intents = await recentIntents(b.store, "default", { limit: 10 });
      assertEquals(intents.map(({ state }) => state).toSorted(), ["abandoned", "acknowledged"]);
    },
  );
}

testBoth("a step that continues after its timeout sends nothing more", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const before = await countPlaced(broker);
  const late = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  const b: Bench = await brokerBench(broker, {
    recipes: [orders([], {
      steps: [step({
        effect: "write",
        timeoutMs: 1_000,
        async run(context) {
          const client = await context.client();
          await late.promise;
          client.orders.place(ORDER).then(
            () => ended.resolve("sent"),
            (error) => ended.resolve(error.message),
          );
        },
      })],
    })],
  });
  await using _ = b;
  await b.scheduler.start();
  await b.machine.pass(MINUTE);
  assertEquals(endOf(b.events), ["unknown write"]);
  late.resolve();
  assertEquals(await ended.promise, "Cannot write now: the step is over");
  assertEquals(await countPlaced(broker), before);
  await b.scheduler.stop();
});

Deno.test("a custom step in a process that was suspended and resumed sends no second order", async () => {
  using folder = temporaryFolder();
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const before = await countPlaced(broker);
  await Deno.writeTextFile(
    `${folder.path}/buy_step.ts`,
    `export default { effect: "write", permissions: { read: ["."] }, async run(_, { call, log }) {
      const order = ${JSON.stringify(ORDER)};
      await call("orders.place", order);
      log("info", "placed");
      const mayGoOn = () => Deno.stat("${folder.path}/go").then(() => true, () => false);
      while (!await mayGoOn()) await new Promise((done) => setTimeout(done, 20));
      try { await call("orders.place", order); } catch { await call("orders.place", order); }
    } };\n`,
  );
  const path = `${folder.path}/store.db`;
  const { gatewayUrl, tradePassword, tradePasswordKey } = broker.simulator.info;
  const child = spawnWriter({
    store: path,
    step: `file://${folder.path}/buy_step.ts`,
    gatewayUrl,
    tradePassword: tradePassword!,
    tradePasswordKey: tradePasswordKey!,
  });
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const read = async () => {
    const { value, done } = await output.read();
    text += value ?? "";
    return !done;
  };
  while (!text.includes('"placed"')) assert(await read(), text);
  child.kill("SIGSTOP");
  // A process that is suspended within a transaction keeps the store locked. The test then resumes it for a moment.
  while (await isLocked(path)) {
    child.kill("SIGCONT");
    await pause(20);
    child.kill("SIGSTOP");
  }
  await Deno.writeTextFile(`${folder.path}/go`, "");
  await pause(1_500); // longer than the lease; the step has requested its second order
  {
    await using store = await openSqlite(path);
    const [lost] = await recoverExpired(store, Date.now());
    assertEquals(lost?.state, "waiting_recovery");
    assert(
      await resolveOutcome(store, { runKey: lost!.runKey, state: "failed", actor: "me", now: Date.now() }),
    );
  }
  child.kill("SIGCONT");
  while (await read());
  await child.status;
  const events: RunEvent[] = text.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(endOf(events), ["lost write"]);
  assertStringIncludes(warningsOf(events)[0]!, 'before that, step "one" had sent orders.place (done)');
  assertEquals(await countPlaced(broker), before + 1);
});
