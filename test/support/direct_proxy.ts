/**
 * Provides a proxy between a client and the simulated platform. It replaces the address of the trade socket with its
 * own, records the headers of the client's frames, and can cut or freeze the connections.
 *
 * @module
 */
import type { PlatformInfo } from "../../lib/simulator/platform/mod.ts";
import { HEADER_LENGTH, readHeader } from "../../lib/wire/framing.ts";

/** A frame of the client, according to its header. */
export interface SentFrame {
  /** Number of the connection, from 0. */
  connection: number;
  type: string;
  serial: number;
  signed: boolean;
  length: number;
}

/** A running proxy. */
export interface DirectProxy extends AsyncDisposable {
  /** The platform's info with the proxy's address for HTTP. */
  info: PlatformInfo;
  /** Frames that the client sent on the trade connection. */
  sent: SentFrame[];
  /** Paths of the requests over HTTP, in order. */
  posted: string[];
  /** Number of client bytes that still pass before the connection is closed; by default all. */
  passBytes: number;
  /**
   * Whether to close the trade connection at a heartbeat, as the platform does after another program took
   * over.
   */
  hangsUp: boolean;
  /** Whether to forward nothing in either direction, while all connections stay open. */
  frozen: boolean;
}

/** Starts a proxy in front of a platform. */
export function startDirectProxy(platform: PlatformInfo): DirectProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const running: Promise<void>[] = [];
  let connections = 0;

  const http = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    proxy.posted.push(pathname);
    const response = await fetch(`${platform.authUrl}${pathname}${search}`, {
      method: "POST",
      headers: request.headers,
      body: await request.text(),
    });
    const text = await response.text();
    const address = `127.0.0.1:${listener.addr.port}`;
    return new Response(text.replace(platform.tradeServer, address), { status: response.status });
  });

  const proxy: DirectProxy = {
    info: { ...platform, authUrl: `http://127.0.0.1:${http.addr.port}` },
    sent: [],
    posted: [],
    passBytes: Infinity,
    hangsUp: false,
    frozen: false,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const conn of open) close(conn);
      await accepting;
      await Promise.all(running);
      await http.shutdown();
    },
  };

  const accepting = (async () => {
    for await (const client of listener) running.push(serve(client, connections++));
  })();

  async function serve(client: Deno.TcpConn, connection: number): Promise<void> {
    const [hostname = "", port] = platform.tradeServer.split(":");
    const server = await Deno.connect({ hostname, port: Number(port) });
    open.add(client).add(server);
    let pending = new Uint8Array(0);
    const note = (bytes: Uint8Array) => {
      pending = new Uint8Array([...pending, ...bytes]);
      while (pending.length >= HEADER_LENGTH) {
        const header = readHeader(pending, 0);
        const length = HEADER_LENGTH + header.bodyLength;
        if (pending.length < length) return;
        const signed = header.signature.some((byte) => byte !== 0);
        proxy.sent.push({ connection, type: header.type, serial: header.serial, signed, length });
        pending = pending.slice(length);
      }
    };
    await Promise.all([
      pump(client, server, (bytes) => {
        const passed = bytes.subarray(0, Math.max(0, proxy.passBytes));
        proxy.passBytes -= passed.length;
        note(passed);
        const isHungUp = proxy.hangsUp && proxy.sent.at(-1)?.type === "heartbeat";
        return { passed, isCut: passed.length < bytes.length || isHungUp };
      }),
      pump(server, client, (passed) => ({ passed, isCut: false })),
    ]);
    close(client);
    close(server);
  }

  async function pump(
    from: Deno.TcpConn,
    to: Deno.TcpConn,
    pass: (bytes: Uint8Array) => { passed: Uint8Array; isCut: boolean },
  ): Promise<void> {
    const buffer = new Uint8Array(65_536);
    try {
      for (let count; (count = await from.read(buffer)) !== null;) {
        if (proxy.frozen) continue;
        const { passed, isCut } = pass(buffer.subarray(0, count));
        for (let at = 0; at < passed.length;) at += await to.write(passed.subarray(at));
        if (isCut) break;
      }
    } catch (error) {
      const { BadResource, BrokenPipe, ConnectionReset, Interrupted } = Deno.errors;
      const expected = [BadResource, BrokenPipe, ConnectionReset, Interrupted];
      if (!expected.some((each) => error instanceof each)) throw error;
    }
    close(from);
    close(to);
  }

  function close(conn: Deno.TcpConn): void {
    open.delete(conn);
    try {
      conn.close();
    } catch (error) {
      if (!(error instanceof Deno.errors.BadResource)) throw error; // closed from the other direction
    }
  }

  return proxy;
}
