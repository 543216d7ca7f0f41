/**
 * Loads modules only when they are needed, so that programs start quickly.
 *
 * Almost every dynamic import of `lib` uses {@linkcode lazily}; `tasks/imports.ts` checks that and lists the
 * exceptions. A plain `import()` takes real time even if the module is loaded. A simulation of `hsgate swarm` has a
 * virtual clock, which does not wait for real time. With a plain `import()` in a simulation, the same seed would give
 * different events on a busy machine. Therefore {@linkcode loadAll} loads every module before a simulation starts.
 *
 * @module
 */

/** Functions that load the modules that only some programs need. */
const loaders = new Set<() => Promise<unknown>>();

/**
 * Returns a function that loads a module at its first call. Later calls take no time. After a failure, the next call
 * tries again.
 */
export function lazily<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  const loader = () =>
    loading ??= load().catch((error) => {
      loading = undefined;
      throw error;
    });
  loaders.add(loader);
  return loader;
}

/** Calls every function that {@linkcode lazily} has returned. Skips modules that fail to load. */
export async function loadAll(): Promise<void> {
  // A module can add loaders while it loads. The loop also visits these.
  for (const load of loaders) await load().catch(() => {});
}
