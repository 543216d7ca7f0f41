/**
 * Handles one socket: InitConnect, calls and their answers, heartbeats, pushes.
 *
 * @module
 */
import { Tasks } from "../../endpoints/connections.ts";
import { ProtocolError } from "../../errors.ts";
import type { Params } from "../../operations/operation.ts";
import type { platform } from "../../operations/platform.ts";
import type { Envelopes, Payload, Request } from "../../wire/messages.ts";
import { wireError } from "../../wire/faults.ts";
import type { Frame } from "../../wire/framing.ts";
import type { SealingOptions } from "../../wire/sealing.ts";
import type { Clock } from "../../time.ts";
import { Refusal } from "../contract.ts";
import { Calls, decodeParams } from "../endpoints/calls.ts";
import type { BrokerCalls } from "../endpoints/core.ts";
import type { Faults } from "../endpoints/faults.ts";
import { spoilPage } from "../endpoints/page_faults.ts";
import { type PushBodies, PushLane } from "../endpoints/pushes.ts";
import { type ShapedAnswers, shapedPayload } from "../endpoints/shaped.ts";
import { QuoteFeed, Subscriptions } from "../endpoints/subscriptions.ts";
import { TradeLogin, type TradeLoginState } from "../endpoints/trade_login.ts";
import type { Access, Tokens } from "./access.ts";
import { CallFaults } from "./call_faults.ts";
import { FrameSender } from "./frame_sender.ts";
import { Refusals } from "./refusals.ts";
import {
  openConnection,
  operationOf,
  readPayload,
  responseNumberOf,
  type SocketKind,
  type SocketOperation,
  writePayload,
} from "./socket_operations.ts";

/** What all sessions of a platform share. */
export interface SessionOptions {
  broker: BrokerCalls;
  faults: Faults;
  shapedAnswers: ShapedAnswers;
  clock: Clock;
  tokens: Tokens;
  access: Access;
  bodies: PushBodies;
  envelopes: Envelopes;
  keys: SealingOptions;
  /** Seconds between heartbeats; the session sends this number to the client. */
  heartbeatIntervalSec: number;
  tradePassword: string;
  loginLifeMs: number;
  barsNeedSubscription: boolean;
  /** Maximum number of bytes that wait for a slow reader; beyond it, the reader is disconnected. */
  bufferLimit: number;
  /** Returns the key for a session. */
  makeSessionKey: () => Uint8Array<ArrayBuffer>;
  sleep: (ms: number) => Promise<void>;
  /** Called after each executed call, except InitConnect. */
  onTaken: () => void;
  /** Called with errors of the simulator itself. */
  onError: (error: unknown) => void;
}

/** The error of a request that an armed fault makes unreadable. */
const unreadable = wireError("cipher-segment", "Cannot decrypt: an armed fault makes the request unreadable");

/** Callbacks for the opening of sessions. */
interface SessionListener {
  /** Called when InitConnect succeeds, before its answer. */
  opening(session: Session): void;
  /** Called after the answer to InitConnect. */
  opened(): void;
}

/** Input of a session. */
interface SessionInit extends SessionOptions {
  listener: SessionListener;
}

/** One socket of a client. */
export class Session implements Disposable {
  readonly #kind: SocketKind;
  readonly #options: SessionOptions;
  readonly #sender: FrameSender;
  readonly #tasks = new Tasks();
  readonly #subscriptions = new Subscriptions();
  readonly #login: TradeLogin;
  readonly #calls: Calls;
  readonly #lane: PushLane;
  readonly #feed: QuoteFeed;
  readonly #faults: CallFaults;
  readonly #refusals: Refusals;
  readonly #listener: SessionListener;
  #isOpen = false;
  #isTakenOver = false;

