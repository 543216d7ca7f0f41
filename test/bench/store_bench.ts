/**
 * Compares each kind of store with its bare driver. Measures durable commits, the time from a due run to its first
 * step, and four scheduler passes over 10,000 schedules: the first pass, a pass with nothing due, a pass in a minute
 * with slots, and a pass after a night.
 *
 * The floor is the bare driver: it executes the same statements with the same values on its own database, right after
 * the store. Both are measured in pairs. A ratio compares the smallest times, because other work on the machine only
 * adds to them. With SQLite that is the processor time of this process, with PostgreSQL the elapsed time. The medians
 * are printed too.
 *
 * @module
 */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import process from "node:process";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import pg from "pg";
import { openPostgres } from "../../lib/store/postgres.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { SqlValue, StatementResult, Store } from "../../lib/store/store.ts";
import { Redactor } from "../../lib/redact.ts";
import { insertRun } from "../../lib/runner/queries/runs.ts";
import { Scheduler } from "../../lib/runner/schedule/scheduler.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../lib/recipes/compiled.ts";
import { findPostgres, temporarySchema } from "../support/postgres.ts";
import { median, report, rounded } from "./harness.ts";

/** Monday, an hour before the Hong Kong close. */
const START = Date.parse("2025-03-03T07:00:00Z");
const MINUTE = 60_000;
const DAY = 86_400_000;
const MANY = Number(Deno.args.find((each) => each.startsWith("--schedules="))?.split("=")[1] ?? 10_000);

/** A kind of store. */
type Kind = "sqlite" | "postgres";

/** Highest ratio allowed. SQLite has no network, so the toolkit's own work is a larger part. */
const targets: Readonly<Record<Kind, number>> = { sqlite: 2.5, postgres: 1.5 };

/** One statement that a store gives to its driver. */
type RecordedStatement = { sql: string; values: readonly SqlValue[]; wanted: StatementResult };

/** A store that records its statements, and a bare driver on a second database with the same rows. */
interface Pair extends AsyncDisposable {
  store: Store;
  /** Statements of the store since this list was emptied. */
  asked: unknown[];
  /** Executes recorded statements with the bare driver. */
  replay(asked: readonly unknown[]): Promise<void>;
  /** Executes one statement with the bare driver. */
  bare(sql: string, values: readonly SqlValue[]): unknown;
}

/** Members of a store that pass statements to its driver. */
interface Driver {
  execute(sql: string, values: readonly SqlValue[], wanted: StatementResult): unknown;
  begin(): unknown;
  commit(): unknown;
}

