/**
 * Where pushes come from. The stream that hands them out asks no more than this, so that gaps, queues and
 * subscriptions are the same whatever brings the bytes.
 *
 * @module
 */
import type { BrokerError } from "../errors.ts";
import { closeQuietly, type OpenConnection, openTcp, openWithin, readFrames } from "./push_connection.ts";
import { checkedIdleMs, DEFAULT_PUSH_IDLE_MS } from "./push_waits.ts";

/** What a source tells while it is open. */
export interface PushHandlers {
  /** A sign of life: a whole frame came, or a large part of one. */
  onLife(): void;
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
   * Longest silence, milliseconds; 0 for no limit. A silent connection is replaced within a quarter more. The push
   * port takes nothing from a client, so only a new connection shows whether the gateway still pushes; in a quiet
   * market the replacement costs one `gap` event each time.
   *
   * @default {300_000}
   */
  pushIdleMs?: number;
  /** Opens the connection. @default {openTcp} */
  connect?: OpenConnection;
}

/** The gateway's push port. */
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
              // Everything else is a sign of life and no more.
              if (frame.type === "push") onPush(frame.body);
            },
          }, { ...idleTimeoutMs > 0 && { idleTimeoutMs } }),
        close: () => closeQuietly(connection),
      };
    },
  };
}
