import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { Client } from "../../lib/client/client.ts";
import { BrokerError } from "../../lib/errors.ts";
import { archiveBars } from "../../lib/recipes/kinds/bar_archive.ts";

Deno.test("archiveBars() names a file of the archive whose last line is not a bar, and requests nothing", async () => {
  const out = Deno.makeTempDirSync();
  try {
    const folder = `${out}/00700.HK/day`;
    Deno.mkdirSync(folder, { recursive: true });
    for (
      const line of [
        "null",
        "{",
        "[]",
        '{"date":{}}',
        '{"date":"2025-08-15\\n"}',
        '{"date":["2025-08-15"]}',
        '{"date":"2025-08-99"}',
        '{"date":"2031-01-01"}', // of another year than the file
      ]
    ) {
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

/** Returns a client whose broker has one bar a day. `asked` gets the first day of each request. */
function barsClient(days: readonly string[]): { client: Client; asked: string[] } {
  const asked: string[] = [];
  const call = (_: unknown, { start }: { start: string }) => {
    asked.push(start);
    return Promise.resolve({
      bars: days.filter((date) => date >= start).map((date) => ({ date, close: "1" })),
    });
  };
  return { client: { call } as unknown as Client, asked }; // the only member that is used
}

const DAYS = ["2025-08-13", "2025-08-14", "2025-08-15"];

for (
  const { forged, files, asked } of [
    { forged: "after the wanted days", files: { "2025": ["2025-08-13", "2025-12-31"] }, asked: "2025-08-13" },
    {
      forged: "in a later year",
      files: { "2025": ["2025-08-13"], "9999": ["9999-12-31"] },
      asked: "2025-08-13",
    },
  ]
) {
  Deno.test(`archiveBars() continues the archive although a bar was forged ${forged}`, async () => {
    const out = Deno.makeTempDirSync();
    try {
      const folder = `${out}/00700.HK/day`;
      Deno.mkdirSync(folder, { recursive: true });
      for (const [year, days] of Object.entries(files)) {
        const lines = days.map((date) => `${JSON.stringify({ date })}\n`).join("");
        Deno.writeTextFileSync(`${folder}/${year}.jsonl`, lines);
      }
      const broker = barsClient(DAYS);
      const result = await archiveBars({
        client: broker.client,
        security: { type: "hk-stock", symbol: "00700.HK" },
        interval: "day",
        from: "2025-08-01",
        to: "2025-08-15",
        pathOf: (...parts) => [out, ...parts].join("/"),
        signal: new AbortController().signal,
      });
      assertEquals([result.resumedAt, broker.asked[0], result.added, result.lastDay], [
        asked,
        asked,
        3,
        "2025-08-15",
      ]);
      const text = Deno.readTextFileSync(`${folder}/2025.jsonl`);
      assertEquals(text.trim().split("\n").map((line) => JSON.parse(line).date).slice(0, 3), DAYS);
    } finally {
      Deno.removeSync(out, { recursive: true });
    }
  });
}

Deno.test("archiveBars() rejects a file with bars out of order, because it would add days twice", async () => {
  const out = Deno.makeTempDirSync();
  try {
    const folder = `${out}/00700.HK/day`;
    Deno.mkdirSync(folder, { recursive: true });
    const text = ["2025-08-13", "2025-08-14", "2025-01-02"].map((date) => `${JSON.stringify({ date })}\n`)
      .join("");
    Deno.writeTextFileSync(`${folder}/2025.jsonl`, text);
    const error = await assertRejects(() =>
      archiveBars({
        client: barsClient(DAYS).client,
        security: { type: "hk-stock", symbol: "00700.HK" },
        interval: "day",
        from: "2025-08-01",
        to: "2025-08-15",
        pathOf: (...parts) => [out, ...parts].join("/"),
        signal: new AbortController().signal,
      }), BrokerError);
    assertEquals(error.code, "bad-archive");
    assertEquals(Deno.readTextFileSync(`${folder}/2025.jsonl`), text);
  } finally {
    Deno.removeSync(out, { recursive: true });
  }
});
