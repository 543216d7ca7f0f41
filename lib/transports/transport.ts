/**
 * What a transport is: it takes an operation and its parameters and returns the answer.
 *
 * @module
 */
import type { AnyOperation } from "../operations/operation.ts";

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
}

/** Carries operations to the broker. Handed to a client, never set globally. */
export interface Transport extends AsyncDisposable {
  /** Name for messages: `gateway`, `direct`, `memory`. */
  readonly name: string;
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
  /** Where pushes come from; absent on transports without any. */
  readonly push?: { readonly hostname: string; readonly port: number };
}
