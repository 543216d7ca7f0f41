/**
 * Connects to the gateway's push port and reads its frames until the connection ends. The direct transport
 * provides the same interface over its own connections.
 *
 * @module
 */
import { BrokerError, messageOf, TransportError } from "../../errors.ts";
import { type Frame, FrameDecoder } from "../../wire/framing.ts";
import { checkedIdleMs, DEFAULT_PUSH_IDLE_MS } from "./reconnect.ts";

/** The methods that the push stream needs of a TCP connection. */
interface PushConnection {
  /** Reads into a buffer; `null` at the end. */
  read(buffer: Uint8Array): Promise<number | null>;
  /** Closes the connection; a pending read ends. */
  close(): void;
  /** Sends small packets without delay. */
  setNoDelay?(noDelay?: boolean): void;
}

/** Opens a connection; stops trying when the signal is aborted. */
type OpenConnection = (
  address: { hostname: string; port: number; signal: AbortSignal },
) => Promise<PushConnection>;

/** Opens a TCP connection. */
const openTcp: OpenConnection = (address) => Deno.connect({ ...address, transport: "tcp" });

/** Opens a connection within a time limit. */
export async function openWithin(
  open: OpenConnection,
  address: { hostname: string; port: number },
  { timeoutMs, signal, transport }: { timeoutMs: number; signal: AbortSignal; transport?: string },
): Promise<PushConnection> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error(`no connection within ${timeoutMs} ms`)), timeoutMs);
  try {
    const connection = await open({ ...address, signal: AbortSignal.any([signal, limit.signal]) });
    connection.setNoDelay?.(true);
    return connection;
  } catch (cause) {
    throw asBrokerError("connect", limit.signal.aborted ? limit.signal.reason : cause, transport);
  } finally {
    clearTimeout(timer);
  }
}

/** Callbacks for a connection. */
interface ConnectionHandlers {
  /** Called when a whole frame, or a large part of one, arrives. */
  onLife: () => void;
  /** Called with each whole frame; its views are only valid during the call. */
  onFrame: (frame: Frame) => void;
}

/** Options of {@linkcode readFrames}. */
interface ReadOptions {
  /** Maximum milliseconds without a received frame. @default no limit */
  idleTimeoutMs?: number;
  /**
   * This many bytes count as a received frame, for long frames on slow connections. @default only whole frames count
   */
  partBytes?: number;
  /** Name of the other end for messages. @default {"the gateway"} */
  peer?: string;
  /** What the caller reads, for messages. @default {"read pushes"} */
  action?: string;
  /** Name of the transport, for errors. @default {"push"} */
  transport?: string;
}

/**
 * Reads frames until the connection ends.
 *
 * @returns The error that ended the connection: `TransportError` after an end or silence, `ProtocolError` after an
 * invalid frame.
 */
export async function readFrames(
  connection: PushConnection,
  { onLife, onFrame }: ConnectionHandlers,
  { idleTimeoutMs, partBytes = Infinity, peer = "the gateway", action = "read pushes", transport = "push" }:
    ReadOptions = {},
): Promise<BrokerError> {
  const lost = (reason: string, code: string) =>
    new TransportError(`Cannot ${action}: ${reason}`, { code, transport });
  const decoder = new FrameDecoder();
  const idle = watchIdle(connection, idleTimeoutMs);
  // Single bytes do not count: a peer that never sends a whole frame would seem alive forever.
  const live = () => {
    idle.alive = true;
    onLife();
  };
  let part = 0;
  try {
    for (let count; (count = await connection.read(decoder.room())) !== null;) {
      decoder.filled(count);
      part += count;
      let frame = decoder.next();
      if (frame !== undefined || part >= partBytes) {
        part = 0;
        live();
      }
      for (; frame !== undefined; frame = decoder.next()) onFrame(frame);
      // Under load, a read resolves immediately. Without this pause, timers, orders over HTTP and the readers of the
      // pushes would not run in between, and the queue would conflate quotes.
      await oneTurn();
    }
    return lost(`${peer} closed the connection`, "closed");
  } catch (cause) {
    if (idle.expired) {
      const { pending } = decoder;
      const reason = pending === 0
        ? `nothing arrived for ${idleTimeoutMs} ms`
        : `no complete frame arrived for ${idleTimeoutMs} ms, only ${pending} bytes of a frame`;
      return lost(reason, "idle");
    }
    return asBrokerError(action, cause, transport);
  } finally {
    clearInterval(idle.timer);
  }
}

