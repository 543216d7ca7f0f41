/**
 * Opens a TCP port that sends every push to every connected reader, unsigned and unencrypted (API document 6.1).
 *
 * @module
 */
import { encodeFrame } from "../wire/framing.ts";
import { acceptAll, isGone, Tasks } from "./connections.ts";
import { FrameWriter } from "./frame_writer.ts";

/** Options of {@linkcode PushServer}. */
export interface PushServerOptions {
  /** Address to listen on. */
  hostname: string;
  /** Port to listen on; 0 chooses a free port. */
  port: number;
  /** Bytes that may wait for one slow reader before the server closes the connection of this reader. */
  bufferLimit: number;
  /** Called after each new connection. */
  onConnect?: () => void;
}

/** An open push port. */
export class PushServer {
  readonly #listener: Deno.TcpListener;
  readonly #options: PushServerOptions;
  /** The connected readers, with the number of pushes sent to each. */
  readonly #readers = new Map<FrameWriter, number>();
  /** Connections that close when their queued bytes are written. */
  readonly #ending = new Set<FrameWriter>();
  readonly #tasks = new Tasks();
  #serial = 0;
  #cutOff = 0;

  /** Opens the port. @throws {Deno.errors.AddrInUse} When another program uses the port. */
  constructor(options: PushServerOptions) {
    this.#options = options;
    this.#listener = Deno.listen({ hostname: options.hostname, port: options.port });
    this.#tasks.add(this.#accept());
  }

  /** The port that the server listens on. */
  get port(): number {
    return this.#listener.addr.port;
  }

  /** How many readers are connected. */
  get connections(): number {
    return this.#readers.size;
  }

  /** Total number of pushes that were sent to the readers that are connected now. */
  get sent(): number {
    return this.#readers.values().reduce((sum, sent) => sum + sent, 0);
  }

  /** How many readers were disconnected because they were too slow. */
  get cutOff(): number {
    return this.#cutOff;
  }

  /**
   * Sends the body of a push to every reader.
   *
   * @param cutAfter If given, sends only this many bytes of the frame and then closes every connection.
   */
  send(body: Uint8Array, cutAfter?: number): void {
    this.#serial += 1;
    const frame = encodeFrame({ type: "push", serial: this.#serial }, body);
    for (const [reader, sent] of this.#readers) {
      if (reader.send(frame.subarray(0, cutAfter))) this.#readers.set(reader, sent + 1);
      else this.#cutOff += 1;
    }
    if (cutAfter === undefined) return;
    for (const reader of this.#readers.keys()) {
      reader.end();
      this.#ending.add(reader);
    }
    this.#readers.clear();
  }

  /** Closes every connection immediately; the port stays open. */
  disconnect(): void {
    for (const reader of this.#readers.keys()) reader.close();
    this.#readers.clear();
  }

  /** Closes the port and every connection; resolves when all tasks have ended. */
  async close(): Promise<void> {
    this.#listener.close();
    for (const reader of [...this.#readers.keys(), ...this.#ending]) reader.close();
    await this.#tasks.ended();
  }

  async #accept(): Promise<void> {
    for await (const conn of acceptAll(this.#listener)) {
      const reader = new FrameWriter(conn, this.#options.bufferLimit);
      this.#readers.set(reader, 0);
      this.#tasks.add(
        Promise.all([reader.done, discardInput(conn, reader)]).then(() => {
          this.#readers.delete(reader);
          this.#ending.delete(reader);
        }),
      );
      this.#options.onConnect?.();
    }
  }
}

/** Drops what a reader sends. Closes the connection when the reader's stream ends. */
async function discardInput(conn: Deno.TcpConn, reader: FrameWriter): Promise<void> {
  const dropped = new Uint8Array(1024);
  try {
    while (await conn.read(dropped) !== null) { /* dropped */ }
  } catch (error) {
    if (!isGone(error)) throw error;
  } finally {
    reader.close();
  }
}
