/**
 * Compares a rehearsed year of the recipes in `recipes/` with the same number of bare `fetch` calls to a simulator in
 * the same process. With `--short`, rehearses only March.
 *
 * @module
 */
import { rehearse } from "../../lib/rehearsal/mod.ts";
import { makeCore } from "../../lib/simulator/endpoints/core.ts";
import { openGateway } from "../../lib/simulator/gateway/mod.ts";
import { report, rounded } from "./harness.ts";

const isShort = Deno.args.includes("--short");
const [from, to] = isShort ? ["2025-03-01", "2025-03-31"] as const : ["2025-01-01", "2025-12-31"] as const;
const DAY_MS = 86_400_000;
const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;

/** Number of connections in a rehearsal; each call opens one. */
let calls = 0;
const { connect } = Deno;
Reflect.set(Deno, "connect", (options: Deno.ConnectOptions) => {
  calls++;
  return connect(options);
});
const began = performance.now();
const { recipes } = await rehearse({ recipes: new URL("../../recipes/", import.meta.url), from, to });
const oursMs = performance.now() - began;
Reflect.set(Deno, "connect", connect);

const floorMs = await bareReads(calls);
const ratio = oursMs / floorMs;
const slots = recipes.reduce((sum, recipe) => sum + recipe.slots, 0);
report({
  name: isShort ? "rehearsal/month" : "rehearsal/year",
  unit: "s; the floor is the same number of bare calls",
  floor: rounded(floorMs / 1000),
  ours: rounded(oursMs / 1000),
  ratio: rounded(ratio),
  target: "at most 20, and 60 s for a year",
  ok: ratio <= 20 && oursMs / days * 365 <= 60_000,
  slots,
  calls,
  msPerSlot: rounded(oursMs / slots),
  secondsPerYear: rounded(oursMs / 1000 / days * 365),
});

/** Fetches the exchange rates repeatedly. Resolves to the time in milliseconds. */
async function bareReads(count: number): Promise<number> {
  const now = () => Date.parse("2025-03-03T03:00:00Z");
  const core = makeCore({ seed: 1, clock: { now }, days: 1, fillsPerDay: 1 });
  await using gateway = await openGateway(core, { httpPort: 0, pushPort: 0, pushIntervalMs: 0 });
  const url = `${gateway.info.gatewayUrl}/hs/rate/queryList`;
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ timeout_sec: 10, params: {} });
  const start = performance.now();
  for (let call = 0; call < count; call++) {
    const response = await fetch(url, { method: "POST", headers, body });
    const text = await response.text();
    if (JSON.parse(text).ok !== true) throw new Error(`Cannot measure: the simulator answered ${text}`);
  }
  return performance.now() - start;
}
