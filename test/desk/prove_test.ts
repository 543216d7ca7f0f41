/** Tests of what the broker's lists prove about a lost answer: pure decisions on readings and intents. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ListReading, SeenOrder } from "../../lib/desk/broker_lists.ts";
import type { Intent, IntentKind } from "../../lib/desk/intent.ts";
import { provesAbsence } from "../../lib/desk/absence.ts";
import { amendedElsewhere, childrenIn, isExplainedBy, judge, laterProofOf } from "../../lib/desk/prove.ts";
import { areTerms, fingerprintOf } from "../../lib/desk/terms.ts";
import { operationOfPath, operations } from "../../lib/operations/mod.ts";

const assertNotEquals = (one: string, other: string, what?: string) => assert(one !== other, what ?? one);

const SENT = Date.parse("2025-08-15T10:30:00+08:00");
const TERMS = {
  market: "hk",
  symbol: "00700.HK",
  side: "buy",
  orderType: "limit",
  price: "550",
  quantity: "100",
};

const intent = (given: Partial<Intent> = {}): Intent => ({
  id: "mine",
  account: "main",
  kind: "place",
  operation: "orders.place",
  params: TERMS,
  fingerprint: "",
  why: {},
  state: "unknown",
  orderIds: [],
  childIds: [],
  known: [],
  earlier: undefined,
  readSince: SENT,
  filled: "0",
  absent: undefined,
  createdAt: SENT,
  sentAt: SENT,
  sentNumber: 1,
  timeoutMs: 10_000,
  brokerAt: undefined,
  endedAt: undefined,
  ...given,
});

const order = (orderId: string, given: Partial<SeenOrder> = {}): SeenOrder => ({
  orderId,
  lists: ["orders.today"],
  symbol: "00700.HK",
  side: "buy",
  orderType: "limit",
  price: "550.00",
  triggerValue: undefined,
  trailBy: undefined,
  quantity: "100",
  filled: "0",
  state: "working",
  placedAt: "2025-08-15 10:30:01",
  day: "2025-08-15",
  remark: undefined,
  ...given,
});

const readingWith = (...orders: SeenOrder[]): ListReading => ({
  beganAt: SENT + 1_000,
  endedAt: SENT + 1_100,
  aheadMs: 0,
  orders: new Map(orders.map((each) => [each.orderId, each])),
  lists: ["orders.today", "fills.today"],
});

const alone = { owners: new Map(), rivals: [] };
const among = (rivals: Intent[], owners: Record<string, string> = {}) => ({
  owners: new Map(Object.entries(owners).map(([id, owner]) => [id, { intent: owner }])),
  rivals,
});

Deno.test("judge() finds an order by its terms, but not an order of an earlier day, another owner or another side", () => {
  assertEquals(judge(intent(), readingWith(order("1")), alone), { is: "sent", orderIds: ["1"] });
  for (
    const [what, row, others] of [
      ["an earlier day", order("1", { day: "2025-08-14" }), alone],
      ["another owner", order("1"), among([], { "1": "other" })],
      ["another side", order("1", { side: "sell" }), alone],
      ["another price", order("1", { price: "551" }), alone],
      ["another type", order("1", { orderType: "enhanced-limit" }), alone],
      ["another listing", order("1", { symbol: "00005.HK" }), alone],
      ["a larger quantity", order("1", { quantity: "200" }), alone],
      ["a conditional order", order("1", { lists: ["conditionalOrders.today"] }), alone],
    ] as const
  ) assertEquals(judge(intent(), readingWith(row), others), { is: "absent" }, what);
  assertEquals(judge(intent({ known: ["1"] }), readingWith(order("1")), alone), { is: "absent" });
  // A later date excludes nothing: the order of a night session may have the next day's date.
  assertEquals(judge(intent(), readingWith(order("1", { day: "2025-08-18" })), alone).is, "sent");
});

Deno.test("two spellings of one code are one listing, for an order, an amendment and the fingerprint", () => {
  for (
    const [market, asked, listed] of [
      ["us", "AAPL", "AAPL.US"],
      ["us", "AAPL.US", "AAPL"],
      ["us", "aapl", "AAPL"],
      ["shanghai", "600519", "600519.SH"],
      ["shenzhen", "000333.SZ", "000333"],
      ["hk", "700.HK", "00700.HK"],
    ] as const
  ) {
    const placed = { ...TERMS, market, symbol: asked };
    const row = order("1", { symbol: listed, day: undefined });
    assertEquals(
      judge(intent({ params: placed }), readingWith(row), alone).is,
      "sent",
      `${asked} and ${listed}`,
    );
    const terms = { market, symbol: asked, quantity: "200", price: "549" };
    const ended = order("1", { symbol: listed, state: "cancelled" });
    const fresh = order("2", { symbol: listed, quantity: "200", price: "549", day: undefined });
    assertEquals(
      judge(amendment(terms), readingWith(ended, fresh), alone),
      { is: "sent", orderIds: ["2"] },
      asked,
    );
    assertEquals(
      fingerprintOf({ kind: "place", operation: "orders.place", params: placed }),
      fingerprintOf({ kind: "place", operation: "orders.place", params: { ...placed, symbol: listed } }),
    );
  }
  // The suffix of a share class is not the suffix of a market.
  const classB = intent({ params: { ...TERMS, market: "us", symbol: "BRK.B" } });
  assertEquals(judge(classB, readingWith(order("1", { symbol: "BRK" })), alone).is, "absent");
});

Deno.test("judge() assigns no order that, by the broker's time, was placed before the request", () => {
  const early = order("1", { placedAt: "2025-08-15 10:28:59" });
  const verdict = judge(intent(), readingWith(early), alone);
  assertEquals(verdict.is, "unprovable");
  assertStringIncludes(
    "missing" in verdict ? verdict.missing : "",
    "a person's decision: by the broker's time, each order with the terms of this intent was placed before the intent was sent: 1",
  );
  // judge() still finds the intent's own order beside the earlier order.
  assertEquals(judge(intent(), readingWith(early, order("2")), alone), { is: "sent", orderIds: ["2"] });
  // Controls: clocks that differ by at most a minute, and times that cannot be read.
  for (const placedAt of ["2025-08-15 10:29:00", "10:28:59", "2025-02-30 10:00:00", undefined]) {
    assertEquals(judge(intent(), readingWith(order("1", { placedAt })), alone).is, "sent", placedAt);
  }
});

Deno.test("judge() dates a US order by the day in New York, and a futures order of the night by the day before", () => {
  const night = Date.parse("2025-08-16T01:00:00+08:00");
  const us = intent({ params: { ...TERMS, market: "us" }, readSince: night });
  assertEquals(
    judge(us, readingWith(order("1", { day: "2025-08-15", placedAt: undefined })), alone).is,
    "sent",
  );
  assertEquals(
    judge(us, readingWith(order("1", { day: "2025-08-14", placedAt: undefined })), alone).is,
    "absent",
  );
  const { market: _, ...terms } = TERMS;
  const future = intent({ operation: "futures.place", params: terms, readSince: night });
  const row = (day: string) =>
    readingWith(order("1", { lists: ["futures.ordersToday"], day, placedAt: undefined }));
  assertEquals(judge(future, row("2025-08-15"), alone).is, "sent");
  assertEquals(judge(future, row("2025-08-14"), alone).is, "absent");
});

Deno.test("judge() adds up the parts of a split order, and never counts more than was requested", () => {
  const large = intent({ params: { ...TERMS, quantity: "700" } });
  const part = (id: string, quantity: string) => order(id, { quantity });
  const three = [part("1", "300"), part("2", "300"), part("3", "100")];
  assertEquals(judge(large, readingWith(...three), alone), { is: "sent", orderIds: ["1", "2", "3"] });
  assertEquals(judge(large, readingWith(...three.slice(1)), alone), {
    is: "partial",
    orderIds: ["2", "3"],
    missing: "the rest of the quantity: the lists show only 2, 3",
  });
  assertEquals(judge(large, readingWith(...three, part("4", "100")), alone).is, "ambiguous");
});

Deno.test("judge() does not assign an order that may be a missing part of another intent's split order", () => {
  const split = intent({
    id: "split",
    state: "acknowledged",
    params: { ...TERMS, quantity: "700" },
    orderIds: ["1"],
  });
  const owners = { "1": "split" };
  const own = order("1", { quantity: "300" });
  const part = (id: string, quantity: string) => order(id, { quantity });
  // The list lags: it shows one order of 100, which may be the last part of the split order, or the lost order.
  const verdict = judge(
    intent(),
    readingWith(own, part("2", "300"), part("3", "100")),
    among([split], owners),
  );
  assertEquals(verdict.is, "partial");
  assertEquals(
    "missing" in verdict && verdict.missing,
    "which of the orders 3 belong to this intent, and which to intent split",
  );
  // The same for the split order: it must not take the lost order as its last part.
  const missing = judge(
    split,
    readingWith(own, part("2", "300"), part("3", "100")),
    among([intent()], owners),
  );
  assertEquals(missing.is, "partial");
  // With all orders in the list, each of the two orders of 100 can belong to either intent.
  const all = readingWith(own, part("2", "300"), part("3", "100"), part("4", "100"));
  assertEquals(judge(intent(), all, among([split], owners)).is, "partial");
  // Parts that were there before the lost request are not its orders.
  const later = intent({ known: ["1", "2", "3"] });
  assertEquals(judge(later, all, among([split], owners)), { is: "sent", orderIds: ["4"] });
  assertEquals(judge(split, all, among([later], owners)), { is: "sent", orderIds: ["1", "2", "3"] });
});

Deno.test("judge() assigns orders to two lost answers only if the quantities allow exactly one assignment", () => {
  const large = intent({ id: "large", params: { ...TERMS, quantity: "300" } });
  const orders = [order("1"), order("2", { quantity: "300" })];
  assertEquals(judge(intent(), readingWith(...orders), among([large])), { is: "sent", orderIds: ["1"] });
  assertEquals(judge(large, readingWith(...orders), among([intent()])), { is: "sent", orderIds: ["2"] });
  assertEquals(judge(intent(), readingWith(orders[0]!), among([large])).is, "partial");
});

Deno.test("an order that a triggered conditional order placed belongs to that conditional order, and is not taken for a lost one", () => {
  const conditional = intent({
    id: "stop",
    state: "working",
    params: { ...TERMS, orderType: "take-profit-limit", triggerValue: "555" },
    orderIds: ["8"],
  });
  const trigger = order("8", {
    lists: ["conditionalOrders.today"],
    orderType: "take-profit-limit",
    state: "triggered",
  });
  const child = order("1", { orderType: "enhanced-limit" });
  const owners = { "8": "stop" };
  assertEquals(
    childrenIn(conditional, { reading: readingWith(trigger, child) }, among([conditional], owners)),
    ["1"],
  );
  assertEquals(judge(intent(), readingWith(trigger, order("1")), among([conditional], owners)).is, "partial");
  // The order may be the lost order or the child, so it counts as neither.
  const both = among([conditional, intent()], owners);
  assertEquals(childrenIn(conditional, { reading: readingWith(trigger, order("1")) }, both), undefined);
  // Two orders could be the child, so neither is.
  assertEquals(
    childrenIn(
      conditional,
      { reading: readingWith(trigger, child, order("2")) },
      among([conditional], owners),
    ),
    undefined,
  );
  // The lists of orders have lost rows, so they may have lost another order that fits.
  const inFills = order("1", {
    lists: ["fills.today"],
    quantity: undefined,
    filled: "100",
    state: undefined,
  });
  assertEquals(
    childrenIn(conditional, { reading: readingWith(trigger, inFills) }, among([conditional], owners)),
    undefined,
  );
  const known = { ...conditional, known: ["1"] };
  assertEquals(
    childrenIn(known, { reading: readingWith(trigger, child) }, among([known], owners)),
    undefined,
  );
});

const amendment = (params: Record<string, string>, given: Partial<Intent> = {}) =>
  intent({
    kind: "amend",
    operation: "orders.amend",
    params: { market: "hk", symbol: "00700.HK", orderId: "1", ...params },
    known: ["1"],
    earlier: { quantity: "100", price: "550" },
    ...given,
  });

Deno.test("an amendment is proven by its new terms only if the order had other terms before", () => {
  const placed = among([], { "1": "placed" });
  const changed = amendment({ quantity: "200", price: "549" });
  assertEquals(judge(changed, readingWith(order("1", { quantity: "200", price: "549.00" })), placed), {
    is: "sent",
    orderIds: ["1"],
  });
  const same = amendment({ quantity: "100", price: "550.00" });
  assertEquals(judge(same, readingWith(order("1")), placed).is, "unprovable");
  const blind = amendment({ quantity: "200", price: "549" }, { earlier: undefined });
  assertEquals(
    judge(blind, readingWith(order("1", { quantity: "200", price: "549" })), placed).is,
    "unprovable",
  );
});

Deno.test("an order with its earlier terms does not prove that an amendment was not executed", () => {
  // Another program may have set the earlier terms again.
  const verdict = judge(amendment({ quantity: "200", price: "549" }), readingWith(order("1")), alone);
  assertEquals(verdict.is, "unprovable");
});

Deno.test("the lists that were read for a later amendment of the order prove a lost amendment", () => {
  const lost = amendment({ quantity: "200", price: "549" });
  const next = (given: Partial<Intent> = {}) =>
    amendment({ quantity: "200", price: "548" }, {
      id: "next",
      createdAt: SENT + 60_000,
      earlier: { quantity: "200", price: "549.00" },
      ...given,
    });
  assertEquals(laterProofOf(lost, [lost, next()])?.id, "next");
  const cases: Record<string, Intent> = {
    "its lists showed another price": next({ earlier: { quantity: "200", price: "550" } }),
    "its lists showed no price": next({ earlier: { quantity: "200" } }),
    "its lists were read before the lost amendment was sent": next({ createdAt: SENT }),
    "it is for another order": next({ params: { ...next().params, orderId: "2" } }),
    "it is a cancellation": next({ kind: "cancel" }),
  };
  for (const [what, other] of Object.entries(cases)) {
    assertEquals(laterProofOf(lost, [other]), undefined, what);
  }
  // An amendment between the two requested the same terms, so it explains them.
  const between = amendment({ quantity: "200", price: "549" }, {
    id: "between",
    sentNumber: 2,
    state: "filled",
  });
  assertEquals(laterProofOf(lost, [lost, between, next({ sentNumber: 3 })]), undefined);
  assertEquals(
    laterProofOf(lost, [lost, next({ sentNumber: 3 }), { ...between, sentNumber: 4 }])?.id,
    "next",
  );
  // The order had these terms already, so they prove nothing.
  const same = amendment({ quantity: "100", price: "550.00" });
  assertEquals(laterProofOf(same, [next({ earlier: { quantity: "100", price: "550" } })]), undefined);
  assertEquals(laterProofOf({ ...lost, sentAt: undefined }, [next()]), undefined);
});

Deno.test("a later amendment of the order with the same terms explains what the lists show of a lost amendment", () => {
  const lost = amendment({ quantity: "200", price: "549" });
  const next = (terms: object, given: Partial<Intent> = {}) =>
    amendment({ quantity: "200", price: "549", ...terms }, {
      id: "next",
      state: "acknowledged",
      sentNumber: 2,
      ...given,
    });
  assertEquals(isExplainedBy(lost, [lost, next({})]), true);
  assertEquals(isExplainedBy(lost, [lost, next({}, { state: "unknown" })]), true);
  const cases: Record<string, Intent> = {
    "it has another price": next({ price: "548" }),
    "it was sent before": next({}, { sentNumber: 0 }),
    "it was rejected": next({}, { state: "rejected" }),
    "it was not sent": next({}, { state: "abandoned", sentNumber: undefined }),
    "it is for another order": next({ orderId: "2" }),
  };
  for (const [what, other] of Object.entries(cases)) assertEquals(isExplainedBy(lost, [other]), false, what);
});

Deno.test("an order of the same listing and side that belongs to no intent may be a lost order with other terms", () => {
  const other = { price: "600", quantity: "900" };
  assertEquals(amendedElsewhere(intent(), readingWith(order("1", other)), new Map()), ["1"]);
  const cases: Record<string, readonly string[]> = {
    "another side": amendedElsewhere(
      intent(),
      readingWith(order("1", { ...other, side: "sell" })),
      new Map(),
    ),
    "another listing": amendedElsewhere(
      intent(),
      readingWith(order("1", { ...other, symbol: "00005.HK" })),
      new Map(),
    ),
    "an earlier day": amendedElsewhere(
      intent(),
      readingWith(order("1", { ...other, day: "2025-08-14" })),
      new Map(),
    ),
    "known before": amendedElsewhere(intent({ known: ["1"] }), readingWith(order("1", other)), new Map()),
    "of another intent": amendedElsewhere(
      intent(),
      readingWith(order("1", other)),
      new Map([["1", { intent: "other" }]]),
    ),
    "a cancellation": amendedElsewhere(intent({ kind: "cancel" }), readingWith(order("1", other)), new Map()),
  };
  for (const [what, found] of Object.entries(cases)) assertEquals(found, [], what);
});

Deno.test("a lost amendment of only the trigger value counts as executed when the list shows the new value", () => {
  const earlier = { quantity: "100", price: "550", triggerValue: "555" };
  const terms = { quantity: "100", price: "550", orderType: "take-profit-limit", triggerValue: "560" };
  const lost = amendment(terms, { earlier });
  const row = (triggerValue: string) =>
    readingWith(
      order("1", { lists: ["conditionalOrders.today"], orderType: "take-profit-limit", triggerValue }),
    );
  assertEquals(judge(lost, row("555"), alone).is, "unprovable");
  assertEquals(judge(lost, row("560.00"), alone), { is: "sent", orderIds: ["1"] });
  // A change of the validity is in no list.
  const validity = amendment({ ...terms, triggerValue: "555", validDays: "9" }, { earlier });
  assertEquals(judge(validity, row("555"), alone).is, "unprovable");
});

Deno.test("a lost action on an algorithmic order is neither proven nor disproven by lists that never show it", () => {
  const act = intent({
    kind: "amend",
    operation: "algo.act",
    params: { market: "hk", orderId: "7", action: "suspend", strategy: "twap" },
    known: ["7"],
    earlier: { quantity: "100", price: "550" },
  });
  const algo = (id: string) => order(id, { lists: ["algo.list"] });
  assertEquals(judge(act, readingWith(algo("7")), alone).is, "unprovable");
  // A new algorithmic order of the same listing does not belong to the action.
  assertEquals(judge(act, readingWith(algo("7"), algo("8")), alone).is, "unprovable");
});

Deno.test("two orders after a lost amendment are ambiguous, and an order of another owner does not count", () => {
  const lost = amendment({ quantity: "200", price: "549" });
  const fresh = order("2", { quantity: "200", price: "549" });
  assertEquals(judge(lost, readingWith(order("1"), fresh), alone).is, "ambiguous");
  const ended = order("1", { state: "cancelled" });
  assertEquals(judge(lost, readingWith(ended, fresh), alone), { is: "sent", orderIds: ["2"] });
  assertEquals(judge(lost, readingWith(ended, fresh), among([], { "2": "other" })).is, "unprovable");
});

Deno.test("an amendment cannot have replaced an order that was filled completely: a new order with the amendment's terms is somebody else's", () => {
  const lost = amendment({ quantity: "100", price: "549" });
  const filled = order("1", { state: "filled", filled: "100" });
  const fresh = order("2", { quantity: "100", price: "549" });
  assertEquals(judge(lost, readingWith(filled, fresh), alone).is, "unprovable");
  // The amendment was executed before the order was filled.
  const amended = order("1", { price: "549", state: "filled", filled: "100" });
  assertEquals(judge(lost, readingWith(amended, fresh), alone), { is: "sent", orderIds: ["1"] });
});

Deno.test("a lost amendment that the broker has split is proven by the changed order and its new parts together", () => {
  const lost = amendment({ quantity: "800", price: "549" });
  const amended = order("1", { quantity: "300", price: "549" });
  const parts = [
    order("2", { quantity: "300", price: "549" }),
    order("3", { quantity: "200", price: "549" }),
  ];
  const split = { is: "sent", orderIds: ["1", "2", "3"] } as const;
  assertEquals(judge(lost, readingWith(amended, ...parts), alone), split);
  const filled = { ...amended, state: "filled", filled: "300" } as const;
  assertEquals(judge(lost, readingWith(filled, ...parts), alone), split);
  const larger = amendment({ quantity: "800", price: "550" });
  const samePrice = [amended, ...parts].map((each) => ({ ...each, price: "550" }));
  assertEquals(judge(larger, readingWith(...samePrice), alone), split);

  const cases: Record<string, ReturnType<typeof judge>> = {
    "a part is missing": judge(lost, readingWith(amended, parts[0]!), alone),
    "there is one order too many": judge(
      lost,
      readingWith(amended, ...parts, { ...parts[1]!, orderId: "4" }),
      alone,
    ),
    "a part has another price": judge(
      lost,
      readingWith(amended, parts[0]!, { ...parts[1]!, price: "548" }),
      alone,
    ),
    "a part sells": judge(lost, readingWith(amended, parts[0]!, { ...parts[1]!, side: "sell" }), alone),
    "a part has another type": judge(
      lost,
      readingWith(amended, parts[0]!, { ...parts[1]!, orderType: "enhanced-limit" }),
      alone,
    ),
    "a part belongs to another intent": judge(
      lost,
      readingWith(amended, ...parts),
      among([], { "1": "placed", "3": "other" }),
    ),
    "a part was known before": judge({ ...lost, known: ["1", "3"] }, readingWith(amended, ...parts), alone),
    "the order has its earlier price": judge(
      lost,
      readingWith({ ...amended, price: "550" }, ...parts),
      alone,
    ),
    // Somebody else may have placed the new orders.
    "the order has not changed": judge(
      { ...larger, earlier: { quantity: "300", price: "550" } },
      readingWith(...samePrice),
      alone,
    ),
    // The broker never makes an order smaller to split it.
    "the order is smaller than before": judge(
      { ...lost, earlier: { quantity: "400", price: "550" } },
      readingWith(amended, ...parts),
      alone,
    ),
  };
  for (const [what, { is }] of Object.entries(cases)) assertEquals(is, "unprovable", what);
});

Deno.test("a cancellation counts as not executed only while every one of its orders is open", () => {
  const cancel = intent({
    kind: "cancel",
    operation: "orders.cancelMany",
    params: { market: "hk", orderIds: ["1", "2"] },
  });
  const ended = (id: string) => order(id, { state: "cancelled" });
  assertEquals(judge(cancel, readingWith(order("1"), order("2")), alone), { is: "absent" });
  assertEquals(judge(cancel, readingWith(ended("1"), ended("2")), alone).is, "sent");
  // A part of it may have been executed.
  assertEquals(judge(cancel, readingWith(ended("1"), order("2")), alone).is, "partial");
  assertEquals(judge(cancel, readingWith(order("1")), alone).is, "partial");
  // The broker works on a cancellation, so a request arrived.
  const pending = order("2", { isCancelPending: true });
  assertEquals(judge(cancel, readingWith(order("1"), pending), alone).is, "partial");
  assertEquals(
    judge(cancel, readingWith(order("1", { isCancelPending: true }), pending), alone).is,
    "partial",
  );
});

Deno.test("an order without a quantity and a state is not a proof", () => {
  const strange = order("1", { quantity: undefined, filled: "0", state: undefined });
  assertEquals(judge(intent(), readingWith(strange), alone).is, "partial");
});

Deno.test("provesAbsence() needs readings over time by both clocks, and a later order in the same lists", () => {
  const absent = {
    count: 3,
    firstAt: SENT,
    lastAt: SENT + 60_000,
    firstBrokerAt: SENT,
    lastBrokerAt: SENT + 60_000,
  };
  const lists = ["orders.today", "fills.today"];
  const facts = { absent, reading: readingWith(order("9")), later: new Set(["9"]), lists };
  assertStringIncludes(JSON.stringify(provesAbsence(intent(), facts)), "9, which was sent later");
  const missing = (given: Partial<typeof facts>, of = intent()) => {
    const proven = provesAbsence(of, { ...facts, ...given });
    return "missing" in proven ? proven.missing : undefined;
  };
  assertStringIncludes(missing({ absent: { ...absent, count: 2 } })!, "so far 2 over ");
  assertStringIncludes(missing({ absent: { ...absent, lastAt: SENT + 59_999 } })!, "over 60 s");
  assertStringIncludes(missing({ absent: { ...absent, lastBrokerAt: SENT + 59_999 } })!, "broker's clock");
  const { firstBrokerAt: _, lastBrokerAt: __, ...machineOnly } = absent;
  assertStringIncludes(missing({ absent: machineOnly as typeof absent })!, "broker's time");
  assertStringIncludes(missing({ later: new Set() })!, "sent later");
  assertStringIncludes(missing({}, intent({ known: ["9"] }))!, "sent later");
  assertStringIncludes(missing({}, intent({ timeoutMs: 60_000 }))!, "over 90 s");
  // A later conditional order is in another list, which may lag less.
  const elsewhere = readingWith(order("9", { lists: ["conditionalOrders.today"] }));
  assertStringIncludes(missing({ reading: elsewhere })!, "sent later");
  // If one of the clocks shows a later day, only the history can show such an order.
  const tomorrow = { ...readingWith(order("9")), aheadMs: 24 * 60 * 60_000 };
  assertEquals(
    missing({ reading: tomorrow }),
    "an order of yours of 2025-08-15 in the lists of the history that was sent later",
  );
});

Deno.test("provesAbsence() accepts no later order in a list that may not contain the day of the request", () => {
  const at = (text: string) => Date.parse(`${text}+08:00`);
  const proves = (
    { sent, now, row, market, lists, aheadMs = 0 }: {
      sent: number;
      now: number;
      row: Partial<SeenOrder>;
      market?: string;
      lists?: readonly string[];
      aheadMs?: number;
    },
  ) => {
    const { market: _, ...terms } = TERMS;
    const own = intent({ params: market === undefined ? terms : { ...terms, market }, readSince: sent });
    const [firstAt, lastAt] = [now - 60_000, now];
    const absent = { count: 3, firstAt, lastAt, firstBrokerAt: firstAt, lastBrokerAt: lastAt };
    const reading = { ...readingWith(order("9", row)), beganAt: now, endedAt: now + 100, aheadMs };
    const later = new Set(["9"]);
    const proven = provesAbsence(own, { absent, reading, later, lists: lists ?? ["orders.today"] });
    return "proof" in proven;
  };
  const [today, history] = [["orders.today"], ["orders.history"]];
  const [morning, noon, monday] = [
    at("2025-08-15T10:30:00"),
    at("2025-08-15T12:00:00"),
    at("2025-08-18T10:30:00"),
  ];
  const hk = { market: "hk", sent: morning };
  assert(proves({ ...hk, now: noon, row: { lists: today } }));
  // After the close, the broker may have emptied the list of today: only the history has the whole day.
  const evening = at("2025-08-15T17:40:00");
  assert(!proves({ ...hk, now: evening, row: { lists: today } }));
  assert(proves({ ...hk, now: evening, row: { lists: history } }));
  // One of the two clocks shows a time after the close.
  const [late, early] = [at("2025-08-15T15:30:00"), 45 * 60_000];
  assert(proves({ ...hk, now: late, row: { lists: today } }));
  assert(!proves({ ...hk, now: late, aheadMs: early, row: { lists: today } }));
  assert(!proves({ ...hk, now: late + early, aheadMs: -early, row: { lists: today } }));
  // On the next trading day, an order of that new day does not show whether the history already contains all of Friday.
  assert(!proves({ ...hk, now: monday, row: { lists: today, day: "2025-08-18" } }));
  assert(!proves({ ...hk, now: monday, row: { lists: history, day: "2025-08-18" } }));
  assert(!proves({ ...hk, now: monday, row: { lists: history, day: undefined } }));
  assert(proves({ ...hk, now: monday, row: { lists: history } }));
  // A futures order of the day session, and a later one of the night session.
  const future = { sent: at("2025-08-15T15:45:00"), lists: ["futures.ordersToday"] };
  assert(!proves({ ...future, now: evening, row: { lists: ["futures.ordersToday"] } }));
  assert(proves({ ...future, now: at("2025-08-15T15:50:00"), row: { lists: ["futures.ordersToday"] } }));
  // A US order of the session, and a later one after it.
  const us = { market: "us", sent: at("2025-08-16T03:55:00") };
  assert(!proves({ ...us, now: at("2025-08-16T04:10:00"), row: { lists: today } }));
  assert(proves({ ...us, now: at("2025-08-16T03:59:00"), row: { lists: today } }));
  // No history list shows algorithmic orders: from the close on, reading again does not help.
  const algo = intent({ params: { ...TERMS, market: "hk" }, readSince: morning });
  const seldom = { count: 1, firstAt: evening, lastAt: evening };
  const reading = {
    ...readingWith(order("9", { lists: ["algo.list"] })),
    beganAt: evening,
    endedAt: evening,
  };
  const told = (lists: string[]) =>
    JSON.stringify(provesAbsence(algo, { absent: seldom, reading, later: new Set(["9"]), lists }));
  assertStringIncludes(told(["algo.list"]), "a person's decision: after the close, algo.list proves nothing");
  assertStringIncludes(told(today), "so far 1");
});

Deno.test("areTerms() accepts every code and number that an order write may contain", () => {
  const writes = [...operations.values()].filter(({ order }) => order !== undefined);
  assert(writes.length > 8);
  for (const { name, request } of writes) {
    for (const [field, { type }] of Object.entries(request.fields ?? {})) {
      const values: readonly unknown[] = type.dictionary?.names ?? [field === "orderIds" ? ["1"] : "1"];
      for (const value of values) assert(areTerms({ [field]: value }), `${name}: ${field} ${value}`);
    }
  }
});

Deno.test("fingerprintOf() is equal for writes that ask for the same, and only for these", () => {
  const of = (params: object, operation = "orders.place", kind: IntentKind = "place") =>
    fingerprintOf({ kind, operation, params: { ...params } });
  const place = of(TERMS);
  assertEquals(of({ ...TERMS, price: "550.00", quantity: "0100" }), place);
  assertEquals(of({ ...TERMS, clientType: "internet", venue: undefined }), place);
  assertEquals(of(Object.fromEntries(Object.entries(TERMS).toReversed())), place);
  // What a request may leave out, because the broker has a default, makes no difference.
  for (const tradingHours of ["no-extended", "extended"]) assertEquals(of({ ...TERMS, tradingHours }), place);
  assertEquals(
    of({ ...TERMS, venue: "smart", validDays: 3, displayQuantity: "100", session: "default" }),
    place,
  );
  const other: object[] = [{ price: "551" }, { side: "sell" }, { symbol: "00005.HK" }, { trailBy: "spread" }];
  for (const change of other) assertNotEquals(of({ ...TERMS, ...change }), place, JSON.stringify(change));
  // The broker decides whether a purchase closes a short position, and whether a sale is a short sale.
  assertEquals(of({ ...TERMS, side: "short-close" }), place);
  assertEquals(of({ ...TERMS, side: "short-open" }), of({ ...TERMS, side: "sell" }));
  // An amendment names its order, and cannot change the order's listing, side or type.
  const change = { orderId: "1", quantity: "200", price: "549" };
  const amended = (more: object, operation = "orders.amend") =>
    of({ ...change, ...more }, operation, "amend");
  for (const more of [{ orderType: "limit" }, { market: "hk", symbol: "00700.HK" }, { side: "buy" }]) {
    assertEquals(amended(more), amended({}), JSON.stringify(more));
    assertEquals(amended(more, "algo.amend"), amended({}, "algo.amend"), JSON.stringify(more));
  }
  for (const more of [{ price: "548" }, { quantity: "300" }, { orderId: "2" }, { triggerValue: "549" }]) {
    assertNotEquals(amended(more), amended({}), JSON.stringify(more));
  }
  const algo = (settings: object) => of({ ...TERMS, settings }, "algo.place");
  assertEquals(algo({ percent: 5, startTime: "00:00:00" }), algo({ percent: 5 }));
  assertNotEquals(algo({ percent: 5, startTime: "10:00:00" }), algo({ percent: 5 }));
  assertEquals(
    algo({ maxChildQuantity: "100.0", percent: 5, intervalSec: 60 }),
    algo({ intervalSec: 60, percent: "05", maxChildQuantity: "100" }),
  );
  assertNotEquals(algo({ maxChildQuantity: "100" }), algo({ maxChildQuantity: "200" }));
  const many = (...orderIds: string[]) => of({ market: "hk", orderIds }, "orders.cancelMany");
  assertEquals(many("1", "2"), many("2", "1", "2"));
  assertNotEquals(many("1", "2"), many("1", "02"));
  // Without a price, a market order is the same request as with the price zero.
  const { price: _, ...unpriced } = TERMS;
  assertEquals(of({ ...unpriced, price: "0.00" }), of(unpriced));
});

Deno.test("operationOfPath() recognizes an order write however the path is written", () => {
  for (
    const path of [
      "trade/TradeEntrust",
      "trade/tradeentrust",
      "TRADE/TRADEENTRUST",
      "trade/TradeEntrustRequest",
      "trade/TradeEntrustRequestMsgType",
      "hq/../trade/TradeEntrust",
      "hq/x/TradeEntrust/BasicQot",
      "trade/%54radeEntrust",
      "trade/%2554rade%2545ntrust",
      "trade%2FTradeEntrust",
      "trade/TradeEntrust?x=1",
      "trade/TradeEntrust;x",
      "trade\\TradeEntrust",
      "trade/TradeEntrust%00",
    ]
  ) assertEquals(operationOfPath(path)?.name, "orders.place", path);
  assertEquals(operationOfPath("trade/TradeQueryRealEntrustList")?.order, undefined);
  assertEquals(operationOfPath("hq/BasicQot")?.name, "quotes.latest");
  assertEquals(operationOfPath("trade/NoSuchThing"), undefined);
});
