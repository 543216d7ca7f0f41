/**
 * How the platform says no on a socket.
 *
 * @see API document 7
 * @module
 */
import { ProtocolError } from "../../errors.ts";
import type { Envelopes, Request } from "../../wire/envelope.ts";
import type { BodyFault } from "../../wire/faults.ts";
import type { Clock } from "../clock.ts";
import { Refusal } from "../contract.ts";
import type { FrameSender } from "./frame_sender.ts";
import { errorNumber, responseNumberOf, type SocketOperation } from "./socket_operations.ts";

/** What refusals are sent with. */
export interface RefusalsOptions {
  envelopes: Envelopes;
  clock: Clock;
  sender: FrameSender;
  /** Told about errors that are no refusals: mistakes of the simulator. */
  onError: (error: unknown) => void;
}

/** A request that is being answered. */
export interface Asked {
  readonly request: Request;
  /** Serial of its frame, which the answer repeats. */
  readonly serial: number;
  /** What it asks for; nothing when nobody knows. */
  readonly operation: SocketOperation | undefined;
  /** The refusal is a system exception whatever its code. */
  readonly isSystem: boolean;
}

/** Codes of refusals that are about the session rather than the call: system exceptions, so to speak. */
const systemCodes: ReadonlySet<string> = new Set(
  ["112", "1001", "1002", "1003", "1004", "1010", "1011", "1012", "1013", "1014"],
);

/** What a request that cannot be read is refused with; faults that are not listed are about encryption. */
const unread: Partial<Record<BodyFault, [code: string, text: string]>> = {
  "signature-missing": ["1002", "signature error"],
  "signature-bad": ["1002", "signature error"],
  "cipher-key": ["1004", "socket not initialized"],
  "message-damaged": ["1010", "illegal request"],
};

/** Sends refusals. */
export class Refusals {
  readonly #options: RefusalsOptions;

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  /** Answers a request with the code of an error, and closes when its sender has been displaced. */
  send(error: unknown, { request, serial, operation, isSystem }: Asked): void {
    const { code: known, text } = this.#refusalOf(error);
    // Some refusals of the broker are known by their text alone, and the answer needs a code.
    const code = known ?? "1008";
    const isError = isSystem || operation === undefined || systemCodes.has(code);
    const type = isError ? errorNumber : responseNumberOf(operation);
    this.#send({ type, id: request.id, code, text }, serial);
    if (code === "1013") this.#options.sender.end();
  }

  /** Answers a frame that could not be opened or read, to request id "0" as nobody knows which one it was. */
  sendUnread(error: ProtocolError, serial: number): void {
    // The code of such an error is a fault of the wire.
    const [code, text] = unread[error.code as BodyFault] ?? ["1003", "data encryption error"];
    this.#send({ type: errorNumber, id: "0", code, text }, serial);
  }

  /** Answers bytes that are no request at all. */
  sendIllegal(serial: number): void {
    this.#send({ type: errorNumber, id: "0", code: "1010", text: "illegal request" }, serial);
  }

  #refusalOf(error: unknown): Refusal {
    if (error instanceof Refusal) return error;
    if (error instanceof ProtocolError && error.code === "message-damaged") {
      return new Refusal("1010", "illegal request");
    }
    this.#options.onError(error);
    return new Refusal("1001", "unknown system error");
  }

  #send(refusal: { type: number; id: string; code: string; text: string }, serial: number): void {
    const { envelopes, clock, sender } = this.#options;
    const body = envelopes.encodeResponse({ ...refusal, time: clock.now() });
    // Without a session key only RSA is left, which goes with serial 0.
    sender.answer(sender.hasSessionKey ? serial : 0, body);
  }
}
