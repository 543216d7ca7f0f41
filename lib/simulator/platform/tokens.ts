/**
 * Session tokens of the platform: one holds at a time, as one account stands behind them.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Clock } from "../clock.ts";
import { Refusal } from "../contract.ts";

/** Where the newest token stands. */
export type TokenState = "none" | "valid" | "expired" | "displaced";

/** Which tokens hold. */
export interface TokensOptions {
  seed: number;
  /** How long a token holds without a call, in milliseconds. */
  lifeMs: number;
  clock: Clock;
}

interface Entry {
  until: number;
  displaced: boolean;
}

/** The tokens that were handed out. */
export class Tokens {
  readonly #options: TokensOptions;
  readonly #entries = new Map<string, Entry>();
  #newest: Entry | undefined;

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /** Where the newest token stands. */
  get state(): TokenState {
    return this.#newest === undefined ? "none" : this.#stateOf(this.#newest);
  }

  /** Hands out a new token. One that still held is displaced by it; one that had run out stays what it was. */
  issue(): string {
    const { seed, lifeMs, clock } = this.#options;
    for (const entry of this.#entries.values()) {
      if (this.#stateOf(entry) === "valid") entry.displaced = true;
    }
    const count = this.#entries.size + 1;
    const token = createHash("sha256").update(`token ${count} of simulator ${seed}`).digest("hex");
    this.#newest = { until: clock.now() + lifeMs, displaced: false };
    this.#entries.set(token, this.#newest);
    return token;
  }

  /**
   * Says no unless a token holds, and lets it hold on: every call extends it.
   *
   * @throws {Refusal} 1012 without a token, 1013 when a newer login displaced it, 1014 when it has run out or was
   *   never handed out.
   */
  demand(token: string): void {
    if (token === "") throw new Refusal("1012", "not logged in");
    const entry = this.#entries.get(token);
    const state = entry === undefined ? "expired" : this.#stateOf(entry);
    if (state === "displaced") throw new Refusal("1013", "displaced by another login");
    if (entry === undefined || state === "expired") throw new Refusal("1014", "login timeout");
    const { lifeMs, clock } = this.#options;
    entry.until = clock.now() + lifeMs;
  }

  /** Lets the newest token run out now. */
  expire(): void {
    if (this.#newest !== undefined) this.#newest.until = -Infinity;
  }

  /** Ends the newest token as a login elsewhere does. */
  displace(): void {
    if (this.#newest !== undefined) this.#newest.displaced = true;
  }

  #stateOf({ until, displaced }: Entry): "valid" | "expired" | "displaced" {
    if (displaced) return "displaced";
    return this.#options.clock.now() < until ? "valid" : "expired";
  }
}
