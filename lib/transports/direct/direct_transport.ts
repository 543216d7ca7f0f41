/**
 * Implements the direct transport: platform HTTP, a trade socket and a market socket behind the common transport
 * interface.
 *
 * @see API document 4.7, 4.8, 5, 6.2
 * @module
 */
import { RequestType } from "../../dictionaries/message_type.ts";
import {
  DisplacedError,
  LoginExpiredError,
  ProtocolError,
  TransportError,
  UnmappedError,
} from "../../errors.ts";
import { account } from "../../operations/account.ts";
import { findOperation } from "../../operations/mod.ts";
import { type AnyOperation, encodeParams } from "../../operations/operation.ts";
import { type Machine, machineWith } from "../../time.ts";
import { type Envelopes, loadEnvelopes, type Payload } from "../../wire/messages.ts";
import {
  exportPublicKey,
  type PublicKey,
  publicKeyOf,
  readPrivateKey,
  readPublicKey,
} from "../../wire/keys.ts";
import { checkSigningKey } from "../../wire/sealing.ts";
import { rawContext } from "../envelope.ts";
import { addressOf } from "../net/address.ts";
import { type CallContext, undelivered } from "../outcome.ts";
import { type PushHooks, type PushStream, pushStreamOf } from "../push/stream.ts";
import {
  type CallOptions,
  type ReadOnly,
  refuseReadOnly,
  reportBrokerTime,
  type Transport,
} from "../transport.ts";
import { Channel, type ChannelOptions, directSource } from "./channel.ts";
import {
  type ChannelName,
  describeDirectEvent,
  type DirectEvent,
  type DirectState,
  EventFeed,
} from "./events.ts";
import { defaultLeaseFolder, type Lease, leaseName, takeLease } from "./lease.ts";
import type { Link } from "./link.ts";
import { CallLimits } from "./link_calls.ts";
import { deviceNumber, type DirectOptions } from "./options.ts";
import { PlatformHttp } from "./platform_http.ts";
import { isKeyFault, PlatformSession, type Token } from "./platform_session.ts";
import { checkCode, checkType, encodePayload, responseNumber } from "./payloads.ts";
import { SocketCalls } from "./socket_calls.ts";
import { Logins, needsLogin, type Route, TradeLogin } from "./trade_login.ts";

/** The direct transport, with the states of its connections. */
export interface DirectTransport extends Transport {
  /** Yields the latest state of each connection that has been used, then every change. */
  states(): AsyncIterableIterator<DirectState>;
  /** Yields the latest states of the connections, then every change, fault and late answer. */
  events(): AsyncIterableIterator<DirectEvent>;
  /** Returns the latest state of a connection. */
  state(channel: ChannelName): DirectState;
  /** Returns the state of each connection as text, one line each. */
  describe(): string;
}

/** Defaults of the options `tokenMs`, `keepLoginMs` and `renewAtSerial`. */
const TOKEN_MS = 3 * 60 * 60 * 1000;
const KEEP_LOGIN_MS = 60_000;
const RENEW_AT_SERIAL = 0xf000_0000;

/** Creates the transport. It sends nothing before the first call. */
export async function createDirectTransport(options: DirectOptions): Promise<DirectTransport> {
  return new Direct(options, await loadEnvelopes());
}

class Direct implements DirectTransport {
  readonly name = "direct";
  readonly logins: Logins;
  readonly #calls: SocketCalls;
  readonly #options: DirectOptions;
  readonly #envelopes: Envelopes;
  readonly #machine: Machine;
  readonly #platformKey: PublicKey;
  readonly #leaseAccount: string;
  readonly #timeoutMs: number;
  readonly #http: PlatformHttp;
  readonly #session: PlatformSession;
  readonly #tradeLogin: TradeLogin;
  readonly #feed = new EventFeed();
  readonly #trade: Channel | undefined;
  readonly #quote: Channel;
  #lease: Lease | undefined;
  #closed: Promise<void> | undefined;
  readonly #closing = new AbortController();

  readonly readOnly?: ReadOnly;

