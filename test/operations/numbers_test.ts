import { assertEquals } from "@std/assert";
import { doubleText, int64 } from "../../lib/operations/types.ts";

const pure = { permissions: "none" } as const;

Deno.test(
  "doubleText() writes plain digits that convert back to the same double, even after many other numbers",
  pure,
  () => {
    const bits = new DataView(new ArrayBuffer(8));
    let state = 0x2545_F491;
    const next = () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return state >>> 0;
    };
    const values: number[] = [];
    for (let index = 0; index < 40_000; index++) {
      bits.setUint32(0, next());
      bits.setUint32(4, next());
      // Any double, and prices and amounts as they occur.
      for (const value of [bits.getFloat64(0), next() / 1000, next() * 4096 + index]) {
        // Texts of more than 40 digits test nothing more, and make the test slow.
        if (Number.isFinite(value) && (value === 0 || Math.abs(Math.log10(Math.abs(value))) < 40)) {
          values
            .push(value);
        }
      }
    }
    // Twice, so that each number is converted again after later numbers have replaced its cached text.
    for (const value of [...values, ...values]) {
      const text = doubleText(value)!;
      if (!/^-?\d+(\.\d+)?$/.test(text)) assertEquals(text, "plain digits", String(value));
      if (Number(text) !== value) assertEquals(text, String(value));
    }
  },
);

Deno.test(
  "doubleText() writes the shortest digits and zero without a sign, and returns nothing for NaN and infinity",
  pure,
  () => {
    const cases: [number, string | undefined][] = [
      [592, "592"],
      [13073986777.5, "13073986777.5"],
      [0.1 + 0.2, "0.30000000000000004"],
      [-0, "0"],
      [1e21, "1000000000000000000000"],
      [1.5e-7, "0.00000015"],
      [-2.5, "-2.5"],
      [NaN, undefined],
      [Infinity, undefined],
      [-Infinity, undefined],
    ];
    for (let again = 0; again < 2; again++) {
      for (const [value, text] of cases) assertEquals(doubleText(value), text);
    }
  },
);

Deno.test(
  "int64 decodes a number from its two halves without losing a digit, signed and unsigned",
  pure,
  () => {
    const cases: [bigint, boolean][] = [
      [0n, false],
      [-1n, false],
      [1n, true],
      [-4_294_967_296n, false],
      [9_007_199_254_740_991n, false],
      [9_007_199_254_740_992n, false],
      [9_007_199_254_740_993n, false],
      [-9_007_199_254_740_992n, false],
      [-9_007_199_254_740_993n, false],
      [9_223_372_036_854_775_807n, false],
      [-9_223_372_036_854_775_808n, false],
      [18_446_744_073_709_551_615n, true],
    ];
    for (const [value, unsigned] of cases) {
      const low = Number(BigInt.asIntN(32, value));
      const high = Number(BigInt.asIntN(32, value >> 32n));
      assertEquals(int64.decode({ low, high, unsigned }), String(value));
    }
  },
);