  constructor(conn: Deno.TcpConn, kind: SocketKind, { listener, ...options }: SessionInit) {
    const { broker, faults, keys, bufferLimit, tokens, sleep, clock, bodies } = options;
    this.#kind = kind;
    this.#options = options;
    this.#listener = listener;
    const sender = new FrameSender(conn, { keys, faults, bufferLimit });
    this.#sender = sender;
    this.#login = new TradeLogin({
      password: options.tradePassword,
      decrypt: options.access.decrypt,
      lifeMs: options.loginLifeMs,
      clock,
    });
    const subscriptions = this.#subscriptions;
    this.#calls = new Calls({
      broker,
      login: this.#login,
      subscriptions,
      barsNeedSubscription: options.barsNeedSubscription,
    });
    this.#lane = new PushLane(faults, {
      send: (push, body) => sender.push(push, body),
      cut: (body, { bytes }) => sender.cutPush(body, bytes),
    });
    this.#feed = new QuoteFeed({
      broker,
      subscriptions,
      send: (type, data) => this.#lane.send(type, bodies.market(type, data)),
    });
    const { envelopes, onError } = options;
    this.#refusals = new Refusals({ envelopes, clock, sender, onError });
    this.#faults = new CallFaults({
      faults,
      tokens,
      sender,
      sleep,
      expireLogin: () => this.#login.expire(),
      forgetSession: () => this.#isOpen = false,
    });
  }

  /** Whether InitConnect was answered and no later connection has replaced this one. */
  get isLive(): boolean {
    return this.#isOpen && !this.#isTakenOver;
  }

  /** State of this connection's trade login. */
  get tradeLogin(): TradeLoginState {
    return this.#login.state;
  }

  /** Number of this connection's subscriptions. */
  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  /** Whether order changes are pushed here. */
  get orderPushes(): boolean {
    return this.isLive && this.#subscriptions.orderPushes;
  }

  /** Resolves when the connection is closed and none of its tasks is running. */
  async ended(): Promise<void> {
    await this.#sender.done;
    await this.#tasks.ended();
  }

  /** Handles a frame; sends the answer later. */
  take(frame: Frame): void {
    if (frame.type === "heartbeat") return this.#beat();
    const { serial } = frame;
    if (frame.type !== "request") return this.#refusals.sendIllegal(serial);
    let request: Request;
    try {
      request = this.#options.envelopes.decodeRequest(this.#sender.open(frame).body);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      return this.#refusals.sendUnread(error, serial);
    }
    this.#tasks.add(this.#answer(request, serial));
  }

  /** Rejects bytes that are not frames, and closes the connection, because later bytes cannot be read either. */
  refuseStream(): void {
    this.#refusals.sendIllegal(0);
    this.#sender.end();
  }

  /** Marks this connection as replaced by another trade connection of the account. */
  displace(): void {
    this.#isTakenOver = true;
  }

  /** Pushes an order change. */
  pushOrder(body: Uint8Array): void {
    this.#lane.send("order", body);
  }

  /** Pushes what has changed in the subscriptions since the previous round. */
  round(): void {
    if (!this.isLive) return;
    this.#feed.round();
    this.#lane.sendWaiting();
  }

  /** Closes the connection immediately. */
  close(): void {
    this.#sender.close();
  }

  [Symbol.dispose](): void {
    this.#sender[Symbol.dispose]();
  }

  #beat(): void {
    const { faults } = this.#options;
    if (this.#isTakenOver) return this.#sender.end();
    const fault = faults.strikeAny("silence", ({ operation }) => operation === undefined);
    if (fault === undefined) this.#sender.heartbeat();
    else this.#sender.mute();
  }

  async #answer(request: Request, serial: number): Promise<void> {
    let operation: SocketOperation | undefined;
    let isSystem = false;
    try {
      if (this.#isTakenOver) throw new Refusal("1013", "displaced by another connection");
      operation = operationOf(request.type, this.#kind);
      const late = this.#faults.late(operation, "request");
      if (late !== undefined) await late;
      const verdict = this.#faults.before(operation);
      if (verdict === "handled") return;
      if (verdict === "unreadable") return this.#refusals.sendUnread(unreadable, serial);
      if (verdict !== "execute") {
        isSystem = verdict.isSystem ?? false;
        throw verdict.refusal;
      }
      await this.#call(operation, request, serial);
    } catch (error) {
      this.#refusals.send(error, { request, serial, operation, isSystem });
    }
  }

  async #call(operation: SocketOperation, request: Request, serial: number): Promise<void> {
    const { envelopes: { messages }, tokens, faults, onTaken } = this.#options;
    tokens.demand(request.token);
    const plain = readPayload(messages, operation, request.payload);
    if (operation === openConnection) return await this.#open(request, serial, plain);
    if (!this.#isOpen) throw new Refusal("1004", "socket not initialized");
    const { authType, authParam } = plain;
    // A trade login may name its device; most clients leave both fields empty.
    if (authType === "0" && typeof authParam === "string") this.#options.access.demandDevice(authParam);
    const params = this.#calls.read(operation, plain);
    const seen = this.#options.shapedAnswers.socket(operation, params);
    if (seen !== undefined) {
      return await this.#send(operation, {
        request,
        serial,
        ...seen,
        payload: shapedPayload(messages, seen),
      });
    }
    const result = this.#calls.answer(operation, params);
    onTaken();
    const answer = (other: unknown) => this.#calls.answer(operation, other);
    // A socket message cannot leave out its list: `empty-page` becomes a message without rows.
    const shown = spoilPage(faults, { operation, params, result, answer }) ?? operation.response.decode({});
    await this.#reply(operation, { request, serial, payload: writePayload(messages, operation, shown) });
  }

  async #open(request: Request, serial: number, plain: Record<string, unknown>): Promise<void> {
    const { access, envelopes: { messages }, heartbeatIntervalSec, makeSessionKey } = this.#options;
    // The validated parameters of this operation.
    const { deviceId } = decodeParams(openConnection, plain) as Params<typeof platform.openConnection>;
    access.demandDevice(deviceId);
    const key = makeSessionKey();
    const result = { sessionKey: key.toBase64(), heartbeatIntervalSec };
    // A second InitConnect on a socket ends the login of the previous session.
    this.#login.logout();
    this.#subscriptions.clear();
    this.#listener.opening(this);
    const payload = writePayload(messages, openConnection, result);
    await this.#reply(openConnection, { request, serial, payload });
    this.#sender.useSessionKey(key);
    this.#isOpen = true;
    this.#listener.opened();
  }

  async #reply(
    operation: SocketOperation,
    { request, serial, payload }: { request: Request; serial: number; payload: Payload | undefined },
  ): Promise<void> {
    const type = responseNumberOf(operation);
    await this.#send(operation, { request, serial, type, code: "0000", text: "success", payload });
  }

  async #send(
    operation: SocketOperation,
    { request, serial, type, code, text, payload }: {
      request: Request;
      serial: number;
      type: number;
      code: string;
      text: string;
      payload: Payload | undefined;
    },
  ): Promise<void> {
    const { envelopes, clock } = this.#options;
    const body = envelopes.encodeResponse({ type, id: request.id, time: clock.now(), code, text, payload });
    const late = this.#faults.late(operation, "answer");
    if (late !== undefined) await late;
    this.#faults.answer(operation, serial, body);
  }
}
