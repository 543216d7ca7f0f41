/**
 * Provides a TCP proxy that can become silent: its connections remain open but forward nothing, as on a half-open
 * link.
 *
 * @module
 */

/** A running proxy on 127.0.0.1. */
export interface SilentProxy extends AsyncDisposable {
  /** Its address, `host:port`. */
  address: string;
  /** Connections accepted so far. */
  accepted: number;
  /** Drops all data of the connections that are open now; later connections work. */
  fallSilent(): void;
  /** Closes the connections that are open now. */
  cut(): void;
}

/** Starts a proxy in front of an address, `host:port`. */
export function startSilentProxy(target: string): SilentProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const silent = new Set<Deno.TcpConn>();
  const pumps: Promise<void>[] = [];
  const [hostname = "", port] = target.split(":");

  const close = (conn: Deno.TcpConn) => {
    open.delete(conn);
    try {
      conn.close();
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) throw error; // closed from the other direction
    }
  };

  async function pump(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
    const buffer = new Uint8Array(65_536);
    try {
      for (let count; (count = await from.read(buffer)) !== null;) {
        if (silent.has(from)) continue;
        for (let at = 0; at < count;) at += await to.write(buffer.subarray(at, count));
      }
    } catch {
      // One side is gone, so the other side is closed too.
    }
    close(from);
    close(to);
  }

  const proxy: SilentProxy = {
    address: `127.0.0.1:${listener.addr.port}`,
    accepted: 0,
    fallSilent() {
      for (const conn of open) silent.add(conn);
    },
    cut() {
      for (const conn of open) close(conn);
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const conn of open) close(conn);
      await accepting;
      await Promise.all(pumps);
    },
  };

  const accepting = (async () => {
    for await (const client of listener) {
      const server = await Deno.connect({ hostname, port: Number(port) });
      proxy.accepted++;
      open.add(client).add(server);
      pumps.push(pump(client, server), pump(server, client));
    }
  })();
  return proxy;
}
