/**
 * Defines every kind of fault of the swarm in one table: its name, how often it happens on a day, and what it does. The
 * plan of a seed, the coverage and the shrinking of plans are derived from this table.
 *
 * @module
 */
import type { IntentState } from "../desk/states.ts";
import type { Fault } from "../simulator/endpoints/faults.ts";
import type { Pace } from "./pace.ts";
import type { PipeFault } from "./pipes.ts";

/** What faults can do to a world. `size` is a number that selects the process or the details. */
export interface FaultTarget {
  /** Arms a fault of the simulator. */
  arm(fault: Fault): void;
  /** Adds a fault to the next connection that is opened. */
  pipe(fault: PipeFault): void;
  /** Kills a process now. */
  killOne(size: number): void;
  /** Kills a process at one of its next statements. */
  doom(size: number, statements: number): void;
  /** Stops a process for a time. */
  stopOne(size: number, ms: number): void;
  /** Stops a process for a time. The stop begins some statements after the process has begun a run or an order. */
  stopWithin(size: number, statements: number, ms: number): void;
  /** Stops a process for a time before one of the transactions of its next order. */
  pauseWithin(size: number, transactions: number, ms: number): void;
  /** Stops a process for a time, after its next order is recorded and before the order's first byte is sent. */
  stopBeforeSend(size: number, ms: number): void;
  /** Makes the wall clock of a process jump. */
  jump(size: number, ms: number): void;
  /**
   * While a scheduler is sending an order, starts a second scheduler for a minute. The wall clock of the second
   * scheduler is ahead.
   */
  takeOverWithin(size: number, ms: number): void;
  /** Fills the disk for a time. */
  fillDisk(ms: number): void;
  /** Cuts the power of the computers during a commit: everything dies, and the last write is torn. */
  cutPower(size: number): void;
  /** Disconnects a process from its database at the next begin or commit: before the statement, or after a commit. */
  cutStore(where: "begin" | "before-commit" | "after-commit"): void;
  /** For five minutes, lists show new orders, and their fills, `ms` milliseconds late. */
  lagLists(ms: number): void;
  /** Locks the store for a number of tries. */
  lockStore(tries: number): void;
  /** A person halts trading for a time. */
  halt(ms: number): void;
  /** The owner places an order in the broker's app. */
  tradeAsOwner(size: number): void;
  /** The owner places the desk's latest order once more in the broker's app. */
  repeatAsOwner(): void;
  /** The owner amends or cancels one of the desk's orders in the broker's app. */
  changeAsOwner(size: number): void;
}

/** A kind of fault. */
export interface FaultEntry {
  /** What the fault does, in words. */
  text: string;
  /** Usual number of faults in a full trading day, if the seed uses this kind. {@linkcode drawPlan} varies it. */
  perDay: number;
  /**
   * Restricts the kind to worlds that use the direct transport, or to worlds with schedulers. @default all worlds
   */
  only?: "direct" | "schedulers";
  /** Whether the fault strikes at a later call, answer or push. @default false */
  isArmed?: boolean;
  /** A state for which most faults of this kind wait. @default none */
  state?: IntentState;
  /** Causes the fault. `size` is a random number from the plan, at least 0 and below 1. */
  strike(target: FaultTarget, size: number): void;
}

/** A fault of the simulator, which strikes at a later call, answer or push. */
const armed = (faultOf: (size: number) => Fault): Pick<FaultEntry, "isArmed" | "strike"> => ({
  isArmed: true,
  strike: (target, size) => target.arm(faultOf(size)),
});

/** A fault of the simulator for the next call; in most cases, for the next order write. */
const atCall = (fault: Fault | ((size: number) => Fault)) =>
  armed((size) => ({
    ...typeof fault === "function" ? fault(size) : fault,
    ...size < 0.6 && { operation: writes[Math.floor(size * 1000) % writes.length]! }, // less than the length
  }));
/** Order writes that a fault can wait for. A name that occurs twice is drawn twice as often. */
const writes = ["orders.place", "orders.place", "orders.cancel", "orders.amend"];

/**
 * A fault that strikes one page of a list: of today's orders or of today's fills, because these lists prove outcomes.
 */
const atPage = (kind: Fault["kind"]) =>
  armed((size) => ({ kind, operation: size < 0.8 ? "orders.today" : "fills.today" }));

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const between = (size: number, least: number, most: number) => Math.floor(least + size * (most - least));

