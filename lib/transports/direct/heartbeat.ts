/**
 * Signs of life on a connection: ours when it is idle, theirs when we need to know.
 *
 * @see API document 6.2
 * @module
 */
import { TransportError } from "../../errors.ts";
import type { ProbeOptions, World } from "./options.ts";

/** What is needed of the connection. */
export interface HeartbeatHooks {
  /** Sends a heartbeat. */
  send(): void;
  /** The other end does not answer. */
  dead(error: TransportError): void;
}

/** Ticks of an interval, to count silence in. */
const TICKS = 4;
/** Intervals without a sign of life after which a link is dead. */
const MOST_SILENT = 3;

/** Beats while a connection is idle, and asks the other end for a beat. Dispose of it with the connection. */
export class Heartbeat implements Disposable {
  readonly #world: Pick<World, "monotonic" | "timers">;
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
    world: Pick<World, "monotonic" | "timers">,
    hooks: HeartbeatHooks,
    probe: ProbeOptions | false | undefined,
  ) {
    this.#world = world;
    this.#hooks = hooks;
    this.#probe = probe === false ? undefined : { idleMs: 5000, waitMs: 2000, ...probe };
    this.#receivedAt = world.monotonic();
  }

  /** Begins to beat; a connection that has ended in the meantime does not. */
  start(intervalMs: number): void {
    if (this.#disposed) return;
    this.#intervalMs = intervalMs;
    this.sent();
    this.#wait(intervalMs);
    this.#tick();
  }

  /** Something was sent, of whatever kind. */
  sent(): void {
    this.#sentAt = this.#world.monotonic();
  }

  /** Something came, of whatever kind. */
  received(): void {
    this.#receivedAt = this.#world.monotonic();
    this.#isAlive = true;
    this.#asking?.answered();
  }

  /**
   * Resolves when the other end is known to live. A link that has been silent for a while may be half open: what is
   * written into it disappears without an error, and a write must not.
   *
   * @throws {TransportError} When no sign of life comes in time; the connection ends with it.
   */
  async confirm(): Promise<void> {
    if (this.#disposed) throw closed();
    if (this.#probe === undefined) return;
    if (this.#world.monotonic() - this.#receivedAt <= this.#probe.idleMs) return;
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
    promise.catch(() => {}); // whoever asks has it; the link may end without anybody asking any more
    const end = () => {
      this.#asking = undefined;
      this.#cancelAsking();
    };
    this.#cancelAsking = this.#world.timers.after(waitMs, () => {
      end();
      const error = new TransportError(`Cannot use the link: no sign of life within ${waitMs} ms`, {
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

  /** Silence is counted in ticks: after a long block of the event loop a clock would call the link dead at once. */
  #tick(): void {
    if (this.#disposed) return;
    this.#silentTicks = this.#isAlive ? 0 : this.#silentTicks + 1;
    this.#isAlive = false;
    if (this.#silentTicks >= TICKS * MOST_SILENT) {
      const silentMs = this.#intervalMs * MOST_SILENT;
      this.#hooks.dead(
        new TransportError(`Cannot use the link: nothing came for ${silentMs} ms`, {
          code: "dead-link",
          transport: "direct",
        }),
      );
    } else this.#cancelTick = this.#world.timers.after(this.#intervalMs / TICKS, () => this.#tick());
  }

  #wait(ms: number): void {
    this.#cancelBeat = this.#world.timers.after(ms, () => this.#beat());
  }

  #beat(): void {
    if (this.#disposed) return;
    const left = this.#sentAt + this.#intervalMs - this.#world.monotonic();
    // Timers may run a little early; a millisecond is no reason to go to sleep again.
    if (left > 1) return this.#wait(left);
    this.#hooks.send();
    this.sent();
    this.#wait(this.#intervalMs);
  }
}

function closed(): TransportError {
  return new TransportError("Cannot tell whether the link lives: it was closed", {
    code: "closed",
    transport: "direct",
  });
}
