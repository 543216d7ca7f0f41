/**
 * One simulated account with three ways to it, and tests that are written once and run over each of them.
 *
 * @module
 */
import { type Client, type ClientOptions, createClient } from "../../lib/client/client.ts";
import { connect } from "../../lib/client/connect.ts";
import { operations } from "../../lib/operations/mod.ts";
import { ManualClock } from "../../lib/simulator/clock.ts";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../lib/simulator/mod.ts";
import { memory } from "../../lib/transports/memory.ts";
import type { TransportEvent } from "../../lib/transports/push_events.ts";
import { connectDirect } from "../support/direct_client.ts";
import { type OpenDoor, openMemoryDoor } from "./memory_door.ts";

/** The ways to the account. */
export const ways = ["memory", "gateway", "direct"] as const;
export type Way = (typeof ways)[number];

/** A Friday morning in Hong Kong, in the middle of continuous trading. */
export const MORNING = Date.parse("2025-08-15T10:30:00+08:00");
export const TENCENT = { type: "hk-stock", symbol: "00700.HK" } as const;
/** An order that rests: the market stands near 590. */
export const ORDER = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "550.00",
  side: "buy",
  orderType: "limit",
} as const;

/** Options of a client. */
export interface WayOptions extends Omit<ClientOptions, "tradePassword"> {
  timeoutMs?: number;
  /** `false` for none. */
  tradePassword?: string | false;
}

/** A simulated account. */
export interface House extends AsyncDisposable {
  simulator: Simulator;
  clock: ManualClock;
  /** The door in memory, with what went through it. */
  memory: OpenDoor;
  /** Makes a client. */
  connect(way: Way, options?: WayOptions): Promise<Client>;
  /** Settles orders and pushes what has changed, on every side. */
  round(): void;
  /** Counts calls of an operation that arrive from now on, whatever becomes of them. */
  count(operation: string): () => number;
  /** Order numbers that stand at the broker, seen past every transport under test. */
  orderIds(): Promise<string[]>;
}

/** Starts one. Its clock stands still, and pushes of market data come with `round()`. */
export async function openHouse(
  { at = MORNING, ...options }: Partial<SimulatorOptions> & { at?: number } = {},
): Promise<House> {
  const clock = new ManualClock(at);
  const quiet = { pushIntervalMs: 0, loginLifeMs: 1e12 };
  const simulator = await startSimulator({
    seed: 7,
    clock,
    days: 5,
    fillsPerDay: 4,
    ...options,
    gateway: { ...quiet, ...options.gateway },
    platform: { ...quiet, ...options.platform },
  });
  const { info, faults } = simulator;
  const door = await openMemoryDoor(simulator);
  const makers: Record<Way, (options: WayOptions) => Promise<Client>> = {
    memory: ({ timeoutMs, ...rest }) => {
      const { tradePasswordKey } = info;
      const transport = memory(door.door, { pushes: door.pushes, tradePasswordKey, timeoutMs });
      return Promise.resolve(createClient(transport, clientOptions(rest)));
    },
    gateway: ({ timeoutMs, ...rest }) => {
      const { gatewayUrl: url, pushAddress: push, tradePasswordKey } = info;
      return connect({ gateway: { url, push, tradePasswordKey, timeoutMs }, ...clientOptions(rest) });
    },
    direct: ({ timeoutMs, ...rest }) =>
      connectDirect(info, { ...timeoutMs !== undefined && { timeoutMs } }, clientOptions(rest)),
  };
  const clientOptions = ({ tradePassword = info.tradePassword, ...rest }: WayOptions): ClientOptions => ({
    retry: { attempts: 3, waitMs: 1 },
    tradePassword: tradePassword === false ? undefined : tradePassword,
    ...rest,
  });
  return {
    simulator,
    clock,
    memory: door,
    connect: (way, wanted = {}) => makers[way](wanted),
    round() {
      simulator.round();
      door.round();
    },
    count(operation) {
      const most = 1_000_000;
      // A delay of nothing changes nothing, and is counted all the same.
      faults.arm({ kind: "delay", ms: 0, when: "request", operation, times: most });
      const isOurs = (fault: { kind: string; ms?: number; operation?: string }) =>
        fault.kind === "delay" && fault.ms === 0 && fault.operation === operation;
      return () => most - (faults.armed.find(isOurs)?.times ?? most);
    },
    async orderIds() {
      await using watcher = await makers.memory({});
      const rows = await watcher.orders.today({ market: "hk" }).toArray();
      return rows.map(({ orderId }) => String(orderId)).sort();
    },
    async [Symbol.asyncDispose]() {
      door[Symbol.dispose]();
      await simulator.close();
    },
  };
}

/** A client under test, and the account behind it. */
export interface Desk extends House {
  way: Way;
  client: Client;
}

/** What a test needs. */
export interface ConformanceOptions extends WayOptions {
  /** Ways that cannot do it, each with its reason. */
  skip?: Partial<Record<Way, string>>;
  /** Time of the start. */
  at?: number;
  house?: Partial<SimulatorOptions>;
}

/** Runs a test over every way, each with an account of its own. */
export function conformance(
  name: string,
  test: (desk: Desk) => Promise<void>,
  { skip = {}, at, house: houseOptions, ...options }: ConformanceOptions = {},
): void {
  for (const way of ways) {
    const reason = skip[way];
    if (reason !== undefined) {
      if (!/\w+ \w+/.test(reason)) throw new TypeError(`Cannot skip "${name}" over ${way}: say why`);
      Deno.test({ name: `${name}, over ${way} (skipped: ${reason})`, ignore: true, fn() {} });
      continue;
    }
    Deno.test(`${name}, over ${way}`, async () => {
      await using house = await openHouse({ ...houseOptions, ...at !== undefined && { at } });
      await using client = await house.connect(way, options);
      await test({ ...house, way, client });
    });
  }
}

/** Why the socket cannot carry an operation, in the catalogue's own words. */
export function gapOf(name: string): string {
  const socket = operations.get(name)?.socket;
  if (socket === undefined || !("gap" in socket)) throw new TypeError(`Cannot find a gap in "${name}"`);
  return socket.gap;
}

/** Takes events until one fits; all of them are returned. */
export async function until(
  events: AsyncIterator<TransportEvent>,
  fits: (event: TransportEvent) => boolean,
): Promise<TransportEvent[]> {
  const taken: TransportEvent[] = [];
  for (;;) {
    const { value, done } = await events.next();
    if (done) throw new Error(`the events ended after ${taken.map(({ type }) => type).join(", ")}`);
    taken.push(value);
    if (fits(value)) return taken;
  }
}

/** Whether the stream has begun, or begun again. */
export const isConnected = (event: TransportEvent) =>
  event.type === "connection" && event.state === "connected";
