/** Tests of `.ci/run`. */
import { assert } from "@std/assert";

Deno.test(".ci/run names tests that exist", async () => {
  const root = new URL("../../", import.meta.url);
  const script = await Deno.readTextFile(new URL(".ci/run", root));
  const [list = ""] = /^timed=\([^)]*\)/m.exec(script) ?? [];
  // The shell expands the braces.
  const { stdout } = await new Deno.Command("bash", {
    args: ["-c", `${list}; printf '%s\\n' "\${timed[@]}"`],
  })
    .output();
  const names = new TextDecoder().decode(stdout).trim().split("\n");
  assert(names.length > 20, list);
  for (const name of names) await Deno.stat(new URL(name, root));
});
