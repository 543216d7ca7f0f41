import { assertEquals } from "@std/assert";
import { writtenImports } from "../../lib/recipes/own_steps/written_imports.ts";

Deno.test("writtenImports() finds every form that names a module, and nothing in comments, texts and patterns", () => {
  const code = `#!/usr/bin/env deno
// import "none"
/* import "none" */ import a from "a"; import * as b from 'b'; import type { X } from "./c.ts";
import { "q r" as d, e } from "d" with { type: "text" };
import "\\u0065";
export * from "f"; export { default } from "g"; export type { Y } from "h"; export const from = "none"; export { a };
"none";
const s = \`import "none" \${ await import("i") + \`\${import(\`j\`)}\` } import "none"\`;
const r = /import "none"/.test("x") / 2 / import("k" + v); const o = { import: "none", m() { return /["'\`]/; } };
obj.import("none"); import x = require("none"); type T = import("l").T; import.meta.resolve("none");
import def, { z } from
  "m"; import from from "n"; import(/* comment */ "o", { with: {} });
`;
  assertEquals([...writtenImports(code)].join(""), "abcdefghijlmno".replace("c", "./c.ts"));
});

Deno.test("writtenImports() returns each name once", () => {
  assertEquals(writtenImports('import "a"; import("b");'.repeat(20_000)), new Set(["a", "b"]));
});

Deno.test("writtenImports() finds the end of each template expression, whatever braces are in it", () => {
  const code =
    '} `${ { a: 1 } + await import("c") + `${ {} + await import("d") } import "none"` } import "none"`; import "e";';
  assertEquals([...writtenImports(code)], ["c", "d", "e"]);
});

Deno.test("writtenImports() takes time in proportion to the text, and always ends", () => {
  // If the function searched the rest of the file from each place, each of these texts would take a quarter of an hour.
  const units = [
    "import ",
    "import{",
    "import*as ",
    "import type {",
    "export * ",
    "export type{",
    "export {x} ",
    '"\\"',
    "'\\'",
    "/\\",
    "=/[",
    "=/[\\]",
    "${",
    "`${",
    "}",
    "/**/",
    "\\",
    "a.",
  ];
  const after = '\n"\'/;\nimport "after";\n';
  for (const unit of units) {
    const names = [...writtenImports(unit.repeat(Math.floor(1024 * 1024 / unit.length)) + after)];
    assertEquals(names, ["after"], unit);
  }
  for (const end of ["`a\\", "`a", "`", '"a\\', '"', "/a\\", "/[", "/*", "/", "import", 'import("a']) {
    assertEquals([...writtenImports(`import "before";\n${end}`)], ["before"], end);
  }
});
