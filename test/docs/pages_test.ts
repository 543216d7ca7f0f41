import { assertEquals, assertStringIncludes } from "@std/assert";
import { stepNames } from "../../lib/recipes/kinds/mod.ts";
import { recipesPage } from "../../tasks/docs/recipes_page.ts";
import { commandsPage } from "../../tasks/docs/commands_page.ts";
import { commands } from "../../tasks/commands/table.ts";

const headings = (page: string, level: string) =>
  page.split("\n").filter((line) => line.startsWith(`${level} `)).map((line) => line.slice(level.length + 1));

Deno.test("recipesPage() lists every step; its tables include a nested parameter and a default", async () => {
  const page = await recipesPage();
  const steps = headings(page, "###").filter((heading) => heading.startsWith("`"));
  assertEquals(steps, stepNames.map((name) => `\`${name}\``));
  assertStringIncludes(page, "| `bars.from` | date | yes |");
  assertStringIncludes(page, '| `life` | text |  | `"3h"` |');
});

Deno.test("commandsPage() lists every command once", () => {
  assertEquals(headings(commandsPage(), "##"), commands.map(({ name }) => name));
});
