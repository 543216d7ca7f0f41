/**
 * Opens the push port of the simulated gateway, and applies the faults that strike its pushes.
 *
 * @module
 */
import { PushServer, type PushServerOptions } from "../../endpoints/push_server.ts";
import type { FaultPush, Faults } from "../endpoints/faults.ts";
import { PushLane } from "../endpoints/pushes.ts";

interface PushEndpointOptions extends Omit<PushServerOptions, "onConnect"> {
  faults: Faults;
  /** Called to remove the subscriptions, after a fault has closed the connections. */
  onSubscriptionsLost: () => void;
}

/** An open push port with faults. */
export class PushEndpoint {
  readonly #server: PushServer;
  readonly #options: PushEndpointOptions;
  readonly #lane: PushLane;
  readonly #stopListening: () => void;

  /** Opens the port. @throws {Deno.errors.AddrInUse} When another program uses the port. */
  constructor(options: PushEndpointOptions) {
    this.#options = options;
    this.#server = new PushServer({ ...options, onConnect: () => this.#cutNow() });
    this.#lane = new PushLane(options.faults, {
      send: (_push, body) => this.#server.send(body),
      cut: (body, { bytes, forget }) => {
        this.#server.send(body, bytes);
        if (forget) options.onSubscriptionsLost();
      },
    });
    this.#stopListening = options.faults.onArmed(() => this.#cutNow());
  }

  /** The port that the server listens on. */
  get port(): number {
    return this.#server.port;
  }

  /** How many readers are connected. */
  get connections(): number {
    return this.#server.connections;
  }

  /** Total number of pushes that were sent to the readers that are connected now. */
  get sent(): number {
    return this.#server.sent;
  }

  /** How many readers were disconnected because they were too slow. */
  get cutOff(): number {
    return this.#server.cutOff;
  }

  /** Sends a push to every reader, unless a fault prevents it. */
  send(push: FaultPush, body: Uint8Array): void {
    // Without a reader no fault is used up.
    if (this.connections > 0) this.#lane.send(push, body);
  }

  /** Sends a waiting push if no other push has followed for a round. The fault that delays it stays armed. */
  sendWaiting(): void {
    this.#lane.sendWaiting();
  }

  /** Closes the port and every connection; resolves when all tasks have ended. */
  async close(): Promise<void> {
    this.#stopListening();
    await this.#server.close();
  }

  /**
   * Applies a `cut-push` fault without `bytes`: closes all open connections at once. If the fault may strike again
   * (`times`), it also closes the connections that open later.
   */
  #cutNow(): void {
    if (this.connections === 0) return;
    const fault = this.#options.faults.strikeAny("cut-push", ({ bytes }) => bytes === undefined);
    if (fault === undefined) return;
    this.#server.disconnect();
    if (fault.forget ?? true) this.#options.onSubscriptionsLost();
  }
}
