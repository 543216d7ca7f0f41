import { assertEquals } from "@std/assert";
import { doubleText } from "../../lib/wire/numbers.ts";

const pure = { permissions: "none" } as const;

Deno.test(
  "doubleText() writes plain digits that convert back to the same double, after any other number",
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
        // Texts of more than a few hundred digits prove nothing more, and take long.
        if (Number.isFinite(value) && (value === 0 || Math.abs(Math.log10(Math.abs(value))) < 40)) {
          values
            .push(value);
        }
      }
    }
    // Twice, so that remembered texts are read again after others have taken their places.
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
