/**
 * Applies faults to calls on a socket: before a call is executed, and to its answer.
 *
 * @module
 */
import type { AnyOperation } from "../../operations/operation.ts";
import type { Fault, FaultKind, Faults } from "../endpoints/faults.ts";
import { refusalOf } from "../endpoints/http_faults.ts";
import type { Refusal } from "../contract.ts";
import type { FrameSender } from "./frame_sender.ts";
import type { Tokens } from "./access.ts";

/** Options of {@linkcode CallFaults}: the effects of faults on a session. */
interface CallFaultsOptions {
  faults: Faults;
  tokens: Tokens;
  sender: FrameSender;
  /** Waits; returns early when the port closes. */
  sleep: (ms: number) => Promise<void>;
  /** Ends the trade login. */
  expireLogin: () => void;
  /** Discards the session, as if it was never opened. */
  forgetSession: () => void;
}

/** What a fault decides about a call: execute it, do nothing more, answer it as unreadable, or reject it. */
type Verdict =
  | "execute"
  | "handled"
  | "unreadable"
  | { refusal: Refusal; isSystem?: boolean };

const encoder = new TextEncoder();
const HTML = encoder.encode("<html><body><h1>502 Bad Gateway</h1></body></html>");

/** The faults of one session. */
export class CallFaults {
  readonly #options: CallFaultsOptions;

  constructor(options: CallFaultsOptions) {
    this.#options = options;
  }

  /**
   * Returns a promise if a fault delays a call or its answer. Otherwise returns `undefined` instead of a promise, so
   * that calls without a delay stay in order.
   */
  late(operation: AnyOperation, when: "request" | "answer"): Promise<void> | undefined {
    const { faults, sleep } = this.#options;
    const late = faults.strikeCall("delay", operation, (fault) => (fault.when ?? "answer") === when);
    return late && sleep(late.ms!);
  }

  /** Applies faults before a call is executed. */
  before(operation: AnyOperation): Verdict {
    const { faults, sender } = this.#options;
    if (faults.strikeCall("lost-request", operation) !== undefined) {
      sender.close();
      return "handled";
    }
    if (faults.strikeCall("unreadable-request", operation) !== undefined) return "unreadable";
    for (const [kind, usual, act] of this.#refusals) {
      const fault = faults.strikeCall(kind, operation);
      if (fault === undefined) continue;
      act();
      return { refusal: refusalOf(fault, usual), isSystem: kind === "system-error" };
    }
    return "execute";
  }

  /** Sends the answer of an executed call, or applies a fault instead. */
  answer(operation: AnyOperation, serial: number, body: Uint8Array): void {
    const { faults, sender } = this.#options;
    const strike = (kind: FaultKind): Fault | undefined => faults.strikeCall(kind, operation);
    if (strike("lost-answer") !== undefined) return sender.close();
    if (strike("unanswered") !== undefined) return;
    if (strike("silence") !== undefined) return sender.mute();
    const reset = strike("reset-after");
    if (reset !== undefined) return sender.cutAnswer(serial, body, reset.bytes);
    const huge = strike("huge-body");
    if (huge !== undefined) return sender.hugeAnswer(serial, huge.bytes);
    sender.answer(serial, strike("not-json") === undefined ? body : HTML, operation);
  }

  readonly #refusals: readonly [FaultKind, usual: [code: string, text: string], act: () => void][] = [
    ["busy", ["1011", "busy, retry later"], () => {}],
    ["system-error", ["1001", "unknown system error"], () => {}],
    ["expired-login", ["112", "trade login timeout"], () => this.#options.expireLogin()],
    ["expired-token", ["1014", "login timeout"], () => this.#options.tokens.expire()],
    ["displaced-login", ["1013", "displaced by another login"], () => this.#options.tokens.displace()],
    ["second-init", ["1004", "socket not initialized"], () => this.#options.forgetSession()],
  ];
}
