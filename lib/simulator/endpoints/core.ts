/**
 * Contains the parts that all endpoints of a simulated broker share: the broker, its clock, and the armed faults.
 *
 * @module
 */
import type { Calendars } from "../../calendars/mod.ts";
import { Broker, type BrokerOptions } from "../broker/broker.ts";
import type { Clock } from "../../time.ts";
import { operations } from "../../operations/mod.ts";
import { type ScriptedOutage, scriptPlan, type ScriptSource } from "../script.ts";
import type { AnswerShape } from "../../operations/shaped_answers.ts";
import { type Fault, Faults } from "./faults.ts";
import { ShapedAnswers } from "./shaped.ts";

/** Options of a simulated broker. */
export interface CoreOptions {
  /** Seed of prices, past fills and the default credentials. */
  seed: number;
  /** Time of the simulation. The control routes add an offset to it and leave the clock itself unchanged. */
  clock: Clock;
  /** Trading days of history per market. */
  days?: number;
  /** Fills per market on each of those days. */
  fillsPerDay?: number;
  /** The trading days of the exchanges. @default the built-in calendars */
  calendars?: Calendars;
  /** Maximum number of lots of a single order, by market. A larger order is split. @default see `MOST_LOTS` */
  mostLots?: BrokerOptions["mostLots"];
  /** Whether the account may sell stocks short. @default false */
  shorts?: boolean;
  /**
   * Price moves, halts and outages: a list, or a text in YAML or JSON with its file name for messages. @default none
   */
  script?: ScriptSource;
  /**
   * Shapes of a real broker's answers, from a report of `hsgate probe`: the members with their types and lengths,
   * without their values. A call that has a shape gets an invented answer of this shape instead of the simulated
   * broker's answer.
   *
   * @default none
   */
  answers?: readonly AnswerShape[];
}

/** The calls of the broker that an endpoint uses. */
export type BrokerCalls = Pick<Broker, "call" | "settle" | "onOrderPush">;

/** A simulated broker before any port is open. */
export interface Core {
  /** The same seed and clock give the same account. */
  readonly seed: number;
  /** The simulated broker. */
  readonly broker: Broker;
  /** The armed faults. */
  readonly faults: Faults;
  /** The shapes in which some operations answer. */
  readonly shapedAnswers: ShapedAnswers;
  /** The clock that the broker sees. */
  readonly clock: MovableClock;
}

/** Creates a broker for endpoints. @throws {ScriptError} If the script is invalid. */
export function makeCore(options: CoreOptions): Core {
  const { seed, clock: inner, days, fillsPerDay, calendars, mostLots, shorts, script } = options;
  const clock = new MovableClock(inner);
  const plan = script === undefined ? undefined : scriptPlan(script, calendars);
  const broker = new Broker({
    seed,
    clock,
    days,
    fillsPerDay,
    calendars,
    plan,
    ...mostLots && { mostLots },
    ...shorts !== undefined && { shorts },
  });
  const faults = new Faults();
  for (const outage of plan?.outages ?? []) armOutage(faults, outage, clock);
  return { seed, clock, broker, faults, shapedAnswers: new ShapedAnswers(options.answers ?? []) };
}

/** Arms the faults of an outage. They strike only while the clock is within the outage. */
function armOutage(faults: Faults, { of, from, until }: ScriptedOutage, clock: Clock): void {
  const isNow = () => clock.now() >= from && clock.now() < until;
  const arm = (fault: Fault) => faults.arm({ ...fault, times: Infinity }, isNow);
  if (of !== "lists") arm({ kind: "drop-push" });
  if (of === "gateway") arm({ kind: "lost-request" });
  if (of !== "lists") return;
  for (const operation of operations.values()) {
    const isList = operation.paging !== undefined || operation.response.shape().kind === "list";
    if (!isList || operation.effect !== "read" || operation.needs !== "trade-login") continue;
    arm({ kind: "busy", operation: operation.name });
  }
}

/** Returns a host name in the form of a URL, with brackets around an IPv6 address. */
export function hostOf(hostname: string): string {
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

/** Calls a function at intervals of real time; never when the interval is 0. Returns a function that stops it. */
export function repeat(
  everyMs: number,
  work: () => void,
  onError: (error: unknown) => void,
): () => void {
  if (everyMs === 0) return () => {};
  const timer = setInterval(() => {
    try {
      work();
    } catch (error) {
      onError(error);
    }
  }, everyMs);
  return () => clearInterval(timer);
}

const HONG_KONG_MS = 8 * 3_600_000;

/** A clock with the time of another clock plus an offset, so that a test can move the simulated time. */
export class MovableClock implements Clock {
  readonly #inner: Clock;
  #offset = 0;

  /** Creates a clock that can be moved away from another clock. */
  constructor(inner: Clock) {
    this.#inner = inner;
  }

  now(): number {
    return this.#inner.now() + this.#offset;
  }

  /** Moves the time forward, or back, by milliseconds. */
  advance(ms: number): void {
    this.#offset += ms;
  }

  /** Sets the time to an instant, Unix milliseconds. */
  set(instant: number): void {
    this.#offset = instant - this.#inner.now();
  }
}

/** Returns an instant in Hong Kong time, which has no daylight saving: `2025-08-16T12:00:00+08:00`. */
export function toHongKongIso(instant: number): string {
  return `${new Date(instant + HONG_KONG_MS).toISOString().slice(0, 19)}+08:00`;
}
