/**
 * Wraps the client of a step: checks each write before it is sent, and records its outcome. The recorded outcomes
 * decide how the step ends, even if the step catches its errors.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import type { WantedWrite } from "../../client/intercept.ts";
import { BrokerError, OutcomeUnknownError, ProtocolError } from "../../errors.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type { StepDesk } from "../compiled.ts";
import { provingLists, whereToLook } from "../../operations/proof.ts";
import { lazily } from "../../lazy.ts";

const loadIntercept = lazily(() => import("../../client/intercept.ts"));
const loadCatalogue = lazily(() => import("../../operations/mod.ts"));

/** A write that a step sent. */
export interface SentWrite {
  operation: string;
  /** Whether the write only cancels orders. */
  cancels: boolean;
  /**
   * `open`: there is no answer yet. `refused`: the broker rejected the write. `resolved`: the outcome was unknown, and
   * the order desk has since resolved the intent from the broker's lists. The write may or may not have been executed.
   */
  outcome: "open" | "ok" | "refused" | "unknown" | "resolved";
  /** Operations that list what the write created or changed. */
  lists: readonly string[];
  /** What to check, in words. */
  where: string;
}

/** Options of {@linkcode WriteGuard}. */
interface WriteGuardOptions {
  /** Throws if the step may not write now. @default never throws */
  check?: () => void | Promise<void>;
  /** Called just before a write is sent. If it throws, the write is not sent. */
  onSend?: (write: SentWrite) => void | Promise<void>;
  /** Called with each error of a call, even if the step catches it; not called for pages of lists. */
  onError?: (error: unknown) => void;
}

/**
 * Returns whether a failed write may have been executed. Only hsgate's own error classes prove that the broker did not
 * execute it. Any other error may occur after the write was sent.
 */
export function mayHaveHappened(error: unknown): boolean {
  if (!(error instanceof BrokerError)) return true;
  return error instanceof OutcomeUnknownError || error instanceof ProtocolError;
}

/** Error code of a step whose process ended without a result. */
export const ENDED_WITHOUT_RESULT = "own-step-ended";

/** Properties of a write that the guard checks. */
type GuardedWrite = Pick<AnyOperation, "name" | "provenBy" | "order">;

/**
 * Checks the writes of one attempt of a step, and records their outcomes. After a write with an unknown outcome,
 * rejects every other write until that outcome is resolved: the step reports it with {@linkcode WriteGuard.prove}, or
 * `reconcile` of a guarded desk leaves no intent unresolved. One exception: after an unresolved cancellation, further
 * cancellations are allowed.
 */
export class WriteGuard {
  readonly #options: WriteGuardOptions;
  readonly #byError = new Map<unknown, SentWrite>();
  #closed = false;
  /** Sent writes, in order. */
  readonly sent: SentWrite[] = [];

  constructor(options: WriteGuardOptions = {}) {
    this.#options = options;
  }

  /** Writes without an answer yet, or with an unknown outcome. */
  get open(): SentWrite[] {
    return this.sent.filter(({ outcome }) => outcome === "open" || outcome === "unknown");
  }

  /** Whether a write has no answer yet or an unknown outcome. */
  get isOpen(): boolean {
    return this.open.length > 0;
  }

  /** The error for a step that ended with an unresolved write; `undefined` if all outcomes are known. */
  get unresolvedError(): OutcomeUnknownError | undefined {
    const [first] = this.open;
    if (first === undefined) return undefined;
    const places = [...new Set(this.open.map(({ where }) => where))];
    return new OutcomeUnknownError(
      `Cannot know what the step wrote: it ended, and it had sent ${describeSent(this.sent)}; ${
        places.join("; ")
      }`,
      { code: "write-open", operation: first.operation, lists: this.open.flatMap(({ lists }) => lists) },
    );
  }

  /** Ends the attempt: the step can send nothing more. */
  close(): void {
    this.#closed = true;
  }

  /**
   * Records the outcome of an unresolved write, as the broker's lists show it.
   *
   * @param error The error of the write.
   */
  prove(error: unknown, outcome: "ok" | "refused"): void {
    const write = this.#byError.get(error);
    if (write?.outcome === "unknown") write.outcome = outcome;
  }

