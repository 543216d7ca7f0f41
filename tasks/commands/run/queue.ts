/**
 * Runs due runs of the store in this process, one after the other.
 *
 * @module
 */
import type { Store } from "../../../lib/store/store.ts";
import type { RunEvent } from "../../../lib/runner/run/report.ts";
import { runByKey, type ScriptResult } from "../../../lib/runner/run/script.ts";
import { Runner } from "../../../lib/runner/runner.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import type { FlagValues, sharedFlags } from "../../terminal/command.ts";
import type { Host } from "../../terminal/host.ts";
import { failedLine, warnOfUnsent } from "../shared/notice_lines.ts";
import { neighboursOf } from "../shared/recipe_files.ts";
import { Connections } from "./connections.ts";
import { fileHaltOf } from "../shared/store_file.ts";
import { commandDeps, redactorOf } from "./deps.ts";

/** Maximum wait for another run. */
const PATIENCE_MS = 60_000;

/** Options of a queue. */
interface QueueOptions {
  flags: FlagValues<typeof sharedFlags> & { readonly out?: string };
  host: Host;
  store: Store;
  onEvent?(event: RunEvent): void;
}

/** Runs due runs of one recipe. Disposal closes its connections. */
export class RunQueue implements AsyncDisposable {
  readonly #recipe: CompiledRecipe;
  readonly #runner: Runner;
  readonly #connections: Connections;
  readonly #options: QueueOptions;

  private constructor(
    recipe: CompiledRecipe,
    runner: Runner,
    connections: Connections,
    options: QueueOptions,
  ) {
    this.#recipe = recipe;
    this.#runner = runner;
    this.#connections = connections;
    this.#options = options;
  }

  /** Loads the settings; does not connect. */
  static async open(recipe: CompiledRecipe, options: QueueOptions): Promise<RunQueue> {
    const { flags, host, store, onEvent } = options;
    const recipes = await neighboursOf(recipe, { host, now: host.now });
    const connections = await Connections.open(flags, host);
    connections.connectionOf(recipe); // throws before any run becomes due
    const redactor = await redactorOf(connections);
    const runner = new Runner({
      ...commandDeps({
        connections,
        host,
        recipes: recipes.values(),
        redactor,
        out: flags.out,
        haltedByFile: await fileHaltOf(flags, host),
      }),
      store,
      recipes: () => recipes,
      onEvent: (event) => onEvent?.(event),
      onNotice(event) {
        const line = failedLine(event);
        if (line !== undefined) host.note(line);
      },
    });
    return new RunQueue(recipe, runner, connections, options);
  }

  /** Runs a due run, or waits for the process that already runs it. */
  async run(key: string): Promise<ScriptResult> {
    const { deps, claimer, stop } = this.#runner;
    return await runByKey(this.#recipe, key, { deps, claimer, stop, patienceMs: PATIENCE_MS });
  }

  /** Sends due notices, and warns of each that was not sent. */
  async deliver(): Promise<void> {
    await this.#runner.deliverNotices();
    const { store, host } = this.#options;
    await warnOfUnsent(store, host);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections[Symbol.asyncDispose]();
  }
}

/** Returns the exit code for several runs: 130 after a stop, otherwise the first of 6, 1 and 4 that applies, or 0. */
export function exitOf(results: readonly ScriptResult[], stopped: boolean): number {
  if (stopped) return 130;
  const states = results.map(({ outcome: { state } }) => state);
  if (results.some(({ outcome }) => ["displaced", "login", "password"].includes(outcome.reason ?? ""))) {
    return 6;
  }
  if (states.some((state) => ["failed", "cancelled", "lost"].includes(state))) return 1;
  return states.some((state) => ["refused", "running", "due"].includes(state)) ? 4 : 0;
}
