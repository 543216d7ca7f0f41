/** Tests that invariants which no seed breaks can fail. */
import { assertEquals } from "@std/assert";
import { invariants, leakOf, quietInvariants, type Seen } from "../../lib/swarm/invariants.ts";
import { World } from "../../lib/swarm/world.ts";

Deno.test("a process that keeps timers or connections open is a leak, unless it is dead", () => {
  const world = new World(1, 0);
  const [one, two] = [world.process("one"), world.process("two")];
  assertEquals(leakOf(world, []), undefined);
  for (let count = 0; count < 20; count++) one.after(1_000, () => {});
  assertEquals(leakOf(world, []), "one has 20 timers and 0 connections open");
  one.kill();
  assertEquals(leakOf(world, []), undefined);
  assertEquals(leakOf(world, Array(7).fill({ process: two })), "two has 0 timers and 7 connections open");
});

const funds = { available: "0.00", frozenByOrders: "0.00", frozen: "0.00", withdrawable: "0.00" };

Deno.test("the invariant of the cash fails if any of its amounts is below zero", () => {
  const check = (answer: typeof funds) =>
    // It reads nothing else of the world.
    invariants.cash.check({ swarm: { broker: { call: () => answer } } } as unknown as Seen);
  assertEquals(check(funds), undefined);
  for (const name of Object.keys(funds)) {
    assertEquals(check({ ...funds, [name]: "-0.01" }), `${name} is -0.01`);
  }
});

Deno.test("an unknown order may be left to a person only if its order may belong to another unknown one", () => {
  const terms = { symbol: "00700.HK", side: "buy", price: "500" };
  const intent = (id: string, quantity: string, fields = {}) => ({
    id,
    kind: "place",
    operation: "orders.place",
    state: "unknown",
    params: { ...terms, quantity },
    orderIds: [],
    known: [] as string[],
    filled: "0",
    ...fields,
  });
  const check = (intents: ReturnType<typeof intent>[], quantities: string[]) => {
    const orders = quantities.map((quantity, at) => ({
      ...terms,
      orderId: `o${at}`,
      quantity,
      filled: "0",
      status: "waiting",
    }));
    const executed = { name: "orders.place", params: terms, orderIds: ["o0"], isRefused: false };
    // These invariants read nothing else.
    const seen = {
      swarm: { orders: new Map(orders.map((order) => [order.orderId, order])) },
      intents,
      byId: new Map(intents.map((each) => [each.id, each])),
      claims: new Map([["one", executed]]),
    } as unknown as Seen;
    return [
      quietInvariants["unknown-left"].check(seen) !== undefined,
      quietInvariants.book.check(seen) !== undefined,
    ];
  };
  const [one, other] = [intent("one", "100"), intent("other", "300")];
  // The order for 100 is its own, or a part of the other one.
  assertEquals(check([one, other], ["100"]), [false, false]);
  // Parts of 100 each fit in more than one way.
  assertEquals(check([one, other], ["100", "100", "100", "100"]), [false, false]);
  // Each order fits only one intent.
  assertEquals(check([one, other], ["100", "300"])[0], true);
  assertEquals(check([one], ["100"])[0], true);
  assertEquals(check([one, { ...other, state: "filled" }], ["100"])[0], true);
  assertEquals(check([one, { ...other, known: ["o0"] }], ["100"])[0], true);
  assertEquals(check([one, { ...other, params: { ...other.params, price: "501" } }], ["100"])[0], true);
});

Deno.test("a write belongs to the process that has the run", () => {
  const intent = {
    id: "one",
    operation: "orders.place",
    state: "sent",
    why: { runKey: "buy/s1/2025-08-15" },
  };
  const check = (run: { state: string; holder: string } | undefined) =>
    // It reads nothing else.
    invariants.lease.check({
      sent: [intent],
      runs: new Map([[intent.why.runKey, run]]),
      writers: new Map([["one", { name: "scheduler-1", number: 4 }]]),
    } as unknown as Seen);
  assertEquals(check({ state: "running", holder: "scheduler-1 4" }), undefined);
  const by = `intent one (orders.place, "sent") was sent by the run buy/s1/2025-08-15`;
  assertEquals(check({ state: "unknown", holder: "scheduler-1 4" }), `${by}, which is "unknown"`);
  assertEquals(check(undefined), `${by}, which is "missing"`);
  assertEquals(
    check({ state: "running", holder: "scheduler-2 5" }),
    `${by} in scheduler-1 4, and scheduler-2 5 has the run`,
  );
});
