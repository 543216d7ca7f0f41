import { assertEquals } from "@std/assert";
import { bareImport, circlesOf, faultOf, importsOf, loadedBy, straySql } from "../../tasks/imports.ts";
import { countTests } from "../../tasks/run_tests.ts";

const pure = { permissions: "none" } as const;

Deno.test("faultOf() allows imports in one direction only", pure, () => {
  const right: [string, string][] = [
    ["lib/operations/orders.ts", "lib/dictionaries/side.ts"],
    ["lib/operations/orders.ts", "lib/operations/types.ts"],
    ["lib/operations/orders.ts", "lib/decimal.ts"],
    ["lib/runner/run/run.ts", "lib/day_book/rows.ts"],
    ["lib/simulator/mod.ts", "lib/wire/framing.ts"],
    ["lib/simulator/mod.ts", "lib/facts/fees.ts"],
    ["lib/simulator/mod.ts", "lib/endpoints/http_server.ts"],
    ["lib/endpoints/gateway_http.ts", "lib/operations/mod.ts"],
    ["lib/wire/framing.ts", "lib/calendars/mod.ts"],
    ["lib/std/csv.ts", "deno-std/csv/parse.js"],
    ["lib/errors.ts", "lib/decimal.ts"],
    ["tasks/sim.ts", "lib/simulator/mod.ts"],
    ["test/x_test.ts", "tasks/imports.ts"],
    ["lib/wire/messages.ts", "protobufjs"],
  ];
  for (const [from, to] of right) assertEquals(faultOf({ from, to }), undefined, `${from} ${to}`);
  const wrong: [string, string, string][] = [
    ["lib/dictionaries/side.ts", "lib/operations/orders.ts", "dictionaries must not use operations"],
    [
      "lib/client/client.ts",
      "lib/day_book/rows.ts",
      "client must not use day_book: imports point the other way",
    ],
    ["lib/day_book/rows.ts", "lib/desk/desk.ts", "day_book must not use desk: imports point the other way"],
    ["lib/store/store.ts", "lib/desk/desk.ts", "store must not use desk: imports point the other way"],
    ["lib/desk/desk.ts", "lib/recipes/mod.ts", "desk must not use recipes: imports point the other way"],
    ["lib/transports/memory.ts", "lib/simulator/mod.ts", "transports must not use simulator"],
    ["lib/endpoints/http_server.ts", "lib/simulator/mod.ts", "endpoints must not use simulator"],
    ["lib/simulator/mod.ts", "lib/client/client.ts", "the simulator must not use client"],
    ["lib/simulator/mod.ts", "lib/transports/net/post_once.ts", "the simulator must not use transports"],
    ["lib/calendars/mod.ts", "lib/operations/mod.ts", "calendars must not use operations"],
    ["lib/errors.ts", "lib/std/csv.ts", "a file directly in lib must not import a folder of lib"],
    ["lib/client/client.ts", "tasks/sim.ts", "lib must not import tasks"],
    ["lib/client/client.ts", "mod.ts", "lib must not import the public face"],
    ["lib/day_book/csv.ts", "npm:deno-std@1.4.0/csv/mod.js", "only lib/std may import deno-std"],
    ["test/x_test.ts", "deno-std/assert/mod.js", "only lib/std may import deno-std"],
  ];
  for (const [from, to, start] of wrong) {
    assertEquals(faultOf({ from, to })?.slice(0, start.length), start, `${from} ${to}`);
  }
});

Deno.test(
  "importsOf() returns static, dynamic, type and re-exporting imports, and ignores comments",
  pure,
  () => {
    const source = `
/** import { a } from "./comment.ts"; */
// import "./remark.ts";
import { b } from "../b.ts";
import type { C } from "./c.ts";
export * from "@std/csv";
import "./side_effect.ts";
const d = await import("protobufjs");
import {
  e,
} from "../../tasks/e.ts";
`;
    assertEquals(
      importsOf("lib/x/y.ts", source, { "@std/csv": "./lib/std/csv.ts", protobufjs: "npm:protobufjs@8.8.1" })
        .map(({ to }) => to),
      [
        "lib/b.ts",
        "lib/x/c.ts",
        "lib/std/csv.ts",
        "lib/x/side_effect.ts",
        "npm:protobufjs@8.8.1",
        "tasks/e.ts",
      ],
    );
  },
);

Deno.test(
  "circlesOf() finds each circle of files, and no circle among files that only import the same files",
  pure,
  () => {
    const graph = (text: string) =>
      text.split(" ").map((pair) => {
        const [from = "", to = ""] = pair.split(">");
        return { from, to };
      });
    assertEquals(circlesOf(graph("a>b a>c b>d c>d d>npm:zod")), []);
    assertEquals(circlesOf(graph("x>a a>b b>c c>a c>d")), [["a", "b", "c", "a"]]);
    assertEquals(circlesOf(graph("a>b b>a b>c c>d d>c e>e")).length, 3);
  },
);

