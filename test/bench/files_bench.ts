/**
 * Counts the files of `lib` that take part in one funds call, in one pushed quote and in one slot: the files with a
 * function that runs each time. The slot belongs to a recipe that places an order. It begins with the scheduler's pass,
 * and ends when the store has the result of the run.
 *
 * The benchmark repeats each of these three operations twice in one process and six times in another, both with V8's
 * coverage counters. A function counts if its number of calls is higher by at least 4 (6 − 2) in the second process.
 * The simulator is another process.
 *
 * @module
 */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { createClient } from "../../lib/client/client.ts";
import { readLimits } from "../../lib/client/limits.ts";
import { compileRecipe } from "../../lib/recipes/mod.ts";
import { Redactor } from "../../lib/redact.ts";
import { Scheduler } from "../../lib/runner/schedule/scheduler.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { systemMachine } from "../../lib/time.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import { openPushStream } from "../../lib/transports/push/stream.ts";
import { report, type SimulatorInfo, startSimulator } from "./harness.ts";
import { quoteFrames, startSender } from "./push_frames.ts";

/** How often each of the two processes repeats an operation. */
const [FEW, MANY] = [2, 6] as const;

const operations: Record<
  string,
  { most: number; repeat: (times: number, info: SimulatorInfo) => Promise<void> }
> = {
  "files/funds-call": { most: 10, repeat: callFunds },
  "files/pushed-quote": { most: 8, repeat: receiveQuotes },
  "files/slot": { most: 20, repeat: runSlots },
};

/** A recipe that buys each minute. The orders stay open, because their price is below the market. */
const BUY = {
  name: "buy",
  live: true,
  schedule: { cron: "* * * * *", timezone: "Asia/Hong_Kong" },
  window: "XHKG.open..XHKG.close-10m",
  steps: [{
    id: "buy",
    uses: "orders.place",
    with: {
      market: "hk",
      symbol: "00700.HK",
      quantity: "100",
      price: "560",
      side: "buy",
      orderType: "enhanced-limit",
    },
  }],
};

/** The simulator's clock starts at this time. */
const CLOCK_START = "2025-08-15T10:00:00+08:00";

const [chosen, times, info] = Deno.args;
if (chosen !== undefined && times !== undefined) {
  await operations[chosen]!.repeat(Number(times), JSON.parse(info!));
} else await main();

async function callFunds(times: number, info: SimulatorInfo): Promise<void> {
  await using client = await clientOf(info);
  for (let call = 0; call < times; call++) await client.account.funds({ market: "hk" });
}

async function receiveQuotes(times: number): Promise<void> {
  const sender = await startSender(await quoteFrames(times), { once: true });
  await using stream = openPushStream({
    hostname: "127.0.0.1",
    port: sender.port,
    now: Date.now,
    random: Math.random,
    reconnect: false,
  });
  for await (const event of stream.events()) {
    if (event.type === "quote" && --times === 0) break;
  }
  sender.stop();
}

async function runSlots(times: number, info: SimulatorInfo): Promise<void> {
  await using client = await clientOf(info);
  await using store = await openSqlite(":memory:");
  let now = Date.parse(CLOCK_START);
  const ended: string[] = [];
  await using scheduler = new Scheduler({
    calendars: () => builtInCalendars,
    store,
    machine: { ...systemMachine, now: () => now, monotonic: () => now },
    holder: "bench",
    recipes: [await compileRecipe(JSON.stringify(BUY), "buy.yaml")],
    out: ".",
    redactor: new Redactor(),
    limits: readLimits({ liveTrading: "allow" }),
    client: () => Promise.resolve(client),
    secret: (name) => Promise.reject(new TypeError(`no secret "${name}" in this benchmark`)),
    onEvent: (event) => {
      if (event.type === "step-ended") ended.push(event.reason ?? event.state);
    },
    onSchedulerEvent: (event) => {
      if (event.type === "error") throw event.error;
    },
  });
  await scheduler.tick();
  for (let slot = 1; slot <= times; slot++) {
    now += 60_000;
    await scheduler.tick();
    await scheduler.drain();
    if (ended[slot - 1] !== "ok") throw new Error(`Cannot count: slot ${slot} gave "${ended[slot - 1]}"`);
  }
}

async function clientOf({ gatewayUrl, tradePassword, tradePasswordKey }: SimulatorInfo) {
  const client = createClient(gateway({ url: gatewayUrl, tradePasswordKey }), { tradePassword });
  await client.account.login();
  return client;
}

/** Numbers of calls by function, as V8 writes them. */
interface Counters {
  url: string;
  functions: { functionName: string; ranges: { startOffset: number; endOffset: number; count: number }[] }[];
}

/** Repeats an operation in its own process. Resolves to the number of calls of each function of `lib`. */
async function countCalls(
  operation: string,
  times: number,
  info: SimulatorInfo,
): Promise<Map<string, number>> {
  const folder = await Deno.makeTempDir({ prefix: "hsgate-bench-" });
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      "-A",
      `--coverage=${folder}`,
      import.meta.filename!,
      operation,
      String(times),
      JSON.stringify(info),
    ],
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`Cannot count "${operation}": ${new TextDecoder().decode(stderr)}`);
  const lib = new URL("../../lib/", import.meta.url).href;
  const calls = new Map<string, number>();
  for (const { name } of Deno.readDirSync(folder)) {
    if (!name.endsWith(".json")) continue;
    const { url, functions }: Counters = JSON.parse(await Deno.readTextFile(`${folder}/${name}`));
    if (!url.startsWith(lib)) continue;
    for (const { functionName, ranges: [whole] } of functions) {
      if (whole === undefined) continue;
      const key = `${url.slice(lib.length)} ${functionName} ${whole.startOffset}`;
      calls.set(key, (calls.get(key) ?? 0) + whole.count);
    }
  }
  await Deno.remove(folder, { recursive: true });
  return calls;
}

async function main(): Promise<void> {
  for (const [name, { most }] of Object.entries(operations)) {
    // Each process gets a new simulator.
    const count = async (times: number) => {
      await using simulator = await startSimulator(["--clock", CLOCK_START]);
      return await countCalls(name, times, simulator.info);
    };
    const [few, many] = [await count(FEW), await count(MANY)];
    const passed = [...many].filter(([key, calls]) => calls - (few.get(key) ?? 0) >= MANY - FEW);
    const files = [...new Set(passed.map(([key]) => key.split(" ")[0]!))].sort();
    const ours = files.length;
    report({ name, unit: "files of lib", ours, target: `at most ${most}`, ok: ours <= most, files });
  }
}
