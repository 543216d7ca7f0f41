/** Tests that after a notebook's kernel was killed, the next kernel gets its pushes and orders again (fault F30). */
import { assertEquals } from "@std/assert";
import { connect } from "../../mod.ts";
import { KEY, MORNING, PASSWORD } from "../cli/support.ts";
import { gatewayAccount } from "../../lib/client/account_name.ts";
import { recentIntents } from "../../lib/desk/queries.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { ManualClock } from "../../lib/time.ts";
import { startGateway } from "../../lib/simulator/gateway/mod.ts";
import { readUntil, waitUntil, within } from "../support/waits.ts";

const config = new URL("../../deno.json", import.meta.url).pathname;
const securities = [{ type: "hk-stock", symbol: "00700.HK" }] as const;

const kernel = `
import { connect } from "${new URL("../../mod.ts", import.meta.url)}";
const [gateway, push, tradePassword, tradePasswordKey, store] = Deno.args;
const client = await connect({ gateway: { url: gateway, push }, tradePassword, tradePasswordKey, store, limits: { liveTrading: "allow" } });
for await (const event of client.watch({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] })) {
  if (event.type !== "quote") continue;
  await client.orders.place({
    market: "hk", symbol: "00700.HK", side: "buy", orderType: "limit", quantity: "100", price: "550.00",
  });
  console.log("placed");
}
`;

Deno.test("F30: after a kernel was killed during a watch, the next kernel watches again with one call, and sees the killed kernel's order", async () => {
  await using gateway = await startGateway({
    seed: 7,
    days: 2,
    clock: new ManualClock(MORNING),
    tradePassword: PASSWORD,
    tradePasswordKey: KEY,
    pushIntervalMs: 20,
  });
  const { gatewayUrl, pushAddress } = gateway.info;
  const folder = await Deno.makeTempDir({ prefix: "hsgate-kernel-" });
  const [script, store] = [`${folder}/kernel.ts`, `${folder}/hsgate.db`];
  try {
    await Deno.writeTextFile(script, kernel);
    const process = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--no-check", "-A", "--config", config, script],
        ...[gatewayUrl, pushAddress, PASSWORD, KEY, store],
      ],
      cwd: new URL("../../", import.meta.url).pathname,
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
    await readUntil("the kernel to place an order", reader, (text) => text.includes("placed"));
    process.kill("SIGKILL");
    await Promise.all([process.status, reader.cancel()]);
    await waitUntil("the gateway to see the kernel go", () => gateway.state().pushConnections === 0);

    await using client = await connect({
      gateway: { url: gatewayUrl, push: pushAddress },
      tradePassword: PASSWORD,
      tradePasswordKey: KEY,
      store,
    });
    // Control: before the call, no client is connected to the push port.
    assertEquals(gateway.state().pushConnections, 0);
    const seen = new Set<string>();
    await within(
      "a quote after the next kernel's one call",
      (async () => {
        for await (const event of client.watch({ securities: [...securities] })) {
          seen.add(event.type);
          if (event.type === "quote") break;
        }
      })(),
    );
    assertEquals([...seen].sort(), ["connection", "quote"]);
    const orders = await client.orders.today({ market: "hk" }).toArray();
    assertEquals(orders.map(({ symbol, quantity }) => [symbol, quantity]), [["00700.HK", "100"]]);
    // The order of the killed kernel is known as ours, and followed.
    const { foreign } = await client.desk.reconcile({ markets: ["hk"] });
    await using opened = await openSqlite(store);
    const intents = await recentIntents(opened, gatewayAccount(gatewayUrl), { limit: 10 });
    assertEquals(intents.map(({ state, orderIds }) => [state, orderIds]), [["working", [
      orders[0]!.orderId,
    ]]]);
    assertEquals(foreign, []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
