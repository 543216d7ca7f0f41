/**
 * Executes a plan in its own process, which kills itself at a chosen point. Started again, it continues with the same
 * store. See `killed_test.ts`.
 *
 * @module
 */
import { connect } from "../../lib/client/connect.ts";
import { openTrading } from "../../lib/desk/trading.ts";
import { type Plan, rebalance, type RebalanceReport } from "../../lib/rebalance/mod.ts";
import { CrashPlan, ParentProcess, print, type ProgramJob } from "../desk/crash_points_program.ts";
import { directOptions } from "../support/direct_client.ts";
import { termsOf } from "./support.ts";

/** What the process is given, as JSON in its only argument. */
export interface KilledJob extends ProgramJob {
  plan: Plan;
  terms: Record<string, unknown>;
}

/** The line that the process prints when the execution has ended. */
export interface EndedLine {
  report: RebalanceReport;
  points: Readonly<Record<string, number>>;
}

async function execute({ plan, terms, ...job }: KilledJob): Promise<void> {
  const points = new CrashPlan(job);
  const parent = new ParentProcess(job.parentUrl);
  await parent.pass(0);
  points.watch();
  const machine = parent.machine(points);
  const { info } = job;
  const timeoutMs = 120_000; // on a busy machine a late answer must not count as lost
  const { tradePassword, gatewayUrl: url, pushAddress: push, tradePasswordKey } = info;
  const options = job.transport === "direct"
    ? { direct: { ...directOptions(info), timeoutMs }, tradePassword }
    : { gateway: { url, push, tradePasswordKey, timeoutMs }, tradePassword };
  // The connection uses real time: its heartbeats would otherwise advance the simulated time.
  const connected = () => "direct" in options ? connect(options) : connect(options);
  await using client = await openTrading(connected, { ...options, machine }, {
    store: job.store,
    limits: { liveTrading: "allow", maxVolumeShare: "off", maxOrdersPerMinute: "off" },
  });
  points.begin(job.isAgain ? "again" : "start");
  const report = await rebalance(client.desk, plan, termsOf(terms), { by: "the program" });
  print({ report, points: points.points } satisfies EndedLine);
}

if (import.meta.main) {
  await execute(JSON.parse(Deno.args[0]!));
  Deno.exit(0); // a link of the direct transport may still be open
}
