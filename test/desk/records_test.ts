/** Tests that a look at the lists changes no intent that has changed since the look began. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Intent } from "../../lib/desk/intent.ts";
import {
  addOrders,
  findIntent,
  insertIntent,
  moveIntent,
  openAccounts,
  openIntents,
  unresolvedIntents,
} from "../../lib/desk/queries.ts";
import { Records } from "../../lib/desk/records.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { Store } from "../../lib/store/store.ts";
import { systemMachine } from "../../lib/time.ts";
import { testBoth } from "../support/stores.ts";

/** Records an order that the broker has accepted. */
async function accepted(store: Store): Promise<Intent> {
  const at = systemMachine.now();
  await insertIntent(store, {
    id: "i",
    account: "main",
    kind: "place",
    operation: "orders.place",
    params: {},
    fingerprint: "f",
    why: {},
    createdAt: at,
    timeoutMs: 10_000,
  });
  await moveIntent(store, "i", { to: "approved", by: "desk", at });
  await moveIntent(store, "i", { to: "sent", by: "desk", at });
  return await moveIntent(store, "i", { to: "acknowledged", by: "answer", at, orderIds: ["1"] });
}

for (
  const [what, change, isMoved] of [
    ["nothing has changed", () => Promise.resolve(), true],
    ["an amendment has created an order", (store) => addOrders(store, "i", { orderIds: ["2"] }), false],
    ["its order has placed an order", (store) => addOrders(store, "i", { childIds: ["2"] }), false],
    [
      "another process has recorded its end",
      (store) => moveIntent(store, "i", { to: "expired", by: "list", at: 1 }),
      false,
    ],
  ] as readonly [string, (store: Store) => Promise<unknown>, boolean][]
) {
  testBoth(
    `Records.moveFrom() ${isMoved ? "moves" : "does not move"} an intent if ${what}`,
    async ({ open }) => {
      await using store = await open();
      const told: string[] = [];
      const onChange = ({ state }: Intent) => void told.push(state);
      const records = new Records({ store, machine: systemMachine, account: "main", onChange });
      const read = await accepted(store);
      await change(store);
      const before = await findIntent(store, "i");
      const after = await records.moveFrom(read, { to: "filled", by: "list", filled: "100" });
      assertEquals([after.state === "filled", told], [isMoved, isMoved ? ["filled"] : []]);
      if (!isMoved) assertEquals([after, await findIntent(store, "i")], [before, before]);
    },
  );
}

Deno.test("reading the open intents of an account does not read those that have ended", async () => {
  await using store = await openSqlite(":memory:");
  const asked: string[] = [];
  const spy = new Proxy(store, {
    get(target, name) {
      if (name !== "all") return Reflect.get(target, name);
      return (sql: string) => {
        asked.push(sql);
        return Promise.resolve([]);
      };
    },
  });
  await openIntents(spy, "main");
  await unresolvedIntents(spy, "main");
  await unresolvedIntents(spy);
  await openAccounts(spy);
  for (const sql of asked) {
    const steps = await store.all<{ detail: string }>(`explain query plan ${sql}`);
    assertStringIncludes(steps[0]!.detail, "USING INDEX intent_open", sql);
  }
  assertEquals(asked.length, 4);
});
