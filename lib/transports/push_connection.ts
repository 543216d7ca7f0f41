/**
 * One connection to the push port, from its opening to its end.
 *
 * @module
 */
import { BrokerError, TransportError } from "../errors.ts";
import { type Frame, FrameDecoder } from "../wire/framing.ts";
import { oneTurn } from "./push_waits.ts";

/** What is needed of a TCP connection. */
export interface PushConnection {
  /** Reads into a buffer; `null` at the end. */
  read(buffer: Uint8Array): Promise<number | null>;
  /** Closes it; a pending read ends. */
  close(): void;
  /** Sends small packets at once. */
  setNoDelay?(noDelay?: boolean): void;
}

/** Opens a connection; gives up when the signal is aborted. */
export type OpenConnection = (
  address: { hostname: string; port: number; signal: AbortSignal },
) => Promise<PushConnection>;

/** Opens a TCP connection. */
export const openTcp: OpenConnection = (address) => Deno.connect({ ...address, transport: "tcp" });

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

/** What happens on a connection. */
export interface ConnectionHandlers {
  /** A sign of life: a whole frame came, or a large part of one. */
  onLife: () => void;
  /** A whole frame came; its views end with the call. */
  onFrame: (frame: Frame) => void;
}

/** Details of {@linkcode readFrames}. */
export interface ReadOptions {
  /** Longest time without a sign of life, milliseconds; unlimited when left out. */
  idleTimeoutMs?: number;
  /** So many bytes of a frame are a sign of life too, for long frames over slow lines. @default whole frames only */
  partBytes?: number;
  /** Who is at the other end, for messages. @default {"the gateway"} */
  peer?: string;
  /** What the reading is for, for messages. @default {"read pushes"} */
  action?: string;
  /** Name of the transport, for errors. @default {"push"} */
  transport?: string;
}

/**
 * Reads frames until the connection ends.
 *
 * @returns What ended it: `TransportError` for an end or silence, `ProtocolError` for a frame that does not fit.
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
  // A byte now and then is none: who sends never a whole frame would be taken for alive for ever.
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
      // Under load a read resolves at once. Without a turn in between, quick readers would fall behind and have
      // their quotes conflated, and timers and orders over HTTP would wait for a quiet moment.
      await oneTurn();
    }
    return lost(`${peer} closed the connection`, "closed");
  } catch (cause) {
    if (idle.expired) {
      const { pending } = decoder;
      const reason = pending === 0
        ? `nothing came for ${idleTimeoutMs} ms`
        : `no whole frame came for ${idleTimeoutMs} ms, only ${pending} bytes of one`;
      return lost(reason, "idle");
    }
    return asBrokerError(action, cause, transport);
  } finally {
    clearInterval(idle.timer);
  }
}

/** Closes a connection that shows no sign of life; by counting ticks of a timer, so that no jump of a clock matters. */
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

/** Closes a connection, which may have ended by itself. */
export function closeQuietly(connection: PushConnection): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

function asBrokerError(action: string, cause: unknown, transport = "push"): BrokerError {
  if (cause instanceof BrokerError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new TransportError(`Cannot ${action}: ${reason}`, { code: "connection", transport, cause });
}
