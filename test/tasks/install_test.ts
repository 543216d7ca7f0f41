/** Tests of `deno task install`. */
import { assert, assertEquals } from "@std/assert";

Deno.test({
  name: "deno task install replaces a link, and does not change the file to which the link leads",
  ignore: Deno.build.os === "windows",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "hsgate-install-" });
    try {
      await Deno.mkdir(`${folder}/bin`);
      await Deno.writeTextFile(`${folder}/other`, "precious", { mode: 0o600 });
      await Deno.symlink(`${folder}/other`, `${folder}/bin/hsgate`);
      const { code, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "--frozen",
          "--allow-read",
          "--allow-env",
          "--allow-write",
          "tasks/install.ts",
          "--root",
          folder,
        ],
        cwd: new URL("../../", import.meta.url),
      }).output();
      assertEquals(code, 0, new TextDecoder().decode(stderr));
      assertEquals(await Deno.readTextFile(`${folder}/other`), "precious");
      assertEquals((await Deno.stat(`${folder}/other`)).mode! & 0o777, 0o600);
      const info = await Deno.lstat(`${folder}/bin/hsgate`);
      assertEquals([info.isSymlink, info.mode! & 0o777], [false, 0o755]);
      assert((await Deno.readTextFile(`${folder}/bin/hsgate`)).startsWith("#!/bin/sh\n"));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