/** Every kind. */
export const faultTable = {
  "lost-answer": {
    text: "the broker executes a call, and its answer is lost",
    perDay: 6,
    ...atCall({ kind: "lost-answer" }),
  },
  "lost-request": {
    text: "a request is lost before the broker executes it",
    perDay: 6,
    ...atCall({ kind: "lost-request" }),
  },
  "late-answer": {
    text: "an answer comes after up to 40 s, perhaps when the caller no longer waits for it",
    perDay: 4,
    ...atCall((size) => ({ kind: "delay", ms: between(size, 500, 40_000), when: "answer" })),
  },
  "late-request": {
    text: "the broker executes a call after up to 40 s, perhaps when the caller no longer waits for it",
    perDay: 4,
    ...atCall((size) => ({ kind: "delay", ms: between(size, 500, 40_000), when: "request" })),
  },
  "reset-after": {
    text: "a connection is reset after some bytes of an answer",
    perDay: 4,
    ...atCall((size) => ({ kind: "reset-after", bytes: between((size * 7919) % 1, 1, 400) })),
  },
  "busy": {
    text: "the broker rejects a call as busy",
    perDay: 4,
    ...atCall({ kind: "busy" }),
  },
  "http-error": {
    text: "the gateway answers with HTTP 503",
    perDay: 3,
    ...atCall({ kind: "http-error" }),
  },
  "not-json": {
    text: "the broker executes a call, and its answer is a page of HTML",
    perDay: 2,
    ...atCall({ kind: "not-json" }),
  },
  "expired-login": {
    text: "the trade login expires",
    perDay: 3,
    ...atCall({ kind: "expired-login" }),
  },
  "short-page": {
    text: "a page of a list has half of its rows, although more exist",
    perDay: 6,
    ...atPage("short-page"),
  },
  "empty-page": {
    text: "a page of a list arrives without its rows",
    perDay: 3,
    ...atPage("empty-page"),
  },
  "cursor-repeat": {
    text: "the last row of a page has the cursor of the request",
    perDay: 2,
    ...atPage("cursor-repeat"),
  },
  "duplicate-push": {
    text: "a push arrives twice",
    perDay: 4,
    ...armed(() => ({ kind: "duplicate-push" })),
  },
  "reorder-push": {
    text: "a push arrives after the one that follows it",
    perDay: 4,
    ...armed(() => ({ kind: "reorder-push" })),
  },
  "drop-push": {
    text: "a push does not arrive",
    perDay: 4,
    ...armed(() => ({ kind: "drop-push" })),
  },
  "cut-push": {
    text: "the push connections are cut, and the gateway forgets the subscriptions",
    perDay: 2,
    ...armed((size) => ({ kind: "cut-push", bytes: between(size, 0, 100) })),
  },
  "connection-cut": {
    text: "a connection is reset after some bytes, in one direction",
    perDay: 4,
    strike: (target, size) =>
      target.pipe({ kind: "cut", toClient: size < 0.5, bytes: between((size * 7919) % 1, 0, 600), ms: 0 }),
  },
  "connection-half-open": {
    text: "the bytes of one direction of a connection vanish",
    perDay: 3,
    strike: (target, size) => target.pipe({ kind: "half-open", toClient: size < 0.7, bytes: 0, ms: 0 }),
  },
  "connection-slow": {
    text: "the bytes of a connection come up to 30 s later",
    perDay: 3,
    strike: (target, size) =>
      target.pipe({
        kind: "slow",
        toClient: size < 0.5,
        bytes: 0,
        ms: between((size * 7919) % 1, 100, 30_000),
      }),
  },
  "connection-doubled": {
    text: "the bytes of an answer come twice",
    perDay: 2,
    strike: (target) => target.pipe({ kind: "doubled", toClient: true, bytes: 0, ms: 0 }),
  },
  "connection-refused": {
    text: "a connection is refused",
    perDay: 3,
    strike: (target) => target.pipe({ kind: "refused", toClient: true, bytes: 0, ms: 0 }),
  },
  "connection-unanswered": {
    text: "a connection is never answered",
    perDay: 2,
    strike: (target) => target.pipe({ kind: "unanswered", toClient: true, bytes: 0, ms: 0 }),
  },
  "kill-at-statement": {
    text: "a process dies at one of its next statements in the store, before or after it",
    perDay: 4,
    strike: (target, size) => target.doom(size, between((size * 7919) % 1, 1, 60)),
  },
  "kill": {
    text: "a process dies between two events",
    perDay: 3,
    strike: (target, size) => target.killOne(size),
  },
  "stop": {
    text: "a process gets no processor for up to two minutes",
    perDay: 2,
    strike: (target, size) => target.stopOne(size, between((size * 7919) % 1, SECOND, 2 * MINUTE)),
  },
  "clock-jump": {
    text: "the wall clock of a process jumps by up to ten minutes, forward or back",
    perDay: 1,
    strike: (target, size) => target.jump(size, between((size * 7919) % 1, -10 * MINUTE, 10 * MINUTE)),
  },
  "disk-full": {
    text: "no statement can write for up to 30 s, because the disk is full",
    perDay: 2,
    strike: (target, size) => target.fillDisk(between(size, SECOND, 30 * SECOND)),
  },
  "torn-write": {
    text:
      "the power of the computer fails during a commit: every program dies, and the commit is only partly on the disk",
    perDay: 1,
    strike: (target, size) => target.cutPower(size),
  },
  "store-busy": {
    text: "another process locks the store for some tries",
    perDay: 3,
    strike: (target, size) => target.lockStore(between(size, 1, 60)),
  },
  "database-cut": {
    text:
      "the connection to the database is lost before a transaction, before its commit, or after its commit",
    perDay: 5,
    strike: (target, size) =>
      target.cutStore(size < 0.2 ? "begin" : size < 0.6 ? "before-commit" : "after-commit"),
  },
  "list-lag": {
    text: "for five minutes, lists show new orders, and their fills, up to 45 s late",
    perDay: 3,
    strike: (target, size) => target.lagLists(between(size, SECOND, 45 * SECOND)),
  },
  ...Object.fromEntries(
    ([
      ["unanswered", "a call is executed and never answered, and the connection keeps working", 5],
      ["silence", "a connection sends nothing more, although it stays open", 5],
      ["system-error", "a call is rejected as a system exception", 5],
      ["expired-token", "the token expires", 5],
      ["second-init", "the platform forgets the session of a connection", 5],
      ["wrong-signature", "an answer has a wrong signature", 5],
      ["wrong-padding", "an answer has invalid padding", 5],
      ["truncated-frame", "an answer ends before its frame does", 5],
      ["split-frame", "an answer arrives in pieces", 5],
      ["merged-frames", "an answer arrives together with the next frame", 5],
    ] as const).map(([kind, text, perDay]) => [
      kind,
      { text, perDay, only: "direct", ...atCall({ kind }) },
    ]),
  ) as Record<SocketFault, FaultEntry>,
  "halt": {
    text: "a person halts trading for up to 20 minutes",
    perDay: 3,
    strike: (target, size) => target.halt(between(size, 10 * SECOND, 20 * MINUTE)),
  },
  "foreign-order": {
    text: "the owner places an order in the broker's app, perhaps with the terms of one of the desk's orders",
    perDay: 4,
    strike: (target, size) => target.tradeAsOwner(size),
  },
  "repeated-order": {
    text: "the owner repeats the desk's latest order in the broker's app",
    perDay: 5,
    state: "unknown",
    strike: (target) => target.repeatAsOwner(),
  },
  "changed-order": {
    text: "the owner amends or cancels one of the desk's three latest open orders in the broker's app",
    perDay: 5,
    state: "unknown",
    strike: (target, size) => target.changeAsOwner(size),
  },
  "stop-within": {
    text: "a process gets no processor for up to three minutes in the middle of a run or an order",
    perDay: 3,
    strike: (target, size) =>
      target.stopWithin(
        size,
        between((size * 7919) % 1, 1, 40),
        between((size * 104729) % 1, 20 * SECOND, 3 * MINUTE),
      ),
  },
  "stop-at-transaction": {
    text: "a process gets no processor for up to five minutes, just before a transaction of an order",
    perDay: 4,
    strike: (target, size) =>
      target.pauseWithin(
        size,
        between((size * 7919) % 1, 1, 5),
        between((size * 104729) % 1, 20 * SECOND, 5 * MINUTE),
      ),
  },
  "stop-before-send": {
    text:
      "a process gets no processor for up to five minutes, between the record of an order and its first byte",
    perDay: 4,
    strike: (target, size) =>
      target.stopBeforeSend(size, between((size * 104729) % 1, 5 * SECOND, 5 * MINUTE)),
  },
  "clock-ahead": {
    text: "while a scheduler is sending an order, a second scheduler starts, and its wall clock is ahead",
    perDay: 2,
    only: "schedulers",
    strike: (target, size) =>
      target.takeOverWithin(size, between((size * 7919) % 1, 40 * SECOND, 5 * MINUTE)),
  },
  "taken-over": {
    text: "a login of another device ends the login of the program; a person resumes the recipes later",
    perDay: 6,
    only: "direct",
    ...atCall({ kind: "displaced-login" }),
  },
} satisfies Record<string, FaultEntry>;

