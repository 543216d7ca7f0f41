/**
 * Compares two stores: one that contains ten years of runs, and a new one. Measures a scheduler pass while nothing is
 * due, a scheduler pass while 394 runs are due, and the queries of the commands `runs` and `why`. The floor is the new
 * store. Both stores are measured alternately.
 *
 * @module
 */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Store } from "../../lib/store/store.ts";
import { Redactor } from "../../lib/redact.ts";
import { insertRun } from "../../lib/runner/queries/runs.ts";
import { latestRuns } from "../../lib/runner/queries/run_lookups.ts";
import { Scheduler } from "../../lib/runner/schedule/scheduler.ts";
import { why } from "../../lib/runner/explain/why.ts";
import type { CompiledRecipe } from "../../lib/recipes/compiled.ts";
import { inTurns, report, rounded } from "./harness.ts";

const START = Date.parse("2025-12-22T01:00:00Z");
const MINUTE = 60_000;
/** Number of recipes. One of them has half of the runs. */
const RECIPES = 394;
/** Number of runs in the filled store. */
const RUNS = Number(
  Deno.args.find((each) => each.startsWith("--runs="))?.slice("--runs=".length) ?? 1_000_000,
);

const recipes = Array.from({ length: RECIPES }, (_, index): CompiledRecipe => ({
  name: `recipe-${index}`,
  file: "",
  sha256: "",
  class: index % 2 === 0 ? "read" : "write",
  schedules: [{ id: "s", form: "every", everyMs: 24 * 60 * MINUTE, jitterMs: 0 }],
  misfire: { graceMs: 24 * 60 * MINUTE, action: "skip", max: 0 },
  overlap: "queue",
  timeoutMs: 1000,
  needsAccount: false,
  params: {},
  steps: [],
}));

/**
 * Adds ten years of runs in one transaction. Each run has one step and two events, and every tenth run has a notice.
 */
async function fill(store: Store): Promise<void> {
  const states = "case when i % 20 = 0 then 'failed' when i % 5 = 0 then 'skipped' else 'ok' end";
  // Half of all runs belong to the first recipe.
  const name = `'recipe-' || case when i % 2 = 0 then 0 else i % ${RECIPES} end`;
  const slot = `${START} - i * ${Math.floor(10 * 365 * 24 * 60 * MINUTE / RUNS)}`;
  const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${RUNS})`;
  await store.transaction(async () => {
    await store.run(
      `${numbers} insert into run (run_key, recipe, schedule_id, kind, class, slot_at, business_day, due_at, state,
        reason, recipe_sha, trace_id, started_at, finished_at, attempt)
        select ${name} || '/s/' || i, ${name}, 's', 'live', 'read', ${slot}, date((${slot}) / 1000, 'unixepoch'),
          ${slot}, ${states}, case when i % 5 = 0 then 'misfire' end, 'sha', 'trace', ${slot}, ${slot} + 900, 1 from n`,
    );
    await store.run(
      `${numbers} insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, output, started_at)
        select ${name} || '/s/' || i, 'a', 0, 1, 'read', 'k', 'ok', '{"rows":20}', ${slot} from n`,
    );
    for (const kind of ["claimed", "ended"]) {
      await store.run(
        `${numbers} insert into event (at, run_key, kind, data)
          select ${slot}, ${name} || '/s/' || i, '${kind}', '{}' from n`,
      );
    }
    await store.run(
      `${numbers} insert into outbox (dedupe_key, channel, body, tries, next_try, sent_at)
        select 'k' || i, 'mail', '{}', 1, ${slot}, ${slot} from n where i % 10 = 0`,
    );
  });
}

/** A store with a scheduler. Every tick does the same work. */
class Bench {
  readonly store: Store;
  readonly #scheduler: Scheduler;

  static async open(path: string, { isFilled, due }: { isFilled: boolean; due: boolean }): Promise<Bench> {
    const bench = new Bench(await openSqlite(path));
    if (isFilled) await fill(bench.store);
    if (due) {
      // Another process seems to run the same recipe, so the due runs stay due.
      await bench.store.transaction(async () => {
        for (const { name } of recipes) await bench.#addDue(name);
      });
    }
    await bench.#scheduler.tick();
    return bench;
  }

  private constructor(store: Store) {
    this.store = store;
    this.#scheduler = new Scheduler({
      calendars: () => builtInCalendars,
      store: this.store,
      holder: "bench",
      machine: {
        now: () => START,
        monotonic: () => performance.now(),
        random: Math.random,
        id: () => crypto.randomUUID(),
        setTimer: () => () => {},
      },
      recipes,
      out: "",
      redactor: new Redactor(),
      client: () => Promise.reject(new TypeError("no client")),
      secret: () => Promise.reject(new TypeError("no secrets")),
    });
  }

  async #addDue(recipe: string): Promise<void> {
    const shared = {
      recipe,
      scheduleId: "s",
      kind: "live",
      class: "read",
      recipeSha: "",
      traceId: "",
      state: "due",
    } as const;
    await insertRun(this.store, { ...shared, runKey: `${recipe}/due`, slotAt: START, dueAt: START }, START);
    await insertRun(
      this.store,
      { ...shared, runKey: `${recipe}/on`, slotAt: START - 1, dueAt: START - 1 },
      START,
    );
    await this.store.run(
      "update run set state = 'running', holder = 'other', lease_until = ? where run_key = ?",
      START + 24 * 60 * MINUTE,
      `${recipe}/on`,
    );
  }

  async tick(): Promise<void> {
    await this.#scheduler.tick({ full: true });
    await this.#scheduler.drain();
  }

  async runs(): Promise<void> {
    await latestRuns(this.store, { states: ["ok", "failed", "unknown"], limit: 20 });
    await latestRuns(this.store, { recipe: "recipe-0", states: ["failed", "unknown"], limit: 20 });
  }

  async why(): Promise<void> {
    await why(this.store, recipes[0]!, { calendars: builtInCalendars, date: "2025-12-20", now: START });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
  }
}

const folder = Deno.makeTempDirSync();
try {
  for (const due of [false, true]) {
    await using empty = await Bench.open(`${folder}/empty-${due}.db`, { isFilled: false, due });
    await using filled = await Bench.open(`${folder}/filled-${due}.db`, { isFilled: true, due });
    const operations: [name: string, operation: "tick" | "runs" | "why", most: number][] = due
      ? [["tick-394-due", "tick", 3]]
      : [["tick-idle", "tick", 3], ["runs", "runs", 30], ["why", "why", 30]];
    for (const [name, operation, most] of operations) {
      const { floor, ours } = await inTurns(
        { floor: () => empty[operation](), ours: () => filled[operation]() },
        { warmup: 2, rounds: 15 },
      );
      report({
        name: `store/${name}-${RUNS}-runs`,
        unit: "ms, median; the floor is the same with a new store",
        floor: rounded(floor),
        ours: rounded(ours),
        ratio: rounded(ours / floor),
        target: `at most ${most}`,
        ok: ours / floor <= most,
      });
    }
  }
} finally {
  Deno.removeSync(folder, { recursive: true });
}
