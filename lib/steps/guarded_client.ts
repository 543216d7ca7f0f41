/**
 * The client that a step is given: it checks before each write whether one may be sent, and keeps what became of it.
 * What it keeps decides how the step ends, whatever the step does with its errors.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { BrokerError, OutcomeUnknownError, ProtocolError } from "../errors.ts";
import { catalogue, findOperation } from "../operations/mod.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { provingLists, whereToLook } from "../operations/proof.ts";
import type { CallOptions, Transport } from "../transports/transport.ts";

/** A write that a step sent. */
export interface SentWrite {
  operation: string;
  /** It only cancels orders. */
  cancels: boolean;
  /** `refused` when the broker said no, `open` while there is no answer. */
  outcome: "open" | "ok" | "refused" | "unknown";
  /** Operations that list what it made or changed. */
  lists: readonly string[];
  /** Where to look, in words. */
  where: string;
}

/** Options of {@linkcode WriteGuard}. */
export interface WriteGuardOptions {
  /** Throws when nothing may be written now. @default everything may */
  check?: () => void;
  /** Called right before a write is sent; what it throws keeps the write from being sent. */
  onSend?: (write: SentWrite) => void;
  /** Told of each error of a call, whatever the step does with it; not of the pages of lists. */
  onError?: (error: unknown) => void;
}

/**
 * Returns whether a write that threw may have been executed. Only errors of this program's own classes say that it
 * was not; anything else may have been thrown after it was sent.
 */
export function mayHaveHappened(error: unknown): boolean {
  if (!(error instanceof BrokerError)) return true;
  return error instanceof OutcomeUnknownError || error instanceof ProtocolError;
}

/** Code of the error of a step whose process ended before it said how it had ended. */
export const ENDED_UNTOLD = "own-step-ended";

/** What the guard has to know of a write. */
type GuardedWrite = Pick<AnyOperation, "name" | "provenBy" | "cancels">;

/**
 * Checks the writes of one attempt at a step, and keeps what became of them. While the outcome of one is unknown it
 * refuses every other, until the step shows that outcome with {@linkcode WriteGuard.prove}. Only cancellations may
 * follow cancellations.
 */
export class WriteGuard {
  readonly #options: WriteGuardOptions;
  readonly #byError = new Map<unknown, SentWrite>();
  #closed = false;
  /** What was sent, in order. */
  readonly sent: SentWrite[] = [];

  constructor(options: WriteGuardOptions = {}) {
    this.#options = options;
  }

  /** The writes whose outcome nobody knows. */
  get open(): SentWrite[] {
    return this.sent.filter(({ outcome }) => outcome === "open" || outcome === "unknown");
  }

  /** Whether the outcome of any write is unknown. */
  get isOpen(): boolean {
    return this.open.length > 0;
  }

  /** The error of a step that ended without a word about a write whose outcome is unknown; nothing when all are known. */
  get openError(): OutcomeUnknownError | undefined {
    const [first] = this.open;
    if (first === undefined) return undefined;
    const places = [...new Set(this.open.map(({ where }) => where))];
    return new OutcomeUnknownError(
      `Cannot tell what the step wrote: it ended, and it had sent ${tellSent(this.sent)}; ${
        places.join("; ")
      }`,
      { code: "write-open", operation: first.operation, lists: this.open.flatMap(({ lists }) => lists) },
    );
  }

  /** Ends the attempt: what the step still does sends nothing more. */
  close(): void {
    this.#closed = true;
  }

  /**
   * Records what the broker's lists showed of a write whose outcome was unknown.
   *
   * @param error What the write threw.
   */
  prove(error: unknown, outcome: "ok" | "refused"): void {
    const write = this.#byError.get(error);
    if (write?.outcome === "unknown") write.outcome = outcome;
  }