/** Kinds of faults of the platform's sockets. The simulator provides them. */
type SocketFault =
  | "unanswered"
  | "silence"
  | "system-error"
  | "expired-token"
  | "second-init"
  | "wrong-signature"
  | "wrong-padding"
  | "truncated-frame"
  | "split-frame"
  | "merged-frames";

/** Name of a kind. */
export type FaultName = keyof typeof faultTable;
/** Names of all kinds. */
// The cast is safe: the table has exactly these keys.
export const faultNames = Object.keys(faultTable) as FaultName[];

/** A state that no intent has while faults strike. */
export interface Unreachable {
  state: IntentState;
  reason: string;
}

/**
 * Returns the states that no intent has when a fault strikes. In every other state, every kind of fault can strike. A
 * fault counts for each state that any intent of the account has at that moment.
 *
 * @param days Trading days of each seed.
 */
export function unreachableStates(days: number): Unreachable[] {
  return days > 1 ? [] : [{
    state: "expired",
    reason: "an order counts as expired some days after its day; --days 3 reaches it",
  }];
}

/** A fault of a plan. */
export interface PlannedFault {
  /** Milliseconds since the start of the world. */
  atMs: number;
  kind: FaultName;
  /** A number from which the fault derives its details. */
  size: number;
  /**
   * The fault waits until an intent is in this state. If it cannot strike while the state lasts, it waits until an
   * intent is in this state again. @default it does not wait
   */
  state?: IntentState;
}

