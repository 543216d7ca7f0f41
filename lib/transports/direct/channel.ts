/**
 * One of the two connections, kept: opened when it is needed, opened again when it breaks, with pauses that grow.
 *
 * @module
 */
import {
  BrokerError,
  BusyError,
  DisplacedError,
  LoginExpiredError,
  LoginRefusedError,
  ProtocolError,
  RejectedError,
  TransportError,
} from "../../errors.ts";
import { backoffMs, HourlyLimit, longestPause, type ReconnectOptions } from "../push_waits.ts";
import type { ChannelName, DirectState, EventFeed, TradeLoginState } from "./events.ts";
import { type Link, type LinkHandlers, type LinkOptions, openLink } from "./link.ts";
import type { World } from "./options.ts";
import { isKeyFault, type PlatformSession, type Token } from "./platform_session.ts";

/** Options of {@linkcode Channel}. */
export interface ChannelOptions {
  name: ChannelName;
  session: PlatformSession;
  feed: EventFeed;
  world: World;
  reconnect: ReconnectOptions;
  /** Before each attempt: what has to be held. */
  prepare?(): Promise<void>;
  /** After the first request: what belongs to a connection that is ready. */
  complete?(link: Link, token: Token): Promise<void>;
  /** The account was logged in elsewhere; also when nobody had asked. */
  onDisplaced(error: DisplacedError): void;
  /** What became of the trade login, for the states. */
  tradeLogin?(): TradeLoginState;
  /** Everything that a link needs and that does not change. */
  link: Omit<LinkOptions, "address" | "token" | "handlers" | "signal" | "peer" | "world">;
}

/** Listens to a channel over all of its connections. */
export interface ChannelListener extends Pick<LinkHandlers, "onLife" | "onPush"> {
  /** A connection is ready. */
  onLink?(link: Link): void;
}

