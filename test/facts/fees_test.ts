import { assert, assertEquals, assertThrows } from "@std/assert";
import { add } from "../../lib/decimal.ts";
import data from "../../lib/facts/data/fees.json" with { type: "json" };
import { type Charge, FEE_MEMBERS } from "../../lib/facts/fee_schedule.ts";
import {
  exampleTariff,
  type FeeInput,
  type FeeItems,
  feeMeter,
  feesOf,
  type Tariff,
} from "../../lib/facts/fees.ts";

const pure = { permissions: "none" } as const;

/** Returns an order with one fill; `"100@400"` means 100 at a price of 400. */
function one(market: FeeInput["market"], date: string, side: "buy" | "sell", fill: string): FeeInput {
  const [quantity = "", price = ""] = fill.split("@");
  return { market, date, side, fills: [{ price, quantity }] };
}

const sumOf = ({ total: _, ...items }: FeeItems): string => add("0.00", ...Object.values(items));

Deno.test(
  "feesOf() charges a Hong Kong order of 40,000 with the settlement fee that applies since 2025-06-30",
  pure,
  () => {
    assertEquals(feesOf(one("hk", "2025-08-15", "buy", "100@400")).order, {
      commission: "12.00",
      stampDutyOrSecFee: "40.00",
      tradingFeeOrTaf: "2.26",
      tradingLevy: "1.08",
      platformFee: "15.00",
      disputeCouncilLevy: "0.06",
      settlementFee: "1.68",
      total: "72.08",
    });
  },
);

Deno.test(
  "feesOf() charges a Hong Kong order of 40,000 with the settlement fee that applied before 2025-06-30",
  pure,
  () => {
    assertEquals(feesOf(one("hk", "2025-06-27", "sell", "100@400")).order, {
      commission: "12.00",
      stampDutyOrSecFee: "40.00",
      tradingFeeOrTaf: "2.26",
      tradingLevy: "1.08",
      platformFee: "15.00",
      disputeCouncilLevy: "0.06",
      settlementFee: "2.00",
      total: "72.40",
    });
  },
);

Deno.test("feesOf() rounds the small levies of a Hong Kong order of 1,000 to the nearest cent", pure, () => {
  const { order } = feesOf(one("hk", "2025-07-02", "buy", "100@10"));
  assertEquals(order.stampDutyOrSecFee, "1.00");
  assertEquals(order.tradingFeeOrTaf, "0.06");
  assertEquals(order.tradingLevy, "0.03");
  assertEquals(order.disputeCouncilLevy, "0.00");
  assertEquals(order.settlementFee, "0.04");
  assertEquals(order.commission, "3.00"); // the minimum
});

Deno.test("feesOf() rounds the regulators' fees of a US sale up to the cent", pure, () => {
  assertEquals(feesOf(one("us", "2026-05-04", "sell", "1000@10")).order, {
    commission: "4.90",
    stampDutyOrSecFee: "0.21",
    tradingFeeOrTaf: "0.20",
    tradingLevy: "0.00",
    platformFee: "5.00",
    auditTrailFee: "0.01", // 0.003 before rounding
    settlementFee: "3.00",
    total: "13.32",
  });
});

Deno.test("feesOf() charges SEC and FINRA fees on sales only", pure, () => {
  const { order } = feesOf(one("us", "2026-05-04", "buy", "1000@10"));
  assertEquals([order.stampDutyOrSecFee, order.tradingFeeOrTaf], ["0.00", "0.00"]);
  assertEquals(order.auditTrailFee, "0.01");
});

Deno.test("feesOf() rounds stamp duty up to the next whole dollar", pure, () => {
  const duty = (fill: string) => feesOf(one("hk", "2025-08-15", "buy", fill)).order.stampDutyOrSecFee;
  assertEquals(duty("100@10.00"), "1.00");
  assertEquals(duty("100@10.01"), "2.00");
  assertEquals(duty("1@0.01"), "1.00");
});

