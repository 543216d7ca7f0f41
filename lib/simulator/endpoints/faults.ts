/**
 * Injects faults between a client and the broker's endpoints. Each fault is armed separately and counted.
 *
 * A fault strikes the next matching calls or pushes, `times` in all; then it is used up. The strikes of each kind are
 * counted, so that a test can distinguish "survived the fault" from "the fault never struck".
 *
 * @module
 */
import { type Issue, showIssues } from "../../errors.ts";
import { findOperation } from "../../operations/mod.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type { Padding } from "../../wire/padding.ts";

/**
 * Every kind of fault that the gateway supports, and its effect. On a socket of the platform, an answer is a
 * frame, `not-json` is a body that is not protobuf, and `http-error` never strikes.
 */
export const faultKinds = {
  "delay": 'waits `ms` before the answer, or with `when: "request"` before the call is executed',
  "lost-answer": "executes the call, then closes the connection without an answer",
  "lost-request": "closes the connection; the call is not executed",
  "reset-after":
    "executes the call, sends the first `bytes` of the HTTP answer (by default half of its body's length), then closes",
  "busy": "rejects the call with `code` (1011 by default) and `text`; the call is not executed",
  "http-error": "answers with HTTP `status` (503) and a plain text; the call is not executed",
  "expired-login":
    "ends the trade login (over the platform's HTTP, the token); rejects the call with `code` (1014, on a socket 112)",
  "not-json": "executes the call, then answers 200 with a page of HTML",
  "huge-body": "executes the call, then answers with `bytes` of padding (32 MiB), `chunked` or not",
  "cursor-repeat": "the last row of a page has the cursor of the request",
  "cursor-backward": "the last row of a page has the cursor of the first row",
  "cursor-empty": "the last row of a page has no cursor",
  "short-page": "a full page arrives with half its rows, although more exist",
  "empty-page": "a page arrives without its rows; over HTTP, even the list is missing",
  "insert-row":
    "adds a row at the start of a list that is read by cursor; the row stays, and each other row moves back by one",
  "duplicate-push": "a push arrives twice",
  "reorder-push": "a push arrives after the one that follows it",
  "drop-push": "a push does not arrive",
  "cut-push":
    "closes the push connections, at once or after `bytes` of the next push, and forgets the subscriptions",
} as const;

/** Further kinds that the platform supports; those without "over HTTP too" strike only on its sockets. */
export const socketFaultKinds = {
  "unanswered": "executes the call and never answers it; the connection keeps working",
  "silence": "executes the call, then sends nothing more, although the connection stays open",
  "system-error":
    "rejects the call as a system exception, with `code` (1001) and `text`; the call is not executed",
  "unreadable-request":
    'answers with request id "0", as if the call could not be decrypted; it is not executed',
  "expired-token": "ends the token and rejects the call with 1014; over HTTP too",
  "displaced-login":
    "ends the token as if another device had logged in, rejects the call with 1013, and closes the socket; over HTTP too",
  "second-init": "forgets the session and rejects calls with 1004 until the client sends InitConnect again",
  "wrong-signature": "an answer, or a push if `push` is given, has a wrong signature",
  "wrong-padding": "an answer, or a push if `push` is given, has invalid padding",
  "other-padding":
    "an answer, or a push if `push` is given, has the `padding` pkcs7, mod_len (the default) or mod_len_over_pkcs7",
  "truncated-frame":
    "only the first `bytes` of an answer's frame arrive (half of it by default), and then the next frame",
  "split-frame": "an answer, or a push if `push` is given, arrives in pieces of `bytes` (40)",
  "merged-frames":
    "an answer, or a push if `push` is given, waits for the next frame, at most `ms` (50); both then arrive together",
} as const;

/** Name of a fault. */
export type FaultKind = keyof typeof faultKinds | keyof typeof socketFaultKinds;

/** Pushes to which a fault can be limited. */
export type FaultPush = "order" | "quote" | "tick" | "brokers" | "book";

