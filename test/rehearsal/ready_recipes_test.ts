/**
 * Tests the ready recipes over the whole year 2025, with every kind of outage. `ready_2025.txt` contains the expected
 * outcome of each slot. After a change that must change the outcomes, update the file:
 *
 *     deno task hsgate test --from 2025-01-01 --to 2025-12-31 --outages test/rehearsal/outages_2025.yaml \
 *       --golden test/rehearsal/ready_2025.txt --update-golden
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { differences, rehearse, reportLines } from "../../lib/rehearsal/mod.ts";
import { spawned } from "../cli/support.ts";

const RECIPES = new URL("../../recipes/", import.meta.url);
const GOLDEN = new URL("ready_2025.txt", import.meta.url);
const SCRIPT = new URL("outages_2025.yaml", import.meta.url);

Deno.test("rehearse() of the ready recipes over 2025 gives the stored report", async () => {
  const outages = { text: await Deno.readTextFile(SCRIPT), fileName: "outages_2025.yaml" };
  const result = await rehearse({ recipes: RECIPES, from: "2025-01-01", to: "2025-12-31", outages });
  const kept = (await Deno.readTextFile(GOLDEN)).replaceAll("\r\n", "\n");
  assertEquals(differences(kept, `${reportLines(result).join("\n")}\n`), []);
});

Deno.test("rehearse() of a recipe with an edited schedule gives a different report", async () => {
  const folder = await Deno.makeTempDir();
  const text = await Deno.readTextFile(new URL("cancel_at_close.yaml", RECIPES));
  const days = { from: "2025-12-22", to: "2025-12-26" };
  const report = async (recipe: string) => {
    await Deno.writeTextFile(`${folder}/cancel_at_close.yaml`, recipe);
    return reportLines(await rehearse({ recipes: folder, ...days })).join("\n");
  };
  const kept = await report(text);
  assertEquals(differences(kept, await report(text)), []);
  // The edit leaves half-days out, and 24 December is one.
  const edited = text.replace("at: close-15m }", "at: close-15m, halfDays: skip }");
  assert(edited !== text);
  assertEquals(differences(kept, await report(edited)), [
    "",
    "  recipe           slots  ok  failed  skipped  why",
    "- cancel-at-close      5   3       0        2  holiday 2",
    "+ cancel-at-close      5   2       0        3  half day 1, holiday 2",
    "",
    "  half-days and clock changes:",
    "  …",
    "",
    "  not a plain success:",
    "+   2025-12-24 Wed  skipped, half day: cancel-at-close",
    "    2025-12-25 Thu  skipped, holiday: cancel-at-close",
    "    2025-12-26 Fri  skipped, holiday: cancel-at-close",
    "",
    "- 5 slots, 3 succeeded, 0 failed, 2 skipped, 0 messages",
    "+ 5 slots, 2 succeeded, 0 failed, 3 skipped, 0 messages",
  ]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("hsgate test prints the same report in every time zone of the machine", async () => {
  const words = ["test", "recipes", "--from", "2025-03-05", "--to", "2025-03-12"];
  const outs = await Promise.all(
    ["UTC", "America/New_York", "Pacific/Auckland"].map((TZ) => spawned(words, { env: { TZ } })),
  );
  assertEquals(outs.map(({ code }) => code), [0, 0, 0]);
  assertEquals([outs[1]!.out, outs[2]!.out], [outs[0]!.out, outs[0]!.out]);
  assert(outs[0]!.out.includes("\nmargin-watch  "), outs[0]!.out);
});
