import { assertEquals, assertRejects } from "@std/assert";
import { connect } from "../../lib/client/connect.ts";
import { InvalidParamsError } from "../../mod.ts";
import { loadedFamily } from "../../lib/operations/families.ts";
import { farEnd, ok } from "../support/far_end.ts";

// The tests run in this order: each needs a family that no test before it has loaded.

Deno.test("the first call loads only its own family of operations", async () => {
  await using end = farEnd(() => ok({ data: [] }));
  await using client = await connect({ gateway: end.url });
  assertEquals(loadedFamily("futures"), undefined);
  await client.futures.ordersToday();
  assertEquals(loadedFamily("futures") === undefined, false);
  assertEquals(
    (["account", "orders", "fills", "quotes", "algo", "platform"] as const).filter(loadedFamily),
    [],
  );
});

Deno.test("a call sends the parameters as given, even if the caller changes the object while the family loads", async () => {
  await using end = farEnd(() => ok({ assetBalance: "1" }));
  await using client = await connect({ gateway: end.url });
  const params: { market: "hk" | "us" } = { market: "hk" };
  const first = client.account.funds(params);
  params.market = "us";
  const second = client.account.funds(params);
  params.market = "hk";
  await Promise.all([first, second]);
  const markets = end.arrived.map(({ body }) => body.params.exchangeType);
  assertEquals(markets.toSorted(), ["K", "P"]);
});

Deno.test("a call of a family that is not loaded yet rejects invalid parameters before it sends anything", async () => {
  await using end = farEnd(() => ok({ data: "1" }));
  await using client = await connect({ gateway: end.url });
  // @ts-expect-error -- wrong on purpose
  await assertRejects(() => client.orders.cancel({ orderId: 5, x: [] }), InvalidParamsError);
  assertEquals(end.arrived.length, 0);
});

Deno.test("a client has the methods of the whole catalogue", async () => {
  await using client = await connect({ gateway: "http://127.0.0.1:1" });
  const { catalogue } = await import("../../lib/operations/mod.ts");
  for (const [name, family] of Object.entries(catalogue)) {
    assertEquals(Object.keys(client[name as keyof typeof catalogue]), Object.keys(family), name);
  }
  assertEquals(Object.keys(client).slice(0, Object.keys(catalogue).length), Object.keys(catalogue));
});
