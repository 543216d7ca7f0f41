/**
 * Writes frames to one connection from a bounded queue.
 *
 * @module
 */
import { joinBytes } from "../bytes.ts";
import { closeQuietly, isGone, writeAll } from "./connections.ts";
import { systemMachine, wait } from "../time.ts";

/** Number of bytes that are written together when several frames wait. */
const BATCH = 64 * 1024;
/** Pause between two pieces of a frame, so that the frame arrives in several reads. */
const PAUSE_MS = 2;

interface Waiting {
  bytes: Uint8Array;
  /** If present, the frame is written in pieces of this number of bytes, with a pause after each piece. */
  pieceLength?: number;
}

/** Queues frames for a connection. Closes the connection if its reader is too slow. */
export class FrameWriter {
  readonly #conn: Deno.TcpConn;
  readonly #limit: number;
  readonly #queue: Waiting[] = [];
  #queued = 0;
  #ending = false;
  #wake: (() => void) | undefined;
  /** Resolves when the connection is closed and the last write has ended. */
  readonly done: Promise<void>;

  /** @param limit Maximum number of bytes that wait for the reader. */
  constructor(conn: Deno.TcpConn, limit: number) {
    this.#conn = conn;
    this.#limit = limit;
    this.done = this.#write();
  }

  /**
   * Queues a frame, or ignores it if the connection is ending. Returns `false` only for the frame that exceeded the
   * limit and closed the connection.
   */
  send(bytes: Uint8Array): boolean {
    if (this.#ending) return true;
    if (this.#queued + bytes.length > this.#limit) {
      this.close();
      return false;
    }
    this.#add({ bytes });
    return true;
  }

  /** Queues a frame of any length. It is written in pieces of `pieceLength` bytes. */
  sendPieces(bytes: Uint8Array, pieceLength: number): void {
    if (!this.#ending) this.#add({ bytes, pieceLength });
  }

  /** Closes the connection when all queued frames are written. */
  end(): void {
    this.#ending = true;
    this.#wake?.();
  }

  /** Closes the connection immediately; drops queued frames. */
  close(): void {
    this.#ending = true;
    this.#queue.length = 0;
    closeQuietly(this.#conn);
    this.#wake?.();
  }

  #add(waiting: Waiting): void {
    this.#queue.push(waiting);
    this.#queued += waiting.bytes.length;
    this.#wake?.();
  }

  async #write(): Promise<void> {
    try {
      while (true) {
        const next = this.#queue[0];
        if (next?.pieceLength !== undefined) {
          this.#queue.shift();
          await writePieces(this.#conn, next.bytes, next.pieceLength);
          this.#queued -= next.bytes.length;
        } else if (next !== undefined) {
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
    for (let next; (next = this.#queue[0]) !== undefined && next.pieceLength === undefined;) {
      if (batch.length > 0 && length + next.bytes.length > BATCH) break;
      this.#queue.shift();
      batch.push(next.bytes);
      length += next.bytes.length;
    }
    return joinBytes(batch);
  }
}

async function writePieces(conn: Deno.TcpConn, bytes: Uint8Array, length: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += length) {
    await writeAll(conn, bytes.subarray(at, at + length));
    await wait(systemMachine, PAUSE_MS);
  }
}
