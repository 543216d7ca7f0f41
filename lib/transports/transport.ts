/**
 * Defines the interface of a transport: it takes an operation with its parameters and returns the answer.
 *
 * @module
 */
import type { LoginExpiredError } from "../errors.ts";
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
  /** Called if the answer arrives after the call was given up; only some transports can detect that. */
  onLateAnswer?: (late: LateAnswer) => void;
  /**
   * Remembers the answer and each of its rows as the broker sent them, for `wireAnswerOf` and `wireOf`. With
   * `digits` numbers keep their text, which needs a second parse.
   */
  keepWire?: "members" | "digits";
  /** Called with the broker's time for each answer that contains it, before the answer is returned. */
  onBrokerTime?: (told: BrokerTime) => void;
  /** Called with each secret of the request, as it is and as it is sent, before it is sent. */
  onSecret?: (secret: string) => void;
  /** Awaited by the client right before it sends a write, after any login. If it fails, the write is not sent. */
  beforeWrite?: () => void | Promise<void>;
}

/** The broker's time in an answer. */
export interface BrokerTime {
  /** Unix milliseconds; a `Date` header has whole seconds. */
  time: number;
  /** Where the answer contained the time. */
  source: "Date header" | "answer";
}

/**
 * Calls `onBrokerTime` with the time in an answer, unless it is invalid: some servers send zero, or nothing.
 */
export function tellBrokerTime(
  { onBrokerTime }: Pick<CallOptions, "onBrokerTime">,
  time: number,
  source: BrokerTime["source"],
): void {
  // A time before 2010 is a member that is zero or in another unit.
  if (time > EARLIEST_TIME) onBrokerTime?.({ time, source });
}

const EARLIEST_TIME = Date.UTC(2010);

/** An answer that arrived after its call was given up. It shows the actual outcome. */
export interface LateAnswer {
  /** Id of the request. */
  requestId: string;
  /** The operation by our name. */
  operation: string;
  /** The value that the call would have resolved to. */
  result?: unknown;
  /** The error that the call would have thrown. */
  error?: unknown;
}

/** Keeps the logins that calls need. */
export interface LoginKeeper {
  /** Whether it can log in without a caller's password. */
  readonly canLogIn: boolean;
  /** Number of its logins; a call that failed under an older login is only tried again. */
  readonly generation: number;
  /** Logs in before the first write, because a write that fails for lack of a login is not repeated. */
  ensure(): Promise<void>;
  /** Logs in, once for all waiting calls, unless there was a newer login than `generation`. */
  renew(generation: number, error: LoginExpiredError): Promise<void>;
}

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
   * Sends validated parameters once and resolves to the answer with our names. Never repeats anything.
   *
   * @throws {RejectedError} If the broker rejected the request.
   * @throws {TransportError} If the request was not delivered, or a read got no answer.
   * @throws {OutcomeUnknownError} If a write got no answer.
   * @throws {ProtocolError} If the answer to a read is invalid.
   * @throws {UnmappedError} If this transport cannot carry the operation.
   */
  call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown>;
  /**
   * Sends an operation that the catalogue does not know. Resolves to the answer as it came. Counts as a
   * write.
   */
  raw(group: string, name: string, params: Record<string, unknown>, options: CallOptions): Promise<unknown>;
  /** Address of the push endpoint, if there is a separate one. */
  readonly push?: { readonly hostname: string; readonly port: number };
  /** Opens the push stream; absent on transports without pushes. */
  openPushes?(hooks: PushHooks): Promise<PushStream>;
  /** The logins, if the transport keeps them. */
  readonly logins?: LoginKeeper;
}

/**
 * Returns a transport that rejects writes, for dry runs. Logins still work because reads need them. Closing
 * it closes the inner transport.
 */
export function readOnly(inner: Transport): Transport {
  const refuse = (what: string) =>
    Promise.reject(new TypeError(`Cannot call ${what}: this connection is read-only`));
  const { openPushes, push, logins, account } = inner;
  return {
    name: inner.name,
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
