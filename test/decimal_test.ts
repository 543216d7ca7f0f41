import { assertEquals, assertThrows } from "@std/assert";
import * as decimal from "../lib/decimal.ts";

Deno.test("add() and multiply() keep every digit", () => {
  assertEquals(decimal.add("0.1", "0.2"), "0.3");
  assertEquals(decimal.add("1.50", "1"), "2.50");
  assertEquals(decimal.multiply("1.5", "0.20"), "0.300");
  assertEquals(
    decimal.add("123456789012345678901234567", "0.00000000000000001"),
    "123456789012345678901234567.00000000000000001",
  );
  assertEquals(decimal.add("1e-330", "0"), `0.${"0".repeat(329)}1`);
});

Deno.test("divide() and round() round only by the rule they are given", () => {
  assertEquals(decimal.divide("10", "4", 1, "exact"), "2.5");
  assertThrows(() => decimal.divide("10", "3", 2, "exact"), RangeError, "name a rounding rule");
  assertEquals(decimal.divide("-10", "3", 2, "half-up"), "-3.33");
  assertEquals(decimal.round("2.345", 2, "half-up"), "2.35");
  assertEquals(decimal.round("-2.345", 2, "half-up"), "-2.35");
  assertEquals(decimal.round("2.345", 2, "half-even"), "2.34");
  assertEquals(decimal.round("2.341", 2, "up"), "2.35");
  assertEquals(decimal.round("-2.349", 2, "down"), "-2.34");
  assertEquals(decimal.round("40", 2, "exact"), "40.00");
});

Deno.test("toStep() brings a price onto its tick", () => {
  assertEquals(decimal.toStep("37.454", "0.05", "half-up"), "37.45");
  assertEquals(decimal.toStep("1234", "100", "down"), "1200");
  assertThrows(() => decimal.toStep("1", "0", "down"), RangeError, "above zero");
});

Deno.test("compare(), isZero() and normalize() depend only on the value, and negate() gives zero no sign", () => {
  assertEquals(decimal.compare("1.50", "1.5"), 0);
  assertEquals(decimal.compare("-1", "1"), -1);
  assertEquals(decimal.isZero("-0.00"), true);
  assertEquals(decimal.normalize("100.500"), "100.5");
  assertEquals(decimal.normalize("100"), "100");
  assertEquals(decimal.negate("0.00"), "0.00");
});

Deno.test("a text that is not a decimal is rejected, not read as zero", () => {
  for (const bad of ["", ".", "-", "1,000", "0x10", "NaN", " 1", "1e99999"]) {
    assertThrows(() => decimal.add(bad), TypeError, "as a decimal");
    assertEquals(decimal.isDecimal(bad), false);
  }
  assertThrows(() => decimal.add("1e2000"), RangeError, "more than 1000 places");
  assertThrows(() => decimal.add("9".repeat(5_000_000)), RangeError, "more than 2000 digits");
  for (const text of ["1e2000", "1e-1001", `0.${"1".repeat(1_001)}`, "9".repeat(2_001)]) {
    assertEquals(decimal.isDecimal(text), false, text.slice(0, 20));
    assertThrows(() => decimal.add(text), RangeError);
  }
});

Deno.test("sumOf() adds up a list that is too long for the parameters of a function", () => {
  assertEquals(decimal.sumOf(Array.from({ length: 300_000 }, () => "0.01")), "3000.00");
  assertEquals(decimal.sumOf([]), "0");
  assertEquals(decimal.sumOf(["1.50", "1"]), "2.50");
});

Deno.test("DecimalSum equals add() over the same values", () => {
  const sum = new decimal.DecimalSum();
  const values = Array.from({ length: 200 }, (_, i) => `${i % 2 ? "-" : ""}${i}.${"0".repeat(i % 7)}${i}`);
  for (const value of values) sum.add(value);
  assertEquals(sum.toString(), decimal.add(...values));
});

Deno.test("DecimalSum subtracts as exactly as it adds, and detects zero", () => {
  const sum = new decimal.DecimalSum().add("0.10").add("2").subtract("2.1");
  assertEquals([sum.isZero, sum.toString()], [true, "0.00"]);
  assertEquals(sum.subtract("1e-20").isZero, false);
});

Deno.test("isProduct() compares by value, without rounding", () => {
  assertEquals(decimal.isProduct("350.20", "100", "35020.00"), true);
  assertEquals(decimal.isProduct("350.20", "100", "35020"), true);
  assertEquals(decimal.isProduct("0.1", "0.1", "0.010000000000000000000000001"), false);
  assertEquals(decimal.isProduct("-2", "3", "-6.0"), true);
});

Deno.test("the fast path for short decimals gives the same results as the path for long decimals", () => {
  const texts = [
    "0",
    "-0",
    "7",
    "-7",
    "0.5",
    "-0.50",
    ".5",
    "5.",
    "999999999999999",
    "-99999999999.99",
    "00.10",
  ];
  // Further texts from a simple random generator.
  for (let seed = 1, count = 0; count < 500; count++, seed = (seed * 48271) % 2147483647) {
    texts.push(`${seed % 3 === 0 ? "-" : ""}${seed % 1000003}.${String(seed % 9973)}`);
  }
  for (const text of texts) {
    const sign = text.startsWith("-") ? "-" : "";
    const long = `${sign}${"0".repeat(20)}${text.slice(sign.length)}`;
    assertEquals(decimal.add(text), decimal.add(long), text);
    assertEquals(decimal.multiply(text, "3.3"), decimal.multiply(long, "3.3"), text);
  }
  for (const text of ["", "-", ".", "-.", "1.2.3", "--1", "1-", "+", "1e", " 1", "1 ", "0x1", "٣"]) {
    assertEquals(decimal.isDecimal(text), false, text);
    assertThrows(() => decimal.add(text), TypeError, "as a decimal");
  }
});

Deno.test("normalize() removes only zeros at the end, and takes linear time for a long run of zeros", () => {
  // If normalize() searched the zeros with a regular expression, it would start again at each zero, and this test would
  // take many minutes.
  const value = `0.${"0".repeat(990)}1`;
  for (let time = 0; time < 20_000; time++) assertEquals(decimal.normalize(value), value);
  for (
    const [given, plain] of [["1.500", "1.5"], ["100", "100"], ["1.000", "1"], ["0.0", "0"], [
      "-2.50",
      "-2.5",
    ]]
  ) {
    assertEquals(decimal.normalize(given!), plain);
  }
});
