/**
 * Keeps track of subscriptions, because the gateway forgets them when its stream breaks.
 *
 * @module
 */
import type { PushTopic } from "../dictionaries/push.ts";
import { InvalidParamsError } from "../errors.ts";
import type { PushEvent } from "../operations/public_types.ts";
import { maxSubscriptions } from "../operations/shared.ts";
import type { Methods } from "./methods.ts";
import type { TransportEvent } from "../transports/push/events.ts";

/** A security for a subscription. */
export type WatchedSecurity = Parameters<Methods["quotes"]["subscribe"]>[0]["securities"][number];

/** Sends a subscription, or its cancellation. */
export type SendSubscription = (
  topic: PushTopic,
  securities: WatchedSecurity[],
  signal?: AbortSignal,
) => Promise<void>;

/** Functions that send subscriptions to the gateway. */
interface SubscriptionSenders {
  subscribe: SendSubscription;
  unsubscribe: SendSubscription;
}

/** How long an aborted watch waits for the gateway to end its subscriptions, milliseconds. */
export const END_MS = 1_000;

/** The pushes that a caller wants. */
export interface Watch {
  topics: readonly PushTopic[];
  securities: readonly WatchedSecurity[];
}

/** The push event of each topic. */
const eventOfTopic: Readonly<Record<PushTopic, PushEvent["type"]>> = {
  "quote": "quote",
  "quote-35": "quote",
  "tick": "tick",
  "tick-27": "tick",
  "tick-28": "tick",
  "tick-37": "tick",
  "broker-queue": "brokers",
  "order-book": "book",
  "order-book-36": "book",
  "arca-book": "book",
  "total-view": "book",
};

/** A security with a topic. */
interface Entry {
  topic: PushTopic;
  security: WatchedSecurity;
  /** Number of watches and calls of `keep` that use it. */
  users: number;
  /** Number of these users that are calls of `keep`. */
  kept: number;
}

const keyOf = (topic: PushTopic, { type, symbol }: WatchedSecurity) => `${topic} ${type} ${symbol}`;

/**
 * Keeps the set of subscribed topics and securities, shared between watches. A second watch of a security
 * sends nothing, and the subscription is cancelled when the last watch ends. Calls run one after another, so
 * a subscription and its cancellation reach the gateway in that order.
 */