Deno.test("feesOf() uses the stamp duty rate of each day", pure, () => {
  const duty = (date: string) => feesOf(one("hk", date, "buy", "1000@100")).order.stampDutyOrSecFee;
  assertEquals(duty("2021-07-31"), "100.00");
  assertEquals(duty("2021-08-01"), "130.00");
  assertEquals(duty("2023-11-16"), "130.00");
  assertEquals(duty("2023-11-17"), "100.00");
});

Deno.test(
  "feesOf() exempts ETFs, structured products and, since 2024-12-21, REITs from stamp duty",
  pure,
  () => {
    const duty = (instrument: FeeInput["instrument"], date: string) =>
      feesOf({ ...one("hk", date, "buy", "1000@100"), instrument }).order.stampDutyOrSecFee;
    assertEquals(duty("etf", "2025-08-15"), "0.00");
    assertEquals(duty("structured", "2025-08-15"), "0.00");
    assertEquals(duty("reit", "2024-12-20"), "100.00");
    assertEquals(duty("reit", "2024-12-21"), "0.00");
  },
);

Deno.test("feesOf() adds the trading tariff to the trading fee until the end of 2022", pure, () => {
  const fee = (date: string) => feesOf(one("hk", date, "buy", "1000@100")).order.tradingFeeOrTaf;
  assertEquals(fee("2022-12-31"), "5.50"); // 5.00 and 0.50
  assertEquals(fee("2023-01-01"), "5.65");
});

Deno.test("feesOf() returns an AFRC levy of zero before 2022", pure, () => {
  const levy = (date: string) => feesOf(one("hk", date, "buy", "1000@100")).order.disputeCouncilLevy;
  assertEquals([levy("2021-12-31"), levy("2022-01-01")], ["0.00", "0.15"]);
});

Deno.test("feesOf() keeps the old settlement fee between 2 and 100, but not the new fee", pure, () => {
  const fee = (date: string, fill: string) => feesOf(one("hk", date, "buy", fill)).order.settlementFee;
  assertEquals(fee("2025-06-29", "100@10"), "2.00");
  assertEquals(fee("2025-06-29", "100000@100"), "100.00");
  assertEquals(fee("2025-06-30", "100000@100"), "420.00");
});

Deno.test("feesOf() uses the SEC fee rate of each day", pure, () => {
  const fee = (date: string) => feesOf(one("us", date, "sell", "1000@100")).order.stampDutyOrSecFee;
  assertEquals(fee("2024-05-21"), "0.80");
  assertEquals(fee("2024-05-22"), "2.78");
  assertEquals(fee("2025-05-13"), "2.78");
  assertEquals(fee("2025-05-14"), "0.00");
  assertEquals(fee("2026-04-03"), "0.00");
  assertEquals(fee("2026-04-04"), "2.06");
});

Deno.test("feesOf() uses FINRA's fee rate of each day, with its cap and its months at zero", pure, () => {
  const fee = (date: string, fill = "1000@100") =>
    feesOf(one("us", date, "sell", fill)).order.tradingFeeOrTaf;
  assertEquals(fee("2023-12-31"), "0.15"); // 0.145
  assertEquals(fee("2024-01-01"), "0.17"); // 0.166
  assertEquals(fee("2024-01-01", "1@100"), "0.01");
  assertEquals(fee("2025-12-31", "60000@1"), "8.30");
  assertEquals(fee("2026-01-01", "60000@1"), "9.79");
  assertEquals([fee("2026-09-30"), fee("2026-10-01"), fee("2027-01-01")], ["0.20", "0.00", "0.20"]);
});

Deno.test("feesOf() sums the audit trail fee over the order before rounding", pure, () => {
  const fills = Array.from({ length: 3 }, () => ({ price: "10", quantity: "1000" }));
  const { perFill, order } = feesOf({ market: "us", date: "2024-10-01", side: "buy", fills });
  assertEquals(order.auditTrailFee, "0.15"); // 3000 at 0.000048 is 0.144
  assertEquals(perFill.map(({ auditTrailFee }) => auditTrailFee), ["0.15", "0.00", "0.00"]);
  const fee = (date: string) => feesOf(one("us", date, "buy", "100000@1")).order.auditTrailFee;
  assertEquals(fee("2024-08-31"), "0.00");
  assertEquals(fee("2024-09-30"), "3.50");
  assertEquals([fee("2025-11-30"), fee("2025-12-01")], ["2.20", "0.00"]);
  assertEquals([fee("2026-04-30"), fee("2026-05-01")], ["0.00", "0.30"]);
});

