/**
 * TCP connections of a server: accept, write, close.
 *
 * @module
 */

/** Yields connections until the listener is closed. */
export async function* acceptAll(listener: Deno.TcpListener): AsyncGenerator<Deno.TcpConn> {
  while (true) {
    let conn: Deno.TcpConn | undefined;
    try {
      conn = await listener.accept();
      // Answers and pushes are small and awaited: they must not wait to be joined.
      conn.setNoDelay(true);
    } catch (error) {
      if (conn !== undefined) closeQuietly(conn); // it broke before it was used
      else if (isClosed(error)) return;
      else if (!isGone(error)) throw error;
      continue;
    }
    yield conn;
  }
}

/** Writes all bytes: one call may take fewer than it was given. */
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

/** Returns whether the other side went away, or we closed the connection ourselves. */
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

  /** Resolves when nothing runs any more. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
