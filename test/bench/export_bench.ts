// deno-lint-ignore-file no-console -- a bench prints its result
/**
 * Compares the export of a million fills with a bare loop that fetches the same pages and writes the answers
 * unchanged. Simulator, loop and export each run in their own process. Prints one line of JSON.
 *
 *     deno run -A test/bench/export_bench.ts [--fills 1000000] [--per-day 10000] [--market hk]
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { createClient } from "../../lib/client/client.ts";
import { exportDayBook } from "../../lib/day_book/mod.ts";
import type { Market } from "../../lib/dictionaries/market.ts";
import { ManualClock } from "../../lib/time.ts";
import { startGateway } from "../../lib/simulator/gateway/mod.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import { report } from "./harness.ts";

/** A Saturday at noon in Hong Kong, when all previous days are cleared. */
const NOW = Date.parse("2025-08-16T12:00:00+08:00");

const MOST_RATIO = 2;
const MOST_MB = 200;

interface Job {
  url: string;
  password: string;
  key: string;
  market: Market;
  from: string;
  to: string;
  out: string;
}

interface Outcome {
  seconds: number;
  fills: number;
  rows: number;
  bytes: number;
  peakMb: number;
}

const roles: Record<string, (job: Job) => Promise<void>> = {
  floor: runFloor,
  ours: runOurs,
  sim: runSimulator,
};

const flags = parseArgs(Deno.args, { string: ["role", "job", "fills", "per-day", "market"] });
if (flags.role === undefined) await main();
else await roles[String(flags.role)]!(JSON.parse(String(flags.job ?? "{}")));

async function main(): Promise<void> {
  const fills = Number(flags.fills ?? 1_000_000);
  const perDay = Math.min(fills, Number(flags["per-day"] ?? 10_000));
  const days = Math.ceil(fills / perDay);
  const market = String(flags.market ?? "hk") as Market;
  const out = await Deno.makeTempDir();
  const simulator = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      import.meta.filename!,
      "--role",
      "sim",
      "--job",
      JSON.stringify({ days, perDay }),
    ],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  try {
    const info = JSON.parse(await firstLine(simulator.stdout));
    const job: Job = { ...info, market, from: firstDay(days), to: "2025-08-15", out };
    const floor = await child("floor", { ...job, out: `${out}/floor` });
    const ours = await child("ours", { ...job, out: `${out}/ours` });
    if (ours.rows !== floor.rows) throw new Error(`the export has ${ours.rows} rows, the loop ${floor.rows}`);
    const ratio = Math.round((ours.seconds / floor.seconds) * 100) / 100;
    report({
      name: `export of ${ours.fills} fills, ${perDay} a day, beside a bare loop over the same pages`,
      unit: "s",
      floor: floor.seconds,
      ours: ours.seconds,
      ratio,
      target: `at most ${MOST_RATIO} times the loop, peak at most ${MOST_MB} MB`,
      ok: ratio <= MOST_RATIO && ours.peakMb <= MOST_MB,
      peakMb: { floor: floor.peakMb, ours: ours.peakMb },
      bytes: { floor: floor.bytes, ours: ours.bytes },
      fills: ours.fills,
      rows: ours.rows,
    });
  } finally {
    await simulator.stdin.close();
    await simulator.status;
    await Deno.remove(out, { recursive: true });
  }
}

/** Returns a start date with at least this number of trading days before NOW. */
function firstDay(days: number): string {
  return new Date(NOW - (days * 1.6 + 10) * 86_400_000).toISOString().slice(0, 10);
}

async function child(role: string, job: Job): Promise<Outcome> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", import.meta.filename!, "--role", role, "--job", JSON.stringify(job)],
    stdout: "piped",
  }).output();
  if (!success) throw new Error(`the ${role} failed`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream() as never) as AsyncIterable<string>) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  return text.split("\n")[0]!;
}

async function runSimulator(): Promise<void> {
  const { days, perDay } = JSON.parse(String(flags.job));
  await using simulator = await startGateway({
    seed: 7,
    clock: new ManualClock(NOW),
    days,
    fillsPerDay: perDay,
    pushIntervalMs: 0,
  });
  const { gatewayUrl: url, tradePassword: password, tradePasswordKey: key } = simulator.info;
  console.log(JSON.stringify({ url, password, key }));
  for await (const _ of Deno.stdin.readable); // until it is closed
}

async function clientOf({ url, password, key }: Job) {
  const client = createClient(gateway({ url, tradePasswordKey: key }), { tradePassword: password });
  await client.account.login();
  return client;
}

/** Returns the peak memory of this process as measured by the system. */
function peakMb(): number {
  const kb = /VmHWM:\s+(\d+)/.exec(Deno.readTextFileSync("/proc/self/status"))?.[1];
  return Math.round(Number(kb) / 1024);
}

/** Does the minimum: fetches each page, writes it, and reads its cursor. */
async function runFloor(job: Job): Promise<void> {
  await clientOf(job);
  await Deno.mkdir(job.out);
  const exchangeType = { hk: "K", us: "P", shanghai: "t", shenzhen: "v" }[job.market];
  const file = await Deno.open(`${job.out}/raw.jsonl`, { write: true, create: true });
  const started = performance.now();
  let [fills, rows, bytes] = [0, 0, 0];
  for (let day = Date.parse(job.from); day <= Date.parse(job.to); day += 86_400_000) {
    const date = new Date(day).toISOString().slice(0, 10).replaceAll("-", "");
    for (const name of ["DeliverList", "EntrustList", "FundJourList"]) {
      for (let cursor = "0";;) {
        const params = {
          exchangeType,
          queryCount: 99,
          queryParamStr: cursor,
          startDate: date,
          endDate: date,
        };
        const response = await fetch(`${job.url}/trade/TradeQueryHistory${name}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ timeout_sec: 10, params }),
        });
        const text = await response.text();
        const page = JSON.parse(text).data.data;
        const encoded = new TextEncoder().encode(text + "\n");
        await file.write(encoded);
        bytes += encoded.length;
        rows += page.length;
        if (name === "DeliverList") fills += page.length;
        if (page.length < 99) break;
        cursor = page.at(-1).queryParamStr;
      }
    }
  }
  file.close();
  const seconds = Math.round(performance.now() - started) / 1000;
  console.log(JSON.stringify({ seconds, fills, rows, bytes, peakMb: peakMb() }));
}

async function runOurs(job: Job): Promise<void> {
  await using client = await clientOf(job);
  const { market, from, to, out } = job;
  const started = performance.now();
  const book = await exportDayBook(client, {
    markets: [market],
    from,
    to,
    out,
    now: () => NOW,
    accounts: ["securities"],
  });
  const seconds = Math.round(performance.now() - started) / 1000;
  let bytes = 0;
  for (const { path } of book.days) {
    for (const { name } of Deno.readDirSync(path)) bytes += Deno.statSync(`${path}/${name}`).size;
  }
  if (!book.ok && !Deno.env.get("BENCH_LOOSE")) throw new Error(JSON.stringify(book.differences[0]));
  const fills = book.days.reduce((sum, { rows }) => sum + (rows.fills ?? 0), 0);
  console.log(JSON.stringify({ seconds, fills, rows: book.rows, bytes, peakMb: peakMb() }));
}
