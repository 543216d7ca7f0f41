/**
 * One reader of the push stream, with a bounded queue in front of it.
 *
 * @module
 */
import { isGone } from "../doors/connections.ts";
import { FrameWriter } from "../doors/frame_writer.ts";

/** A connection that pushes are queued for; what comes from the reader is thrown away. */
export class PushConnection {
  readonly #conn: Deno.TcpConn;
  readonly #writer: FrameWriter;
  /** Resolves when the connection is closed and nothing runs for it any more. */
  readonly done: Promise<void>;

  /** @param limit Bytes that may wait for the reader. */
  constructor(conn: Deno.TcpConn, limit: number) {
    this.#conn = conn;
    this.#writer = new FrameWriter(conn, limit);
    this.done = Promise.all([this.#writer.done, this.#discard()]).then(() => {});
  }

  /** Queues a frame; false when the reader was too slow and has been cut off. */
  send(frame: Uint8Array): boolean {
    return this.#writer.send(frame);
  }

  /** Closes once everything that waits is written. */
  end(): void {
    this.#writer.end();
  }

  /** Closes at once. */
  close(): void {
    this.#writer.close();
  }

  /** Nothing is expected from the reader; its end of the stream tells that it went away. */
  async #discard(): Promise<void> {
    const bin = new Uint8Array(1024);
    try {
      while (await this.#conn.read(bin) !== null) { /* thrown away */ }
    } catch (error) {
      if (!isGone(error)) throw error;
    } finally {
      this.close();
    }
  }
}
