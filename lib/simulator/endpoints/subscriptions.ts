/**
 * Keeps the subscriptions of clients and sends their pushes. Market data is pushed when it differs from the last push.
 *
 * @module
 */
import type { PushTopic } from "../../dictionaries/push.ts";
import type { Params, Result } from "../../operations/operation.ts";
import type { quotes } from "../../operations/quotes.ts";
import { maxSubscriptions } from "../../operations/shared.ts";
import { Refusal, refusalOfCode } from "../contract.ts";
import type { BrokerCalls } from "./core.ts";
import type { PushData } from "./pushes.ts";

/** A security in a request. */
type Security = Params<typeof quotes.subscribe>["securities"][number];

/** A topic of a security. */
interface Subscription {
  readonly topic: PushTopic;
  readonly security: Security;
  /** Content of the last pushes, to detect changes. */
  readonly last: Map<string, string>;
}

const keyOf = (topic: string, { type, symbol }: Security) => `${topic} ${type} ${symbol}`;

/** The subscribed topics and securities, at most 200 securities in total over all topics. */
export class Subscriptions {
  readonly #entries = new Map<string, Subscription>();
  /** Whether order changes are pushed. */
  orderPushes = true;

  /** Iterates over the subscriptions, oldest first. */
  [Symbol.iterator](): IterableIterator<Subscription> {
    return this.#entries.values();
  }

  /** Number of subscriptions. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns whether a security is subscribed under any topic. */
  has({ type, symbol }: Security): boolean {
    return [...this.#entries.values()].some(({ security }) =>
      security.type === type && security.symbol === symbol
    );
  }

  /**
   * Adds subscriptions. A subscription that exists already is pushed again in the next round.
   *
   * @throws {Refusal} If there would be more than 200 securities. Then no subscription is added.
   */
  add(topic: PushTopic, securities: readonly Security[]): void {
    const all = new Set([...this.#entries.values()].map(({ security }) => keyOf("", security)));
    for (const security of securities) all.add(keyOf("", security));
    if (all.size > maxSubscriptions) {
      throw refusalOfCode(
        "invalid-parameter",
        `at most ${maxSubscriptions} securities can be subscribed; with this request there would be ${all.size}`,
      );
    }
    for (const security of securities) {
      this.#entries.set(keyOf(topic, security), { topic, security, last: new Map() });
    }
  }

  /** Removes subscriptions; ignores those that do not exist. */
  remove(topic: PushTopic, securities: readonly Security[]): void {
    for (const security of securities) this.#entries.delete(keyOf(topic, security));
  }

  /**
   * Removes all subscriptions, like a gateway that has lost its connection, and turns order pushes on. Clients have to
   * subscribe again.
   */
  clear(): void {
    this.#entries.clear();
    this.orderPushes = true;
  }
}

type MarketPush = Exclude<keyof PushData, "order">;

/** Sends a push. */
type SendPush = <Type extends MarketPush>(type: Type, data: PushData[Type]) => void;

/** Options of {@linkcode QuoteFeed}. */
interface QuoteFeedOptions {
  broker: BrokerCalls;
  subscriptions: Subscriptions;
  send: SendPush;
}

const MOST_TICKS = 100;

/** Checks every subscription once per round. */
export class QuoteFeed {
  readonly #options: QuoteFeedOptions;

  constructor(options: QuoteFeedOptions) {
    this.#options = options;
  }

  /** Sends what has changed since the previous round. */
  round(): void {
    for (const subscription of this.#options.subscriptions) {
      try {
        this.#views[subscription.topic](subscription);
      } catch (error) {
        // Ignore a topic that the security does not have, such as broker queues outside Hong Kong.
        if (!(error instanceof Refusal)) throw error;
      }
    }
  }

  readonly #quote = (subscription: Subscription) => {
    const { security } = subscription;
    const [quote] = this.#ask<typeof quotes.latest>("quotes.latest", { securities: [security] });
    if (quote !== undefined) this.#sendChanged(subscription, { type: "quote", data: { security, quote } });
  };

  readonly #ticks = (subscription: Subscription) => {
    const { security, last } = subscription;
    const { ticks } = this.#ask<typeof quotes.ticks>("quotes.ticks", { security, limit: MOST_TICKS });
    const known = last.get("tick");
    const seen = ticks.findLastIndex((tick) => JSON.stringify(tick) === known);
    for (const tick of known === undefined ? ticks.slice(-1) : ticks.slice(seen + 1)) {
      last.set("tick", JSON.stringify(tick));
      this.#options.send("tick", { security, tick });
    }
  };

  readonly #brokers = (subscription: Subscription) => {
    const { security } = subscription;
    const { bids, asks } = this.#ask<typeof quotes.brokers>("quotes.brokers", { security });
    this.#sendChanged(subscription, { type: "brokers", data: { security, side: "buy", brokers: bids } });
    this.#sendChanged(subscription, { type: "brokers", data: { security, side: "sell", brokers: asks } });
  };

  readonly #book = (feed?: "total-view" | "arca-book") => (subscription: Subscription) => {
    const { security } = subscription;
    const { bids, asks } = this.#ask<typeof quotes.orderBook>("quotes.orderBook", {
      security,
      ...feed && { feed },
    });
    // Pushes outside the United States have no session.
    const session = security.type.startsWith("us-") ? "regular" : "unset";
    this.#sendChanged(subscription, { type: "book", data: { security, side: "buy", levels: bids, session } });
    this.#sendChanged(subscription, {
      type: "book",
      data: { security, side: "sell", levels: asks, session },
    });
  };

  readonly #views: Record<PushTopic, (subscription: Subscription) => void> = {
    "quote": this.#quote,
    "quote-35": this.#quote,
    "tick": this.#ticks,
    "tick-27": this.#ticks,
    "tick-28": this.#ticks,
    "tick-37": this.#ticks,
    "broker-queue": this.#brokers,
    "order-book": this.#book(),
    "order-book-36": this.#book(),
    "arca-book": this.#book("arca-book"),
    "total-view": this.#book("total-view"),
  };

  #ask<Entry extends (typeof quotes)[keyof typeof quotes]>(
    name: `quotes.${keyof typeof quotes}`,
    params: Params<Entry>,
  ): Result<Entry> {
    // The broker returns the catalogue's result type for each operation.
    return this.#options.broker.call(name, params) as Result<Entry>;
  }

  #sendChanged<Type extends MarketPush>(
    { last }: Subscription,
    { type, data }: { type: Type; data: PushData[Type] },
  ): void {
    const key = "side" in data ? `${type} ${data.side}` : type;
    const text = JSON.stringify(data);
    if (last.get(key) === text) return;
    last.set(key, text);
    this.#options.send(type, data);
  }
}
