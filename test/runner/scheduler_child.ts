/**
 * A scheduler in a process of its own, to be killed: at the n-th time that it looks at its clock, or from outside.
 *
 * @module
 */
import { openPostgres } from "../../lib/store/postgres.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { Redactor } from "../../lib/redact.ts";
import { Scheduler } from "../../lib/runner/schedule/scheduler.ts";
import { every, realHost, recipe, step } from "./support.ts";

/** What the process is told, as JSON in its only argument. */
export interface Job {
  folder: string;
  /** URL of the store, where that is not a file in the folder. */
  url?: string;
  holder: string;
  /** Time between two slots of each recipe. @default 100 ms */
  slotMs?: number;
  /** Ends when this has passed and nothing is left to do, epoch milliseconds. */
  until: number;
  /** Kills itself when the clock is read for this time. */
  killAt?: number;
}

/** Starts the process. */
export function spawnScheduler(job: Job): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", import.meta.filename!, JSON.stringify(job)],
    stdout: "null",
    stderr: "inherit",
  }).spawn();
}

if (import.meta.main) {
  const { folder, url, holder, until, killAt, slotMs = 100 }: Job = JSON.parse(Deno.args[0]!);
  let looks = 0;
  const look = <T>(value: T): T => {
    // SIGKILL cannot be caught: nothing is tidied up.
    if (++looks === killAt) Deno.kill(Deno.pid, "SIGKILL");
    return value;
  };
  // Long enough that a kill often falls into a step; at the end short, so that an end comes.
  const pause = () => new Promise((resolve) => setTimeout(resolve, Date.now() < until ? 40 : 1));
  // A trace id takes 31 draws; one point within the transaction that needs it is enough.
  let draws = 0;
  const draw = () => ++draws % 31 === 0 ? look(Math.random()) : Math.random();
  const note = (file: string, line: string) =>
    Deno.writeTextFileSync(`${folder}/${file}`, `${line}\n`, { append: true });
  const shared = {
    schedules: [every(slotMs)],
    overlap: "parallel" as const,
    misfire: { graceMs: 10 * 60_000, action: "all" as const, max: 1000 },
  };
  const recipes = [
    recipe({
      ...shared,
      name: "read",
      steps: [step({ id: "a", run: pause }), step({ id: "b", needs: ["a"], run: pause })],
    }),
    recipe({
      ...shared,
      name: "write",
      class: "write",
      steps: [step({
        effect: "write",
        async run({ stepKey }) {
          note("begun", stepKey);
          await pause();
        },
      })],
    }),
  ];
  await using store = url === undefined ? await openSqlite(`${folder}/store.db`) : await openPostgres(url);
  const scheduler = new Scheduler({
    store,
    host: { ...realHost, now: () => look(Date.now()), random: draw },
    holder,
    recipes,
    out: folder,
    redactor: new Redactor(),
    client: () => Promise.reject(new TypeError("no client")),
    secret: () => Promise.reject(new TypeError("no secrets")),
    leaseMs: 600,
    pollMs: 50,
    tickMs: 500,
    maxRuns: 8,
    recover: () => Promise.resolve("failed"),
    onEvent: (event) => event.type === "run-ended" && event.state === "ok" && note("ended", event.runKey),
    // deno-lint-ignore no-console -- the parent shows it
    onSchedulerEvent: (event) => event.type === "error" && console.error(event.error),
  });
  await scheduler.start();
  const open = "select count(*) as n from run where state in ('due', 'running', 'waiting_recovery')";
  while (Date.now() < until || (await store.get<{ n: number }>(open))!.n > 0) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await scheduler.stop();
}
