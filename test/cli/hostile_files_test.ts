/**
 * Tests that no command waits for a pipe or reads a device, a socket or a huge file, whether named by the user or
 * found in the working folder.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
import { folder, spawned, trustEnv } from "./support.ts";

const root = new URL("../../", import.meta.url).pathname;
/** Far above the limit of every reader. The file is sparse, so it uses no disk space. */
const HUGE = 3 * 1024 ** 3;
/** A child process that takes longer is blocked by a file. */
const LIMIT_MS = 120_000;

const kinds: Record<string, (path: string) => Promise<Disposable | void>> = {
  "a named pipe": async (path) => {
    assert((await new Deno.Command("mkfifo", { args: [path] }).output()).success);
  },
  "a device": async (path) => await Deno.symlink("/dev/zero", path),
  "a socket": (path) => {
    const listener = Deno.listen({ transport: "unix", path });
    return Promise.resolve({ [Symbol.dispose]: () => listener.close() });
  },
  "a huge file": async (path) => {
    await Deno.create(path).then((file) => file.close());
    await Deno.truncate(path, HUGE);
  },
};

/**
 * Runs all command lines in a folder, with the permissions of the task. Resolves to what went wrong; an empty text if
 * nothing did.
 */
async function faultsOf(args: readonly string[], cwd: string): Promise<string> {
  const flags = config.tasks.hsgate.command.split(" ").filter((word) => word.startsWith("--"));
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-check", ...flags, "--config", `${root}deno.json`],
      ...[new URL("hostile_files_child.ts", import.meta.url).pathname, ...args],
    ],
    cwd,
    env: trustEnv,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  const { success, stdout, stderr } = await child.output();
  const [wrong = "", lines = ""] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  const last = lines.trimEnd().split("\n").at(-1) ?? "";
  return success && /^\d{2,} command lines$/.test(last) ? wrong : `${wrong}ended at: ${last}`;
}

for (const [kind, make] of Object.entries(kinds)) {
  Deno.test({
    name: `no command reads ${kind}, whichever argument or flag names it`,
    ignore: Deno.build.os === "windows",
    fn: async () => {
      await using dir = await folder();
      await using work = await folder();
      using _made = await make(`${dir.path}/it`) ?? { [Symbol.dispose]() {} };
      assertEquals(await faultsOf(["named", `${dir.path}/it`], work.path), "");
    },
  });

  Deno.test({
    name: `no command reads ${kind} in place of a file of the working folder`,
    ignore: Deno.build.os === "windows",
    fn: async () => {
      // A bad settings file stops most commands, so the other files are also tried without it.
      for (const settings of [["hsgate.yaml", "hsgate.calendars.json"], []]) {
        await using dir = await folder();
        await Deno.mkdir(`${dir.path}/recipes`);
        using made = new DisposableStack();
        const beside = ["", "-wal", "-shm", "-journal", ".mark"].map((end) => `hsgate.db${end}`);
        const recipes = ["recipes/a.yaml", "recipes/b.ts", "recipes/c.json"];
        for (const name of [...settings, ...beside, ...recipes, "hsgate.log", "x", "x.yaml"]) {
          const one = await make(`${dir.path}/${name}`);
          if (one) made.use(one);
        }
        assertEquals(await faultsOf(["found"], dir.path), "");
      }
    },
  });
}

Deno.test("inspect and the store name the kind of file that they reject", async () => {
  await using dir = await folder();
  const [pipe, device] = [`${dir.path}/pipe`, `${dir.path}/hsgate.db`];
  await kinds["a named pipe"]!(pipe);
  await kinds["a device"]!(device);
  const inspected = await spawned(["inspect", pipe]);
  assertStringIncludes(inspected.err, `Cannot read "${pipe}": it is a named pipe: expected a regular file`);
  for (const words of [["runs"], ["schedule", "--once"], ["store", "verify"]]) {
    const { code, err } = await spawned(words, { cwd: dir.path });
    assertEquals(code === 0 || err.includes("--allow"), false, err);
    if (words[0] !== "schedule") {
      assertStringIncludes(err, 'Cannot use the store "hsgate.db": it is not a regular file');
    }
  }
});
