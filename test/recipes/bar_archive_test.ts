import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { Client } from "../../lib/client/client.ts";
import { BrokerError } from "../../lib/errors.ts";
import { archiveBars } from "../../lib/recipes/kinds/bar_archive.ts";

Deno.test("archiveBars() names a file of the archive whose last line is not a bar, and requests nothing", async () => {
  const out = Deno.makeTempDirSync();
  try {
    const folder = `${out}/00700.HK/day`;
    Deno.mkdirSync(folder, { recursive: true });
    for (const line of ["null", "{", "[]", '{"date":{}}', '{"date":"2025-08-15\\n"}']) {
      Deno.writeTextFileSync(`${folder}/2025.jsonl`, `{"date":"2025-08-14"}\n${line}\n`);
      const error = await assertRejects(
        () =>
          archiveBars({
            client: {} as Client, // never used
            security: { type: "hk-stock", symbol: "00700.HK" },
            interval: "day",
            from: "2025-08-01",
            to: "2025-08-15",
            pathOf: (...parts) => [out, ...parts].join("/"),
            signal: new AbortController().signal,
          }),
        BrokerError,
      );
      assertEquals(error.code, "bad-archive");
      assertStringIncludes(error.message, "2025.jsonl");
    }
  } finally {
    Deno.removeSync(out, { recursive: true });
  }
});
