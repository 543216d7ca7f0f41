/**
 * Manages one of the two connections to the platform. Opens it when a call needs it, and reopens it after a break, with
 * growing pauses. Also combines both connections into one source of pushes: orders arrive over one connection, market
 * data over the other.
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
import { type Machine, orAborted, waitUnlessAborted } from "../../time.ts";
import type { PushHandlers, PushLine, PushSource } from "../push/connection.ts";
import { backoffMs, HourlyLimit, longestPause, type ReconnectOptions } from "../push/reconnect.ts";
import type { ChannelName, DirectState, EventFeed, TradeLoginState } from "./events.ts";
import { FIRST_ANSWER_CODE, type Link, type LinkHandlers, type LinkOptions, openLink } from "./link.ts";
import { isKeyFault, MOST_UNREADABLE, type PlatformSession, type Token } from "./platform_session.ts";

/** Options of {@linkcode Channel}. */
export interface ChannelOptions {
  name: ChannelName;
  session: PlatformSession;
  feed: EventFeed;
  machine: Machine;
  reconnect: ReconnectOptions;
  /** Called before each attempt, for example to acquire the lease. */
  prepare?(): Promise<void>;
  /** Called after the first request, to complete the setup of the connection. */
  complete?(link: Link, token: Token): Promise<void>;
  /** Called when another program or device has logged in with the account, even if no call was in progress. */
  onDisplaced(error: DisplacedError): void;
  /** Returns the state of the trade login. */
  tradeLogin?(): TradeLoginState;
  /** The options that all links of the channel share. */
  link: Omit<LinkOptions, "address" | "token" | "handlers" | "signal" | "peer" | "machine">;
}

/** Callbacks for the connections of a channel, which has one connection at a time. */
interface ChannelListener extends Pick<LinkHandlers, "onLife" | "onPush" | "onRefusedPush"> {
  /** Called when a connection is ready. */
  onLink?(link: Link): void;
}

