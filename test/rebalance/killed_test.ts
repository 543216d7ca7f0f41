/**
 * Kills real processes, with SIGKILL, at points from the first statement of an execution to its last: before, between and
 * after sales and purchases. The process that is started again finishes the plan, and the broker has every order once.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { add, compare } from "../../lib/decimal.ts";
import { type Simulator, startSimulator } from "../../lib/simulator/mod.ts";
import { connect } from "../../lib/client/connect.ts";
import { ManualClock } from "../../lib/time.ts";
import { kinds, type Place } from "../support/stores.ts";
import type { EndedLine, KilledJob } from "./killed_program.ts";
import { planAt, PURCHASE, QUICK, SALES } from "./executor.ts";

const MORNING = Date.parse("2025-08-15T10:30:00+08:00");
const program = new URL("./killed_program.ts", import.meta.url).pathname;

/** Runs the program; resolves to its last line, or `undefined` if it killed itself. */
async function runProgram(job: KilledJob): Promise<EndedLine | undefined> {
  const { stdout, stderr, signal } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--quiet", program, JSON.stringify(job)],
    stdout: "piped",
    stderr: "piped",
  }).output();
  const lines = new TextDecoder().decode(stdout).trim().split("\n");
  if (signal === "SIGKILL") return undefined;
  const last = lines.at(-1) ?? "";
  assert(last.includes('"report"'), `${last}\n${new TextDecoder().decode(stderr)}`);
  return JSON.parse(last);
}

async function inWorld(
  transport: "gateway" | "direct",
  place: Place,
  run: (
    job: Pick<KilledJob, "transport" | "store" | "info" | "parentUrl" | "plan" | "terms">,
    simulator: Simulator,
  ) => Promise<void>,
): Promise<void> {
  const clock = new ManualClock(MORNING);
  const quiet = { pushIntervalMs: 0, loginLifeMs: 1e12 };
  await using simulator = await startSimulator({
    seed: 7,
    clock,
    days: 5,
    fillsPerDay: 4,
    gateway: quiet,
    platform: quiet,
  });
  await using parent = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    clock.advance(Number(new URL(request.url).searchParams.get("ms")));
    simulator.round();
    return new Response(String(clock.now()));
  });
  const { info } = simulator;
  await using watcher = await connect({
    gateway: { url: info.gatewayUrl, push: info.pushAddress, tradePasswordKey: info.tradePasswordKey },
    tradePassword: info.tradePassword,
  });
  const earlier = new Set(
    (await watcher.orders.today({ market: "hk" }).toArray()).map(({ orderId }) => orderId),
  );
  const plan = await planAt(watcher, [...SALES, PURCHASE]);
  const terms = { ...QUICK, deadline: "1h" };
  await run({
    transport,
    store: place.where,
    info,
    parentUrl: `http://127.0.0.1:${parent.addr.port}`,
    plan,
    terms,
  }, simulator);
  // What the broker has at the end.
  const filled: Record<string, string> = {};
  for await (
    const { orderId, side, symbol, filledQuantity = "0", canCancel } of watcher.orders.today({ market: "hk" })
  ) {
    if (earlier.has(orderId)) continue;
    assertEquals(canCancel, false, `order ${orderId} is open`);
    filled[`${side} ${symbol}`] = add(filled[`${side} ${symbol}`] ?? "0", filledQuantity);
  }
  for (const { side, symbol, quantity } of plan.trades) assertEquals(filled[`${side} ${symbol}`], quantity);
  assert(compare((await watcher.account.funds({ market: "hk" })).available!, "0") >= 0);
}

for (const kind of kinds) {
  Deno.test({
    name: `two processes that start one plan at once execute it once, with ${kind.name}`,
    ignore: kind.isMissing,
    async fn() {
      await using place = await kind.place();
      await inWorld("gateway", place, async (job) => {
        const start = () => runProgram({ ...job, kills: [], isAgain: false });
        const ended = await Promise.allSettled([start(), start()]);
        const done = ended.flatMap((each) => each.status === "fulfilled" ? [each.value!.report.state] : []);
        assert(done.includes("done"), JSON.stringify(ended));
        for (const each of ended) {
          if (each.status === "rejected") assertStringIncludes(String(each.reason), "another process");
        }
      });
    },
  });
}

/** Where the first process is killed, as fractions of the waits of a whole execution. The second is killed at 0.15. */
const PARTS = [0.08, 0.2, 0.35, 0.5, 0.62, 0.74, 0.86, 0.97];

for (const kind of kinds) {
  for (const transport of ["gateway", "direct"] as const) {
    if (kind.name === "PostgreSQL" && transport === "direct") continue; // the store does not depend on the transport
    Deno.test({
      name: `a killed execution is finished by the next process, with ${kind.name}, over ${transport}`,
      ignore: kind.isMissing,
      async fn() {
        let points = 0;
        {
          await using place = await kind.place();
          await inWorld(transport, place, async (job) => {
            const line = await runProgram({ ...job, kills: [], isAgain: false });
            assertEquals(line?.report.state, "done", JSON.stringify(line?.report));
            points = line!.points.start!;
          });
        }
        for (const part of kind.name === "SQLite" ? PARTS : PARTS.filter((_, index) => index % 3 === 1)) {
          await using place = await kind.place();
          await inWorld(transport, place, async (job) => {
            const at = Math.floor(points * part);
            let killed = 0;
            let line: EndedLine | undefined;
            for (let attempt = 0; line === undefined; attempt++) {
              assert(attempt < 5);
              const kills = attempt === 0
                ? [{ step: "start", at }]
                : attempt === 1
                ? [{ step: "again", at: Math.floor(points * 0.15) }]
                : [];
              line = await runProgram({ ...job, kills, isAgain: attempt > 0 });
              if (line === undefined) killed++;
            }
            assert(killed >= 1, `not killed at ${at} of ${points}`);
            assertEquals(line.report.state, "done", JSON.stringify(line.report));
          });
        }
      },
    });
  }
}
