/** Tests that each mutation of `mutations.ts` still changes one place of the source. */
import { assertEquals } from "@std/assert";
import { mutations } from "./mutations.ts";

for (const { name, file, from, to } of mutations) {
  Deno.test(`the mutation changes one place: ${name}`, async () => {
    const source = await Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
    assertEquals([source.split(from).length - 1, from === to], [1, false]);
  });
}
