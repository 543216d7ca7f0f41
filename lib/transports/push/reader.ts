/**
 * Decodes pushes into typed events. Also detects repeated pushes, and pushes with a time far from the broker's clock.
 * The broker does not number pushes, so repeats are found by comparing their contents.
 *
 * @module
 */
import { NotifyType } from "../../dictionaries/message_type.ts";
import { ProtocolError } from "../../errors.ts";
import type { PushEvent } from "../../operations/public_types.ts";
import { pushes } from "../../operations/pushes.ts";
import { Mismatch } from "../../operations/types.ts";
import { nodeCrypto } from "../../std/node_crypto.ts";
import type { Envelopes, Notify, RawMessage } from "../../wire/messages.ts";
import type { UnknownEvent } from "./events.ts";

/** How to decode the pushes of one type number. */
interface PushEntry {
  type: PushEvent["type"];
  message: string;
  read: (bytes: Uint8Array) => RawMessage;
  decode: (raw: RawMessage) => PushEvent["data"];
}

/** Returns whether hsgate knows the type number of a push, and the payload is the message of that type. */
export function isKnownPush({ type, payload }: Notify): boolean {
  const name = NotifyType.decode(String(type));
  return payload !== undefined && payload.bytes.length > 0 &&
    Object.values(pushes).some(({ notify, message }) => notify.includes(name) && message === payload.name);
}

/** Returns the event of a push. */
export type PushReader = (notify: Notify) => PushEvent | UnknownEvent;

/** Error code of an order push that names an account that is not in `fundAccounts`, or no account. */
export const OTHER_ACCOUNT = "other-account";

/** Options of {@linkcode createPushReader}. */
interface PushReaderOptions {
  /**
   * Numbers of the user's accounts.
   *
   * @default any account. After a push names a second account, that push and all later pushes of its type have
   * `unsureAccount`.
   */
  fundAccounts?: readonly string[];
}

/**
 * Returns a decoder for pushes. It decodes protobuf messages directly into hsgate's records, because an intermediate
 * plain object would take 50 % more time.
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
      // Only a readable push counts as naming an account. If two accounts appear, either could be the user's.
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

/** A push whose time differs by more than this from the broker's clock is marked with `offMs`. */
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
   * @param now Returns the time of this machine's clock, Unix milliseconds.
   * @param aheadOf Returns the milliseconds by which the broker's clock is ahead of this machine's; `undefined` until
   * an answer contains the broker's time.
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
    const short = shortened(notify);
    return this.#orders.has(short, hash) || this.#others.has(short, hash);
  }

  /** Remembers a push. Copies the payload, which is only valid during the call. */
  remember(notify: Notify, hash: number, isOrder: boolean): void {
    (isOrder ? this.#orders : this.#others).add(shortened(notify), hash);
  }

  /**
   * Returns how far the time of a push is from the broker's clock in milliseconds, negative for an old push;
   * `undefined` within {@linkcode FAR_MS}. Only answers set the broker's clock. If pushes set it, one push with a wrong
   * time would make the next wrong time look right. Before the first answer, this machine's clock is used, so that an
   * old push does not pass as new.
   */
  offTime(sentAt: number): number | undefined {
    const offMs = sentAt - this.#now() - (this.#aheadOf() ?? 0);
    return Math.abs(offMs) > FAR_MS ? offMs : undefined;
  }

  /** Whether the broker's time is known from an answer. */
  get isTimeKnown(): boolean {
    return this.#aheadOf() !== undefined;
  }
}

/**
 * If id, name and payload of a push are together longer than this, keep only a digest: a gateway may send many long
 * pushes.
 */
const MOST_REMEMBERED = 2048;

/** Returns the push itself if it is short. Otherwise returns a short push, which differs for each long push. */
function shortened(notify: Notify): Notify {
  const { type, id, time, payload = { name: "", bytes: EMPTY } } = notify;
  const { name, bytes } = payload;
  if (id.length + name.length + bytes.length <= MOST_REMEMBERED) return notify;
  const digest = nodeCrypto().createHash("sha256")
    .update(`${id.length} ${name.length} ${id}${name}`).update(bytes).digest();
  // Received types are whole numbers, so no received push equals the short one.
  return { type: type + 0.5, id: "", time, payload: { name: "", bytes: digest } };
}

const EMPTY = new Uint8Array(0);
/** Size of a block of remembered payloads, bytes. No payload is larger than {@linkcode MOST_REMEMBERED}. */
const BLOCK = 64 * 1024;

/** Remembers pushes by their hash, in two generations. When the newer one is full, the older one is dropped. */
class Memory {
  #recent = new Generation();
  #older = new Generation();

  has(notify: Notify, hash: number): boolean {
    return this.#recent.has(notify, hash) || this.#older.has(notify, hash);
  }

