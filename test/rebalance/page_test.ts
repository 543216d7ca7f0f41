/** Tests of the page of a plan. */
import { assert, assertStringIncludes } from "@std/assert";
import { makePlan, planPage, readAccount, readRebalanceFile } from "../../lib/rebalance/mod.ts";

const pure = { permissions: "none" } as const;

async function pageOf(symbol: string): Promise<string> {
  const targets = { "00005.HK": "0.3" };
  const settings = await readRebalanceFile(JSON.stringify({ market: "hk", targets }), { name: "p.json" });
  const row = { market: "hk", price: "100", lot: "100" };
  const account = {
    date: "2025-08-15",
    cash: { HKD: "70000" },
    holdings: [{ ...row, symbol, quantity: "50" }],
    quotes: [{ ...row, symbol: "00005.HK" }],
  };
  return planPage(await makePlan(settings, readAccount(JSON.stringify(account), "a.json")));
}

Deno.test("planPage() shows weights before and after, trades, cash and what was left out", pure, async () => {
  const page = await pageOf("00700.HK");
  for (
    const text of [
      "<title>Rebalancing plan of 2025-08-15</title>",
      'aria-label="before 0.00%, after 26.67%, target 30.00%"',
      "75,000.00 HKD",
      "only 50 of 50 shares can be sold, which is less than a lot of 100",
      "100 HKD",
    ]
  ) assertStringIncludes(page, text);
});

Deno.test("planPage() escapes every text, loads nothing and has no script", pure, async () => {
  const page = await pageOf(`<img src=x onerror="alert(1)">&'\u202e`);
  assert(!page.includes("<img") && !page.includes("\u202e"));
  assertStringIncludes(page, "&#60;img src=x onerror=&#34;alert(1)&#34;&#62;&#38;&#39; ");
  assert(!/<script|https?:|src="|url\(|@import/i.test(page));
  assertStringIncludes(page, "default-src 'none'");
});
