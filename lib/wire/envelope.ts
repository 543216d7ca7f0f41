/**
 * Encodes and decodes the envelope of every body: a request, an answer or a push around one payload.
 *
 * @see API document 4.8
 * @module
 */
import { ProtocolError } from "../errors.ts";
import { isLong, longNumber } from "./numbers.ts";
import { loadMessages, type Messages, type RawMessage } from "./messages.ts";

/** A message inside an envelope. */
export interface Payload {
  /** Name of the message, such as `BasicQotNotify`. */
  readonly name: string;
  /** The encoded message. In a decoded envelope it is a view of the body: decode it immediately, or copy it. */
  readonly bytes: Uint8Array;
}

/** A push, on the wire `PBNotify`. */
export interface Notify {
  /** Type number of the push, as in `NotifyType`. */
  readonly type: number;
  /** Id; sources disagree on its content. */
  readonly id: string;
  /** When it was sent, Unix milliseconds. */
  readonly time: number;
  /** The content. */
  readonly payload?: Payload;
}

/** A request, on the wire `PBRequest`. */
export interface Request {
  /** Type number of the request, as in `RequestType`. */
  readonly type: number;
  /** Id, which the answer repeats. */
  readonly id: string;
  /** When it was sent, Unix milliseconds. */
  readonly time: number;
  /** Parameters; some requests have none. */
  readonly payload?: Payload;
  /** Session token. A secret. */
  readonly token: string;
}

/** An answer, on the wire `PBResponse`. */
export interface Response {
  /** Type number of the answer, as in `ResponseType`. */
  readonly type: number;
  /** Id of the request; in rare cases `"0"`. */
  readonly id: string;
  /** When it was sent, Unix milliseconds. */
  readonly time: number;
  /** Code, `"0000"` on success. */
  readonly code: string;
  /** Text of the code. */
  readonly text: string;
  /** The result; absent if the request failed. */
  readonly payload?: Payload;
}

/** Encodes and decodes envelopes. */
export interface Envelopes {
  /** Encodes and decodes the payloads. */
  readonly messages: Messages;
  encodeNotify(notify: Notify): Uint8Array;
  decodeNotify(body: Uint8Array): Notify;
  encodeRequest(request: Request): Uint8Array;
  decodeRequest(body: Uint8Array): Request;
  encodeResponse(response: Response): Uint8Array;
  decodeResponse(body: Uint8Array): Response;
}

const TYPE_URL = "type.googleapis.com/";
const EMPTY = new Uint8Array(0);

/** Loads the envelopes and the protobuf library. */
export async function loadEnvelopes(): Promise<Envelopes> {
  const messages = await loadMessages();
  const readNotify = messages.reader("PBNotify");
  const readRequest = messages.reader("PBRequest");
  const readResponse = messages.reader("PBResponse");
  return {
    messages,
    encodeNotify: ({ type, id, time, payload }) =>
      messages.encode("PBNotify", {
        notifyMsgType: type,
        notifyId: id,
        notifyTime: time,
        payload: encodeAny(payload),
      }),
    decodeNotify(body) {
      const raw = readNotify(body);
      return {
        type: int(raw, "notifyMsgType"),
        id: text(raw, "notifyId"),
        time: millis(raw, "notifyTime"),
        payload: decodeAny(raw.payload),
      };
    },
    encodeRequest: ({ type, id, time, payload, token }) =>
      messages.encode("PBRequest", {
        requestMsgType: type,
        requestId: id,
        requestTime: time,
        payload: encodeAny(payload),
        token,
      }),
    decodeRequest(body) {
      const raw = readRequest(body);
      return {
        type: int(raw, "requestMsgType"),
        id: text(raw, "requestId"),
        time: millis(raw, "requestTime"),
        payload: decodeAny(raw.payload),
        token: text(raw, "token"),
      };
    },
    encodeResponse: ({ type, id, time, code, text, payload }) =>
      messages.encode("PBResponse", {
        responseMsgType: type,
        requestId: id,
        responseTime: time,
        responseCode: code,
        responseMsg: text,
        payload: encodeAny(payload),
      }),
    decodeResponse(body) {
      const raw = readResponse(body);
      return {
        type: int(raw, "responseMsgType"),
        id: text(raw, "requestId"),
        time: millis(raw, "responseTime"),
        code: text(raw, "responseCode"),
        text: text(raw, "responseMsg"),
        payload: decodeAny(raw.payload),
      };
    },
  };
}

function encodeAny(payload: Payload | undefined): Record<string, unknown> | undefined {
  return payload && { type_url: TYPE_URL + payload.name, value: payload.bytes };
}

/** Decodes an `Any`. The name of its message is the part of the URL after the last slash. */
function decodeAny(any: unknown): Payload | undefined {
  if (typeof any !== "object" || any === null) return undefined;
  // The library's Any. Both members are checked below; an absent value means an empty message.
  const { type_url: url, value } = any as { type_url?: unknown; value?: unknown };
  if (typeof url !== "string") {
    throw new ProtocolError("Cannot read payload: it is not an Any", { code: "message-damaged" });
  }
  const bytes = value instanceof Uint8Array ? value : EMPTY;
  return { name: url.slice(url.lastIndexOf("/") + 1), bytes };
}

function int(raw: RawMessage, member: string): number {
  const value = raw[member];
  return typeof value === "number" ? value : 0;
}

function text(raw: RawMessage, member: string): string {
  const value = raw[member];
  return typeof value === "string" ? value : "";
}

function millis(raw: RawMessage, member: string): number {
  const value = raw[member];
  return isLong(value) ? longNumber(value) : int(raw, member);
}
