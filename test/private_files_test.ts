import { assertEquals, assertThrows } from "@std/assert";
import { PRIVATE_FILE, replaceFile } from "../lib/private_files.ts";
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
