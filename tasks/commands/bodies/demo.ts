/**
 * What `hsgate demo` does: the end-of-day recipe against a simulator of its own.
 *
 * @module
 */
import { parse } from "@std/yaml";
import type { Client } from "../../../lib/client/client.ts";
import { connect } from "../../../lib/client/connect.ts";
import type { DayBookResult } from "../../../lib/day_book/mod.ts";
import { ShiftedClock } from "../../../lib/simulator/clock.ts";
import { type CompiledRecipe, compileRecipe, runRecipe } from "../../../lib/steps/mod.ts";
import type { DemoInput } from "../demo.ts";
import { UsageError } from "../exit_codes.ts";
import { demoTable } from "./demo_table.ts";

/** A Saturday at noon: the last five trading days of every market are over and cleared. */
const CLOCK = Date.parse("2025-08-16T12:00:00+08:00");
const RECIPE = "recipes/end_of_day.yaml";

/** A simulator, and a client of it. */
interface World extends AsyncDisposable {
  client: Client;
  /** Where it listens, for a person. */
  place: string;
  now(): number;
  /** Calls that the simulator has taken. */
  calls(): number;
}

/** Exports, prints what was exported, and ends with 7 when something does not add up. */
export async function run({ flags, host }: DemoInput): Promise<number> {
  const open = worldOf(flags.transport ?? "gateway");
  const begun = performance.now();
  const recipe = await demoRecipe();
  await using world = await open();
  const { client, now } = world;
  if (!flags.json) host.out(`Simulated ${world.place}; nothing reaches a broker.`);
  const result = await runRecipe(recipe, { client, now, signal: host.signal, out: flags.out ?? "out/demo" });
  // The recipe has this one step.
  const output = result.steps[0]!.output as DayBookResult;
  if (flags.json) {
    host.out(JSON.stringify(output));
    return result.ok ? 0 : 7;
  }
  host.out("");
  for (const line of await demoTable(output, host)) host.out(line);
  host.out("");
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  host.out(`${output.rows} rows over ${world.calls()} calls in ${seconds} s; the simulator has stopped.`);
  host.out(`Files: ${output.out}/`);
  host.out(`       <day>/fills.csv, orders.csv, fund_journal.csv, …, and the same as .jsonl`);
  return result.ok ? 0 : 7;
}

function worldOf(transport: string): () => Promise<World> {
  if (transport === "gateway") return gatewayWorld;
  if (transport === "direct") return directWorld;
  throw new UsageError(`Cannot run the demo over "${transport}": there are "gateway" and "direct"`);
}

/** The recipe, with its files going straight into the folder of the run. */
async function demoRecipe(): Promise<CompiledRecipe> {
  const text = await Deno.readTextFile(new URL(`../../../${RECIPE}`, import.meta.url));
  // Compiled right after, which checks all of it.
  const source = parse(text) as { steps: { with: Record<string, unknown> }[] };
  for (const step of source.steps) step.with.out = ".";
  return await compileRecipe(JSON.stringify(source), RECIPE);
}

const simulated = () => ({ seed: 1, fillsPerDay: 40, clock: new ShiftedClock(CLOCK), pushIntervalMs: 0 });

async function gatewayWorld(): Promise<World> {
  const { startGateway } = await import("../../../lib/simulator/gateway/mod.ts");
  const gateway = await startGateway(simulated());
  const { gatewayUrl, pushAddress, tradePassword, tradePasswordKey } = gateway.info;
  const client = await connect({
    gateway: { url: gatewayUrl, push: pushAddress },
    tradePassword,
    tradePasswordKey,
  });
  return worldWith(client, gateway, `gateway at ${gatewayUrl}`);
}

async function directWorld(): Promise<World> {
  const { startPlatform } = await import("../../../lib/simulator/platform/mod.ts");
  const platform = await startPlatform(simulated());
  const { info } = platform;
  const client = await connect({
    direct: {
      url: info.authUrl,
      country: info.countryCode === "HKG" ? "HKG" : "CHN",
      mobile: info.mobile,
      password: info.loginPassword,
      deviceId: "02-00-00-00-00-01",
      privateKey: info.developerPrivateKey,
      platformKey: info.platformPublicKey,
      // Nobody else has this account.
      leaseFolder: false,
    },
    tradePassword: info.tradePassword,
  });
  return worldWith(client, platform, `platform at ${info.authUrl}, trade socket at ${info.tradeServer}`);
}

interface Simulated extends AsyncDisposable {
  clock: { now(): number };
  state(): { callsTaken: number };
}

function worldWith(client: Client, simulator: Simulated, place: string): World {
  return {
    client,
    place,
    now: () => simulator.clock.now(),
    calls: () => simulator.state().callsTaken,
    async [Symbol.asyncDispose]() {
      await client.close();
      await simulator[Symbol.asyncDispose]();
    },
  };
}
