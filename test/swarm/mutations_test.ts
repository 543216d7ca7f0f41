/** Tests that each text which a mutation of `mutations.ts` replaces is still in exactly one place of its file. */
import { assertEquals } from "@std/assert";
import { mutations } from "./mutations.ts";

for (const { name, file, also, ...change } of mutations) {
  Deno.test(`each text that the mutation replaces is in one place: ${name}`, async () => {
    const source = await Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
    for (const { from, to } of [change, ...also === undefined ? [] : [also]]) {
      assertEquals([source.split(from).length - 1, from === to], [1, false]);
    }
  });
}