/** Describes a fault of a plan for the log. */
export const faultText = ({ kind, size, state }: PlannedFault): string =>
  `fault ${kind} ${size.toFixed(3)}${state === undefined ? "" : ` while an intent is ${state}`}`;

/** States that faults wait for. They last only for a moment, or few intents reach them. */
const aims: readonly IntentState[] = [
  "planned",
  "approved",
  "sent",
  "acknowledged",
  "part-filled",
  "rejected",
  "expired",
  "unknown",
  "ambiguous",
];
/** Fraction of the plans in which faults of all kinds may wait for a state. Kinds with a `state` wait in every plan. */
const AIMED = 0.6;

/**
 * Draws a plan. Each seed leaves out a random subset of the kinds, so that frequent kinds do not hide rare ones.
 *
 * @param periods When faults may strike.
 */
export function drawPlan(
  random: () => number,
  periods: Pace["faults"],
  { start, isDirect, schedulers }: { start: number; isDirect: boolean; schedulers: number },
): PlannedFault[] {
  const isPossible = { direct: isDirect, schedulers: schedulers > 0 };
  const plan: PlannedFault[] = [];
  const share = 0.15 + 0.6 * random();
  const isAimed = random() < AIMED;
  const states = aims.filter(() => random() < 0.3);
  for (const kind of faultNames) {
    const isOn = random() < share;
    for (const { from, to, weight } of periods) {
      const { perDay, only, state: usual }: FaultEntry = faultTable[kind];
      // The number of faults has a Poisson distribution. Its mean is 0.3 to 1.3 times the usual number of the period.
      for (
        let left = Math.exp(-perDay * weight * (0.3 + random())), at = random();
        at > left;
        at *= random()
      ) {
        const fault = { atMs: Math.floor(from - start + random() * (to - from)), kind, size: random() };
        const aim = random();
        const state = isAimed && aim < 0.5
          ? states[Math.floor(aim * 2 * states.length)]
          : aim < 0.9
          ? usual
          : undefined;
        if (isOn && (only === undefined || isPossible[only])) {
          plan.push({ ...fault, ...state !== undefined && { state } });
        }
      }
    }
  }
  return plan.sort((one, other) => one.atMs - other.atMs);
}
