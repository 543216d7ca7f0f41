/**
 * Shows the toolkit at work without a broker: starts the simulator on free ports, runs the end-of-day recipe against
 * it over HTTP, and prints what was exported.
 *
 * Run: `deno task demo`, or `deno task demo --out DIR`
 *
 * @module
 */
import { connect } from "../lib/client/connect.ts";
import type { DayBookResult } from "../lib/day_book/mod.ts";
import { ShiftedClock } from "../lib/simulator/clock.ts";
import { startGateway } from "../lib/simulator/gateway/mod.ts";
import { compileRecipe, runRecipe } from "../lib/steps/mod.ts";
import { demoTable } from "./commands/bodies/demo_table.ts";
import { exitCodeOf } from "./commands/exit_codes.ts";
import { type Host, processHost } from "./commands/host.ts";
import { report } from "./commands/report.ts";

/** A Saturday at noon: the last five trading days of every market are over and cleared. */
const CLOCK = Date.parse("2025-08-16T12:00:00+08:00");
const RECIPE = "recipes/end_of_day.yaml";

async function run(args: readonly string[], host: Host): Promise<number> {
  const out = outOf(args);
  const begun = performance.now();
  const recipe = await compileRecipe(
    await Deno.readTextFile(new URL(`../${RECIPE}`, import.meta.url)),
    RECIPE,
  );
  await using gateway = await startGateway({
    seed: 1,
    fillsPerDay: 40,
    clock: new ShiftedClock(CLOCK),
    pushIntervalMs: 0,
  });
  const { gatewayUrl, pushAddress, tradePassword, tradePasswordKey } = gateway.info;
  host.out(`Simulated gateway at ${gatewayUrl}; nothing reaches a broker.`);
  await using client = await connect({
    gateway: { url: gatewayUrl, push: pushAddress },
    tradePassword,
    tradePasswordKey,
  });
  const result = await runRecipe(recipe, {
    client,
    now: () => gateway.clock.now(),
    out,
    signal: host.signal,
  });
  const calls = gateway.state().callsTaken;
  // The recipe has this one step.
  const output = result.steps[0]!.output as DayBookResult;
  host.out("");
  for (const line of await demoTable(output, host)) host.out(line);
  host.out("");
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  host.out(`${output.rows} rows over ${calls} calls in ${seconds} s; the simulator has stopped.`);
  host.out(`Files: ${output.out}/`);
  host.out(`       <day>/fills.csv, orders.csv, fund_journal.csv, …, and the same as .jsonl`);
  return result.ok ? 0 : 7;
}

function outOf([flag, value, ...more]: readonly string[]): string {
  if (flag === undefined) return "out/demo";
  if (flag === "--out" && value !== undefined && more.length === 0) return value;
  throw new TypeError('Cannot start the demo: it takes "--out DIR" and nothing else');
}

async function main(args: readonly string[], host: Host): Promise<number> {
  try {
    return await run(args, host);
  } catch (error) {
    report(error, undefined, host);
    return exitCodeOf(error);
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args, processHost()));