  add(notify: Notify, hash: number): void {
    if (this.#recent.count >= REMEMBERED) {
      [this.#recent, this.#older] = [this.#older, this.#recent];
      this.#recent.clear();
    }
    this.#recent.add(notify, hash);
  }
}

/**
 * A hash table of up to {@linkcode REMEMBERED} pushes. It consists of arrays that are used again. With an object for
 * each push, the garbage collector would need more time than reading the push takes.
 */
class Generation {
  /** Number of pushes. */
  count = 0;
  /** For each value of the lowest bits of a hash: number of the newest push that has it, from 1; 0 if there is none. */
  #newest = new Int32Array(0);
  /** For each push: number of the previous push with the same lowest bits of the hash; 0 if there is none. */
  #earlier = new Int32Array(0);
  #hashes = new Uint32Array(0);
  #types = new Float64Array(0);
  #times = new Float64Array(0);
  #ids: string[] = [];
  #names: (string | undefined)[] = [];
  /** For each push: the block that contains its payload, and where the payload is in the block. */
  #blocks: Uint8Array[] = [];
  #starts = new Uint32Array(0);
  #lengths = new Uint32Array(0);
  /** Blocks of this table that are not in use. */
  readonly #free: Uint8Array[] = [];
  #block: Uint8Array = EMPTY;
  #used = 0;

  /** Returns whether a push is remembered. Different pushes can share a hash, and none replaces the other. */
  has(notify: Notify, hash: number): boolean {
    if (this.count === 0) return false;
    for (let number = this.#newest[hash & (REMEMBERED - 1)]!; number !== 0;) {
      const at = number - 1;
      if (this.#hashes[at] === hash && this.#isSame(at, notify)) return true;
      number = this.#earlier[at]!;
    }
    return false;
  }

  add({ type, id, time, payload }: Notify, hash: number): void {
    if (this.#newest.length === 0) this.#allocate();
    const at = this.count++;
    const place = hash & (REMEMBERED - 1);
    this.#earlier[at] = this.#newest[place]!;
    this.#newest[place] = at + 1;
    this.#hashes[at] = hash;
    this.#types[at] = type;
    this.#times[at] = time;
    this.#ids[at] = id;
    this.#names[at] = payload?.name;
    this.#copy(at, payload?.bytes ?? EMPTY);
  }

  clear(): void {
    this.#newest.fill(0);
    this.#free.push(...new Set(this.#blocks));
    this.#ids = [];
    this.#names = [];
    this.#blocks = [];
    this.#block = EMPTY;
    this.count = this.#used = 0;
  }

  #allocate(): void {
    this.#newest = new Int32Array(REMEMBERED);
    this.#earlier = new Int32Array(REMEMBERED);
    this.#hashes = new Uint32Array(REMEMBERED);
    this.#types = new Float64Array(REMEMBERED);
    this.#times = new Float64Array(REMEMBERED);
    this.#starts = new Uint32Array(REMEMBERED);
    this.#lengths = new Uint32Array(REMEMBERED);
  }

  #copy(at: number, bytes: Uint8Array): void {
    const { length } = bytes;
    if (this.#block.length - this.#used < length) {
      this.#block = this.#free.pop() ?? new Uint8Array(BLOCK);
      this.#used = 0;
    }
    this.#block.set(bytes, this.#used);
    this.#blocks[at] = this.#block;
    this.#starts[at] = this.#used;
    this.#lengths[at] = length;
    this.#used += length;
  }

  #isSame(at: number, { type, id, time, payload }: Notify): boolean {
    if (this.#times[at] !== time || this.#types[at] !== type || this.#ids[at] !== id) return false;
    if (this.#names[at] !== payload?.name) return false;
    const bytes = payload?.bytes ?? EMPTY;
    if (this.#lengths[at] !== bytes.length) return false;
    const block = this.#blocks[at]!;
    const start = this.#starts[at]!;
    for (let index = 0; index < bytes.length; index++) {
      if (block[start + index] !== bytes[index]) return false;
    }
    return true;
  }
}

/** The view of the buffer with the newest payload: pushes of one connection share a buffer. */
let lastView: DataView = new DataView(EMPTY.buffer);

/** Returns a 32-bit hash of a push, similar to FNV-1a but computed over four payload bytes at a time. */
export function hashOf({ type, id, time, payload }: Notify): number {
  let hash = Math.imul(0x811c9dc5 ^ type, 0x01000193) ^ time;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  if (payload === undefined) return hash >>> 0;
  const { buffer, byteOffset, length } = payload.bytes;
  // A view reads four bytes at once.
  const view = lastView.buffer === buffer ? lastView : lastView = new DataView(buffer);
  const end = byteOffset + length;
  const whole = end - (length & 3);
  for (let at = byteOffset; at < whole; at += 4) {
    hash = Math.imul(hash ^ view.getInt32(at, true), 0x01000193);
    hash ^= hash >>> 15;
  }
  for (let at = whole; at < end; at++) hash = Math.imul(hash ^ view.getUint8(at), 0x01000193);
  return hash >>> 0;
}
