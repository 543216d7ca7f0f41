import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { commands } from "../../tasks/commands/table.ts";
import { type Candidate, complete } from "../../tasks/terminal/complete.ts";
import { hasProgram } from "../support/programs.ts";
import { cli, envOf, folder as tempFolder, simulate, storeEnv } from "./support.ts";

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname);
const names: Readonly<Record<string, string[]>> = {
  RECIPE: ["end_of_day", "weekly_report", "--yes"],
  OPERATION: ["orders.place", "orders.cancel"],
};
const namesOf = (kind: string) => Promise.resolve(names[kind] ?? []);

/** Returns the words that can complete a line. */
const wordsAfter = async (line: string): Promise<string[]> =>
  (await complete(commands, line.split(" "), namesOf)).map(({ word }: Candidate) => word);

Deno.test("complete() names every command by its first word, and help", async () => {
  const first = new Set([...commands.map(({ name }) => name.split(" ")[0]!), "help"]);
  assertEquals(new Set(await wordsAfter("")), first);
  assertEquals(await wordsAfter("sched"), ["schedule"]);
  assertEquals(await wordsAfter("help sched"), ["schedule"]);
});

Deno.test("complete() names the further words of a command", async () => {
  assertEquals(await wordsAfter("keys "), ["new", "check"]);
  assertEquals(await wordsAfter("export "), ["day-book"]);
  assertEquals(await wordsAfter("runs "), ["show", "end_of_day", "weekly_report"]);
});

for (const command of commands) {
  Deno.test(`complete() names the flags of hsgate ${command.name} and no others`, async () => {
    const { out } = await cli([...command.name.split(" "), "--help"]);
    const shown = [...out.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag]) => flag!);
    assertEquals(await wordsAfter(`${command.name} --`), shown);
  });
}

Deno.test("complete() names recipes, operations and the words of a usage line", async () => {
  assertEquals(await wordsAfter("run "), ["end_of_day", "weekly_report"]);
  assertEquals(await wordsAfter("run --json w"), ["weekly_report"]);
  assertEquals(await wordsAfter("run end_of_day "), []);
  assertEquals(await wordsAfter("notify --test e"), ["end_of_day"]);
  assertEquals(await wordsAfter("call orders.p"), ["orders.place"]);
  assertEquals(await wordsAfter("resolve some-key f"), ["failed"]);
  assertEquals(await wordsAfter("deploy end_of_day w"), ["weekly_report"]);
});

Deno.test("complete() names the values of a flag, after a space or an equals sign", async () => {
  const systems = ["crontab", "systemd", "kubernetes", "deno-cron"];
  assertEquals(await wordsAfter("deploy --to "), systems);
  assertEquals(await wordsAfter("deploy --to=s"), ["--to=systemd"]);
  assertEquals(await wordsAfter("deploy --to = s"), ["systemd"], "bash breaks words there");
  assertEquals(await wordsAfter("deploy --to ="), systems);
  assertEquals(await wordsAfter("--transport d"), ["direct"]);
  assertEquals(await wordsAfter("--transport direct ru"), ["run", "runs"]);
  assertEquals(await wordsAfter("run --config "), [], "the shell completes files by itself");
});

/** A folder with recipes, some with names that would be harmful on a command line. */
function folder(): { path: string } & Disposable {
  const path = Deno.makeTempDirSync({ prefix: "hsgate-completion-" });
  Deno.mkdirSync(`${path}/recipes`);
  for (
    const name of ["month_end.yaml", "x;touch harm;.yaml", "$(touch harm).yaml", "a\tb.yaml", "own_step.ts"]
  ) {
    Deno.writeTextFileSync(`${path}/recipes/${name}`, "not a recipe: completion does not read this file");
  }
  Deno.symlinkSync("/etc/hosts", `${path}/recipes/outside.yaml`);
  return { path, [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }) };
}

