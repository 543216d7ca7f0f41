/**
 * Runs runs that are in the ledger, one after the other, here and now.
 *
 * @module
 */
import type { Settings } from "../../../lib/client/settings.ts";
import type { Claimer } from "../../../lib/runner/claims.ts";
import type { Ledger } from "../../../lib/runner/ledger.ts";
import { runNested } from "../../../lib/runner/nested.ts";
import { noticeChannel } from "../../../lib/runner/notice_step.ts";
import { deliverNotices, queueNotices } from "../../../lib/runner/notify.ts";
import type { Surroundings } from "../../../lib/runner/run.ts";
import type { RunEvent } from "../../../lib/runner/run_events.ts";
import { runKey, type ScriptResult } from "../../../lib/runner/script.ts";
import type { CompiledRecipe } from "../../../lib/steps/mod.ts";
import type { FlagValues, sharedFlags } from "../command.ts";
import type { Host } from "../host.ts";
import { loadSettingsOf } from "../session.ts";
import { learnSettings, redactorFor } from "./observers.ts";
import { failedLine, tellUnsent } from "./notice_lines.ts";
import { neighboursOf } from "./recipe_neighbours.ts";
import { Connections } from "./run_connections.ts";
import { holderName, runnerHost, secretReader } from "./run_surroundings.ts";

/** How long another run may stand in the way. */
const PATIENCE_MS = 60_000;

/** What a queue needs. */
export interface QueueOptions {
  flags: FlagValues<typeof sharedFlags> & { readonly out?: string };
  host: Host;
  ledger: Ledger;
  onEvent?(event: RunEvent): void;
}

/** Runs of one recipe; ends its connections when it is disposed of. */
export class RunQueue implements AsyncDisposable {
  readonly #recipe: CompiledRecipe;
  readonly #recipes: ReadonlyMap<string, CompiledRecipe>;
  readonly #surroundings: Surroundings;
  readonly #claimer: Claimer;
  readonly #connections: Connections;
  readonly #stop: AbortSignal;
  readonly #note: (line: string) => void;

  private constructor(
    recipe: CompiledRecipe,
    recipes: ReadonlyMap<string, CompiledRecipe>,
    connections: Connections,
    { flags, host, ledger, onEvent, settings }: QueueOptions & { settings: Settings },
  ) {
    this.#recipe = recipe;
    this.#recipes = recipes;
    this.#connections = connections;
    this.#stop = host.signal;
    this.#note = host.note;
    const { accountOf, passwordMarkOf } = connections;
    this.#claimer = { holder: holderName(), leaseMs: 30_000, accountOf, passwordMarkOf };
    const redactor = redactorFor(host);
    learnSettings(redactor, settings);
    const redact = (value: unknown) => redactor.json(value);
    const inner: Surroundings = {
      ledger,
      host: runnerHost(host),
      out: flags.out ?? "",
      redactor,
      logLevel: settings.logLevel,
      client: connections.of,
      timeOf: connections.timeOf,
      passwordMarkOf,
      secret: secretReader([...recipes.values()], host),
      onEvent: (event) => onEvent?.(event),
      onEnd: (ended, row) => void queueNotices(ledger, ended, row, { now: host.now(), redact }),
    };
    this.#surroundings = {
      ...inner,
      runRecipe: (parent, name, params) =>
        runNested(parent, { name, params }, {
          recipes,
          surroundings: inner,
          claimer: this.#claimer,
          stop: this.#stop,
        }),
    };
  }

  /** Reads the settings; connects to nothing yet. */
  static async open(recipe: CompiledRecipe, options: QueueOptions): Promise<RunQueue> {
    const { flags, host } = options;
    const recipes = await neighboursOf(recipe, { host, now: host.now });
    const connections = await Connections.open(flags, host);
    connections.check(recipe); // a contradiction is refused before anything is due
    const { settings } = await loadSettingsOf(flags, host);
    return new RunQueue(recipe, recipes, connections, { ...options, settings });
  }

  /** Runs one that is due, or waits for whoever was faster. */
  async run(key: string): Promise<ScriptResult> {
    return await runKey(this.#recipe, key, {
      surroundings: this.#surroundings,
      claimer: this.#claimer,
      patienceMs: PATIENCE_MS,
      stop: this.#stop,
    });
  }

  /** Sends the notices that are due, and warns of each that was not sent. */
  async deliver(): Promise<void> {
    const { ledger, host, redactor } = this.#surroundings;
    await deliverNotices(ledger, (notice) => noticeChannel(this.#recipes, this.#surroundings, notice), host, {
      redact: (text) => redactor.text(text),
      onNotice: (event) => {
        const line = failedLine(event);
        if (line !== undefined) this.#note(line);
      },
    });
    tellUnsent(ledger, { note: this.#note });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections[Symbol.asyncDispose]();
  }
}

/** Exit code for how runs ended; the worst counts. */
export function exitOf(results: readonly ScriptResult[], stopped: boolean): number {
  if (stopped) return 130;
  const states = results.map(({ outcome: { state } }) => state);
  if (results.some(({ outcome }) => ["displaced", "login", "password"].includes(outcome.reason ?? ""))) {
    return 6;
  }
  if (states.some((state) => ["failed", "cancelled", "lost"].includes(state))) return 1;
  return states.some((state) => ["refused", "running", "due"].includes(state)) ? 4 : 0;
}
