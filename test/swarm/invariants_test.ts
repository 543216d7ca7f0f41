/** Tests that invariants can fail, including invariants that no seed breaks. */
import { assertEquals } from "@std/assert";
import { compare } from "../../lib/decimal.ts";
import { type CheckData, invariants, leakOf, quietInvariants } from "../../lib/swarm/invariants.ts";
import type { Intent } from "../../lib/desk/intent.ts";
import type { PlanRecord } from "../../lib/rebalance/mod.ts";
import {
  badEnding,
  belowBuffer,
  beyondPlan,
  isAfterDeadline,
  type PlanOrder,
  usedAsOne,
} from "../../lib/swarm/rebalancing.ts";
import type { Executed, TrueOrder } from "../../lib/swarm/truth.ts";
import { isForPerson, isMistakenFor } from "../../lib/swarm/undecided.ts";
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
    // The invariant reads only these members of the world.
    invariants.cash.check(
      { swarm: { truth: { funds: () => answer, noteCash() {} } } } as unknown as CheckData,
    );
  assertEquals(check(funds), undefined);
  for (const name of Object.keys(funds)) {
    assertEquals(check({ ...funds, [name]: "-0.01" }), `${name} is -0.01`);
  }
});

const TODAY = Date.parse("2025-05-30T10:00:00+08:00");

Deno.test("an intent may wait for a person only if an order at the broker fits another intent too", () => {
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
    createdAt: TODAY,
    ...fields,
  });
  const check = (
    intents: (Omit<ReturnType<typeof intent>, "orderIds"> & { orderIds: readonly string[] })[],
    shown: (string | { quantity: string; status: string; placedAt?: number })[],
  ) => {
    const orders = shown.map((each, at) => ({
      ...terms,
      orderId: `o${at}`,
      filled: "0",
      placedAt: TODAY,
      ...typeof each === "string" ? { quantity: each, status: "waiting" } : each,
    }));
    const executed = { name: "orders.place", params: terms, orderIds: ["o0"], isRefused: false };
    // These invariants read only these members.
    const seen = {
      swarm: {
        truth: { orders: new Map(orders.map((order) => [order.orderId, order])), isShownOpen: () => false },
      },
      intents,
      byId: new Map(intents.map((each) => [each.id, each])),
      claims: new Map([["one", executed]]),
    } as unknown as CheckData;
    return [
      quietInvariants["unknown-left"].check(seen) !== undefined,
      quietInvariants.book.check(seen) !== undefined,
    ];
  };
  const [one, other] = [intent("one", "100"), intent("other", "300")];
  // The order for 100 belongs to the first intent, or is a part of the second.
  assertEquals(check([one, other], ["100"]), [false, false]);
  // A cancellation of the order does not say whose order it is.
  const cancelled = intent("cancel", "100", { kind: "cancel", state: "cancelled", orderIds: ["o0"] });
  assertEquals(check([one, other, cancelled], ["100"]), [false, false]);
  // Parts of 100 each fit in more than one way.
  assertEquals(check([one, other], ["100", "100", "100", "100"]), [false, false]);
  // An order of an earlier day fits no intent of today. With it, there would be exactly one division.
  const yesterday = { quantity: "300", status: "filled", placedAt: TODAY - 86_400_000 };
  assertEquals(check([one, other], ["100", yesterday]), [false, false]);
  // Each order fits only one intent.
  assertEquals(check([one, other], ["100", "300"])[0], true);
  assertEquals(check([one], ["100"])[0], true);
  assertEquals(check([one, { ...other, state: "filled" }], ["100"])[0], true);
  assertEquals(check([one, { ...other, known: ["o0"] }], ["100"])[0], true);
  assertEquals(check([one, { ...other, params: { ...other.params, price: "501" } }], ["100"])[0], true);
  // The broker has accepted an order for 200 and split it; the lost order for 100 may be its second part.
  const split = { ...intent("one", "200", { state: "acknowledged" }), orderIds: ["o0"] };
  const lost = intent("other", "100");
  const ended = ["100", "100"].map((quantity) => ({ quantity, status: "cancelled" }));
  assertEquals(check([split, lost], ended)[1], false);
  assertEquals(check([split], ended)[1], true);
  assertEquals(check([split, { ...lost, state: "abandoned" }], ended)[1], true);
  assertEquals(check([{ ...split, params: { ...split.params, quantity: "100" } }, lost], ended)[1], true);
});

