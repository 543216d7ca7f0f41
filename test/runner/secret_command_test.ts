import { assert, assertEquals, assertRejects } from "@std/assert";
import { relative } from "node:path";

import { stepEnvironment } from "../../lib/recipes/own_steps/step_environment.ts";
import { type SecretCommandLimits, secretOfCommand } from "../../lib/runner/run/secret_command.ts";
import { absoluteFolders } from "../../lib/confined_paths.ts";
import { temporaryFolder } from "./support.ts";

const ignore = Deno.build.os === "windows";
const sh = (script: string, limits: SecretCommandLimits = {}) =>
  secretOfCommand("token", ["sh", "-c", script], limits);

/** Waits up to a minute for a process to end; fails if it does not. */
async function untilEnded(pid: number): Promise<void> {
  for (let looks = 0; looks < 600; looks++) {
    const state = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
    if (state === "" || / Z /.test(state)) return; // ended, or a zombie
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`process ${pid} is still running`);
}

Deno.test({
  name: "a secret's command returns its output; errors name the secret and do not show the output",
  ignore,
  async fn() {
    assertEquals(await sh("printf 'hunter2\\n\\n'"), "hunter2");
    assertEquals(await sh("head -c 65536 /dev/zero | tr '\\0' x").then((text) => text.length), 65_536);
    const cases: [string, string][] = [
      ["echo hunter2; exit 3", "failed with exit code 3"],
      ["echo hunter2; kill -9 $$", "failed with exit code 137"],
      ["echo hunter2; head -c 65536 /dev/zero", "printed more than 64 KiB"],
      ["while :; do echo hunter2; done", "printed more than 64 KiB"],
    ];
    for (const [script, why] of cases) {
      const error = await assertRejects(() => sh(script), TypeError, why);
      assertEquals(error.message, `Cannot read secret "token": its command "sh" ${why}`);
    }
    const none = () => secretOfCommand("token", ["/no/such/program", "hunter2"]);
    const error = await assertRejects(none, TypeError, 'its command "/no/such/program" does not exist');
    assert(!error.message.includes("hunter2"));
  },
});

Deno.test({
  name: "a secret's command that does not end is killed with all processes that it has started",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const file = await Deno.makeTempFile();
    try {
      const script = `sleep 1000 & echo $! > ${file}; echo hunter2; wait`;
      const late = await assertRejects(
        () => sh(script, { timeoutMs: 3_000 }),
        TypeError,
        "did not end within 3 s",
      );
      assert(!late.message.includes("hunter2"));
      await untilEnded(Number(await Deno.readTextFile(file)));
      // A background process does not delay the end of its command, and is ended with it.
      assertEquals(await sh(`sleep 1000 & echo $! > ${file}; echo hunter2`), "hunter2");
      await untilEnded(Number(await Deno.readTextFile(file)));
      const stop = new AbortController();
      const stopped = sh(`echo $$ > ${file}; sleep 1000`, { signal: stop.signal });
      stop.abort(new Error("Ctrl-C"));
      await assertRejects(() => stopped, Error, "Ctrl-C");
    } finally {
      await Deno.remove(file);
    }
  },
});

Deno.test({
  name: "a secret's command and a step's process find no program in a relative folder of the search path",
  ignore,
  async fn() {
    using folder = temporaryFolder();
    Deno.writeTextFileSync(`${folder.path}/printf-own`, "#!/bin/sh\necho from the folder\n", { mode: 0o755 });
    const path = absoluteFolders(Deno.env.get("PATH")!);
    const own = (searchPath: string) => secretOfCommand("token", ["printf-own"], { searchPath });
    const here = relative(Deno.cwd(), folder.path);
    for (const entry of ["", here, `.//${here}`]) {
      const searchPath = `${entry}:${path}`;
      await assertRejects(() => own(searchPath), TypeError, "does not exist");
      assertEquals(await sh('command -v printf-own || echo "$PATH"', { searchPath }), path);
      assertEquals(stepEnvironment({ PATH: searchPath }, {}).PATH, path);
    }
    assertEquals(await own(`${folder.path}:${path}`), "from the folder");
    assertEquals(absoluteFolders(":.:bin"), "/usr/bin:/bin");
  },
});
