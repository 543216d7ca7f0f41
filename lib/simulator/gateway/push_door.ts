/**
 * The TCP push port: every connection gets every push, unsigned and unencrypted, as the API document 6.1 has it.
 *
 * @module
 */
import { encodeFrame } from "../../wire/framing.ts";
import { acceptAll, Tasks } from "../doors/connections.ts";
import type { FaultPush, Faults } from "../doors/faults.ts";
import { PushLane } from "../doors/push_lane.ts";
import { PushConnection } from "./push_connection.ts";

/** Where the port listens, and what it takes. */
export interface PushDoorOptions {
  hostname: string;
  /** 0 takes a free port. */
  port: number;
  /** Bytes that may wait for one slow reader before it is cut off. */
  bufferLimit: number;
  faults: Faults;
  /** Told when a fault has cut the connections and the subscriptions go with them. */
  onForget: () => void;
}

/** An open push port. */
export class PushDoor {
  readonly #listener: Deno.TcpListener;
  readonly #options: PushDoorOptions;
  readonly #connections = new Set<PushConnection>();
  /** Cut connections that still write what they were given. */
  readonly #ending = new Set<PushConnection>();
  readonly #tasks = new Tasks();
  readonly #lane: PushLane;
  readonly #stopListening: () => void;
  #serial = 0;
  #cutOff = 0;

  /** Opens the port. @throws {Deno.errors.AddrInUse} When somebody else has it. */
  constructor(options: PushDoorOptions) {
    this.#options = options;
    this.#listener = Deno.listen({ hostname: options.hostname, port: options.port });
    this.#lane = new PushLane(options.faults, {
      send: (_push, body) => this.#broadcast(body),
      cut: (body, fault) => this.#cutInside(body, fault),
    });
    this.#stopListening = options.faults.onArmed(() => this.#cutNow());
    this.#tasks.add(this.#accept());
  }

  /** The port that is listened on. */
  get port(): number {
    return this.#listener.addr.port;
  }

  /** How many readers there are. */
  get connections(): number {
    return this.#connections.size;
  }

  /** How many readers were cut off because they did not keep up. */
  get cutOff(): number {
    return this.#cutOff;
  }

  /** Sends a push to every reader, unless a fault has other plans. */
  send(push: FaultPush, body: Uint8Array): void {
    // Without a reader there is nothing that a fault could spoil.
    if (this.#connections.size > 0) this.#lane.send(push, body);
  }

  /** Lets a push go that nothing has followed for a round: late, but not lost, and the fault is still to come. */
  flushHeld(): void {
    this.#lane.flushHeld();
  }

  /** Closes the port and every connection; resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#stopListening();
    this.#listener.close();
    for (const connection of [...this.#connections, ...this.#ending]) connection.close();
    await this.#tasks.ended();
  }

  #broadcast(body: Uint8Array): void {
    this.#serial += 1;
    const frame = encodeFrame({ type: "push", serial: this.#serial }, body);
    for (const connection of this.#connections) if (!connection.send(frame)) this.#cutOff += 1;
  }

  #cutInside(body: Uint8Array, { bytes, forget }: { bytes: number; forget: boolean }): void {
    this.#serial += 1;
    const frame = encodeFrame({ type: "push", serial: this.#serial }, body);
    for (const connection of this.#connections) {
      connection.send(frame.subarray(0, bytes));
      connection.end();
      this.#ending.add(connection);
    }
    this.#forget(forget);
  }

  /** Each strike closes what is open; those that are left meet the connections to come. */
  #cutNow(): void {
    if (this.#connections.size === 0) return;
    const fault = this.#options.faults.strikeAny("cut-push", ({ bytes }) => bytes === undefined);
    if (fault === undefined) return;
    for (const connection of this.#connections) connection.close();
    this.#forget(fault.forget);
  }

  #forget(forget = true): void {
    this.#connections.clear();
    if (forget) this.#options.onForget();
  }

  #remove(connection: PushConnection): void {
    this.#connections.delete(connection);
    this.#ending.delete(connection);
  }

  async #accept(): Promise<void> {
    for await (const conn of acceptAll(this.#listener)) {
      const connection = new PushConnection(conn, this.#options.bufferLimit);
      this.#connections.add(connection);
      this.#tasks.add(connection.done.then(() => this.#remove(connection)));
      this.#cutNow();
    }
  }
}
