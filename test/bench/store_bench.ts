/**
 * A ledger after ten years beside a new one: what a tick costs, with nothing due and with 394 runs due, and what
 * `runs` and `why` cost. The floor is the new ledger, measured in turns with the filled one.
 *
 * @module
 */
import { Ledger } from "../../lib/runner/ledger.ts";
import { Redactor } from "../../lib/redact.ts";
import { insertRun, latestRuns } from "../../lib/runner/run_rows.ts";
import { Scheduler } from "../../lib/runner/scheduler.ts";
import { why } from "../../lib/runner/why.ts";
import type { CompiledRecipe } from "../../lib/steps/compiled.ts";
import { inTurns, report, rounded } from "./harness.ts";

const START = Date.parse("2025-12-22T01:00:00Z");
const MINUTE = 60_000;
/** Recipes, one of which has most of the history. */
const RECIPES = 394;
/** Runs of the filled ledger. */
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

/** Ten years of runs in one transaction: one step, two events, and a notice for every tenth. */
function fill(ledger: Ledger): void {
  const states = "case when i % 20 = 0 then 'failed' when i % 5 = 0 then 'skipped' else 'ok' end";
  // Half of all belong to the first recipe.
  const name = `'recipe-' || case when i % 2 = 0 then 0 else i % ${RECIPES} end`;
  const slot = `${START} - i * ${Math.floor(10 * 365 * 24 * 60 * MINUTE / RUNS)}`;
  const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${RUNS})`;
  ledger.transaction(() => {
    ledger.run(
      `${numbers} insert into run (run_key, recipe, schedule_id, kind, class, slot_at, business_day, due_at, state,
        reason, recipe_sha, trace_id, started_at, finished_at, attempt)
        select ${name} || '/s/' || i, ${name}, 's', 'live', 'read', ${slot}, date((${slot}) / 1000, 'unixepoch'),
          ${slot}, ${states}, case when i % 5 = 0 then 'misfire' end, 'sha', 'trace', ${slot}, ${slot} + 900, 1 from n`,
    );
    ledger.run(
      `${numbers} insert into step_run (run_key, step_id, round, attempt, effect, idem_key, state, output, started_at)
        select ${name} || '/s/' || i, 'a', 0, 1, 'read', 'k', 'ok', '{"rows":20}', ${slot} from n`,
    );
    for (const kind of ["claimed", "ended"]) {
      ledger.run(
        `${numbers} insert into event (at, run_key, kind, data)
          select ${slot}, ${name} || '/s/' || i, '${kind}', '{}' from n`,
      );
    }
    ledger.run(
      `${numbers} insert into outbox (dedupe_key, channel, body, tries, next_try, sent_at)
        select 'k' || i, 'mail', '{}', 1, ${slot}, ${slot} from n where i % 10 = 0`,
    );
  });
}

/** A ledger with a scheduler; every tick finds the same. */
class Bench {
  readonly ledger: Ledger;
  readonly #scheduler: Scheduler;

  constructor(path: string, { isFilled, due }: { isFilled: boolean; due: boolean }) {
    this.ledger = new Ledger(path);
    if (isFilled) fill(this.ledger);
    if (due) {
      // Held back by a run of the same recipe that goes on in another process, so that they stay due.
      this.ledger.transaction(() => recipes.forEach(({ name }) => this.#addDue(name)));
    }
    this.#scheduler = new Scheduler({
      ledger: this.ledger,
      holder: "bench",
      host: {
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
    this.#scheduler.tick();
  }

  #addDue(recipe: string): void {
    const shared = {
      recipe,
      scheduleId: "s",
      kind: "live",
      class: "read",
      recipeSha: "",
      traceId: "",
      state: "due",
    } as const;
    insertRun(this.ledger, { ...shared, runKey: `${recipe}/due`, slotAt: START, dueAt: START }, START);
    insertRun(this.ledger, { ...shared, runKey: `${recipe}/on`, slotAt: START - 1, dueAt: START - 1 }, START);
    this.ledger.run(
      "update run set state = 'running', holder = 'other', lease_until = ? where run_key = ?",
      START + 24 * 60 * MINUTE,
      `${recipe}/on`,
    );
  }

  tick(): Promise<void> {
    this.#scheduler.tick({ full: true });
    return this.#scheduler.drain();
  }

  look(): Promise<void> {
    latestRuns(this.ledger, { states: ["ok", "failed", "unknown"], limit: 20 });
    latestRuns(this.ledger, { recipe: "recipe-0", states: ["failed", "unknown"], limit: 20 });
    return Promise.resolve();
  }

  why(): Promise<void> {
    why(this.ledger, recipes[0]!, { date: "2025-12-20", now: START });
    return Promise.resolve();
  }

  [Symbol.dispose](): void {
    this.ledger[Symbol.dispose]();
  }
}

const folder = Deno.makeTempDirSync();
try {
  for (const due of [false, true]) {
    using empty = new Bench(`${folder}/empty-${due}.db`, { isFilled: false, due });
    using filled = new Bench(`${folder}/filled-${due}.db`, { isFilled: true, due });
    const ways: [name: string, way: "tick" | "look" | "why", most: number][] = due
      ? [["tick-394-due", "tick", 3]]
      : [["tick-idle", "tick", 3], ["runs", "look", 30], ["why", "why", 30]];
    for (const [name, way, most] of ways) {
      const { floor, ours } = await inTurns(
        { floor: () => empty[way](), ours: () => filled[way]() },
        { warmup: 2, rounds: 15 },
      );
      report({
        name: `store/${name}-${RUNS}-runs`,
        unit: "ms, median; the floor is the same with a new ledger",
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
