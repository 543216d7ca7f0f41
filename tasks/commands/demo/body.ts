/**
 * Runs `hsgate demo`: the end-of-day recipe and a rebalancing plan, against its own simulator.
 *
 * @module
 */
import { parse } from "@std/yaml";
import type { Client } from "../../../lib/client/client.ts";
import { connect } from "../../../lib/client/connect.ts";
import { ShiftedClock } from "../../../lib/time.ts";
import { type CompiledRecipe, compileRecipe, runRecipe } from "../../../lib/recipes/mod.ts";
import type { DemoInput } from "../demo.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { DayBookMarket, DayBookResult, MarketResult } from "../../../lib/day_book/types.ts";
import { add, type Decimal } from "../../../lib/decimal.ts";
import type { Host } from "../../terminal/host.ts";
import { type Column, tableLines } from "../../terminal/print.ts";
import { calendarsOf } from "../../terminal/arguments.ts";
import { makePlan, readBrokerAccount, readRebalanceFile } from "../../../lib/rebalance/mod.ts";
import { planLines } from "../rebalance/lines.ts";
import { countOf, inOrder } from "../../terminal/day_table.ts";
import { refuseLinkedOut } from "../shared/linked_out.ts";

/** A Saturday at noon: the last five trading days of every market are over and cleared. */
const CLOCK = Date.parse("2025-08-16T12:00:00+08:00");
const RECIPE = "recipes/end_of_day.yaml";

/** A simulator and its client. */
interface DemoBroker extends AsyncDisposable {
  client: Client;
  /** Address for display. */
  place: string;
  now(): number;
  /** Number of calls that the simulator has answered. */
  calls(): number;
}

/**
 * Exports the day book and prints the result. Without `--json`, also prints a rebalancing plan. Returns 7 if the checks
 * of a day found differences.
 */
export async function run({ flags, host }: DemoInput): Promise<number> {
  const out = flags.out ?? "out/demo";
  refuseLinkedOut(out); // somebody else may have created a link of this name
  const open = openerOf(flags.transport ?? "gateway");
  const begun = performance.now();
  const recipe = await demoRecipe();
  await using demo = await open();
  const { client, now } = demo;
  if (!flags.json) host.out(`Simulated ${demo.place}; nothing reaches a broker.`);
  const result = await runRecipe(recipe, { client, now, signal: host.signal, out });
  // The recipe has only this step.
  const output = result.steps[0]!.output as DayBookResult;
  if (flags.json) {
    host.out(JSON.stringify(output));
    return result.ok ? 0 : 7;
  }
  host.out("");
  for (const line of await demoTable(output, host)) host.out(line);
  host.out("");
  for (const line of await demoPlan(demo, host)) host.out(line);
  host.out("");
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  host.out(`${output.rows} rows over ${demo.calls()} calls in ${seconds} s; the simulator has stopped.`);
  host.out(`Files: ${output.out}/`);
  host.out(`       <day>/fills.csv, orders.csv, fund_journal.csv, …, and the same as .jsonl`);
  return result.ok ? 0 : 7;
}

function openerOf(transport: string): () => Promise<DemoBroker> {
  if (transport === "gateway") return openGatewayDemo;
  if (transport === "direct") return openDirectDemo;
  throw new UsageError(`Cannot run the demo over "${transport}": there are "gateway" and "direct"`);
}

/** Returns the recipe, changed so that it writes its files directly into the run's folder. */
async function demoRecipe(): Promise<CompiledRecipe> {
  const text = await Deno.readTextFile(new URL(`../../../${RECIPE}`, import.meta.url));
  // `compileRecipe` checks all of it below.
  const source = parse(text) as { steps: { with: Record<string, unknown> }[] };
  for (const step of source.steps) step.with.out = ".";
  return await compileRecipe(JSON.stringify(source), RECIPE);
}

const simulated = () => ({ seed: 1, fillsPerDay: 40, clock: new ShiftedClock(CLOCK), pushIntervalMs: 0 });