Deno.test("an intent may have the owner's identical order only if the owner amended the intent's own order, or if the request arrived later", () => {
  const order = (orderId: string, filled: string, fields: object) =>
    [orderId, { orderId, quantity: "100", filled, status: "filled", by: "desk", ...fields }] as const;
  const check = (own: object, twin: object, late: readonly string[] = []) => {
    const intent = { id: "one", kind: "place", state: "filled", orderIds: ["twin"], filled: "100" };
    const executed = { name: "orders.place", params: {}, orderIds: ["own"], isRefused: false };
    // The invariant reads only these members.
    return quietInvariants.book.check({
      swarm: {
        truth: {
          orders: new Map([order("own", "0", own), order("twin", "100", twin)]),
          isShownOpen: () => false,
        },
      },
      intents: [intent],
      byId: new Map([["one", intent]]),
      claims: new Map([["one", executed]]),
      late: new Set(late),
    } as unknown as CheckData);
  };
  assertEquals(check({ isAmendedByOwner: true }, { by: "owner" }), undefined);
  assertEquals(check({}, { by: "owner" }, ["one"]), undefined);
  const wrong = `intent one (undefined, "filled") has 100 filled, and its orders own 0`;
  assertEquals(check({}, { by: "owner" }), wrong);
  assertEquals(check({ isAmendedByOwner: true }, {}), wrong);
  assertEquals([check({}, { by: "owner" }, ["two"]), check({}, {}, ["one"])], [wrong, wrong]);
});

Deno.test("an intent has no order that the owner placed more than 61 s before it was sent, unless a clock has jumped", () => {
  const check = (placedAt: number, { by = "owner", hasJumped = false } = {}) =>
    // The invariant reads only these members.
    invariants["own-orders"].check({
      swarm: {
        truth: { orders: new Map([["o", { by, call: 1 }]]), executed: [{ at: placedAt }] },
        strikes: { hasJumped },
      },
      intents: [{ id: "one", kind: "place", orderIds: ["o"], sentAt: 100_000 }],
      claims: new Map(),
    } as unknown as CheckData);
  assertEquals(check(38_999), "intent one has order o, which the owner had placed before");
  assertEquals([check(39_000), check(38_999, { hasJumped: true }), check(38_999, { by: "desk" })], [
    undefined,
    undefined,
    undefined,
  ]);
});

Deno.test("a write may stay unknown for a person if the owner has amended its order", () => {
  const check = (fields: object, isAmendedByOwner: boolean) => {
    const intent = {
      id: "one",
      kind: "amend",
      state: "unknown",
      params: { orderId: "o" },
      orderIds: [],
      createdAt: TODAY,
      ...fields,
    };
    const order = { orderId: "o", quantity: "100", placedAt: TODAY, isAmendedByOwner };
    // The invariant reads only these members.
    return quietInvariants["unknown-left"].check({
      swarm: { truth: { orders: new Map([["o", order]]) } },
      intents: [intent],
      claims: new Map([["one", { orderIds: ["o"], isRefused: false }]]),
    } as unknown as CheckData) !== undefined;
  };
  const placed = { kind: "place", params: { quantity: "100" }, known: [] };
  assertEquals([check({}, true), check(placed, true), check({ kind: "cancel" }, true)], [false, false, true]);
  assertEquals([check({}, false), check(placed, false)], [true, true]);
});

