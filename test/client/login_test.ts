import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createClient } from "../../lib/client/client.ts";
import { connect } from "../../lib/client/connect.ts";
import {
  BusyError,
  DisplacedError,
  isRefusal,
  LoginExpiredError,
  LoginRefusedError,
  MarketClosedError,
  RejectedError,
  TransportError,
  UnmappedError,
} from "../../lib/errors.ts";
import { isAboutPassword, loginWaitMs } from "../../lib/transports/login_refusals.ts";
import type { Transport } from "../../lib/transports/transport.ts";
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

/** A gateway whose trade login lasts for a number of calls and then expires with a code. */
function expiring(code: string, calls: number): FarEnd {
  let left = 0;
  return farEnd(({ path }: Arrived): Reaction => {
    if (path === "/trade/TradeLogin") {
      left = calls;
      return ok({ success: true });
    }
    return left-- > 0 ? ok({ enableBalance: "5", data: "77" }) : refused(code);
  });
}

const logins = (end: FarEnd) => end.arrived.filter(({ path }) => path === "/trade/TradeLogin").length;

Deno.test("a read with an expired login logs in once and is sent again", async () => {
  for (const code of ["1012", "1014", "112", "20033"]) {
    await using end = expiring(code, 2);
    await using client = await connect({ gateway: end.url, tradePassword: "secret", tradePasswordKey });
    for (let call = 0; call < 5; call++) {
      assertEquals((await client.account.funds({ market: "us" })).available, "5");
    }
    assertEquals([code, logins(end)], [code, 3]);
  }
});

