/** Tests of following open orders: the scheduler compares them with the broker's lists after their run has ended. */
import { assert, assertEquals } from "@std/assert";
import type { Intent } from "../../lib/desk/intent.ts";
import { recentIntents } from "../../lib/desk/queries.ts";
import { DisplacedError, LoginRefusedError } from "../../lib/errors.ts";
import { mutexOf } from "../../lib/runner/claims/claims.ts";
import { holdLogin, refusedLoginOn, releaseLogin, takenOverBy } from "../../lib/runner/claims/login_holds.ts";
import { endHold, takeLease } from "../../lib/runner/queries/claims.ts";
import type { SchedulerEvent, SchedulerOptions } from "../../lib/runner/schedule/scheduler.ts";
import { FRIDAY_MORNING, type Simulated, simulated } from "../day_book/simulated.ts";
import { waitUntil } from "../support/waits.ts";
import { testBoth } from "./both_stores.ts";
import { brokerBench, KEY, ORDER, stopTimeDuringCalls, writer } from "./broker_bench.ts";
import { type Bench, HOUR, MINUTE, runsOf } from "./support.ts";

/** Longer than the time between two comparisons, however rarely the scheduler passes. */
const TURN = 20 * MINUTE;

const intentOf = async ({ store }: Bench): Promise<Intent> =>
  (await recentIntents(store, "default", { limit: 1 }))[0]!;

/** Starts a scheduler, and resolves when its run has placed an order and has ended. */
async function placed(
  broker: Simulated,
  given: Pick<SchedulerOptions, "onSchedulerEvent" | "onLoginLost" | "isSoleLogin"> = {},
): Promise<Bench> {
  stopTimeDuringCalls(broker);
  const b = await brokerBench(broker, { recipes: [buy()], ...given });
  await b.scheduler.start();
  await b.machine.pass(10_000);
  await waitUntil("the run to end", async () => (await runsOf(b.store))[0] === `${KEY} ok live`);
  return b;
}

const buy = () => writer(async ({ client }) => await (await client!()).orders.place(ORDER));

/** Counts the calls to the broker from now on. */
function countCalls({ client: { transport } }: Simulated): () => number {
  let calls = 0;
  const { call } = transport;
  transport.call = (...args) => {
    calls++;
    return call.apply(transport, args);
  };
  return () => calls;
}

testBoth("the scheduler follows an open order to its end after the run has ended", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  await using b = await placed(broker);
  const { orderIds: [orderId = ""] } = await intentOf(b);
  await broker.client.orders.cancel({ market: "hk", symbol: ORDER.symbol, orderId });
  await b.machine.pass(TURN);
  await waitUntil("the order to end", async () => (await intentOf(b)).state === "cancelled");
  // Nothing is open any more, so nothing is read.
  await b.scheduler.stop();
  const calls = countCalls(broker);
  await using later = b.another("p2");
  await later.start();
  await b.machine.pass(TURN);
  assertEquals(calls(), 0);
});

testBoth(
  "the scheduler reads no lists while the login is blocked or another process uses the account",
  async () => {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    await using b = await placed(broker);
    const calls = countCalls(broker);
    const { store, machine } = b;
    await holdLogin(store, { account: "default", runKey: KEY, now: machine.now() });
    await machine.pass(TURN);
    assertEquals(calls(), 0);
    assertEquals(await releaseLogin(store, "orders", machine.now()), true);
    const now = machine.now();
    const name = mutexOf("default");
    await takeLease(store, { name, holder: "p2 other/s1/2025-08-15", now, until: now + HOUR });
    await machine.pass(TURN);
    assertEquals(calls(), 0);
    await endHold(store, name);
    await machine.pass(TURN);
    await waitUntil("the lists to be read", () => calls() > 0);
    await waitUntil("the order to be seen", async () => (await intentOf(b)).state === "working");
    await b.scheduler.stop();
  },
);

testBoth(
  "a login that the broker refuses while the scheduler follows orders is blocked for every process",
  async () => {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    const errors: unknown[] = [];
    const lost: string[] = [];
    const onSchedulerEvent = (event: SchedulerEvent) => {
      if (event.type === "error") errors.push(event.error);
    };
    await using b = await placed(broker, {
      onSchedulerEvent,
      onLoginLost: ({ name }) => void lost.push(name),
    });
    let calls = 0;
    broker.client.transport.call = () => {
      calls++;
      const context = { operation: "account.login", reason: "password" } as const;
      return Promise.reject(new LoginRefusedError("the password is wrong", "wrong", context));
    };
    await b.machine.pass(TURN);
    await waitUntil("the first login", () => calls > 0);
    const held = () => refusedLoginOn(b.store, "default", { now: b.machine.now(), needsAccount: true });
    await waitUntil("the login to be blocked", async () => (await held())?.because === "password");
    await waitUntil("the error to be reported", () => errors.length > 0);
    assertEquals([calls, errors.map((each) => each instanceof LoginRefusedError)], [1, [true]]);
    assertEquals(lost, ["orders"]); // its client never logs in again, so a later run needs another client
    await using later = b.another("p2");
    await later.start();
    await b.machine.pass(TURN);
    assertEquals(calls, 1);
    await b.scheduler.stop();
  },
);

