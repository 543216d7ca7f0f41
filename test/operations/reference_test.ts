import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import errors from "../../lib/errors.ts" with { type: "text" };
import { InvalidParamsError } from "../../lib/errors.ts";
import { FieldComments, readDocComments } from "../../lib/operations/doc_comments.ts";
import { exampleCall } from "../../tasks/docs/examples.ts";
import { operations } from "../../lib/operations/mod.ts";
import { orders } from "../../lib/operations/orders.ts";
import { referencePages } from "../../tasks/docs/operation_pages.ts";
import { docOf, docOfFamily, sources } from "../../lib/operations/sources.ts";
import { text } from "../../lib/operations/types.ts";
import { reasonOf } from "../conformance/skips.ts";

const pure = { permissions: "none" } as const;
const suite = new Map([["a_test.ts", "/**\n * What is\n * tested.\n */\nimport x;"], [
  "B_test.ts",
  "/** Other. */",
]]);

const source = `
/**
 * A family.
 *
 * @module
 */
import { symbol, field } from "./shared.ts";

/** Not a field: "{ quantity: 1 }". */
const noNumber = { gap: "not published" };
/** Code of a contract. */
const contract = field("stockCode", code);
export const rowFields = {
  /** Name in the row. */
  name: field("stockName", text),
  // a remark
  price: field("price", decimal, { gap: "x" }),
};
export const things = family("things", {
  /**
   * Does a thing,
   * and says so.
   *
   * More of it.
   */
  act: operation({
    request: params({
      symbol: contract,
      /** How much. */
      amount: optional("amount", decimal),
      plain: field("plain", text),
    }, (thing, wrong) => {
      const { amount } = thing;
      if (amount === "{") wrong("amount", "less");
    }),
  }),
});
`;

Deno.test(
  "readDocComments() finds the comments of operations, fields and constants by their path",
  pure,
  () => {
    assertEquals(Object.fromEntries(readDocComments(source)), {
      "things.act": "Does a thing, and says so.\n\nMore of it.",
      "things.act.request.symbol": "Code of a contract.",
      "things.act.request.amount": "How much.",
      "rowFields.name": "Name in the row.",
      contract: "Code of a contract.",
      noNumber: 'Not a field: "{ quantity: 1 }".',
    });
  },
);

Deno.test(
  "FieldComments.of() returns the comment in the most similar record, or undefined without one",
  pure,
  () => {
    const comments = new FieldComments({
      a: `const tickFields = { /** Time of a trade. */ time: field("time", t), side: field("side", t) };`,
      b: `const barFields = { /** Start of a bar. */ time: field("time", t), open: field("open", t) };`,
    });
    const info = (wire: string) => ({ wire, type: text, optional: false });
    assertEquals(
      comments.of("x.y.response", "time", { time: info("time"), side: info("side") }),
      "Time of a trade.",
    );
    assertEquals(
      comments.of("x.y.response", "time", { time: info("time"), open: info("open") }),
      "Start of a bar.",
    );
    assertEquals(comments.of("x.y.response", "side", { side: info("side") }), undefined);
    assertEquals(comments.of("x.y.response", "time", { time: info("clock") }), undefined);
  },
);

Deno.test("docOf() returns a text for every operation, and docOfFamily() for every family", pure, () => {
  for (const name of operations.keys()) {
    assertEquals(typeof docOf(name), "string", name);
    assertEquals(docOfFamily(name.split(".")[0]!)!.length > 5, true, name);
  }
  assertEquals(
    docOf("orders.cancel"),
    "Cancels one order and resolves to its order id. If the answer names another order, the outcome is unknown and the " +
      "call throws an `OutcomeUnknownError`.",
  );
  assertEquals(docOf("orders.nothing"), undefined);
});

Deno.test("FieldComments returns the comments of the catalogue's source files", pure, () => {
  const comments = new FieldComments(sources);
  const fields = (name: string) => operations.get(name)!.request.fields!;
  const place = fields("orders.place");
  assertEquals(comments.of("orders.place.request", "quantity", place), "Quantity, in shares or contracts.");
  assertEquals(comments.of("orders.amend.request", "quantity", fields("orders.amend")), "New quantity.");
  assertEquals(
    comments.of("orders.place.request", "market", place),
    "Market of the listing, or of the account to query.",
  );
  const today = fields("fills.today");
  assertEquals(comments.of("fills.today.request", "limit", today), "Rows per page, 1 to 99.");
  const amend = fields("futures.amend");
  assertEquals(comments.of("futures.amend.request", "price", amend)?.slice(0, 11), "Limit price");
});

Deno.test("exampleCall() writes calls that the catalogue accepts, and no secret", pure, () => {
  assertEquals(
    exampleCall(orders.cancel),
    'const answer = await client.orders.cancel({ market: "hk", symbol: "00700.HK", orderId: "8842" });',
  );
  assertEquals(
    exampleCall(operations.get("fills.today")!),
    'for await (const row of client.fills.today({ market: "hk" })) console.log(row);',
  );
  assertEquals(
    exampleCall(operations.get("account.login")!),
    "const answer = await client.account.login({ password });",
  );
  assertEquals(exampleCall(operations.get("platform.login")!), undefined);
  const { check: _, ...rest } = orders.cancel.request;
  const refused = {
    ...orders.cancel,
    request: {
      ...rest,
      check: (_v: unknown, path: string[], issues: unknown[]) =>
        void issues.push({ path, value: 1, expected: "x" }),
    },
  };
  assertThrows(() => exampleCall(refused as typeof orders.cancel), InvalidParamsError, "orders.cancel");
});

