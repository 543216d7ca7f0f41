import { assertEquals, assertThrows } from "@std/assert";
import { makePrivate, PRIVATE_FILE, replaceFile } from "../lib/private_files.ts";
import { temporaryFolder } from "./runner/support.ts";

Deno.test("replaceFile() replaces the whole content, only its owner reads it, and nothing else stays", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/file`;
  replaceFile(path, "a longer text");
  replaceFile(path, new Uint8Array([110, 101, 119]));
  assertEquals(Deno.readTextFileSync(path), "new");
  assertEquals(Deno.statSync(path).mode! & 0o777, PRIVATE_FILE);
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["file"]);
});

Deno.test("replaceFile() leaves the old content and no unfinished file when it fails", () => {
  using folder = temporaryFolder();
  Deno.mkdirSync(`${folder.path}/there/inner`, { recursive: true });
  assertThrows(() => replaceFile(`${folder.path}/there`, "new"), Error);
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["there"]);
});

Deno.test({
  name: "makePrivate() leaves the owner's access, takes that of others, and needs no file",
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