/** Keeps one connection open. */
export class Channel {
  readonly #options: ChannelOptions;
  readonly #closing = new AbortController();
  #link: Link | undefined;
  #opening: Promise<Link> | undefined;
  #listener: ChannelListener = {};
  /** Number of consecutive failures: failed attempts and connections that broke soon. */
  #failures = 0;
  #mayOpenAt = -Infinity;
  /** Number of consecutive trade connections that the other end closed in answer to a heartbeat. */
  #hangUps = 0;
  /** The error that stopped the channel. */
  #stopped: BrokerError | undefined;
  #started = false;
  readonly #links = new Set<Link>();
  readonly #limit: HourlyLimit;

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.#limit = new HourlyLimit(options.reconnect.perHour);
  }

  /** The connection, if it is ready. */
  get link(): Link | undefined {
    return this.#link?.isOpen ? this.#link : undefined;
  }

  /** Whether a caller has requested the connection. */
  get isStarted(): boolean {
    return this.#started;
  }

  /** Replaces the listener. */
  listen(listener: ChannelListener): void {
    this.#listener = listener;
  }

  /** Resolves to the connection once it is ready. Any number of callers share one attempt. */
  ready(): Promise<Link> {
    this.#started = true;
    if (this.link !== undefined) return Promise.resolve(this.link);
    // After a key fault, allow another attempt even if no person asks for it. The keys may be right: somebody on the
    // network may have changed the first answers for a time.
    if (isKeyFault(this.#stopped) && this.#options.machine.monotonic() >= this.#mayOpenAt) {
      this.#stopped = undefined;
    }
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped);
    // Report a rejected login immediately instead of waiting until the next login is due.
    const { refusal } = this.#options.session;
    if (refusal !== undefined) return Promise.reject(refusal);
    return this.#readyAgain();
  }

  #readyAgain(): Promise<Link> {
    return this.#opening ??= this.#open().finally(() => this.#opening = undefined);
  }

  /** Reports a state. */
  reportPhase(phase: DirectState["phase"], details: Partial<DirectState> = {}): void {
    const { name, feed, machine } = this.#options;
    feed.emit({ type: "state", channel: name, phase, at: machine.now(), ...details });
  }

  /** Reports the state `ready` again, because the trade login or the heartbeat has changed. */
  reportReady(): void {
    const { tradeLogin } = this.#options;
    this.reportPhase("ready", {
      ...this.#link !== undefined && { heartbeatMs: this.#link.heartbeatMs },
      ...tradeLogin !== undefined && { tradeLogin: tradeLogin() },
    });
  }

  /**
   * Closes the connection with an error. No new connection is opened until a person allows another attempt. If the
   * error is that a key seems to be wrong, a caller can also try again after {@linkcode KEY_PAUSE_MS}.
   */
  stop(error: BrokerError): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = error;
    if (isKeyFault(error)) this.#mayOpenAt = this.#options.machine.monotonic() + KEY_PAUSE_MS;
    for (const link of this.#links) link.fail(error);
    if (this.#started) this.reportPhase("stopped", { error });
  }

  /** Allows another attempt because a person asked for it. */
  allowAgain(): void {
    if (this.#closing.signal.aborted) return;
    this.#stopped = undefined;
    this.#mayOpenAt = -Infinity;
  }

  /** Closes the channel permanently. */
  async close(): Promise<void> {
    this.#stopped = new TransportError("Cannot continue: the client is closed", {
      code: "closed",
      transport: "direct",
    });
    this.#closing.abort(this.#stopped);
    const links = [...this.#links];
    for (const link of links) link.close();
    await this.#opening?.catch(() => {});
    await Promise.all(links.map(({ ended }) => ended));
    if (this.#started) this.reportPhase("closed");
  }

  async #open(): Promise<Link> {
    try {
      await this.#pause();
      await this.#options.prepare?.();
      const link = await this.#connect();
      this.#link = link;
      this.reportReady();
      this.#listener.onLink?.(link);
      return link;
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  /** Connects. If the token has expired in the meantime, gets a new token and tries once more. */
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
    const { name, session, machine, link: options, complete, feed } = this.#options;
    const servers = await session.servers(token);
    this.#closing.signal.throwIfAborted();
    this.reportPhase("connecting");
    const peer = name === "trade" ? "the trade server" : "the market server";
    const handlers: LinkHandlers = {
      onConnected: () => this.reportPhase("initializing"),
      onLife: () => this.#listener.onLife?.(),
      onPush: (body) => this.#listener.onPush?.(body),
      onRefusedPush: () => this.#listener.onRefusedPush?.(),
      onFault: (error) => {
        feed.emit({ type: "fault", channel: name, at: machine.now(), error });
        if (error instanceof DisplacedError) this.#options.onDisplaced(error);
      },
    };
    let link: Link;
    try {
      link = await openLink({
        ...options,
        machine,
        peer,
        handlers,
        address: servers[name],
        token: token.text,
        signal: this.#closing.signal,
      });
    } catch (error) {
      // The next attempt queries the server addresses again.
      if (error instanceof TransportError) session.forgetServers();
      throw isUnreadableFirst(error) && session.firstAnswerFailed() ? keyFault(name, error) : error;
    }
    session.firstAnswerRead();
    session.touch(token);
    this.#links.add(link);
    const readyAt = machine.monotonic();
    void link.ended.then((error) => this.#lost(link, error, machine.monotonic() - readyAt));
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
    const { machine } = this.#options;
    const waitMs = this.#mayOpenAt - machine.monotonic();
    if (waitMs > 0) await waitUnlessAborted(machine, waitMs, this.#closing.signal);
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  #failed(error: unknown): void {
    if (this.#stopped !== undefined || !(error instanceof BrokerError)) return;
    if (error instanceof DisplacedError) return this.#options.onDisplaced(error);
    if (isKeyFault(error)) return this.stop(error);
    if (isRefusedForGood(error)) return this.reportPhase("stopped", { error });
    this.reportPhase("lost", { error });
    this.#plan(error);
  }

  /** Plans the next attempt after a random wait, so several programs do not reconnect at the same time. */
  #plan(error: BrokerError): void {
    const { reconnect, machine } = this.#options;
    const backMs = backoffMs(++this.#failures, machine.random(), reconnect);
    const pauseMs = this.#limit.wait(machine.monotonic(), backMs);
    const loginMs = error instanceof LoginRefusedError ? error.retryInMs ?? 0 : 0;
    const waitMs = Math.max(pauseMs, loginMs);
    this.#mayOpenAt = machine.monotonic() + waitMs;
    this.reportPhase("waiting", { attempt: this.#failures, waitMs, error });
  }

  /** Reopens a lost connection even if no call needs it, because pushes and the trade login depend on it. */
  #lost(link: Link, error: BrokerError, lastedMs: number): void {
    this.#links.delete(link);
    if (this.#link !== link) return;
    this.#link = undefined;
    if (this.#stopped !== undefined) return;
    this.reportPhase("lost", { error });
    const { name, reconnect } = this.#options;
    // The platform allows one trade connection per account, and any number of market connections.
    this.#hangUps = link.isHungUp && name === "trade" ? this.#hangUps + 1 : 0;
    if (this.#hangUps >= MOST_HANG_UPS) return this.#options.onDisplaced(hungUp(error));
    // A connection that broke soon counts as a failed attempt, so the pauses of two competing programs grow.
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
        // Any error other than a `BrokerError` is an internal error, and a retry would fail in the same way.
        if (isRefusedForGood(error) || !(error instanceof BrokerError)) return;
      }
    }
  }
}

/**
 * Returns whether an automatic retry is useless. After `BusyError` and a temporarily rejected login, a retry may
 * succeed.
 */
function isRefusedForGood(error: unknown): boolean {
  if (error instanceof LoginRefusedError) return error.reason === "password";
  return error instanceof RejectedError && !(error instanceof BusyError);
}

/** Pause before each further attempt of a connection that stopped because a key seems to be wrong. */
const KEY_PAUSE_MS = 3_600_000;

/**
 * If the platform closes this number of consecutive connections at a heartbeat, the channel assumes that another
 * program uses the account.
 */
const MOST_HANG_UPS = 2;

function hungUp(cause: BrokerError): DisplacedError {
  return new DisplacedError(
    `Cannot keep the trade connection: the platform closed it ${MOST_HANG_UPS} times at a heartbeat, which ` +
      "usually means that another program took it over; account.login() takes it back",
    cause.message,
    { code: "hung-up", transport: "direct", cause },
  );
}

function isUnreadableFirst(error: unknown): error is ProtocolError {
  return error instanceof ProtocolError && error.code === FIRST_ANSWER_CODE;
}

function keyFault(name: ChannelName, cause: ProtocolError): ProtocolError {
  return new ProtocolError(
    `Cannot open the ${name} connection: ${MOST_UNREADABLE} first answers in a row were unreadable; check the ` +
      "platform key and the developer key (test and production have different platform keys); if both are " +
      "right, somebody on the network is changing the data; the next attempt is in an hour, or with " +
      "account.login()",
    { code: "platform-key", transport: "direct", cause },
  );
}

/**
 * Returns several channels as one push source. A break of any channel counts as a break of the line, because pushes
 * may be missing from then on. The other channels still deliver their pushes.
 *
 * @param always Channels that are opened together with the line.
 * @param used Channels that are opened together with the line only if a call has already used them. If a call opens one
 * of them later, the line reads its pushes from then on.
 */
export function directSource(always: readonly Channel[], used: readonly Channel[]): PushSource {
  const channels = [...always, ...used];
  let onLost: ((error: BrokerError, link?: Link) => void) | undefined;

  const watch = (link: Link) => {
    void link.ended.then((error) => onLost?.(error, link));
  };

  return {
    async open({ onLife, onFrame, onPush, onRefusedPush }: PushHandlers, signal): Promise<PushLine> {
      const { promise, resolve } = Promise.withResolvers<BrokerError>();
      const open = new Set<Link>();
      let brokenSince: number | undefined;
      for (const channel of channels) {
        channel.listen({
          onLife() {
            onFrame();
            onLife();
          },
          onPush,
          onRefusedPush,
          onLink(link) {
            if (open.has(link)) return;
            open.add(link);
            watch(link);
          },
        });
      }
      const wanted = [...always, ...used.filter(({ isStarted }) => isStarted)];
      const links = await orAborted(Promise.all(wanted.map((channel) => channel.ready())), signal);
      onLost = (error, link) => {
        onLost = undefined;
        brokenSince = link?.lastByteAt;
        resolve(error);
      };
      for (const link of links) {
        if (open.has(link)) continue;
        open.add(link);
        watch(link);
      }
      return {
        run: () => promise,
        // The connections stay open, because calls use them too.
        close: () =>
          onLost?.(new TransportError("Cannot read pushes: the stream is closed", { code: "closed" })),
        brokenSince: () => brokenSince,
      };
    },
    close() {
      onLost = undefined;
      for (const channel of channels) channel.listen({});
    },
  };
}
