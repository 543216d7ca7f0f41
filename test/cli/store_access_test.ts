/** Tests of a store that cannot be opened: the error gives the true cause, the path, and what to do. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { cli, folder } from "./support.ts";

const RECIPE =
  "name: x\nconnect: simulator\nsteps: [{ id: funds, uses: account.funds, with: { market: hk } }]\n";

/** Runs a command line with a store, and returns its output. */
async function said(words: readonly string[], recipe: string, store: string) {
  const { code, err } = await cli([...words, "--store", store], {
    files: { [recipe]: RECIPE },
    now: Date.now,
  });
  return { code, err };
}

const cannot = (store: string, why: string) => ({
  code: 1,
  err: `hsgate: Cannot use the store "${store}": ${why}\n`,
});

Deno.test("the error for a store in a missing folder, or for a store that is not a file, names the cause and what to do", async () => {
  await using dir = await folder();
  const recipe = `${dir.path}/x.yaml`;
  await Deno.writeTextFile(recipe, RECIPE);
  const run = ["run", recipe];
  assertEquals(
    await said(run, recipe, `${dir.path}/none/l.db`),
    cannot(
      `${dir.path}/none/l.db`,
      `its folder "${dir.path}/none" does not exist; create the folder, or name another store with --store`,
    ),
  );
  assertEquals(
    await said(run, recipe, dir.path),
    cannot(dir.path, "it is a folder; name a file with --store"),
  );
  assertEquals(
    await said(run, recipe, `${recipe}/l.db`),
    cannot(`${recipe}/l.db`, `"${recipe}" is not a folder; name another store with --store`),
  );
  // Control: the same run with a store that can be created.
  const { code, err } = await said(run, recipe, `${dir.path}/l.db`);
  assertEquals([code, err.includes("Cannot")], [0, false]);
});

/** Mounts a small file system; only root may do that. */
function mount(options: string, path: string): boolean {
  try {
    const args = ["-t", "tmpfs", "-o", `mode=0700,${options}`, "tmpfs", path];
    return new Deno.Command("mount", { args, stderr: "null" }).outputSync().success;
  } catch {
    return false; // the program does not exist
  }
}

/** Fills a disk. */
function fill(disk: string): void {
  using file = Deno.openSync(`${disk}/fill`, { write: true, create: true });
  try {
    for (;;) file.writeSync(new Uint8Array(4096));
  } catch {
    // The disk is full now.
  }
}

Deno.test("for a store on a read-only or full disk, the error says so and what to do", async () => {
  await using dir = await folder();
  const disk = `${dir.path}/disk`;
  await Deno.mkdir(disk);
  if (!mount("size=2m", disk)) return; // this user may not mount
  try {
    const recipe = `${disk}/x.yaml`;
    await Deno.writeTextFile(recipe, RECIPE);
    const store = `${disk}/l.db`;
    const run = ["run", recipe];
    const readOnly = (path: string) => `the disk of "${path}" is read-only; mount it for writing`;
    mount("remount,ro", disk);
    const fresh = await said(run, recipe, store);
    assertEquals(fresh.code, 1);
    assertStringIncludes(fresh.err, `Cannot use the store "${store}": ${readOnly(disk)}`);
    mount("remount,rw", disk);
    assertEquals((await said(run, recipe, store)).code, 0);
    mount("remount,ro", disk);
    for (const words of [run, ["runs"]]) {
      const { code, err } = await said(words, recipe, store);
      assertEquals(code, 1);
      assertStringIncludes(err, `Cannot use the store "${store}": ${readOnly(store)}`);
    }
    mount("remount,rw", disk);
    fill(disk);
    const full = await said(run, recipe, `${disk}/n.db`);
    assertEquals(full.code, 1);
    assertStringIncludes(full.err, "is full; free some space");
    // For an existing store on a full disk, SQLite reports an I/O error or a full disk.
    const old = await said(run, recipe, store);
    assertEquals(old.code, 1);
    assertStringIncludes(
      old.err,
      `Cannot use the store "${store}": the disk of "${disk}" is full; free some space`,
    );
  } finally {
    new Deno.Command("umount", { args: [disk] }).outputSync();
  }
});

Deno.test("the error of a failed backup names the backup file and the cause, not the store", async () => {
  await using dir = await folder();
  const recipe = `${dir.path}/x.yaml`;
  await Deno.writeTextFile(recipe, RECIPE);
  const store = `${dir.path}/l.db`;
  assertEquals((await said(["run", recipe], recipe, store)).code, 0);
  const backup = (to: string) => said(["store", "backup", to], recipe, store);
  const cannotWrite = (to: string, why: string) => ({
    code: 1,
    err: `hsgate: Cannot write the backup "${to}": ${why}\n`,
  });
  const missing = `${dir.path}/none/copy.db`;
  assertEquals(
    await backup(missing),
    cannotWrite(
      missing,
      `its folder "${dir.path}/none" does not exist; create the folder, or name another file for the backup`,
    ),
  );
  const within = `${recipe}/copy.db`;
  assertEquals(
    await backup(within),
    cannotWrite(within, `"${recipe}" is not a folder; name another file for the backup`),
  );
  const disk = `${dir.path}/disk`;
  await Deno.mkdir(disk);
  if (mount("size=1m", disk)) {
    try {
      fill(disk);
      const to = `${disk}/copy.db`;
      assertEquals(await backup(to), cannotWrite(to, `the disk of "${disk}" is full; free some space`));
      assertEquals([...Deno.readDirSync(disk)].map(({ name }) => name), ["fill"]);
      mount("remount,ro", disk);
      const readOnly = await backup(to);
      assertStringIncludes(
        readOnly.err,
        `Cannot write the backup "${to}": the disk of "${disk}" is read-only`,
      );
      assertEquals(readOnly.err.includes(store), false);
    } finally {
      new Deno.Command("umount", { args: [disk] }).outputSync();
    }
  }
  // Control: a target that can be written.
  assertEquals((await backup(`${dir.path}/copy.db`)).code, 0);
});
