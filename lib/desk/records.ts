/**
 * Changes the intents of one account in the store. Tries again while the store cannot be used.
 *
 * @module
 */
import { BrokerError, messageOf } from "../errors.ts";
import { onceMore, type Store } from "../store/store.ts";
import { isTemporary } from "../store/store_error.ts";
import { type Machine, wait } from "../time.ts";
import type { Intent } from "./intent.ts";
import { addOrders, findIntent, type Move, moveIntent, ownedOrders, type Owner } from "./queries.ts";
import { targetsOf } from "./terms.ts";

/** How long to try to record an answer while the store cannot be used, and the time between two tries. */
const KEEP_MS = 20_000;
const KEEP_AGAIN_MS = 1_000;
/**
 * No order is open for longer than this. A conditional order is valid for at most 100 days, and the order that it
 * places for one more. One day is spare.
 */
export const LONGEST_ORDER_MS = 102 * 24 * 3_600_000;

/** Options of {@linkcode Records}. */
export interface RecordsOptions {
  store: Store;
  machine: Machine;
  account: string;
  /** Called after each change of an intent, with the error that left its outcome unknown, if there was one. */
  onChange?(intent: Intent, error?: unknown): void;
  /** Removes secrets from a text, because the broker may repeat what it has received. @default changes nothing */
  redact?(text: string): string;
}

/** Members in the data of a change, at any depth, that may contain a text from the broker. */
const brokerTexts: readonly string[] = ["why", "remark"];
/** The store keeps at most this many characters of such a text. */
const MOST_TEXT = 4_000;

/** A change of an intent. Without a time, it is recorded with the current time. */
type MoveNow = Omit<Move, "at"> & { at?: number };

/**
 * An intent as a caller read it before moving it to another state. If the lists of orders are absent here, the intent
 * is moved even if its orders in the store have changed.
 */
type KnownIntent = Pick<Intent, "id" | "state"> & Partial<Pick<Intent, "orderIds" | "childIds">>;

const isSameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((each) => other.includes(each));

/** The intents that placed orders, by the ids of the orders. */
export type Owners = ReadonlyMap<string, Owner>;

/** The intents of one account. */
export class Records {
  readonly store: Store;
  readonly machine: Machine;
  readonly account: string;
  readonly #onChange: RecordsOptions["onChange"];
  readonly #redact: (text: string) => string;

  constructor({ store, machine, account, onChange, redact = (text) => text }: RecordsOptions) {
    this.store = store;
    this.machine = machine;
    this.account = account;
    this.#onChange = onChange;
    this.#redact = redact;
  }

  /** Returns a change that is safe to store: texts from the broker are cut and contain no secrets. */
  #kept(move: MoveNow): Move {
    const at = move.at ?? this.machine.now();
    if (move.data === undefined) return { ...move, at };
    const json = JSON.stringify(move.data, (name, value) => {
      if (typeof value !== "string" || !brokerTexts.includes(name)) return value;
      const text = this.#redact(value);
      return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
    });
    return { ...move, at, data: JSON.parse(json) };
  }

  /** Calls `onChange` for an intent that has just changed. */
  reportChange(intent: Intent, error?: unknown): void {
    this.#onChange?.(intent, error);
  }

  /**
   * Returns an intent that must be in the store, because intents are removed only after they have ended.
   *
   * @throws {TypeError} If the store does not have it.
   */
  async find(id: string): Promise<Intent> {
    const intent = await findIntent(this.store, id);
    if (intent === undefined) throw new TypeError(`Cannot find the intent "${id}" in the store`);
    return intent;
  }

  async move(id: string, move: MoveNow): Promise<Intent> {
    const intent = await moveIntent(this.store, id, this.#kept(move));
    this.reportChange(intent);
    return intent;
  }

  /**
   * Moves an intent, unless its state or its orders have changed since the caller read them. A new order, such as one
   * that an amendment has created, is not covered by the caller's evidence. Returns the current intent.
   *
   * @param error The error that left the outcome unknown, for `onChange`.
   */
  async moveFrom(from: KnownIntent, move: MoveNow, error?: unknown): Promise<Intent> {
    const { store } = this;
    let isMoved = false;
    const now = await store.transaction(async () => {
      const current = await this.find(from.id);
      const { orderIds = current.orderIds, childIds = current.childIds } = from;
      isMoved = current.state === from.state && isSameSet(orderIds, current.orderIds) &&
        isSameSet(childIds, current.childIds);
      return isMoved ? await moveIntent(store, from.id, this.#kept(move)) : current;
    });
    if (isMoved) this.reportChange(now, error);
    return now;
  }

  /**
   * Does work in the store that must be done before anything is sent. If the store fails, throws a `BrokerError` that
   * says that the operation cannot be sent.
   */
  async first<T>(operation: string, work: () => Promise<T>): Promise<T> {
    try {
      return await onceMore(work);
    } catch (error) {
      if (error instanceof BrokerError) throw error;
      throw new BrokerError(
        `Cannot send ${operation}: the store "${this.store.name}" could not record it first: ${
          messageOf(error)
        }`,
        { code: "store", operation, cause: error },
      );
    }
  }

  /** Does work in the store that must not be lost. Tries again for a while if the store cannot be used. */
  async keep<T>(work: () => Promise<T>): Promise<T> {
    const endAt = this.machine.monotonic() + KEEP_MS;
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isTemporary(error) || this.machine.monotonic() >= endAt) throw error;
      }
      await wait(this.machine, KEEP_AGAIN_MS);
    }
  }

  /** Abandons an intent that was not sent. */
  async abandon(id: string, error: unknown): Promise<void> {
    try {
      await this.move(id, { to: "abandoned", by: "desk", data: { why: messageOf(error) } });
    } catch {
      // The caller gets the error of the write, which is more useful. A later `reconcile` abandons the intent or marks
      // it as unknown.
    }
  }

  /**
   * Returns the orders that the account's intents placed within {@linkcode LONGEST_ORDER_MS}. Older orders have ended.
   */
  async owned(): Promise<Owners> {
    return await ownedOrders(this.store, this.account, this.machine.now() - LONGEST_ORDER_MS);
  }

  /** An amendment may create a new order. Adds this order to the intent that placed the amended order. */
  async noteAmended(amendment: Intent): Promise<void> {
    await noteAmended(this.store, amendment, await this.owned());
  }
}

/**
 * Adds the orders of an amendment to the intent that placed the amended order.
 *
 * @param owned The result of {@linkcode Records.owned}.
 */
export async function noteAmended(
  store: Store,
  amendment: Intent,
  owned: Owners,
): Promise<void> {
  const owner = owned.get(targetsOf(amendment)[0] ?? "");
  if (owner === undefined) return;
  // If a conditional or algorithmic order has placed the amended order, its fills count there, and only once.
  const { orderIds } = amendment;
  await addOrders(store, owner.intent, owner.isChild ? { childIds: orderIds } : { orderIds });
}
