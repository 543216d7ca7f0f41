/**
 * Provides a TCP server for the push stream. It sends bytes from the test, whole, cut or damaged, and closes the
 * connection on request.
 *
 * @module
 */
import { loadEnvelopes } from "../../lib/wire/messages.ts";
import { encodeFrame } from "../../lib/wire/framing.ts";

/** A running server, with its port and its connections. */
export interface PushFarEnd extends AsyncDisposable {
  port: number;
  /** Connections accepted so far. */
  accepted: number;
  /** Resolves to the next connection, in order. */
  next(): Promise<FarConnection>;
}

/** The server's side of one connection. */
export interface FarConnection {
  /** Sends all bytes. */
  send(...chunks: Uint8Array[]): Promise<void>;
  /** Closes the connection. */
  hangUp(): void;
}

/** Starts the server on a port of 127.0.0.1, by default any free one. */
export function startPushFarEnd(port = 0): PushFarEnd {
  const listener = Deno.listen({ hostname: "127.0.0.1", port });
  const open = new Set<Deno.TcpConn>();
  const arrived: FarConnection[] = [];
  const wanted: ((connection: FarConnection) => void)[] = [];
  const farEnd: PushFarEnd = {
    port: listener.addr.port,
    accepted: 0,
    next() {
      const connection = arrived.shift();
      return connection !== undefined
        ? Promise.resolve(connection)
        : new Promise((resolve) => wanted.push(resolve));
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const conn of open) conn.close();
      await accepting;
    },
  };
  const accepting = (async () => {
    for await (const conn of listener) {
      open.add(conn);
      farEnd.accepted++;
      const connection: FarConnection = {
        async send(...chunks) {
          for (const chunk of chunks) {
            for (let at = 0; at < chunk.length;) at += await conn.write(chunk.subarray(at));
          }
        },
        hangUp() {
          open.delete(conn);
          conn.close();
        },
      };
      const take = wanted.shift();
      if (take === undefined) arrived.push(connection);
      else take(connection);
    }
  })();
  return farEnd;
}

const { messages, encodeNotify } = await loadEnvelopes();

/** Returns a push frame with any type number and any message. */
export function pushFrame(
  type: number,
  name: string,
  bytes: Uint8Array,
  time = 1_763_625_599_000,
): Uint8Array {
  return encodeFrame({ type: "push" }, encodeNotify({ type, id: "7", time, payload: { name, bytes } }));
}

/** Returns a push frame from plain members. */
export function push(type: number, name: string, plain: Record<string, unknown>, time?: number): Uint8Array {
  return pushFrame(type, name, messages.encode(name, plain), time);
}

/** Returns an order push. */
export function orderPush(orderId: string, plain: Record<string, unknown> = {}): Uint8Array {
  const order = { fundAccount: "88001", stockCode: "00700.HK", entrustNo: orderId };
  return push(1, "TradeStockDeliverNotify", { ...order, ...plain });
}

/** Returns a quote push; the volume serves to distinguish quotes. */
export function quotePush(code: string, volume: number, time?: number): Uint8Array {
  const security = { dataType: 10000, code };
  return push(20003, "BasicQotNotify", { security, basicQot: { security, lastPrice: 350.2, volume } }, time);
}

/** Returns a tick push. */
export function tickPush(code: string, volume: number, time?: number): Uint8Array {
  return push(20004, "TickerNotify", { security: { dataType: 10000, code }, ticker: { volume } }, time);
}
