/**
 * Measures ten thousand recipes: the time to load them; a scheduler pass when nothing is due, in a minute with
 * slots, and after a night; slots per second for each form of schedule; durable commits compared with bare SQLite.
 *
 * @module
 */
import { Cron } from "croner";
import { DatabaseSync } from "node:sqlite";
import { parse } from "yaml";
import { sessionsBetween } from "../../lib/calendars/mod.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { Redactor } from "../../lib/redact.ts";
import { insertRun } from "../../lib/runner/queries/runs.ts";
import { Scheduler } from "../../lib/runner/schedule/scheduler.ts";
import { slotsBetween } from "../../lib/runner/schedule/slots.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../lib/recipes/compiled.ts";
import { compileRecipe } from "../../lib/recipes/mod.ts";
import { inTurns, median, report, rounded } from "./harness.ts";

/** Monday, an hour before the Hong Kong close. */
const START = Date.parse("2025-03-03T07:00:00Z");
const MINUTE = 60_000;
const DAY = 86_400_000;
const MANY = 10_000;

/** Half of them in the hour after the close, by their own minute; half at a minute of New York. */
function recipeOf(index: number): CompiledRecipe {
  const minute = (index >> 1) % 60;
  const hour = (index >> 1) % 24;
  const schedule: CompiledSchedule = index % 2 === 0
    ? {
      id: "s",
      form: "calendar",
      mic: "XHKG",
      days: "every-session",
      at: { anchor: "close", offsetMs: minute * 60_000 },
      halfDays: "run",
    }
    : { id: "s", form: "cron", cron: `${minute} ${hour} * * *`, timezone: "America/New_York" };
  return {
    name: `recipe-${index}`,
    file: "",
    sha256: "",
    class: "read",
    schedules: [schedule],
    misfire: { graceMs: DAY, action: "skip", max: 0 },
    overlap: "queue",
    timeoutMs: 1000,
    needsAccount: false,
    params: {},
    steps: [],
  };
}

const folder = Deno.makeTempDirSync();

/** Measures loading a recipe, compared with only parsing its YAML. */
async function measureLoading(): Promise<void> {
  const texts = Array.from({ length: 200 }, (_, index) =>
    `name: recipe-${index}
schedule: { calendar: XHKG, at: close+${index % 60}m }
steps:
  - { id: funds, uses: account.funds, with: { market: hk } }
`);
  const { floor, ours } = await inTurns({
    floor: () => Promise.resolve(texts.forEach((text) => parse(text))),
    async ours() {
      for (const text of texts) await compileRecipe(text, "recipe.yaml", { now: () => START });
    },
  }, { warmup: 2, rounds: 7 });
  report({
    name: "runner/load-recipe",
    unit: "ms per recipe, median; the floor is the reader of YAML alone",
    floor: rounded(floor / texts.length),
    ours: rounded(ours / texts.length),
    ratio: rounded(ours / floor),
    target: "at most 3",
    ok: ours / floor <= 3,
  });
}

