/** Tests of `export day-book` with a broker that withdraws rows it has shown, or rejects some lists. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { bookOf, DAY, openBook } from "../day_book/books.ts";
import { readTree, refusal } from "../day_book/scripted_gateway.ts";
import { cli, folder, KEY } from "./support.ts";

const NOW = "2025-08-20T12:00:00+08:00";

/** A scripted broker, and the command line that exports one of its days into a folder. */
function exporting(count: number) {
  const book = openBook(bookOf("us", count));
  book.broker.clock = () => Date.parse(NOW);
  const words = ["export", "day-book", "--markets", "us", "--from", DAY, "--to", DAY, "--now", NOW];
  return {
    broker: book.broker,
    out: book.out,
    exportDay: (more: readonly string[] = [], env: Record<string, string> = {}) =>
      cli([...words, "--out", book.out, "--gateway", book.broker.url, ...more], { columns: 100, env }),
    [Symbol.asyncDispose]: () => book[Symbol.asyncDispose](),
  };
}

Deno.test("export day-book ends with 7 when rows disappear, names them, and says where both readings are", async () => {
  await using exported = exporting(3);
  const first = await exported.exportDay(["--accounts", "securities"]);
  assertEquals([first.code, first.out.includes("final   written")], [0, true]);
  exported.broker.script = bookOf("us", 2);
  const { code, out } = await exported.exportDay(["--accounts", "securities", "--refresh"]);
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
  const { days } = JSON.parse((await exported.exportDay(["--accounts", "securities", "--json"])).out);
  assertEquals([days[0].action, days[0].status, days[0].beside], ["disputed", "provisional", [
    `${exported.out}/${DAY}.disputed-1`,
  ]]);
});

Deno.test("export day-book names the lists that it did not read, and --accounts chooses the lists", async () => {
  await using exported = exporting(2);
  const both = await exported.exportDay();
  assertEquals(both.code, 7);
  assertStringIncludes(
    both.out,
    `${DAY}: futures: futures_fills were not read: Cannot complete futures.fillsHistory: 1007 no futures account\n`,
  );
  assertStringIncludes(both.out, "\nif the account has no futures, add --accounts securities\n");
  const onlySecurities = await exported.exportDay(["--accounts", "securities"]);
  assertEquals([onlySecurities.code, onlySecurities.out.includes("futures")], [0, false]);
  const wrong = await exported.exportDay(["--accounts", "stocks"]);
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.err, 'Cannot use --accounts "stocks": expected one of securities, futures');
});

Deno.test("export day-book says why an empty day is provisional if nothing confirms that it is empty", async () => {
  await using exported = exporting(0);
  exported.broker.answer = ({ key }) =>
    key.startsWith("TradeQueryMarginFundInfo") ? refusal("1008 call failed") : undefined;
  const { code, out } = await exported.exportDay(["--accounts", "securities"]);
  assertEquals(code, 0);
  assertStringIncludes(
    out,
    `${DAY} is provisional: us: no list has a row, and the funds could not be read either: `,
  );
});

Deno.test("export day-book recognizes another account's folder by its orders or by --owner, and rejects it", async () => {
  await using exported = exporting(2);
  await exported.exportDay(["--accounts", "securities", "--owner", "savings"]);
  const named = await exported.exportDay(["--accounts", "securities", "--owner", "trading"]);
  assertEquals(named.code, 1);
  assertStringIncludes(
    named.err,
    "the folder belongs to an account with another name; export each account into its own folder",
  );
  exported.broker.script = bookOf("us", 2, { prefix: "other-" });
  const other = await exported.exportDay(["--accounts", "securities"]);
  assertEquals(other.code, 1);
  assertStringIncludes(other.err, `the broker shows other orders for ${DAY} than the folder contains`);
});

Deno.test("export day-book with --wire also writes the rows as the broker sent them", async () => {
  await using exported = exporting(2);
  assertEquals((await exported.exportDay(["--accounts", "securities", "--wire"])).code, 0);
  const lines = Deno.readTextFileSync(`${exported.out}/${DAY}/fills.wire.jsonl`).trimEnd().split("\n");
  assertEquals(lines.map((line) => JSON.parse(line).wire.entrustId), ["1", "2"]);
});