Deno.test("a hundred reads with an expired login share one login", async () => {
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

Deno.test("a write logs in before it is sent; if the login has expired, it fails and is not repeated", async () => {
  await using end = expiring("1014", 1);
  await using client = await connect({ gateway: end.url, tradePassword: "secret", tradePasswordKey });
  assertEquals(await client.orders.place(order), { orderId: "77" });
  assertEquals(end.arrived.map(({ path }) => path), ["/trade/TradeLogin", "/trade/TradeEntrust"]);
  await assertRejects(() => client.orders.place(order), LoginExpiredError);
  assertEquals(end.arrived.length, 3, "one more order, and no login that the caller did not request");
});

Deno.test("a login that was taken over is not taken back", async () => {
  await using end = farEnd(() => refused("1013 displaced by another login"));
  await using client = await connect({ gateway: end.url, tradePassword: "secret", tradePasswordKey });
  await assertRejects(
    () => client.account.funds({ market: "us" }),
    DisplacedError,
    "another device or program",
  );
  assertEquals(end.arrived.length, 1);
});

Deno.test("without a password, an expired login is reported immediately", async () => {
  await using end = expiring("1012", 0);
  await using client = await connect({ gateway: end.url });
  await assertRejects(() => client.account.funds({ market: "us" }), LoginExpiredError);
  assertEquals(end.arrived.length, 1);
  await assertRejects(() => client.account.login(), LoginExpiredError, "no trade password was given");
  assertEquals(end.arrived.length, 1);
});

Deno.test("a wrong password is sent once for all waiting calls, so that the account is not locked", async () => {
  await using end = farEnd(({ path }) =>
    path === "/trade/TradeLogin" ? refused("wrong password") : refused("1012")
  );
  await using client = await connect({ gateway: end.url, tradePassword: "246810", tradePasswordKey });
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
  assertEquals(logins(end), 2, "an explicit login() is sent");
});

Deno.test("a login with only a text as answer is confirmed by a query", async () => {
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
  const unclear = await assertRejects(() => other.account.login(), LoginRefusedError, "for now (done)");
  assertEquals(unclear.reason, "temporary");

  await using empty = farEnd(() => ok({ success: false }));
  await using third = await connect({ gateway: empty.url, tradePassword: "secret", tradePasswordKey });
  const wrong = await assertRejects(() => third.account.login(), LoginRefusedError, "reports no success");
  assertEquals(wrong.reason, "password");
});

Deno.test("a login with an empty answer is confirmed by a query, and does not count as a wrong password", async () => {
  for (const data of [null, {}, undefined]) {
    await using good = farEnd(({ path }) =>
      path === "/trade/TradeLogin" ? ok(data) : ok({ enableBalance: "5" })
    );
    await using client = await connect({ gateway: good.url, tradePassword: "secret", tradePasswordKey });
    assertEquals((await client.account.login()).success, true);
    await using bad = farEnd(({ path }) => path === "/trade/TradeLogin" ? ok(data) : refused("1012"));
    await using other = await connect({ gateway: bad.url, tradePassword: "secret", tradePasswordKey });
    const unclear = await assertRejects(() => other.account.login(), LoginRefusedError, "for now");
    assertEquals(unclear.reason, "temporary");
  }
});

Deno.test("only a text about a wrong password or a locked account counts as a password rejection", () => {
  for (
    const text of [
      "wrong trade password",
      "wrong phone or password",
      "the password is incorrect",
      "Password: invalid",
      "invalid credentials",
      "交易密码错误",
      "密码不正确",
      "錯誤的密碼",
      "account locked",
      "密碼錯誤次數過多，帳戶已鎖定",
      "the password has expired",
      // The text allows another try, but a wrong password can lock the account.
      "wrong password, 2 tries left, try again later",
    ]
  ) assertEquals([text, isAboutPassword(text)], [text, true]);
  for (
    const text of [
      "your password cannot be checked now, maintenance",
      "the password service timed out",
      "password check failed: system busy, try again later",
      "密码服务维护中",
      "密码校验失败，请稍后再试",
      "the system is locked for maintenance",
      "password",
      "enter the password in the app first",
      "maintenance",
      "9999",
      "",
    ]
  ) assertEquals([text, isAboutPassword(text)], [text, false]);
});

Deno.test("an invalid or missing key of the trade password is rejected before anything is sent", async () => {
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

/** A gateway that rejects logins while a text is set, and every other call without a login. */
function refusing(text: () => string | undefined): FarEnd {
  let isIn = false;
  return farEnd(({ path }) => {
    const why = text();
    if (path === "/trade/TradeLogin") {
      isIn = why === undefined;
      return why === undefined ? ok({ success: true }) : refused(why);
    }
    return isIn ? ok({ enableBalance: "5", data: "77" }) : refused("1012 not logged in");
  });
}

Deno.test("a temporarily rejected login is retried automatically, after waits that grow to an hour", async () => {
  for (const text of ["system maintenance", "9999", "-1", "", "1006 not authorised", "系统维护中"]) {
    let [why, now]: [string | undefined, number] = [text, 0];
    await using end = refusing(() => why);
    const machine = { monotonic: () => now };
    await using client = await connect({
      gateway: end.url,
      tradePassword: "secret",
      tradePasswordKey,
      machine,
    });
    const funds = () => client.account.funds({ market: "us" });
    for (let count = 1; count <= 6; count++) {
      const error = await assertRejects(funds, LoginRefusedError, text);
      assertEquals([text, error.reason], [text, "temporary"]);
      assertEquals([error.retryInMs, logins(end)], [loginWaitMs(count), count]);
      // Before the wait is over, the client sends neither a login nor an order.
      now += loginWaitMs(count) - 1;
      const early = await assertRejects(funds, LoginRefusedError, "in 1 s at the earliest");
      assertEquals([early.reason, logins(end)], ["temporary", count]);
      await assertRejects(() => client.orders.place(order), LoginRefusedError);
      assertEquals(logins(end), count);
      now += 1;
    }
    // The maintenance has ended; no person has to act.
    why = undefined;
    assertEquals((await funds()).available, "5");
    assertEquals(logins(end), 7);
    assertEquals(await client.orders.place(order), { orderId: "77" });
  }
  assertEquals([1, 2, 3, 4, 5, 50].map((count) => loginWaitMs(count) / 60_000), [1, 3, 9, 27, 60, 60]);
});

Deno.test("a rejection about the password stops logins until a person requests one", async () => {
  const texts = [
    "wrong password",
    "1008 wrong trade password",
    "交易密码错误",
    "account locked",
    "密碼錯誤次數過多，帳戶已鎖定",
  ];
  for (const text of texts) {
    let [why, now]: [string | undefined, number] = [text, 0];
    await using end = refusing(() => why);
    const machine = { monotonic: () => now };
    await using client = await connect({
      gateway: end.url,
      tradePassword: "secret",
      tradePasswordKey,
      machine,
    });
    const funds = () => client.account.funds({ market: "us" });
    for (let tries = 0; tries < 5; tries++) {
      const error = await assertRejects(funds, LoginRefusedError, "rejected the trade password");
      assertEquals([text, error.reason, logins(end)], [text, "password", 1]);
      now += 48 * 3_600_000;
    }
    why = undefined;
    await assertRejects(funds, LoginRefusedError);
    assertEquals(logins(end), 1);
    await client.account.login();
    assertEquals((await funds()).available, "5");
  }
});

Deno.test("the trade password is hidden in the errors of a raw call and of a late answer", async () => {
  const said = () => new RejectedError("Cannot complete it: hunter2-pass is wrong", "hunter2-pass is wrong");
  const late = Promise.withResolvers<unknown>();
  const transport: Transport = {
    name: "repeating",
    call(_operation, _params, { onLateAnswer }) {
      queueMicrotask(() => onLateAnswer?.({ requestId: "1", operation: "orders.today", error: said() }));
      return Promise.resolve([]);
    },
    raw: () => Promise.reject(said()),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  await using client = createClient(transport, { tradePassword: "hunter2-pass" });
  const raw = await assertRejects(() => client.raw("trade", "Any"), RejectedError);
  await client.account.holdings({ market: "hk" }, { onLateAnswer: ({ error }) => late.resolve(error) });
  for (const error of [raw, await late.promise]) {
    assert(!Deno.inspect(error).includes("hunter2"), Deno.inspect(error));
    assertStringIncludes(Deno.inspect(error), "[secret] is wrong");
  }
});

Deno.test("isRefusal() is true only for a reason that lasts", () => {
  const context = { operation: "orders.today" };
  const temporary = [LoginExpiredError, DisplacedError, BusyError].map((Kind) =>
    new Kind("no", "1", context)
  );
  const login = new LoginRefusedError("no", "1", { ...context, reason: "password" });
  for (const error of [...temporary, login, new TransportError("no"), new Error("no")]) {
    assertEquals(isRefusal(error), false, error.name);
  }
  assertEquals(isRefusal(new RejectedError("no", "1", context)), true);
  assertEquals(isRefusal(new MarketClosedError("no", "1", context)), true);
  assertEquals(isRefusal(new UnmappedError("no", context)), true);
});
