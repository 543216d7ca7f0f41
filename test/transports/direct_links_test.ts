/** What connections leave behind, and what their ends mean for the session. */
import { assert, assertEquals } from "@std/assert";
import { connect, type DirectClient } from "../../lib/client/connect.ts";
import { type DirectFarEnd, directFarEnd, type FarCall } from "./direct_far_end.ts";

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** Waits until something holds, for at most five seconds. */
async function soon(holds: () => boolean): Promise<void> {
  for (let left = 500; left > 0 && !holds(); left--) await wait(10);
}

const maxBuy = (client: DirectClient) =>
  client.account.maxBuy({ market: "hk", symbol: "00700.HK", price: "500" });
const quote = (client: DirectClient) =>
  client.quotes.latest({ securities: [{ type: "hk-stock", symbol: "00700.HK" }] });
/** Answers both of the above. */
const answerReads = (call: FarCall) =>
  call.send(call.answer({
    told: call.kind === "trade"
      ? ["CommonIntResponse", { data: 700 }]
      : ["BasicQotResponse", { basicQot: [] }],
  }));

function connectTo({ options }: DirectFarEnd, more: Partial<DirectFarEnd["options"]> = {}) {
  return connect({ direct: { ...options, ...more }, retry: { attempts: 1 } });
}

Deno.test("a market connection that is closed at every heartbeat is opened again, and stops nothing", async () => {
  await using farEnd = await directFarEnd({ onCall: answerReads, hangsUp: (kind) => kind === "quote" });
  await using client = await connectTo(farEnd, { heartbeatMs: 30 });
  assertEquals(await maxBuy(client), { quantity: "700" });
  assertEquals(await quote(client), []);
  await soon(() => farEnd.opened.filter((kind) => kind === "quote").length >= 4);
  assert(farEnd.opened.filter((kind) => kind === "quote").length >= 4);
  assertEquals(client.transport.state("trade").phase, "ready");
  assertEquals(await maxBuy(client), { quantity: "700" });
  assertEquals(farEnd.opened.filter((kind) => kind === "trade").length, 1);
  assertEquals(farEnd.posted.filter((path) => path === "/hs/v2/login").length, 1);
});
