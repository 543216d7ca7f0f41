import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { connectConfigured } from "../../lib/client/configured.ts";
import { distrustOf, readOwned } from "../../lib/owned_files.ts";
import { folder } from "./runner_support.ts";
import { envOf, simulate, spawned, start, trustAll } from "./support.ts";

const isRoot = Deno.build.os !== "windows" && Deno.uid() === 0;
const ignore = Deno.build.os === "windows";

const RECIPE = "name: r\nsteps:\n  - { id: f, uses: account.funds, with: { market: hk } }\n";

Deno.test({
  name: "commands reject settings, and files that the settings name, if others could have written them",
  ignore,
  async fn() {
    await using gateway = await simulate();
    await using dir = await folder({
      "hsgate.yaml": `gatewayUrl: ${gateway.info.gatewayUrl}\ntradePasswordFile: ${"PLACE"}/pw\n`,
      "pw": "135790",
      "r.yaml": RECIPE,
    });
    const at = (name: string) => `${dir.path}/${name}`;
    const yaml = Deno.readTextFileSync(at("hsgate.yaml")).replace("PLACE", dir.path);
    Deno.writeTextFileSync(at("hsgate.yaml"), yaml);
    for (const name of ["hsgate.yaml", "pw"]) Deno.chmodSync(at(name), 0o600);
    const config = ["--config", at("hsgate.yaml")];
    const run = (words: string[]) => spawned([...words, ...config, "--json"]);
    // Control: only the user can have written these files.
    const sound = await run(["call", "account.funds", '{"market":"hk"}']);
    assert(!sound.err.includes("Cannot trust"), sound.err);
    const commands = [
      ["call", "account.funds", '{"market":"hk"}'],
      ["doctor"],
      ["quote", "00700.HK"],
      ["run", at("r.yaml"), "--out", dir.path],
      ["next", at("r.yaml")],
      ["calendar", "XHKG"],
    ];
    Deno.chmodSync(at("hsgate.yaml"), 0o620);
    for (const words of commands) {
      const { code, err } = await run(words);
      assertEquals(code, 2, `${words}: ${err}`);
      assertStringIncludes(
        err,
        "others may write to it (mode 0620); if you know what is in it, run: chmod go-w",
      );
      assert(!err.includes("135790"));
    }
    Deno.chmodSync(at("hsgate.yaml"), 0o644);
    Deno.chmodSync(at("pw"), 0o602);
    const secret = await run(commands[0]!);
    assertEquals(secret.code, 2);
    assertStringIncludes(secret.err, `Cannot trust "${dir.path}/pw": others may write to it (mode 0602)`);
    Deno.chmodSync(at("pw"), 0o600);
    Deno.chmodSync(dir.path, 0o757);
    const replaced = await run(commands[0]!);
    assertEquals(replaced.code, 2);
    assertStringIncludes(replaced.err, `others may replace it: they may write to the folder "`);
    // Control: in a sticky folder, others cannot replace the settings file.
    Deno.chmodSync(dir.path, 0o1777);
    assert(!(await run(commands[0]!)).err.includes("Cannot trust"));
    Deno.chmodSync(dir.path, 0o700);
  },
});

