/**
 * Market data pushes: what a subscription shows now, sent when it differs from what was sent before.
 *
 * @module
 */
import type { PushTopic } from "../../dictionaries/push.ts";
import type { quotes } from "../../operations/quotes.ts";
import type { Params, Result } from "../../operations/operation.ts";
import { Refusal } from "../contract.ts";
import type { DoorBroker } from "./calls.ts";
import type { PushData } from "./push_bodies.ts";
import type { Subscription, Subscriptions } from "./subscriptions.ts";

type MarketPush = Exclude<keyof PushData, "order">;

/** Takes a push that is to be sent. */
export type SendPush = <Type extends MarketPush>(type: Type, data: PushData[Type]) => void;

/** What the feed works with. */
export interface QuoteFeedOptions {
  broker: DoorBroker;
  subscriptions: Subscriptions;
  send: SendPush;
}

const MOST_TICKS = 100;

/** Looks at every subscription once per round. */
export class QuoteFeed {
  readonly #options: QuoteFeedOptions;

  constructor(options: QuoteFeedOptions) {
    this.#options = options;
  }

  /** Sends what has changed since the round before. */
  round(): void {
    for (const subscription of this.#options.subscriptions) {
      try {
        this.#views[subscription.topic](subscription);
      } catch (error) {
        // A topic that the security does not have, such as broker queues outside Hong Kong, stays silent.
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
    // Pushes outside the United States carry no session.
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
    // The broker answers each operation with the result that the catalogue gives it.
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
