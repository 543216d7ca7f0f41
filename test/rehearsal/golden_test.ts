import { assertEquals } from "@std/assert";
import { differences } from "../../lib/rehearsal/golden.ts";

const lines = (text: string) => text.split("").join("\n");

Deno.test("differences() is empty for the same text", () => {
  assertEquals(differences(lines("abc"), lines("abc")), []);
});

Deno.test("differences() marks what is gone and what is new, with two lines around it", () => {
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

Deno.test("differences() keeps what is between two differences when it is short", () => {
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

Deno.test("differences() of a text with nothing in common are all of both", () => {
  assertEquals(differences("a\nb", "c"), ["- a", "- b", "+ c"]);
});
