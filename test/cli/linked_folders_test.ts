/** Tests that a link in somebody else's folder neither shows other files nor decides where files are written. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { linkedOutside } from "../../lib/confined_paths.ts";
import { folder } from "./runner_support.ts";
import { spawned } from "./support.ts";

const ignore = Deno.build.os === "windows";

/** Somebody else's folder, and a place outside it with a secret. */
async function place() {
  const dir = await folder({});
  const path = await Deno.realPath(dir.path);
  for (const name of ["found", "outside"]) await Deno.mkdir(`${path}/${name}`);
  await Deno.writeTextFile(`${path}/outside/r.yaml`, "PRECIOUS: [\n");
  return { ...dir, found: `${path}/found`, outside: `${path}/outside` };
}

Deno.test({
  name: "check, next, schedule, run and trust read nothing through a link that leads out of the folder",
  ignore,
  async fn() {
    await using at = await place();
    await Deno.symlink(at.outside, `${at.found}/recipes`);
    await Deno.symlink(`${at.outside}/r.yaml`, `${at.found}/link.yaml`);
    await Deno.mkdir(`${at.found}/own`);
    await Deno.symlink(`${at.outside}/r.yaml`, `${at.found}/own/link.yaml`);
    const cases = [
      ["check"],
      ["next"],
      ["schedule", "--once"],
      ["check", "recipes"],
      ["check", `${at.found}/recipes`],
      ["check", "recipes/r.yaml"],
      ["check", "link.yaml"],
      ["check", `${at.found}/link.yaml`],
      ["check", "own"],
      ["check", "own/link.yaml"],
      ["trust", "link.yaml", "--yes"],
      ["run", "link.yaml"],
      ["run", "r"],
    ];
    for (const words of cases) {
      const { code, out, err } = await spawned(words, { cwd: at.found });
      assertEquals(code, 2, `${words}: ${out}${err}`);
      assert(!(out + err).includes("PRECIOUS"), `${words}: ${out}${err}`);
      // The error names the link. The only exception is `run r`, which reports that there is no recipe `r`.
      if (words[1] !== "r") assertStringIncludes(out + err, "link", words.join(" "));
    }
    // Control: the file itself can be read if the user names it.
    const { out } = await spawned(["check", `${at.outside}/r.yaml`], { cwd: at.found });
    assertStringIncludes(out, "r.yaml:");
  },
});

Deno.test({
  name: "nothing is written into a folder that a link in the working folder leads to",
  ignore,
  async fn() {
    await using at = await place();
    await Deno.symlink(at.outside, `${at.found}/secrets`);
    const cases = [
      ["keys", "new", "--out", "secrets"],
      ["keys", "new", "--out", "secrets/deeper"],
      ["keys", "new", "--out", `${at.found}/secrets/`],
      ["schema", "--out", "secrets/schema.json"],
      ["store", "backup", "secrets/backup.db"],
      ["store", "copy", "--from", "own.db", "--to", "secrets/copy.db"],
      ["test", "--from", "2025-01-06", "--to", "2025-01-06", "--store", "secrets/test.db"],
      ["test", "--from", "2025-01-06", "--to", "2025-01-06", "--golden", "secrets/g.txt", "--update-golden"],
      ["export", "day-book", "--join", "secrets/all.csv"],
      // If `sim` accepted the link, it would still end, because there is no such host.
      ["sim", "--info", "secrets/sim.json", "--hostname", "host.invalid"],
    ];
    for (const words of cases) {
      const { code, err } = await spawned(words, { cwd: at.found });
      assertEquals(code, 2, `${words}: ${err}`);
      assertStringIncludes(err, `a link leads to "${at.outside}`, words.join(" "));
      assertEquals(Array.from(Deno.readDirSync(at.outside), ({ name }) => name), ["r.yaml"], words.join(" "));
    }
    const { code } = await spawned(["keys", "new", "--out", at.outside], { cwd: at.found });
    assertEquals(code, 0);
    // These commands write to "out" if the user names no folder.
    await Deno.symlink(at.outside, `${at.found}/out`);
    const names = () => Array.from(Deno.readDirSync(at.outside), ({ name }) => name).sort();
    const before = names();
    const days = ["--markets", "hk", "--from", "2025-08-14", "--to", "2025-08-14"];
    for (const words of [["demo"], ["export", "day-book", ...days]]) {
      const { code, err } = await spawned(words, { cwd: at.found });
      assertEquals(code, 2, `${words}: ${err}`);
      assertStringIncludes(err, `a link leads to "${at.outside}`, words.join(" "));
      assertEquals(names(), before, words.join(" "));
    }
    // Without an argument, `init` chooses the name "trading". It writes only into an empty folder.
    const empty = `${at.outside}/empty`;
    await Deno.mkdir(empty);
    await Deno.symlink(empty, `${at.found}/trading`);
    for (const words of [["init"], ["init", "trading"], ["init", "trading/deeper"]]) {
      const { code, err } = await spawned(words, { cwd: at.found });
      assertEquals(code, 2, `${words}: ${err}`);
      assertStringIncludes(err, `a link leads to "${empty}`, words.join(" "));
      assertEquals([...Deno.readDirSync(empty)], [], words.join(" "));
    }
  },
});

