/**
 * Looks at pushes before anybody acts on them: whether the same push has come before, and whether its time is one
 * that the broker sends now. The broker numbers no push, so only the bytes tell.
 *
 * @module
 */

/** A push whose time is further from the broker's clock than this is marked. */
export const FAR_MS = 5 * 60_000;
/** Pushes of each memory that are remembered at least; twice as many at most. */
const REMEMBERED = 16_384;

/** Looks at the pushes of one stream. */
export class PushGuard {
  readonly #now: () => number;
  readonly #aheadOf: () => number | undefined;
  // Orders have a memory of their own: market data are many, and must not push them out.
  readonly #orders = new Memory();
  readonly #others = new Memory();
  /** How far the broker's clock is ahead of ours, by the newest push; unknown before the first. */
  #aheadMs: number | undefined;

  /**
   * @param now Our clock, Unix milliseconds.
   * @param aheadOf How far the broker's clock is ahead of it, where an answer has told.
   */
  constructor(now: () => number, aheadOf: () => number | undefined = () => undefined) {
    this.#now = now;
    this.#aheadOf = aheadOf;
  }

  /** Tells whether the very same bytes have come before: the id, the time and the content of a push are all in them. */
  isRepeated(body: Uint8Array): boolean {
    const hash = hashOf(body);
    return this.#orders.has(hash, body) || this.#others.has(hash, body);
  }

  /** Keeps a push in mind. The body may end with the call that brought it. */
  remember(body: Uint8Array, isOrder: boolean): void {
    (isOrder ? this.#orders : this.#others).add(hashOf(body), body);
  }

  /**
   * How far the time of a push is from the broker's clock, milliseconds, negative for an old one; nothing within
   * {@linkcode FAR_MS}. The broker's clock is known by the pushes themselves: no push comes before it is sent, so
   * the one that is furthest ahead of our clock is the best witness.
   */
  offTime(sentAt: number): number | undefined {
    const aheadMs = sentAt - this.#now();
    const known = this.#aheadMs ?? this.#aheadOf();
    this.#aheadMs = Math.max(aheadMs, known ?? -Infinity);
    if (known === undefined) return undefined;
    const offMs = aheadMs - known;
    return Math.abs(offMs) > FAR_MS ? offMs : undefined;
  }
}

/** Bodies by their hash: those of this round and of the one before. */
class Memory {
  #recent = new Map<number, Uint8Array>();
  #older = new Map<number, Uint8Array>();

  /** Two bodies that only share a hash are two. */
  has(hash: number, body: Uint8Array): boolean {
    const known = this.#recent.get(hash) ?? this.#older.get(hash);
    return known !== undefined && isSame(known, body);
  }

  add(hash: number, body: Uint8Array): void {
    if (this.#recent.size >= REMEMBERED) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(hash, body.slice());
  }
}

/** FNV-1a over four bytes at a time, 32 bits. */
function hashOf(body: Uint8Array): number {
  let hash = 0x811c9dc5 ^ body.length;
  const { length } = body;
  const whole = length & ~3;
  for (let at = 0; at < whole; at += 4) {
    hash ^= body[at]! | body[at + 1]! << 8 | body[at + 2]! << 16 | body[at + 3]! << 24;
    hash = Math.imul(hash, 0x01000193);
    hash ^= hash >>> 15;
  }
  for (let at = whole; at < length; at++) hash = Math.imul(hash ^ body[at]!, 0x01000193);
  return hash >>> 0;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}