Deno.test("referencePages() writes a page for each family, the code tables and the errors", pure, () => {
  const pages = referencePages({ errors, suite });
  assertEquals([...pages.keys()].toSorted(), [
    "README.md",
    "account.md",
    "algo.md",
    "conditional_orders.md",
    "conformance.md",
    "dictionaries.md",
    "errors.md",
    "fills.md",
    "fund_journal.md",
    "futures.md",
    "orders.md",
    "platform.md",
    "pushes.md",
    "quotes.md",
  ]);
  const page = (name: string) => pages.get(name)!;
  assertStringIncludes(
    page("orders.md"),
    "| `validDays` | `validDays` | whole number 1 to 100 | no | Validity of a conditional order, in calendar days. |",
  );
  assertStringIncludes(
    page("orders.md"),
    '| `side` | `entrustBs` | [Side](dictionaries.md#side): `"buy"`, `"sell"`, `"short-close"`, `"short-open"` |',
  );
  assertStringIncludes(page("fills.md"), "| `fees.platformFee` | `fare6` | decimal | platform fee |");
  assertStringIncludes(
    page("README.md"),
    "| [`orders.cancelMany`](orders.md#orderscancelmany) | `TradeBatchCancelEntrust` | write | " +
      "`/trade/TradeBatchCancelEntrust` | no: message definition not published | trade-login | yes |",
  );
  assertStringIncludes(
    page("fills.md"),
    "- Returns the state at the time of the call; for a past day use [`fills.history`](fills.md#fillshistory)\n",
  );
  assertStringIncludes(page("account.md"), "- Returns the state at the time of the call\n");
  assertEquals(page("fills.md").split("Returns the state at the time of the call").length, 2);
  assertStringIncludes(page("dictionaries.md"), "| `v` | `shenzhen` | Shenzhen Connect |");
  assertStringIncludes(
    page("errors.md"),
    "## OutcomeUnknownError\n\nExtends `BrokerError`.\n\nA write was sent",
  );
  assertStringIncludes(
    page("errors.md"),
    "| `issues` | `readonly Issue[]` | All issues, not only the first. |",
  );
});

/** Returns the cells of an operation's row on the conformance page, without the link. */
function conformanceRow(page: string, name: string): string[] {
  const row = page.split("\n").find((line) => line.startsWith(`| [\`${name}\`]`));
  return row!.split(" | ").slice(1).map((cell) => cell.replace(/ \|$/, "").trim());
}

Deno.test(
  "referencePages() shows for each operation which transports carry it, why others do not, and what is compared",
  pure,
  () => {
    const page = referencePages({ errors, suite }).get("conformance.md")!;
    const row = (name: string) => conformanceRow(page, name);
    const all = ["carried", "carried", "carried"];
    assertEquals(row("orders.place"), ["write", ...all, "same effect", ""]);
    assertEquals(row("quotes.orderBook").slice(0, 5), ["read", ...all, "same answer"]);
    assertEquals(row("algo.place"), [
      "write",
      "carried",
      "carried",
      "no: message definition and number not published",
      "same effect",
      "",
    ]);
    assertEquals(row("account.buyingPower").at(-1), "`optionLongMargin`, `optionShortMargin`");
    const gateway = "no: not offered by the gateway";
    assertEquals(row("platform.login"), ["session", gateway, gateway, "carried", "answer written out", ""]);
    assertEquals(row("platform.openConnection"), [
      "session",
      gateway,
      gateway,
      "no: the direct transport opens its connections itself",
      "only the rejection",
      "",
    ]);
    // The gateway has 53 paths, and `orders.cancelAll` shares one of them. The direct transport does not carry the 13
    // operations without a message on the socket, nor `platform.openConnection`.
    assertStringIncludes(page, "| memory | 54 | 7 |\n| gateway | 54 | 7 |\n| direct | 47 | 14 |");
    assertStringIncludes(
      page,
      "- [B_test.ts](../../test/conformance/B_test.ts): Other.\n" +
        "- [a_test.ts](../../test/conformance/a_test.ts): What is tested.",
    );
    const silent = new Map([["a_test.ts", "import x;"]]);
    assertThrows(
      () => referencePages({ errors, suite: silent }),
      TypeError,
      '"a_test.ts" has no comment at its start',
    );
  },
);

Deno.test(
  "referencePages() shows an operation as carried if the conformance suite expects an answer",
  pure,
  () => {
    const page = referencePages({ errors, suite }).get("conformance.md")!;
    for (const operation of operations.values()) {
      const [, ...cells] = conformanceRow(page, operation.name).slice(0, 4);
      const expected = (["memory", "gateway", "direct"] as const).map((way) => reasonOf(operation, way));
      const carried = expected.map((reason) => reason === undefined);
      assertEquals(cells.map((cell) => cell === "carried"), carried, operation.name);
      if (expected[2] !== undefined) assertEquals(cells[2], `no: ${expected[2]}`, operation.name);
    }
  },
);
