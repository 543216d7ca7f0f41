/**
 * Checks rules that must hold in every simulation. Some are checked after every event that changed something, and some
 * after the faults have ended.
 *
 * The checks compare the store with the true state of the broker. They read the store from outside of every process.
 *
 * @module
 */
import { compare, type Decimal, multiply, sumOf } from "../decimal.ts";
import type { Intent } from "../desk/intent.ts";
import { PLACED_BEFORE_MS } from "../desk/prove.ts";
import { findIntent, recentIntents } from "../desk/queries.ts";
import { type IntentState, unresolvedStates } from "../desk/states.ts";
import { endedStates } from "../desk/broker_lists.ts";
import { findRun, type RunRow } from "../runner/queries/runs.ts";
import { findPlan, type PlanRecord } from "../rebalance/queries.ts";
import type { Store } from "../store/store.ts";
import type { Pipe } from "./pipes.ts";
import type { Swarm } from "./processes.ts";
import { holderOf } from "./programs.ts";
import { type Executed, liveStatuses } from "./truth.ts";
import { isForPerson, isMistakenFor, isSame } from "./undecided.ts";
import {
  belowBuffer,
  beyondPlan,
  isAfterDeadline,
  type PlanOrder,
  planOrdersOf,
  usedAsOne,
} from "./rebalancing.ts";
import type { Process, World } from "./world.ts";

/** The data of a check. */
export interface CheckData {
  swarm: Swarm;
  /** Intents of the account, newest first. */
  intents: readonly Intent[];
  byId: ReadonlyMap<string, Intent>;
  /** The executed write of each intent, by the intent's id. */
  claims: ReadonlyMap<string, Executed>;
  /** Ids of intents that already had an order of somebody else when the broker executed their own write. */
  late: ReadonlySet<string>;
  /** Writes that the broker has executed since the last check, with their intents. */
  fresh: readonly { executed: Executed; intent: Intent | undefined; isRepeated: boolean }[];
  /** Intents that were sent since the last check. */
  sent: readonly Intent[];
  /** Whether nothing has changed at the broker since the last check. */
  isBrokerSame: boolean;
  /** Whether trading was already halted before the checked event. */
  isHalted: boolean;
  /** The runs whose writes were sent since the last check, by their keys. */
  runs: ReadonlyMap<string, Pick<RunRow, "state" | "holder" | "lease_until"> | undefined>;
  /** The plans of rebalancing whose orders were sent, by their hashes. */
  plans: ReadonlyMap<string, PlanRecord>;
  /** The orders of these plans that the broker has accepted. */
  planOrders: readonly PlanOrder[];
  /** The process that last changed an intent, by the intent's id. */
  writers: ReadonlyMap<string, Pick<Process, "name" | "number">>;
}

interface Invariant {
  /** A rule that must hold. */
  text: string;
  /** Returns what is wrong; `undefined` if the rule holds. */
  check(seen: CheckData): string | undefined;
}

const describe = (intent: Intent) => `intent ${intent.id} (${intent.operation}, "${intent.state}")`;
/** States which say that the broker did not execute a write. */
const refused = ["rejected", "abandoned"];

/**
 * Longest time from the record of a write to its execution by the broker. The first byte leaves at most 10 s after the
 * record. Faults delay the bytes by up to 30 s, and the execution by up to 40 s.
 */
const MOST_UNDER_WAY_MS = 90_000;

