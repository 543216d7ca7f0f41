/**
 * Stopping by signal: the first drains, the second ends at once and leaves the rest to the leases.
 *
 * @module
 */

/** What stopping by signal needs; the process is handed in. */
export interface StopOnSignalsOptions {
  /** Calls back at each SIGTERM and SIGINT; returns what calls it off. */
  listen(callback: () => void): () => void;
  exit(code: number): void;
  stop(): Promise<boolean>;
}

/** Code of a process that did not wait for its work. */
const NOT_DRAINED = 75;

/** Resolves to the code to end with once the first signal came and all has ended. */
export function stopOnSignals({ listen, exit, stop }: StopOnSignalsOptions): Promise<number> {
  return new Promise((resolve) => {
    let signals = 0;
    const cancel = listen(() => {
      if (++signals > 1) return exit(NOT_DRAINED);
      stop().catch(() => false).then((drained) => {
        cancel();
        resolve(drained ? 0 : NOT_DRAINED);
      });
    });
  });
}
