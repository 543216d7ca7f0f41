/**
 * One reader of the push stream, with a bounded queue in front of it.
 *
 * @module
 */
import { closeQuietly, isGone, writeAll } from "./connections.ts";

/** Bytes that are written at once when several frames wait. */
const BATCH = 64 * 1024;

/** A connection that frames are queued for. A reader that does not keep up is cut off, not waited for. */
export class PushConnection {
  readonly #conn: Deno.TcpConn;
  readonly #limit: number;
  readonly #queue: Uint8Array[] = [];
  #queued = 0;
  #ending = false;
  #wake: (() => void) | undefined;
  /** Resolves when the connection is closed and nothing runs for it any more. */
  readonly done: Promise<void>;

  /** @param limit Bytes that may wait for the reader. */
  constructor(conn: Deno.TcpConn, limit: number) {
    this.#conn = conn;
    this.#limit = limit;
    this.done = Promise.all([this.#write(), this.#discard()]).then(() => {});
  }

  /** Queues a frame; false when the reader was too slow and has been cut off. */
  send(frame: Uint8Array): boolean {
    if (this.#ending) return true;
    if (this.#queued + frame.length > this.#limit) {
      this.close();
      return false;
    }
    this.#queue.push(frame);
    this.#queued += frame.length;
    this.#wake?.();
    return true;
  }

  /** Closes once everything that waits is written. */
  end(): void {
    this.#ending = true;
    this.#wake?.();
  }

  /** Closes at once. */
  close(): void {
    this.#ending = true;
    this.#queue.length = 0;
    closeQuietly(this.#conn);
    this.#wake?.();
  }

  async #write(): Promise<void> {
    try {
      while (true) {
        if (this.#queue.length > 0) {
          const bytes = this.#take();
          await writeAll(this.#conn, bytes);
          this.#queued -= bytes.length;
        } else if (this.#ending) break;
        else await new Promise<void>((resolve) => this.#wake = resolve);
      }
    } catch (error) {
      if (!isGone(error)) throw error;
    } finally {
      this.close();
    }
  }

  #take(): Uint8Array {
    const batch: Uint8Array[] = [];
    let length = 0;
    while (this.#queue.length > 0 && (batch.length === 0 || length + this.#queue[0]!.length <= BATCH)) {
      const frame = this.#queue.shift()!;
      batch.push(frame);
      length += frame.length;
    }
    if (batch.length === 1) return batch[0]!;
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const frame of batch) {
      bytes.set(frame, at);
      at += frame.length;
    }
    return bytes;
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