Deno.test("a write belongs to the process that has the run", () => {
  const intent = {
    id: "one",
    operation: "orders.place",
    sentAt: 1_000,
    why: { runKey: "buy/s1/2025-08-15" },
  };
  const check = (run: { state: string; holder: string; lease_until?: number } | undefined, state = "sent") =>
    // The invariant reads only these members.
    invariants.lease.check({
      sent: [{ ...intent, state }],
      runs: new Map([[intent.why.runKey, run]]),
      writers: new Map([["one", { name: "scheduler-1", number: 4 }]]),
    } as unknown as CheckData);
  assertEquals(check({ state: "running", holder: "scheduler-1 4", lease_until: 1_000 }), undefined);
  const by = `intent one (orders.place, "sent") was sent by the run buy/s1/2025-08-15`;
  assertEquals(check({ state: "unknown", holder: "scheduler-1 4" }), `${by}, which is "unknown"`);
  assertEquals(check(undefined), `${by}, which is "missing"`);
  assertEquals(
    check({ state: "running", holder: "scheduler-1 4", lease_until: 999 }),
    `${by} after its lease`,
  );
  assertEquals(
    check({ state: "running", holder: "scheduler-2 5" }),
    `${by} in scheduler-1 4, and scheduler-2 5 has the run`,
  );
  // In one event, the process recorded the write as sent, gave it up before the first byte, and ended its run.
  assertEquals(check({ state: "failed", holder: "scheduler-1 4" }, "abandoned"), undefined);
});

const order = (fields: object) => ({ quantity: "200", filled: "0", status: "waiting", ...fields });
const ofTrade = (id: string, orders: object[]) => ({
  intent: { id, why: { plan: "h", trade: 0 } },
  orders: orders.map(order),
});
const planned = {
  hash: "h",
  state: "done",
  plan: {
    trades: [{ side: "buy", symbol: "00700.HK", quantity: "300" }],
    value: "1000000",
    leftOut: [] as { symbol: string }[],
    positions: [
      { symbol: "00700.HK", quantity: "0", price: "500", target: "0.15", trade: "300" },
      { symbol: "00005.HK", quantity: "400", price: "100", target: "0.05", trade: "0" },
    ],
  },
  source: { settings: { drift: { absolute: "0.02" } } },
};

Deno.test("the orders of a plan stay within its trades, and a trade has one open order", () => {
  const check = (...own: ReturnType<typeof ofTrade>[]) =>
    // beyondPlan() reads only these members.
    beyondPlan(planned as unknown as PlanRecord, own as unknown as PlanOrder[]);
  const cancelled = ofTrade("one", [{ filled: "100", status: "part-filled-cancelled" }]);
  assertEquals(check(cancelled, ofTrade("two", [{}])), undefined);
  // The broker may split an order.
  assertEquals(check(ofTrade("one", [{ quantity: "100" }, {}])), undefined);
  const more = ofTrade("two", [{ quantity: "300" }]);
  assertEquals(check(cancelled, more), "the plan says to buy 300 of 00700.HK, and its orders have 400");
  assertEquals(
    check(ofTrade("one", [{ quantity: "100" }]), ofTrade("two", [{ quantity: "100" }])),
    "two orders of one trade are open: the intents one, two",
  );
});

Deno.test("a purchase of a plan is covered by a recent figure of the cash, less the plan's own purchases since that figure", () => {
  const MINUTE = 60_000;
  const check = (figures: [minute: number, call: number, amount: string][], at = 10) =>
    belowBuffer("1000", figures.map(([minute, call, amount]) => ({ at: minute * MINUTE, call, amount })), {
      at: at * MINUTE,
      call: 5,
      purchases: [{ call: 3, used: "300" }, { call: 5, used: "200" }],
    });
  assertEquals(check([[10, 4, "1200"]]), undefined);
  assertEquals(
    check([[10, 4, "1199"], [10, 5, "2000"]]),
    "the purchase leaves 999 of the cash, and the buffer is 1000",
  );
  // The cash before the purchase of call 3 must cover both purchases; another program has used the cash since.
  assertEquals(check([[8, 2, "1500"], [9, 4, "900"]]), undefined);
  assertEquals(check([[8, 2, "1499"], [9, 4, "900"]]) === undefined, false);
  // The figure was replaced too long ago.
  assertEquals(check([[1, 2, "1500"], [4, 4, "900"]]) === undefined, false);
});

