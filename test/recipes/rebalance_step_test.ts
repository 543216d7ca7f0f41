/** Tests of the step `rebalance`: the mistakes that it reports, and its plans. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { InvalidParamsError } from "../../lib/errors.ts";
import {
  approvePlan,
  beginPlan,
  findPlan,
  readRebalanceSettings,
  recordPlan,
} from "../../lib/rebalance/mod.ts";
import { rebalanceStep } from "../../lib/recipes/kinds/rebalance.ts";
import { ACCOUNT, deskTest } from "../desk/support.ts";
import { planAt, PURCHASE } from "../rebalance/executor.ts";
import { termsOf } from "../rebalance/support.ts";
import { type Noted, stepContext } from "./support.ts";

const pure = { permissions: "none" } as const;

Deno.test(
  "the mistakes in a recipe's portfolio are reported like those of a file, each with its path",
  pure,
  () => {
    const found = (portfolio: unknown) => {
      const issues: string[] = [];
      const params = rebalanceStep.params.parse({ portfolio });
      rebalanceStep.check!(params, (path, expected) => issues.push(`${path.join(".")}: ${expected}`));
      return issues;
    };
    assertEquals(found({ market: "hk", targets: { "00700.HK": 0.4, "00005.HK": "0.5" } }), []);
    const [first = "", ...others] = found({ market: "hk", targets: { A: 1.4 }, cashbuffer: {} });
    assertStringIncludes(first, "portfolio.");
    assertEquals(others.length, 1);
    assertStringIncludes(
      found({ market: "hk", targetsFile: "t.csv" })[0]!,
      "another file could change without notice",
    );
    assertStringIncludes(
      found({ market: "hk", targets: { A: 0.12345678901234567 } })[0]!,
      "write it in quotes",
    );
    assertStringIncludes(found({ market: "hk", targets: { A: null } })[0]!, "a value: give one");
    assertStringIncludes(found({ market: "hk", targets: { A: 0.9, B: 0.2 } })[0]!, "together at most 1");
  },
);

Deno.test("the numbers of a recipe keep their digits", pure, () => {
  const { targets } = readRebalanceSettings(
    { market: "hk", targets: { A: 0.1, B: 0.000001, C: "0.20" } },
    "plan",
  );
  assertEquals(targets, { A: "0.1", B: "0.000001", C: "0.20" });
  try {
    readRebalanceSettings({ market: "hk", targets: { A: 1e-7 } }, "plan");
  } catch (error) {
    // A number that JavaScript writes with an exponent is a decimal too.
    assertEquals(error instanceof InvalidParamsError, true);
  }
});

deskTest(
  "with the mode plan, a plan that an earlier run left unfinished is named, and not continued",
  async (house) => {
    const { client, clock, store } = house;
    const plan = await planAt(client, [PURCHASE]);
    const [at, key] = [clock.now(), { account: ACCOUNT, hash: plan.hash }];
    await recordPlan(store, {
      account: ACCOUNT,
      plan,
      terms: termsOf(),
      at,
      runKey: "test/main/2025-08-14/step",
    });
    await approvePlan(store, key, { by: "Ada", at, until: at + 60_000 });
    await beginPlan(store, key, { holder: "ended", at, leaseMs: 1, deadlineAt: at + 3_600_000 });
    const sent = house.count("orders.place");
    const desk = house.open();
    const noted: Noted = { artifacts: [], logs: [] };
    const context = stepContext(undefined, {
      out: await Deno.makeTempDir(),
      now: () => clock.now(),
      client: () => Promise.resolve(client),
      desk: () =>
        Promise.resolve({
          store,
          account: ACCOUNT,
          machine: house.machine,
          client: (why) => desk.client(why),
          reconcile: (options) => desk.reconcile(options),
          whyHalted: () => desk.whyHalted(),
        }),
    }, noted);
    try {
      const given = (mode: string, more: Record<string, unknown> = {}) =>
        rebalanceStep.params.parse({
          mode,
          portfolio: { market: "hk", targets: { "00700.HK": "0.3" }, ...more },
        });
      const { state } = await rebalanceStep.run(given("plan"), context, () => undefined);
      assertEquals([state, sent(), (await findPlan(store, ACCOUNT, plan.hash))?.holder], [
        "planned",
        0,
        "ended",
      ]);
      assertStringIncludes(noted.logs.join("\n"), 'is not finished, and mode "plan" sends nothing');
      // The record of a run without trades says why the portfolio stays away from its targets.
      const limits = { sellOnly: true, minTrade: "900000000" };
      const nothing = await rebalanceStep.run(given("plan", limits), context, () => undefined);
      assertEquals([nothing.state, nothing.leftOut.find(({ symbol }) => symbol === "00700.HK")?.reason], [
        "nothing",
        "sell only",
      ]);
      assertStringIncludes(noted.logs.join("\n"), "not traded: ");
      assertStringIncludes(noted.logs.join("\n"), "00700.HK (sell only)");
    } finally {
      await Deno.remove(context.out, { recursive: true });
    }
  },
);