Deno.test("feesOf() applies the minimum of the US commission if its maximum is lower", pure, () => {
  const fees = (fill: string) => {
    const { commission, platformFee, settlementFee } = feesOf(one("us", "2025-08-15", "buy", fill)).order;
    return [commission, platformFee, settlementFee];
  };
  assertEquals(fees("1@100"), ["0.99", "1.00", "0.00"]);
  // Commission and platform fee are at most half a percent each; the settlement fee is at most one percent.
  assertEquals(fees("10000@0.10"), ["5.00", "5.00", "10.00"]);
  assertEquals(fees("1000@0.01"), ["0.99", "1.00", "0.10"]);
});

Deno.test("feesOf() charges a northbound sale, with both transfer fees in one item", pure, () => {
  assertEquals(feesOf(one("shanghai", "2025-08-15", "sell", "100@1500")).order, {
    commission: "45.00",
    stampDutyOrSecFee: "75.00",
    tradingFeeOrTaf: "5.12", // 5.115
    tradingLevy: "3.00",
    platformFee: "15.00",
    settlementFee: "4.50", // 1.50 and 3.00
    total: "147.62",
  });
  const shenzhen = feesOf(one("shenzhen", "2025-08-15", "sell", "100@1500"));
  assertEquals(shenzhen, feesOf(one("shanghai", "2025-08-15", "sell", "100@1500")));
});

Deno.test("feesOf() uses the mainland's rates of 2022 and 2023, and charges ETFs only two fees", pure, () => {
  const fees = (date: string, side: "buy" | "sell" = "sell") => {
    const { order } = feesOf(one("shenzhen", date, side, "1000@100"));
    return [order.stampDutyOrSecFee, order.tradingFeeOrTaf, order.settlementFee];
  };
  assertEquals(fees("2022-04-28"), ["100.00", "4.87", "4.00"]);
  assertEquals(fees("2022-04-29"), ["100.00", "4.87", "3.00"]);
  assertEquals(fees("2023-08-27"), ["100.00", "4.87", "3.00"]);
  assertEquals(fees("2023-08-28"), ["50.00", "3.41", "3.00"]);
  assertEquals(fees("2023-08-28", "buy"), ["0.00", "3.41", "3.00"]);
  const { order } = feesOf({ ...one("shanghai", "2025-08-15", "sell", "1000@100"), instrument: "etf" });
  assertEquals(
    [order.stampDutyOrSecFee, order.tradingFeeOrTaf, order.tradingLevy, order.settlementFee],
    ["0.00", "4.00", "0.00", "2.00"],
  );
});

Deno.test("feesOf() charges US options per contract of 100 shares", pure, () => {
  assertEquals(feesOf(one("us-option", "2025-03-03", "sell", "10@2.35")).order, {
    commission: "6.50",
    stampDutyOrSecFee: "0.07", // 2,350 at 0.0000278 is 0.06533
    tradingFeeOrTaf: "0.03", // 0.0279
    optionRegulatoryFee: "0.28", // 0.2815
    optionClearingFee: "0.25",
    platformFee: "3.00",
    auditTrailFee: "0.04", // 1,000 shares at 0.000035
    total: "10.17",
  });
  const small = feesOf(one("us-option", "2025-03-03", "buy", "1@0.05")).order;
  assertEquals([small.commission, small.platformFee, small.optionRegulatoryFee], ["1.99", "1.00", "0.03"]);
});

