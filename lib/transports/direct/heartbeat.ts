/**
 * Keeps a connection alive: sends a heartbeat while it is idle, and can check that the other end answers.
 *
 * @see API document 6.2
 * @module
 */
import { TransportError } from "../../errors.ts";
import type { Machine } from "../../time.ts";
import type { ProbeOptions } from "./options.ts";

/** The functions of the connection that a heartbeat calls. */
interface HeartbeatHooks {
  /** Sends a heartbeat. */
  send(): void;
  /** Called when the other end does not answer. */
  dead(error: TransportError): void;
}

/** Number of ticks per heartbeat interval; silence is counted in ticks. */
const TICKS = 4;
/** A link counts as dead after this number of intervals without a received frame. */
const MOST_SILENT = 3;

/**
 * Sends heartbeats while a connection is idle, and checks that the other end answers. Dispose it with the connection.
 */
export class Heartbeat implements Disposable {
  readonly #machine: Pick<Machine, "monotonic" | "setTimer">;
  readonly #hooks: HeartbeatHooks;
  readonly #probe: Required<ProbeOptions> | undefined;
  #intervalMs = 0;
  #sentAt = 0;
  #receivedAt: number;
  #cancelBeat = () => {};
  #cancelTick = () => {};
  #isAlive = true;
  #silentTicks = 0;
  #asking: { promise: Promise<void>; answered: () => void; failed: (error: unknown) => void } | undefined;
  #cancelAsking = () => {};
  #disposed = false;

  constructor(
    machine: Pick<Machine, "monotonic" | "setTimer">,
    hooks: HeartbeatHooks,
    probe: ProbeOptions | false | undefined,
  ) {
    this.#machine = machine;
    this.#hooks = hooks;
    this.#probe = probe === false ? undefined : { idleMs: 5000, waitMs: 2000, ...probe };
    this.#receivedAt = machine.monotonic();
  }

  /** Starts the heartbeats, unless the connection has ended in the meantime. */
  start(intervalMs: number): void {
    if (this.#disposed) return;
    this.#intervalMs = intervalMs;
    this.sent();
    this.#wait(intervalMs);
    this.#tick();
  }

  /** Records that something was sent: the next heartbeat is due one interval later. */
  sent(): void {
    this.#sentAt = this.#machine.monotonic();
  }

  /** Records that something was received: the other end is alive. */
  received(): void {
    this.#receivedAt = this.#machine.monotonic();
    this.#isAlive = true;
    this.#asking?.answered();
  }

  /**
   * Resolves when the other end is known to be alive. Call it before a write. A link that was silent for a while may be
   * half open, and data written to it disappears without an error.
   *
   * @throws {TransportError} If no frame arrives in time; the connection then ends.
   */
  async confirm(): Promise<void> {
    if (this.#disposed) throw closed();
    if (this.#probe === undefined) return;
    if (this.#machine.monotonic() - this.#receivedAt <= this.#probe.idleMs) return;
    this.#asking ??= this.#ask(this.#probe.waitMs);
    await this.#asking.promise;
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#cancelBeat();
    this.#cancelTick();
    this.#cancelAsking();
    this.#asking?.failed(closed());
  }

  #ask(waitMs: number) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {}); // if no caller awaits the promise, its rejection must not count as unhandled
    const end = () => {
      this.#asking = undefined;
      this.#cancelAsking();
    };
    this.#cancelAsking = this.#machine.setTimer(waitMs, () => {
      end();
      const error = new TransportError(`Cannot use the connection: no frame arrived within ${waitMs} ms`, {
        code: "dead-link",
        transport: "direct",
      });
      reject(error);
      this.#hooks.dead(error);
    });
    this.#hooks.send();
    this.sent();
    return {
      promise,
      answered: () => {
        end();
        resolve();
      },
      failed: reject,
    };
  }

  /**
   * Counts silence in ticks. If a clock measured the silence, a link would seem dead after a long block of the event
   * loop.
   */
  #tick(): void {
    if (this.#disposed) return;
    this.#silentTicks = this.#isAlive ? 0 : this.#silentTicks + 1;
    this.#isAlive = false;
    if (this.#silentTicks >= TICKS * MOST_SILENT) {
      const silentMs = this.#intervalMs * MOST_SILENT;
      this.#hooks.dead(
        new TransportError(`Cannot use the connection: nothing arrived for ${silentMs} ms`, {
          code: "dead-link",
          transport: "direct",
        }),
      );
    } else this.#cancelTick = this.#machine.setTimer(this.#intervalMs / TICKS, () => this.#tick());
  }

  #wait(ms: number): void {
    this.#cancelBeat = this.#machine.setTimer(ms, () => this.#beat());
  }

  #beat(): void {
    if (this.#disposed) return;
    const left = this.#sentAt + this.#intervalMs - this.#machine.monotonic();
    // Timers may fire a little early; do not wait again for a single millisecond.
    if (left > 1) return this.#wait(left);
    this.#hooks.send();
    this.sent();
    this.#wait(this.#intervalMs);
  }
}

function closed(): TransportError {
  return new TransportError("Cannot check whether the connection is alive: it was closed", {
    code: "closed",
    transport: "direct",
  });
}
