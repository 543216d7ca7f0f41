/** Tests of the approval of plans, also on a later day, with a changed file and with a changed account. */
import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { BrokerError, InvalidParamsError } from "../../lib/errors.ts";
import {
  approveExactly,
  checkAccount,
  findPlan,
  makePlan,
  progressOf,
  readAccount,
  readExecutionTerms,
  readRebalanceFile,
  recordPlan,
  refusePlan,
} from "../../lib/rebalance/mod.ts";
import type { Store } from "../../lib/store/store.ts";
import { kinds } from "../support/stores.ts";

const NOON = Date.parse("2025-08-15T12:00:00+08:00");
const HOUR = 3_600_000;
const file = { market: "hk", targets: { "00700.HK": "0.6", "00005.HK": "0.2" } };
const account = {
  date: "2025-08-15",
  cash: { HKD: "50000" },
  holdings: [{ market: "hk", symbol: "00005.HK", quantity: "500", price: "100", lot: "100" }],
  quotes: [{ market: "hk", symbol: "00700.HK", price: "300", lot: "100" }],
};
const settingsOf = (more = {}) => readRebalanceFile(JSON.stringify({ ...file, ...more }), { name: "p.json" });
const accountOf = (more = {}) => readAccount(JSON.stringify({ ...account, ...more }), "a.json");

async function recorded(store: Store) {
  const settings = await settingsOf();
  const plan = await makePlan(settings, accountOf());
  return await recordPlan(store, {
    account: "main",
    plan,
    terms: readExecutionTerms(),
    source: { settings, file: "/p.json" },
    at: NOON,
  });
}

for (const kind of kinds) {
  Deno.test({
    name:
      `a plan is approved only on its own day and with an unchanged file, until a stated time, with ${kind.name}`,
    ignore: kind.isMissing,
    async fn() {
      await using place = await kind.place();
      await using store = await place.open();
      const record = await recorded(store);
      const refused = async (at: number, settings: Awaited<ReturnType<typeof settingsOf>>) => {
        const wish = { by: "Ada", at };
        return await assertRejects(() => approveExactly(store, record, wish, settings), BrokerError);
      };
      const changed = await refused(NOON + 1, await settingsOf({ minTrade: "1" }));
      assertEquals(changed.code, "plan-changed");
      assertStringIncludes(changed.message, '"/p.json" has changed since the plan was made');
      const old = await refused(NOON + 12 * HOUR, await settingsOf());
      assertEquals(old.code, "plan-old");
      assertStringIncludes(old.message, "it was made on 2025-08-15, and today is 2025-08-16");
      assertEquals((await findPlan(store, "main", record.hash))?.state, "planned");
      const terms = await refused(NOON + 1, await settingsOf({ execution: { collar: "0.01" } }));
      assertEquals(terms.code, "plan-changed");
      // The same settings with their members in another order, and numbers without quotes.
      const same = await readRebalanceFile("targets: { 00005.HK: 0.2, 00700.HK: 0.6 }\nmarket: hk\n", {
        name: "p",
      });
      const wish = { by: "Ada", at: NOON + 1, forMs: HOUR };
      const approved = await approveExactly(store, record, wish, same);
      assertEquals(approved.approval, { by: "Ada", at: NOON + 1, until: NOON + 1 + HOUR });
      assertEquals(approved.source?.file, "/p.json");
      const allowed = async (at: number, forMs: number) => {
        const { message } = await assertRejects(
          () => approveExactly(store, record, { by: "Ada", at, forMs }),
          InvalidParamsError,
        );
        return message;
      };
      const long = await allowed(NOON + 1, 12 * HOUR);
      for (const text of ['"12h"', "at most 11h59m", "valid until 2025-08-15T16:00:00Z"]) {
        assertStringIncludes(long, text);
      }
      // Without a stated time, the approval ends with the plan's day.
      const late = await approveExactly(store, record, { by: "Ada", at: NOON + 11.5 * HOUR });
      assertEquals(late.approval?.until, NOON + 12 * HOUR);
      const refusedPlan = await refusePlan(store, record, { at: NOON + 2, reason: "refused by Bob" });
      assertEquals([refusedPlan.state, refusedPlan.approval, refusedPlan.reason], [
        "stopped",
        undefined,
        "refused by Bob",
      ]);
      const twice = await assertRejects(
        () => refusePlan(store, record, { at: NOON + 3, reason: "again" }),
        BrokerError,
      );
      assertEquals(twice.code, "plan-state");
    },
  });
}

Deno.test(
  "checkAccount() counts what a stopped plan has filled, and nothing else",
  { permissions: "none" },
  async () => {
    const settings = await settingsOf();
    const plan = await makePlan(settings, accountOf());
    const index = plan.trades.findIndex(({ symbol }) => symbol === "00005.HK");
    assertEquals(plan.trades[index]?.side, "sell");
    const progress = progressOf(plan, []).map((each, place) => ({
      ...each,
      filled: place === index ? "100" : "0",
    }));
    const [held] = account.holdings;
    const after = (quantity: string, cash: string) =>
      accountOf({ cash: { HKD: cash }, holdings: [{ ...held, quantity }] });
    checkAccount(plan, settings, after("400", "40000"), progress);
    const { message } = assertThrows(
      () => checkAccount(plan, settings, after("500", "50000"), progress),
      InvalidParamsError,
    );
    assertStringIncludes(
      message,
      "400 (the quantity when the plan was made, with the plan's own fills; otherwise make a new plan)",
    );
  },
);

Deno.test(
  "checkAccount() names each holding and cash that no longer fit a plan",
  { permissions: "none" },
  async () => {
    const settings = await settingsOf();
    const plan = await makePlan(settings, accountOf());
    checkAccount(plan, settings, accountOf());
    checkAccount(plan, settings, accountOf({ cash: { HKD: "50000.01" } }));
    const differs = (more: Record<string, unknown>, ...texts: string[]) => {
      const { message } = assertThrows(
        () => checkAccount(plan, settings, accountOf(more)),
        InvalidParamsError,
      );
      for (const text of texts) assertStringIncludes(message, text);
    };
    const [held] = account.holdings;
    differs(
      { cash: { HKD: "49999.99" } },
      "cash.HKD",
      '"49999.99"',
      "at least 50000.00 (the cash when the plan was made; otherwise make a new plan)",
    );
    differs(
      { holdings: [{ ...held, quantity: "600" }] },
      "holdings.00005.HK",
      '"600"',
      "500 (the quantity when the plan was made; otherwise make a new plan)",
    );
    differs({ holdings: [], quotes: [...account.quotes, held] }, "holdings.00005.HK", '"0"');
    const other = { market: "hk", symbol: "00388.HK", quantity: "100", price: "10", lot: "100" };
    differs({ holdings: [held, other] }, "holdings.00388.HK", '"100"', "0 (the quantity when");
    differs({ holdings: [{ ...held, lot: undefined }] }, "that the broker confirms");
  },
);
