/**
 * Tests that a folder belongs to one account: an export of another account fails before it writes anything.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createClient } from "../../lib/client/client.ts";
import { DayBookError, exportDayBook } from "../../lib/day_book/mod.ts";
import type { Transport } from "../../lib/transports/transport.ts";
import { bookOf, DAY, EVENING, isList, LATER, openBook } from "./books.ts";
import { okText, readTree } from "./scripted_gateway.ts";

const NEXT = "2025-08-18";

/** Exports one day over a transport that has this developer key. */
function exportAs(book: ReturnType<typeof openBook>, key: string, day = DAY) {
  const inner = book.broker.client.transport;
  const transport: Transport = {
    name: inner.name,
    account: () => Promise.resolve(key),
    call: (operation, params, options) => inner.call(operation, params, options),
    raw: (group, name, params, options) => inner.raw(group, name, params, options),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return exportDayBook(createClient(transport), {
    markets: ["hk"],
    accounts: ["securities"],
    from: day,
    to: day,
    out: book.out,
    now: () => LATER,
  });
}

Deno.test("exportDayBook() rejects another account, recognized by its orders, and writes nothing", async () => {
  for (const now of [LATER, EVENING]) {
    await using book = openBook(bookOf("hk", 20), { now: () => now });
    await book.exportDay();
    const before = readTree(book.out);
    book.broker.script = bookOf("hk", 25, { prefix: "other-" });
    for (const refresh of [false, true]) {
      const error = await assertRejects(() => book.exportDay({ refresh }), DayBookError);
      assertEquals(error.code, "other-account");
      assertStringIncludes(
        error.message,
        `Cannot export into "${book.out}": the broker shows other orders for ${DAY} than the folder contains, and ` +
          "none of the folder's; export each account into its own folder",
      );
      assertEquals(readTree(book.out), before);
    }
    // The control: one common order is enough, because an earlier reading may have missed the others.
    book.broker.script = bookOf("hk", 30);
    assertEquals((await book.exportDay({ refresh: true })).days[0]?.action, "replaced");
  }
});

Deno.test("exportDayBook() writes no new day for an account that has no orders on the folder's days", async () => {
  await using book = openBook(bookOf("hk", 5));
  await book.exportDay();
  const before = readTree(book.out);
  book.broker.script = bookOf("hk", 3, { day: NEXT, prefix: "other-" });
  const error = await assertRejects(() => book.exportDay({ from: NEXT, to: NEXT }), DayBookError);
  assertEquals(error.code, "other-account");
  assertStringIncludes(
    error.message,
    `the broker shows orders of ${NEXT} and none of the orders in the folder for ${DAY}`,
  );
  assertEquals(readTree(book.out), before);
  // A user who is sure of the account names it.
  const named = await book.exportDay({ from: NEXT, to: NEXT, owner: "mine" });
  assertEquals(named.days[0]?.action, "written");
  // If the broker shows no rows at all, the export does not conclude that it is another account. The day is disputed.
  book.broker.script = {};
  assertEquals((await book.exportDay({ refresh: true })).days[0]?.action, "disputed");
});

Deno.test("exportDayBook() rejects an account that shows only fund journal rows or fills, and no orders", async () => {
  for (const list of ["FundJour", "Deliver"]) {
    await using book = openBook(bookOf("hk", 5));
    await book.exportDay();
    const before = readTree(book.out);
    const rows = Object.entries(bookOf("hk", 1, { day: NEXT, prefix: "other-" }));
    book.broker.script = Object.fromEntries(rows.filter(([key]) => key.includes(list)));
    const error = await assertRejects(() => book.exportDay({ from: NEXT, to: NEXT }), DayBookError);
    assertEquals(error.code, "other-account");
    const name = list === "FundJour" ? "fund_journal" : "fills";
    assertStringIncludes(
      error.message,
      `shows ${name} of ${NEXT} and none of the orders in the folder for ${DAY}`,
    );
    assertEquals(readTree(book.out), before);
    assertEquals((await book.exportDay({ from: NEXT, to: NEXT, owner: "mine" })).days[0]?.action, "written");
  }
});

Deno.test("exportDayBook() makes no day final for an account that shows none of the folder's orders", async () => {
  const quiet = "2025-08-14";
  await using book = openBook(bookOf("hk", 5));
  await book.exportDay();
  // Another account, which traded on a day outside the export.
  book.broker.script = bookOf("hk", 3, { day: "2025-08-13", prefix: "other-" });
  const { ok, days: [day] } = await book.exportDay({ from: quiet, to: quiet });
  assertEquals([ok, day?.status], [false, "provisional"]);
  const why = `the broker shows none of the orders in the folder for ${DAY}, so it may be another account`;
  assertStringIncludes(day!.incomplete[0]!, why);
  assertStringIncludes(day!.provisionalBecause[0]!, why);
  // The controls: the account's name, and an account that shows one of the orders.
  const named = await book.exportDay({ from: quiet, to: quiet, owner: "mine" });
  assertEquals([named.ok, named.days[0]?.status], [true, "final"]);
  await using own = openBook(bookOf("hk", 5));
  await own.exportDay();
  const next = await own.exportDay({ from: quiet, to: quiet });
  assertEquals([next.ok, next.days[0]?.status], [true, "final"]);
});

Deno.test("exportDayBook() rejects a name that is not the name of the folder's account, and does not store the name", async () => {
  await using book = openBook(bookOf("hk", 5), { owner: "Savings 8812345" });
  await book.exportDay();
  const text = Deno.readTextFileSync(`${book.out}/account.json`);
  assert(/^[0-9a-f]{12}$/.test(JSON.parse(text).digests.name));
  assert(!text.includes("8812345") && !text.includes("Savings"));
  const error = await assertRejects(() => book.exportDay({ owner: "Trading" }), DayBookError);
  assertEquals(error.code, "other-account");
  assertStringIncludes(error.message, "the folder belongs to an account with another name");
  assertEquals((await book.exportDay()).days[0]?.action, "kept");
  // A named account is accepted when the broker no longer shows the folder's days.
  book.broker.script = bookOf("hk", 3, { day: NEXT, prefix: "new-" });
  assertEquals((await book.exportDay({ from: NEXT, to: NEXT })).days[0]?.action, "written");
});

Deno.test("exportDayBook() accepts only the developer key of the folder's account, until orders prove a new key", async () => {
  await using book = openBook({ ...bookOf("hk", 5), ...bookOf("hk", 2, { day: NEXT }) });
  await exportAs(book, "trade-0001");
  assertEquals((await exportAs(book, "trade-0002")).days[0]?.action, "kept");
  // No list shows anything, so the keys decide.
  book.broker.answer = ({ key }) => isList(key) ? okText("null") : undefined;
  const error = await assertRejects(() => exportAs(book, "trade-0003", NEXT), DayBookError);
  assertEquals(error.code, "other-account");
  assertStringIncludes(error.message, "with another developer key");
  assertEquals((await exportAs(book, "trade-0002", NEXT)).days[0]?.action, "written");
});

Deno.test("exportDayBook() does not store the developer key of an account that may be another one", async () => {
  await using book = openBook(bookOf("hk", 5));
  await book.exportDay();
  // The key is new to the folder, and the broker shows nothing that would tell whose orders the folder has.
  book.broker.answer = ({ key }) => isList(key) ? okText("null") : undefined;
  assertEquals((await exportAs(book, "trade-0003", NEXT)).days[0]?.status, "provisional");
  assertEquals("account.json" in readTree(book.out), false);
  // The control: an account that shows the folder's orders.
  book.broker.answer = () => undefined;
  await exportAs(book, "trade-0001");
  assert(
    /^[0-9a-f]{12}$/.test(JSON.parse(Deno.readTextFileSync(`${book.out}/account.json`)).digests.developerKey),
  );
});

Deno.test("exportDayBook() does not guess the owner of a folder whose account file is unreadable", async () => {
  await using book = openBook(bookOf("hk", 5), { owner: "mine" });
  await book.exportDay();
  for (const text of ["{", "null", '{"digests":null}', '{"digests":[]}']) {
    Deno.writeTextFileSync(`${book.out}/account.json`, text);
    const error = await assertRejects(() => book.exportDay(), DayBookError);
    assertStringIncludes(error.message, "account.json");
  }
});
