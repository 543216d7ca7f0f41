/**
 * What is subscribed to: the one memory of it, as the gateway forgets everything when its stream breaks.
 *
 * @module
 */
import type { PushTopic } from "../dictionaries/push.ts";
import { InvalidParamsError } from "../errors.ts";
import type { Params } from "../operations/operation.ts";
import type { PushEvent } from "../operations/pushes.ts";
import { maxSubscriptions, type quotes } from "../operations/quotes.ts";
import type { TransportEvent } from "../transports/push_events.ts";

/** A security that can be subscribed to. */
export type WatchedSecurity = Params<typeof quotes.subscribe>["securities"][number];

/** Sends one subscription, or its end. */
export type SendSubscription = (
  topic: PushTopic,
  securities: WatchedSecurity[],
  signal?: AbortSignal,
) => Promise<void>;

/** How {@linkcode Subscriptions} reaches the gateway. */
export interface SubscriptionSenders {
  subscribe: SendSubscription;
  unsubscribe: SendSubscription;
}

/** What somebody wants to be pushed. */
export interface Watch {
  topics: readonly PushTopic[];
  securities: readonly WatchedSecurity[];
}

/** The event that each topic is pushed as. */
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

/** One security of one topic. */
interface Entry {
  topic: PushTopic;
  security: WatchedSecurity;
  /** How many watches want it. */
  users: number;
}

const keyOf = (topic: PushTopic, { type, symbol }: WatchedSecurity) => `${topic} ${type} ${symbol}`;

/**
 * Keeps the set of topics and securities, shared between watches: the second watch of a security costs nothing,
 * and it is unsubscribed when the last one ends. Calls run one after the other, so that a subscription and its
 * end reach the gateway in that order.
 */
export class Subscriptions {
  readonly #senders: SubscriptionSenders;
  readonly #entries = new Map<string, Entry>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(senders: SubscriptionSenders) {
    this.#senders = senders;
  }

  /** Different securities that are subscribed to now, over all topics. */
  get size(): number {
    return new Set([...this.#entries.values()].map(({ security }) => security.symbol)).size;
  }

  /** What is subscribed to now, by topic. */
  get current(): ReadonlyMap<PushTopic, WatchedSecurity[]> {
    return byTopic(this.#entries.values());
  }

  /**
   * Subscribes to what is not yet subscribed to. When one topic fails, those before it are taken back.
   *
   * @returns A function that ends this watch; calling it twice does no harm.
   * @throws {InvalidParamsError} When more than 200 securities would be subscribed at once; nothing was sent.
   */
  add(watch: Watch, signal?: AbortSignal): Promise<(signal?: AbortSignal) => Promise<void>> {
    return this.#inTurn(async () => {
      const wanted = entriesOf(watch);
      this.#checkLimit(watch.securities);
      const fresh = wanted.filter(({ key }) => !this.#entries.has(key));
      const tried: PushTopic[] = [];
      try {
        for (const [topic, securities] of byTopic(fresh.map(({ entry }) => entry))) {
          tried.push(topic);
          await this.#senders.subscribe(topic, securities, signal);
        }
      } catch (error) {
        await this.#takeBack(fresh.map(({ entry }) => entry).filter(({ topic }) => tried.includes(topic)));
        throw error;
      }
      for (const { key, entry } of wanted) {
        const known = this.#entries.get(key) ?? entry;
        known.users++;
        this.#entries.set(key, known);
      }
      let ended = false;
      return (endSignal) => {
        if (ended) return Promise.resolve();
        ended = true;
        return this.#inTurn(() => this.#release(wanted.map(({ key }) => key), endSignal));
      };
    });
  }

  /**
   * Ends what one {@linkcode Subscriptions.add} began, by what it named; what nobody holds is unsubscribed all
   * the same, as the gateway may know more than we do.
   */
  remove(watch: Watch, signal?: AbortSignal): Promise<void> {
    return this.#inTurn(async () => {
      const wanted = entriesOf(watch);
      const held = wanted.filter(({ key }) => this.#entries.has(key));
      const strange = wanted.filter((each) => !held.includes(each)).map(({ entry }) => entry);
      await this.#release(held.map(({ key }) => key), signal);
      for (const [topic, securities] of byTopic(strange)) {
        await this.#senders.unsubscribe(topic, securities, signal);
      }
    });
  }

  /**
   * Subscribes to everything again, after a new connection. Every topic is tried, so that one that the broker
   * refuses does not keep the others silent; the first error is thrown at the end.
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

  async #release(keys: string[], signal: AbortSignal | undefined): Promise<void> {
    const gone: Entry[] = [];
    for (const key of keys) {
      // A watch holds its entries until here.
      const entry = this.#entries.get(key)!;
      if (--entry.users > 0) continue;
      // Forgotten even when the gateway cannot be told: after the next break it has forgotten as well.
      this.#entries.delete(key);
      gone.push(entry);
    }
    for (const [topic, securities] of byTopic(gone)) {
      await this.#senders.unsubscribe(topic, securities, signal);
    }
  }

  /** The gateway may or may not have taken what failed; ending it once more does no harm, and may fail too. */
  async #takeBack(entries: Entry[]): Promise<void> {
    for (const [topic, securities] of byTopic(entries)) {
      await this.#senders.unsubscribe(topic, securities).catch(() => {});
    }
  }

  #checkLimit(securities: readonly WatchedSecurity[]): void {
    const symbols = new Set([...this.#entries.values()].map(({ security }) => security.symbol));
    const before = symbols.size;
    for (const { symbol } of securities) symbols.add(symbol);
    if (symbols.size <= maxSubscriptions) return;
    throw new InvalidParamsError("subscribe", [{
      path: ["securities"],
      value: `${symbols.size - before} more beside the ${before} that are subscribed`,
      expected: `at most ${maxSubscriptions} securities at once over all topics`,
    }], { operation: "quotes.subscribe" });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** Each topic with each security, every pair once. */
function entriesOf({ topics, securities }: Watch): { key: string; entry: Entry }[] {
  const entries = new Map<string, Entry>();
  for (const topic of topics) {
    for (const security of securities) entries.set(keyOf(topic, security), { topic, security, users: 0 });
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
 * Makes a test for the events of a watch: pushes of its topics for its securities, and everything that is no
 * push of market data, such as gaps. Securities are compared by their symbol, which is unique with its suffix.
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
        // A push that names no security cannot be told to be somebody else's.
        return types.has(event.type) &&
          (event.data.security === undefined || symbols.has(event.data.security.symbol));
      default:
        return event.type !== "order";
    }
  };
}
