import { assertEquals, assertStringIncludes } from "@std/assert";
import { stepKinds } from "../../lib/steps/kinds/mod.ts";
import { recipesPage } from "../../lib/steps/reference.ts";
import { commandsPage } from "../../tasks/commands/page.ts";
import { commands } from "../../tasks/commands/table.ts";

const headings = (page: string, level: string) =>
  page.split("\n").filter((line) => line.startsWith(`${level} `)).map((line) => line.slice(level.length + 1));

Deno.test("recipesPage() tells every step with its parameters, those inside others too", () => {
  const page = recipesPage();
  const steps = headings(page, "###").filter((heading) => heading.startsWith("`"));
  assertEquals(steps, [...stepKinds.keys()].map((name) => `\`${name}\``));
  assertStringIncludes(page, "| `bars.from` | date | yes |");
  assertStringIncludes(page, '| `life` | text |  | `"3h"` |');
});

Deno.test("commandsPage() tells every command once", () => {
  assertEquals(headings(commandsPage(), "##"), commands.map(({ name }) => name));
});
