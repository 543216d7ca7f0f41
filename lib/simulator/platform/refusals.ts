/**
 * Sends the platform's rejections on a socket.
 *
 * @see API document 7
 * @module
 */
import { ProtocolError } from "../../errors.ts";
import type { Envelopes, Request } from "../../wire/messages.ts";
import type { BodyFault } from "../../wire/faults.ts";
import type { Clock } from "../../time.ts";
import { Refusal } from "../contract.ts";
import type { FrameSender } from "./frame_sender.ts";
import { errorNumber, responseNumberOf, type SocketOperation } from "./socket_operations.ts";

/** Options of {@linkcode Refusals}. */
interface RefusalsOptions {
  envelopes: Envelopes;
  clock: Clock;
  sender: FrameSender;
  /** Called with errors of the simulator itself, which are not rejections. */
  onError: (error: unknown) => void;
}

/** A request to answer. */
interface RequestToAnswer {
  readonly request: Request;
  /** Serial of its frame, which the answer repeats. */
  readonly serial: number;
  /** Its operation; `undefined` if unknown. */
  readonly operation: SocketOperation | undefined;
  /** Whether to send the rejection as a system exception, whatever its code. */
  readonly isSystem: boolean;
}

/** Codes of rejections that concern the session and not the call; these are system exceptions. */
const systemCodes: ReadonlySet<string> = new Set(
  ["112", "1001", "1002", "1003", "1004", "1010", "1011", "1012", "1013", "1014"],
);

/** Rejections of unreadable requests, by fault; faults that are not listed concern encryption. */
const unread: Partial<Record<BodyFault, [code: string, text: string]>> = {
  "signature-missing": ["1002", "signature error"],
  "signature-bad": ["1002", "signature error"],
  "cipher-key": ["1004", "socket not initialized"],
  "message-damaged": ["1010", "illegal request"],
};

/** Sends rejections. */
export class Refusals {
  readonly #options: RefusalsOptions;

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  /** Answers a request with the code of an error. Closes the connection if another login or connection took over. */
  send(error: unknown, { request, serial, operation, isSystem }: RequestToAnswer): void {
    const { code: known, text } = this.#refusalOf(error);
    // Some of the broker's rejections only have a text, but the answer needs a code.
    const code = known ?? "1008";
    const isError = isSystem || operation === undefined || systemCodes.has(code);
    const type = isError ? errorNumber : responseNumberOf(operation);
    this.#send({ type, id: request.id, code, text }, serial);
    if (code === "1013") this.#options.sender.end();
  }

  /** Answers an unreadable frame, with request id "0" because the request is unknown. */
  sendUnread(error: ProtocolError, serial: number): void {
    // Reading a frame throws errors with a `BodyFault` as their code.
    const [code, text] = unread[error.code as BodyFault] ?? ["1003", "data encryption error"];
    this.#send({ type: errorNumber, id: "0", code, text }, serial);
  }

  /** Answers bytes that are not a request. */
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
    // Without a session key only RSA is possible, which uses serial 0.
    sender.answer(sender.hasSessionKey ? serial : 0, body);
  }
}