/** Rules that must hold after every event. */
export const invariants = {
  "intent-first": {
    text: "the intent of a write is in the store before the broker executes the write",
    check: ({ fresh }) => {
      const wrong = fresh.find(({ intent, isRepeated, executed }) =>
        executed.by === "desk" && intent === undefined && !isRepeated
      );
      return wrong && `the broker executed ${writeText(wrong.executed)}, and no intent was sent for it`;
    },
  },
  "sent-once": {
    text: "the broker executes the write of an intent at most once",
    check: ({ fresh }) => {
      const wrong = fresh.find(({ isRepeated }) => isRepeated);
      return wrong && `the broker executed ${writeText(wrong.executed)} again for one intent`;
    },
  },
  "sent-soon": {
    text: "the broker executes a write soon after the process has recorded that it sends it",
    check: ({ fresh, swarm }) => {
      const wrong = fresh.find(({ executed, intent }) =>
        intent?.sentAt !== undefined && !swarm.strikes.hasJumped &&
        executed.at - intent.sentAt > MOST_UNDER_WAY_MS
      );
      return wrong &&
        `the broker executed ${writeText(wrong.executed)} ${
          (wrong.executed.at - wrong.intent!.sentAt!) / 1_000 // `find` accepted only an intent with `sentAt`
        } s after it was recorded`;
    },
  },
  "step-once": {
    text: "the broker executes at most one order for a step of a run that places one order",
    check: ({ fresh, claims, byId }) => {
      if (fresh.every(({ intent }) => intent?.why.runKey === undefined)) return undefined;
      const owners = new Map<string, string>();
      for (const [id, { name, isRefused }] of claims) {
        const { runKey, step, plan } = byId.get(id)?.why ?? {};
        if (name !== "orders.place" || isRefused || runKey === undefined || plan !== undefined) continue;
        const key = `${runKey} ${step}`;
        const other = owners.get(key);
        if (other !== undefined) return `the intents ${other} and ${id} are both orders of ${key}`;
        owners.set(key, id);
      }
      return undefined;
    },
  },
  "false-ending": {
    text: "no intent is rejected or abandoned if the broker has executed its write",
    check: ({ intents, claims }) => {
      const wrong = intents.find(({ id, state }) =>
        refused.includes(state) && claims.get(id)?.isRefused === false
      );
      return wrong && `${describe(wrong)} was executed: ${writeText(claims.get(wrong.id)!)}`;
    },
  },
  "sum-of-parts": {
    text: "the orders of an intent together ask for no more than the intent",
    check: ({ swarm, claims, byId, fresh, isBrokerSame }) => {
      if (isBrokerSame && fresh.length === 0) return undefined; // nothing to check: the terms of an intent never change
      for (const [id, { orderIds, name, isRefused }] of claims) {
        if (name !== "orders.place" || isRefused) continue;
        const intent = byId.get(id);
        const wanted = (intent?.params as { quantity?: Decimal } | undefined)?.quantity;
        if (intent === undefined || wanted === undefined) continue;
        const total = sumOf(orderIds.map((orderId) => swarm.truth.orders.get(orderId)?.quantity ?? "0"));
        if (compare(total, wanted) > 0) {
          return `${describe(intent)} asked for ${wanted}, and its orders for ${total}`;
        }
      }
      return undefined;
    },
  },
  "own-orders": {
    text: "an order belongs to one intent, and never to the intent of another order",
    check: ({ swarm, intents, claims }) => {
      const owners = new Map<string, string>();
      for (const { id, kind, orderIds, sentAt } of intents) {
        if (kind !== "place") continue;
        for (const orderId of orderIds) {
          const other = owners.get(orderId);
          if (other !== undefined) return `order ${orderId} belongs to the intents ${other} and ${id}`;
          owners.set(orderId, id);
          const executed = claims.get(id);
          const order = swarm.truth.orders.get(orderId);
          const isOwn = executed === undefined || executed.orderIds.includes(orderId);
          if (order === undefined) return `intent ${id} has order ${orderId}, which the broker does not have`;
          if (!isOwn && order.by === "desk") {
            return `intent ${id} has order ${orderId}, which another intent placed`;
          }
          const call = swarm.truth.executed[order.call - 1]; // calls are numbered from 1
          if (
            order.by === "owner" && !swarm.strikes.hasJumped && call !== undefined &&
            call.at < (sentAt ?? 0) - JUST_BEFORE_MS
          ) {
            return `intent ${id} has order ${orderId}, which the owner had placed before`;
          }
        }
      }
      return undefined;
    },
  },
  "foreign-orders": {
    text: "no program outside of a recipe amends or cancels an order of the owner",
    check: ({ swarm, fresh }) => {
      const wrong = fresh.find(({ executed, intent }) =>
        executed.by === "desk" && executed.name !== "orders.place" && intent?.why.recipe === undefined &&
        swarm.truth.orders.get(String(executed.params.orderId))?.by === "owner"
      );
      return wrong && `${writeText(wrong.executed)} is for an order of the owner`;
    },
  },
  "halt": {
    text: "nothing is sent while trading is halted",
    check: ({ sent, isHalted }) =>
      isHalted && sent[0] !== undefined ? `${describe(sent[0])} was sent` : undefined,
  },
  "window": {
    text: "a recipe sends nothing outside its window",
    check: ({ sent, swarm }) => {
      const wrong = sent.find(({ why, sentAt }) => {
        const window = swarm.windows.get(why.recipe ?? "");
        return window !== undefined && !swarm.strikes.hasJumped &&
          !window.some(({ from, to }) => from <= sentAt! && sentAt! < to);
      });
      return wrong &&
        `${describe(wrong)} was sent at ${new Date(wrong.sentAt!).toISOString()} by ${wrong.why.recipe}`;
    },
  },
  "lease": {
    text:
      "a run sends nothing after its end, after the end of its lease, or after another process has taken it over",
    check: ({ sent, runs, writers }) => {
      for (const intent of sent) {
        const { state, why: { runKey } } = intent;
        // A process may record a write as sent, give it up before the first byte and end its run, all in one event.
        // Then the run's row no longer shows its state at the moment of the record. The rule "false-ending" finds a
        // byte that left after all.
        if (runKey === undefined || state === "abandoned") continue;
        const run = runs.get(runKey);
        const by = `${describe(intent)} was sent by the run ${runKey}`;
        if (run?.state !== "running") return `${by}, which is "${run?.state ?? "missing"}"`;
        const writer = writers.get(intent.id);
        if (writer !== undefined && run.holder !== holderOf(writer)) {
          return `${by} in ${holderOf(writer)}, and ${run.holder} has the run`;
        }
        // A sent intent has `sentAt`.
        if (run.lease_until !== null && intent.sentAt! > run.lease_until) return `${by} after its lease`;
      }
      return undefined;
    },
  },
  "caps": {
    text:
      "no order exceeds the limit for an order, and the orders of a day together do not exceed the limit for a day",
    check: ({ sent, intents, swarm }) => {
      const valueOf = ({ params }: Intent) => {
        const { price = "0", quantity = "0" } = params as { price?: Decimal; quantity?: Decimal };
        return multiply(price, quantity);
      };
      const isPlaced = ({ kind, sentAt }: Intent) => kind === "place" && sentAt !== undefined;
      const wrong = sent.find((intent) => isPlaced(intent) && compare(valueOf(intent), swarm.caps.order) > 0);
      if (wrong !== undefined) return `${describe(wrong)} is worth ${valueOf(wrong)}`;
      if (sent.length === 0) return undefined;
      const day = (at: number) => Math.floor((at + 8 * 3_600_000) / 86_400_000);
      // A write that the broker did not execute uses up no limit.
      const today = intents.filter((intent) =>
        isPlaced(intent) && !refused.includes(intent.state) && day(intent.sentAt!) === day(sent[0]!.sentAt!)
      );
      const total = sumOf(today.map(valueOf));
      return compare(total, swarm.caps.day) > 0 ? `the orders of the day are worth ${total}` : undefined;
    },
  },
  "cash": {
    text: "no amount of the account's cash is below zero",
    check: ({ swarm, isBrokerSame }) => {
      if (isBrokerSame) return undefined;
      const funds = swarm.truth.funds();
      swarm.truth.noteCash(funds.available);
      for (const name of ["available", "frozenByOrders", "frozen", "withdrawable"]) {
        if (compare(funds[name]!, "0") < 0) return `${name} is ${funds[name]}`;
      }
      return undefined;
    },
  },
  "plan-caps": {
    text: "the orders of a plan trade no more than the plan says, and a trade has at most one open order",
    check: ({ isBrokerSame, plans, planOrders }) => {
      if (isBrokerSame) return undefined;
      for (const plan of plans.values()) {
        const wrong = beyondPlan(plan, planOrders);
        if (wrong !== undefined) return wrong;
      }
      return undefined;
    },
  },
  "plan-cash": {
    text:
      "no purchase of a plan leaves less cash than the plan's buffer, not counting what the broker reserves beyond the fees",
    check: ({ swarm, fresh, plans, planOrders, claims }) => {
      for (const { executed, intent } of fresh) {
        const hash = intent?.why.plan;
        const plan = plans.get(hash ?? "");
        if (plan === undefined || executed.isRefused || executed.params.side !== "buy") continue;
        const purchases = planOrders.flatMap(({ intent: { id, why } }) => {
          const { call, params } = claims.get(id)!; // `planOrders` contains only claimed intents
          return why.plan === hash && params.side === "buy" && call <= executed.call
            ? [{ call, used: usedAsOne(claims.get(id)!, swarm.truth.orders) }]
            : [];
        });
        const wrong = belowBuffer(plan.plan.cashBuffer.HKD ?? "0", swarm.truth.cash, {
          ...executed,
          purchases,
        });
        if (wrong !== undefined) return `${describe(intent!)}: ${wrong}`; // without an intent there is no plan
      }
      return undefined;
    },
  },
  "plan-deadline": {
    text: "no order of a plan is sent long after the deadline of its execution",
    check: ({ sent, plans, swarm }) => {
      const wrong = sent.find((intent) => {
        const plan = plans.get(intent.why.plan ?? "");
        return intent.kind === "place" && plan !== undefined && !swarm.strikes.hasJumped &&
          isAfterDeadline(plan, intent);
      });
      return wrong && `${describe(wrong)} was sent at ${new Date(wrong.sentAt!).toISOString()}`;
    },
  },
  "unhandled": {
    text: "no error is left unhandled",
    check: ({ swarm }) => {
      const [error] = swarm.unhandled;
      return error === undefined
        ? undefined
        : error instanceof Error
        ? error.stack ?? error.message
        : String(error);
    },
  },
  "real-machine": {
    text: "nothing in a world reaches the real time, the real network or real random numbers",
    check: ({ swarm }) => swarm.world.leaks[0],
  },
} satisfies Record<string, Invariant>;

