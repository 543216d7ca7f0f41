import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { fileLines } from "../../tasks/commands/run/summaries.ts";
import { eventLogger } from "../../tasks/commands/run/log.ts";
import { cli, folder } from "./runner_support.ts";

const book = (out: string, to: string) =>
  `name: book
connect: { simulator: { seed: 7, at: "2025-08-15T10:30:00+08:00" } }
steps:
  - { id: book, uses: export-day-book, with: { markets: [hk], from: 2025-08-13, to: ${to}, out: "${out}" } }
`;

const NAMES = [
  "columns.json",
  "fills.csv",
  "fills.jsonl",
  "fund_journal.csv",
  "fund_journal.jsonl",
  "futures_fills.csv",
  "futures_fills.jsonl",
  "futures_orders.csv",
  "futures_orders.jsonl",
  "orders.csv",
  "orders.jsonl",
  "rebalance_trades.csv",
  "rebalance_trades.jsonl",
  "summary.json",
];

interface Row {
  dataset: string;
  business_day: string;
  revision: number;
  sha256: string;
  bytes: number;
  uri: string;
  final: number;
}

const rowsOf = async (path: string) => {
  await using store = await openSqlite(path);
  return await store.all<Row>("select * from artifact order by business_day, dataset, revision");
};

async function sha256Of(path: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(path))).toHex();
}

/** Starts a manual run of the folder's recipe, and reads its key from the output. */
async function runBook(path: string, to: string, env: Record<string, string> = {}) {
  const text = book("books", to);
  await Deno.writeTextFile(`${path}/book.yaml`, text);
  const words = ["run", `${path}/book.yaml`, "--store", `${path}/l.db`, "--out", path];
  const outcome = await cli(words, { env, files: { [`${path}/book.yaml`]: text } });
  return { ...outcome, key: /run key (\S+)/.exec(outcome.out)?.[1] ?? "" };
}

Deno.test("export-day-book records every file in the store with its hash, and unchanged files only once", async () => {
  await using dir = await folder({});
  const first = await runBook(dir.path, "2025-08-13");
  assertEquals(first.code, 0, first.err);
  const day = `${dir.path}/books/2025-08-13`;
  const rows = await rowsOf(`${dir.path}/l.db`);
  assertEquals(rows.map(({ dataset }) => dataset), NAMES.map((name) => `day-book/${name}`));
  for (const { uri, sha256, bytes, business_day, revision, final } of rows) {
    assertEquals({ sha256, bytes }, { sha256: await sha256Of(uri), bytes: (await Deno.stat(uri)).size });
    assertEquals([business_day, revision, final], ["2025-08-13", 1, 1]);
  }
  const shown = await cli(["runs", "show", first.key, "--store", `${dir.path}/l.db`]);
  for (const name of NAMES) assertStringIncludes(shown.out, `${day}/${name}`);
  assertStringIncludes(first.out, `\nwrote ${day}/ (14 files)\n`);

  const second = await runBook(dir.path, "2025-08-14");
  assertEquals(
    (await rowsOf(`${dir.path}/l.db`)).map(({ business_day, revision }) => [business_day, revision]),
    ["2025-08-13", "2025-08-14"].flatMap((each) => NAMES.map(() => [each, 1])),
  );
  const next = `${dir.path}/books/2025-08-14/`;
  assertStringIncludes(second.out, `\nkept ${day}/ (14 files)\nwrote ${next} (14 files)\n`);

  // Even without a store, the step reports which files existed before. It reads the newest day again. This day then
  // lacks the list of rebalancing trades, which was empty.
  const path = `${dir.path}/book.yaml`;
  const plain = await cli(["run", path, "--out", dir.path], {
    files: { [path]: await Deno.readTextFile(path) },
  });
  assertStringIncludes(plain.err, `hsgate:   kept ${day}/ (14 files)\nhsgate:   wrote ${next} (12 files)\n`);
});

Deno.test("export-day-book fails if rows of its files contain a secret, names the files, and keeps none of the day", async () => {
  await using dir = await folder({});
  // The password is the beginning of every row key of the journal, and no other text in the files contains it.
  const { code, out, err } = await runBook(dir.path, "2025-08-13", {
    HSGATE_TRADE_PASSWORD: "hk/2025-08-13/fund_j",
  });
  assertEquals(code, 1);
  assertStringIncludes(out, "fund_journal.csv, fund_journal.jsonl would contain the value of a secret");
  assertEquals(await rowsOf(`${dir.path}/l.db`), [], err);
  assertEquals([...Deno.readDirSync(`${dir.path}/books`)].map(({ name }) => name), [".day-book.lock"]);
});

Deno.test("export-day-book reports the days before the one at which it stopped", async () => {
  await using dir = await folder({});
  await Deno.mkdir(`${dir.path}/books/2025-08-14`, { recursive: true });
  const { code } = await runBook(dir.path, "2025-08-14"); // the folder of this day exists, but no export wrote it
  assertEquals(code, 1);
  assertEquals(
    (await rowsOf(`${dir.path}/l.db`)).map(({ business_day }) => business_day),
    NAMES.map(() => "2025-08-13"),
  );
});

Deno.test("fileLines() combines many files of a folder into one line, and lists few files by name", () => {
  const file = (path: string, isNew = true) => ({ path, isNew });
  const day = (name: string, isNew: boolean) =>
    ["a", "b", "c", "d"].map((each) => file(`out/${name}/${each}.csv`, isNew));
  assertEquals(fileLines([]), []);
  assertEquals(fileLines([file("a.csv"), file("b.csv"), file("c.csv"), file("d.csv", false)]), [
    "wrote a.csv",
    "wrote b.csv",
    "wrote c.csv",
    "kept d.csv",
  ]);
  assertEquals(
    fileLines([
      ...day("1", true),
      ...day("2", false),
      ...day("3", true),
      file("out/3/e.csv", false),
      file("/x/y"),
    ]),
    [
      "wrote out/1/ (4 files)",
      "kept out/2/ (4 files)",
      "wrote out/3/ (4 files, 1 unchanged)",
      "wrote /x/y",
    ],
  );
  const many = Array.from({ length: 22 }, (_, index) => day(String(index), true)).flat();
  assertEquals(fileLines(many).slice(19), ["wrote out/19/ (4 files)", "and 8 more files"]);
});

Deno.test("eventLogger() combines a step's files for people, and lists each file for programs", () => {
  const about = { at: 0, recipe: "r", runKey: "r/m/1", traceId: "0".repeat(32), spanId: "0".repeat(16) };
  const artifacts = ["a", "b", "c", "d"].map((name) => ({
    ...about,
    type: "artifact" as const,
    step: "book",
    dataset: name,
    path: `out/${name}`,
    revision: 1,
    isNew: true,
  }));
  const end = {
    ...about,
    type: "step-ended" as const,
    step: "book",
    state: "ok" as const,
    attempt: 1,
    tookMs: 0,
  };
  for (const json of [false, true]) {
    const lines: string[] = [];
    const log = eventLogger({ out: (line) => void lines.push(line), color: false }, {
      json,
      reason: String,
    });
    for (const event of [...artifacts, end]) log(event);
    if (json) {
      assertEquals(
        lines.map((line) => JSON.parse(line).type),
        [...artifacts, end].map(({ type }) => type),
      );
    } else {
      assertEquals(lines.map((line) => line.split("00000000  ")[1]), [
        "book: wrote out/ (4 files)",
        "book: ok, 0.0 s",
      ]);
    }
    assert(lines.length > 0);
  }
});
