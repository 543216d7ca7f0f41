import { assertEquals, assertThrows } from "@std/assert";
import { securityOf } from "../../lib/client/security.ts";

// Kinds by the API document 2.2.
const kinds: [string, string][] = [
  ["00700.HK", "hk-stock"],
  ["9988.HK", "hk-stock"],
  ["600519.SH", "a-share-stock"],
  ["000333.SZ", "a-share-stock"],
  ["688001.SH", "star-board-stock"],
  ["688981.SH", "star-board-stock"],
  ["510300.SH", "a-share-etf"],
  ["AAPL", "us-stock"],
  ["BRK.B", "us-stock"],
  ["T", "us-stock"],
  ["HK", "us-stock"], // not the suffix of Hong Kong
  ["HSI2508.HK", "hk-index-future"],
  ["MHIZ5.HK", "hk-index-future"],
  ["AAPL250815C2300000", "us-option"],
  ["AAPL250815P01000", "us-option"],
  // The reference data does not have these two funds, so they count as stocks.
  ["02800.HK", "hk-stock"],
  ["SPY", "us-stock"],
];
for (const [symbol, type] of kinds) {
  Deno.test(`securityOf() returns the type ${type} for "${symbol}"`, () => {
    assertEquals(String(securityOf(symbol).type), type);
    assertEquals(securityOf(symbol).symbol, symbol);
  });
}

for (const symbol of ["", "VOD.L", "700.XX", "aapl", "600519", "ABC.HK"]) {
  Deno.test(`securityOf() does not guess the type of "${symbol}"`, () => {
    assertThrows(() => securityOf(symbol), TypeError, `Cannot recognize "${symbol}": `);
  });
}
