/** Tests that a run decides only once whether it trades live, even if a later process continues the run. */
import { assert, assertEquals } from "@std/assert";
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { readLimits } from "../../lib/client/limits.ts";
import { TRADING } from "../../lib/runner/queries/events.ts";
import { insertRun } from "../../lib/runner/queries/runs.ts";
import { planRun } from "../../lib/runner/schedule/plan_run.ts";
import { testBoth } from "./both_stores.ts";
import { at, bench, MINUTE, orders, runsOf, step } from "./support.ts";

const KEY = "orders/s1/2025-08-15";

for (
  const [before, setting, ending, isSent] of [
    [{}, "allow", "ok", true],
    [{}, "refuse", "failed plan", false],
    [{ plan: 'the setting liveTrading is "refuse"' }, "refuse", "skipped plan", false],
    [{ plan: 'the setting liveTrading is "refuse"' }, "allow", "skipped plan", false],
  ] as const
) {
  const began = "plan" in before ? "as a plan" : "live";
  testBoth(
    `a run that began ${began}, and continues with live trading "${setting}", ends with the state (and reason) "${ending}"`,
    async () => {
      const written: string[] = [];
      const recipe = orders([], {
        live: true,
        steps: [
          step({ id: "look" }),
          step({ id: "send", effect: "write", run: () => Promise.resolve(void written.push("send")) }),
        ],
      });
      await using b = await bench({
        start: "2025-08-15T02:00:00Z",
        recipes: [recipe],
        limits: readLimits({ liveTrading: setting }),
      });
      // What an earlier process has left: it began the run, decided, and ended before the first write.
      const slot = { key: "2025-08-15", at: at("2025-08-15T02:00Z"), session: "2025-08-15" };
      const run = planRun(builtInCalendars, recipe, recipe.schedules[0]!, slot, {
        kind: "live",
        traceId: "t",
      });
      await insertRun(b.store, run, b.machine.now());
      await b.store.event(b.machine.now(), TRADING, { round: 0, ...before }, KEY);
      await b.scheduler.start();
      await b.machine.pass(MINUTE);
      await b.scheduler.stop();
      assertEquals(await runsOf(b.store), [`${KEY} ${ending} live`]);
      assertEquals(written.length, isSent ? 1 : 0);
      const warnings = b.events.flatMap((event) => event.type === "warning" ? [event.message] : []);
      const word = isSent ? "" : began === "live" ? "sends nothing more" : "this run is a plan";
      assert(isSent ? warnings.length === 0 : warnings.some((text) => text.includes(word)), warnings.join());
    },
  );
}
