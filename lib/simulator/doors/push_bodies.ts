/**
 * Pushes as bytes: a payload in the broker's spelling inside a PBNotify.
 *
 * @module
 */
import { NotifyType } from "../../dictionaries/message_type.ts";
import { pushes, type PushEvent } from "../../operations/pushes.ts";
import { type Envelopes, loadEnvelopes } from "../../wire/envelope.ts";
import type { Clock } from "../clock.ts";
import type { OrderPush } from "../contract.ts";

/** A push by its event, in our names. */
export type PushData = { [E in PushEvent as E["type"]]: E["data"] };

type Plain = Record<string, unknown>;

/** The number in front of each kind of order; the event lists stocks first, then futures. */
const orderNotify: Record<OrderPush["kind"], string> = {
  stock: "TradeStockDeliver",
  future: "FuturesTradeStockDeliver",
};

/** A made-up account number: the real feed carries one, and no client may show it. */
const FUND_ACCOUNT = "88001234567";

/** Writes the bodies of pushes. */
export class PushBodies {
  readonly #envelopes: Envelopes;
  readonly #clock: Clock;
  #count = 0;

  private constructor(envelopes: Envelopes, clock: Clock) {
    this.#envelopes = envelopes;
    this.#clock = clock;
  }

  /** Loads the message definitions. */
  static async load(clock: Clock): Promise<PushBodies> {
    return new PushBodies(await loadEnvelopes(), clock);
  }

  /** A change of an order. */
  order({ kind, update }: OrderPush): Uint8Array {
    // Records are written as objects; the type of values leaves that open.
    const plain = { fundAccount: FUND_ACCOUNT, ...pushes.order.payload.encode(update) as Plain };
    // Its time is that of the sending, as everywhere; when the order changed stands in the update.
    return this.#body(orderNotify[kind], { message: pushes.order.message, plain, at: this.#clock.now() });
  }

  /** A push of market data. */
  market<Type extends Exclude<keyof PushData, "order">>(type: Type, data: PushData[Type]): Uint8Array {
    const { notify, message, payload } = pushes[type];
    // The payload belongs to this very type, which TypeScript cannot see across the union.
    const plain = (payload.encode as (data: unknown) => Plain)(data);
    return this.#body(notify[0]!, { message, plain, at: this.#clock.now() });
  }

  #body(notify: string, { message, plain, at }: { message: string; plain: Plain; at: number }): Uint8Array {
    this.#count += 1;
    const bytes = this.#envelopes.messages.encode(message, plain);
    return this.#envelopes.encodeNotify({
      type: Number(NotifyType.encode(notify)),
      id: String(this.#count),
      time: at,
      payload: { name: message, bytes },
    });
  }
}
