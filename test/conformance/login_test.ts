/** Checks that a login lost during calls has the same effect over every transport. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DisplacedError, LoginExpiredError, RejectedError } from "../../mod.ts";
import { type AccountUnderTest, conformance, ORDER } from "./simulated_account.ts";

const funds = ({ client }: AccountUnderTest) => client.account.funds({ market: "hk" });

conformance("a lost login during 100 reads: all are answered after one new login", async (desk) => {
  await funds(desk);
  const logins = desk.count("account.login");
  const { faults } = desk.simulator;
  faults.arm({ kind: "expired-login", operation: "account.funds", skip: 20 });
  const answers = await Promise.all(Array.from({ length: 100 }, () => funds(desk)));
  assertEquals([answers.length, faults.struck("expired-login"), logins()], [100, 1, 1]);
});

conformance("a lost login while reading pages: every row is returned once", async (desk) => {
  const span = { from: "2025-08-11", to: "2025-08-14" };
  const list = () => desk.client.fills.history({ market: "hk", ...span, limit: 5 }).toArray();
  const expected = await list();
  const logins = desk.count("account.login");
  const { faults } = desk.simulator;
  faults.arm({ kind: "expired-login", operation: "fills.history", skip: 2 });
  assertEquals(await list(), expected);
  assertEquals([expected.length, faults.struck("expired-login"), logins()], [16, 1, 1]);
});

conformance("a write with a lost login fails and is not repeated", async (desk) => {
  await funds(desk);
  const sent = desk.count("orders.place");
  const { faults } = desk.simulator;
  faults.arm({ kind: "expired-login", operation: "orders.place" });
  const error = await assertRejects(() => desk.client.orders.place(ORDER), LoginExpiredError);
  assert(["1014", "112"].includes(error.code!), error.code);
  assertEquals([sent(), await desk.orderIds(), faults.struck("expired-login")], [1, [], 1]);
  // A read logs in again, and the next write places one order.
  await funds(desk);
  await desk.client.orders.place(ORDER);
  assertEquals([sent(), (await desk.orderIds()).length], [2, 1]);
});

conformance("a login that is lost during the login call throws an error, without a loop", async (desk) => {
  const { faults } = desk.simulator;
  const logins = desk.count("account.login");
  faults.arm({ kind: "expired-login", operation: "account.login", times: 50 });
  await assertRejects(() => funds(desk), LoginExpiredError);
  assert(logins() >= 1 && logins() <= 6, `${logins()} logins`);
  assert(faults.struck("expired-login") >= 1);
  faults.clear();
  await desk.client.account.login();
  await funds(desk); // the control
});

conformance(
  "a login taken over throws a DisplacedError, and the client does not log in again",
  async (desk) => {
    await funds(desk);
    const logins = desk.count("account.login");
    const { faults } = desk.simulator;
    faults.arm({
      kind: "expired-login",
      code: "1013",
      text: "displaced",
      operation: "account.funds",
      times: 3,
    });
    for (let index = 0; index < 3; index++) await assertRejects(() => funds(desk), DisplacedError);
    assertEquals(logins(), 0);
    faults.clear();
    assertEquals(await desk.client.account.login(), { success: true }); // a person logs in again
    await funds(desk);
  },
);

conformance("a wrong trade password is sent once for all waiting calls", async (desk) => {
  const logins = desk.count("account.login");
  const calls = Array.from({ length: 20 }, () => funds(desk).catch((error: unknown) => error));
  for (const error of await Promise.all(calls)) assert(error instanceof RejectedError, String(error));
  await assertRejects(() => funds(desk), RejectedError);
  await assertRejects(() => desk.client.orders.place(ORDER), RejectedError);
  assertEquals([logins(), await desk.orderIds()], [1, []]);
}, { tradePassword: "not-this-one" });

conformance("login() logs in again after a logout()", async (desk) => {
  await funds(desk);
  assertEquals(await desk.client.account.logout(), { success: true });
  const logins = desk.count("account.login");
  assertEquals(await desk.client.account.login(), { success: true });
  assert(logins() >= 1);
  await funds(desk);
});
