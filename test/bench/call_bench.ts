/**
 * Compares a typed and validated call over the gateway with a bare `fetch` and `JSON.parse` of the same request.
 *
 * @module
 */
import { connect } from "../../mod.ts";
import { account } from "../../lib/operations/account.ts";
import { fills } from "../../lib/operations/fills.ts";
import { encodeParams, gatewayPath } from "../../lib/operations/operation.ts";
import { inTurns, report, rounded, startSimulator } from "./harness.ts";

await using simulator = await startSimulator(["--seed", "1", "--days", "5", "--fills-per-day", "120"]);
const { gatewayUrl, tradePassword, tradePasswordKey } = simulator.info;
await using client = await connect({ gateway: gatewayUrl, tradePassword, tradePasswordKey });
await client.account.login();

const latest = await client.fills.history({ market: "us", from: "2025-01-01", to: "2025-12-31" }).toArray();
const day = latest.at(-1)?.date ?? "2025-08-15";
const cases = [
  { name: "call/funds", operation: account.funds, params: { market: "hk" as const } },
  {
    name: "call/99-fills",
    operation: fills.history,
    params: { market: "us" as const, from: day, to: day, limit: 99 },
  },
];

for (const { name, operation, params } of cases) {
  const url = `${gatewayUrl}${gatewayPath(operation)}`;
  const body = JSON.stringify({ timeout_sec: 10, params: encodeParams(operation, params) });
  const headers = { "content-type": "application/json" };
  const bare = async () => JSON.parse(await (await fetch(url, { method: "POST", headers, body })).text());
  const rows: unknown = (await bare()).data?.data?.length;
  const { floor, ours } = await inTurns(
    { floor: bare, ours: () => client.call<unknown, unknown>(operation, params) },
    { warmup: 300, rounds: 2000 },
  );
  report({
    name,
    unit: "µs, median",
    floor: rounded(floor * 1000),
    ours: rounded(ours * 1000),
    ratio: rounded(ours / floor),
    target: "at most 1.25",
    ok: ours / floor <= 1.25,
    rows,
  });
}