/**
 * An order that the owner placed at most this long before a request can be missing from the lists that the desk reads
 * before the request. Then nobody can distinguish this order from the request's own order. One second is added, because
 * the broker's lists show whole seconds.
 */
const JUST_BEFORE_MS = PLACED_BEFORE_MS + 1_000;

/** Rules that must hold when there have been no faults for a while and the market has closed. */
export const quietInvariants = {
  "unknown-left": {
    text: "no intent stays unknown if the broker executed it, except one that only a person can decide",
    check: (seen) => {
      const wrong = seen.intents.find((intent) =>
        (intent.state === "sent" || intent.state === "unknown") &&
        seen.claims.get(intent.id)?.isRefused === false && !isForPerson(intent, seen)
      );
      return wrong && describe(wrong);
    },
  },
  "planned-left": {
    text: "no intent stays planned or approved after its process has ended",
    check: ({ intents }) => {
      const wrong = intents.find(({ state }) => state === "planned" || state === "approved");
      return wrong && describe(wrong);
    },
  },
  "book": {
    text:
      "the desk's records equal the broker's: every order has ended in both, with the same quantity filled",
    check: (seen) => {
      const { swarm, intents, claims, byId } = seen;
      for (const [id, executed] of claims) {
        const intent = byId.get(id);
        if (executed.name !== "orders.place" || executed.isRefused || intent === undefined) continue;
        if (intent.state === "ambiguous" || isForPerson(intent, seen)) continue; // a person decides
        if (isMistakenFor(intent, seen)) continue;
        const orders = executed.orderIds.map((orderId) => swarm.truth.orders.get(orderId)!);
        const filled = sumOf(orders.map((order) => order.filled));
        const isLive = orders.some(({ status }) => liveStatuses.includes(status));
        if (compare(filled, intent.filled) !== 0) {
          return `${
            describe(intent)
          } has ${intent.filled} filled, and its orders ${executed.orderIds} ${filled}`;
        }
        const hasEnded = (endedStates as readonly IntentState[]).includes(intent.state);
        // The order stays open as long as only a person can decide whether an amendment has replaced it.
        const isAmended = intents.some(({ kind, state, params }) =>
          kind === "amend" && unresolvedStates.includes(state) &&
          executed.orderIds.includes(String(params.orderId))
        );
        if (!isLive && !hasEnded && !isAmended && !orders.some((order) => swarm.truth.isShownOpen(order))) {
          return `${describe(intent)}: its orders are ${orders.map(({ status }) => status).join(", ")}`;
        }
      }
      return undefined;
    },
  },
} satisfies Record<string, Invariant>;

