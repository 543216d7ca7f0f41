/**
 * Carries the calls of a recipe's client to the simulated gateway: over real sockets, with delays in virtual time.
 *
 * @module
 */
import type { AnyOperation } from "../operations/operation.ts";
import { lost } from "../transports/outcome.ts";
import type { PushHooks, PushStream } from "../transports/push/stream.ts";
import type { CallOptions, Transport } from "../transports/transport.ts";
import { CountedStream } from "./counted_stream.ts";
import type { Work } from "./turn.ts";

/** How long a call waits for its answer, the same time as in the gateway transport. */
const TIMEOUT_MS = 10_000;

/** Options of a {@linkcode Line}. */
interface LineOptions {
  transport: Transport;
  work: Work;
  /** Returns whether the gateway is running. */
  isOn(): boolean;
  /** Returns the delay of an answer, milliseconds. */
  slowMs(): number;
  /** Waits in virtual time. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Called after an answer arrived and before the caller gets it. Never resolves if the process has died. */
  onAnswer(): Promise<void>;
  /** Called for each new push stream. */
  onStream(stream: CountedStream): void;
  /** Called for each call that was sent to the gateway. */
  track(call: Promise<unknown>): void;
}

/** Carries the calls of one step. */
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
      // The gateway transport supports pushes; in the interface they are optional.
      const stream = new CountedStream(await transport.openPushes!(hooks), work);
      if (isOn()) await stream.connected().catch(() => {}); // the stream's own events report the failure
      onStream(stream);
      return stream;
    });
  }

  /** Does nothing: the rehearsal closes the transport. */
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
    // The gateway gets the call immediately; only the answer is late.
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