Deno.test("feesOf() uses the option fee rates of each day", pure, () => {
  const fees = (date: string) => {
    const { order } = feesOf(one("us-option", date, "sell", "1000@1"));
    return [order.tradingFeeOrTaf, order.optionRegulatoryFee, order.optionClearingFee];
  };
  assertEquals(fees("2024-12-31"), ["2.79", "29.05", "20.00"]);
  assertEquals(fees("2025-01-01"), ["2.79", "29.05", "25.00"]);
  assertEquals(fees("2025-12-15"), ["2.79", "28.15", "0.00"]);
  assertEquals(fees("2026-06-30"), ["3.29", "28.15", "25.00"]);
  assertEquals(fees("2026-07-01"), ["3.29", "12.20", "25.00"]);
  assertEquals(feesOf(one("us-option", "2024-12-31", "buy", "5000@1")).order.optionClearingFee, "55.00");
});

Deno.test("feesOf() charges index futures by product, given by name or by symbol", pure, () => {
  const trade = one("hk-future", "2025-08-15", "buy", "2@25000");
  assertEquals(feesOf({ ...trade, futureProduct: "HSI" }).order, {
    commission: "60.00",
    tradingFeeOrTaf: "20.00",
    tradingLevy: "1.08",
    total: "81.08",
  });
  assertEquals(feesOf({ ...trade, symbol: "MHI2508.HK" }).order, {
    commission: "10.00",
    tradingFeeOrTaf: "7.00",
    tradingLevy: "0.20",
    total: "17.20",
  });
  assertEquals(feesOf({ ...trade, symbol: "HTI2508.HK" }).order.total, "51.08"); // 40, 10 and 1.08
  assertThrows(() => feesOf(trade), TypeError, "name its product or its symbol");
  assertThrows(() => feesOf({ ...trade, futureProduct: "XYZ" }), RangeError, "hk-future XYZ on 2025-08-15");
});

Deno.test(
  "feesOf() rounds exchange fees per fill, and puts the broker's fees on the first fill",
  pure,
  () => {
    const fills = [{ price: "10.01", quantity: "100" }, { price: "10.01", quantity: "100" }];
    const { perFill, order } = feesOf({ market: "hk", date: "2025-08-15", side: "buy", fills });
    assertEquals(perFill.map(({ stampDutyOrSecFee }) => stampDutyOrSecFee), ["2.00", "2.00"]);
    assertEquals(order.stampDutyOrSecFee, "4.00");
    assertEquals(perFill.map(({ commission }) => commission), ["3.00", "0.00"]);
    assertEquals(perFill.map(({ platformFee }) => platformFee), ["15.00", "0.00"]);
  },
);

Deno.test("feesOf() uses a given tariff, even one without a platform fee", pure, () => {
  const free: Tariff = { ...exampleTariff, hk: { commission: { rate: "0", per: "amount", min: "3" } } };
  const { order } = feesOf(one("hk", "2025-08-15", "buy", "100@400"), free);
  assertEquals([order.commission, order.platformFee, order.total], ["0.00", undefined, "45.08"]);
});

Deno.test("feesOf() returns zero for every item if there are no fills", pure, () => {
  const { perFill, order } = feesOf({ market: "us", date: "2025-08-15", side: "buy", fills: [] });
  assertEquals(perFill, []);
  assertEquals(Object.values(order), Object.values(order).map(() => "0.00"));
});

Deno.test("feesOf() throws on days without a recorded rate instead of charging nothing", pure, () => {
  assertThrows(
    () => feesOf(one("us", "2020-02-17", "buy", "1@1")),
    RangeError,
    'Cannot compute fees for us on 2020-02-17: no rate of "SEC Section 31 fee" is recorded for that day',
  );
  assertThrows(() => feesOf(one("us", "2029-01-02", "buy", "1@1")), RangeError, "FINRA");
  assertThrows(() => feesOf(one("us-option", "2022-12-30", "buy", "1@1")), RangeError, "regulatory");
});