/** A process with more open timers or connections than this has a leak. A quiet process needs at most half of them. */
const MOST_OPEN = { timers: 16, pipes: 6 };

/**
 * Returns a message about the first program that keeps timers or connections open after their work has ended. The
 * broker is excluded, because its end of a half-open connection stays open forever.
 */
export function leakOf(
  world: Pick<World, "processes">,
  pipes: Iterable<Pick<Pipe, "process">>,
): string | undefined {
  const counts = new Map<Process, number>();
  for (const { process } of pipes) counts.set(process, (counts.get(process) ?? 0) + 1);
  for (const process of world.processes.filter(({ isAlive, name }) => isAlive && name !== "broker")) {
    const connections = counts.get(process) ?? 0;
    if (process.open > MOST_OPEN.timers || connections > MOST_OPEN.pipes) {
      return `${process.name} has ${process.open} timers and ${connections} connections open`;
    }
  }
  return undefined;
}

/** Returns a message about the first slot without a row; `undefined` if each slot has a row. Logs the rows. */
export async function missingSlot(
  store: Store,
  keys: readonly string[],
  { world }: Pick<Swarm, "world">,
): Promise<string | undefined> {
  for (const key of keys) {
    const run = await findRun(store, key);
    if (run === undefined) return `the slot ${key} has no row`;
    world.note(undefined, `the run ${key} is "${run.state}", reason ${run.reason ?? "none"}`);
  }
  return undefined;
}

