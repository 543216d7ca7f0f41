import { assertEquals, assertThrows } from "@std/assert";
import type { Market } from "../../lib/facts/listings.ts";
import { tickTable } from "../../lib/facts/price_rules.ts";
import { gridOf } from "../../lib/simulator/market/grid.ts";
import { toUnits } from "../../lib/simulator/market/packing.ts";

const pure = { permissions: "none" } as const;

/** Returns the tick size at a price, in the units of `toUnits()`. */
const tickAt = (market: Market, date: string, price: string, instrument?: string) =>
  gridOf(market, date, instrument).tick(toUnits(price));

Deno.test("Grid.tick() includes the upper limit of a band in the band", pure, () => {
  assertEquals(tickAt("hk", "2025-08-01", "20.00"), toUnits("0.020"));
  assertEquals(tickAt("hk", "2025-08-01", "20.05"), toUnits("0.050"));
  assertEquals(tickAt("hk", "2025-08-01", "0.01"), toUnits("0.001"));
});

Deno.test("Grid.tick() decreases in Hong Kong on 2025-08-04 and 2026-08-03", pure, () => {
  assertEquals(tickAt("hk", "2025-08-03", "15"), toUnits("0.020"));
  assertEquals(tickAt("hk", "2025-08-04", "15"), toUnits("0.010"));
  assertEquals(tickAt("hk", "2025-08-04", "30"), toUnits("0.020"));
  assertEquals(tickAt("hk", "2026-08-02", "5"), toUnits("0.010"));
  assertEquals(tickAt("hk", "2026-08-03", "5"), toUnits("0.005"));
});

Deno.test("Grid.tick() supports other instruments and markets, and rejects unknown ones", pure, () => {
  assertEquals(tickAt("hk", "2025-08-15", "15", "warrant"), toUnits("0.020"));
  assertEquals(tickAt("hk", "2025-08-15", "15", "etf"), toUnits("0.010"));
  assertEquals(tickAt("hk", "2025-08-15", "25270", "future"), toUnits("1"));
  assertEquals(tickAt("us", "2025-08-15", "0.50"), toUnits("0.0001"));
  assertEquals(tickAt("us", "2025-08-15", "230.82"), toUnits("0.01"));
  assertEquals(tickAt("us", "2025-08-15", "2.99", "option"), toUnits("0.01"));
  assertEquals(tickAt("us", "2025-08-15", "3.00", "option"), toUnits("0.05"));
  assertEquals(tickAt("shenzhen", "2025-08-15", "12.5"), toUnits("0.01"));
  assertThrows(() => tickAt("us", "2025-08-15", "1", "spoon"), RangeError, "no table covers it");
});

// The upper limits of the bands with their tick sizes, copied from the exchanges' notices; `*` means no upper limit.
const HK_2006 = "0.01<0.25:0.001 0.50:0.005 10:0.010 20:0.020 100:0.050 200:0.100 500:0.200 1000:0.500 " +
  "2000:1.000 5000:2.000 9995:5.000";
const HK_2025 = "0.01<0.25:0.001 0.50:0.005 10:0.010 20:0.010 50:0.020 100:0.050 200:0.100 500:0.200 " +
  "1000:0.500 2000:1.000 5000:2.000 9995:5.000";
const HK_2026 = "0.01<0.25:0.001 0.50:0.005 10:0.005 20:0.010 50:0.020 100:0.050 200:0.100 500:0.200 " +
  "1000:0.500 2000:1.000 5000:2.000 9995:5.000";
const HK_ETF = "0.01<1:0.001 5:0.002 10:0.005 20:0.010 100:0.020 200:0.050 500:0.100 1000:0.200 2000:0.500 " +
  "5000:1.000 9999:1.000";
/** Tick size tables, each with two days on which it applies: the first and the last, where they are known. */
const TABLES: readonly [Market, kind: string, steps: string, from: string, to: string][] = [
  ["hk", "stock", HK_2006, "2006-07-24", "2025-08-03"],
  ["hk", "reit", HK_2006, "2006-07-24", "2025-08-03"],
  ["hk", "warrant", HK_2006, "2006-07-24", "2025-08-03"],
  ["hk", "stock", HK_2025, "2025-08-04", "2026-08-02"],
  ["hk", "reit", HK_2025, "2025-08-04", "2026-08-02"],
  ["hk", "stock", HK_2026, "2026-08-03", "2099-12-31"],
  ["hk", "reit", HK_2026, "2026-08-03", "2099-12-31"],
  ["hk", "warrant", HK_2006, "2025-08-04", "2099-12-31"],
  ["hk", "etf", HK_ETF, "2020-06-01", "2099-12-31"],
  ["hk", "future", "0<*:1", "2000-01-03", "2099-12-31"],
  ["us", "stock", "0<0.9999:0.0001 *:0.01", "2000-01-03", "2099-12-31"],
  ["us", "etf", "0<0.9999:0.0001 *:0.01", "2000-01-03", "2099-12-31"],
  ["us", "reit", "0<0.9999:0.0001 *:0.01", "2000-01-03", "2099-12-31"],
  ["us", "option-standard", "0<2.99:0.05 *:0.10", "2000-01-03", "2099-12-31"],
  ["us", "option", "0<2.99:0.01 *:0.05", "2000-01-03", "2099-12-31"],
  ["shanghai", "stock", "0<*:0.01", "2000-01-03", "2099-12-31"],
  ["shenzhen", "reit", "0<*:0.01", "2000-01-03", "2099-12-31"],
  ["shenzhen", "etf", "0<*:0.001", "2000-01-03", "2099-12-31"],
];

Deno.test(
  "tickTable() returns every published band of each table, and throws before the first table",
  pure,
  () => {
    for (const [market, kind, steps, from, to] of TABLES) {
      for (const date of [from, to]) {
        let edge = "";
        const written = tickTable(market, date, kind).map(({ over, upTo, tick }, index) => {
          if (index > 0) assertEquals(over, edge, `${market} ${kind} ${date}: a hole between bands`);
          edge = upTo ?? "*";
          return `${index === 0 ? `${over}<` : ""}${edge}:${tick}`;
        });
        assertEquals(written.join(" "), steps, `${market} ${kind} ${date}`);
      }
    }
    assertThrows(() => tickTable("hk", "2006-07-23"), RangeError, "no table covers it");
    assertThrows(() => tickTable("hk", "2020-05-31", "etf"), RangeError, "no table covers it");
  },
);

Deno.test(
  "Grid.tick() returns the tick size at and just above each upper limit of the Hong Kong table of 2025",
  pure,
  () => {
    const at = (price: string) => tickAt("hk", "2025-08-15", price);
    assertEquals(
      ["0.25", "0.251", "0.50", "0.505", "10", "10.01"].map(at),
      [
        "0.001",
        "0.005",
        "0.005",
        "0.010",
        "0.010",
        "0.010",
      ].map(toUnits),
    );
    assertEquals(
      ["20", "20.01", "50", "50.02", "100", "100.05"].map(at),
      [
        "0.010",
        "0.020",
        "0.020",
        "0.050",
        "0.050",
        "0.100",
      ].map(toUnits),
    );
    assertEquals(
      ["200", "200.1", "500", "500.2", "1000", "1000.5"].map(at),
      [
        "0.100",
        "0.200",
        "0.200",
        "0.500",
        "0.500",
        "1.000",
      ].map(toUnits),
    );
    assertEquals(
      ["2000", "2001", "5000", "5002", "9995", "10000"].map(at),
      [
        "1.000",
        "2.000",
        "2.000",
        "5.000",
        "5.000",
        "5.000",
      ].map(toUnits),
    );
  },
);
