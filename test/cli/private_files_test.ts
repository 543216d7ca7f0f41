/** Tests that only the owner can read files that hsgate writes, whatever the umask. */
import { assertEquals } from "@std/assert";
import { withOpenUmask } from "./private_files_child.ts";
import { envOf, folder, simulate } from "./runner_support.ts";

const recipe = `name: report
schedule: { calendar: XHKG, at: open+30m }
steps:
  - { id: book, uses: export-day-book, with: { markets: [hk], accounts: [securities], sessions: 1, out: books } }
  - { id: seen, uses: snapshot, with: { holdings: [hk], out: seen, format: csv } }
`;

/** Returns every file and folder below a folder, as "mode path". */
function modesBelow(path: string, base = path): string[] {
  return [...Deno.readDirSync(path)].flatMap((entry) => {
    const each = `${path}/${entry.name}`;
    const mode = (Deno.statSync(each).mode! & 0o777).toString(8);
    return [`${mode} ${each.slice(base.length + 1)}`, ...entry.isDirectory ? modesBelow(each, base) : []];
  });
}

Deno.test({
  name: "the store, exports, reports and a new working folder are readable by their owner only",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using gateway = await simulate({ days: 5, fillsPerDay: 3 });
    await using dir = await folder({ "report.yaml": recipe });
    const env = envOf(gateway);
    const path = `${dir.path}/report.yaml`;
    const made = `${dir.path}/made`;
    await Deno.mkdir(made, { mode: 0o700 });
    const outcomes = await withOpenUmask([
      {
        words: ["run", path, "--store", `${made}/store.db`, "--out", `${made}/out`],
        files: { [path]: recipe },
      },
      { words: ["export", "day-book", "--accounts", "securities", "--out", `${made}/by-hand/books`] },
      { words: ["init", `${made}/work`] },
    ].map((command) => ({ ...command, env })));
    assertEquals(outcomes.map(({ code }) => code), [0, 0, 0], JSON.stringify(outcomes));
    const open = modesBelow(made).filter((line) => !/^(600|700) /.test(line));
    assertEquals(open, []);
    const seen = modesBelow(made).join("\n");
    for (const file of ["store.db", "summary.json", "fills.csv", "hsgate.yaml"]) {
      assertEquals(seen.includes(file), true, `${file} was written at all`);
    }
  },
});