const writeText = ({ name, params, orderIds }: Executed) =>
  `${name} ${params.side ?? ""} ${params.quantity ?? ""} ${params.symbol ?? ""} at ${
    params.price ?? ""
  } (order ${orderIds.join(", ") || String(params.orderId ?? "none")})`;

/** Reads the store and applies the invariants. */
export class Checker {
  readonly #swarm: Swarm;
  readonly #writers: CheckData["writers"];
  readonly #claims = new Map<string, Executed>();
  readonly #late = new Set<string>();
  readonly #sent = new Set<string>();
  #executed = 0;
  #changes = -1;
  #intents: readonly Intent[] = [];
  readonly #plans = new Map<string, PlanRecord>();
  #planOrders: readonly PlanOrder[] = [];
  #wasHalted = false;

  constructor(swarm: Swarm, writers: CheckData["writers"]) {
    this.#swarm = swarm;
    this.#writers = writers;
  }

  /** The executed write of each intent so far, by the intent's id. */
  get claims(): ReadonlyMap<string, Executed> {
    return this.#claims;
  }

  /** Ids of intents that already had an order of somebody else when the broker executed their own write. */
  get late(): ReadonlySet<string> {
    return this.#late;
  }

  /** The orders of rebalancing plans that the broker has accepted. */
  get planOrders(): readonly PlanOrder[] {
    return this.#planOrders;
  }