/** Closes a connection on which nothing arrives. Counts timer ticks, so that a jump of the clock has no effect. */
function watchIdle(connection: PushConnection, idleTimeoutMs: number | undefined) {
  const idle: { alive: boolean; expired: boolean; timer: ReturnType<typeof setInterval> | undefined } = {
    alive: false,
    expired: false,
    timer: undefined,
  };
  if (idleTimeoutMs === undefined) return idle;
  let silentQuarters = 0;
  idle.timer = setInterval(() => {
    silentQuarters = idle.alive ? 0 : silentQuarters + 1;
    idle.alive = false;
    if (silentQuarters < 4) return;
    idle.expired = true;
    closeQuietly(connection);
  }, idleTimeoutMs / 4);
  return idle;
}

/** Closes a connection that may already be closed. */
export function closeQuietly(connection: PushConnection): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

function asBrokerError(action: string, cause: unknown, transport = "push"): BrokerError {
  if (cause instanceof BrokerError) return cause;
  const reason = messageOf(cause);
  return new TransportError(`Cannot ${action}: ${reason}`, { code: "connection", transport, cause });
}

/** Callbacks of an open push source. */
export interface PushHandlers {
  /** Called when a whole frame, or a large part of one, arrives. */
  onLife(): void;
  /** Called at each whole frame. */
  onFrame(): void;
  /**
   * Called with each push; its body is only valid during the call.
   *
   * @throws {ProtocolError} If the push is unreadable; the connection then ends.
   */
  onPush(body: Uint8Array): void;
  /** Called when the source rejects a push and keeps its connection open. */
  onRefusedPush(): void;
}

/** An open source of pushes: one connection, or several for the direct transport. */
export interface PushLine {
  /** Reads until the connection ends, and resolves to the error that ended it. */
  run(): Promise<BrokerError>;
  /** Ends the line. Closes its connection, except that the connections of the direct transport stay open for calls. */
  close(): void;
  /**
   * Only for a line with several connections: returns when data last arrived on the broken connection, in Unix
   * milliseconds.
   */
  brokenSince?(): number | undefined;
}

/** Opens lines, a new one after each break. */
export interface PushSource {
  /**
   * Opens a line. The stream passes the same handlers each time.
   *
   * @throws {BrokerError} If it cannot be opened now.
   */
  open(handlers: PushHandlers, signal: AbortSignal): Promise<PushLine>;
  /** Called when the stream has ended. */
  close?(): void;
}

/** Address of the gateway's push port, and how to connect to it. */
export interface GatewaySourceOptions {
  /** Host of the gateway. */
  hostname: string;
  /** Push port of the gateway. */
  port: number;
  /** Longest wait for a connection. @default {10_000} */
  connectTimeoutMs?: number;
  /**
   * Milliseconds of silence after which the connection is replaced; 0 for no limit. The replacement may come later, by
   * up to a quarter of this time. The push port accepts no data from a client, so only a new connection shows whether
   * the gateway still pushes. In a quiet market, each replacement causes one `gap` event.
   *
   * @default {300_000}
   */
  pushIdleMs?: number;
  /** Opens the connection. @default {openTcp} */
  connect?: OpenConnection;
}

/** Returns the gateway's push port as a push source. */
export function gatewaySource(options: GatewaySourceOptions): PushSource {
  const { hostname, port, connect = openTcp, connectTimeoutMs = 10_000 } = options;
  const idleTimeoutMs = checkedIdleMs(options.pushIdleMs ?? DEFAULT_PUSH_IDLE_MS);
  return {
    async open({ onLife, onFrame, onPush }, signal) {
      const connection = await openWithin(connect, { hostname, port }, {
        timeoutMs: connectTimeoutMs,
        signal,
      });
      return {
        run: () =>
          readFrames(connection, {
            onLife,
            onFrame(frame) {
              onFrame();
              // Any other frame shows only that the connection is alive.
              if (frame.type === "push") onPush(frame.body);
            },
          }, { ...idleTimeoutMs > 0 && { idleTimeoutMs } }),
        close: () => closeQuietly(connection),
      };
    },
  };
}

/** Resolves after one turn of the event loop, in which all ready callbacks run. Takes about 2 µs. */
function oneTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
