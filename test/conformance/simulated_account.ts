/**
 * Provides simulated accounts for the conformance suite, and runs tests over each of the three transports.
 *
 * @module
 */
import { type Client, type ClientOptions, createClient } from "../../lib/client/client.ts";
import { connect } from "../../lib/client/connect.ts";
import { operations } from "../../lib/operations/mod.ts";
import { ManualClock } from "../../lib/time.ts";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../lib/simulator/mod.ts";
import { memory } from "../../lib/transports/memory.ts";
import type { TransportEvent } from "../../lib/transports/push/events.ts";
import { connectDirect } from "../support/direct_client.ts";
import { type OpenEndpoint, openMemoryEndpoint } from "./memory_endpoint.ts";

/** The transports to the account. */
export const transports = ["memory", "gateway", "direct"] as const;
export type TransportName = (typeof transports)[number];

/** A Friday morning in Hong Kong, in the middle of continuous trading. */
export const MORNING = Date.parse("2025-08-15T10:30:00+08:00");
export const TENCENT = { type: "hk-stock", symbol: "00700.HK" } as const;
/** An order that does not fill: the market price is near 590. */
export const ORDER = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "550.00",
  side: "buy",
  orderType: "limit",
} as const;

/** Options of a client. */
export interface TestClientOptions extends Omit<ClientOptions, "tradePassword"> {
  timeoutMs?: number;
  /** The trade password; `false` for none. @default the account's password */
  tradePassword?: string | false;
}

/** A simulated account. */
export interface SimulatedAccount extends AsyncDisposable {
  simulator: Simulator;
  clock: ManualClock;
  /** The endpoint in memory, with its recorded calls. */
  memory: OpenEndpoint;
  /** Creates a client. */
  connect(transport: TransportName, options?: TestClientOptions): Promise<Client>;
  /** Fills due orders and pushes all changes, at every endpoint. */
  round(): void;
  /** Returns a function that counts the calls of an operation from now on, whether or not they succeed. */
  count(operation: string): () => number;
  /** Returns the order numbers at the broker, which a separate client in memory reads. */
  orderIds(): Promise<string[]>;
}

/** Starts a simulated account. Its clock does not advance by itself, and `round()` pushes market data. */
export async function openSimulatedAccount(
  { at = MORNING, ...options }: Partial<SimulatorOptions> & { at?: number } = {},
): Promise<SimulatedAccount> {
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
  const endpoint = await openMemoryEndpoint(simulator);
  const makers: Record<TransportName, (options: TestClientOptions) => Promise<Client>> = {
    memory: ({ timeoutMs, ...rest }) => {
      const { tradePasswordKey } = info;
      const transport = memory(endpoint.endpoint, { pushes: endpoint.pushes, tradePasswordKey, timeoutMs });
      // The memory endpoint sends no time, so the client uses the market's clock.
      return Promise.resolve(createClient(transport, { machine: clock, ...clientOptions(rest) }));
    },
    gateway: ({ timeoutMs, ...rest }) => {
      const { gatewayUrl: url, pushAddress: push, tradePasswordKey } = info;
      return connect({ gateway: { url, push, tradePasswordKey, timeoutMs }, ...clientOptions(rest) });
    },
    direct: ({ timeoutMs, ...rest }) =>
      connectDirect(info, { ...timeoutMs !== undefined && { timeoutMs } }, clientOptions(rest)),
  };
  const clientOptions = (
    { tradePassword = info.tradePassword, ...rest }: TestClientOptions,
  ): ClientOptions => ({
    retry: { attempts: 3, waitMs: 1 },
    tradePassword: tradePassword === false ? undefined : tradePassword,
    ...rest,
  });
  return {
    simulator,
    clock,
    memory: endpoint,
    connect: (transport, wanted = {}) => makers[transport](wanted),
    round() {
      simulator.round();
      endpoint.round();
    },
    count(operation) {
      const most = 1_000_000;
      // A delay of zero changes nothing, but the fault is counted.
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
      endpoint[Symbol.dispose]();
      await simulator.close();
    },
  };
}

/** A client under test, and its account. */
export interface AccountUnderTest extends SimulatedAccount {
  transport: TransportName;
  client: Client;
}

/** Options of a test. */
export interface ConformanceOptions extends TestClientOptions {
  /** Transports to skip, each with the reason. */
  skip?: Partial<Record<TransportName, string>>;
  /** Simulated time at the start. @default {@linkcode MORNING} */
  at?: number;
  simulator?: Partial<SimulatorOptions>;
}

/** Runs a test over every transport, each with its own account. */
export function conformance(
  name: string,
  test: (desk: AccountUnderTest) => Promise<void>,
  { skip = {}, at, simulator: simulatorOptions, ...options }: ConformanceOptions = {},
): void {
  for (const transport of transports) {
    const reason = skip[transport];
    if (reason !== undefined) {
      if (!/\w+ \w+/.test(reason)) throw new TypeError(`Cannot skip "${name}" over ${transport}: say why`);
      Deno.test({ name: `${name}, over ${transport} (skipped: ${reason})`, ignore: true, fn() {} });
      continue;
    }
    Deno.test(`${name}, over ${transport}`, async () => {
      await using testAccount = await openSimulatedAccount({
        ...simulatorOptions,
        ...at !== undefined && { at },
      });
      await using client = await testAccount.connect(transport, options);
      await test({ ...testAccount, transport, client });
    });
  }
}

/** Returns why the socket cannot carry an operation, in the catalogue's words. */
export function gapOf(name: string): string {
  const socket = operations.get(name)?.socket;
  if (socket === undefined || !("gap" in socket)) throw new TypeError(`Cannot find a gap in "${name}"`);
  return socket.gap;
}

/** Reads events until one matches. Returns all of them. */
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

/** Returns whether an event says that the stream has connected or reconnected. */
export const isConnected = (event: TransportEvent) =>
  event.type === "connection" && event.state === "connected";
