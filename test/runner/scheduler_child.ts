/**
 * Runs a scheduler in its own process, which is killed at the n-th reading of its clock, or from outside. Otherwise it
 * ends when every slot up to the end is done. The end is an instant in a file of its folder; see {@linkcode writeEnd}.
 *
 * @module
 */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { openPostgres } from "../../lib/store/postgres.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { createClient } from "../../lib/client/client.ts";
import { compare } from "../../lib/decimal.ts";
import { isTemporary } from "../../lib/store/store_error.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import { Redactor } from "../../lib/redact.ts";
import { Scheduler } from "../../lib/runner/schedule/scheduler.ts";
import { lines } from "./nothing_lost.ts";
import { systemMachine } from "../../lib/time.ts";
import { every, recipe, step } from "./support.ts";

/** Options of the process, as JSON in its only argument. */
export interface Job {
  folder: string;
  /** URL of the store, if it is not a file in the folder. */
  url?: string;
  holder: string;
  /** Time between two slots of each recipe. @default 100 ms */
  slotMs?: number;
  /** How long a claim lasts. @default 600 ms */
  leaseMs?: number;
  /** How long the database may take to answer. */
  answerMs?: number;
  /** Duration of a step until the end is set. After that, a step takes 1 ms. @default 40 ms */
  stepMs?: number;
  /** The broker at which each write step places one order; see {@linkcode orderOf}. @default none */
  broker?: { gatewayUrl: string; tradePassword: string; tradePasswordKey: string };
  /** The process kills itself at this reading of the clock. Every 31st random number counts as a reading too. */
  killAt?: number;
}

/** Sets the end to now, and returns it. */
export function writeEnd(folder: string): number {
  const end = Date.now();
  // Replaces the file in one step, because a process may read it at any moment.
  Deno.writeTextFileSync(`${folder}/end.new`, `${end}\n`);
  Deno.renameSync(`${folder}/end.new`, `${folder}/end`);
  return end;
}

/** The order of a slot: its price names the slot, so that the broker's list of orders shows what was written. */
export function orderOf(slotAt: number, slotMs: number) {
  const ticks = Math.round(slotAt / slotMs) % 400; // of 0.2
  return {
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    price: `${200 + Math.floor(ticks / 5)}.${ticks % 5 * 2}`,
    side: "buy",
    orderType: "enhanced-limit",
  } as const;
}

/** Returns how many of a broker's orders belong to a slot. */
export function countOrders(
  orders: readonly { symbol: string; price?: string }[],
  slotAt: number,
  slotMs: number,
): number {
  const { symbol, price } = orderOf(slotAt, slotMs);
  return orders.filter((order) =>
    order.symbol === symbol && order.price !== undefined && compare(order.price, price) === 0
  ).length;
}

/** Starts the process. */
export function spawnScheduler(job: Job): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", import.meta.filename!, JSON.stringify(job)],
    stdout: "null",
    stderr: "inherit",
  }).spawn();
}

/** Repeats work while the database cannot be reached. */
async function patient<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isTemporary(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

if (import.meta.main) {
  const {
    folder,
    url,
    holder,
    killAt,
    slotMs = 100,
    leaseMs = 600,
    answerMs,
    stepMs = 40,
    broker,
  }: Job = JSON
    .parse(Deno.args[0]!);
  let looks = 0;
  const look = <T>(value: T): T => {
    // SIGKILL cannot be caught, so nothing is cleaned up.
    if (++looks === killAt) Deno.kill(Deno.pid, "SIGKILL");
    return value;
  };
  const endOf = () => lines(`${folder}/end`)[0];
  // The pause is so long that a kill often hits a step. After the end, it is short, because only late slots remain.
  const pause = () => new Promise((resolve) => setTimeout(resolve, endOf() === undefined ? stepMs : 1));
  // A trace id needs 31 random numbers. One kill point among them is enough.
  let draws = 0;
  const draw = () => ++draws % 31 === 0 ? look(Math.random()) : Math.random();
  const note = (file: string, line: string) =>
    Deno.writeTextFileSync(`${folder}/${file}`, `${line}\n`, { append: true });
  await using connected = broker && createClient(
    gateway({ url: broker.gatewayUrl, tradePasswordKey: broker.tradePasswordKey }),
    { tradePassword: broker.tradePassword },
  );
  const slotOf = (runKey: string) => Date.parse(runKey.split("/")[2]!); // its last part is the instant
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
      needsAccount: broker !== undefined,
      steps: [step({
        effect: "write",
        async run({ stepKey, client }) {
          note("begun", stepKey);
          note("account", `enter ${holder} ${stepKey}`);
          if (broker !== undefined) {
            await (await client()).orders.place(orderOf(slotOf(stepKey.split("#")[0]!), slotMs));
          }
          await pause();
          note("account", `leave ${holder} ${stepKey}`);
        },
      })],
    }),
  ];
  await using store = url === undefined
    ? await openSqlite(`${folder}/store.db`)
    : await patient(() => openPostgres(url, { answerMs }));
  const scheduler = new Scheduler({
    calendars: () => builtInCalendars,
    store,
    machine: { ...systemMachine, now: () => look(Date.now()), random: draw },
    holder,
    recipes,
    out: folder,
    redactor: new Redactor(),
    client: () =>
      connected === undefined ? Promise.reject(new TypeError("no client")) : Promise.resolve(connected),
    secret: () => Promise.reject(new TypeError("no secrets")),
    leaseMs,
    pollMs: 50,
    tickMs: 500,
    maxRuns: 8,
    async recover(runKey) {
      if (connected === undefined) return "failed";
      const orders = await connected.orders.today({ market: "hk", limit: 99 }).toArray();
      return countOrders(orders, slotOf(runKey), slotMs) > 0 ? "ok" : "failed";
    },
    onEvent: (event) => event.type === "run-ended" && event.state === "ok" && note("ended", event.runKey),
    onSchedulerEvent(event) {
      if (event.type !== "error" || (broker !== undefined && isTemporary(event.error))) return;
      // deno-lint-ignore no-console -- the parent shows it
      console.error(event.error);
    },
  });
  await scheduler.start();
  // Slots also become due after the end. The process does not wait for them, because a slow machine would never catch
  // up.
  const isDone = async () => {
    const end = endOf();
    if (end === undefined) return false;
    const left = "select (select count(*) from schedule where watermark < ?) + (select count(*) from run " +
      "where slot_at <= ? and state in ('due', 'running', 'waiting_recovery')) as n";
    return (await patient(() => store.get<{ n: number }>(left, Number(end), Number(end))))!.n === 0;
  };
  while (!await isDone()) await new Promise((resolve) => setTimeout(resolve, 50));
  await scheduler.stop();
}