Deno.test({
  name: "halt and resume change no file next to a store that a link in the working folder leads to",
  ignore,
  async fn() {
    for (const target of ["missing", "r.yaml"]) {
      await using at = await place();
      const halted = `${at.outside}/${target}.halt`;
      await Deno.writeTextFile(halted, "mine\n");
      await Deno.symlink(`${at.outside}/${target}`, `${at.found}/hsgate.db`);
      for (const words of [["halt", "--why", "theirs"], ["resume"]]) {
        const { code, err } = await spawned(words, { cwd: at.found });
        assertEquals(code === 0, false, `${words}: ${err}`);
        assertStringIncludes(err, 'Cannot use the store "hsgate.db": it is a link to', words.join(" "));
        assertEquals(await Deno.readTextFile(halted), "mine\n", words.join(" "));
      }
      // Control: `resume` uses the store if the user names it with `--store`.
      const named = ["resume", "--store", `${at.found}/hsgate.db`];
      if (target === "missing") assertEquals((await spawned(named, { cwd: at.found })).code, 0);
    }
  },
});

Deno.test({
  name: "only the owner can read the files that keys new, schema and init write, with any umask",
  ignore,
  async fn() {
    await using at = await place();
    const options = { cwd: at.found, umask: 0 };
    await spawned(["keys", "new", "--out", "keys"], options);
    await spawned(["schema", "--out", "schema.json"], options);
    await spawned(["init", "work"], options);
    const open: string[] = [];
    let count = 0;
    const walk = async (path: string) => {
      for await (const { name, isDirectory } of Deno.readDir(path)) {
        const { mode } = await Deno.stat(`${path}/${name}`);
        if ((mode! & 0o077) !== 0) open.push(`${path}/${name}`);
        count++;
        if (isDirectory) await walk(`${path}/${name}`);
      }
    };
    await walk(at.found);
    assertEquals(open, []);
    assert(count > 8, String(count));
  },
});

Deno.test({
  name:
    "for a path outside the working folder, linkedOutside() accepts a link that stays in the folder of that path",
  ignore,
  async fn() {
    await using at = await place();
    await Deno.mkdir(`${at.found}/real`);
    await Deno.symlink(`${at.found}/real`, `${at.found}/current`);
    await Deno.symlink(at.outside, `${at.found}/away`);
    await Deno.symlink(`${at.found}/none`, `${at.found}/broken`);
    for (const name of ["current", "real", "current/new", "broken", "new/deeper"]) {
      assertEquals(linkedOutside(`${at.found}/${name}`), undefined, name);
    }
    assertEquals(linkedOutside(`${at.found}/away`), at.outside);
    assertEquals(linkedOutside(`${at.found}/away/`), at.outside);
    assertEquals(linkedOutside("."), undefined);
    assertEquals(linkedOutside("/"), undefined);
  },
});