/** A fault to arm. */
export interface Fault {
  /** Kind of the fault. */
  kind: FaultKind;
  /** Strikes only this operation, by hsgate's name or the broker's. */
  operation?: string;
  /** Strikes only this kind of push. */
  push?: FaultPush;
  /** How often it strikes. @default 1 */
  times?: number;
  /** How many matching calls or pushes pass before it strikes. @default 0 */
  skip?: number;
  /** `delay`, `merged-frames`: duration in milliseconds. */
  ms?: number;
  /** `delay`: before the call is executed, or before its answer is sent. @default "answer" */
  when?: "request" | "answer";
  /**
   * `reset-after`, `cut-push`, `truncated-frame`: bytes that are still sent; `huge-body`: bytes of padding;
   * `split-frame`: bytes of each piece.
   */
  bytes?: number;
  /** `huge-body`: send the body in chunks, without a `Content-Length`. @default false */
  chunked?: boolean;
  /** For each kind that rejects a call, such as `busy`: the broker's code. */
  code?: string;
  /** For each kind that rejects a call, such as `busy`: the broker's text. */
  text?: string;
  /** `http-error`: the status. @default 503 */
  status?: number;
  /** `cut-push`: forget the subscriptions too. @default true */
  forget?: boolean;
  /** `other-padding`: the padding of the body. @default "mod_len" */
  padding?: Padding;
}

/** An armed fault. */
export interface ArmedFault {
  /** The fault. */
  readonly fault: Readonly<Fault>;
  /** Counts one strike. */
  strike(): void;
}

interface Entry {
  fault: Fault;
  left: number;
  skip: number;
  /**
   * Returns whether the fault can strike now; present for faults that strike only at times, such as those of a script.
   */
  isNow: (() => boolean) | undefined;
  /** Called at each strike. */
  onStruck: (() => void) | undefined;
}

const pushNames: readonly string[] = ["order", "quote", "tick", "brokers", "book"];
const paddings: readonly Padding[] = ["pkcs7", "mod_len", "mod_len_over_pkcs7"];
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
const isText = (value: unknown) => typeof value === "string" && value !== "";
const isFlag = (value: unknown) => typeof value === "boolean";

/** For each member of a fault: a function that returns whether a value is valid, and a description of valid values. */
const members: Record<keyof Fault, [accepts: (value: unknown) => boolean, expected: string]> = {
  kind: [
    (value) =>
      typeof value === "string" &&
      (Object.hasOwn(faultKinds, value) || Object.hasOwn(socketFaultKinds, value)),
    `one of ${[...Object.keys(faultKinds), ...Object.keys(socketFaultKinds)].join(", ")}`,
  ],
  operation: [
    (value) => typeof value === "string" && findOperation(value) !== undefined,
    'an operation such as "orders.place" or "TradeEntrust"',
  ],
  push: [(value) => pushNames.includes(value as string), `one of ${pushNames.join(", ")}`],
  times: [(value) => isCount(value) && value !== 0 || value === Infinity, "a whole number above zero"],
  skip: [isCount, "a whole number of zero or more"],
  ms: [isCount, "milliseconds, zero or more"],
  when: [(value) => value === "request" || value === "answer", '"request" or "answer"'],
  bytes: [isCount, "a whole number of zero or more"],
  chunked: [isFlag, "true or false"],
  code: [isText, "a code as text"],
  text: [isText, "a text"],
  status: [
    (value) => isCount(value) && Number(value) >= 400 && Number(value) <= 599,
    "a status from 400 to 599",
  ],
  forget: [isFlag, "true or false"],
  padding: [(value) => paddings.includes(value as Padding), `one of ${paddings.join(", ")}`],
};

/** The armed faults, with the number of strikes of each kind. */
export class Faults {
  readonly #entries: Entry[] = [];
  readonly #struck = new Map<FaultKind, number>();
  readonly #listeners = new Set<() => void>();

