/** Tests of the step `rebalance`: its mistakes, and what it plans. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { InvalidParamsError } from "../../lib/errors.ts";
import { readRebalanceSettings } from "../../lib/rebalance/mod.ts";
import { rebalanceStep } from "../../lib/recipes/kinds/rebalance.ts";

const pure = { permissions: "none" } as const;

Deno.test("a portfolio of a recipe has the mistakes of a file, by their places", pure, () => {
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
});

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