async function sqlitePair(folder: string, name: string): Promise<Pair> {
  const [ours, bare] = [`${folder}/${name}.db`, `${folder}/${name}-bare.db`];
  await using _made = await openSqlite(bare); // makes the tables
  const store = await openSqlite(ours);
  const asked: unknown[] = [];
  const driver = store as unknown as Driver; // the members are protected
  const { execute, begin, commit } = driver;
  driver.execute = function (sql, values, wanted) {
    asked.push({ sql, values, wanted });
    return execute.call(this, sql, values, wanted);
  };
  driver.begin = function () {
    asked.push("begin immediate");
    return begin.call(this);
  };
  driver.commit = function () {
    asked.push("commit");
    return commit.call(this);
  };
  const db = new DatabaseSync(bare);
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on");
  const statements = new Map<string, StatementSync>();
  const run = ({ sql, values, wanted }: RecordedStatement) => {
    let statement = statements.get(sql);
    if (statement === undefined) statements.set(sql, statement = db.prepare(sql));
    const bound = values.map((value): SQLInputValue => value ?? null);
    if (wanted === "row") return statement.get(...bound);
    return wanted === "rows" ? statement.all(...bound) : statement.run(...bound);
  };
  return {
    store,
    asked,
    replay(list) {
      for (const each of list) typeof each === "string" ? db.exec(each) : run(each as RecordedStatement); // recorded above
      return Promise.resolve();
    },
    bare: (sql, values) => run({ sql, values, wanted: /^select/.test(sql) ? "row" : "changes" }),
    async [Symbol.asyncDispose]() {
      db.close();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** The part of a client of `pg` that is used here; the package has no types. */
interface Client {
  connect(): Promise<void>;
  query(query: unknown): Promise<unknown>;
  end(): Promise<void>;
}

async function postgresPair(url: string): Promise<Pair> {
  const [ours, bareSchema] = [temporarySchema(url), temporarySchema(url)];
  await (await openPostgres(bareSchema.url))[Symbol.asyncDispose](); // makes the tables
  const asked: unknown[] = [];
  // Only the store's own client runs queries meanwhile.
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (...args: unknown[]) {
    if (this !== bare) asked.push(args[0]);
    return query.apply(this, args);
  };
  const plain = new URL(url);
  const bare = new pg.Client({ connectionString: plain.href }) as Client;
  await bare.connect();
  await bare.query(`set search_path = ${bareSchema.schema}; set synchronous_commit = on`);
  const store = await openPostgres(ours.url);
  // The benchmark sets the time, so the store does not use the time of its database.
  store.now = () => undefined;
  const names = new Map<string, string>();
  return {
    store,
    asked,
    async replay(list) {
      // The driver changes the object that it gets, so it gets a copy.
      for (const each of list) await bare.query(typeof each === "string" ? each : { ...each as object });
    },
    async bare(sql, values) {
      if (!names.has(sql)) names.set(sql, `bare${names.size}`);
      let count = 0;
      const text = sql.replaceAll("?", () => `$${++count}`);
      await bare.query({ name: names.get(sql), text, values: values.map((value) => value ?? null) });
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await bare.end();
      pg.Client.prototype.query = query;
      await ours[Symbol.asyncDispose]();
      await bareSchema[Symbol.asyncDispose]();
    },
  };
}

interface Duration {
  ms: number;
  cpuMs: number;
}

const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

async function time(work: () => unknown): Promise<Duration> {
  const [start, cpu] = [performance.now(), cpuMs()];
  await work();
  return { ms: performance.now() - start, cpuMs: cpuMs() - cpu };
}

/** Times of one kind of work, in pairs. */
class Rounds {
  readonly #floor: Duration[] = [];
  readonly #ours: Duration[] = [];
  #statements = 0;

  /** Measures the store's work, then the bare driver with the same statements. */
  async add({ asked, replay }: Pair, work: () => Promise<unknown>): Promise<void> {
    asked.length = 0;
    const ours = await time(work);
    const list = asked.splice(0);
    this.push(ours, await time(() => replay(list)), list.length);
  }

  push(ours: Duration, floor: Duration, statements = 0): void {
    this.#ours.push(ours);
    this.#floor.push(floor);
    this.#statements = statements;
  }

  report(
    name: string,
    most: number,
    { per = 1, ...more }: { per?: number; [detail: string]: unknown } = {},
  ): void {
    const of = (pick: (values: number[]) => number, key: keyof Duration) => {
      const [floor, ours] = [this.#floor, this.#ours].map((list) =>
        pick(list.map((each) => each[key])) / per
      ) as [
        number,
        number,
      ]; // the list above has two lists
      return { floor: rounded(floor), ours: rounded(ours), ratio: rounded(ours / floor) };
    };
    const least = (values: number[]) => Math.min(...values);
    const isSqlite = name.endsWith("-sqlite");
    const { floor, ours, ratio } = of(least, isSqlite ? "cpuMs" : "ms");
    report({
      name: `store/${name}`,
      unit: `ms${
        isSqlite ? " of processor time" : ""
      }, smallest; the floor is the bare driver with the same statements`,
      floor,
      ours,
      ratio,
      target: `at most ${most}`,
      ok: ratio <= most,
      median: of(median, "ms"),
      smallest: of(least, "ms"),
      cpu: of(least, "cpuMs"),
      rounds: this.#ours.length,
      ...this.#statements > 0 && { statements: this.#statements / per },
      ...more,
    });
  }
}

function recipe(name: string, schedules: readonly CompiledSchedule[]): CompiledRecipe {
  return {
    name,
    file: "",
    sha256: "",
    class: "read",
    schedules: [...schedules],
    misfire: { graceMs: DAY, action: "skip", max: 0 },
    overlap: "queue",
    timeoutMs: 60_000,
    needsAccount: false,
    params: {},
    steps: [],
  };
}

/**
 * Returns a schedule: for even numbers a minute of the hour after the Hong Kong close, for odd numbers a minute of
 * New York.
 */
function scheduleOf(index: number): CompiledSchedule {
  const [minute, hour] = [(index >> 1) % 60, (index >> 1) % 24];
  return index % 2 === 0
    ? {
      id: "s",
      form: "calendar",
      mic: "XHKG",
      days: "every-session",
      at: { anchor: "close", offsetMs: minute * MINUTE },
      halfDays: "run",
    }
    : { id: "s", form: "cron", cron: `${minute} ${hour} * * *`, timezone: "America/New_York" };
}

function schedulerOf(
  store: Store,
  { recipes, now, onTick = () => {} }: {
    recipes: CompiledRecipe[];
    now: () => number;
    onTick?: (listed: number) => void;
  },
): Scheduler {
  return new Scheduler({
    calendars: () => builtInCalendars,
    store,
    holder: "bench",
    machine: {
      now,
      monotonic: now,
      random: Math.random,
      id: () => crypto.randomUUID(),
      setTimer: () => () => {},
    },
    recipes,
    out: "",
    redactor: new Redactor(),
    client: () => Promise.reject(new TypeError("no client")),
    secret: () => Promise.reject(new TypeError("no secrets")),
    served: { paths: ["/recipes"], fileOf: ({ name }) => `/recipes/${name}.yaml` },
    onSchedulerEvent(event) {
      if (event.type === "tick") onTick(event.listed);
    },
  });
}

async function measureCommits(pair: Pair, kind: Kind): Promise<void> {
  // SQLite is measured in processor time, whose clock is coarse, so its rounds are long. PostgreSQL is measured in
  // elapsed time, so its rounds are short: then other work on the machine does not disturb every round.
  const COMMITS = kind === "sqlite" ? 50 : 5;
  const rounds = new Rounds();
  let key = 0;
  const shared = { recipe: "r", scheduleId: "s", kind: "live", class: "read", state: "due" } as const;
  for (let round = 0; round < 750 / COMMITS; round++) {
    await rounds.add(pair, async () => {
      for (let i = 0; i < COMMITS; i++) {
        const run = { ...shared, runKey: `k${key++}`, slotAt: key, dueAt: key, recipeSha: "", traceId: "" };
        await insertRun(pair.store, run, 0);
      }
    });
  }
  rounds.report(`commit-${kind}`, targets[kind], { per: COMMITS });
}

/** Measures from the moment that a run is due until its first step begins. */
async function measureClaim(pair: Pair, kind: Kind): Promise<void> {
  const rounds = new Rounds();
  let began: { at: Duration; asked: unknown[] } | undefined;
  const now = START;
  let start: Duration = { ms: 0, cpuMs: 0 };
  const run = () => {
    const at = { ms: performance.now() - start.ms, cpuMs: cpuMs() - start.cpuMs };
    began = { at, asked: pair.asked.splice(0) };
    return Promise.resolve(null);
  };
  const name = "claimed";
  await using scheduler = schedulerOf(pair.store, {
    recipes: [{
      ...recipe(name, []),
      steps: [{ id: "one", uses: "bench", effect: "read", needs: [], fresh: false, run }],
    }],
    now: () => now,
  });
  for (let round = 0; round < 60; round++) {
    pair.asked.length = 0;
    await insertRun(pair.store, {
      runKey: `${name}/s/${round}`,
      recipe: name,
      scheduleId: "s",
      kind: "live",
      class: "read",
      slotAt: START + round,
      dueAt: START,
      state: "due",
      recipeSha: "",
      traceId: "",
    }, now);
    await pair.replay(pair.asked.splice(0));
    start = { ms: performance.now(), cpuMs: cpuMs() };
    await scheduler.drain();
    if (began === undefined) throw new Error("Cannot measure: the run did not begin");
    const { at, asked } = began;
    const floor = await time(() => pair.replay(asked));
    await pair.replay(pair.asked.splice(0));
    if (round >= 10) rounds.push(at, floor, asked.length);
  }
  rounds.report(`claim-to-first-step-${kind}`, targets[kind]);
}

/** `added`: rows that a pass added to `run`. `skipped`: keys of the runs that it skipped. */
interface PassWrites {
  added: SqlValue[][];
  skipped: string[];
}

/** Returns the runs that a list of statements adds or skips. */
function writtenBy(asked: readonly unknown[]): PassWrites {
  const found: PassWrites = { added: [], skipped: [] };
  for (const each of asked) {
    if (typeof each !== "object" || each === null) continue;
    // Both drivers have the values in `values`; the statement is in `sql` for SQLite, and in `text` for PostgreSQL.
    const { sql, text = sql, values = [] } = each as { sql?: string; text?: string; values?: SqlValue[] };
    const rows = () => JSON.parse(String(values.find((value) => String(value).startsWith("[["))));
    if (text?.includes("insert into run ")) found.added.push(...rows());
    if (text?.includes("state = 'skipped', reason")) found.skipped.push(...rows().flat());
  }
  return found;
}

/** Does the work of a pass in the simplest way: one statement for each schedule and each row, in one transaction. */
async function passByRows(pair: Pair, at: number, { added, skipped }: PassWrites): Promise<void> {
  const columns =
    "run_key, recipe, schedule_id, kind, class, slot_at, business_day, assumed, due_at, deadline_at, " +
    "state, reason, recipe_sha, calendar_version, params, trace_id, finished_at";
  await pair.replay([pair.store.name.includes("postgres") ? "begin" : "begin immediate"]);
  for (let i = 0; i < MANY; i++) {
    await pair.bare("select * from schedule where recipe = ? and schedule_id = ?", [`r${i}`, "s"]);
    await pair.bare("update schedule set watermark = ? where recipe = ? and schedule_id = ?", [
      at,
      `r${i}`,
      "s",
    ]);
  }
  for (const row of added) {
    // The replayed pass has written this key already, so the row needs another key.
    await pair.bare(`insert into run (${columns}) values (${row.map(() => "?").join(", ")})`, [
      `${row[0]}/again`,
      ...row.slice(1),
    ]);
  }
  for (const key of skipped) {
    await pair.bare("update run set state = ?, reason = ?, finished_at = ? where run_key = ?", [
      "skipped",
      "misfire",
      at,
      `${key}/again`,
    ]);
    await pair.bare("insert into event (at, run_key, kind, data) values (?, ?, ?, ?)", [
      at,
      `${key}/again`,
      "skipped",
      '{"reason":"misfire"}',
    ]);
  }
  await pair.replay(["commit"]);
}

async function measurePasses(pair: Pair, kind: Kind): Promise<void> {
  let [now, listed] = [START, 0];
  await using scheduler = schedulerOf(pair.store, {
    recipes: Array.from({ length: MANY }, (_, index) => recipe(`r${index}`, [scheduleOf(index)])),
    now: () => now,
    onTick: (count) => listed = count,
  });
  const [first, idle, busy, night] = Array.from({ length: 4 }, () => new Rounds()) as [
    Rounds,
    Rounds,
    Rounds,
    Rounds,
  ];
  const pass = async (into: Rounds, at: number) => {
    now = at;
    await into.add(pair, () => scheduler.tick());
  };
  await pass(first, START);
  // From 15:00 to 16:00, no schedule of Hong Kong has a slot. In New York it is between two and three o'clock, and
  // schedules there have slots only at even minutes.
  for (let minute = 1; minute < 100; minute++) {
    const isIdle = minute < 60 && minute % 2 === 1;
    await pass(minute < 60 ? (isIdle ? idle : new Rounds()) : busy, START + minute * MINUTE);
  }
  const byRows = new Rounds();
  let slots = 0;
  for (let morning = 1; morning <= 4; morning++) {
    now = START + 2 * 60 * MINUTE + morning * DAY;
    pair.asked.length = 0;
    const ours = await time(() => scheduler.tick());
    const asked = pair.asked.splice(0);
    const floor = await time(() => pair.replay(asked));
    const rows = writtenBy(asked);
    const bare = await time(() => passByRows(pair, now, rows));
    // The first morning also lists the remaining slots of the day before, so it is not counted.
    if (morning === 1) continue;
    night.push(ours, floor, asked.length);
    byRows.push(ours, bare);
    slots = listed;
  }
  const name = `tick-${MANY}-schedules`;
  first.report(`${name}-first-${kind}`, 10);
  idle.report(`${name}-idle-${kind}`, targets[kind]);
  busy.report(`${name}-busy-${kind}`, targets[kind]);
  night.report(`${name}-after-a-night-${kind}`, targets[kind], { slots });
  byRows.report(`${name}-after-a-night-by-rows-${kind}`, 3, {
    slots,
    compared: "the bare driver in one transaction with a statement for each row",
  });
}

const folder = Deno.makeTempDirSync();
try {
  const url = await findPostgres();
  // deno-lint-ignore no-console -- a benchmark reports which figures are missing
  if (url === undefined) console.error("no PostgreSQL on this machine: its figures are left out");
  const kinds: [kind: Kind, open: (name: string) => Promise<Pair>][] = [
    ["sqlite", (name) => sqlitePair(folder, name)],
    ...url === undefined ? [] : [["postgres", () => postgresPair(url)] as [Kind, () => Promise<Pair>]],
  ];
  for (const [kind, open] of kinds) {
    for (const measure of [measureCommits, measureClaim, measurePasses]) {
      await using pair = await open(measure.name);
      await measure(pair, kind);
    }
  }
} finally {
  Deno.removeSync(folder, { recursive: true });
}
