import { assertEquals, assertRejects } from "@std/assert";
import { connect, DisplacedError, LoginExpiredError, RejectedError } from "../../mod.ts";
import { type Arrived, type FarEnd, farEnd, ok, type Reaction, refused } from "../support/far_end.ts";

const tradePasswordKey = "MDEyMzQ1Njc4OWFiY2RlZg==";
const order = {
  market: "us",
  symbol: "AAPL",
  quantity: "1",
  price: "200",
  side: "buy",
  orderType: "limit",
} as const;

/** A gateway whose trade login holds for a number of calls and then expires with a code. */
function expiring(code: string, calls: number): FarEnd {
  let left = 0;
  return farEnd(({ path }: Arrived): Reaction => {
    if (path === "/trade/TradeLogin") {
      left = calls;
      return ok({ success: true });
    }
    return left-- > 0 ? ok({ enableBalance: "5", data: "77" }) : refused(`${code} expired`);
  });
}

const logins = (end: FarEnd) => end.arrived.filter(({ path }) => path === "/trade/TradeLogin").length;

Deno.test("a read that meets an expired login logs in once and is read again", async () => {
  for (const code of ["1012", "1014", "112", "20033"]) {
    await using end = expiring(code, 2);
    await using client = await connect({ gateway: end.url, tradePassword: "secret", tradePasswordKey });
    for (let call = 0; call < 5; call++) {
      assertEquals((await client.account.funds({ market: "us" })).available, "5");
    }
    assertEquals([code, logins(end)], [code, 3]);
  }
});

Deno.test("a hundred reads that meet an expired login share one login", async () => {
  let loggedIn = false;
  await using end = farEnd(async ({ path }) => {
    if (path !== "/trade/TradeLogin") return loggedIn ? ok({ enableBalance: "5" }) : refused("1014");
    await new Promise((resolve) => setTimeout(resolve, 30));
    loggedIn = true;
    return ok({ success: true });
  });
  await using client = await connect({ gateway: end.url, tradePassword: "secret", tradePasswordKey });
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => client.account.funds({ market: "us" })),
  );
  assertEquals(answers.map(({ available }) => available), Array(100).fill("5"));
  assertEquals(logins(end), 1);
});

Deno.test("a write logs in before it is sent, and is reported, not repeated, when the login has expired", async () => {
  await using end = expiring("1014", 1);
  await using client = await connect({ gateway: end.url, tradePassword: "secret", tradePasswordKey });
  assertEquals(await client.orders.place(order), { orderId: "77" });
  assertEquals(end.arrived.map(({ path }) => path), ["/trade/TradeLogin", "/trade/TradeEntrust"]);
  await assertRejects(() => client.orders.place(order), LoginExpiredError);
  assertEquals(end.arrived.length, 3, "one more order and no login behind the caller's back");
});

Deno.test("a displaced login is not fought over", async () => {
  await using end = farEnd(() => refused("1013 displaced by another login"));
  await using client = await connect({ gateway: end.url, tradePassword: "secret", tradePasswordKey });
  await assertRejects(
    () => client.account.funds({ market: "us" }),
    DisplacedError,
    "another device or program",
  );
  assertEquals(end.arrived.length, 1);
});

Deno.test("without a password an expired login is reported at once", async () => {
  await using end = expiring("1012", 0);
  await using client = await connect({ gateway: end.url });
  await assertRejects(() => client.account.funds({ market: "us" }), LoginExpiredError);
  assertEquals(end.arrived.length, 1);
  await assertRejects(() => client.account.login(), LoginExpiredError, "no trade password was given");
  assertEquals(end.arrived.length, 1);
});

Deno.test("a wrong password is tried once for all who wait, so that no account gets locked", async () => {
  await using end = farEnd(({ path }) =>
    path === "/trade/TradeLogin" ? refused("wrong password") : refused("1012")
  );
  await using client = await connect({ gateway: end.url, tradePassword: "wrong", tradePasswordKey });
  const reads = Array.from(
    { length: 10 },
    () => assertRejects(() => client.account.funds({ market: "us" }), RejectedError, "wrong password"),
  );
  await Promise.all(reads);
  assertEquals(logins(end), 1);
  await assertRejects(() => client.account.funds({ market: "us" }), RejectedError, "wrong password");
  await assertRejects(() => client.orders.place(order), RejectedError, "wrong password");
  assertEquals(logins(end), 1);
  assertEquals(end.arrived.filter(({ path }) => path === "/trade/TradeEntrust").length, 0);
  await assertRejects(() => client.account.login({ password: "another" }), RejectedError);
  assertEquals(logins(end), 2, "asking for it is another matter");
});

Deno.test("a login that answers with a text alone is confirmed by a query", async () => {
  await using good = farEnd(({ path }) =>
    path === "/trade/TradeLogin" ? ok({ data: "done" }) : ok({ enableBalance: "5" })
  );
  await using client = await connect({ gateway: good.url, tradePassword: "secret", tradePasswordKey });
  assertEquals((await client.account.login()).success, true);
  assertEquals(good.arrived.map(({ path }) => path), [
    "/trade/TradeLogin",
    "/trade/TradeQueryMarginFundInfo",
  ]);

  await using bad = farEnd(({ path }) =>
    path === "/trade/TradeLogin" ? ok({ data: "done" }) : refused("1012")
  );
  await using other = await connect({ gateway: bad.url, tradePassword: "secret", tradePasswordKey });
  await assertRejects(() => other.account.login(), LoginExpiredError);

  await using empty = farEnd(() => ok({ success: false }));
  await using third = await connect({ gateway: empty.url, tradePassword: "secret", tradePasswordKey });
  await assertRejects(() => third.account.login(), LoginExpiredError, "without success");
});

Deno.test("a key of the wrong length is refused before anything is sent", async () => {
  await using end = farEnd(() => ok({ success: true }));
  for (
    const [key, reason] of [["c2hvcnQ=", "16, 24 or 32 bytes"], ["not base64!", "16, 24 or 32 bytes"], [
      undefined,
      "its key is missing",
    ]] as const
  ) {
    await using client = await connect({ gateway: end.url, tradePassword: "secret", tradePasswordKey: key });
    await assertRejects(() => client.account.login(), TypeError, reason);
  }
  assertEquals(end.arrived.length, 0);
});
