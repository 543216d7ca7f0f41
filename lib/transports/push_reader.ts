/**
 * From the body of a push frame to a typed event.
 *
 * @module
 */
import { NotifyType } from "../dictionaries/message_type.ts";
import { ProtocolError } from "../errors.ts";
import { pushes, type PushEvent } from "../operations/pushes.ts";
import { Mismatch } from "../operations/types.ts";
import type { Envelopes } from "../wire/envelope.ts";
import type { RawMessage } from "../wire/messages.ts";
import type { UnknownEvent } from "./push_events.ts";

/** How one push number is read. */
interface PushEntry {
  type: PushEvent["type"];
  message: string;
  read: (bytes: Uint8Array) => RawMessage;
  decode: (raw: RawMessage) => PushEvent["data"];
}

/** Reads the body of a push frame. */
export type PushReader = (body: Uint8Array) => PushEvent | UnknownEvent;

/** Code of the error of a push that is of another account. */
export const OTHER_ACCOUNT = "other-account";

/** Options of {@linkcode createPushReader}. */
export interface PushReaderOptions {
  /** Numbers of our accounts. @default the first one that comes, for each kind of order push */
  fundAccounts?: readonly string[];
}

/**
 * Makes a reader of push bodies. It decodes from the protobuf message straight to our record: the plain object
 * in between would cost half as much again as the decoding.
 *
 * @returns A function that throws {@linkcode ProtocolError} when the envelope itself is damaged. A payload that
 * is unknown or damaged comes back as an `unknown` event, as the frames after it can still be read.
 */
export function createPushReader(
  envelopes: Envelopes,
  { fundAccounts }: PushReaderOptions = {},
): PushReader {
  // Stocks and futures have accounts of their own.
  const firstOf = new Map<number, string>();
  const isOurs = (notifyType: number, account: unknown): boolean => {
    if (fundAccounts !== undefined) return typeof account === "string" && fundAccounts.includes(account);
    if (typeof account !== "string" || account === "") return true;
    if (!firstOf.has(notifyType)) firstOf.set(notifyType, account);
    return firstOf.get(notifyType) === account;
  };
  const entries = new Map<number, PushEntry>();
  for (const { type, notify, message, payload } of Object.values(pushes)) {
    const entry = { type, message, read: envelopes.messages.reader(message), decode: payload.decode };
    for (const name of notify) entries.set(Number(NotifyType.encode(name)), entry);
  }

  return (body) => {
    const { type: notifyType, time: sentAt, payload } = envelopes.decodeNotify(body);
    const entry = entries.get(notifyType);
    const payloadType = payload?.name ?? "";
    // Number and name have to agree: one alone could make a quote out of somebody's order.
    if (entry === undefined || payload === undefined || payloadType !== entry.message) {
      return { type: "unknown", notifyType, payloadType, sentAt, expected: entry?.type };
    }
    try {
      const raw = entry.read(payload.bytes);
      if (!isOurs(notifyType, raw.fundAccount)) {
        const error = new ProtocolError(
          `Cannot take push "${entry.type}": it is of another account; look at the orders of yours`,
          { code: OTHER_ACCOUNT },
        );
        return { type: "unknown", notifyType, payloadType, sentAt, expected: entry.type, error };
      }
      const data = entry.decode(raw);
      // The entry's own record decoded the data, so type and data belong together.
      return { type: entry.type, data, sentAt } as PushEvent;
    } catch (cause) {
      const error = unreadable(entry.type, cause);
      return { type: "unknown", notifyType, payloadType, sentAt, expected: entry.type, error };
    }
  };
}

/** Says where a push does not fit, without the value, as an order's fields are personal. */
function unreadable(type: string, cause: unknown): ProtocolError {
  if (cause instanceof ProtocolError) return cause;
  if (!(cause instanceof Mismatch)) throw cause;
  const { path, expected } = cause;
  const value = cause.value === undefined ? "nothing" : "something else";
  return new ProtocolError(
    `Cannot read push "${type}": ${path.join(".")}: expected ${expected}, got ${value}`,
    {
      code: "push-shape",
    },
  );
}
