import { assertEquals } from "@std/assert";
import type { Quote } from "../../lib/operations/quotes.ts";
import { changePercent, priceText, shortCount } from "../../tasks/commands/bodies/quote_line.ts";
import type { Host } from "../../tasks/commands/host.ts";
import { fit, plain, table, tableLines, widthOf } from "../../tasks/commands/print.ts";

// Only the members that printing reads.
const terminal = (columns: number) =>
  ({ color: false, isTerminal: true, size: () => ({ columns, rows: 24 }) }) as Host;

Deno.test("widthOf() counts two columns for a Chinese character and none for an accent", () => {
  assertEquals(widthOf("AAPL"), 4);
  assertEquals(widthOf("騰訊控股"), 8);
  assertEquals(widthOf("e\u0301"), 1);
});

Deno.test("fit() cuts to a width and never in the middle of a character", () => {
  assertEquals(fit("Tencent", 7), "Tencent");
  assertEquals(fit("Tencent", 5), "Tenc…");
  assertEquals(fit("騰訊控股", 6), "騰訊…");
});

Deno.test("plain() leaves no control character of an answer", () => {
  assertEquals(plain("a\x1b[31mb\r\n\x9bc"), "a [31mb   c");
});

Deno.test("table() aligns columns by their width and leaves out those that do not fit", () => {
  const rows = [{ name: "騰訊", price: "590.00" }, { name: "HSBC", price: "100.3" }];
  const columns = [
    { title: "name", of: (row: typeof rows[0]) => row.name },
    { title: "price", of: (row: typeof rows[0]) => row.price, align: "right" as const },
  ];
  assertEquals(table(terminal(80), columns, rows), {
    lines: ["name   price", "騰訊  590.00", "HSBC   100.3"],
    left: 0,
  });
  assertEquals(table(terminal(10), columns, rows), { lines: ["name", "騰訊", "HSBC"], left: 1 });
});

Deno.test("table() cuts nothing where nobody watches, and lets the last column of a terminal take what is left", () => {
  const note = "set by hand because of a typhoon that nobody had expected, all day";
  const columns = [{ title: "day", of: () => "Tue" }, { title: "note", of: () => note }];
  const pipe = { ...terminal(1000), isTerminal: false } as Host; // as above
  assertEquals(table(pipe, columns, [{}]).lines[1], `Tue  ${note}`);
  assertEquals(table(terminal(80), columns, [{}]).lines[1], `Tue  ${note}`);
  assertEquals(table(terminal(60), columns, [{}]).lines[1], `Tue  ${note.slice(0, 54)}…`);
});

Deno.test("tableLines() keeps the column that must be seen, and says that others are left out", () => {
  const columns = ["day", "fills", "checks", "status"].map((title) => ({
    title,
    of: () => title.toUpperCase(),
    ...title === "checks" && { keep: true as const },
  }));
  assertEquals(tableLines(terminal(80), columns, [{}]), [
    "day  fills  checks  status",
    "DAY  FILLS  CHECKS  STATUS",
  ]);
  for (
    const [width, head, left] of [[20, "day  fills  checks", "1 more column"], [
      12,
      "day  checks",
      "2 more columns",
    ]] as const
  ) {
    assertEquals(tableLines(terminal(width), columns, [{}]), [
      head,
      head.toUpperCase(),
      `(a wider terminal shows ${left})`,
    ]);
  }
});

Deno.test("priceText() shows the digits of a price and not the tail of a double", () => {
  assertEquals(priceText(590), "590.00");
  assertEquals(priceText(117.475), "117.475");
  assertEquals(priceText(0.1 + 0.2), "0.30");
  assertEquals(priceText(25836.5), "25836.50");
});

Deno.test("changePercent() rounds away from zero and knows when there is nothing to compare with", () => {
  const quote = (lastPrice: number, previousClose: number) => ({ lastPrice, previousClose }) as Quote;
  assertEquals(changePercent(quote(588.5, 590)), "-0.25");
  assertEquals(changePercent(quote(595.5, 590)), "0.93");
  assertEquals(changePercent(quote(10, 0)), undefined);
  assertEquals(changePercent(quote(0, 10)), undefined);
});

Deno.test("shortCount() writes large numbers short", () => {
  assertEquals(["0", "950", "9900", "4640000", "51900000", "3967857334"].map(shortCount), [
    "0",
    "950",
    "9.90K",
    "4.64M",
    "51.9M",
    "3.97B",
  ]);
});