/** Keeps one connection. */
export class Channel {
  readonly #options: ChannelOptions;
  readonly #closing = new AbortController();
  #link: Link | undefined;
  #opening: Promise<Link> | undefined;
  #listener: ChannelListener = {};
  /** Failed attempts, and connections that did not last, in a row. */
  #failures = 0;
  #mayOpenAt = -Infinity;
  /** Trade connections in a row that the other end closed in answer to a heartbeat. */
  #hangUps = 0;
  /** What stopped it for good. */
  #stopped: BrokerError | undefined;
  #started = false;
  /** A first answer was signed as it should be, so the platform's key is the right one. */
  #isKeyRight = false;
  readonly #links = new Set<Link>();
  readonly #limit: HourlyLimit;

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.#limit = new HourlyLimit(options.reconnect.perHour);
  }

  /** The connection, while it is ready. */
  get link(): Link | undefined {
    return this.#link?.isOpen ? this.#link : undefined;
  }

  /** Whether anybody has wanted it yet. */
  get isStarted(): boolean {
    return this.#started;
  }

  /** Takes the place of an earlier listener. */
  listen(listener: ChannelListener): void {
    this.#listener = listener;
  }

  /** Resolves to the connection once it is ready; any number of callers wait for the same attempt. */
  ready(): Promise<Link> {
    this.#started = true;
    if (this.link !== undefined) return Promise.resolve(this.link);
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped);
    // Whoever calls is told at once, and does not wait until the next login is due.
    const { refusal } = this.#options.session;
    if (refusal !== undefined) return Promise.reject(refusal);
    return this.#readyAgain();
  }

  #readyAgain(): Promise<Link> {
    return this.#opening ??= this.#open().finally(() => this.#opening = undefined);
  }

  /** Tells a state. */
  tell(phase: DirectState["phase"], details: Partial<DirectState> = {}): void {
    const { name, feed, world } = this.#options;
    feed.tell({ type: "state", channel: name, phase, at: world.now(), ...details });
  }

  /** Says again that it is ready, as something about it has changed. */
  tellReady(): void {
    const { tradeLogin } = this.#options;
    this.tell("ready", {
      ...this.#link !== undefined && { heartbeatMs: this.#link.heartbeatMs },
      ...tradeLogin !== undefined && { tradeLogin: tradeLogin() },
    });
  }

  /** Ends it for good because of an error, until somebody allows it again. */
  stop(error: BrokerError): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = error;
    for (const link of this.#links) link.fail(error);
    if (this.#started) this.tell("stopped", { error });
  }

  /** A person wants to try again. */
  allowAgain(): void {
    if (this.#closing.signal.aborted) return;
    this.#stopped = undefined;
    this.#mayOpenAt = -Infinity;
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.#stopped = new TransportError("Cannot go on: the client is closed", {
      code: "closed",
      transport: "direct",
    });
    this.#closing.abort(this.#stopped);
    const links = [...this.#links];
    for (const link of links) link.close();
    await this.#opening?.catch(() => {});
    await Promise.all(links.map(({ ended }) => ended));
    if (this.#started) this.tell("closed");
  }

  async #open(): Promise<Link> {
    try {
      await this.#pause();
      await this.#options.prepare?.();
      const link = await this.#connect();
      this.#link = link;
      this.tellReady();
      this.#listener.onLink?.(link);
      return link;
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  /** Connects; a token that has run out in the meantime is made anew, once. */
  async #connect(): Promise<Link> {
    const { session } = this.#options;
    const first = session.valid;
    try {
      return await this.#connectWith(first ?? await session.token());
    } catch (error) {
      if (!(error instanceof LoginExpiredError) || first === undefined) throw error;
      session.invalidate(first);
      return await this.#connectWith(await session.token());
    }
  }

  async #connectWith(token: Token): Promise<Link> {
    const { name, session, world, link: options, complete, feed } = this.#options;
    const servers = await session.servers(token);
    this.#closing.signal.throwIfAborted();
    this.tell("connecting");
    const peer = name === "trade" ? "the trade server" : "the market server";
    const handlers: LinkHandlers = {
      onConnected: () => this.tell("initializing"),
      onLife: () => this.#listener.onLife?.(),
      onPush: (body) => this.#listener.onPush?.(body),
      onFault: (error) => {
        feed.tell({ type: "fault", channel: name, at: world.now(), error });
        if (error instanceof DisplacedError) this.#options.onDisplaced(error);
      },
    };
    let link: Link;
    try {
      link = await openLink({
        ...options,
        world,
        peer,
        handlers,
        address: servers[name],
        token: token.text,
        signal: this.#closing.signal,
      });
    } catch (error) {
      // The next attempt asks again where the server is.
      if (error instanceof TransportError) session.forgetServers();
      throw this.#isKeyRight ? error : asKeyFault(name, error);
    }
    this.#isKeyRight = true;
    session.touch(token);
    this.#links.add(link);
    const readyAt = world.monotonic();
    void link.ended.then((error) => this.#lost(link, error, world.monotonic() - readyAt));
    if (this.#stopped !== undefined) link.fail(this.#stopped);
    try {
      await complete?.(link, token);
    } catch (error) {
      link.close();
      throw error;
    }
    if (!link.isOpen) throw await link.ended;
    return link;
  }

  /** Waits until an attempt is due. */
  async #pause(): Promise<void> {
    const { world } = this.#options;
    const waitMs = this.#mayOpenAt - world.monotonic();
    const { signal } = this.#closing;
    if (waitMs > 0) {
      await new Promise<void>((resolve) => {
        const done = () => {
          cancel();
          signal.removeEventListener("abort", done);
          resolve();
        };
        const cancel = world.timers.after(waitMs, done);
        signal.addEventListener("abort", done);
      });
    }
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  #failed(error: unknown): void {
    if (this.#stopped !== undefined || !(error instanceof BrokerError)) return;
    if (error instanceof DisplacedError) return this.#options.onDisplaced(error);
    if (isKeyFault(error)) return this.stop(error);
    if (isRefusedForGood(error)) return this.tell("stopped", { error });
    this.tell("lost", { error });
    this.#plan(error);
  }

  /** Sets the time of the next attempt: at random, so that several programs do not return in step. */
  #plan(error: BrokerError): void {
    const { reconnect, world } = this.#options;
    const backMs = backoffMs(++this.#failures, world.random(), reconnect);
    const pauseMs = this.#limit.wait(world.monotonic(), backMs);
    const loginMs = error instanceof LoginRefusedError ? error.retryInMs ?? 0 : 0;
    const waitMs = Math.max(pauseMs, loginMs);
    this.#mayOpenAt = world.monotonic() + waitMs;
    this.tell("waiting", { attempt: this.#failures, waitMs, error });
  }

  /** A connection has ended: open it again without being asked, as pushes and the trade login hang on it. */
  #lost(link: Link, error: BrokerError, lastedMs: number): void {
    this.#links.delete(link);
    if (this.#link !== link) return;
    this.#link = undefined;
    if (this.#stopped !== undefined) return;
    this.tell("lost", { error });
    const { name, reconnect } = this.#options;
    // The platform holds one trade connection for each account; a market connection is nobody's place to take.
    this.#hangUps = link.isHungUp && name === "trade" ? this.#hangUps + 1 : 0;
    if (this.#hangUps >= MOST_HANG_UPS) return this.#options.onDisplaced(hungUp(error));
    // One that broke soon is a failed attempt: two programs that take turns must slow each other down.
    if (lastedMs >= longestPause(reconnect)) this.#failures = 0;
    this.#plan(error);
    void this.#reopen();
  }

  async #reopen(): Promise<void> {
    const { attempts = Infinity } = this.#options.reconnect;
    while (this.link === undefined && this.#stopped === undefined && this.#failures <= attempts) {
      try {
        await this.#readyAgain();
      } catch (error) {
        // What is no error of the broker is a fault of ours, and trying again would only repeat it.
        if (isRefusedForGood(error) || !(error instanceof BrokerError)) return;
      }
    }
  }
}

/** Whether trying again by itself cannot help: not so for a broker that is busy, or that refuses logins for now. */
function isRefusedForGood(error: unknown): boolean {
  if (error instanceof LoginRefusedError) return error.reason === "password";
  return error instanceof RejectedError && !(error instanceof BusyError);
}

/** Hang-ups in a row after which somebody else is taken to hold the connection. */
const MOST_HANG_UPS = 2;

function hungUp(cause: BrokerError): DisplacedError {
  return new DisplacedError(
    `Cannot keep the trade connection: it was closed ${MOST_HANG_UPS} times at a heartbeat, ` +
      "as platforms do with one whose place another program has taken; account.login() takes it back",
    cause.message,
    { code: "hung-up", transport: "direct", cause },
  );
}

/** A first answer with a wrong signature is another key's; later, with a key that has fitted, it is damage. */
function asKeyFault(name: ChannelName, cause: unknown): unknown {
  if (!(cause instanceof ProtocolError) || cause.code !== "signature-bad") return cause;
  return new ProtocolError(
    `Cannot open the ${name} connection: its first answer is not signed with this platform key`,
    { code: "platform-key", transport: "direct", cause },
  );
}
