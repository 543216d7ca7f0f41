/**
 * Runs a scheduler in its own process; its run places orders in a custom step, and the test suspends the process there.
 *
 * @module
 */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { createClient } from "../../lib/client/client.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { Redactor } from "../../lib/redact.ts";
import { Scheduler } from "../../lib/runner/schedule/scheduler.ts";
import { describeOwnStep, runOwnStep } from "../../lib/recipes/own_steps/own_step.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import { systemMachine } from "../../lib/time.ts";
import { every, orders, step } from "./support.ts";

/** Options of the process, as JSON in its only argument. */
export interface LeaseJob {
  store: string;
  /** File of the step. */
  step: string;
  gatewayUrl: string;
  tradePassword: string;
  tradePasswordKey: string;
}

/** Starts the process. It ends with its first run and prints its events as JSON lines. */
export function spawnWriter(job: LeaseJob): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", import.meta.filename!, JSON.stringify(job)],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}

if (import.meta.main) {
  const job: LeaseJob = JSON.parse(Deno.args[0]!);
  const file = new URL(job.step);
  const description = await describeOwnStep(file);
  await using client = createClient(
    gateway({ url: job.gatewayUrl, tradePasswordKey: job.tradePasswordKey }),
    { tradePassword: job.tradePassword },
  );
  await using store = await openSqlite(job.store);
  const ended = Promise.withResolvers<void>();
  const recipe = orders([], {
    schedules: [every(500)],
    window: undefined,
    steps: [step({
      effect: "write",
      run: (context) => runOwnStep(file, description, { params: {}, context }),
    })],
  });
  const scheduler = new Scheduler({
    calendars: () => builtInCalendars,
    store,
    machine: systemMachine,
    holder: "sleeper",
    recipes: [recipe],
    out: "",
    redactor: new Redactor(),
    client: () => Promise.resolve(client),
    secret: () => Promise.reject(new TypeError("no secrets")),
    leaseMs: 900,
    maxRuns: 1,
    onEvent(event) {
      // deno-lint-ignore no-console -- the parent reads it
      console.log(JSON.stringify(event));
      if (event.type === "run-ended") ended.resolve();
    },
  });
  await scheduler.start();
  await ended.promise;
  await scheduler.stop();
}
