import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { lastingDeno } from "../../tasks/commands/deploy/lasting_deno.ts";

Deno.test({
  name:
    "lastingDeno() copies a Deno that is in a package cache, once, and leaves every other Deno where it is",
  ignore: Deno.build.os === "windows",
  async fn() {
    const place = await Deno.makeTempDir();
    try {
      const notes: string[] = [];
      const host = {
        env: (name: string) => name === "XDG_DATA_HOME" ? `${place}/data` : undefined,
        note: (text: string) => void notes.push(text),
      };
      const cached = `${place}/.npm/_npx/1f/node_modules/deno/deno`;
      await Deno.mkdir(cached.replace(/\/deno$/, ""), { recursive: true });
      await Deno.writeTextFile(cached, "a program");
      const path = `${place}/data/hsgate/deno-${Deno.version.deno}/deno`;
      assertEquals(lastingDeno(host, cached), path);
      assertEquals(await Deno.readTextFile(path), "a program");
      assertEquals((await Deno.stat(path)).mode! & 0o777, 0o755);
      await Deno.remove(cached);
      assertEquals(lastingDeno(host, cached), path);
      assertEquals(notes, [`hsgate: copied Deno to "${path}", because "${cached}" is in a cache`]);
      assertEquals(lastingDeno(host, "/usr/lib/node_modules/deno/deno"), "/usr/lib/node_modules/deno/deno");

      await Deno.chmod(path.replace(/\/deno$/, ""), 0o777);
      const { message } = assertThrows(() => lastingDeno(host, cached), Error) as Error;
      assertStringIncludes(message, "another user can write into it");
    } finally {
      await Deno.remove(place, { recursive: true });
    }
  },
});
