import { assertEquals, assertThrows } from "@std/assert";
import { InvalidParamsError } from "../../lib/errors.ts";
import { formatOptionCode, type OptionTerms, parseOptionCode } from "../../lib/operations/option_code.ts";

const pure = { permissions: "none" } as const;
const call: OptionTerms = { underlying: "AAPL", expiry: "2025-08-15", optionType: "call", strike: "90" };

// Written out from the rule: underlying, yyMMdd, C or P, strike with four decimals and no point.
const codes: [OptionTerms, string][] = [
  [call, "AAPL250815C900000"],
  [{ ...call, strike: "0.1" }, "AAPL250815C01000"],
  [{ ...call, strike: "0.0001" }, "AAPL250815C00001"],
  [{ ...call, strike: "1" }, "AAPL250815C10000"],
  [{ ...call, strike: "217.5", optionType: "put" }, "AAPL250815P2175000"],
  [{ ...call, strike: "12345.6789" }, "AAPL250815C123456789"],
  [{ ...call, expiry: "2024-02-29" }, "AAPL240229C900000"],
  // Underlyings with digits and letters that look like another part of a code.
  [{ ...call, underlying: "BRK.B" }, "BRK.B250815C900000"],
  [{ ...call, underlying: "AAPL1" }, "AAPL1250815C900000"],
  [{ ...call, underlying: "C" }, "C250815C900000"],
  [{ ...call, underlying: "P250815C" }, "P250815C250815C900000"],
];

Deno.test("formatOptionCode() follows the rule of the document", pure, () => {
  for (const [terms, code] of codes) assertEquals(formatOptionCode(terms), code);
  for (const strike of ["90.0", "90.0000", "9e1", "+90", "90.00000"]) {
    assertEquals(formatOptionCode({ ...call, strike }), "AAPL250815C900000", strike);
  }
});

Deno.test("parseOptionCode() returns the terms that formatOptionCode() was given", pure, () => {
  for (const [terms, code] of codes) assertEquals(parseOptionCode(code), terms, code);
});

Deno.test("formatOptionCode() rejects terms that a code cannot contain", pure, () => {
  const wrong: [Partial<OptionTerms>, string][] = [
    [{ strike: "0.00001" }, "strike: expected a decimal above zero with at most 4 decimals, got"],
    [{ strike: "0" }, "strike: expected"],
    [{ strike: "-90" }, "strike: expected"],
    [{ strike: "ninety" }, "strike: expected"],
    [{ strike: "" }, "strike: expected"],
    [{ expiry: "2025-02-30" }, "expiry: expected a date that exists from 2000 to 2099"],
    [{ expiry: "20250815" }, "expiry: expected"],
    [{ expiry: "1999-12-31" }, "expiry: expected"],
    [
      { underlying: "aapl" },
      'underlying: expected capital letters, digits and dots, such as "AAPL", got "aapl"',
    ],
    [{ underlying: "" }, "underlying: expected"],
    [{ underlying: "AA PL" }, "underlying: expected"],
    // @ts-expect-error a letter is not one of our option types
    [{ optionType: "C" }, 'optionType: expected "call" or "put", got "C"'],
  ];
  for (const [change, message] of wrong) {
    assertThrows(
      () => formatOptionCode({ ...call, ...change }),
      InvalidParamsError,
      `Cannot write option code: ${message}`,
    );
  }
  const error = assertThrows(
    () => formatOptionCode({ ...call, strike: "0", expiry: "x" }),
    InvalidParamsError,
  );
  assertEquals(error.issues.map(({ path }) => path[0]), ["expiry", "strike"]);
});

Deno.test("parseOptionCode() rejects a text that is not an option code", pure, () => {
  const wrong = [
    "",
    "AAPL",
    "250815C900000",
    "AAPL250815X900000",
    "AAPL250815c900000",
    "aapl250815C900000",
    "AAPL250230C900000",
    "AAPL251315C900000",
    "AAPL250815C00000",
    "AAPL250815C1000",
    "AAPL250815C0900000",
    "AAPL250815C900000 ",
    "AAPL250815C90.0000",
    "00700.HK",
  ];
  for (const code of wrong) {
    assertThrows(() => parseOptionCode(code), InvalidParamsError, "Cannot read option code: code: expected");
  }
  assertThrows(
    () => parseOptionCode("AAPL"),
    InvalidParamsError,
    'Cannot read option code: code: expected an option code such as "AAPL250815C900000", got "AAPL"',
  );
});
