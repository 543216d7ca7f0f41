/** Tests that each text that a mutation of `mutations.ts` replaces is still in one place of the source. */
import { assertEquals } from "@std/assert";
import { mutations } from "./mutations.ts";

for (const { name, file, also, ...change } of mutations) {
  Deno.test(`the mutation replaces texts of one place each: ${name}`, async () => {
    const source = await Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
    for (const { from, to } of [change, ...also === undefined ? [] : [also]]) {
      assertEquals([source.split(from).length - 1, from === to], [1, false]);
    }
  });
}