  /** The intents as the last check has read them, newest first. */
  get intents(): readonly Intent[] {
    return this.#intents;
  }

  /**
   * Returns the first invariant that does not hold.
   *
   * @param changed Intents to read again. @default all
   */
  async check(
    store: Store,
    { table = invariants, changed }: {
      table?: Readonly<Record<string, Invariant>>;
      changed?: ReadonlySet<string> | undefined;
    } = {},
  ): Promise<{ invariant: string; what: string } | undefined> {
    const swarm = this.#swarm;
    await this.#read(store, changed);
    const intents = this.#intents;
    const fresh = swarm.truth.executed.slice(this.#executed).map((executed) => this.#claim(executed));
    this.#executed = swarm.truth.executed.length;
    const sent = intents.filter(({ id, sentAt }) => sentAt !== undefined && !this.#sent.has(id));
    for (const { id } of sent) this.#sent.add(id);
    const runs = new Map<string, RunRow | undefined>();
    for (const { why: { runKey } } of sent) {
      if (runKey !== undefined) {
        runs.set(runKey, await findRun(store, runKey));
      }
    }
    for (const { why: { plan } } of sent) {
      if (plan === undefined) continue;
      const record = await findPlan(store, swarm.truth.account, plan);
      if (record !== undefined) this.#plans.set(plan, record);
    }
    const byId = new Map(intents.map((intent) => [intent.id, intent]));
    this.#planOrders = this.#plans.size === 0 ? [] : planOrdersOf(byId, this.#claims, swarm.truth.orders);
    const halt = swarm.people.halts.at(-1);
    const isHalted = halt !== undefined && halt.to === undefined;
    const seen: CheckData = {
      swarm,
      intents,
      byId,
      claims: this.#claims,
      late: this.#late,
      fresh,
      sent,
      isBrokerSame: swarm.truth.changes === this.#changes,
      isHalted: isHalted && this.#wasHalted,
      runs,
      plans: this.#plans,
      planOrders: this.#planOrders,
      writers: this.#writers,
    };
    this.#wasHalted = isHalted;
    this.#changes = swarm.truth.changes;
    for (const [invariant, { check }] of Object.entries(table)) {
      const what = check(seen);
      if (what !== undefined) return { invariant, what };
    }
    return undefined;
  }

  /** Reads all intents. With `changed`, reads only these intents again. Keeps the newest intent first. */
  async #read(store: Store, changed: ReadonlySet<string> | undefined): Promise<void> {
    if (changed === undefined) {
      this.#intents = await recentIntents(store, this.#swarm.truth.account, { limit: 1_000 });
      return;
    }
    if (changed.size === 0) return;
    const intents = [...this.#intents];
    let isNew = false;
    for (const id of changed) {
      const intent = await findIntent(store, id);
      if (intent === undefined) continue;
      const at = intents.findIndex((each) => each.id === id);
      isNew ||= at < 0;
      intents[at < 0 ? intents.length : at] = intent;
    }
    if (isNew) {
      intents.sort((one, other) => other.createdAt - one.createdAt || (one.id < other.id ? 1 : -1));
    }
    this.#intents = intents;
  }

  /** Finds the intent of an executed write by the write's terms, because a write contains no id from hsgate. */
  #claim(executed: Executed): { executed: Executed; intent: Intent | undefined; isRepeated: boolean } {
    if (executed.by === "owner") return { executed, intent: undefined, isRepeated: false };
    const same = this.#intents.filter((intent) =>
      intent.operation === executed.name && intent.sentAt !== undefined &&
      isSame(intent.params, executed.params)
    );
    const open = same.filter(({ id }) => !this.#claims.has(id));
    const intent = open.find(({ state }) => state === "sent") ??
      open.find(({ state }) => state === "unknown") ??
      open[0];
    if (intent !== undefined) {
      this.#claims.set(intent.id, executed);
      if (intent.orderIds.length > 0) this.#late.add(intent.id);
    }
    return { executed, intent, isRepeated: intent === undefined && same.length > 0 };
  }
}