  /** Returns a client whose writes and raw calls are checked and recorded. Reads, logins and pushes pass through. */
  async guard(client: Client): Promise<Client> {
    return (await this.#wrapper())(client);
  }

  /**
   * Returns a desk whose clients are guarded. If `reconcile` leaves no intent unresolved, the outcomes of the step's
   * writes are known.
   */
  async guardDesk(desk: StepDesk): Promise<StepDesk> {
    const wrap = await this.#wrapper();
    return {
      ...desk,
      client: (why) => wrap(desk.client(why)),
      reconcile: async (options) => {
        const open = this.open.filter(({ outcome }) => outcome === "unknown");
        const found = await desk.reconcile(options);
        // The desk has an intent for each of these writes, and this reading has compared all of them.
        const areAllResolved = options?.leavesOut === undefined && found.unresolved.length === 0;
        if (areAllResolved) { for (const write of open) write.outcome = "resolved"; }
        return found;
      },
    };
  }

  async #wrapper(): Promise<(client: Client) => Client> {
    // Both functions need the whole catalogue, which is not loaded for steps without a client.
    const [{ intercepted }, { operationOfPath }] = await Promise.all([
      loadIntercept(),
      loadCatalogue(),
    ]);
    return (client) =>
      intercepted(client, {
        write: (wanted) => this.#write(wanted),
        raw: (path, _params, send) => this.#raw(path, operationOfPath(path), send),
        ...this.#options.onError && { onError: this.#options.onError },
      });
  }

  async #check(operation: GuardedWrite): Promise<void> {
    this.#refuse(operation);
    await this.#options.check?.();
  }

  /** Throws if the step is over, or if an unresolved write forbids this one. */
  #refuse({ name, order }: GuardedWrite): void {
    if (this.#closed) throw new BrokerError("Cannot write now: the step is over", { code: "step-over" });
    const unknown = this.sent.filter((write) => write.outcome === "unknown");
    if (unknown.some((write) => !(order === "cancel" && write.cancels))) {
      const sent = [...new Set(unknown.map(({ operation }) => operation))].join(", ");
      const places = [...new Set(unknown.map(({ where }) => where))].join("; ");
      throw new BrokerError(
        `Cannot send ${name} now: the outcome of ${sent} is unknown, and it may have been executed; ${places}; ` +
          "the step must check there and report the outcome with proven(error, outcome); then it may write again",
        { code: "write-open", operation: name },
      );
    }
  }

  /** Guards a raw call as a write, because it may be one. */
  async #raw(
    path: string,
    { provenBy, order }: Partial<AnyOperation> = {},
    send: () => Promise<unknown>,
  ): Promise<unknown> {
    const write = { name: path, ...provenBy && { provenBy }, ...order && { order } };
    return await this.#recordOutcome(await this.#begin(write), send);
  }

  async #write({ operation, params, options, send }: WantedWrite): Promise<unknown> {
    await this.#check(operation); // also before a login, because a rejected write must not cause a login
    let write: SentWrite | undefined;
    const beforeWrite = async () => {
      await options.beforeWrite?.();
      write = await this.#begin(operation, params);
    };
    return await this.#recordOutcome(() => write, () => send({ ...options, beforeWrite }));
  }

  /** Checks a write, and records that it is about to be sent. */
  async #begin(operation: GuardedWrite, params?: unknown): Promise<SentWrite> {
    await this.#check(operation);
    const write: SentWrite = {
      operation: operation.name,
      cancels: operation.order === "cancel",
      outcome: "open",
      lists: provingLists(operation, params),
      where: whereToLook(operation, params),
    };
    await this.#options.onSend?.(write);
    // In the meantime the step may have ended, or another of its writes may have failed.
    this.#refuse(operation);
    this.sent.push(write);
    return write;
  }

  /** Sends a write and records its outcome. */
  async #recordOutcome<T>(
    begun: SentWrite | (() => SentWrite | undefined),
    send: () => Promise<T>,
  ): Promise<T> {
    const writeOf = () => typeof begun === "function" ? begun() : begun;
    try {
      const value = await send();
      const write = writeOf();
      if (write !== undefined) write.outcome = "ok";
      return value;
    } catch (error) {
      const write = writeOf();
      if (write !== undefined) {
        write.outcome = mayHaveHappened(error) ? "unknown" : "refused";
        this.#byError.set(error, write);
      }
      throw error;
    }
  }
}

/** Returns a guard for a step without the effect "write": it rejects each write before it is sent. */
export function refusingGuard(
  { id, effect }: { id: string; effect: string },
  options: Pick<WriteGuardOptions, "onError"> = {},
): WriteGuard {
  return new WriteGuard({
    ...options,
    check() {
      throw new BrokerError(
        `Cannot write in step "${id}": its effect is "${effect}"; to write, declare the effect "write"`,
        { code: "not-a-write-step" },
      );
    },
  });
}

const words: Readonly<Record<SentWrite["outcome"], string>> = {
  open: "without an answer yet",
  ok: "done",
  refused: "not done",
  unknown: "with an unknown outcome",
  resolved: "resolved from the broker's lists",
};

/** Lists the sent writes: `orders.place (done), orders.place (without an answer yet)`. */
export function describeSent(sent: readonly SentWrite[]): string {
  return sent.map(({ operation, outcome }) => `${operation} (${words[outcome]})`).join(", ");
}
