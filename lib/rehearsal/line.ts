/**
 * The line between a recipe's client and the simulated gateway: real sockets, with delays that pass in virtual time.
 *
 * @module
 */
import type { AnyOperation } from "../operations/operation.ts";
import { lost } from "../transports/outcome.ts";
import type { PushHooks, PushStream } from "../transports/push.ts";
import type { CallOptions, Transport } from "../transports/transport.ts";
import type { Work } from "./baton.ts";

/** How long a call waits for its answer, as the gateway's transport does. */
const TIMEOUT_MS = 10_000;

/** What a line does to the calls on it. */
export interface LineOptions {
  transport: Transport;
  work: Work;
  /** Whether anybody is there at the other end. */
  isOn(): boolean;
  /** How long an answer takes, milliseconds. */
  slowMs(): number;
  /** Waits in virtual time. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Called when an answer is there and before anybody sees it; one that never returns is the death of the process. */
  onAnswer(): Promise<void>;
  /** Told of each stream of pushes. */
  onStream(stream: PushStream): void;
  /** Told of each call that is really under way. */
  track(call: Promise<unknown>): void;
}

/** Carries the calls of one piece of work. */
export class Line implements Transport {
  readonly name: string;
  readonly #options: LineOptions;

  constructor(options: LineOptions) {
    this.name = options.transport.name;
    this.#options = options;
  }

  async call(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    const { transport } = this.#options;
    return await this.#carry(operation, options, () => transport.call(operation, params, options));
  }

  async raw(
    group: string,
    name: string,
    params: Record<string, unknown>,
    options: CallOptions,
  ): Promise<unknown> {
    const { transport } = this.#options;
    const operation = { name: `${group}/${name}`, effect: "write" as const };
    return await this.#carry(operation, options, () => transport.raw(group, name, params, options));
  }

  openPushes(hooks: PushHooks): Promise<PushStream> {
    const { transport, work, isOn, onStream } = this.#options;
    return work.call(async () => {
      // The gateway's transport has pushes; only the interface leaves them open.
      const stream = await transport.openPushes!(hooks);
      if (isOn()) await stream.connected().catch(() => {}); // the stream's own events tell what came of it
      onStream(stream);
      return stream;
    });
  }

  /** The transport belongs to the rehearsal. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  async #carry(
    operation: Pick<AnyOperation, "name" | "effect">,
    options: CallOptions,
    send: () => Promise<unknown>,
  ): Promise<unknown> {
    const { work, slowMs, sleep, onAnswer, track } = this.#options;
    const [slow, timeoutMs] = [slowMs(), options.timeoutMs ?? TIMEOUT_MS];
    // What is late is its answer: the call itself is taken at once.
    const result = await work.call(() => {
      const sent = send().then((value) => ({ value }), (error: unknown) => ({ error }));
      track(sent);
      return sent;
    });
    if (slow > 0) {
      await work.idle(() => sleep(Math.min(slow, timeoutMs), options.signal)).catch(() => {});
    }
    if (slow > timeoutMs || options.signal?.aborted) {
      throw lost({ operation, transport: this.name }, {
        isSent: true,
        peer: "the gateway",
        reason: "no answer",
        cause: undefined,
        ...options.signal !== undefined && { signal: options.signal },
        timeoutMs,
      });
    }
    await onAnswer();
    if ("error" in result) throw result.error;
    return result.value;
  }
}