Deno.test("feesOf() throws on invalid values, and accepts exponents", pure, () => {
  assertThrows(() => feesOf(one("hk", "2025-08-15", "buy", "100@-1")), RangeError, "below zero");
  assertThrows(() => feesOf(one("hk", "2025-08-15", "buy", "100@ten")), TypeError, "as a decimal");
  assertThrows(() => feesOf(one("hk", "15.08.2025", "buy", "100@1")), TypeError, "write the date like");
  assertEquals(feesOf(one("hk", "2025-08-15", "buy", "1e2@4e2")).order.total, "72.08");
});

Deno.test(
  "the total is the sum of the items, and the order's fees are the sum of its fills' fees",
  pure,
  () => {
    const seed = Number(Temporal.Now.instant().epochMilliseconds % 2 ** 31) | 1;
    let state = seed;
    const next = (below: number): number => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) % below;
    };
    const pick = <T>(list: readonly T[]): T => list[next(list.length)]!; // `next` returns a valid index
    for (let round = 0; round < 400; round++) {
      const input: FeeInput = {
        market: pick(["hk", "us", "shanghai", "shenzhen", "us-option", "hk-future"] as const),
        date: `${pick(["2023", "2024", "2025", "2026"])}-${pick(["01", "06", "09", "12"])}-${10 + next(18)}`,
        side: pick(["buy", "sell"] as const),
        instrument: pick(["stock", "etf", "reit", "structured"] as const),
        futureProduct: pick(["HSI", "MHI", "HHI", "MCH", "HTI"]),
        fills: Array.from({ length: 1 + next(5) }, () => ({
          price: `${next(2000)}.${next(1000).toString().padStart(3, "0")}`,
          quantity: `${1 + next(100_000)}`,
        })),
      };
      const { perFill, order } = feesOf(input);
      const where = `seed ${seed}: ${JSON.stringify(input)}`;
      assertEquals(sumOf(order), order.total, where);
      for (const fill of perFill) assertEquals(sumOf(fill), fill.total, where);
      for (const member of [...FEE_MEMBERS, "total"] as const) {
        if (order[member] === undefined) continue;
        assert(/^\d+\.\d\d$/.test(order[member]), where);
        assertEquals(add("0.00", ...perFill.map((fill) => fill[member] ?? "absent")), order[member], where);
      }
    }
  },
);

Deno.test("the recorded rates are well formed: known words, no overlap, existing sources", pure, () => {
  const { sources, ...markets } = data;
  // The cast is safe because this test checks every value below.
  for (const charge of Object.values(markets).flat() as unknown as Charge[]) {
    assert(FEE_MEMBERS.includes(charge.item), charge.name);
    assert(["amount", "share", "contract", "fill"].includes(charge.per), charge.name);
    assert(["cent", "cent-up", "whole-up"].includes(charge.round), charge.name);
    assert(charge.rates !== undefined || charge.ratesOf === "us", charge.name);
    let last = "";
    for (const { from = "0", to = "9999", source = "" } of charge.rates ?? []) {
      assert(last < from && from <= to, `${charge.name} from ${from}`);
      last = to;
      for (const key of source.split(" ").filter(Boolean)) assert(key in sources, `${charge.name}: ${key}`);
    }
  }
});

Deno.test("feeMeter() agrees with feesOf() for one fill, and more shares never cost less", pure, () => {
  for (const market of ["hk", "us", "shanghai"] as const) {
    for (const side of ["buy", "sell"] as const) {
      for (const price of ["0.35", "38.455", "1250"]) {
        const meter = feeMeter({ market, date: "2025-08-15", side, price });
        let before = 0n;
        for (const quantity of [1, 7, 100, 500, 2_000, 12_345, 400_000]) {
          const cents = meter.cents(BigInt(quantity), 0);
          const { total } = feesOf(one(market, "2025-08-15", side, `${quantity}@${price}`)).order;
          assertEquals(
            `${cents}`,
            total.replace(".", "").replace(/^0+(?=\d)/, ""),
            `${market} ${side} ${quantity}@${price}`,
          );
          assert(cents >= before);
          assert(Math.abs(meter.estimate(quantity) - Number(total)) < 0.011 + Number(total) * 1e-9);
          before = cents;
        }
      }
    }
  }
});
