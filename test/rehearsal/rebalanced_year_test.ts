/**
 * Tests a year of rebalancing in `hsgate test` against golden files of an independent program: `year/worked_out.py` works
 * out every figure without any code of hsgate. `year/figures.ts` explains how to renew the files.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { differences } from "../../lib/rehearsal/mod.ts";
import { hasProgram } from "../support/programs.ts";
import { fileOf, RECIPES, rehearsedYear } from "./year/figures.ts";

const read = async (name: string | URL) => (await Deno.readTextFile(name)).replaceAll("\r\n", "\n");

for (const recipe of RECIPES) {
  Deno.test(`hsgate test over 2025 gives the same figures for ${recipe}.yaml as an independent program`, async () => {
    const { report, seen, figures } = await rehearsedYear(recipe);
    assertEquals(differences(await read(fileOf(`${recipe}_seen.txt`)), seen), [], report);
    assertEquals(differences(await read(fileOf(`${recipe}.txt`)), figures), [], report);
    // The exchange stops during two executions of bands.yaml.
    const failed = report.split("\n").filter((line) => line.includes("failed at"));
    assertEquals(
      failed.map((line) => line.trim().slice(0, 10)),
      recipe === "bands" ? ["2025-03-17", "2025-12-24"] : [],
    );
  });
}

Deno.test("The golden files of the rebalanced year contain half-days, a typhoon, dividends and a split", async () => {
  const [monthly, bands] = await Promise.all(RECIPES.map((recipe) => read(fileOf(`${recipe}.txt`))));
  const plansOf = (text: string) => [...text.matchAll(/^(\S+) plan value/gm)].map(([, day]) => day);
  // The first and the last are half-days, and a typhoon closes the exchange on 30 September.
  assertEquals(plansOf(monthly!), [
    "2025-01-28",
    "2025-02-28",
    "2025-03-31",
    "2025-04-30",
    "2025-05-30",
    "2025-06-30",
    "2025-07-31",
    "2025-08-29",
    "2025-09-29",
    "2025-10-31",
    "2025-11-28",
    "2025-12-31",
  ]);
  assert(plansOf(bands!).length > 12);
  assert(plansOf(bands!).includes("2025-12-24"), "the half-day of Christmas Eve");
  for (const text of [monthly!, bands!]) {
    assert(text.match(/ dividend /g)!.length >= 5);
    const held = [...text.matchAll(/^(\S+) holds .*01211\.HK (\d+)/gm)].map((
      [, day, count],
    ) => [day, Number(count)]);
    const split = held.findIndex(([day]) => day === "2025-06-10");
    assertEquals(held[split]![1], 3 * Number(held[split - 1]![1]));
  }
});

Deno.test({
  name: "The independent program gives the golden files of the rebalanced year",
  ignore: !await hasProgram("python3"),
  async fn() {
    const folder = await Deno.makeTempDir();
    const program = decodeURIComponent(fileOf("worked_out.py").pathname);
    const { success, stderr } = await new Deno.Command("python3", { args: [program, folder] }).output();
    assert(success, new TextDecoder().decode(stderr));
    for (const recipe of RECIPES) {
      assertEquals(
        differences(await read(fileOf(`${recipe}.txt`)), await read(`${folder}/${recipe}.txt`)),
        [],
      );
    }
    await Deno.remove(folder, { recursive: true });
  },
});