  /** Resolves to a digest of the developer's public key: it differs between accounts, and does not reveal the key. */
  readonly account = (): Promise<string> => leaseName(this.#leaseAccount);

  constructor(options: DirectOptions, envelopes: Envelopes) {
    this.#options = options;
    if (options.readOnly !== undefined) this.readOnly = options.readOnly;
    this.#envelopes = envelopes;
    this.#machine = machineWith(options.machine);
    const { url, parameters, caCerts, country, mobile, password, trade = true } = options;
    const privateKey = readPrivateKey(options.privateKey);
    this.#platformKey = readPublicKey(options.platformKey);
    // Check the keys now. Otherwise a wrong key would show only after the login was sent.
    checkSigningKey(privateKey);
    checkSigningKey(this.#platformKey);
    this.#leaseAccount = exportPublicKey(publicKeyOf(privateKey));
    this.#timeoutMs = options.timeoutMs ?? 10_000;
    this.#http = new PlatformHttp({
      url,
      timeoutMs: this.#timeoutMs,
      ...parameters !== undefined && { parameters },
      ...caCerts !== undefined && { caCerts },
    });
    const deviceId = deviceNumber(options.deviceId);
    this.#session = new PlatformSession({
      http: this.#http,
      login: { country, mobile, password, deviceId },
      privateKey,
      platformKey: this.#platformKey,
      tokenMs: options.tokenMs ?? TOKEN_MS,
      claimLevel2: options.claimLevel2 ?? false,
      ownServers: {
        ...options.tradeServer !== undefined && { trade: addressOf(options.tradeServer) },
        ...options.quoteServer !== undefined && { quote: addressOf(options.quoteServer) },
      },
      signal: this.#closing.signal,
      onLogin: () => this.#reportLogin(),
      machine: this.#machine,
    });
    this.#tradeLogin = new TradeLogin({
      password: options.readOnly === "yes" ? undefined : options.tradePassword,
      keepMs: options.keepLoginMs ?? KEEP_LOGIN_MS,
      machine: this.#machine,
      token: () => this.#session.token(),
      send: (link, token, operation, params) => this.#sendByItself(link, token, operation, params),
      onChange: () => {
        if (this.#trade?.link !== undefined) this.#trade.reportReady();
      },
    });
    this.logins = new Logins({
      session: this.#session,
      tradeLogin: this.#tradeLogin,
      onRenewed: () => {
        for (const channel of [this.#trade, this.#quote]) {
          if (channel?.link !== undefined) channel.reportReady();
        }
      },
    });
    this.#calls = new SocketCalls({
      messages: envelopes.messages,
      feed: this.#feed,
      now: this.#machine.now,
      session: this.#session,
      logins: this.logins,
      onDisplaced: (error) => this.#displaced(error),
    });
    const shared: Omit<ChannelOptions, "name"> = {
      session: this.#session,
      feed: this.#feed,
      machine: this.#machine,
      reconnect: options.reconnect ?? {},
      onDisplaced: (error) => this.#displaced(error),
      link: {
        envelopes,
        deviceId,
        sealing: {
          privateKey,
          publicKey: this.#platformKey,
          // The document gives no value for this field of the header, so it is zero.
          reserved: 0n,
          ...options.allowUnsigned !== undefined && { allowUnsigned: options.allowUnsigned },
          ...options.padding !== undefined && { padding: options.padding },
        },
        connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
        renewAtSerial: options.renewAtSerial ?? RENEW_AT_SERIAL,
        ...options.heartbeatMs !== undefined && { heartbeatMs: options.heartbeatMs },
        ...options.probe !== undefined && { probe: options.probe },
      },
    };
    this.#trade = !trade ? undefined : new Channel({
      ...shared,
      name: "trade",
      prepare: () => this.#takeLease(),
      complete: (link, token) => this.#completeTrade(link, token),
      tradeLogin: () => this.#tradeLogin.state,
    });
    this.#quote = new Channel({ ...shared, name: "quote" });
  }

  async call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    refuseReadOnly(this, operation);
    if (operation.platformPath !== undefined) return await this.#overHttp(operation, params, options);
    if (operation.reserved !== undefined) {
      throw new UnmappedError(
        `Cannot call ${operation.name}: ${operation.reserved}`,
        { code: "kept-by-transport", operation: operation.name, transport: this.name },
      );
    }
    const context = { operation, transport: this.name, params };
    const payload = this.#encode(
      context,
      () =>
        encodePayload(operation, params, {
          messages: this.#envelopes.messages,
          platformKey: this.#platformKey,
        }),
    );
    const channel = this.#channelOf(operation);
    using limits = new CallLimits(this.#machine, options.timeoutMs ?? this.#timeoutMs, options);
    if (operation.name === account.login.name) {
      // The client has validated the parameters.
      return await this.#logIn(channel, (params as { password: string }).password, payload, limits, options);
    }
    const route = this.#openRoute(channel, operation) ??
      await limits.guard(context, this.#prepare(context, channel));
    const answer = await this.#calls.send(route, { operation, params, payload }, limits, options);
    if (operation.name === account.logout.name) this.#tradeLogin.forget();
    return answer;
  }

  async raw(
    group: string,
    name: string,
    params: Record<string, unknown>,
    options: CallOptions,
  ): Promise<unknown> {
    refuseReadOnly(this, `${group}/${name}`);
    const context = await rawContext(`/${group}/${name}`, this.name);
    if (group === "hs") {
      const token = await this.#session.token();
      return await this.#http.post(context, `/hs/${name}`, { ...params, token: token.text }, options);
    }
    const requestType = group === "hq" ? `HQ${name}` : name;
    if (!RequestType.has(requestType)) {
      throw new UnmappedError(
        `Cannot call "${name}" over the direct transport: its type number is not known`,
        {
          code: "not-on-socket",
          transport: this.name,
        },
      );
    }
    const { messages } = this.#envelopes;
    const operation = findOperation(name);
    const socket = operation?.socket;
    const isMapped = operation !== undefined && socket !== undefined && !("gap" in socket);
    const message = socket !== undefined && !("gap" in socket) ? socket.request : `${name}Request`;
    const payload = message === null || !messages.has(message)
      ? undefined
      : this.#encode(context, () => ({ name: message, bytes: messages.encode(message, params) }));
    using limits = new CallLimits(this.#machine, options.timeoutMs ?? this.#timeoutMs, options);
    const channel = group === "hq" ? this.#quote : this.#tradeOr(context);
    const route = await limits.guard(context, this.#prepare(context, channel));
    const response = await route.link.request({
      type: Number(RequestType.encode(requestType)),
      ...payload !== undefined && { payload },
      token: route.token.text,
      context,
      limits,
      beforeFirstByte: options.beforeFirstByte,
      onLate: () => {},
    });
    reportBrokerTime(options, response.time, "answer");
    return this.#calls.noting(context, route, () => {
      checkCode(context, response);
      if (isMapped) checkType(context, response, responseNumber(operation));
      const { payload: answer } = response;
      return answer === undefined ? null : messages.decode(answer.name, answer.bytes);
    });
  }

  openPushes(hooks: PushHooks): Promise<PushStream> {
    const trade = this.#trade;
    const source = trade === undefined
      ? directSource([this.#quote], [])
      : directSource([trade], [this.#quote]);
    return Promise.resolve(pushStreamOf(source, { reconnect: this.#options.reconnect ?? {}, ...hooks }));
  }

  events(): AsyncIterableIterator<DirectEvent> {
    return this.#feed.events();
  }

  async *states(): AsyncGenerator<DirectState, void, void> {
    for await (const event of this.#feed.events()) if (event.type === "state") yield event;
  }

  state(channel: ChannelName): DirectState {
    return this.#feed.latest(channel) ?? { type: "state", channel, phase: "idle", at: this.#machine.now() };
  }

  describe(): string {
    const channels: ChannelName[] = this.#trade === undefined ? ["quote"] : ["trade", "quote"];
    return channels.map((channel) => describeDirectEvent(this.state(channel))).join("\n");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    this.#tradeLogin[Symbol.dispose]();
    this.#closing.abort(
      new TransportError("Cannot continue: the client is closed", { code: "closed", transport: this.name }),
    );
    await Promise.all([this.#trade?.close(), this.#quote.close()]);
    await this.#releaseLease();
    this.#feed.end();
  }

  /** Reports the platform login for each connection that was used; an open connection stays open. */
  #reportLogin(): void {
    for (const channel of [this.#trade, this.#quote]) {
      if (channel?.isStarted) channel.reportPhase("platform-login");
    }
  }

  #channelOf(operation: AnyOperation): Channel {
    return operation.group === "hq" ? this.#quote : this.#tradeOr({ operation, transport: this.name });
  }

  #tradeOr({ operation }: CallContext): Channel {
    if (this.#trade !== undefined) return this.#trade;
    throw new UnmappedError(
      `Cannot call ${operation.name}: this client was made without the trade connection (option trade)`,
      { code: "no-trade", operation: operation.name, transport: this.name },
    );
  }

  /**
   * Encodes a request. If it does not fit its message, throws an error that says that nothing was sent.
   */
  #encode<T>(context: CallContext, encode: () => T): T {
    try {
      return encode();
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw undelivered(context, error.message, error.code ?? "message-field", error);
    }
  }

  /**
   * Returns the connection and token for a read that can be sent now. Returns `undefined` for a write, or if
   * something must be prepared first.
   */
  #openRoute(channel: Channel, { needs, effect }: AnyOperation): Route | undefined {
    const { link } = channel;
    const token = this.#session.valid;
    if (link === undefined || token === undefined || effect === "write") return undefined;
    const isReady = needs !== "trade-login" || !this.#tradeLogin.isWanted ||
      this.#tradeLogin.isMade(link, token);
    return isReady ? { link, token, made: this.#tradeLogin.made } : undefined;
  }

  /**
   * Prepares what a call needs: connection, token and trade login. For a write, also checks that the connection is
   * alive.
   */
  async #prepare(context: CallContext, channel: Channel): Promise<Route> {
    for (let isFirst = true;; isFirst = false) {
      try {
        const link = await channel.ready();
        const token = await this.#session.token();
        if (channel === this.#trade && needsLogin(context)) await this.#tradeLogin.ensure(link, token);
        if (context.operation.effect === "write") await link.confirm();
        return { link, token, made: this.#tradeLogin.made };
      } catch (error) {
        // The token may expire during the trade login. This call was not sent yet, so trying again is safe.
        if (isFirst && error instanceof LoginExpiredError && this.#session.valid === undefined) continue;
        // Throw the key error unchanged: callers retry a read after a TransportError, and a retry cannot succeed with
        // a wrong key.
        if (isKeyFault(error) && context.operation.effect !== "write") throw error;
        if (error instanceof TransportError || error instanceof ProtocolError) {
          throw undelivered(context, error.message, error.code ?? "not-connected", error);
        }
        throw error;
      }
    }
  }

  /** Stops after a login takeover. Logging in again would start an endless exchange of takeovers. */
  #displaced(error: DisplacedError): void {
    this.#session.stop(error);
    this.#trade?.stop(error);
    this.#quote.stop(error);
    void this.#releaseLease();
  }

  /**
   * Makes a trade login that a person asked for. Allows automatic logins again if a rejection has stopped them.
   */
  async #logIn(
    channel: Channel,
    password: string,
    payload: Payload | undefined,
    limits: CallLimits,
    options: CallOptions,
  ): Promise<unknown> {
    const context = { operation: account.login, transport: this.name };
    this.#session.allowAgain();
    this.#trade?.allowAgain();
    this.#quote.allowAgain();
    const { count: before, tries } = this.#tradeLogin;
    const route = await limits.guard(context, this.#prepare(context, channel));
    // Preparing the connection has just logged in with this password.
    if (this.#tradeLogin.count > before && this.#tradeLogin.knows(password)) return { success: true };
    // Preparing the connection has just tried this password, and the broker rejected it: do not send it again.
    const { refusal } = this.#tradeLogin;
    if (refusal !== undefined && this.#tradeLogin.tries > tries && this.#tradeLogin.knows(password)) {
      throw refusal;
    }
    // `send` decodes the answer with the type of `account.login`, so the cast is safe.
    const call = { operation: account.login, params: { password }, payload };
    const answer = await this.#calls.send(route, call, limits, options) as { success: boolean };
    if (answer.success) this.#tradeLogin.remember(password, route.link, route.token);
    return answer;
  }

  async #completeTrade(link: Link, token: Token): Promise<void> {
    if (!this.#tradeLogin.isWanted) return;
    this.#trade?.reportPhase("trade-login");
    try {
      await this.#tradeLogin.ensure(link, token);
    } catch (error) {
      // A wrong password does not affect the connection; operations that need the login report it themselves.
      if (this.#tradeLogin.state !== "refused") throw error;
    }
  }

  /** Sends a call for the transport's own purposes. */
  async #sendByItself(link: Link, token: Token, operation: AnyOperation, params: unknown): Promise<unknown> {
    const { messages } = this.#envelopes;
    const payload = encodePayload(operation, params, { messages, platformKey: this.#platformKey });
    using limits = new CallLimits(this.#machine, this.#timeoutMs, {});
    return await this.#calls.send(
      { link, token, made: this.#tradeLogin.made },
      { operation, params, payload },
      limits,
      {},
    );
  }

  async #overHttp(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    const encoded = encodeParams(operation, params);
    const limits = {
      timeoutMs: options.timeoutMs ?? this.#timeoutMs,
      ...options.signal !== undefined && { signal: options.signal },
      ...options.onWire !== undefined && { onWire: options.onWire },
    };
    const takesToken = operation.needs === "platform-login" && !("token" in encoded);
    if (!takesToken) return await this.#session.call(operation, encoded, limits);
    const token = await this.#session.token();
    try {
      const answer = await this.#session.call(operation, { ...encoded, token: token.text }, limits);
      this.#session.touch(token);
      return answer;
    } catch (thrown) {
      const error = this.logins.asExpiredIfReplaced(thrown, token);
      if (error instanceof DisplacedError) this.#displaced(error);
      else if (error instanceof LoginExpiredError) this.#session.invalidate(token);
      throw error;
    }
  }

  async #takeLease(): Promise<void> {
    const { leaseFolder, program = "hsgate" } = this.#options;
    if (leaseFolder === false || this.#lease !== undefined) return;
    const env = this.#options.env ?? ((name: string) => Deno.env.get(name));
    this.#lease = await takeLease({
      folder: leaseFolder ?? defaultLeaseFolder(env),
      name: await leaseName(this.#leaseAccount),
      program,
      now: this.#machine.now(),
    });
  }

  async #releaseLease(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    await lease?.[Symbol.asyncDispose]();
  }
}
