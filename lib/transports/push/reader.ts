/**
 * Decodes pushes into typed events. Also detects repeated pushes, and pushes with a time far from the broker's clock.
 * The broker does not number pushes, so repeats are found by comparing their contents.
 *
 * @module
 */
import { NotifyType } from "../../dictionaries/message_type.ts";
import { ProtocolError } from "../../errors.ts";
import { pushes, type PushEvent } from "../../operations/pushes.ts";
import { Mismatch } from "../../operations/types.ts";
import type { Envelopes, Notify } from "../../wire/envelope.ts";
import type { RawMessage } from "../../wire/messages.ts";
import type { UnknownEvent } from "./events.ts";

/** How to decode the pushes of one type number. */
interface PushEntry {
  type: PushEvent["type"];
  message: string;
  read: (bytes: Uint8Array) => RawMessage;
  decode: (raw: RawMessage) => PushEvent["data"];
}

/** Returns the event of a push. */
export type PushReader = (notify: Notify) => PushEvent | UnknownEvent;

/** Error code of an order push that names an account that is not ours, or no account. */
export const OTHER_ACCOUNT = "other-account";

/** Options of {@linkcode createPushReader}. */
interface PushReaderOptions {
  /**
   * Numbers of our accounts.
   *
   * @default any account; once the pushes of one kind have named two accounts, each such push gets `unsureAccount`
   */
  fundAccounts?: readonly string[];
}

/**
 * Returns a decoder for pushes. It decodes protobuf messages directly into our records, because an intermediate plain
 * object would take 50 % more time.
 *
 * @returns A function that returns an `unknown` event for a payload that is unknown, damaged or for another account.
 */
export function createPushReader(
  envelopes: Envelopes,
  { fundAccounts }: PushReaderOptions = {},
): PushReader {
  // Stocks and futures have separate accounts, so remember an account for each type number.
  const firstOf = new Map<number, string>();
  const unsure = new Set<number>();
  const mayBeOurs = (account: unknown): account is string =>
    typeof account === "string" && account !== "" && (fundAccounts?.includes(account) ?? true);
  const entries = new Map<number, PushEntry>();
  for (const { type, notify, message, payload } of Object.values(pushes)) {
    const entry = { type, message, read: envelopes.messages.reader(message), decode: payload.decode };
    for (const name of notify) entries.set(Number(NotifyType.encode(name)), entry);
  }

  return ({ type: notifyType, time: sentAt, payload }) => {
    const entry = entries.get(notifyType);
    const payloadType = payload?.name ?? "";
    // Number and name must match: with only one of them, an order could be decoded as a quote.
    if (entry === undefined || payload === undefined || payloadType !== entry.message) {
      return { type: "unknown", notifyType, payloadType, sentAt, expected: entry?.type };
    }
    try {
      const raw = entry.read(payload.bytes);
      const account = raw.fundAccount;
      if (entry.type === "order" && !mayBeOurs(account)) {
        const named = account ? "another account" : "no account";
        const error = new ProtocolError(
          `Cannot accept push "order": it names ${named}; check the orders of your account`,
          { code: OTHER_ACCOUNT },
        );
        return { type: "unknown", notifyType, payloadType, sentAt, expected: entry.type, error };
      }
      const data = entry.decode(raw);
      // Only a readable push counts as naming an account. If two accounts appear, either could be ours.
      if (typeof account === "string" && fundAccounts === undefined) {
        const first = firstOf.get(notifyType);
        if (first === undefined) firstOf.set(notifyType, account);
        else if (first !== account) unsure.add(notifyType);
      }
      // The data was decoded with this entry's record, so type and data match.
      const event = { type: entry.type, data, sentAt } as PushEvent;
      if (unsure.has(notifyType)) event.unsureAccount = true;
      return event;
    } catch (cause) {
      const error = unreadable(entry.type, cause);
      return { type: "unknown", notifyType, payloadType, sentAt, expected: entry.type, error };
    }
  };
}

/**
 * Returns an error that says where a push does not fit, without the value, because an order's fields are
 * personal.
 */
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

/** A push whose time differs more from the broker's clock is marked with `offMs`. */
const FAR_MS = 5 * 60_000;
/** Minimum number of pushes that a memory keeps. It keeps at most twice as many. */
const REMEMBERED = 16_384;

/** Checks the pushes of one stream for repeats and wrong times. */
export class PushGuard {
  readonly #now: () => number;
  readonly #aheadOf: () => number | undefined;
  // Orders have a separate memory, so that numerous market data cannot push them out.
  readonly #orders = new Memory();
  readonly #others = new Memory();