async function measureTicks(path: string): Promise<void> {
  const before = Deno.memoryUsage().rss;
  await using store = await openSqlite(path);
  let now = START;
  let listed = 0;
  await using scheduler = new Scheduler({
    store,
    holder: "bench",
    host: {
      now: () => now,
      monotonic: () => now,
      random: Math.random,
      id: () => crypto.randomUUID(),
      setTimer: () => () => {},
    },
    recipes: Array.from({ length: MANY }, (_, index) => recipeOf(index)),
    out: folder,
    redactor: new Redactor(),
    client: () => Promise.reject(new TypeError("no client")),
    secret: () => Promise.reject(new TypeError("no secrets")),
    onSchedulerEvent(event) {
      if (event.type === "tick") listed = event.listed;
    },
  });
  const tickAt = async (at: number) => {
    now = at;
    const start = performance.now();
    await scheduler.tick();
    return performance.now() - start;
  };
  const firstTickMs = await tickAt(START);
  const memoryMb = (Deno.memoryUsage().rss - before) / 2 ** 20;
  const bare = new BareStore(`${folder}/bare-ticks.db`);
  // Between 15:00 and 16:00 Hong Kong trades and no recipe has a slot; New York has its own at two o'clock at night.
  const idle: Figures = { name: "idle", rows: [], floor: [], ours: [] };
  const busy: Figures = { name: "busy", rows: [], floor: [], ours: [] };
  for (let minute = 1; minute < 100; minute++) {
    const took = await tickAt(START + minute * MINUTE);
    const into = listed === 0 ? idle : busy;
    into.rows.push(listed);
    into.ours.push(took);
    into.floor.push(bare.tick(listed));
  }
  const night: Figures = { name: "after-a-night", rows: [], floor: [], ours: [] };
  for (let morning = 1; morning <= 3; morning++) {
    night.ours.push(await tickAt(START + 2 * 60 * MINUTE + morning * DAY));
    night.rows.push(listed);
    night.floor.push(bare.tick(listed));
  }
  bare.close();
  for (const { name, rows, floor, ours } of [idle, busy, night]) {
    const [floorMs, oursMs] = [median(floor), median(ours)];
    report({
      name: `runner/tick-10000-schedules-${name}`,
      unit: "ms, median; the floor is SQLite alone with as many reads and writes",
      floor: rounded(floorMs),
      ours: rounded(oursMs),
      ratio: rounded(oursMs / floorMs),
      target: name === "after-a-night" ? "at most 0.1 of a minute" : "at most 0.01 of a minute",
      ok: oursMs <= (name === "after-a-night" ? 0.1 : 0.01) * MINUTE,
      slots: median(rows),
      ...name === "idle" && {
        firstTickMs: rounded(firstTickMs),
        memoryMb: rounded(memoryMb),
        memoryAtTheEndMb: rounded((Deno.memoryUsage().rss - before) / 2 ** 20),
      },
    });
  }
}

interface Figures {
  name: string;
  rows: number[];
  floor: number[];
  ours: number[];
}

/** Does the minimum in one transaction: reads each schedule, moves its watermark, and adds a row for each slot. */
class BareStore {
  readonly #db: DatabaseSync;
  #rows = 0;

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec(
      `pragma journal_mode = wal; pragma synchronous = full;
      create table schedule (recipe text, schedule_id text, spec text, watermark integer,
        primary key (recipe, schedule_id)) strict;
      create table run (run_key text primary key, recipe text, state text, slot_at integer) strict;
      begin`,
    );
    const insert = this.#db.prepare("insert into schedule values (?, 's', ?, 0)");
    for (let i = 0; i < MANY; i++) insert.run(`recipe-${i}`, JSON.stringify(recipeOf(i).schedules[0]));
    this.#db.exec("commit");
  }

  /** Returns how long it took, milliseconds. */
  tick(slots: number): number {
    const read = this.#db.prepare("select * from schedule where recipe = ? and schedule_id = 's'");
    const move = this.#db.prepare(
      "update schedule set watermark = watermark + 1 where recipe = ? and schedule_id = 's'",
    );
    const insert = this.#db.prepare("insert into run values (?, ?, 'due', 0)");
    const start = performance.now();
    this.#db.exec("begin immediate");
    for (let i = 0; i < MANY; i++) {
      read.get(`recipe-${i}`);
      move.run(`recipe-${i}`);
    }
    for (let i = 0; i < slots; i++) insert.run(`recipe-${i}/${this.#rows++}`, `recipe-${i}`);
    this.#db.exec("commit");
    return performance.now() - start;
  }

  close(): void {
    this.#db.close();
  }
}