export class Subscriptions {
  readonly #senders: SubscriptionSenders;
  readonly #entries = new Map<string, Entry>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(senders: SubscriptionSenders) {
    this.#senders = senders;
  }

  /** Number of different securities that are subscribed now, over all topics. */
  get size(): number {
    return new Set([...this.#entries.values()].map(({ security }) => security.symbol)).size;
  }

  /** The current subscriptions by topic. */
  get current(): ReadonlyMap<PushTopic, WatchedSecurity[]> {
    return byTopic(this.#entries.values());
  }

  /**
   * Subscribes to each security and topic that is not subscribed yet. If one topic fails, cancels it and the topics
   * sent before it.
   *
   * @returns A function that ends this watch; further calls have no effect.
   * @throws {InvalidParamsError} If more than 200 securities would be subscribed together. Nothing was sent.
   */
  add(watch: Watch, signal?: AbortSignal): Promise<(signal?: AbortSignal) => Promise<void>> {
    return this.#inTurn(async () => {
      const keys = (await this.#use(watch, signal)).map(({ key }) => key);
      let ended = false;
      return (endSignal) => {
        if (ended) return Promise.resolve();
        ended = true;
        return this.#inTurn(() => this.#release(keys, endSignal));
      };
    });
  }

  /** Subscribes like {@linkcode Subscriptions.add}, but only {@linkcode Subscriptions.remove} ends it. */
  keep(watch: Watch, signal?: AbortSignal): Promise<void> {
    return this.#inTurn(async () => {
      for (const { entry } of await this.#use(watch, signal)) entry.kept++;
    });
  }

  /**
   * Undoes one call of {@linkcode Subscriptions.keep} for each given topic and security. Cancels each
   * subscription that no watch and no other call of `keep` uses. Also cancels each given topic and security
   * that this client did not subscribe, because another program may have subscribed it.
   */
  remove(watch: Watch, signal?: AbortSignal): Promise<void> {
    return this.#inTurn(async () => {
      const kept: string[] = [];
      const foreign: Entry[] = [];
      for (const { key, entry } of entriesOf(watch)) {
        const known = this.#entries.get(key);
        if (known === undefined) foreign.push(entry);
        else if (known.kept > 0) {
          known.kept--;
          kept.push(key);
        }
      }
      await this.#release(kept, signal);
      for (const [topic, securities] of byTopic(foreign)) {
        await this.#senders.unsubscribe(topic, securities, signal);
      }
    });
  }

  /**
   * Sends all subscriptions again after a new connection. Tries every topic, so a topic that the broker
   * rejects does not block the others; throws the first error at the end.
   */
  resend(signal?: AbortSignal): Promise<void> {
    return this.#inTurn(async () => {
      const errors: unknown[] = [];
      for (const [topic, securities] of this.current) {
        await this.#senders.subscribe(topic, securities, signal).catch((error) => errors.push(error));
      }
      if (errors.length > 0) throw errors[0];
    });
  }

  /**
   * Subscribes to each topic and security that is not subscribed yet. Returns the entries, and counts one more user for
   * each.
   */
  async #use(watch: Watch, signal: AbortSignal | undefined): Promise<{ key: string; entry: Entry }[]> {
    const wanted = entriesOf(watch);
    this.#checkLimit(watch.securities);
    const fresh = wanted.filter(({ key }) => !this.#entries.has(key)).map(({ entry }) => entry);
    const tried: PushTopic[] = [];
    try {
      for (const [topic, securities] of byTopic(fresh)) {
        tried.push(topic);
        await this.#senders.subscribe(topic, securities, signal);
      }
    } catch (error) {
      await this.#cancelFailed(
        fresh.filter(({ topic }) => tried.includes(topic)),
        signal?.aborted ? AbortSignal.timeout(END_MS) : undefined,
      );
      throw error;
    }
    return wanted.map(({ key, entry: added }) => {
      const entry = this.#entries.get(key) ?? added;
      entry.users++;
      this.#entries.set(key, entry);
      return { key, entry };
    });
  }

  async #release(keys: string[], signal: AbortSignal | undefined): Promise<void> {
    const unused: Entry[] = [];
    for (const key of keys) {
      // The entry exists: every watch and every `keep` uses it until the release. Each of them is released only once.
      const entry = this.#entries.get(key)!;
      if (--entry.users > 0) continue;
      // Remove the entry even if the cancellation fails: the gateway forgets it when the connection breaks.
      this.#entries.delete(key);
      unused.push(entry);
    }
    for (const [topic, securities] of byTopic(unused)) {
      await this.#senders.unsubscribe(topic, securities, signal);
    }
  }

  /**
   * Cancels subscriptions that failed, because the gateway may have accepted them. Ignores errors.
   */
  async #cancelFailed(entries: Entry[], signal: AbortSignal | undefined): Promise<void> {
    for (const [topic, securities] of byTopic(entries)) {
      await this.#senders.unsubscribe(topic, securities, signal).catch(() => {});
    }
  }

  #checkLimit(securities: readonly WatchedSecurity[]): void {
    const symbols = new Set([...this.#entries.values()].map(({ security }) => security.symbol));
    const before = symbols.size;
    for (const { symbol } of securities) symbols.add(symbol);
    if (symbols.size <= maxSubscriptions) return;
    throw new InvalidParamsError("subscribe", [{
      path: ["securities"],
      value: `${symbols.size - before} more, with ${before} already subscribed`,
      expected: `at most ${maxSubscriptions} securities at once over all topics`,
    }], { operation: "quotes.subscribe" });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** Returns each pair of a topic and a security once. */
function entriesOf({ topics, securities }: Watch): { key: string; entry: Entry }[] {
  const entries = new Map<string, Entry>();
  for (const topic of topics) {
    for (const security of securities) {
      entries.set(keyOf(topic, security), { topic, security, users: 0, kept: 0 });
    }
  }
  return [...entries].map(([key, entry]) => ({ key, entry }));
}

function byTopic(entries: Iterable<Entry>): Map<PushTopic, WatchedSecurity[]> {
  const topics = new Map<PushTopic, WatchedSecurity[]>();
  for (const { topic, security } of entries) {
    const securities = topics.get(topic);
    if (securities === undefined) topics.set(topic, [security]);
    else securities.push(security);
  }
  return topics;
}

/**
 * Returns a filter for the events of a watch. It passes the pushes of the watch's topics for its securities, and all
 * events that are neither market data nor order pushes, such as gaps. Securities are compared by symbol, which is
 * unique because of its suffix.
 */
export function watchFilter({ topics, securities }: Watch): (event: TransportEvent) => boolean {
  const types = new Set<string>(topics.map((topic) => eventOfTopic[topic]));
  const symbols = new Set(securities.map(({ symbol }) => symbol));
  return (event) => {
    switch (event.type) {
      case "quote":
      case "tick":
      case "brokers":
      case "book":
        // A push without a security could belong to any watch.
        return types.has(event.type) &&
          (event.data.security === undefined || symbols.has(event.data.security.symbol));
      default:
        return event.type !== "order";
    }
  };
}
