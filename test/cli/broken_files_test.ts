import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { report } from "../../tasks/terminal/error_report.ts";
import { folder, spawned } from "./runner_support.ts";

const recipe = `name: r
schedule: { calendar: XHKG, at: open+30m }
connect: { simulator: { seed: 7, at: "2025-08-15T10:30:00+08:00" } }
steps:
  - { id: funds, uses: account.funds, with: { market: hk } }
`;

const slow = `name: slow
connect: simulator
steps:
  - { id: wait, uses: ./slow_step.ts, timeout: 1s }
`;

/** Returns the error lines, and checks that none of them is a stack trace. */
function errorsOf(err: string, what: string): string[] {
  const lines = err.split("\n");
  assert(
    !lines.some((line) => line.startsWith("    at ")) && !err.includes("internal error"),
    `${what}: ${err}`,
  );
  return lines.filter((line) => line.startsWith("hsgate: Cannot "));
}

Deno.test("for an unreadable file, commands end with one line that names it, and never with a stack trace", async () => {
  await using dir = await folder({ "r.yaml": recipe, "text.db": "no store at all\n" });
  const at = (name: string) => `${dir.path}/${name}`;
  await Deno.mkdir(at("folder.yaml"));
  {
    using newer = new DatabaseSync(at("newer.db"));
    newer.exec(
      "create table migration (version integer primary key) strict; insert into migration values (999)",
    );
  }
  const folderLine = `hsgate: Cannot read "${at("folder.yaml")}": is a directory`;
  const textLine = `hsgate: Cannot use the store "${at("text.db")}": file is not a database`;
  const [once, store, config] = ["--once", "--store", "--config"];
  const days = ["--from", "2025-08-01", "--to", "2025-08-02"];
  const cases: [words: string[], line: string][] = [
    [["run", at("folder.yaml")], folderLine],
    [["run", at("r.yaml"), config, at("folder.yaml")], folderLine],
    [["run", at("r.yaml"), "--dry-run", config, at("folder.yaml")], folderLine],
    [["schedule", at("r.yaml"), once, store, at("l.db"), config, at("folder.yaml")], folderLine],
    [["test", at("r.yaml"), ...days, "--golden", at("folder.yaml")], folderLine],
    [["run", at("r.yaml"), store, at("text.db")], textLine],
    [["schedule", at("r.yaml"), once, store, at("text.db")], textLine],
    [
      ["run", at("r.yaml"), store, at("newer.db")],
      `hsgate: Cannot open the store "${at("newer.db")}": it has version 999`,
    ],
  ];
  for (const [words, line] of cases) {
    const { code, out, err } = await spawned(words);
    const lines = errorsOf(err, words.join(" "));
    assertEquals([code, lines.length, out], [1, 1, ""], err);
    assertStringIncludes(lines[0]!, line);
  }
});

Deno.test("run without a store reports a step that takes too long", async () => {
  await using dir = await folder({
    "slow.yaml": slow,
    "slow_step.ts": `import { defineStep } from "hsgate/recipes";
export default defineStep({ effect: "read", run: () => new Promise((done) => setTimeout(done, 60_000)) });
`,
    "deno.json": JSON.stringify({
      imports: { "hsgate/recipes": new URL("../../lib/recipes/mod.ts", import.meta.url).href },
    }),
  });
  const { code, err } = await spawned(["run", `${dir.path}/slow.yaml`]);
  assertEquals(errorsOf(err, "slow"), ['hsgate: Cannot finish step "wait": it took more than 1000 ms']);
  assertEquals(code, 1);
});

Deno.test("report() rewrites messages of the system and SQLite into hsgate's form, and prints the stack of an internal error", () => {
  const linesOf = (error: unknown) => {
    const lines: string[] = [];
    // `report()` uses no other member of the host.
    report(
      error,
      undefined,
      { note: (line: string) => void lines.push(line) } as Parameters<typeof report>[2],
    );
    return lines;
  };
  const full = Object.assign(new Error("database or disk is full"), { code: "ERR_SQLITE_ERROR" });
  const cases: [Error, string][] = [
    [
      new Deno.errors.PermissionDenied("Permission denied (os error 13): readfile 'a b.yaml'"),
      'Cannot read "a b.yaml": permission denied',
    ],
    [
      new Error("No space left on device (os error 28): writefile 'out/a.csv'"),
      'Cannot write "out/a.csv": no space left on device',
    ],
    [
      new Error("Too many levels of symbolic links (os error 40): stat 'x'"),
      'Cannot use "x": too many levels of symbolic links',
    ],
    [new Error("No space left on device (os error 28)"), "No space left on device (os error 28)"],
    [
      new Deno.errors.AddrInUse("Address already in use (os error 98)"),
      "Address already in use (os error 98)",
    ],
    [full, "Cannot use the store: database or disk is full"],
  ];
  for (const [error, line] of cases) assertEquals(linesOf(error), [`hsgate: ${line}`]);
  assertStringIncludes(
    linesOf(new ReferenceError("x is not defined"))[0]!,
    "internal error, please report it:\nReferenceError",
  );
});