Deno.test("a purchase counts as one order with the published fees, if the broker reserves more for its parts", () => {
  const orders = new Map(
    ["a", "b", "c", "d"].map((id) => [id, { symbol: "09988.HK", price: "125.00", quantity: "100" }]),
  );
  const at = Date.parse("2025-11-12T02:10:36Z");
  const orderIds = [...orders.keys()];
  // The simulator reserves 50141.40 for the four parts.
  assertEquals(compare(usedAsOne({ orderIds, at, used: "50141.40" }, orders), "50086.36"), 0);
  assertEquals(usedAsOne({ orderIds, at, used: "49900.00" }, orders), "49900.00");
  assertEquals(usedAsOne({ orderIds: [], at, used: "7.00" }, orders), "7.00");
});

const sentBy = (intent: object, executed: object = {}, hasJumped = false) => {
  const own = { name: "orders.place", params: {}, orderIds: ["7"], isRefused: false, ...executed };
  return { swarm: { strikes: { hasJumped } }, fresh: [{ executed: own, intent, isRepeated: false }] };
};

Deno.test("the broker executes a write at most 90 s after its record, unless a clock has jumped", () => {
  const check = (at: number, hasJumped = false) =>
    // The invariant reads only these members.
    invariants["sent-soon"].check(sentBy({ sentAt: 1_000 }, { at }, hasJumped) as unknown as CheckData);
  assertEquals([check(91_000), check(91_001, true)], [undefined, undefined]);
  assertEquals(
    check(92_000),
    "the broker executed orders.place    at  (order 7) 91 s after it was recorded",
  );
});

Deno.test("a step of a run that places one order has one order at the broker, whichever process sent it", () => {
  const why = { recipe: "buy", runKey: "buy/s1/2025-08-15", step: "buy" };
  const check = (second: object, fields: object = {}) => {
    const executed = { name: "orders.place", isRefused: false };
    const intents = [{ id: "one", why }, { id: "two", why: { ...why, ...second } }];
    // The invariant reads only these members.
    return invariants["step-once"].check({
      fresh: [{ intent: intents[1] }],
      byId: new Map(intents.map((intent) => [intent.id, intent])),
      claims: new Map([["one", executed], ["two", { ...executed, ...fields }]]),
    } as unknown as CheckData);
  };
  assertEquals(check({}), "the intents one and two are both orders of buy/s1/2025-08-15 buy");
  assertEquals(check({}, { isRefused: true }), undefined);
  assertEquals(check({ runKey: "buy/s1/2025-08-18" }), undefined);
  assertEquals(check({ plan: "h" }), undefined);
});

