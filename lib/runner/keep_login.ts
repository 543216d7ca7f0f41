/**
 * Keeps a login alive with a cheap query, and knows when to stop: it never fights for it and never loops.
 *
 * @module
 */
import { BusyError, DisplacedError, LoginExpiredError, RejectedError } from "../errors.ts";
import { type Host, wait } from "./host.ts";

/** One thing that runs out, told apart because each is renewed in its own way. */
export interface Life {
  name: "platform-token" | "trade-login";
  lifeMs: number;
  /** Whether a query that succeeds makes it young again; a token lives its time whatever is asked. */
  renewedByQuery: boolean;
}

/** What happened to the login. */
export type LoginEvent =
  | { type: "alive"; nextMs: number }
  | { type: "failed"; error: string; nextMs: number }
  | { type: "expiring"; name: Life["name"]; inMs: number }
  | { type: "stopped"; why: LoginEnd };

/** Why the keeping ended. `refused` is a broker that says no again and again. */
export type LoginEnd = "displaced" | "expired" | "refused" | "ended";

/** What keeping a login needs. */
export interface KeepLoginOptions {
  host: Host;
  lives: readonly Life[];
  /** A cheap query under the login. */
  query(signal: AbortSignal): Promise<unknown>;
  /** Tells whether it is within the hours that the recipe names; outside them nothing is asked. */
  isWithin?(now: number): boolean;
  signal: AbortSignal;
  onEvent?(event: LoginEvent): void;
}

/** How far a period is moved, each way. */
const JITTER = 0.1;
/** Rejections in a row after which there is no use in asking on. */
const MOST_REFUSALS = 3;

/** How long to wait before the next query: a third of the shortest life, moved a little by chance. */
export function keepAlivePeriod(lives: readonly Life[], random: () => number): number {
  const shortest = Math.min(...lives.map(({ lifeMs }) => lifeMs));
  return Math.round(shortest / 3 * (1 - JITTER + 2 * JITTER * random()));
}

/** Asks now and then until the signal is given or there is nothing left to keep; resolves to why it ended. */
export async function keepLogin(options: KeepLoginOptions): Promise<LoginEnd> {
  const end = await keep(options);
  options.onEvent?.({ type: "stopped", why: end });
  return end;
}

async function keep({ host, lives, query, isWithin, signal, onEvent }: KeepLoginOptions): Promise<LoginEnd> {
  const bornAt = new Map(lives.map(({ name }) => [name, host.monotonic()]));
  const told = new Set<Life["name"]>();
  for (let refusals = 0;;) {
    const nextMs = keepAlivePeriod(lives, host.random);
    if (isWithin?.(host.now()) ?? true) {
      try {
        await query(signal);
        refusals = 0;
        for (const { name, renewedByQuery } of lives) {
          if (!renewedByQuery) continue;
          bornAt.set(name, host.monotonic());
          told.delete(name);
        }
        onEvent?.({ type: "alive", nextMs });
      } catch (error) {
        if (signal.aborted) return "ended";
        if (error instanceof DisplacedError) return "displaced";
        if (error instanceof LoginExpiredError) return "expired";
        const refused = error instanceof RejectedError && !(error instanceof BusyError);
        if (refused && ++refusals >= MOST_REFUSALS) return "refused";
        onEvent?.({ type: "failed", error: error instanceof Error ? error.name : "unknown", nextMs });
      }
    }
    for (const { name, lifeMs } of lives) {
      const inMs = bornAt.get(name)! + lifeMs - host.monotonic(); // every life was born above
      // Said while there is still time to do something about it, and once.
      if (inMs > 1.5 * nextMs || told.has(name)) continue;
      told.add(name);
      onEvent?.({ type: "expiring", name, inMs: Math.max(0, inMs) });
    }
    if (!await wait(host, nextMs, signal).then(() => true, () => false)) return "ended";
  }
}
