/**
 * The simulated gateway's door without its ports, in front of a broker that has other doors too.
 *
 * @module
 */
import { Calls } from "../../lib/simulator/doors/calls.ts";
import { sleepUntil } from "../../lib/simulator/doors/core.ts";
import { PushBodies } from "../../lib/simulator/doors/push_bodies.ts";
import { PushLane } from "../../lib/simulator/doors/push_lane.ts";
import { QuoteFeed } from "../../lib/simulator/doors/quote_feed.ts";
import { Subscriptions } from "../../lib/simulator/doors/subscriptions.ts";
import { TradeLogin } from "../../lib/simulator/doors/trade_login.ts";
import { OperationDoor } from "../../lib/simulator/gateway/operation_door.ts";
import { tradePasswordReader } from "../../lib/simulator/gateway/trade_password.ts";
import type { Simulator } from "../../lib/simulator/mod.ts";
import type { Envelope, MemoryDoor, MemoryLine, MemoryPushes } from "../../lib/transports/memory.ts";

/** One call and its answer, in the broker's spelling. */
export interface Exchange {
  path: string;
  params: Record<string, unknown>;
  answer: Envelope;
}

/** A door for `memory()`, and where its pushes come from. */
export interface OpenDoor extends Disposable {
  door: MemoryDoor;
  pushes: MemoryPushes;
  /** What went through, oldest first. */
  exchanges: Exchange[];
  /** Topics of securities that are subscribed here. */
  readonly subscriptions: number;
  /** Pushes what has changed since the round before. */
  round(): void;
}

/** Opens a door to the account of a simulator. Its login and its subscriptions are its own, as with any other door. */
export async function openMemoryDoor({ broker, faults, clock, info }: Simulator): Promise<OpenDoor> {
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
  const operationDoor = new OperationDoor({
    calls,
    faults,
    login,
    sleep: (ms) => sleepUntil(ms, closing.signal),
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
    async door(path, params, { timeoutMs }) {
      const answer = await operationDoor.answer({
        method: "POST",
        path,
        query: "",
        remote: "127.0.0.1",
        headers: new Map([["content-type", "application/json"]]),
        keepAlive: true,
        body: new TextEncoder().encode(JSON.stringify({ timeout_sec: Math.ceil(timeoutMs / 1000), params })),
      });
      if (answer.cutAfter !== undefined || answer.status >= 500) throw new Error("the door fell shut");
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
      lane.flushHeld();
    },
    [Symbol.dispose]() {
      closing.abort();
      stopOrders();
      stopFaults();
    },
  };
}