  /**
   * @param now Our clock, Unix milliseconds.
   * @param aheadOf Returns the milliseconds by which the broker's clock is ahead of ours; `undefined` until an answer
   * contains the broker's time.
   */
  constructor(now: () => number, aheadOf: () => number | undefined = () => undefined) {
    this.#now = now;
    this.#aheadOf = aheadOf;
  }

  /**
   * Returns whether the same push arrived before. Compares only the id, the time, the type and the payload, because
   * the remaining bytes can differ between two copies of a push.
   *
   * @param hash The result of {@linkcode hashOf}.
   */
  isRepeated(notify: Notify, hash: number): boolean {
    return this.#orders.has(notify, hash) || this.#others.has(notify, hash);
  }

  /** Remembers a push. Copies the payload, which is only valid during the call. */
  remember(notify: Notify, hash: number, isOrder: boolean): void {
    (isOrder ? this.#orders : this.#others).add(notify, hash);
  }

  /**
   * Returns how far the time of a push is from the broker's clock in milliseconds, negative for an old push;
   * `undefined` within {@linkcode FAR_MS}. Only answers set the broker's clock. If pushes did, one push with a wrong
   * time could hide the next one. Before the first answer, this machine's clock is used, so that an old push does not
   * pass as new.
   */
  offTime(sentAt: number): number | undefined {
    const offMs = sentAt - this.#now() - (this.#aheadOf() ?? 0);
    return Math.abs(offMs) > FAR_MS ? offMs : undefined;
  }

  /** Whether the broker's time is known from an answer. */
  get isTold(): boolean {
    return this.#aheadOf() !== undefined;
  }
}

/** Bytes of a block of remembered payloads. */
const BLOCK = 64 * 1024;

/** A push, and an earlier one with the same hash. */
type Known = Notify & { before: Known | undefined };

/** Remembers pushes by their hash, in two generations. When the newer one is full, the older one is dropped. */
class Memory {
  #recent = new Map<number, Known>();
  #older = new Map<number, Known>();
  #count = 0;
  /** The unused part of the newest block. */
  #free = new Uint8Array(0);

  has(notify: Notify, hash: number): boolean {
    return isAmong(this.#recent.get(hash), notify) || isAmong(this.#older.get(hash), notify);
  }

  add({ type, id, time, payload }: Notify, hash: number): void {
    if (this.#count >= REMEMBERED) {
      this.#older = this.#recent;
      this.#recent = new Map();
      this.#count = 0;
    }
    this.#count++;
    const kept = payload && { name: payload.name, bytes: this.#copy(payload.bytes) };
    this.#recent.set(hash, { type, id, time, payload: kept, before: this.#recent.get(hash) });
  }

  /** Copies bytes into a block that many payloads share, because allocating a buffer for each payload is slow. */
  #copy(bytes: Uint8Array): Uint8Array {
    const { length } = bytes;
    if (this.#free.length < length) this.#free = new Uint8Array(Math.max(BLOCK, length));
    const copy = this.#free.subarray(0, length);
    copy.set(bytes);
    this.#free = this.#free.subarray(length);
    return copy;
  }
}

/** Returns whether a push is in a list of remembered pushes with the same hash. */
function isAmong(known: Known | undefined, notify: Notify): boolean {
  for (; known !== undefined; known = known.before) if (isSame(known, notify)) return true;
  return false;
}

/** Returns the 32-bit FNV-1a hash of a push, computed over four payload bytes at a time. */
export function hashOf({ type, id, time, payload }: Notify): number {
  let hash = Math.imul(0x811c9dc5 ^ type, 0x01000193) ^ time;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  if (payload === undefined) return hash >>> 0;
  const { bytes } = payload;
  const { length } = bytes;
  const whole = length & ~3;
  for (let at = 0; at < whole; at += 4) {
    hash ^= bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16 | bytes[at + 3]! << 24;
    hash = Math.imul(hash, 0x01000193);
    hash ^= hash >>> 15;
  }
  for (let at = whole; at < length; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return hash >>> 0;
}

function isSame(a: Notify, b: Notify): boolean {
  if (a.time !== b.time || a.type !== b.type || a.id !== b.id || a.payload?.name !== b.payload?.name) {
    return false;
  }
  const [left, right] = [a.payload?.bytes, b.payload?.bytes];
  if (left === undefined || right === undefined) return left === right;
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return false;
  return true;
}