/** Writes the completion of a shell to the file `completion` in a folder, and runs this shell there. */
async function shell(name: string, args: readonly string[], cwd: string): Promise<string> {
  const { code, out } = await cli(["completion", name]);
  assertEquals(code, 0);
  Deno.writeTextFileSync(`${cwd}/completion`, out);
  const { stdout, stderr } = await new Deno.Command(name, { args: [...args], cwd, env: { HOME: cwd } })
    .output();
  assertEquals(new TextDecoder().decode(stderr), "");
  return new TextDecoder().decode(stdout);
}

Deno.test("hsgate completion bash completes in bash, and offers no name that a shell would run", async () => {
  using made = folder();
  const script = `source ./completion
    ask() { COMP_WORDS=(hsgate "$@"); COMP_CWORD=$#; _hsgate; echo "$* -> \${COMPREPLY[*]}"; }
    ask sched; ask run ""; ask deploy --to = ku; ask call orders.pl; ask check ""
    type -t hsgate; declare -f hsgate | grep -o DENO_NO_UPDATE_CHECK=1; complete -p hsgate`;
  const lines = (await shell("bash", ["--norc", "-c", script], made.path)).trim().split("\n");
  assertEquals(lines, [
    "sched -> schedule",
    "run  -> month_end",
    "deploy --to = ku -> kubernetes",
    "call orders.pl -> orders.place",
    "check  -> ",
    "function",
    "DENO_NO_UPDATE_CHECK=1", // otherwise Deno asks its server for a newer version
    "complete -o default -F _hsgate hsgate",
  ]);
});

Deno.test({
  name: "hsgate completion fish completes in fish",
  ignore: !await hasProgram("fish"),
  fn: async () => {
    using made = folder();
    const script = 'source ./completion; complete -C "hsgate sched"; complete -C "hsgate run "; ' +
      'complete -C "hsgate deploy --to ku"; complete -C "hsgate check comp"';
    const lines = (await shell("fish", ["--no-config", "-c", script], made.path)).trim().split("\n");
    const [schedule = "", ...more] = lines;
    assert(schedule.startsWith("schedule\t"));
    assertEquals(more, ["month_end", "kubernetes", "completion"]);
  },
});

Deno.test({
  name: "hsgate completion zsh completes in zsh",
  ignore: !await hasProgram("zsh"),
  fn: async () => {
    using made = folder();
    // Captures the completions instead of displaying them.
    const script = `compdef() { :; }
      source ./completion
      _describe() { print -r -- "\${(P@)4}"; }
      _files() { print -r -- files; }
      ask() { words=(hsgate "$@"); CURRENT=$#words; _hsgate; }
      ask sched; ask run ""; ask deploy --to ku; ask check ""`;
    const lines = (await shell("zsh", ["-f", "-c", script], made.path)).trim().split("\n");
    const [schedule = "", ...more] = lines;
    assert(schedule.startsWith("schedule:"));
    assertEquals(more, ["month_end:month_end", "kubernetes:kubernetes", "files"]);
  },
});