testBoth("a refused login is blocked even if all open orders are from commands", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  await using b = await placed(broker, { onSchedulerEvent: () => {} });
  await b.store.run(`update intent set run_key = null, why = '{"kind":"command","by":"buy"}'`);
  assertEquals((await intentOf(b)).why.runKey, undefined);
  broker.client.transport.call = () =>
    Promise.reject(
      new LoginRefusedError("the password is wrong", "wrong", {
        operation: "account.login",
        reason: "password",
      }),
    );
  await b.machine.pass(TURN);
  const held = () => refusedLoginOn(b.store, "default", { now: b.machine.now(), needsAccount: true });
  await waitUntil("the login to be blocked", async () => (await held())?.because === "password");
  assertEquals((await held())?.by, KEY);
  assert(await releaseLogin(b.store, "orders", b.machine.now()), "resuming the recipe ends the block");
  await b.scheduler.stop();
});

testBoth("a login that is taken over while the scheduler follows orders is not taken back", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const lost: string[] = [];
  await using b = await placed(broker, {
    onSchedulerEvent: () => {},
    onLoginLost: ({ name }) => void lost.push(name),
  });
  let calls = 0;
  broker.client.transport.call = () => {
    calls++;
    return Promise.reject(
      new DisplacedError("another device logged in", "taken", { operation: "orders.today" }),
    );
  };
  await b.machine.pass(TURN);
  await waitUntil("the login to be blocked", async () => await takenOverBy(b.store, "default") === KEY);
  const known = calls;
  await b.machine.pass(TURN);
  await b.scheduler.stop();
  await using later = b.another("p2");
  await later.start();
  await b.machine.pass(TURN);
  assertEquals([calls, lost], [known, ["orders"]]);
});

testBoth("the scheduler does not log in to follow orders if that would end other logins", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  await using b = await placed(broker, { isSoleLogin: () => true });
  const calls = countCalls(broker);
  await b.machine.pass(TURN);
  await b.scheduler.stop();
  assertEquals(calls(), 0);
});

testBoth(
  "open orders of today are compared at most once in three minutes, whatever the pace of the passes",
  async () => {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    await using b = await placed(broker);
    let reads = 0;
    const { transport } = broker.client;
    const { call } = transport;
    transport.call = (...args) => {
      if (args[0].name === "orders.today") reads++;
      return call.apply(transport, args);
    };
    for (let turn = 0; turn < 60; turn++) await b.machine.pass(10_000);
    await b.scheduler.stop();
    // A reading makes two requests: for the list, and for the empty page after it. If the passes are rare, there may be
    // no reading in this time.
    assert(reads <= 10, `${reads}`);
  },
);

testBoth("open orders of earlier days are compared once an hour", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  await using b = await placed(broker);
  await b.machine.pass(25 * HOUR); // the broker's clock does not advance, so the order stays open
  let reads = 0;
  const { transport } = broker.client;
  const { call } = transport;
  transport.call = (...args) => {
    if (args[0].name === "orders.today") reads++;
    return call.apply(transport, args);
  };
  for (let hour = 0; hour < 4; hour++) await b.machine.pass(HOUR);
  await b.scheduler.stop();
  // A reading makes two requests: for the list, and for the empty page after it. Orders of today would cause about 160
  // requests.
  assert(reads > 0 && reads <= 10, `${reads}`);
});

/** Runs a recipe whose order gets no answer, while the broker's lists cannot be read. Then stops the scheduler. */
async function lostOrder(broker: Awaited<ReturnType<typeof simulated>>) {
  stopTimeDuringCalls(broker);
  const { faults } = broker.simulator;
  faults.arm({ kind: "lost-answer", operation: "orders.place" });
  const beforeWrite = () => void faults.arm({ kind: "http-error", operation: "orders.today", times: 1_000 });
  const recipe = writer(async ({ client }) => await (await client!()).orders.place(ORDER, { beforeWrite }));
  const b = await brokerBench(broker, { recipes: [recipe], onSchedulerEvent: () => {} }); // a reading may fail
  await b.scheduler.start();
  await b.machine.pass(10_000);
  await waitUntil("the run to end", async () => (await runsOf(b.store))[0] === `${KEY} unknown write live`);
  await b.scheduler.stop();
  faults.clear();
  return b;
}

testBoth(
  "the search for a lost answer makes no calls while the login is blocked or another process uses the account",
  async () => {
    await using broker = await simulated({ at: FRIDAY_MORNING });
    await using b = await lostOrder(broker);
    const calls = countCalls(broker);
    await holdLogin(b.store, { account: "default", runKey: KEY, now: b.machine.now() });
    await using later = b.another("p2");
    await later.start();
    await b.machine.pass(TURN);
    assertEquals(calls(), 0);
    const [name, now] = [mutexOf("default"), b.machine.now()];
    await takeLease(b.store, { name, holder: "p3 other/s1/2025-08-15", now, until: now + HOUR });
    await releaseLogin(b.store, "orders", now);
    await b.machine.pass(TURN);
    assertEquals(calls(), 0);
    await endHold(b.store, name);
    await b.machine.pass(TURN);
    await waitUntil("the order to be found", async () => (await intentOf(b)).orderIds.length === 1);
  },
);

testBoth("the search for a lost answer never reads the lists of another account", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  await using b = await lostOrder(broker);
  const calls = countCalls(broker);
  // In the meantime, the settings were changed to another account.
  await using later = b.another("p2", { accountOf: () => "other" });
  await later.start();
  await b.machine.pass(TURN);
  await later.stop();
  assertEquals([calls(), (await intentOf(b)).state], [0, "unknown"]);
});
