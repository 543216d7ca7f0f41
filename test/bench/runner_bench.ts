/**
 * The scheduler's tick over many schedules, slots per second beside croner alone, and durable commits beside SQLite
 * alone.
 *
 * @module
 */
import { Cron } from "croner";
import { DatabaseSync } from "node:sqlite";
import { Ledger } from "../../lib/runner/ledger.ts";
import { Redactor } from "../../lib/runner/redact.ts";
import { insertRun } from "../../lib/runner/run_rows.ts";
import { Scheduler } from "../../lib/runner/scheduler.ts";
import { slotsBetween } from "../../lib/runner/slots.ts";
import type { CompiledRecipe, CompiledSchedule } from "../../lib/steps/compiled.ts";
import { inTurns, median, report, rounded } from "./harness.ts";

const START = Date.parse("2025-03-03T00:00:00Z");
const DAY = 86_400_000;
const MANY = 10_000;

function recipeOf(index: number): CompiledRecipe {
  const minute = index % 60;
  const hour = index % 24;
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
try {
  await measureTicks(`${folder}/ticks.db`);
  await measureSlots();
  await measureCommits();
} finally {
  Deno.removeSync(folder, { recursive: true });
}

async function measureTicks(path: string): Promise<void> {
  const before = Deno.memoryUsage().rss;
  using ledger = new Ledger(path);
  let now = START;
  let monotonic = 0;
  await using scheduler = new Scheduler({
    ledger,
    holder: "bench",
    host: {
      now: () => now,
      monotonic: () => monotonic,
      random: Math.random,
      id: () => crypto.randomUUID(),
      setTimer: () => () => {},
    },
    recipes: Array.from({ length: MANY }, (_, index) => recipeOf(index)),
    out: folder,
    redactor: new Redactor(),
    client: () => Promise.reject(new TypeError("no client")),
    secret: () => Promise.reject(new TypeError("no secrets")),
  });
  const began = performance.now();
  scheduler.tick();
  const loadMs = performance.now() - began;
  const times: number[] = [];
  for (let tick = 0; tick < 20; tick++) {
    now += 60_000;
    monotonic += 60_000;
    const start = performance.now();
    scheduler.tick();
    times.push(performance.now() - start);
  }
  const ours = median(times);
  report({
    name: "runner/tick-10000-schedules",
    unit: "ms, median; the floor is what a minute allows",
    floor: 60_000,
    ours: rounded(ours),
    ratio: rounded(ours / 60_000),
    target: "at most 0.01 of the minute",
    ok: ours / 60_000 <= 0.01,
    firstTickMs: rounded(loadMs),
    memoryMb: rounded((Deno.memoryUsage().rss - before) / 2 ** 20),
  });
}

async function measureSlots(): Promise<void> {
  const schedule: CompiledSchedule = {
    id: "s",
    form: "cron",
    cron: "*/20 9-16 * * 1-5",
    timezone: "Asia/Hong_Kong",
    onlyIn: "XHKG",
  };
  const until = START + 200 * DAY;
  let count = 0;
  const { floor, ours } = await inTurns({
    floor() {
      const pattern = new Cron(schedule.cron, { timezone: schedule.timezone });
      count = 0;
      for (let at = pattern.nextRun(new Date(START)); at !== null && at.getTime() <= until; count++) {
        at = pattern.nextRun(at);
      }
      return Promise.resolve();
    },
    ours: () => Promise.resolve(slotsBetween(schedule, START, until)),
  }, { warmup: 2, rounds: 7 });
  report({
    name: "runner/slots-cron",
    unit: "slots per second",
    floor: Math.round(count / floor * 1000),
    ours: Math.round(count / ours * 1000),
    ratio: rounded(floor / ours),
    target: "at least 0.5 of croner alone",
    ok: floor / ours >= 0.5,
  });
}

async function measureCommits(): Promise<void> {
  const bare = new DatabaseSync(`${folder}/bare.db`);
  bare.exec(
    "pragma journal_mode = wal; pragma synchronous = full; create table t (k text primary key, v text) strict",
  );
  const insert = bare.prepare("insert into t values (?, ?)");
  using ledger = new Ledger(`${folder}/ours.db`);
  let key = 0;
  const { floor, ours } = await inTurns({
    floor() {
      for (let i = 0; i < 100; i++) insert.run(`k${key++}`, "value");
      return Promise.resolve();
    },
    ours() {
      for (let i = 0; i < 100; i++) {
        insertRun(ledger, {
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
    name: "runner/ledger-commit",
    unit: "ms per durable commit",
    floor: rounded(floor / 100),
    ours: rounded(ours / 100),
    ratio: rounded(ours / floor),
    target: "at most 3",
    ok: ours / floor <= 3,
  });
}
