import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { makePrivate, PRIVATE_FILE, replaceFile } from "../lib/private_files.ts";
import { openSqlite } from "../lib/store/sqlite.ts";
import { temporaryFolder } from "./runner/support.ts";

Deno.test("replaceFile() replaces the whole content, gives access only to the owner, and leaves no temporary file", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/file`;
  replaceFile(path, "a longer text");
  replaceFile(path, new Uint8Array([110, 101, 119]));
  assertEquals(Deno.readTextFileSync(path), "new");
  assertEquals(Deno.statSync(path).mode! & 0o777, PRIVATE_FILE);
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["file"]);
});

Deno.test("replaceFile() leaves no unfinished file when it fails, here because the path is a folder", () => {
  using folder = temporaryFolder();
  Deno.mkdirSync(`${folder.path}/there/inner`, { recursive: true });
  assertThrows(() => replaceFile(`${folder.path}/there`, "new"), Error);
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["there"]);
});

Deno.test({
  name: "makePrivate() keeps the owner's access, removes the access of others, and accepts a missing file",
  ignore: Deno.build.os === "windows",
  fn() {
    using folder = temporaryFolder();
    const path = `${folder.path}/file`;
    makePrivate(path);
    Deno.writeTextFileSync(path, "kept");
    for (
      const [mode, left] of [[0o666, 0o600], [0o644, 0o600], [0o755, 0o700], [0o600, 0o600], [0o440, 0o400]]
    ) {
      Deno.chmodSync(path, mode!);
      makePrivate(path);
      assertEquals(Deno.statSync(path).mode! & 0o777, left);
    }
    assertEquals(Deno.readTextFileSync(path), "kept");
  },
});

Deno.test({
  name: "makePrivate() leaves folders as they are",
  ignore: Deno.build.os === "windows",
  async fn() {
    using folder = temporaryFolder();
    const shared = `${folder.path}/shared`;
    Deno.mkdirSync(shared);
    Deno.chmodSync(shared, 0o755);
    makePrivate(shared);
    await assertRejects(() => openSqlite(shared), Error); // a folder with the name of the store
    assertEquals(Deno.statSync(shared).mode! & 0o777, 0o755);
  },
});

Deno.test({
  name: "makePrivate() refuses a file that others can read and whose mode this user may not change",
  ignore: Deno.build.os !== "linux" || Deno.uid() !== 0,
  async fn() {
    using folder = temporaryFolder();
    const path = `${folder.path}/file`;
    Deno.writeTextFileSync(path, "kept", { mode: 0o644 });
    Deno.chownSync(path, 4711, 4711);
    const code = `import { makePrivate } from ${
      JSON.stringify(import.meta.resolve("../lib/private_files.ts"))
    };
makePrivate(${JSON.stringify(path)});`;
    // Without this capability, root may not change the files of other users either.
    const { success, stderr } = await new Deno.Command("setpriv", {
      args: ["--bounding-set=-fowner", "--inh-caps=-fowner", Deno.execPath(), "eval", "--no-lock", code],
      env: { NO_COLOR: "1" },
    }).output();
    const err = new TextDecoder().decode(stderr);
    assertEquals(success, false, err);
    assertStringIncludes(
      err,
      `TypeError: Cannot write "${path}": other users have access to it, and this user may not change that; let its ` +
        `owner run: chmod go-rwx ${path}`,
    );
    assertEquals(Deno.statSync(path).mode! & 0o777, 0o644);
  },
});
