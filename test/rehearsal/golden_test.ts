/** Tests of the comparison of two reports. */
import { assertEquals } from "@std/assert";
import { differences } from "../../lib/rehearsal/golden.ts";

const lines = (text: string) => text.split("").join("\n");

Deno.test("differences() is empty for the same text", () => {
  assertEquals(differences(lines("abc"), lines("abc")), []);
});

Deno.test("differences() marks missing and new lines, with two lines around them", () => {
  assertEquals(differences(lines("abcdefgh"), lines("abcdXfgh")), [
    "  c",
    "  d",
    "- e",
    "+ X",
    "  f",
    "  g",
    "  …",
  ]);
  assertEquals(differences(lines("abc"), lines("abcd")), ["  b", "  c", "+ d"]);
  assertEquals(differences(lines("abc"), lines("bc")), ["- a", "  b", "  c"]);
});

Deno.test("differences() shows two unchanged lines after and before each difference, and … for the lines between", () => {
  assertEquals(differences(lines("1abcde2zyxwvu3"), lines("4abcde5zyxwvu6")), [
    "- 1",
    "+ 4",
    "  a",
    "  b",
    "  …",
    "  d",
    "  e",
    "- 2",
    "+ 5",
    "  z",
    "  y",
    "  …",
    "  v",
    "  u",
    "- 3",
    "+ 6",
  ]);
});

Deno.test("differences() shows all lines of two texts with nothing in common", () => {
  assertEquals(differences("a\nb", "c"), ["- a", "- b", "+ c"]);
});

Deno.test("differences() makes no table of all pairs of lines, so it can compare a file that is far longer than a report", () => {
  const [many, few] = ["a\n".repeat(3_000_000), "b\n".repeat(1_000)];
  const found = differences(many, few);
  assertEquals([found.length, found[0], found.at(-3)], [3_001_001, "- a", "+ b"]);
});