/** Measures the slots of one form of schedule, compared with the simplest way to compute the same instants. */
async function compareSlots(
  name: string,
  schedule: CompiledSchedule,
  { bare, least }: { bare: () => number[]; least: number },
): Promise<void> {
  const until = START + 200 * DAY;
  const found = slotsBetween(schedule, START, until).filter(({ skipped }) => skipped === undefined);
  const known = bare().filter((at) => at > START && at <= until);
  if (name !== "cron" && JSON.stringify(found.map(({ at }) => at)) !== JSON.stringify(known)) {
    throw new Error(`Cannot compare "${name}": the two do not come to the same instants`);
  }
  const { floor, ours } = await inTurns({
    floor: () => Promise.resolve(bare()),
    ours: () => Promise.resolve(slotsBetween(schedule, START, until)),
  }, { warmup: 3, rounds: 15 });
  const perSecond = (count: number, ms: number) => Math.round(count / ms * 1000);
  const [floorRate, oursRate] = [perSecond(known.length, floor), perSecond(found.length, ours)];
  report({
    name: `runner/slots-${name}`,
    unit: "slots per second",
    floor: floorRate,
    ours: oursRate,
    ratio: rounded(oursRate / floorRate),
    target: `at least ${least}`,
    ok: oursRate / floorRate >= least,
  });
}

async function measureSlots(): Promise<void> {
  const until = START + 200 * DAY;
  const [first, last] = [START, until].map((at) => new Date(at).toISOString().slice(0, 10)) as [
    string,
    string,
  ]; // two
  const cron = "*/20 9-16 * * 1-5";
  const timezone = "Asia/Hong_Kong";
  await compareSlots("cron", { id: "s", form: "cron", cron, timezone, onlyIn: "XHKG" }, {
    bare() {
      const pattern = new Cron(cron, { timezone });
      const times: number[] = [];
      for (let at = pattern.nextRun(new Date(START)); at !== null && at.getTime() <= until;) {
        times.push(at.getTime());
        at = pattern.nextRun(at);
      }
      return times;
    },
    least: 0.5,
  });
  const at = { anchor: "close", offsetMs: 45 * MINUTE } as const;
  await compareSlots(
    "calendar",
    { id: "s", form: "calendar", mic: "XHKG", days: "every-session", at, halfDays: "run" },
    {
      bare: () => sessionsBetween("XHKG", first, last).map(({ closeAt }) => closeAt + at.offsetMs),
      least: 0.5,
    },
  );
  const everyMs = 20 * MINUTE;
  await compareSlots("every-while", {
    id: "s",
    form: "every",
    everyMs,
    jitterMs: 0,
    while: {
      mic: "XHKG",
      from: { anchor: "open", offsetMs: -30 * MINUTE },
      to: { anchor: "close", offsetMs: 120 * MINUTE },
    },
  }, {
    bare: () =>
      sessionsBetween("XHKG", first, last).flatMap(({ openAt, closeAt }) => {
        const times: number[] = [];
        const begin = Math.ceil((openAt - 30 * MINUTE) / everyMs) * everyMs;
        for (let time = begin; time <= closeAt + 120 * MINUTE; time += everyMs) times.push(time);
        return times;
      }),
    least: 0.1,
  });
}

async function measureCommits(): Promise<void> {
  const bare = new DatabaseSync(`${folder}/bare.db`);
  bare.exec(
    "pragma journal_mode = wal; pragma synchronous = full; create table t (k text primary key, v text) strict",
  );
  const insert = bare.prepare("insert into t values (?, ?)");
  await using store = await openSqlite(`${folder}/ours.db`);
  let key = 0;
  const { floor, ours } = await inTurns({
    floor() {
      for (let i = 0; i < 100; i++) insert.run(`k${key++}`, "value");
      return Promise.resolve();
    },
    async ours() {
      for (let i = 0; i < 100; i++) {
        await insertRun(store, {
          runKey: `k${key++}`,
          recipe: "r",
          scheduleId: "s",
          kind: "live",
          class: "read",
          slotAt: key,
          dueAt: key,
          state: "due",
          recipeSha: "",
          traceId: "",
        }, 0);
      }
      return Promise.resolve();
    },
  }, { warmup: 2, rounds: 11 });
  bare.close();
  report({
    name: "runner/store-commit",
    unit: "ms per durable commit",
    floor: rounded(floor / 100),
    ours: rounded(ours / 100),
    ratio: rounded(ours / floor),
    target: "at most 3",
    ok: ours / floor <= 3,
  });
}

try {
  await measureLoading();
  await measureTicks(`${folder}/ticks.db`);
  await measureSlots();
  await measureCommits();
} finally {
  Deno.removeSync(folder, { recursive: true });
}