Deno.test(
  "loadedBy() returns the modules that load at the start, without dynamic imports and type imports",
  pure,
  () => {
    const link = (specifier: string, more: { isDynamic?: boolean } = {}) => ({
      specifier,
      code: { specifier },
      ...more,
    });
    const graph = (direct: ReturnType<typeof link>[]) => ({
      roots: ["mod.ts"],
      modules: [
        { specifier: "mod.ts", dependencies: [link("lib/a.ts")] },
        { specifier: "lib/a.ts", dependencies: direct },
        { specifier: "lib/b.ts", dependencies: [link("node:crypto")] },
      ],
    });
    const heavy = ["node:crypto", "protobufjs", "zod"];
    const heavyChain = (info: Parameters<typeof loadedBy>[0]) => loadedBy(info, heavy).heavyChain;
    assertEquals(heavyChain(graph([link("lib/b.ts")])), ["mod.ts", "lib/a.ts", "lib/b.ts", "node:crypto"]);
    assertEquals(heavyChain(graph([link("npm:protobufjs@8.8.1")])), [
      "mod.ts",
      "lib/a.ts",
      "npm:protobufjs@8.8.1",
    ]);
    const later = graph([link("lib/c.ts"), link("lib/b.ts", { isDynamic: true })]);
    assertEquals(loadedBy(later, heavy), { modules: ["mod.ts", "lib/a.ts", "lib/c.ts"] });
    const types = {
      roots: ["mod.ts"],
      modules: [{ specifier: "mod.ts", dependencies: [{ specifier: "zod" }] }],
    };
    assertEquals(heavyChain(types), undefined);
  },
);

Deno.test("countTests() uses the last summary, and counts a run without a summary as a failure", pure, () => {
  assertEquals(countTests("x\n\nok | 160 passed | 0 failed (324ms)\n", true), {
    passed: 160,
    failed: 0,
    skipped: 0,
  });
  assertEquals(countTests("FAILED | 3 passed (5 steps) | 2 failed (1 step) (1s)\n", false), {
    passed: 3,
    failed: 2,
    skipped: 0,
  });
  assertEquals(countTests("\x1b[0m\x1b[32mok\x1b[0m | 7 passed | 0 failed | 1 ignored (1s)\n", true), {
    passed: 7,
    failed: 0,
    skipped: 1,
  });
  assertEquals(countTests("error: Type checking failed\n", false), { passed: 0, failed: 1, skipped: 0 });
  assertEquals(countTests("ok | 9 passed | 0 failed (1s)\nerror: leak\n", false), {
    passed: 9,
    failed: 1,
    skipped: 0,
  });
});

Deno.test("straySql() finds SQL statements outside the allowed folders, and ignores prose", pure, () => {
  const wrong = [
    'store.get("select 1 as there from run where recipe = ? limit 1", recipe);',
    "store.all<Row>(\n  `select distinct file\n    from schedule`,\n);",
    "store.run(`insert into event (at) values (?)`, now);",
    'store.run("update run set state = ? where run_key = ?", state, key);',
    'store.run("delete from outbox where dedupe_key = ?", key);',
    'db.exec("pragma journal_mode = wal");',
    "db.exec('CREATE TABLE other (x integer)');",
  ];
  for (const source of wrong) {
    assertEquals(typeof straySql("lib/runner/run/run.ts", source), "string", source);
    assertEquals(typeof straySql("tasks/commands/runs/body.ts", source), "string", source);
    for (const path of ["lib/runner/queries/runs.ts", "lib/store/sqlite.ts", "test/runner/run_test.ts"]) {
      assertEquals(straySql(path, source), undefined, `${path} ${source}`);
    }
  }
  const right = ['tell("selects the slots from now on");', 'tell("update the calendar, then run it again");'];
  for (const source of right) assertEquals(straySql("lib/runner/run/run.ts", source), undefined, source);
});

Deno.test("bareImport() finds dynamic imports of lib outside of lazily()", pure, () => {
  const wrong = [
    'const { Watches } = await import("./watch.ts");',
    "const { Watches } = await import(\n  './watch.ts'\n);",
    "const own = await import(url.href);",
    'loading ??= import("protobufjs").then(create);',
    'const load = () => import("./watch.ts");',
  ];
  for (const source of wrong) {
    assertEquals(typeof bareImport("lib/client/client.ts", source), "string", source);
    assertEquals(bareImport("tasks/hsgate.ts", source), undefined, source);
  }
  const right = [
    'const load = lazily(() => import("./watch.ts"));',
    'const load = lazily(async () => (await import("./watch.ts")).Watches);',
    'const load = lazily(async () =>\n  createMessages(await import("protobufjs"))\n);',
    'function nodeCrypto(): typeof import("node:crypto") {}',
    '// such as import("./watch.ts")',
    "/** Such as `import(name)`. */",
    "const here = import.meta.url;",
  ];
  for (const source of right) assertEquals(bareImport("lib/client/client.ts", source), undefined, source);
});
