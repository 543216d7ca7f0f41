/**
 * Encodes the simulator's pushes, and applies faults that change, drop or delay them.
 *
 * @module
 */
import { NotifyType } from "../../dictionaries/message_type.ts";
import type { PushEvent } from "../../operations/public_types.ts";
import { pushes } from "../../operations/pushes.ts";
import { type Envelopes, loadEnvelopes } from "../../wire/messages.ts";
import type { Clock } from "../../time.ts";
import type { OrderPush } from "../contract.ts";
import type { ArmedFault, FaultPush, Faults } from "./faults.ts";

/** Sends the frames of pushes. */
interface PushOutlet {
  /** Sends the body of a push as a whole frame. */
  send(push: FaultPush, body: Uint8Array): void;
  /**
   * Sends only a part of the frame, then closes the stream. With `forget`, also removes the subscriptions.
   */
  cut(body: Uint8Array, fault: { bytes: number; forget: boolean }): void;
}

/** A push that waits for the next one. */
interface WaitingPush {
  push: FaultPush;
  body: Uint8Array;
  armed: ArmedFault;
  /** Whether a round of the timer has passed since the push began to wait. */
  isOld: boolean;
}

/** Sends the pushes of one stream in order, unless a fault changes the order. */
export class PushLane {
  readonly #faults: Faults;
  readonly #outlet: PushOutlet;
  #waiting: WaitingPush | undefined;

  constructor(faults: Faults, outlet: PushOutlet) {
    this.#faults = faults;
    this.#outlet = outlet;
  }

  /** Sends a push, unless a fault prevents it. */
  send(push: FaultPush, body: Uint8Array): void {
    const drop = this.#faults.findPush("drop-push", push);
    if (drop !== undefined) return drop.strike();
    const reorder = this.#waiting === undefined ? this.#faults.findPush("reorder-push", push) : undefined;
    if (reorder !== undefined) {
      this.#waiting = { push, body, armed: reorder, isOld: false };
      return;
    }
    const cut = this.#faults.findPush("cut-push", push, ({ bytes }) => bytes !== undefined);
    if (cut !== undefined) {
      cut.strike();
      const { bytes = 0, forget = true } = cut.fault;
      return this.#outlet.cut(body, { bytes, forget });
    }
    this.#outlet.send(push, body);
    const duplicate = this.#faults.findPush("duplicate-push", push);
    if (duplicate !== undefined) {
      duplicate.strike();
      this.#outlet.send(push, body);
    }
    if (this.#waiting !== undefined) {
      const earlier = this.#waiting;
      this.#waiting = undefined;
      earlier.armed.strike();
      this.#outlet.send(earlier.push, earlier.body);
    }
  }

  /** Sends a waiting push if no other push has followed for a round. The fault that delays it stays armed. */
  sendWaiting(): void {
    if (this.#waiting?.isOld) {
      const { push, body } = this.#waiting;
      this.#waiting = undefined;
      this.#outlet.send(push, body);
    } else if (this.#waiting !== undefined) this.#waiting.isOld = true;
  }
}

/** The data of each push event, with hsgate's names. */
export type PushData = { [E in PushEvent as E["type"]]: E["data"] };

type Plain = Record<string, unknown>;

/** Name of the push type for each kind of order. */
const orderNotify: Record<OrderPush["kind"], string> = {
  stock: "TradeStockDeliver",
  future: "FuturesTradeStockDeliver",
};

/** An invented account number. Real pushes contain one, and clients must not show it. */
const FUND_ACCOUNT = "88001234567";

/** Encodes the bodies of pushes. */
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

  /** Returns the push for an order change. */
  order({ kind, update }: OrderPush): Uint8Array {
    // `encode` returns an object for a record; its type does not show that.
    const plain = { fundAccount: FUND_ACCOUNT, ...pushes.order.payload.encode(update) as Plain };
    // A push contains the time at which it is sent; the update contains the time of the change.
    return this.#body(orderNotify[kind], { message: pushes.order.message, plain, at: this.#clock.now() });
  }

  /** Returns a push of market data. */
  market<Type extends Exclude<keyof PushData, "order">>(type: Type, data: PushData[Type]): Uint8Array {
    const { notify, message, payload } = pushes[type];
    // The payload belongs to this type; TypeScript cannot see that across the union.
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
