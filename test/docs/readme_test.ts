/**
 * Runs the scripts of the README and of two pages against the simulator, with the permissions that they state. Only
 * their addresses are replaced.
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { ShiftedClock } from "../../lib/time.ts";
import { startSimulator } from "../../lib/simulator/mod.ts";
import { assertRuns, expected, pageText, scriptsOf } from "../support/page_scripts.ts";

const root = new URL("../../", import.meta.url);
const readme = pageText("README.md");
const scripts = scriptsOf("README.md", "docs/direct.md", "docs/day_book.md");

Deno.test("the README and two pages contain the scripts that these tests run", () => {
  assertEquals(scripts.map(({ name }) => name), Object.keys(expected));
});

for (const script of scripts) {
  Deno.test(`documented script ${script.name}.ts runs with the permissions that it states`, async () => {
    const folder = await Deno.makeTempDir({ prefix: "hsgate-readme-" });
    try {
      await assertRuns(script, { folder, flags: ["--config", new URL("deno.json", root).pathname] });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("README's two export lines read the file of --info, and the README's command `call` then logs in", async () => {
  await using simulator = await startSimulator({
    seed: 1,
    clock: new ShiftedClock(Date.parse("2025-08-15T10:00:00+08:00")),
    days: 5,
  });
  const lines = readme.split("\n");
  const exports = lines.filter((line) => /^export HSGATE_TRADE_.*sim\.json/.test(line));
  assertEquals(exports.length, 2);
  const [, command = ""] = /^\| `(call [^`]*)`/m.exec(readme) ?? [];
  const folder = await Deno.makeTempDir({ prefix: "hsgate-readme-" });
  await Deno.writeTextFile(`${folder}/sim.json`, JSON.stringify(simulator.info));
  const { code, stdout, stderr } = await new Deno.Command("/bin/sh", {
    args: ["-c", [...exports, `"$DENO" run --no-prompt -A "$HSGATE" ${command} --json`].join("\n")],
    cwd: folder,
    env: {
      DENO: Deno.execPath(),
      HSGATE: new URL("tasks/hsgate.ts", root).pathname,
      HSGATE_GATEWAY_URL: simulator.info.gatewayUrl,
      NO_COLOR: "1",
    },
  }).output();
  await Deno.remove(folder, { recursive: true });
  assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
  assertEquals(JSON.parse(new TextDecoder().decode(stdout)), []);
});

Deno.test("README contains the npx commands for the demo and for the tests", () => {
  assertStringIncludes(readme, "npx -y deno@2.9.6 task demo");
  assertStringIncludes(readme, "npx -y deno@2.9.6 task test");
});
