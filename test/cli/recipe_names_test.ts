import { assertEquals, assertStringIncludes } from "@std/assert";
import { envOf, folder, simulate } from "./runner_support.ts";

const recipe = (name: string) =>
  `name: ${name}
schedule: { calendar: XHKG, at: open+30m }
steps: [{ id: ${name}, uses: orders.today, with: { market: hk } }]
`;

/** Runs the command line in a temporary folder. */
async function within(path: string, words: readonly string[], env: Record<string, string>) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", new URL("../../tasks/hsgate.ts", import.meta.url).pathname, ...words],
    cwd: path,
    env: { ...env, NO_COLOR: "1" },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

Deno.test("commands accept a recipe's own name and its file's name", async () => {
  await using gateway = await simulate({});
  await using dir = await folder({});
  await Deno.mkdir(`${dir.path}/recipes`);
  const write = (name: string, text: string) => Deno.writeTextFile(`${dir.path}/recipes/${name}`, text);
  await write("look_around.yaml", recipe("okrec"));
  // The file `okrec.yaml` contains the recipe `other`. A recipe's own name takes precedence over the name of a file.
  await write("okrec.yaml", recipe("other"));
  const run = (...words: string[]) => within(dir.path, words, envOf(gateway));
  for (
    const [given, name] of [["okrec", "okrec"], ["look_around", "okrec"], ["look-around", "okrec"], [
      "other",
      "other",
    ]]
  ) {
    const { code, out, err } = await run("run", given!, "--json"); // each case has two names
    assertEquals(code, 0, err);
    assertEquals(JSON.parse(out).steps[0].id, name);
  }
  const none = await run("run", "okrek");
  assertEquals(none.code, 2);
  assertStringIncludes(none.err, 'Cannot run "okrek": there is no such recipe; did you mean "okrec"?');

  // Commands that accept files and folders accept the same names.
  for (const words of [["trust", "--yes"], ["check"]]) {
    for (const given of ["okrec", "look_around"]) {
      const named = await run(...words, given, "--json");
      assertEquals([words, given, named.code], [words, given, 0], named.err);
      assertStringIncludes(named.out, "look_around.yaml");
      assertEquals(named.out.includes('"other"'), false, named.out);
    }
    const unknown = await run(...words, "okrek");
    assertEquals(unknown.code, 2);
    assertStringIncludes(unknown.err, 'there is no "okrek"; did you mean "okrec"?');
  }
  const store = ["--store", "store.db"];
  assertEquals((await run("run", "look_around", "--manual", ...store)).code, 0);
  const paused = await run("pause", "look_around", ...store);
  assertEquals([paused.code, paused.out], [0, "okrec is paused\n"], paused.err);
  const resumed = await run("resume", "look_around.yaml", ...store);
  assertStringIncludes(resumed.out, "okrec is resumed from now");
  const runs = await run("runs", "look_around", "--json", ...store);
  assertEquals(JSON.parse(runs.out).length >= 1, true, runs.err);
});
