/** Tests which halt files and which halts in the store stop writing. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { fileHalt, removeHalt, writeHalt } from "../../lib/desk/halt.ts";
import { ALL_ACCOUNTS, clearHalt, findHalt, setHalt } from "../../lib/desk/queries.ts";
import { BrokerError } from "../../lib/errors.ts";
import { ORDER } from "../conformance/simulated_account.ts";
import { openPostgres } from "../../lib/store/postgres.ts";
import { openSimulatedAccount } from "../conformance/simulated_account.ts";
import { temporarySchema } from "../support/postgres.ts";
import { postgres, testBoth } from "../support/stores.ts";
import { Desk } from "../../lib/desk/desk.ts";
import { recentIntents } from "../../lib/desk/queries.ts";
import { ACCOUNT, deskTest, simulatedMachine } from "./support.ts";

const isRoot = Deno.build.os !== "windows" && Deno.uid() === 0;

/** A store's path in a folder of its own. */
async function place(): Promise<{ store: string; halt: string } & AsyncDisposable> {
  const folder = await Deno.makeTempDir({ prefix: "hsgate-halt-" });
  const store = `${folder}/hsgate.db`;
  return {
    store,
    halt: `${store}.halt`,
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

Deno.test("fileHalt() stops writing while the file exists, even if it gives no reason", async () => {
  await using at = await place();
  const why = fileHalt(at.store);
  assertEquals(why(), undefined);
  writeHalt(at.store, "lunch (by ann)");
  assertEquals(why(), `lunch (by ann) (the file "${at.halt}")`);
  await Deno.writeTextFile(at.halt, "  \n");
  assertEquals(why(), `no reason given (the file "${at.halt}")`);
  assertEquals([await removeHalt(at.store), await removeHalt(at.store)], [true, false]);
  assertEquals(why(), undefined);
});

Deno.test("fileHalt() stops writing if anything has the file's name and cannot be read", async () => {
  await using at = await place();
  const why = fileHalt(at.store);
  await Deno.mkdir(at.halt);
  assertStringIncludes(why()!, `the file "${at.halt}" cannot be read`);
  assertEquals(await removeHalt(at.store), true);
  await Deno.symlink("nowhere", at.halt);
  assertStringIncludes(why()!, `the file "${at.halt}" is a link`);
  assertEquals(await removeHalt(at.store), true);
  // If the folder is no longer a folder, hsgate cannot know whether the file existed.
  const folder = at.store.slice(0, at.store.lastIndexOf("/"));
  await Deno.remove(folder, { recursive: true });
  await Deno.writeTextFile(folder, "");
  assertStringIncludes(why()!, `the file "${at.halt}" cannot be read`);
});

Deno.test({
  name: "fileHalt() stops writing for the file of any user",
  ignore: !isRoot,
  async fn() {
    await using at = await place();
    await Deno.writeTextFile(at.halt, "prices look wrong");
    Deno.chownSync(at.halt, 4711, 4711);
    assertStringIncludes(fileHalt(at.store)()!, "prices look wrong");
  },
});

testBoth(
  "a halt stops its account or all accounts, keeps its first reason, and ends when it is cleared",
  async ({ open }) => {
    await using store = await open();
    const halt = (account: string, why: string, at = 1) => setHalt(store, { account, why, by: "ann", at });
    const why = async (account: string) => (await findHalt(store, account))?.why;
    await halt("main", "lunch");
    await halt("main", "dinner");
    assertEquals([await why("main"), await why("other")], ["lunch", undefined]);
    await halt(ALL_ACCOUNTS, "everything", 2);
    assertEquals([await why("main"), await why("other")], ["lunch", "everything"]);
    assertEquals([await clearHalt(store, "other"), await why("other"), await why("main")], [
      true,
      undefined,
      "lunch",
    ]);
    assertEquals([await clearHalt(store, "main"), await clearHalt(store, "main")], [true, false]);
    assertEquals(await why("main"), undefined);
  },
);

deskTest(
  "a halt file stops a write before the store records it as sent, and also right after that",
  async (testAccount) => {
    const { open, count, last, history } = testAccount;
    const sent = count("orders.place");
    const cases = [
      [["lunch"], false],
      [[undefined, "lunch"], true],
      [[undefined, undefined, "lunch"], true], // right before the first byte
    ] as const;
    for (const [looks, isCounted] of cases) {
      const left = [...looks];
      const halted = open({ haltedByFile: () => left.shift() });
      const error = await assertRejects(() => halted.client().orders.place(ORDER), BrokerError, "lunch");
      const { state, sentAt } = await last();
      assertEquals([error.code, state, sentAt !== undefined], ["halted", "abandoned", isCounted]);
      // No answer exists.
      const from = isCounted ? "sent" : "approved";
      assertEquals((await history((await last()).id)).at(-1), `${from}>abandoned by desk`);
    }
    assertEquals(sent(), 0);
  },
);

Deno.test({
  name:
    "a machine whose clock differs from the database's by more than 5 s sends no order write (PostgreSQL)",
  ignore: postgres === undefined,
  async fn() {
    await using schema = temporarySchema(postgres!); // without PostgreSQL, the test is skipped
    let offMs = 0;
    const clock = { now: () => store.now()! + offMs, monotonic: () => performance.now() };
    await using store = await openPostgres(schema.url, { machine: clock });
    await using testAccount = await openSimulatedAccount();
    await using client = await testAccount.connect("gateway");
    const machine = simulatedMachine(testAccount.clock);
    const trader = new Desk({ store, machine, account: ACCOUNT, client }).client();
    const { orderId } = await trader.orders.place(ORDER);
    const { market, symbol, quantity } = ORDER;
    const order = { market, symbol, orderId: orderId! };
    const names = ["orders.place", "orders.amend", "orders.cancel", "orders.cancelAll"];
    const counts = names.map((name) => testAccount.count(name));
    const writes = [
      () => trader.orders.place({ ...ORDER, quantity: "200" }),
      () => trader.orders.amend({ ...order, quantity, price: "540.00" }),
      () => trader.orders.cancel(order),
      () => trader.orders.cancelAll({ market: "hk" }),
    ];
    for (const [off, what] of [[6_000, "6.0 s ahead of"], [-3_600_000, "3600.0 s behind"]] as const) {
      offMs = off;
      for (const write of writes) {
        const error = await assertRejects(write, BrokerError, what);
        assertEquals(error.code, "wrong-clock");
        assertStringIncludes(error.message, "correct the wrong clock; nothing was sent");
      }
    }
    assertEquals(counts.map((count) => count()), [0, 0, 0, 0]);
    const states = (await recentIntents(store, ACCOUNT, { limit: 100 })).map(({ state }) => state);
    assertEquals(states.filter((state) => state !== "abandoned"), ["acknowledged"]);
    // The clock becomes wrong after the write was recorded.
    offMs = 0;
    let isRecorded = false;
    const marked = store.mark.bind(store);
    store.mark = async () => {
      await marked();
      isRecorded = true;
      offMs = 6_000;
    };
    assertEquals((await assertRejects(writes[0]!, BrokerError)).code, "wrong-clock");
    assertEquals([isRecorded, counts[0]!()], [true, 0]);
    store.mark = marked;
    offMs = 4_000;
    for (const write of writes.slice(0, 3)) await write();
  },
});
