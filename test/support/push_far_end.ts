/**
 * A far end for the push stream: a TCP server that sends the bytes it is handed, whole, cut or damaged, and hangs
 * up when told to.
 *
 * @module
 */
import { loadEnvelopes } from "../../lib/wire/envelope.ts";
import { encodeFrame } from "../../lib/wire/framing.ts";

/** A far end with its port and the connections made to it. */
export interface PushFarEnd extends AsyncDisposable {
  port: number;
  /** Connections accepted so far. */
  accepted: number;
  /** Resolves to the next connection that nobody has asked for yet. */
  next(): Promise<FarConnection>;
}

/** One connection, from the far side. */
export interface FarConnection {
  /** Sends all bytes. */
  send(...chunks: Uint8Array[]): Promise<void>;
  /** Hangs up. */
  hangUp(): void;
}

/** Listens on a port of 127.0.0.1; any free one by default. */
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

/** Writes a push frame with any number and any message. */
export function pushFrame(
  type: number,
  name: string,
  bytes: Uint8Array,
  time = 1_763_625_599_000,
): Uint8Array {
  return encodeFrame({ type: "push" }, encodeNotify({ type, id: "7", time, payload: { name, bytes } }));
}

/** Writes a push frame from plain members. */
export function push(type: number, name: string, plain: Record<string, unknown>, time?: number): Uint8Array {
  return pushFrame(type, name, messages.encode(name, plain), time);
}

/** Writes an order push. */
export function orderPush(orderId: string, plain: Record<string, unknown> = {}): Uint8Array {
  return push(1, "TradeStockDeliverNotify", { stockCode: "00700.HK", entrustNo: orderId, ...plain });
}

/** Writes a quote push; the volume serves as a number to tell quotes apart. */
export function quotePush(code: string, volume: number): Uint8Array {
  const security = { dataType: 10000, code };
  return push(20003, "BasicQotNotify", { security, basicQot: { security, lastPrice: 350.2, volume } });
}

/** Writes a tick push. */
export function tickPush(code: string, volume: number, time?: number): Uint8Array {
  return push(20004, "TickerNotify", { security: { dataType: 10000, code }, ticker: { volume } }, time);
}
