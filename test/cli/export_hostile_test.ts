/** Tests of `export day-book` with a broker that takes back rows it has shown, or rejects some lists. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { bookOf, DAY, openBook } from "../day_book/books.ts";
import { refusal } from "../day_book/scripted_gateway.ts";
import { cli } from "./support.ts";

const NOW = "2025-08-20T12:00:00+08:00";

/** A scripted broker, and the command line that exports one of its days into a folder. */
function exporting(count: number) {
  const book = openBook(bookOf("us", count));
  book.broker.clock = () => Date.parse(NOW);
  const words = ["export", "day-book", "--markets", "us", "--from", DAY, "--to", DAY, "--now", NOW];
  return {
    broker: book.broker,
    out: book.out,
    again: (...more: string[]) =>
      cli([...words, "--out", book.out, "--gateway", book.broker.url, ...more], { columns: 100 }),
    [Symbol.asyncDispose]: () => book[Symbol.asyncDispose](),
  };
}

Deno.test("export day-book ends with 7 when rows disappear, names them, and says where both readings are", async () => {
  await using exported = exporting(3);
  const first = await exported.again("--accounts", "securities");
  assertEquals([first.code, first.out.includes("final   written")], [0, true]);
  exported.broker.script = bookOf("us", 2);
  const { code, out } = await exported.again("--accounts", "securities", "--refresh");
  assertEquals(code, 7);
  assertStringIncludes(out, "provisional  disputed");
  const [day, beside] = [`"${exported.out}/${DAY}"`, `"${exported.out}/${DAY}.disputed-1"`];
  assertStringIncludes(
    out,
    `${DAY}: ${day} and ${beside} contradict each other; differences.csv names the rows`,
  );
  assertStringIncludes(
    out,
    `${DAY} us fills: buy 100 AAPL at 350.20 (order 3, 09:30:05) is in ${DAY} but not in the new`,
  );
  const { days } = JSON.parse((await exported.again("--accounts", "securities", "--json")).out);
  assertEquals([days[0].action, days[0].status, days[0].beside], ["disputed", "provisional", [
    `${exported.out}/${DAY}.disputed-1`,
  ]]);
});

Deno.test("export day-book names the lists that it did not read, and --accounts chooses the lists", async () => {
  await using exported = exporting(2);
  const both = await exported.again();
  assertEquals(both.code, 7);
  assertStringIncludes(
    both.out,
    `${DAY}: futures: futures_fills were not read: Cannot complete futures.fillsHistory: 1007 no futures account\n`,
  );
  assertStringIncludes(both.out, "\nif the account has no futures, add --accounts securities\n");
  const alone = await exported.again("--accounts", "securities");
  assertEquals([alone.code, alone.out.includes("futures")], [0, false]);
  const wrong = await exported.again("--accounts", "stocks");
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.err, 'Cannot use --accounts "stocks": expected one of securities, futures');
});

Deno.test("export day-book says why a day is provisional if nothing confirms it", async () => {
  await using exported = exporting(0);
  exported.broker.answer = ({ key }) =>
    key.startsWith("TradeQueryMarginFundInfo") ? refusal("1008 call failed") : undefined;
  const { code, out } = await exported.again("--accounts", "securities");
  assertEquals(code, 0);
  assertStringIncludes(
    out,
    `${DAY} is provisional: us: no list has a row, and the funds could not be read either: `,
  );
});

Deno.test("export day-book rejects another account's folder, by its orders and by --owner", async () => {
  await using exported = exporting(2);
  await exported.again("--accounts", "securities", "--owner", "savings");
  const named = await exported.again("--accounts", "securities", "--owner", "trading");
  assertEquals(named.code, 1);
  assertStringIncludes(
    named.err,
    "the folder belongs to an account with another name; export each account into its own folder",
  );
  exported.broker.script = bookOf("us", 2, { prefix: "other-" });
  const other = await exported.again("--accounts", "securities");
  assertEquals(other.code, 1);
  assertStringIncludes(other.err, `the broker shows other orders for ${DAY} than the folder contains`);
});

Deno.test("export day-book with --wire also writes the rows as the broker sent them", async () => {
  await using exported = exporting(2);
  assertEquals((await exported.again("--accounts", "securities", "--wire")).code, 0);
  const lines = Deno.readTextFileSync(`${exported.out}/${DAY}/fills.wire.jsonl`).trimEnd().split("\n");
  assertEquals(lines.map((line) => JSON.parse(line).wire.entrustId), ["1", "2"]);
});