/** Passwords that a CSV cell, JSON and Markdown write in different ways. */
const PASSWORDS = ["Tr4de-pass", 'Tr4"de,pa;=ss', "Tr4\\de|pa'ss"];

for (const password of PASSWORDS) {
  Deno.test(`export day-book keeps no file of a day that contains the trade password ${password}`, async () => {
    await using exported = exporting(3);
    const names = () => [...Deno.readDirSync(exported.out)].map(({ name }) => name).sort();
    const env = { HSGATE_TRADE_PASSWORD: password, HSGATE_TRADE_PASSWORD_KEY: KEY };
    const again = (...more: string[]) => exported.exportDay(["--accounts", "securities", ...more], env);
    const honest = exported.broker.script;
    const [fills, orders] = [
      "TradeQueryHistoryDeliverList P 20250815",
      "TradeQueryHistoryEntrustList P 20250815",
    ];
    const hostile = {
      ...honest,
      [fills]: honest[fills]!.map((row) => ({ ...row, stockName: `ACME ${password} Ltd` })),
    };
    const secret = { ...honest, [orders]: honest[orders]!.map((row) => ({ ...row, [password]: "new" })) };
    // The password is in a row, or it is the name of a member that only the summary and the wire rows contain.
    for (const [script, file] of [[hostile, "fills."], [secret, "summary.json"]] as const) {
      exported.broker.script = script;
      for (const words of [[], ["--formats", "csv"], ["--formats", "jsonl"], ["--exact-csv"], ["--wire"]]) {
        const { code, out, err } = await again(...words);
        assertEquals([code, out], [1, ""], err);
        assertStringIncludes(err, file);
        assertStringIncludes(err, "would contain the value of a secret");
        assert(!err.includes(password), err);
        assertEquals(names(), [".day-book.lock"], `nothing of the day stays: ${words}`);
      }
    }
    // A day that was exported before does not change, and the export keeps no files of the rejected reading.
    exported.broker.script = honest;
    assertEquals((await again()).code, 0);
    const before = readTree(`${exported.out}/${DAY}`);
    exported.broker.script = { ...hostile, [fills]: hostile[fills]!.slice(1) };
    assertEquals((await again("--refresh")).code, 1);
    assertEquals(names(), [".day-book.lock", DAY]);
    assertEquals(readTree(`${exported.out}/${DAY}`), before);
  });
}

Deno.test("export day-book keeps a day whose figures equal a short password of digits", async () => {
  await using exported = exporting(2);
  const env = { HSGATE_TRADE_PASSWORD: "35020", HSGATE_TRADE_PASSWORD_KEY: KEY };
  assertEquals((await exported.exportDay(["--accounts", "securities"], env)).code, 0);
});

Deno.test("the step export-day-book keeps no file of a day with a secret, and the days before it stay", async () => {
  const [first, second] = ["2025-08-14", DAY];
  const [password] = PASSWORDS;
  await using book = openBook({ ...bookOf("us", 2, { day: first }), ...bookOf("us", 2, { day: second }) });
  book.broker.clock = () => Date.parse(NOW);
  const key = "TradeQueryHistoryDeliverList P 20250815";
  book.broker.script[key] = book.broker.script[key]!.map((row) => ({ ...row, stockName: password }));
  const recipe = `name: r
steps:
  - id: book
    uses: export-day-book
    with: { markets: [us], accounts: [securities], from: "${first}", to: "${second}", out: books }
`;
  await using dir = await folder();
  const path = `${dir.path}/r.yaml`;
  await Deno.writeTextFile(path, recipe);
  const { err, out, code } = await cli(["run", path, "--out", dir.path], {
    env: {
      HSGATE_GATEWAY_URL: book.broker.url,
      HSGATE_TRADE_PASSWORD: password!,
      HSGATE_TRADE_PASSWORD_KEY: KEY,
    },
    now: () => Date.parse(NOW),
    files: { [path]: recipe },
  });
  assertEquals(code, 1, out + err);
  assertStringIncludes(out + err, "Cannot export 2025-08-15: fills.csv, fills.jsonl would contain");
  assert(!(out + err).includes(password!), out + err);
  const days = [...Deno.readDirSync(`${dir.path}/books`)].map(({ name }) => name).sort();
  assertEquals(days, [".day-book.lock", first]);
});
