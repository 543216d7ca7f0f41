/**
 * Defines the interface of a transport: it takes an operation with its parameters and returns the answer.
 *
 * @module
 */
import { BrokerError, type LoginExpiredError } from "../errors.ts";
import type { WireAnswer } from "../operations/answer_shapes.ts";
import type { AnyOperation } from "../operations/operation.ts";
import type { PushHooks, PushStream } from "./push/stream.ts";

/** Options of one call. */
export interface CallOptions {
  /** Cancels the call. If a write is cancelled after it was sent, its outcome is unknown. */
  signal?: AbortSignal;
  /**
   * How long to wait for the answer.
   *
   * @default 10000
   */
  timeoutMs?: number;
  /** Called if the answer arrives after the call has timed out or was aborted. Only the direct transport calls it. */
  onLateAnswer?: (late: LateAnswer) => void;
  /**
   * Keeps the answer and each of its rows in the broker's format, for `wireAnswerOf` and `wireOf`. With `digits`,
   * numbers keep their exact digits, which needs a second parse.
   */
  keepWire?: "members" | "digits";
  /** Called with the broker's time for each answer that contains it, before the answer is returned. */
  onBrokerTime?: (time: BrokerTime) => void;
  /** Called with each answer as it arrived, before it is checked or decoded; also with rejections. */
  onWire?: (answer: WireAnswer) => void;
  /** Called before the request is sent, with each secret in it: plain, and encrypted as it is sent. */
  onSecret?: (secret: string) => void;
  /**
   * Called by the client right before it sends a write, after any login. The client waits for the result. If the
   * callback throws or rejects, the write is not sent.
   */
  beforeWrite?: () => void | Promise<void>;
  /**
   * Called by the transport right before the first byte of a write leaves; nothing can happen in between. If it throws,
   * the write is not sent, and the call rejects with the error. `beforeWrite` is not enough for a check that must still
   * be true at the first byte. The transport may connect after it, and the process may be suspended in the meantime.
   */
  beforeFirstByte?: () => void;
}

/** The broker's time in an answer. */
export interface BrokerTime {
  /** Unix milliseconds; a `Date` header has whole seconds. */
  time: number;
  /** Where the answer contained the time. */
  source: "Date header" | "answer";
}

/**
 * Calls `onBrokerTime` with the time in an answer. Ignores an invalid time, because some servers send zero or
 * nothing.
 */
export function reportBrokerTime(
  { onBrokerTime }: Pick<CallOptions, "onBrokerTime">,
  time: number,
  source: BrokerTime["source"],
): void {
  // A time before 2010 is zero or in another unit, and one after 2099 is in another unit.
  if (time > EARLIEST_TIME && time < LATEST_TIME) onBrokerTime?.({ time, source });
}

const [EARLIEST_TIME, LATEST_TIME] = [Date.UTC(2010), Date.UTC(2100)];

/** An answer that arrived after its call had timed out or was aborted. It shows the actual outcome. */
export interface LateAnswer {
  /** Id of the request. */
  requestId: string;
  /** hsgate's name of the operation. */
  operation: string;
  /** The value that the call would have resolved to. */
  result?: unknown;
  /** The error that the call would have thrown. */
  error?: unknown;
}

/** Makes and renews the logins that calls need. */
export interface LoginKeeper {
  /** Whether the keeper can log in without a password from the caller. */
  readonly canLogIn: boolean;
  /** Number of the newest login. A call that failed under an older login is sent again without another login. */
  readonly generation: number;
  /** Logs in before the first write, because a write that fails for lack of a login is not repeated. */
  ensure(): Promise<void>;
  /** Logs in, once for all waiting calls, unless there was a newer login than `generation`. */
  renew(generation: number, error: LoginExpiredError): Promise<void>;
}

/**
 * What a read-only connection refuses. `yes`: every write, and the calls that make or end the trade login. `login`:
 * every write, and the call that ends the trade login; the connection makes the trade login if a read needs it.
 */
export type ReadOnly = "yes" | "login";

/** Sends operations to the broker. A transport is passed to a client, never set globally. */
export interface Transport extends AsyncDisposable {
  /** Name for messages: `gateway`, `direct`, `memory`. */
  readonly name: string;
  /**
   * Returns a text that differs between accounts but identifies no person; absent if the transport cannot
   * distinguish them.
   */
  account?(): Promise<string>;
  /**
   * Sends validated parameters once and resolves to the answer with hsgate's names. Never sends a request again.
   *
   * @throws {RejectedError} If the broker rejected the request.
   * @throws {TransportError} If the request was not delivered, or a read got no answer.
   * @throws {OutcomeUnknownError} If the outcome of a write is unknown, for example because no answer arrived.
   * @throws {ProtocolError} If the answer to a read is invalid.
   * @throws {UnmappedError} If this transport does not support the operation.
   */
  call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown>;
  /**
   * Sends an operation that the catalogue does not contain, and treats it as a write. Resolves to the broker's answer
   * unchanged.
   */
  raw(group: string, name: string, params: Record<string, unknown>, options: CallOptions): Promise<unknown>;
  /** Address of the push endpoint, if there is a separate one. */
  readonly push?: { readonly hostname: string; readonly port: number };
  /** Opens the push stream; absent on transports without pushes. */
  openPushes?(hooks: PushHooks): Promise<PushStream>;
  /** The keeper of the logins, if the transport itself logs in. */
  readonly logins?: LoginKeeper;
  /** What this connection refuses. @default nothing */
  readonly readOnly?: ReadOnly;
}

/**
 * Returns a transport that rejects writes, for dry runs. Logins still work because reads need them. Closing the
 * returned transport also closes the inner one.
 */
export function readOnly(inner: Transport): Transport {
  const refuse = (what: string) =>
    Promise.reject(new TypeError(`Cannot call ${what}: this connection is read-only`));
  const { openPushes, push, logins, account } = inner;
  return {
    name: inner.name,
    ...inner.readOnly !== undefined && { readOnly: inner.readOnly },
    call: (operation: AnyOperation, params, options) =>
      operation.effect === "write" ? refuse(operation.name) : inner.call(operation, params, options),
    // The effect of a raw call is unknown, so it counts as a write.
    raw: (group, name) => refuse(`${group}/${name}`),
    ...push !== undefined && { push },
    ...account !== undefined && { account: () => account.call(inner) },
    ...openPushes !== undefined && { openPushes: (hooks) => openPushes.call(inner, hooks) },
    ...logins !== undefined && { logins },
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}

/**
 * Throws if a read-only connection must not make a call. A raw call may be a write, so it is always refused.
 *
 * @param called The operation; the path of a raw call as text.
 * @throws {BrokerError} With code `read-only`. Nothing was sent.
 */
export function refuseReadOnly(
  { name, readOnly }: Pick<Transport, "name" | "readOnly">,
  called: Pick<AnyOperation, "name" | "effect" | "tradeLogin"> | string,
): void {
  if (readOnly === undefined) return;
  const isAllowed = typeof called !== "string" && called.effect !== "write" &&
    (readOnly === "login" ? called.tradeLogin !== "ends" : called.tradeLogin === undefined);
  if (isAllowed) return;
  const operation = typeof called === "string" ? called : called.name;
  throw new BrokerError(
    `Cannot call ${operation}: this connection is read-only (setting readOnly); nothing was sent`,
    { code: "read-only", operation, transport: name },
  );
}
