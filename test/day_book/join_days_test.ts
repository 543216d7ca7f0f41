import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { joinDays, joinTarget } from "../../lib/day_book/folder/join_days.ts";
import { readRows } from "../../lib/day_book/rows/files.ts";
import { cli, envOf, folder, simulate } from "../cli/support.ts";

Deno.test("export day-book --join writes one file per list with the rows of every day, and can repeat it", async () => {
  await using dir = await folder();
  await using gateway = await simulate({ days: 5, fillsPerDay: 4 });
  const range = ["--from", "2025-08-12", "--to", "2025-08-14", "--markets", "hk,us", "--out", dir.path];
  const run = (join: string, ...more: string[]) =>
    cli(["export", "day-book", ...range, "--join", `${dir.path}/${join}`, ...more, "--json"], {
      env: envOf(gateway),
    });
  for (let round = 0; round < 2; round++) {
    for (const format of ["csv", "jsonl"] as const) {
      const { out, err } = await run(`2025.${format}`);
      const { joined, days } = JSON.parse(out);
      assert(joined.length >= 3, err);
      for (const { list, path, days: count } of joined) {
        assertEquals(path, `${dir.path}/2025.${list}.${format}`);
        assertEquals(count, 3);
        const each = days.flatMap((
          { path }: { path: string },
        ) => [...readRows(`${path}/${list}.${format}`, format)]);
        assertEquals([...readRows(path, format)], each, path);
        if (list === "fills") assertEquals(new Set(each.map(({ date }: { date: string }) => date)).size, 3);
        if (list === "fills") assert(each.length >= 12, `${each.length}`);
      }
    }
  }
  assertEquals([...Deno.readDirSync(dir.path)].filter(({ name }) => name.endsWith(".partial")), []);
  const wrong = await run("2025.xlsx");
  assertEquals([wrong.code, JSON.parse(wrong.out).error.exitCode], [2, 2]);
  assertStringIncludes(wrong.err, "write a name that ends in .csv or .jsonl");
  const other = await run("2025.csv", "--formats", "jsonl");
  assertEquals(other.code, 2);
  assertStringIncludes(other.err, "the export writes no such files");
});

Deno.test("joinDays() rejects a day without the file or with other columns, and leaves the earlier file", async () => {
  await using dir = await folder();
  const path = (name: string) => `${dir.path}/${name}`;
  const day = (name: string) => ({ day: name, path: path(name), rows: { fills: 1 } }) as never;
  for (
    const [name, text] of [["1", "a,b\r\n1,2\r\n"], ["2", "a,b\r\n3,4\r\n"], ["3", "a,c\r\n5,6\r\n"]] as const
  ) {
    Deno.mkdirSync(path(name));
    Deno.writeTextFileSync(`${path(name)}/fills.csv`, text);
  }
  joinDays({ days: [day("1"), day("2")] }, path("all.csv"));
  const whole = "a,b\r\n1,2\r\n3,4\r\n";
  assertEquals(Deno.readTextFileSync(path("all.fills.csv")), whole);
  assertThrows(() => joinDays({ days: [day("1"), day("3")] }, path("all.csv")), Error, "has other columns");
  assertThrows(() => joinDays({ days: [day("1"), day("4")] }, path("all.csv")), Error, "is missing");
  assertEquals(Deno.readTextFileSync(path("all.fills.csv")), whole);
  assertEquals([...Deno.readDirSync(dir.path)].filter(({ name }) => name.endsWith(".partial")), []);
  assertThrows(() => joinTarget("out/.csv"), TypeError, "ends in .csv or .jsonl");
});
