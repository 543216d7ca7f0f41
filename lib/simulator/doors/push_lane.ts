/**
 * Pushes on their way to a stream, and the faults that lie in wait there.
 *
 * @module
 */
import type { ArmedFault, FaultPush, Faults } from "./faults.ts";

/** Where pushes go. */
export interface PushOutlet {
  /** Sends the body of a push as a whole frame. */
  send(push: FaultPush, body: Uint8Array): void;
  /** Sends so many bytes of the frame, then closes the stream; `forget` the subscriptions with it. */
  cut(body: Uint8Array, fault: { bytes: number; forget: boolean }): void;
}

/** A push that waits for the one after it. */
interface Held {
  push: FaultPush;
  body: Uint8Array;
  armed: ArmedFault;
  /** A round of the timer has passed since. */
  isOld: boolean;
}

/** Pushes of one stream, in the order in which they are sent unless a fault says otherwise. */
export class PushLane {
  readonly #faults: Faults;
  readonly #outlet: PushOutlet;
  #held: Held | undefined;

  constructor(faults: Faults, outlet: PushOutlet) {
    this.#faults = faults;
    this.#outlet = outlet;
  }

  /** Sends a push, unless a fault has other plans. */
  send(push: FaultPush, body: Uint8Array): void {
    const drop = this.#faults.findPush("drop-push", push);
    if (drop !== undefined) return drop.strike();
    const reorder = this.#held === undefined ? this.#faults.findPush("reorder-push", push) : undefined;
    if (reorder !== undefined) {
      this.#held = { push, body, armed: reorder, isOld: false };
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
    if (this.#held !== undefined) {
      const earlier = this.#held;
      this.#held = undefined;
      earlier.armed.strike();
      this.#outlet.send(earlier.push, earlier.body);
    }
  }

  /** Lets a push go that nothing has followed for a round: late, but not lost, and the fault is still to come. */
  flushHeld(): void {
    if (this.#held?.isOld) {
      const { push, body } = this.#held;
      this.#held = undefined;
      this.#outlet.send(push, body);
    } else if (this.#held !== undefined) this.#held.isOld = true;
  }
}