Deno.test({
  name: "settings, secret files and calendars of another user are rejected",
  ignore: !isRoot,
  async fn() {
    await using gateway = await simulate();
    await using dir = await folder({
      "hsgate.yaml": `gatewayUrl: ${gateway.info.gatewayUrl}\n`,
      "days.json": "{}",
      "pw": "135790",
    });
    const at = (name: string) => `${dir.path}/${name}`;
    const call = ["call", "account.funds", '{"market":"hk"}', "--config", at("hsgate.yaml")];
    const { HSGATE_TRADE_PASSWORD: _, ...env } = envOf(gateway);
    const named = { ...env, HSGATE_TRADE_PASSWORD_FILE: at("pw"), HSGATE_CALENDARS: at("days.json") };
    for (const name of ["hsgate.yaml", "pw", "days.json"]) {
      Deno.chownSync(at(name), 4711, 4711);
      const words = name === "days.json" ? ["calendar", "XHKG"] : call;
      const { code, err } = await spawned(words, { env: named });
      assertEquals(code, 2, err);
      assertStringIncludes(
        err,
        `Cannot trust "${at(name)}": it belongs to user 4711, and this program runs as`,
      );
      assertStringIncludes(err, `chown 0 ${at(name)}\n`);
      Deno.chownSync(at(name), 0, 0);
    }
    Deno.chownSync(dir.path, 4711, 4711);
    assertStringIncludes(
      (await spawned(call)).err,
      "belongs to user 4711, and this program runs as user 0; move",
    );
    // A link in a folder of root does not help: the file itself is still in the other user's folder.
    await using own = await folder({});
    Deno.symlinkSync(at("hsgate.yaml"), `${own.path}/hsgate.yaml`);
    const linked = await spawned([...call.slice(0, 3), "--config", `${own.path}/hsgate.yaml`]);
    assertStringIncludes(linked.err, "belongs to user 4711");
    Deno.chownSync(dir.path, 0, 0);
    assertEquals((await spawned(call, { env: named })).code, 0);
  },
});

Deno.test({
  name: "connectConfigured() and a recipe's secret reject a file that others can write",
  ignore,
  async fn() {
    await using gateway = await simulate();
    await using dir = await folder({
      "hsgate.yaml": `gatewayUrl: ${gateway.info.gatewayUrl}\n`,
      "hook": "http://127.0.0.1:9/hook",
      "r.yaml": "name: r\nconnect: simulator\nsecrets: { hook: { file: HOOK } }\nsteps:\n" +
        "  - { id: n, uses: notify, with: { text: hello, chat: { url: '${secret:hook}', style: slack } } }\n",
    });
    const path = `${dir.path}/hsgate.yaml`;
    Deno.chmodSync(path, 0o646);
    const env = () => undefined;
    await assertRejects(
      () => connectConfigured({ env, path }),
      TypeError,
      "others may write to it (mode 0646)",
    );
    Deno.chmodSync(path, 0o644);
    await (await connectConfigured({ env, path })).close();
    const recipe = Deno.readTextFileSync(`${dir.path}/r.yaml`).replace("HOOK", `${dir.path}/hook`);
    Deno.writeTextFileSync(`${dir.path}/r.yaml`, recipe);
    await trustAll(`${dir.path}/r.yaml`);
    Deno.chmodSync(`${dir.path}/hook`, 0o666);
    const { code, err } = await spawned(["run", `${dir.path}/r.yaml`]);
    assert(code !== 0, err);
    assertStringIncludes(err, `cannot trust "${dir.path}/hook": others may write to it (mode 0666)`);
  },
});

Deno.test("distrustOf() accepts files of this user and of root that only the owner can write", () => {
  const of = (uid: number | null, mode: number | null) => distrustOf("f", { uid, gid: 7, mode }, 1000);
  for (const mode of [0o600, 0o644, 0o400, 0o755]) {
    assertEquals([of(1000, mode), of(0, mode)], [undefined, undefined]);
    assertStringIncludes(of(1001, mode) ?? "", "belongs to user 1001");
  }
  for (const mode of [0o620, 0o602, 0o666, 0o100664]) {
    assertStringIncludes(of(1000, mode) ?? "", "chmod go-w");
  }
  assertEquals(of(null, null), undefined); // Windows
  // Without a user id, the modes still matter.
  assertEquals(distrustOf("f", { uid: 5, gid: 5, mode: 0o600 }, undefined), undefined);
  assert(distrustOf("f", { uid: 5, gid: 5, mode: 0o606 }, undefined) !== undefined);
});

