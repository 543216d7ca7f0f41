/**
 * The broker of a rehearsal: one account for the whole time, behind a gateway that can be switched off and on.
 *
 * @module
 */
import { type Core, makeCore } from "../simulator/doors/core.ts";
import { type GatewayInfo, openGateway, type SimulatedGateway } from "../simulator/gateway/mod.ts";
import { gateway } from "../transports/gateway.ts";
import type { Transport } from "../transports/transport.ts";

/** Days of history that the account starts with, and fills on each. */
const DAYS = 10;
const FILLS_PER_DAY = 4;

/** A broker, and its gateway while that is on. */
export class GatewaySwitch implements AsyncDisposable {
  readonly #core: Core;
  #open: SimulatedGateway | undefined;
  #info: GatewayInfo | undefined;
  #transport: Transport | undefined;

  /** The broker's time is that of the exchanges, whatever the machine's wall clock shows. */
  constructor({ seed, now }: { seed: number; now: () => number }) {
    this.#core = makeCore({ seed, clock: { now }, days: DAYS, fillsPerDay: FILLS_PER_DAY });
  }

  get core(): Core {
    return this.#core;
  }

  /** How clients reach it; there is a way whether or not it is on. */
  get transport(): Transport {
    if (this.#transport === undefined) throw new TypeError("Cannot reach the gateway: it was never on");
    return this.#transport;
  }

  get tradePassword(): string {
    return this.#info?.tradePassword ?? "";
  }

  get isOn(): boolean {
    return this.#open !== undefined;
  }

  /** Connections that wait for pushes. */
  get pushConnections(): number {
    return this.#open?.state().pushConnections ?? 0;
  }

  /** Starts the gateway, at its old address when it had one. Nobody is logged in. */
  async on(): Promise<void> {
    if (this.#open !== undefined) return;
    const ports = this.#info === undefined ? {} : {
      httpPort: Number(new URL(this.#info.gatewayUrl).port),
      pushPort: Number(this.#info.pushAddress.split(":").at(-1)),
    };
    // A look at the market is taken when time passes, not by a timer of its own.
    this.#open = await openGateway(this.#core, { ...ports, pushIntervalMs: 0 });
    this.#info = this.#open.info;
    const { gatewayUrl, pushAddress, tradePasswordKey } = this.#info;
    this.#transport ??= gateway({ url: gatewayUrl, push: pushAddress, tradePasswordKey });
  }

  /** Ends the gateway; calls find nobody there. */
  async off(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.close();
  }

  /** Settles orders and pushes what has changed. */
  round(): void {
    this.#open?.round();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.off();
  }
}
