/** Tests that only the owner can read files that hsgate writes, whatever the umask. */
import { assertEquals } from "@std/assert";
import { cli, envOf, folder, MORNING, simulate } from "./runner_support.ts";

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
    const umask = Deno.umask(0);
    try {
      await using gateway = await simulate({ days: 5, fillsPerDay: 3 });
      await using dir = await folder({ "report.yaml": recipe });
      const env = envOf(gateway);
      const made = `${dir.path}/made`;
      await Deno.mkdir(made);
      await Deno.chmod(made, 0o700);
      const ran = await cli(
        ["run", `${dir.path}/report.yaml`, "--store", `${made}/store.db`, "--out", `${made}/out`],
        { env, files: { [`${dir.path}/report.yaml`]: recipe } },
      );
      assertEquals(ran.code, 0, ran.err);
      const words = ["export", "day-book", "--accounts", "securities", "--out", `${made}/by-hand/books`];
      assertEquals((await cli(words, { env, now: () => MORNING })).code, 0);
      assertEquals((await cli(["init", `${made}/work`], { env })).code, 0);
      const open = modesBelow(made).filter((line) => !/^(600|700) /.test(line));
      assertEquals(open, []);
      const seen = modesBelow(made).join("\n");
      for (const file of ["store.db", "summary.json", "fills.csv", "hsgate.yaml"]) {
        assertEquals(seen.includes(file), true, `${file} was written at all`);
      }
    } finally {
      Deno.umask(umask);
    }
  },
});