Deno.test("readOwned() returns undefined for a missing file, and follows the link to a mounted secret", async () => {
  await using dir = await folder({ "data": "secret\n" });
  assertEquals(await readOwned(`${dir.path}/none`), undefined);
  Deno.symlinkSync(`${dir.path}/data`, `${dir.path}/link`);
  Deno.chmodSync(`${dir.path}/data`, 0o440);
  assertEquals(await readOwned(`${dir.path}/link`), { text: "secret\n", mode: 0o100440 });
});

/** A command that takes longer counts as blocked. */
const PATIENCE_MS = 60_000;

/** Runs a command in a folder, and kills it if it waits for too long. */
async function ended(words: readonly string[], cwd: string): Promise<string> {
  const process = start(words, { cwd });
  const timer = setTimeout(() => process.kill("SIGKILL"), PATIENCE_MS);
  const { signal, stdout, stderr } = await process.output();
  clearTimeout(timer);
  assertEquals(signal, null, `hsgate ${words.join(" ")} did not end`);
  return [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
}

Deno.test({
  name: "commands neither wait for a named pipe in place of a file, nor read a huge file",
  ignore,
  async fn() {
    const place = async (name: string) => {
      const dir = await folder({});
      await Deno.mkdir(`${dir.path}/recipes`);
      await Deno.writeTextFile(`${dir.path}/recipes/r.yaml`, RECIPE.replace("\n", "\nconnect: simulator\n"));
      return { ...dir, file: `${dir.path}/${name}` };
    };
    const cases: [name: string, commands: string[][], message: (name: string) => string][] = [
      ["hsgate.yaml", [["check"], ["next"], ["doctor"]], (name) => `Cannot read "${name}": it is`],
      ["hsgate.calendars.json", [["next"], ["run", "r"]], (name) => `Cannot read "${name}": it is`],
      ["recipes/other.yaml", [["check"], ["schedule"]], (name) => `${name}:1:1: it is`],
      ["key.pem", [["keys", "check", "key.pem"]], (name) => `Cannot read "${name}": it is`],
      ["days.json", [["calendar", "update", "days.json"]], (name) => `"${name}": it is`],
    ];
    for (const [name, commands, message] of cases) {
      await using dir = await place(name);
      assert((await new Deno.Command("mkfifo", { args: [dir.file] }).output()).success);
      for (const words of commands) {
        // doctor marks further lines with "|".
        const said = (await ended(words, dir.path)).replaceAll(/\s+(\| )?/g, " ");
        assertStringIncludes(said, `${message(name)} a named pipe: expected a regular file`);
      }
    }
    // A sparse file of three gigabytes, which takes no disk space.
    for (const name of ["hsgate.yaml", "hsgate.calendars.json"]) {
      await using dir = await place(name);
      await Deno.writeTextFile(dir.file, "");
      await Deno.truncate(dir.file, 3 * 1024 ** 3);
      assertStringIncludes(await ended(["next"], dir.path), `Cannot read "${name}": the file is larger than`);
    }
  },
});

Deno.test({
  name: "a day book export does not wait for a named pipe in the folder of a day",
  ignore,
  async fn() {
    await using dir = await folder({});
    await Deno.mkdir(`${dir.path}/day`);
    assert((await new Deno.Command("mkfifo", { args: [`${dir.path}/day/summary.json`] }).output()).success);
    const { summaryIn } = await import("../../lib/day_book/folder/kept_day.ts");
    const error = assertThrows(() => summaryIn(`${dir.path}/day`), TypeError);
    assertStringIncludes(error.message, "it is a named pipe: expected a regular file");
  },
});

Deno.test({
  name: "settings may come from a pipe that a shell passes for <(command)",
  ignore,
  async fn() {
    const program = new URL("../../tasks/hsgate.ts", import.meta.url).pathname;
    const { code, stderr } = await new Deno.Command("bash", {
      args: ["-c", '"$0" run -A "$1" next --config <(echo timeoutMs: 0)', Deno.execPath(), program],
      cwd: new URL("../../", import.meta.url),
    }).output();
    assertEquals(code, 2);
    assertStringIncludes(new TextDecoder().decode(stderr), "timeoutMs (/dev/fd/");
  },
});
