/**
 * Manages one direct connection from its opening to its end: the first request, serial numbers, concurrent calls and
 * heartbeats.
 *
 * @see API document 4.8, 6.2
 * @module
 */
import { joinBytes } from "../../bytes.ts";
import { type BrokerError, DisplacedError, messageOf, ProtocolError, TransportError } from "../../errors.ts";
import { platform } from "../../operations/platform.ts";
import type { Envelopes, Response } from "../../wire/messages.ts";
import { FIRST_ANSWER_SEGMENTS } from "../../wire/cipher.ts";
import type { Frame } from "../../wire/framing.ts";
import { Sealing, type SealingOptions } from "../../wire/sealing.ts";
import type { Address } from "../net/address.ts";
import {
  type CallContext,
  rejection,
  shortened,
  shortenedId,
  unanswered,
  undelivered,
  unreadable,
} from "../outcome.ts";
import { closeQuietly, openWithin, readFrames } from "../push/connection.ts";
import { isKnownPush } from "../push/reader.ts";
import { Heartbeat } from "./heartbeat.ts";
import { type LinkCall, LinkCalls, type LinkRequest } from "./link_calls.ts";
import type { Machine } from "../../time.ts";
import type { ProbeOptions } from "./options.ts";
import { readInit, requestNumber } from "./payloads.ts";

/** Callbacks of an open link. */
export interface LinkHandlers {
  /** Called when the socket is open; the first request follows. */
  onConnected?(): void;
  /** Called when a whole frame or a large part of a frame arrives. */
  onLife?(): void;
  /** Called with each push; its body is only valid during the call. */
  onPush?(body: Uint8Array): void;
  /** Called when the link rejects a push and keeps the connection open. */
  onRefusedPush?(): void;
  /** Called with an error that belongs to no call. */
  onFault?(error: BrokerError): void;
}

/** Options of {@linkcode openLink}. */
export interface LinkOptions {
  address: Address;
  /** Name of the other end for messages. */
  peer: string;
  sealing: SealingOptions;
  envelopes: Envelopes;
  deviceId: string;
  token: string;
  connectTimeoutMs: number;
  heartbeatMs?: number;
  probe?: ProbeOptions | false;
  renewAtSerial: number;
  machine: Machine;
  handlers: LinkHandlers;
  signal: AbortSignal;
}

/** Used until the platform sends its own value. */
const DEFAULT_HEARTBEAT_MS = 90_000;
/** This many received bytes show that the link is alive, even before their frame is complete. */
const PART_BYTES = 4096;
/** Code of the error for a first answer that cannot be decrypted, verified or decoded. */
export const FIRST_ANSWER_CODE = "first-answer";
const LAST_SERIAL = 0xffff_ffff;
/** Number of requests that are signed and written together. Signing one request takes a third of a millisecond. */
const BATCH = 8;

/**
 * Opens a connection and sends the first request on it.
 *
 * @throws {TransportError} If there is no connection, or it broke immediately.
 * @throws {RejectedError} If the platform rejects the request, for example because the token has expired.
 * @throws {ProtocolError} If the answer is invalid; with code `first-answer` if it is unreadable, for example
 * because of wrong keys.
 */