Deno.test("a plan ends with everything filled inside its band, or with a reason", () => {
  const trade = {
    side: "buy",
    symbol: "00700.HK",
    planned: "300",
    filled: "300",
    open: "0",
    unknown: "0",
    remaining: "0",
  };
  const check = (fields: object = {}, truly = "300", unresolved: string[] = []) => {
    const record = { ...planned, report: { trades: [trade], drift: { reached: "0.0001" } }, ...fields };
    const orders = [ofTrade("one", [{ quantity: "300", filled: truly, status: "filled" }])];
    // badEnding() reads only these members.
    return badEnding(record as unknown as PlanRecord, orders as unknown as PlanOrder[], new Set(unresolved));
  };
  const is = 'the plan h is "done"';
  assertEquals(check(), undefined);
  assertEquals(check({ state: "running" }), 'the plan h is "running" after its deadline');
  assertEquals(check({ state: "running" }, "300", ["h"]), undefined);
  assertEquals(check({}, "200", ["h"]), check({}, "200"));
  assertEquals(check({ state: "stopped" }), 'the plan h is "stopped" without a reason');
  assertEquals(
    check({}, "200"),
    `${is}, and for buy 300 of 00700.HK its report has 300 filled, and the broker 200`,
  );
  const part = { trades: [{ ...trade, filled: "200", remaining: "100" }], drift: { reached: "0" } };
  assertEquals(check({ report: part }, "200"), `${is}, and for buy 300 of 00700.HK only 200 are filled`);
  assertEquals(
    check({ report: part, state: "stopped", reason: "its deadline has passed" }, "200"),
    'the plan h is "stopped", and for buy 300 of 00700.HK no reason says why some remain',
  );
  const narrow = { source: { settings: { drift: { absolute: "0.005" } } } };
  assertEquals(check(narrow), `${is}, 00005.HK is -0.010000 from its target, and no reason says why`);
  const leftOut = { plan: { ...planned.plan, leftOut: [{ symbol: "00005.HK" }] } };
  assertEquals(check({ ...narrow, ...leftOut }), undefined);
  assertEquals(
    check({ report: { trades: [trade], drift: { reached: "0" } } }),
    `${is}, its report says that the drift is 0, and it is 0.00010000000000000005`,
  );
});

Deno.test("no order of a plan is sent long after its deadline", () => {
  const minute = (at: number) => ({ sentAt: at * 60_000 });
  const record = { deadlineAt: 600_000 } as PlanRecord; // the invariant reads only this member
  assertEquals([10, 13, 15].map((at) => isAfterDeadline(record, minute(at) as Intent)), [false, false, true]);
});

Deno.test("a lost request can be mistaken for the owner's order, but an executed one cannot", {
  permissions: "none",
}, () => {
  // isMistakenFor() reads only these members.
  const intent = { id: "one", orderIds: ["7"] } as unknown as Intent;
  const order = (by: string) => ({ by, isAmendedByOwner: false }) as unknown as TrueOrder;
  const mistaken = (by: string, claimed: readonly string[]) =>
    isMistakenFor(intent, {
      swarm: { truth: { orders: new Map([["7", order(by)], ["8", order("desk")]]) } },
      claims: new Map(claimed.map((id) => [id, { orderIds: ["8"] } as unknown as Executed])),
      late: new Set(),
    });
  assertEquals([mistaken("owner", []), mistaken("owner", ["one"]), mistaken("desk", [])], [
    true,
    false,
    false,
  ]);
});

Deno.test(
  "a part that the owner amended is left to a person only if the desk does not know the part",
  {
    permissions: "none",
  },
  () => {
    // isForPerson() reads only these members.
    const intent = (state: string, orderIds: readonly string[]) =>
      ({
        id: "one",
        kind: "place",
        state,
        params: { quantity: "200" },
        orderIds,
        known: [],
      }) as unknown as Intent;
    const order = (isAmendedByOwner: boolean) =>
      ({ quantity: "100", isAmendedByOwner }) as unknown as TrueOrder;
    const forPerson = (state: string, known: readonly string[], isAmended = true) => {
      const one = intent(state, known);
      const orders = new Map([["7", order(false)], ["8", order(isAmended)]]);
      const claims = new Map([["one", { orderIds: ["7", "8"] } as unknown as Executed]]);
      return isForPerson(one, { swarm: { truth: { orders } }, intents: [one], claims });
    };
    for (const state of ["working", "part-filled"]) {
      assertEquals([forPerson(state, ["7"]), forPerson(state, ["7", "8"]), forPerson(state, ["7"], false)], [
        true,
        false,
        false,
      ], state);
    }
    assertEquals([forPerson("filled", ["7"]), forPerson("cancelled", ["7"])], [false, false]);
  },
);
