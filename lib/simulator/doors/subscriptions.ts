/**
 * What the gateway has been asked to push.
 *
 * @module
 */
import type { PushTopic } from "../../dictionaries/push.ts";
import { maxSubscriptions, type quotes } from "../../operations/quotes.ts";
import type { Params } from "../../operations/operation.ts";
import { refusalOfCode } from "../contract.ts";

/** A security as requests name it. */
export type Security = Params<typeof quotes.subscribe>["securities"][number];

/** One topic of one security. */
export interface Subscription {
  readonly topic: PushTopic;
  readonly security: Security;
  /** What was pushed last, to tell whether anything changed. */
  readonly last: Map<string, string>;
}

const keyOf = (topic: string, { type, symbol }: Security) => `${topic} ${type} ${symbol}`;

/** Topics and securities, at most 200 securities at once over all topics. */
export class Subscriptions {
  readonly #entries = new Map<string, Subscription>();
  /** Whether changes of orders are pushed. */
  orderPushes = true;

  /** All of them, in the order in which they were made. */
  [Symbol.iterator](): IterableIterator<Subscription> {
    return this.#entries.values();
  }

  /** How many topics of securities there are. */
  get size(): number {
    return this.#entries.size;
  }

  /** Tells whether a security is subscribed under any topic. */
  has({ type, symbol }: Security): boolean {
    return [...this.#entries.values()].some(({ security }) =>
      security.type === type && security.symbol === symbol
    );
  }

  /**
   * Starts topics; one that runs already is pushed afresh.
   *
   * @throws {Refusal} When there would be more than 200 securities; nothing is changed then.
   */
  add(topic: PushTopic, securities: readonly Security[]): void {
    const all = new Set([...this.#entries.values()].map(({ security }) => keyOf("", security)));
    for (const security of securities) all.add(keyOf("", security));
    if (all.size > maxSubscriptions) {
      throw refusalOfCode(
        "invalid-parameter",
        `at most ${maxSubscriptions} securities can be subscribed, this would make ${all.size}`,
      );
    }
    for (const security of securities) {
      this.#entries.set(keyOf(topic, security), { topic, security, last: new Map() });
    }
  }

  /** Stops topics; those that do not run are passed over. */
  remove(topic: PushTopic, securities: readonly Security[]): void {
    for (const security of securities) this.#entries.delete(keyOf(topic, security));
  }

  /** Forgets everything, as a gateway does that has lost its link: clients have to subscribe again. */
  clear(): void {
    this.#entries.clear();
    this.orderPushes = true;
  }
}
