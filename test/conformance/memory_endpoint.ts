/**
 * Provides the simulated gateway's endpoint in memory, for a broker that has other endpoints too.
 *
 * @module
 */
import { Calls } from "../../lib/simulator/endpoints/calls.ts";
import { systemMachine, waitUnlessAborted } from "../../lib/time.ts";
import { tradePasswordReader } from "../../lib/simulator/endpoints/credentials.ts";
import { PushBodies, PushLane } from "../../lib/simulator/endpoints/pushes.ts";
import { QuoteFeed, Subscriptions } from "../../lib/simulator/endpoints/subscriptions.ts";
import { TradeLogin } from "../../lib/simulator/endpoints/trade_login.ts";
import { OperationEndpoint } from "../../lib/simulator/gateway/operation_endpoint.ts";
import type { Simulator } from "../../lib/simulator/mod.ts";
import type { Envelope, MemoryEndpoint, MemoryLine, MemoryPushes } from "../../lib/transports/memory.ts";

/** A call and its answer, in the broker's spelling. */
export interface Exchange {
  path: string;
  params: Record<string, unknown>;
  answer: Envelope;
}

/** An endpoint for `memory()`, with its source of pushes. */
export interface OpenEndpoint extends Disposable {
  endpoint: MemoryEndpoint;
  pushes: MemoryPushes;
  /** All calls, oldest first. */
  exchanges: Exchange[];
  /** Topics and securities that are subscribed at this endpoint. */
  readonly subscriptions: number;
  /** Pushes all changes since the previous round. */
  round(): void;
}

/** Opens an endpoint to a simulator's account. Like any endpoint, it has its own login and subscriptions. */
export async function openMemoryEndpoint({ broker, faults, clock, info }: Simulator): Promise<OpenEndpoint> {
  const closing = new AbortController();
  const login = new TradeLogin({
    password: info.tradePassword,
    decrypt: tradePasswordReader(info.tradePasswordKey),
    lifeMs: 1e12,
    clock,
  });
  const subscriptions = new Subscriptions();
  const bodies = await PushBodies.load(clock);
  const calls = new Calls({ broker, login, subscriptions, barsNeedSubscription: true });
  const operationEndpoint = new OperationEndpoint({
    calls,
    faults,
    login,
    sleep: async (ms) => void await waitUnlessAborted(systemMachine, ms, closing.signal),
    onError: reportError,
  });
  const lines = new Set<MemoryLine>();
  const cut = (forget = true) => {
    for (const line of [...lines]) line.end("a fault cut it");
    if (forget) subscriptions.clear();
  };
  const lane = new PushLane(faults, {
    send: (_push, body) => lines.forEach((line) => line.push(body)),
    cut: (_body, { forget }) => cut(forget),
  });
  const send = (...push: Parameters<PushLane["send"]>) => {
    if (lines.size > 0) lane.send(...push);
  };
  const feed = new QuoteFeed({
    broker,
    subscriptions,
    send: (type, data) => send(type, bodies.market(type, data)),
  });
  const stopOrders = broker.onOrderPush((push) => {
    if (subscriptions.orderPushes) send("order", bodies.order(push));
  });
  const stopFaults = faults.onArmed(() => {
    const fault = lines.size === 0
      ? undefined
      : faults.strikeAny("cut-push", ({ bytes }) => bytes === undefined);
    if (fault !== undefined) cut(fault.forget);
  });
  const exchanges: Exchange[] = [];

  return {
    exchanges,
    get subscriptions() {
      return subscriptions.size;
    },
    async endpoint(path, params, { timeoutMs }) {
      const answer = await operationEndpoint.answer({
        method: "POST",
        path,
        query: "",
        remote: "127.0.0.1",
        headers: new Map([["content-type", "application/json"]]),
        keepAlive: true,
        body: new TextEncoder().encode(JSON.stringify({ timeout_sec: Math.ceil(timeoutMs / 1000), params })),
      });
      if (answer.cutAfter !== undefined || answer.status >= 500) {
        throw new Error("the endpoint closed the connection");
      }
      const text = new TextDecoder().decode(answer.body);
      if (answer.contentType === undefined) exchanges.push({ path, params, answer: JSON.parse(text) });
      return text;
    },
    pushes(line) {
      lines.add(line);
      return () => void lines.delete(line);
    },
    round() {
      if (lines.size > 0) feed.round();
      lane.sendWaiting();
    },
    [Symbol.dispose]() {
      closing.abort();
      stopOrders();
      stopFaults();
    },
  };
}