async function openGatewayDemo(): Promise<DemoBroker> {
  const { startGateway } = await import("../../../lib/simulator/gateway/mod.ts");
  const gateway = await startGateway(simulated());
  const { gatewayUrl, pushAddress, tradePassword, tradePasswordKey } = gateway.info;
  const client = await connect({
    gateway: { url: gatewayUrl, push: pushAddress },
    tradePassword,
    tradePasswordKey,
  });
  return demoBroker(client, gateway, `gateway at ${gatewayUrl}`);
}

async function openDirectDemo(): Promise<DemoBroker> {
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
      // No other program uses this account.
      leaseFolder: false,
    },
    tradePassword: info.tradePassword,
  });
  return demoBroker(client, platform, `platform at ${info.authUrl}, trade socket at ${info.tradeServer}`);
}

interface Simulated extends AsyncDisposable {
  clock: { now(): number };
  state(): { callsTaken: number };
}

function demoBroker(client: Client, simulator: Simulated, place: string): DemoBroker {
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

/** A portfolio of the simulated account. */
const PORTFOLIO = `market: us
targets: { AAPL: 0.30, MSFT: 0.30, GOOGL: 0.20 }
cashBuffer: { USD: 20000 }
`;

/** Returns the lines of a plan that brings a portfolio of the account back to its targets. */
async function demoPlan({ client, now }: DemoBroker, host: Host): Promise<string[]> {
  const file = await readRebalanceFile(PORTFOLIO, { name: "portfolio.yaml" });
  const account = await readBrokerAccount(client, file, {
    now,
    calendars: calendarsOf(host),
    signal: host.signal,
  });
  const plan = await makePlan(file, account);
  return planLines(host, plan, `Plan of ${plan.date}, which sends nothing`);
}

interface Row {
  /** Only in the first row of each day. */
  day: string | undefined;
  market: DayBookMarket;
  result: MarketResult;
  fees: string;
}

const columns: readonly Column<Row>[] = [
  { title: "day", of: ({ day }) => day ?? "" },
  { title: "market", of: ({ market }) => market },
  { title: "fills", of: countOf(["fills", "futures_fills"]), align: "right" },
  { title: "orders", of: countOf(["orders", "futures_orders"]), align: "right" },
  { title: "journal", of: countOf(["fund_journal"]), align: "right" },
  { title: "fees", of: ({ fees }) => fees, align: "right" },
  {
    title: "checks",
    of: ({ result: { differences } }) => differences === 0 ? "all ok" : `${differences} differ`,
    color: ({ result: { differences } }) => differences === 0 ? "green" : "red",
  },
  { title: "status", of: ({ result: { status } }) => status },
];

/** Returns the lines of the table. The fees are sums over the files that the export has just written. */
async function demoTable(result: DayBookResult, host: Host): Promise<string[]> {
  const rows: Row[] = [];
  for (const { day, path, markets } of result.days) {
    const fees = await feesOf(`${path}/fills.jsonl`);
    for (const [index, [market, each]] of inOrder(markets).entries()) {
      rows.push({ day: index === 0 ? day : undefined, market, result: each, fees: fees.get(market) ?? "" });
    }
  }
  return tableLines(host, columns, rows, { more: "a wider terminal shows all" });
}

/** Returns the sum of a day's fees for each market. */
async function feesOf(path: string): Promise<Map<string, string>> {
  const sums = new Map<string, { sum: Decimal; currency: string }>();
  for (const line of (await Deno.readTextFile(path)).split("\n")) {
    if (line === "") continue;
    // The export has just written these members as strings.
    const { market, currency, total } = JSON.parse(line) as Record<string, string | undefined>;
    if (market === undefined || total === undefined) continue;
    const before = sums.get(market)?.sum ?? "0";
    sums.set(market, { sum: add(before, total), currency: currency ?? "" });
  }
  return new Map([...sums].map(([market, { sum, currency }]) => [market, `${sum} ${currency}`]));
}
