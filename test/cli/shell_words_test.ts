/** Tests that no file or folder name can run anything when a user pastes a command that hsgate printed. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { systemd } from "../../lib/deploy/systemd.ts";
import { shellHint, shellLine } from "../../lib/shell_words.ts";
import { folder } from "./runner_support.ts";
import { spawned } from "./support.ts";

const ignore = Deno.build.os === "windows";

/** Hostile file names; each would create a file named `PWN` if a shell executed it. */
const NAMES = [
  "$(touch PWN).yaml",
  "`touch PWN`.yaml",
  "x'$(touch PWN)'y",
  'x"$(touch PWN)"y',
  "a;touch PWN;b",
  "a && touch PWN",
  "a|touch PWN",
  "a\ntouch PWN\n",
  "<(touch PWN)",
  "!touch",
  "a\\",
  "-yes",
  "~root",
  "ü ${HOME} 名.yaml",
];

/** Pastes a text into a shell, and returns the files that it left and its output. */
async function pasted(shell: string, text: string): Promise<{ names: string[]; out: string }> {
  await using dir = await folder({});
  const { stdout } = await new Deno.Command(shell, { args: ["-c", text], cwd: dir.path }).output();
  const names = Array.from(Deno.readDirSync(dir.path), ({ name }) => name);
  return { names, out: new TextDecoder().decode(stdout) };
}

Deno.test({
  name: "a name in a printed command reaches the program unchanged, and runs nothing",
  ignore,
  async fn() {
    for (const name of NAMES) {
      const word = name.startsWith("-") ? `./${name}` : name;
      assertEquals(await pasted("bash", `printf %s ${shellHint(name)}`), { names: [], out: word }, name);
      assertEquals(await pasted("sh", `printf %s ${shellLine([name])}`), { names: [], out: name }, name);
      // If the user also pastes the double quotes around the command, the command is wrong but harmless.
      assertEquals((await pasted("bash", `"printf %s ${shellHint(name)}"`)).names, [], name);
      assertEquals((await pasted("sh", `printf %s ${shellHint(name)}`)).names, [], name);
    }
  },
});

Deno.test({
  name: "the commands that deploy prints run nothing from a folder's name",
  ignore,
  async fn() {
    for (const name of NAMES.filter((name) => !/[\n]|\\$/.test(name))) {
      const dir = `/srv/${name}`;
      const { next } = systemd([], {
        calendars: builtInCalendars,
        deno: `${dir}/deno`,
        denoFlags: ["--config", `${dir}/deno.json`],
        program: `${dir}/tasks/hsgate.ts`,
        dir,
        store: `${dir}/data/hsgate.db`,
        fileOf: ({ file }) => file,
        now: 0,
        denoDir: `${dir}/cache`,
        forUser: false,
        runAs: "hsgate",
      });
      const commands = next.filter((line) => line.startsWith("sudo ") && line.includes("/srv/"));
      assertEquals(commands.length, 3);
      for (const line of commands) {
        // Interactive zsh has no comments, so the text after "#" runs too.
        const text = `sudo() { :; }; ${line.replaceAll(" # ", " ")}`;
        assertEquals((await pasted("bash", text)).names, [], line);
      }
    }
  },
});

Deno.test({
  name: "the hint to trust a recipe quotes the name of its file, in check and run",
  ignore,
  async fn() {
    await using dir = await folder({});
    const file = "recipes/$(touch PWN).yaml";
    await Deno.mkdir(`${dir.path}/recipes`);
    await Deno.writeTextFile(
      `${dir.path}/${file}`,
      "name: r\nconnect: simulator\nsteps:\n  - { id: x, uses: notify, with: { text: hello, chat: { url: '${secret:x}', style: slack } } }\n" +
        "secrets: { x: { env: X_HOOK } }\n",
    );
    const hint = `hsgate trust $'recipes/\\x24\\x28touch PWN\\x29.yaml'`;
    for (const words of [["check"], ["run", file]]) {
      const { out, err } = await spawned(words, { cwd: dir.path });
      assertStringIncludes(out + err, hint);
    }
  },
});
