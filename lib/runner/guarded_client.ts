/**
 * The client that a step is handed: it looks before each write, and remembers what it sent.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { BrokerError } from "../errors.ts";
import { catalogue } from "../operations/mod.ts";
import type { AnyOperation } from "../operations/operation.ts";
import type { CallOptions } from "../transports/transport.ts";
import { mayHaveHappened } from "./run_step.ts";

/** A write that a step sent. */
export interface SentWrite {
  operation: string;
  /** `refused` when the broker said no, `open` while there is no answer. */
  outcome: "open" | "ok" | "refused" | "unknown";
}

/** Looks before the writes of one attempt at a step, and remembers them. */
export class WriteGuard {
  readonly #look: () => void;
  #closed = false;
  /** What went out, in order. */
  readonly sent: SentWrite[] = [];

  /** @param check Throws when nothing may be written any more. */
  constructor(check: () => void) {
    this.#look = check;
  }

  /** Whether it is open what came of a write. */
  get isOpen(): boolean {
    return this.sent.some(({ outcome }) => outcome === "open" || outcome === "unknown");
  }

  /** The attempt is over: what the step is still at sends nothing more. */
  close(): void {
    this.#closed = true;
  }

  #check(): void {
    if (this.#closed) throw new BrokerError("Cannot write now: the step is over", { code: "step-over" });
    this.#look();
  }

  /** Returns a client whose writes are looked at; its reads, logins and pushes are those of the client within. */
  guard(client: Client): Client {
    const families = Object.entries(catalogue).map(([name, family]) => {
      const own = client[name as keyof typeof catalogue]; // the name comes from there
      const writes = Object.entries<AnyOperation>(family).filter(([, { effect }]) => effect === "write")
        .map(([key, operation]) => [
          key,
          (params: unknown = {}, options: CallOptions = {}) =>
            this.#write(client, operation, { params, options }),
        ]);
      return [name, { ...own, ...Object.fromEntries(writes) }];
    });
    const raw: Client["raw"] = async (group, name, params, options) => {
      this.#check();
      const write = this.#note(`${group}/${name}`);
      try {
        const value = await client.raw(group, name, params, options);
        write.outcome = "ok";
        return value;
      } catch (error) {
        write.outcome = mayHaveHappened(error) ? "unknown" : "refused";
        throw error;
      }
    };
    const call = (operation: AnyOperation, params: unknown, options: CallOptions = {}) =>
      operation.effect === "write"
        ? this.#write(client, operation, { params, options })
        : client.call(operation, params, options);
    // The keys of the client, each with a function of the same parameters and answers.
    return { ...client, ...Object.fromEntries(families), raw, call } as Client;
  }

  async #write(
    client: Client,
    operation: AnyOperation,
    { params, options }: { params: unknown; options: CallOptions },
  ): Promise<unknown> {
    this.#check(); // no login either
    let write: SentWrite | undefined;
    const beforeWrite = () => {
      options.beforeWrite?.();
      this.#check();
      write = this.#note(operation.name);
    };
    try {
      const value = await client.call(operation, params, { ...options, beforeWrite });
      if (write !== undefined) write.outcome = "ok";
      return value;
    } catch (error) {
      if (write !== undefined) write.outcome = mayHaveHappened(error) ? "unknown" : "refused";
      throw error;
    }
  }

  #note(operation: string): SentWrite {
    const write: SentWrite = { operation, outcome: "open" };
    this.sent.push(write);
    return write;
  }
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
