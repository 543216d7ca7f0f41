/**
 * One socket's conversation: InitConnect, calls and their answers, heartbeats, pushes.
 *
 * @module
 */
import { ProtocolError } from "../../errors.ts";
import type { Params } from "../../operations/operation.ts";
import type { platform } from "../../operations/platform.ts";
import type { Envelopes, Payload, Request } from "../../wire/envelope.ts";
import { wireError } from "../../wire/faults.ts";
import type { Frame } from "../../wire/framing.ts";
import type { SealingOptions } from "../../wire/sealing.ts";
import type { Clock } from "../clock.ts";
import { Refusal } from "../contract.ts";
import { Calls, type DoorBroker } from "../doors/calls.ts";
import { Tasks } from "../doors/connections.ts";
import type { Faults } from "../doors/faults.ts";
import { spoilPage } from "../doors/page_faults.ts";
import { decodeParams } from "../doors/params.ts";
import type { PushBodies } from "../doors/push_bodies.ts";
import { PushLane } from "../doors/push_lane.ts";
import { QuoteFeed } from "../doors/quote_feed.ts";
import { Subscriptions } from "../doors/subscriptions.ts";
import { TradeLogin, type TradeLoginState } from "../doors/trade_login.ts";
import type { Access } from "./access.ts";
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
import type { Tokens } from "./tokens.ts";

/** What all sessions of a platform share. */
export interface SessionOptions {
  broker: DoorBroker;
  faults: Faults;
  clock: Clock;
  tokens: Tokens;
  access: Access;
  bodies: PushBodies;
  envelopes: Envelopes;
  keys: SealingOptions;
  /** Announced to the client. */
  heartbeatIntervalSec: number;
  tradePassword: string;
  loginLifeMs: number;
  barsNeedSubscription: boolean;
  /** Bytes that may wait for a slow reader before it is cut off. */
  bufferLimit: number;
  /** Makes the key of a session. */
  makeSessionKey: () => Uint8Array<ArrayBuffer>;
  sleep: (ms: number) => Promise<void>;
  /** Told about every call that the broker has taken. */
  onTaken: () => void;
  /** Told about mistakes of the simulator. */
  onError: (error: unknown) => void;
}

/** What a fault pretends. */
const unreadable = wireError("cipher-segment", "Cannot decrypt: a fault says so");

/** Who is told how a session begins. */
export interface SessionListener {
  /** InitConnect succeeds, and is about to be answered. */
  opening(session: Session): void;
  /** It has been answered. */
  opened(): void;
}

/** What a session is made from. */
export interface SessionInit extends SessionOptions {
  listener: SessionListener;
}

/** A socket's conversation. */
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
  #isDisplaced = false;

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

  /** Whether InitConnect has been answered, and no later connection has taken its place. */
  get isLive(): boolean {
    return this.#isOpen && !this.#isDisplaced;
  }

  /** Where the trade login of this connection stands. */
  get tradeLogin(): TradeLoginState {
    return this.#login.state;
  }

  /** Topics of securities that this connection has subscribed. */
  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  /** Whether changes of orders are pushed here. */
  get orderPushes(): boolean {
    return this.isLive && this.#subscriptions.orderPushes;
  }

  /** Resolves when the connection is closed and nothing runs for it any more. */
  async ended(): Promise<void> {
    await this.#sender.done;
    await this.#tasks.ended();
  }

  /** Takes a frame. What it answers goes out later. */
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

  /** Says that the bytes are no frames, and closes: nothing that follows can be read. */
  refuseStream(): void {
    this.#refusals.sendIllegal(0);
    this.#sender.end();
  }

  /** Gives way to another trade connection of the account. */
  displace(): void {
    this.#isDisplaced = true;
  }

  /** Pushes a change of an order. */
  pushOrder(body: Uint8Array): void {
    this.#lane.send("order", body);
  }

  /** Pushes what has changed in the subscriptions since the round before. */
  round(): void {
    if (!this.isLive) return;
    this.#feed.round();
    this.#lane.flushHeld();
  }

  /** Closes at once. */
  close(): void {
    this.#sender.close();
  }

  [Symbol.dispose](): void {
    this.#sender[Symbol.dispose]();
  }

  #beat(): void {
    const { faults } = this.#options;
    if (this.#isDisplaced) return this.#sender.end();
    const fault = faults.strikeAny("silence", ({ operation }) => operation === undefined);
    if (fault === undefined) this.#sender.heartbeat();
    else this.#sender.mute();
  }

  async #answer(request: Request, serial: number): Promise<void> {
    let operation: SocketOperation | undefined;
    let isSystem = false;
    try {
      if (this.#isDisplaced) throw new Refusal("1013", "displaced by another connection");
      operation = operationOf(request.type, this.#kind);
      const late = this.#faults.late(operation, "request");
      if (late !== undefined) await late;
      const verdict = this.#faults.before(operation);
      if (verdict === "dealt-with") return;
      if (verdict === "unreadable") return this.#refusals.sendUnread(unreadable, serial);
      if (verdict !== "go-on") {
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
    // A trade login may name its device; most clients leave both empty.
    if (authType === "0" && typeof authParam === "string") this.#options.access.demandDevice(authParam);
    const params = this.#calls.read(operation, plain);
    const result = this.#calls.answer(operation, params);
    onTaken();
    const answer = (other: unknown) => this.#calls.answer(operation, other);
    // A message has no other sign for a list without rows.
    const shown = spoilPage(faults, { operation, params, result, answer }) ?? operation.response.decode({});
    await this.#reply(operation, { request, serial, payload: writePayload(messages, operation, shown) });
  }

  async #open(request: Request, serial: number, plain: Record<string, unknown>): Promise<void> {
    const { access, envelopes: { messages }, heartbeatIntervalSec, makeSessionKey } = this.#options;
    // Checked params of this very operation.
    const { deviceId } = decodeParams(openConnection, plain) as Params<typeof platform.openConnection>;
    access.demandDevice(deviceId);
    const key = makeSessionKey();
    const result = { sessionKey: key.toBase64(), heartbeatIntervalSec };
    // What the session before had, a second InitConnect on one socket ends.
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
    const { envelopes, clock } = this.#options;
    const body = envelopes.encodeResponse({
      type: responseNumberOf(operation),
      id: request.id,
      time: clock.now(),
      code: "0000",
      text: "success",
      payload,
    });
    const late = this.#faults.late(operation, "answer");
    if (late !== undefined) await late;
    this.#faults.answer(operation, serial, body);
  }
}
