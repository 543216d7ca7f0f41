/** Tests which halt files and which halts in the store stop writing. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { fileHalt, removeHalt, writeHalt } from "../../lib/desk/halt.ts";
import { ALL_ACCOUNTS, clearHalt, findHalt, setHalt } from "../../lib/desk/queries.ts";
import { BrokerError } from "../../lib/errors.ts";
import { ORDER } from "../conformance/simulated_account.ts";
import { testBoth } from "../support/stores.ts";
import { deskTest } from "./support.ts";

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
    const { open, count, last } = testAccount;
    const sent = count("orders.place");
    for (const [looks, isCounted] of [[["lunch"], false], [[undefined, "lunch"], true]] as const) {
      const left = [...looks];
      const halted = open({ haltedByFile: () => left.shift() });
      const error = await assertRejects(() => halted.client().orders.place(ORDER), BrokerError, "lunch");
      const { state, sentAt } = await last();
      assertEquals([error.code, state, sentAt !== undefined], ["halted", "abandoned", isCounted]);
    }
    assertEquals(sent(), 0);
  },
);
