/**
 * Accepts, writes to and closes the TCP connections of a server.
 *
 * @module
 */

/** Yields connections until the listener is closed. */
export async function* acceptAll(listener: Deno.TcpListener): AsyncGenerator<Deno.TcpConn> {
  while (true) {
    let conn: Deno.TcpConn | undefined;
    try {
      conn = await listener.accept();
      // Sends small answers and pushes at once, without waiting to join them with later bytes.
      conn.setNoDelay(true);
    } catch (error) {
      if (conn !== undefined) closeQuietly(conn); // the connection broke before it was used
      else if (isClosed(error)) return;
      else if (!isGone(error)) throw error;
      continue;
    }
    yield conn;
  }
}

/** Writes all bytes; a single `write` may write only a part of them. */
export async function writeAll(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
}

/** Closes a connection that may be closed already. */
export function closeQuietly(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

const isClosed = (error: unknown) =>
  error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted;

/** Returns whether an error means that the connection is closed, by the other side or by this process. */
export function isGone(error: unknown): boolean {
  return isClosed(error) || error instanceof Deno.errors.BrokenPipe ||
    error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.ConnectionAborted ||
    error instanceof Deno.errors.NotConnected || error instanceof Deno.errors.UnexpectedEof ||
    error instanceof Deno.errors.TimedOut;
}

/** Background tasks; closing a server waits until they have ended. */
export class Tasks {
  readonly #running = new Set<Promise<void>>();

  /** Remembers a task until it ends. */
  add(task: Promise<void>): void {
    const done = task.finally(() => this.#running.delete(done));
    this.#running.add(done);
  }

  /** Resolves when all tasks have ended. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
