/**
 * Where pushes come from. The stream that hands them out asks no more than this, so that gaps, queues and
 * subscriptions are the same whatever brings the bytes.
 *
 * @module
 */
import type { BrokerError } from "../errors.ts";
import { closeQuietly, type OpenConnection, openTcp, openWithin, readFrames } from "./push_connection.ts";

/** What a source tells while it is open. */
export interface PushHandlers {
  /** Bytes came, of whatever kind. */
  onBytes(): void;
  /** A whole frame came. */
  onFrame(): void;
  /**
   * A push came; its body ends with the call.
   *
   * @throws {ProtocolError} When it cannot be read; the connection that brought it ends then.
   */
  onPush(body: Uint8Array): void;
}

/** What pushes come over, once it is open. */
export interface PushLine {
  /** Reads until it ends, and resolves to what ended it. */
  run(): Promise<BrokerError>;
  /** Ends it. */
  close(): void;
  /** Last sign of life of the part that broke, Unix milliseconds, where it has several parts. */
  brokenSince?(): number | undefined;
}

/** Opens a line, again and again. */
export interface PushSource {
  /**
   * Opens the line. The handlers are the same each time.
   *
   * @throws {BrokerError} When it cannot be opened now.
   */
  open(handlers: PushHandlers, signal: AbortSignal): Promise<PushLine>;
  /** The stream has ended. */
  close?(): void;
}

/** Address of the gateway's push port, and how it is reached. */
export interface GatewaySourceOptions {
  /** Host of the gateway. */
  hostname: string;
  /** Its push port. */
  port: number;
  /** Longest wait for a connection. @default {10_000} */
  connectTimeoutMs?: number;
  /**
   * Longest silence before the connection counts as lost; noticed within a quarter more. Off by default: nobody
   * documents how often the gateway gives a sign of life, and a quiet market is no fault.
   */
  idleTimeoutMs?: number;
  /** Opens the connection. @default {openTcp} */
  connect?: OpenConnection;
}

/** The gateway's push port. */
export function gatewaySource(options: GatewaySourceOptions): PushSource {
  const { hostname, port, connect = openTcp, connectTimeoutMs = 10_000, idleTimeoutMs } = options;
  return {
    async open({ onBytes, onFrame, onPush }, signal) {
      const connection = await openWithin(connect, { hostname, port }, {
        timeoutMs: connectTimeoutMs,
        signal,
      });
      return {
        run: () =>
          readFrames(connection, {
            onBytes,
            onFrame(frame) {
              onFrame();
              // Everything else is a sign of life and no more.
              if (frame.type === "push") onPush(frame.body);
            },
          }, { ...idleTimeoutMs !== undefined && { idleTimeoutMs } }),
        close: () => closeQuietly(connection),
      };
    },
  };
}
