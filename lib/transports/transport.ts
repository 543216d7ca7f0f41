/**
 * What a transport is: it takes an operation and its parameters and returns the answer.
 *
 * @module
 */
import type { LoginExpiredError } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import type { PushHooks, PushStream } from "./push.ts";

/** Options of one call. */
export interface CallOptions {
  /** Gives the call up. A write that is given up after it was sent has an unknown outcome. */
  signal?: AbortSignal;
  /**
   * How long to wait for the answer.
   *
   * @default 10000
   */
  timeoutMs?: number;
  /** Told when the answer comes after the call was given up; only some transports can tell. */
  onLateAnswer?: (late: LateAnswer) => void;
  /**
   * Remembers the answer and each of its rows as the broker sent them, for `wireAnswerOf` and `wireOf`. With `digits` numbers keep their text,
   * which costs a second parse.
   */
  keepWire?: "members" | "digits";
  /** Called with the time of the broker's clock for each answer that tells it, before the answer is returned. */
  onBrokerTime?: (told: BrokerTime) => void;
  /** Called by the client right before a write goes out, logins done; what it throws keeps the write from being sent. */
  beforeWrite?: () => void;
}

/** The time of the broker's clock, as an answer told it. */
export interface BrokerTime {
  /** Unix milliseconds; a `Date` header tells whole seconds. */
  time: number;
  /** Where it stood. */
  source: "Date header" | "answer";
}

/** Calls back with the time that an answer told, unless it is none: some servers send zero, or nothing. */
export function tellBrokerTime(
  { onBrokerTime }: Pick<CallOptions, "onBrokerTime">,
  time: number,
  source: BrokerTime["source"],
): void {
  // A time before 2010 is no clock's, but a member at zero or in another unit.
  if (time > EARLIEST_TIME) onBrokerTime?.({ time, source });
}

const EARLIEST_TIME = Date.UTC(2010);

/** An answer that came after its call was given up: what happened after all. */
export interface LateAnswer {
  /** Id of the request. */
  requestId: string;
  /** The operation by our name. */
  operation: string;
  /** What the call would have resolved to. */
  result?: unknown;
  /** What the call would have thrown. */
  error?: unknown;
}

/** Keeps the logins that calls need. */
export interface LoginKeeper {
  /** Whether it can log in by itself. */
  readonly canLogIn: boolean;
  /** Counts its logins; a call that failed under an older one only tries again. */
  readonly generation: number;
  /** Logs in before the first write, as a write that meets a missing login is not repeated. */
  ensure(): Promise<void>;
  /** Logs in, once for all who wait, unless somebody has done so since `generation`. */
  renew(generation: number, error: LoginExpiredError): Promise<void>;
}

/** Carries operations to the broker. Handed to a client, never set globally. */
export interface Transport extends AsyncDisposable {
  /** Name for messages: `gateway`, `direct`, `memory`. */
  readonly name: string;
  /** Returns a text that differs from account to account and names nobody; absent where the transport cannot know. */
  account?(): Promise<string>;
  /**
   * Sends checked parameters once and resolves to the answer in our names. Never repeats anything.
   *
   * @throws {RejectedError} The broker said no.
   * @throws {TransportError} Not delivered, or a read that went unanswered.
   * @throws {OutcomeUnknownError} A write that went unanswered.
   * @throws {ProtocolError} An answer to a read that does not fit.
   * @throws {UnmappedError} This transport cannot carry the operation.
   */
  call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown>;
  /** Sends what the catalogue does not know, and resolves to the answer as it came. Counts as a write. */
  raw(group: string, name: string, params: Record<string, unknown>, options: CallOptions): Promise<unknown>;
  /** Address that pushes come from, where they have one of their own. */
  readonly push?: { readonly hostname: string; readonly port: number };
  /** Opens the stream of pushes; absent on transports without any. */
  openPushes?(hooks: PushHooks): Promise<PushStream>;
  /** The logins, where the transport keeps them by itself. */
  readonly logins?: LoginKeeper;
}