Deno.test("hsgate completion starts a process that may only read the current folder", async () => {
  const { out } = await cli(["completion", "bash"]);
  const asked = /< <\((.*?) "\$\{COMP/.exec(out)?.[1] ?? "";
  assertEquals(asked.match(/--allow-\S+/g), ["--allow-read=."]);
  for (const flag of ["--no-prompt", "--cached-only", `${root}tasks/hsgate.ts`]) {
    assertStringIncludes(asked, flag);
  }
});

Deno.test("hsgate completion lists the supported shells", async () => {
  const { code, err } = await cli(["completion", "csh"]);
  assertEquals(code, 2);
  assertStringIncludes(err, 'Cannot print a script for the shell "csh": choose one of bash, zsh, fish');
});

for (const shell of ["bash", "zsh", "fish"]) {
  Deno.test(`the script for ${shell} runs this installation, not a task of the current folder`, async () => {
    const { out } = await cli(["completion", shell]);
    assertEquals(/deno task/.test(out), false);
    assertStringIncludes(out, `${root}tasks/hsgate.ts`);
    assertStringIncludes(out, `--config ${root}deno.json`);
  });
}

Deno.test("the hsgate function of the bash script runs no task of the current folder", async () => {
  using dir = folder();
  const tasks = { hsgate: "echo STRANGER" };
  await Deno.writeTextFile(`${dir.path}/deno.json`, JSON.stringify({ tasks }));
  const { out: script } = await cli(["completion", "bash"]);
  const { stdout } = await new Deno.Command("bash", {
    args: ["-c", `${script}\nhsgate --version`],
    cwd: dir.path,
  }).output();
  const text = new TextDecoder().decode(stdout);
  assertEquals([text.includes("STRANGER"), text.startsWith("hsgate ")], [false, true], text);
});

Deno.test("complete() names the topics of the help", async () => {
  const ofHelp = async (line: string) =>
    (await complete(
      commands,
      line.split(" "),
      (kind) => Promise.resolve(kind === "TOPIC" ? ["glossary"] : []),
    ))
      .map(({ word }) => word);
  assertEquals(await ofHelp("help glo"), ["glossary"]);
  assertEquals(await ofHelp("glo"), []);
});

Deno.test("completion names the symbols of the store in the working folder, reads nothing outside it, and waits for no pipe", async () => {
  await using gateway = await simulate();
  await using dir = await tempFolder();
  const env = { ...envOf(gateway), ...storeEnv(dir) };
  for (const symbol of ["00700.HK", "00005.HK"]) {
    const { code, err } = await cli(["buy", "400", symbol, "--limit", "1", "--yes"], { env });
    assert(code === 0 || code === 1, err); // a guard rail may refuse the price; the store has recorded the order
  }
  const words = async (cwd: string): Promise<string[]> => {
    const { success, stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...[
          "run",
          "--quiet",
          "--no-prompt",
          "--cached-only",
          "--allow-read=.",
          "--config",
          `${root}deno.json`,
        ],
        ...[`${root}tasks/hsgate.ts`, "complete", "quote", ""],
      ],
      cwd,
      signal: AbortSignal.timeout(60_000), // a process that waits for a pipe would never end
    }).output();
    assert(success, "it ends by itself");
    return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
  };
  assertEquals((await words(dir.path)).toSorted(), ["00005.HK", "00700.HK"]);
  await using other = await tempFolder();
  await new Deno.Command("mkfifo", { args: [`${other.path}/hsgate.db`] }).output();
  assertEquals(await words(other.path), []);
  await using foreign = await tempFolder();
  const { DatabaseSync } = await import("node:sqlite");
  using db = new DatabaseSync(`${foreign.path}/hsgate.db`);
  db.exec(
    "create view intent as with recursive n(i) as (select 1 union all select i + 1 from n) select i as id, i as params from n",
  );
  assertEquals(await words(foreign.path), []);
  // Completion does not evaluate a computed column, and reads no table whose columns differ from those of a store.
  const slow = "hex(zeroblob(9000000))";
  db.exec(
    `drop view intent; create table intent (id, created_at, params as (${slow} || '"symbol":"AAPL"')); ` +
      `insert into intent (id, created_at) values ${Array(400).fill("(1, 1)").join(", ")}`,
  );
  assertEquals(await words(foreign.path), []);
  db.exec(
    `drop table intent; create table intent (id, params, created_at); insert into intent values (1, '{"symbol":"AAPL"}', 1)`,
  );
  assertEquals(await words(foreign.path), []);
  // SQLite itself opens the journal beside a database, so completion must also not wait for a journal that is a pipe.
  await Deno.copyFile(`${dir.path}/hsgate.db`, `${foreign.path}/hsgate.db`);
  assertEquals((await words(foreign.path)).length, 2);
  await new Deno.Command("mkfifo", { args: [`${foreign.path}/hsgate.db-journal`] }).output();
  assertEquals(await words(foreign.path), []);
});
