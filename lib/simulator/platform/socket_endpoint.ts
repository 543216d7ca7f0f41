/**
 * Opens a port of the platform for sockets: the trade server or the market server.
 *
 * @module
 */
import { ProtocolError } from "../../errors.ts";
import { FrameDecoder } from "../../wire/framing.ts";
import { acceptAll, closeQuietly, isGone, Tasks } from "../../endpoints/connections.ts";
import { Session, type SessionOptions } from "./session.ts";
import type { SocketKind } from "./socket_operations.ts";

/** Options of {@linkcode SocketEndpoint}. */
interface SocketEndpointOptions {
  kind: SocketKind;
  hostname: string;
  /** 0 takes a free port. */
  port: number;
  /** Longest body of a request, in bytes. */
  bodyLimit: number;
  /** Real milliseconds without a frame after which a connection is closed. */
  silenceLimitMs: number;
  session: SessionOptions;
}

/** An open port for sockets. */
export class SocketEndpoint {
  readonly #options: SocketEndpointOptions;
  readonly #listener: Deno.TcpListener;
  readonly #sessions = new Set<Session>();
  readonly #tasks = new Tasks();
  readonly #stopListening: () => void;
  #current: Session | undefined;
  #silenced = 0;

  /** Opens the port. @throws {Deno.errors.AddrInUse} If another program uses it. */
  constructor(options: SocketEndpointOptions) {
    this.#options = options;
    this.#listener = Deno.listen({ hostname: options.hostname, port: options.port });
    this.#stopListening = options.session.faults.onArmed(() => this.#cutNow());
    this.#tasks.add(this.#accept());
  }

  /** The port number. */
  get port(): number {
    return this.#listener.addr.port;
  }

  /** Sessions that are open and that no other session has replaced, oldest first. */
  get live(): Session[] {
    return [...this.#sessions].filter(({ isLive }) => isLive);
  }

  /** Number of connections in any state. */
  get connections(): number {
    return this.#sessions.size;
  }

  /** Number of connections that were closed because no frame arrived for too long. */
  get silenced(): number {
    return this.#silenced;
  }

  /** Closes the port and every connection; resolves when none of its tasks is running. */
  async close(): Promise<void> {
    this.#stopListening();
    this.#listener.close();
    for (const session of this.#sessions) session.close();
    await this.#tasks.ended();
  }

  async #accept(): Promise<void> {
    for await (const conn of acceptAll(this.#listener)) {
      if (this.#admits(conn)) this.#tasks.add(this.#serve(conn));
      else closeQuietly(conn);
    }
  }

  #admits({ remoteAddr }: Deno.TcpConn): boolean {
    try {
      this.#options.session.access.demandAddress(remoteAddr.hostname);
      return true;
    } catch {
      return false; // `demandAddress` throws only if the address is not allowed
    }
  }

  async #serve(conn: Deno.TcpConn): Promise<void> {
    const { kind, session: options } = this.#options;
    const listener = {
      opening: (session: Session) => this.#opening(session),
      // A `cut-push` fault without `bytes` closes all open connections at once. If it may strike again (`times`), it
      // also closes the connections that open later.
      opened: () => this.#cutNow(),
    };
    using session = new Session(conn, kind, { ...options, listener });
    this.#sessions.add(session);
    try {
      await Promise.all([this.#read(conn, session), session.ended()]);
    } finally {
      this.#sessions.delete(session);
      if (this.#current === session) this.#current = undefined;
    }
  }

  async #read(conn: Deno.TcpConn, session: Session): Promise<void> {
    const decoder = new FrameDecoder({ maxBodyLength: this.#options.bodyLimit, bufferLength: 64 * 1024 });
    const watch = new SilenceWatch(this.#options.silenceLimitMs, () => {
      this.#silenced += 1;
      session.close();
    });
    try {
      for (let count, broken = false; (count = await conn.read(decoder.room())) !== null;) {
        if (broken) continue; // keep reading: closing a socket with unread input could discard the sent rejection
        decoder.filled(count);
        try {
          for (let frame; (frame = decoder.next()) !== undefined;) {
            watch.heard();
            session.take(frame);
          }
        } catch (error) {
          if (!(error instanceof ProtocolError)) throw error;
          broken = true;
          session.refuseStream();
        }
      }
    } catch (error) {
      if (!isGone(error)) throw error;
    } finally {
      watch.stop();
      session.close();
    }
  }

  /** Marks the older trade connection as replaced, because an account has only one trade connection. */
  #opening(session: Session): void {
    if (this.#options.kind !== "trade" || this.#current === session) return;
    this.#current?.displace();
    this.#current = session;
  }

  #cutNow(): void {
    const live = this.live;
    if (live.length === 0) return;
    const isTrade = this.#options.kind === "trade";
    const fault = this.#options.session.faults.strikeAny(
      "cut-push",
      ({ bytes, push }) => bytes === undefined && (push === undefined || (push === "order") === isTrade),
    );
    if (fault !== undefined) { for (const session of live) session.close(); }
  }
}

/** Closes a silent connection. */
class SilenceWatch {
  readonly #limitMs: number;
  readonly #onSilence: () => void;
  #heardAt = performance.now();
  #timer: ReturnType<typeof setTimeout>;

  constructor(limitMs: number, onSilence: () => void) {
    this.#limitMs = limitMs;
    this.#onSilence = onSilence;
    this.#timer = setTimeout(() => this.#check(), limitMs);
  }

  /** Records that a frame arrived. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #check(): void {
    const left = this.#limitMs - (performance.now() - this.#heardAt);
    if (left > 0) this.#timer = setTimeout(() => this.#check(), Math.ceil(left));
    else this.#onSilence();
  }
}