export async function openLink(options: LinkOptions): Promise<Link> {
  const { address, connectTimeoutMs: timeoutMs, signal, handlers } = options;
  const connection = await openWithin(
    // Open a whole TCP connection, because a direct link also writes. A push connection only reads.
    (to) => Deno.connect({ ...to, transport: "tcp" }),
    address,
    { timeoutMs, signal, transport: "direct" },
  ) as Deno.TcpConn;
  handlers.onConnected?.();
  const link = new Link(connection, options);
  const stop = () => link.close();
  signal.addEventListener("abort", stop);
  try {
    if (signal.aborted) stop();
    await link.initialize();
    return link;
  } catch (error) {
    link.close();
    await link.ended;
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** An open connection. */
export class Link {
  readonly #connection: Deno.TcpConn;
  readonly #options: LinkOptions;
  readonly #sealing: Sealing;
  readonly #calls = new LinkCalls();
  readonly #heartbeat: Heartbeat;
  readonly #urgent: Uint8Array[] = [];
  /** Resolves to the error that ended the connection. */
  readonly ended: Promise<BrokerError>;
  #serial = 0;
  #writing = false;
  #failure: BrokerError | undefined;
  #heartbeatMs = DEFAULT_HEARTBEAT_MS;
  #lastByteAt: number;
  /** Whether a heartbeat was sent and nothing has arrived since. */
  #awaitsBeat = false;
  #isHungUp = false;
  /** Whether an encrypted push of a known type has arrived. */
  #hasSealedPush = false;
  /** Called with the first answer; `undefined` once an RSA frame has arrived. */
  #onInit: ((response: Response) => void) | undefined;

  constructor(connection: Deno.TcpConn, options: LinkOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#sealing = new Sealing({ mostSegments: FIRST_ANSWER_SEGMENTS, ...options.sealing });
    this.#heartbeat = new Heartbeat(options.machine, {
      send: () => this.#sendHeartbeat(),
      dead: (error) => this.fail(error),
    }, options.probe);
    this.#lastByteAt = options.machine.now();
    this.ended = this.#run();
  }

  /** Whether calls can be made. */
  get isOpen(): boolean {
    return this.#failure === undefined;
  }

  /** The time between heartbeats. */
  get heartbeatMs(): number {
    return this.#heartbeatMs;
  }

  /** When the last frame, or a large part of one, arrived; at first, when the link was opened. Unix milliseconds. */
  get lastByteAt(): number {
    return this.#lastByteAt;
  }

  /**
   * Whether the other end closed the connection in answer to a heartbeat, with no call in progress. Platforms do this
   * after another program has taken over the connection.
   */
  get isHungUp(): boolean {
    return this.#isHungUp;
  }

  /** Number of calls in progress. */
  get inFlight(): number {
    return this.#calls.size;
  }

  /**
   * Resolves when the other end is known to be alive: at once if a frame has arrived recently, otherwise when a frame
   * arrives. Without a probe, resolves at once.
   *
   * @throws {TransportError} If no frame arrives in time; the connection then ends.
   */
  confirm(): Promise<void> {
    return this.#heartbeat.confirm();
  }

  /** Sends a request and resolves to its answer, even if the answer is a rejection. */
  request(request: LinkRequest): Promise<Response> {
    if (this.#failure !== undefined) {
      return Promise.reject(
        undelivered(
          request.context,
          `the connection broke (${this.#failure.message})`,
          "not-connected",
          this.#failure,
        ),
      );
    }
    const answer = this.#calls.add(this.#options.machine.id(), request);
    this.#write();
    return answer;
  }

  /** Ends the connection with an error. */
  fail(error: BrokerError): void {
    this.#failure ??= error;
    closeQuietly(this.#connection);
  }

  /** Ends the connection. */
  close(): void {
    this.fail(new TransportError("Cannot continue: the connection was closed", { code: "closed" }));
  }

  /** Sends the first request and uses the session key in its answer. */
  async initialize(): Promise<void> {
    const { machine, deviceId, envelopes, connectTimeoutMs, token, peer } = this.#options;
    const context: CallContext = { operation: platform.openConnection, transport: "direct" };
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const id = machine.id();
    this.#calls.issue(id);
    this.#onInit = (response) => {
      // Set the key synchronously: the next frame needs it.
      try {
        checkFirst(response, id, peer);
        const { key, heartbeatMs } = readInit(context, response, envelopes.messages);
        this.#sealing.useSessionKey(key);
        resolve(heartbeatMs ?? DEFAULT_HEARTBEAT_MS);
      } catch (error) {
        reject(error);
      }
    };
    const cancel = machine.setTimer(
      connectTimeoutMs,
      () => reject(unanswered(context, `${peer} did not answer within ${connectTimeoutMs} ms`, "timeout")),
    );
    try {
      // `encode` returns an object of wire members.
      const plain = platform.openConnection.request.encode({ deviceId }) as Record<string, unknown>;
      const body = envelopes.encodeRequest({
        type: requestNumber(platform.openConnection),
        id,
        time: machine.now(),
        payload: { name: "InitConnectReq", bytes: envelopes.messages.encode("InitConnectReq", plain) },
        token,
      });
      this.#urgent.push(this.#sealing.seal({ type: "request", serial: 0, body }));
      this.#write();
      const intervalMs = await Promise.race([
        promise,
        this.ended.then((error) => {
          throw error;
        }),
      ]);
      this.#heartbeatMs = this.#options.heartbeatMs ?? intervalMs;
      this.#heartbeat.start(this.#heartbeatMs);
    } finally {
      cancel();
      this.#onInit = undefined;
    }
  }

  async #run(): Promise<BrokerError> {
    const { peer, handlers, machine } = this.#options;
    const read = await readFrames(this.#connection, {
      onLife: () => {
        this.#lastByteAt = machine.now();
        this.#awaitsBeat = false;
        this.#heartbeat.received();
        handlers.onLife?.();
      },
      onFrame: (frame) => this.#take(frame),
    }, { peer, partBytes: PART_BYTES, action: "read answers", transport: "direct" });
    this.#isHungUp = this.#failure === undefined && read.code === "closed" && this.#awaitsBeat &&
      this.#calls.size === 0;
    const error = this.#failure ??= read;
    closeQuietly(this.#connection);
    this.#heartbeat[Symbol.dispose]();
    this.#calls.end(error);
    this.#sealing[Symbol.dispose]();
    return error;
  }

  #take(frame: Frame): void {
    if (frame.type === "heartbeat") return; // a heartbeat only shows that the link is alive; ignore its body
    const { serial } = frame.header;
    if (frame.type === "request") {
      return this.#fault(
        new ProtocolError("Cannot accept a request: only the platform answers requests", { code: "request" }),
      );
    }
    if (frame.type === "push") return this.#takePush(frame);
    if (serial !== 0) {
      return this.#answer(this.#options.envelopes.decodeResponse(this.#sealing.open(frame).body));
    }
    const onInit = this.#onInit;
    // Check this before decryption: RSA decryption is expensive, and only the first answer uses RSA.
    if (onInit === undefined) {
      return this.#fault(
        new ProtocolError(
          "Cannot accept an answer encrypted with RSA: only the first answer of a connection uses RSA",
          {
            code: "rsa-late",
          },
        ),
      );
    }
    this.#onInit = undefined;
    onInit(this.#openFirst(frame));
  }

  #takePush(frame: Frame): void {
    const { onPush, onRefusedPush } = this.#options.handlers;
    const isSealed = frame.header.serial !== 0;
    if (!isSealed && this.#hasSealedPush) {
      onRefusedPush?.();
      return this.#fault(
        new ProtocolError(
          "Cannot accept an unencrypted push: earlier pushes of this connection were encrypted; check your orders",
          { code: "push-clear" },
        ),
      );
    }
    const { body } = this.#sealing.open(frame);
    // The signature does not cover the header: anybody on the network can send an encrypted answer again as a push. So
    // only the content shows that the platform encrypts its pushes.
    if (isSealed && !this.#hasSealedPush) {
      this.#hasSealedPush = isKnownPush(this.#options.envelopes.decodeNotify(body));
    }
    onPush?.(body);
  }

  /**
   * Decrypts, verifies and decodes the first answer. Every failure gives the same error: an attacker who changes the
   * answer on its way must not learn whether its RSA padding was valid.
   */
  #openFirst(frame: Frame): Response {
    try {
      return this.#options.envelopes.decodeResponse(this.#sealing.open(frame).body);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new ProtocolError(
        `Cannot read the first answer of ${this.#options.peer}: it was damaged or changed on its way, ` +
          "or the platform key or the developer key is wrong",
        { code: FIRST_ANSWER_CODE, transport: "direct" },
      );
    }
  }

  #answer(response: Response): void {
    try {
      this.#calls.answer(response);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#unasked(response, error);
    }
    const { renewAtSerial } = this.#options;
    if (this.#serial >= renewAtSerial && this.#calls.size === 0) {
      this.fail(new TransportError("Cannot continue: serial numbers are exhausted", { code: "renewed" }));
    }
  }

  /**
   * Handles an answer without a matching call. In rare cases the platform does not know the id of the request and
   * sends the id `"0"`.
   */
  #unasked(response: Response, cause: ProtocolError): void {
    const { id, code, text } = response;
    const about = `${code === "" ? "no code" : `code ${code}`}${text === "" ? "" : `, "${shortened(text)}"`}`;
    // A repeated answer contains nothing new and belongs to none of the waiting calls.
    if (this.#calls.isIssued(id)) {
      return this.#fault(
        new ProtocolError(`Cannot accept an answer again: id "${shortenedId(id)}", ${about}`, {
          code: "answer-repeated",
          transport: "direct",
          cause,
        }),
      );
    }
    const nobody: CallContext = { operation: { name: "a request", effect: "read" }, transport: "direct" };
    const refusal = rejection(nobody, { text, code });
    this.#fault(
      refusal instanceof DisplacedError ? refusal : new ProtocolError(
        `Cannot match an answer to any request: id "${shortenedId(id)}", ${about}`,
        { code: code === "" ? "answer-unasked" : code, transport: "direct", cause },
      ),
    );
    const only = this.#calls.takeOnly();
    if (only === undefined) return;
    const { context } = only;
    only.reject(
      context.operation.effect === "write" || code === "" || code === "0000"
        ? unreadable(
          context,
          `an answer came with the id "${shortenedId(id)}", ${about}`,
          "answer-unasked",
          cause,
        )
        : rejection(context, { text, code }),
    );
  }

  #fault(error: BrokerError): void {
    this.#options.handlers.onFault?.(error);
  }

  #sendHeartbeat(): void {
    if (this.#failure !== undefined) return;
    this.#urgent.push(this.#sealing.seal({ type: "heartbeat", serial: 0, body: new Uint8Array(0) }));
    this.#awaitsBeat = true;
    this.#write();
  }

  /** Starts the writer unless it is running. There is only one, so frames are never mixed. */
  #write(): void {
    if (this.#writing) return;
    this.#writing = true;
    // Deferred, so that calls made at the same time are written together.
    queueMicrotask(() => void this.#writeAll());
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#failure === undefined && (this.#urgent.length > 0 || this.#calls.hasUnsent)) {
        const bytes = joinBytes([...this.#urgent.splice(0), ...this.#sealBatch()]);
        for (let at = 0; at < bytes.length;) at += await this.#connection.write(bytes.subarray(at));
        this.#heartbeat.sent();
      }
    } catch (cause) {
      const reason = messageOf(cause);
      this.fail(
        new TransportError(`Cannot write: ${reason}`, { code: "connection", transport: "direct", cause }),
      );
    } finally {
      this.#writing = false;
    }
  }

  /**
   * Seals the next requests. Serial numbers follow the order of writing, so signing happens as late as
   * possible.
   */
  #sealBatch(): Uint8Array[] {
    const frames: Uint8Array[] = [];
    while (frames.length < BATCH) {
      const call = this.#calls.takeUnsent();
      if (call === undefined) break;
      const frame = this.#seal(call);
      if (frame !== undefined) frames.push(frame);
    }
    return frames;
  }

  #seal(call: LinkCall): Uint8Array | undefined {
    const { envelopes, machine } = this.#options;
    const { id, type, payload, token, context, beforeFirstByte } = call;
    if (this.#serial >= LAST_SERIAL) {
      this.#calls.fail(call, undelivered(context, "serial numbers are exhausted", "serial"));
      return undefined;
    }
    try {
      beforeFirstByte?.();
    } catch (error) {
      this.#calls.fail(call, error);
      return undefined;
    }
    try {
      const request = { type, id, time: machine.now(), token, ...payload !== undefined && { payload } };
      const body = envelopes.encodeRequest(request);
      return this.#sealing.seal({ type: "request", serial: ++this.#serial, body });
    } catch (cause) {
      const reason = messageOf(cause);
      this.#calls.fail(call, undelivered(context, reason, "seal", cause));
      return undefined;
    }
  }
}

/**
 * Throws if the first answer belongs to another request, for example if somebody on the network sends an answer of an
 * earlier connection again. In rare cases the platform does not know the id of the request, and sends a rejection with
 * the id `"0"`.
 */
function checkFirst({ id, code }: Response, ownId: string, peer: string): void {
  if (id === ownId || id === "0" && code !== "0000") return;
  throw new ProtocolError(
    `Cannot accept the first answer of ${peer}: it belongs to another request; somebody on the network may ` +
      "be sending answers of earlier connections again",
    { code: "first-answer-unasked", transport: "direct" },
  );
}