  /** Returns a client whose writes are checked and kept; its reads, logins and pushes are those of the client within. */
  guard(client: Client): Client {
    const noting = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } catch (error) {
        this.#options.onError?.(error);
        throw error;
      }
    };
    const call = (operation: AnyOperation, params: unknown, options: CallOptions = {}) =>
      noting(
        operation.effect === "write"
          ? this.#write(client, operation, { params, options })
          : client.call(operation, params, options),
      );
    const families = Object.entries(catalogue).map(([name, family]) => {
      // The name comes from there; each method takes parameters and options.
      const own = client[name as keyof typeof catalogue] as Readonly<
        Record<string, (...args: unknown[]) => Promise<unknown>>
      >;
      const guarded = Object.entries<AnyOperation>(family).filter(([, { paging }]) => paging === undefined)
        .map(([key, operation]) => [
          key,
          operation.effect === "write"
            ? (params: unknown = {}, options: CallOptions = {}) => call(operation, params, options)
            : (...args: unknown[]) => noting(own[key]!(...args)),
        ]);
      return [name, { ...own, ...Object.fromEntries(guarded) }];
    });
    const raw: Client["raw"] = (group, name, params, options) =>
      this.#raw(`${group}/${name}`, () => client.raw(group, name, params, options));
    const transport = this.#guardTransport(client.transport);
    // The keys of the client, each with a function of the same parameters and answers.
    return { ...client, ...Object.fromEntries(families), transport, raw, call } as Client;
  }

  /** The transport is a way around the client, and is guarded alike. */
  #guardTransport(inner: Transport): Transport {
    const { openPushes, push, logins, account, name } = inner;
    return {
      name,
      call: async (operation, params, options) =>
        operation.effect === "write"
          ? await this.#keep(this.#begin(operation, params), () => inner.call(operation, params, options))
          : await inner.call(operation, params, options),
      raw: (group, path, params, options) =>
        this.#raw(`${group}/${path}`, () => inner.raw(group, path, params, options)),
      ...push !== undefined && { push },
      ...account !== undefined && { account: () => account.call(inner) },
      ...openPushes !== undefined && { openPushes: (hooks) => openPushes.call(inner, hooks) },
      ...logins !== undefined && { logins },
      [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
    };
  }

  #check({ name, cancels }: GuardedWrite): void {
    if (this.#closed) throw new BrokerError("Cannot write now: the step is over", { code: "step-over" });
    const unknown = this.sent.filter((write) => write.outcome === "unknown");
    if (unknown.some((write) => !(cancels && write.cancels))) {
      const sent = [...new Set(unknown.map(({ operation }) => operation))].join(", ");
      const places = [...new Set(unknown.map(({ where }) => where))].join("; ");
      throw new BrokerError(
        `Cannot send ${name} now: the outcome of ${sent} is unknown, and it may have been executed; ${places}; ` +
          "a step that has looked there says what it saw with proven(error, outcome), and may then write again",
        { code: "write-open", operation: name },
      );
    }
    this.#options.check?.();
  }

  /** Nobody knows what such a call does, so that it counts as a write. */
  async #raw(path: string, send: () => Promise<unknown>): Promise<unknown> {
    const { provenBy, cancels } = findOperation(path.slice(path.lastIndexOf("/") + 1)) ?? {};
    const write = { name: path, ...provenBy && { provenBy }, ...cancels && { cancels } };
    return await this.#keep(this.#begin(write), send);
  }

  async #write(
    client: Client,
    operation: AnyOperation,
    { params, options }: { params: unknown; options: CallOptions },
  ): Promise<unknown> {
    this.#check(operation); // no login either
    let write: SentWrite | undefined;
    const beforeWrite = () => {
      options.beforeWrite?.();
      write = this.#begin(operation, params);
    };
    return await this.#keep(() => write, () => client.call(operation, params, { ...options, beforeWrite }));
  }

  /** Checks, and keeps that a write is about to be sent. */
  #begin(operation: GuardedWrite, params?: unknown): SentWrite {
    this.#check(operation);
    const write: SentWrite = {
      operation: operation.name,
      cancels: operation.cancels ?? false,
      outcome: "open",
      lists: provingLists(operation, params),
      where: whereToLook(operation, params),
    };
    this.#options.onSend?.(write);
    this.sent.push(write);
    return write;
  }

  /** Sends, and keeps what became of it. */
  async #keep<T>(begun: SentWrite | (() => SentWrite | undefined), send: () => Promise<T>): Promise<T> {
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

/** A guard for a step that does not say that it writes: each write is refused before it is sent. */
export function refusingGuard(
  { id, effect }: { id: string; effect: string },
  options: Pick<WriteGuardOptions, "onError"> = {},
): WriteGuard {
  return new WriteGuard({
    ...options,
    check() {
      throw new BrokerError(
        `Cannot write in step "${id}": it says that its effect is "${effect}"; a step that writes says "write"`,
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
};

/** Says what was sent: `orders.place (done), orders.place (without an answer yet)`. */
export function tellSent(sent: readonly SentWrite[]): string {
  return sent.map(({ operation, outcome }) => `${operation} (${words[outcome]})`).join(", ");
}
