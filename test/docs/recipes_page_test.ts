/** Checks the recipes and steps of docs/recipes.md, and runs them unchanged against the simulator. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { compileExpression } from "../../lib/recipes/expressions/expressions.ts";
import { cli, envOf, folder, simulate } from "../cli/runner_support.ts";

const root = new URL("../../", import.meta.url);
const page = Deno.readTextFileSync(new URL("docs/recipes.md", root));

/** The files of the page, by the name in their first line. */
const files = Object.fromEntries(
  [...page.matchAll(/```(?:ts|yaml)\n((?:#|\/\/) (\w+\.(?:ts|yaml))\n[^]*?)```/g)].map(
    ([, text = "", name = ""]) => [name, text],
  ),
);

/** Starts a server that receives chat messages. */
function chat() {
  const texts: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    texts.push((await request.json()).text);
    return new Response("ok");
  });
  return {
    texts,
    url: `http://127.0.0.1:${server.addr.port}/hook-of-the-desk`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const written = () =>
  folder({
    ...files,
    "deno.json": JSON.stringify({
      imports: { "hsgate/recipes": new URL("lib/recipes/mod.ts", root).href },
    }),
  });

Deno.test("docs/recipes.md contains the files that these tests run, and check reports no mistakes in them", async () => {
  assertEquals(Object.keys(files), [
    "funds_warning.yaml",
    "fills_of_yesterday.yaml",
    "fills_of_markets.ts",
    "count_step.ts",
    "count.yaml",
  ]);
  await using dir = await written();
  const { code, out, err } = await cli(["check", dir.path, "--json"]);
  assertEquals(code, 0, out + err);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", ...Object.keys(files).filter((name) => name.endsWith(".ts"))],
    cwd: dir.path,
  }).output();
  assertEquals(success, true, new TextDecoder().decode(stderr));
});

Deno.test("docs/recipes.md's first recipe warns if the funds are below its floor, and not otherwise", async () => {
  await using gateway = await simulate({});
  await using desk = chat();
  await using dir = await written();
  const path = `${dir.path}/funds_warning.yaml`;
  const env = { ...envOf(gateway), DESK_CHAT_WEBHOOK: desk.url };
  const run = (floor: string) =>
    cli(["run", path, "--json", "--param", `floor=${floor}`], {
      env,
      files: { [path]: files["funds_warning.yaml"]! }, // the test above checks that it exists
    });
  const calm = await run("0.01");
  assertEquals([calm.code, desk.texts], [0, []], calm.err);
  const thin = await run("99999999999.00");
  assertEquals(thin.code, 0, thin.err);
  assertEquals(desk.texts.length, 1);
  const [text = ""] = desk.texts;
  assert(/^Only \d+\.\d\d HKD are free, 9\d{10}\.\d\d too little$/.test(text), text);
});

Deno.test("docs/recipes.md's custom step and TypeScript recipe run", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using dir = await written();
  const run = (name: string) =>
    cli(["run", `${dir.path}/${name}`, "--json"], {
      env: envOf(gateway),
      files: { [`${dir.path}/${name}`]: files[name]! }, // the first test checks that it exists
    });
  const count = await run("count.yaml");
  assertEquals(count.code, 0, count.err);
  const [fills] = JSON.parse(count.out).steps;
  assertEquals(fills.output.ok, true);
  const line = await Deno.readTextFile(`${dir.path}/counts.csv`);
  assert(/^2025-08-15T[\d:.]+Z,none,hk,\d+\n$/.test(line), line);
  const markets = await run("fills_of_markets.ts");
  assertEquals(markets.code, 0, markets.err);
  assertEquals(JSON.parse(markets.out).steps.map(({ id }: { id: string }) => id), ["fills-hk", "fills-us"]);
});

Deno.test("docs/recipes.md lists exactly the functions of expressions, and each variable", async () => {
  const named = [...page.matchAll(/^\| `(\w+)\(([\w, ]+)\)`/gm)].map(([, name, given = ""]) => ({
    name,
    given: given.split(", ").map((each) => ["places", "days"].includes(each) ? "2" : '"2025-08-15"').join(
      ", ",
    ),
  }));
  for (const { name, given } of named) {
    const result = compileExpression(`${name}(${given})`);
    assertEquals("problem" in result ? result.problem : "", "", name);
  }
  const source = await Deno.readTextFile(new URL("lib/recipes/expressions/expressions.ts", root));
  const functions = [...source.matchAll(/"(\w+)\([\w, ]+\): \w+"/g)].map(([, name]) => name);
  assertEquals(
    named.map(({ name }) => name),
    functions.toSorted((a, b) =>
      named.findIndex(({ name }) => name === a) - named.findIndex(({ name }) => name === b)
    ),
  );
  const unknown = compileExpression("nothing.there == 1");
  assertEquals("problem" in unknown, true);
  const variables = "problem" in unknown ? unknown.problem.replace(/^.*there are /, "").split(", ") : [];
  for (const name of variables) assertStringIncludes(page, `\`${name}`);
});
