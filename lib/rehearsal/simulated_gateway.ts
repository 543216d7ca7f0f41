/**
 * Provides the broker of a rehearsal: one account for the whole rehearsal, with a gateway that can be stopped and
 * started.
 *
 * @module
 */
import type { Calendars } from "../calendars/mod.ts";
import { type Core, makeCore } from "../simulator/endpoints/core.ts";
import { type GatewayInfo, openGateway, type SimulatedGateway } from "../simulator/gateway/mod.ts";
import type { ScriptSource } from "../simulator/script.ts";
import { gateway } from "../transports/gateway.ts";
import type { Transport } from "../transports/transport.ts";

/** Number of days of history at the start, and number of fills per day. */
const DAYS = 10;
const FILLS_PER_DAY = 4;

/** A broker, and its gateway while the gateway is on. */
export class GatewaySwitch implements AsyncDisposable {
  readonly #core: Core;
  #open: SimulatedGateway | undefined;
  #info: GatewayInfo | undefined;
  #transport: Transport | undefined;

  /** Creates a broker. `now` returns the true time, which can differ from the machine's wall clock. */
  constructor(
    { seed, now, calendars, script }: {
      seed: number;
      now: () => number;
      calendars: Calendars;
      script?: ScriptSource;
    },
  ) {
    this.#core = makeCore({
      seed,
      clock: { now },
      days: DAYS,
      fillsPerDay: FILLS_PER_DAY,
      calendars,
      script,
    });
  }

  get core(): Core {
    return this.#core;
  }

  /** The transport to the gateway. It stays the same object when the gateway is stopped and started. */
  get transport(): Transport {
    if (this.#transport === undefined) throw new TypeError("Cannot reach the gateway: it was never started");
    return this.#transport;
  }

  get tradePassword(): string {
    return this.#info?.tradePassword ?? "";
  }

  get isOn(): boolean {
    return this.#open !== undefined;
  }

  /** Number of push connections. */
  get pushConnections(): number {
    return this.#open?.state().pushConnections ?? 0;
  }

  /** Number of pushes sent over the open push connections. */
  get pushesSent(): number {
    return this.#open?.state().pushesSent ?? 0;
  }

  /** Starts the gateway, at its previous address if it had one. After the start, no login is active. */
  async on(): Promise<void> {
    if (this.#open !== undefined) return;
    const ports = this.#info === undefined ? {} : {
      httpPort: Number(new URL(this.#info.gatewayUrl).port),
      pushPort: Number(this.#info.pushAddress.split(":").at(-1)),
    };
    // The rehearsal calls `round` when virtual time passes, so the gateway must not use its own timer.
    this.#open = await openGateway(this.#core, { ...ports, pushIntervalMs: 0 });
    this.#info = this.#open.info;
    const { gatewayUrl, pushAddress, tradePasswordKey } = this.#info;
    this.#transport ??= gateway({ url: gatewayUrl, push: pushAddress, tradePasswordKey });
  }

  /** Stops the gateway. Calls then fail to connect. */
  async off(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.close();
  }

  /** Fills due orders and pushes changes. */
  round(): void {
    this.#open?.round();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.off();
  }
}