  /**
   * Arms a fault.
   *
   * @param isNow Returns whether the fault can strike now. A fault that has this function stays armed when
   * {@linkcode clear} disarms the others. @default always
   * @param onStruck Called at each strike.
   * @returns A function that disarms the fault.
   * @throws {TypeError} If a member is invalid or unknown.
   */
  arm(fault: Fault, isNow?: () => boolean, onStruck?: () => void): () => void {
    checkFault(fault);
    const entry: Entry = { fault, left: fault.times ?? 1, skip: fault.skip ?? 0, isNow, onStruck };
    this.#entries.push(entry);
    for (const listener of this.#listeners) listener();
    return () => this.#remove(entry);
  }

  /** Disarms all faults except those that were armed with `isNow`, such as the faults of a script. Keeps the counts. */
  clear(): void {
    const kept = this.#entries.filter(({ isNow }) => isNow !== undefined);
    this.#entries.splice(0, Infinity, ...kept);
  }

  /** Returns how often a kind struck. */
  struck(kind: FaultKind): number {
    return this.#struck.get(kind) ?? 0;
  }

  /** How often each kind struck; omits kinds that never struck. */
  get counts(): Partial<Record<FaultKind, number>> {
    return Object.fromEntries(this.#struck);
  }

  /** The faults that can strike now: a fault of a script is left out before and after its time. */
  get armed(): Fault[] {
    return this.#entries.filter(({ isNow }) => isNow?.() !== false).map(({ fault, left, skip }) => ({
      ...fault,
      times: left,
      skip,
    }));
  }

  /** Calls the listener each time a fault is armed. Returns a function that removes the listener. */
  onArmed(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Returns a fault that matches a call and counts it as struck, or `undefined`. */
  strikeCall(
    kind: FaultKind,
    operation: AnyOperation,
    fits: (fault: Fault) => boolean = () => true,
  ): Fault | undefined {
    const entry = this.#find(kind, ({ fault }) => matchesCall(fault, operation) && fits(fault));
    if (entry !== undefined) this.#strike(entry);
    return entry?.fault;
  }

  /** Returns a fault that matches a push. The caller counts it with `strike()`. */
  findPush(
    kind: FaultKind,
    push: FaultPush,
    fits: (fault: Fault) => boolean = () => true,
  ): ArmedFault | undefined {
    const entry = this.#find(kind, ({ fault }) => (fault.push ?? push) === push && fits(fault));
    return entry && { fault: entry.fault, strike: () => this.#strike(entry) };
  }

  /** Returns a fault by its kind and members, for any operation or push, and counts it as struck. */
  strikeAny(kind: FaultKind, fits: (fault: Fault) => boolean): Fault | undefined {
    const entry = this.#find(kind, ({ fault }) => fits(fault));
    if (entry !== undefined) this.#strike(entry);
    return entry?.fault;
  }

  #find(kind: FaultKind, fits: (entry: Entry) => boolean): Entry | undefined {
    for (const entry of this.#entries) {
      if (entry.fault.kind !== kind || entry.isNow?.() === false || !fits(entry)) continue;
      if (entry.skip === 0) return entry;
      entry.skip -= 1;
    }
    return undefined;
  }

  #strike(entry: Entry): void {
    const { kind } = entry.fault;
    this.#struck.set(kind, this.struck(kind) + 1);
    entry.left -= 1;
    if (entry.left === 0) this.#remove(entry);
    entry.onStruck?.();
  }

  #remove(entry: Entry): void {
    const index = this.#entries.indexOf(entry);
    if (index !== -1) this.#entries.splice(index, 1);
  }
}

/**
 * Returns whether a fault is for a call. hsgate's name matches one operation. The broker's name also matches the
 * variants of the operation.
 */
function matchesCall({ operation }: Fault, call: AnyOperation): boolean {
  return operation === undefined || operation === call.name || operation === call.wire;
}

/** Validates a fault from outside. @throws {TypeError} Lists everything that is wrong. */
export function checkFault(fault: unknown): asserts fault is Fault {
  const issues: Issue[] = [];
  if (typeof fault !== "object" || fault === null || Array.isArray(fault)) {
    throw new TypeError("Cannot arm fault: expected an object with its kind");
  }
  // It was just checked to be an object; its members are checked below.
  const given = fault as Record<string, unknown>;
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(members, name)) {
      issues.push({ path: [name], value, expected: `only ${Object.keys(members).join(", ")}` });
    }
  }
  for (const [name, [accepts, expected]] of Object.entries(members)) {
    const value = given[name];
    if (value === undefined ? name === "kind" : !accepts(value)) {
      issues.push({ path: [name], value, expected });
    }
  }
  if (given.kind === "delay" && given.ms === undefined) {
    issues.push({ path: ["ms"], value: undefined, expected: "milliseconds for a delay" });
  }
  if (issues.length > 0) throw new TypeError(`Cannot arm fault: ${showIssues(issues)}`);
}
