import { assertEquals, assertThrows } from "@std/assert";
import data from "../../lib/facts/data/fees.json" with { type: "json" };
import { type Charge, type FeeInstrument, type Rule, scheduleOf } from "../../lib/facts/fee_schedule.ts";
import { type FeeMarket, feesOf, type Tariff } from "../../lib/facts/fees.ts";

const pure = { permissions: "none" } as const;

/**
 * Every dated rate, copied from the notices of exchanges and regulators. The first text of a charge is: market, fee
 * item, instruments or products, side, unit, rounding, and `order` if the fee is rounded once per order. Each further
 * text is: `first..last` trade date, rate, and limits. Nothing here comes from the code under test, so a wrong digit
 * there fails the test.
 */
const CHARGES: readonly (readonly [charge: string, ...rows: string[]])[] = [
  [
    "hk stampDutyOrSecFee stock both amount whole-up",
    "..2021-07-31 0.001",
    "2021-08-01..2023-11-16 0.0013",
    "2023-11-17.. 0.001",
  ],
  [
    "hk stampDutyOrSecFee reit both amount whole-up",
    "..2021-07-31 0.001",
    "2021-08-01..2023-11-16 0.0013",
    "2023-11-17..2024-12-20 0.001",
    "2024-12-21.. 0",
  ],
  [
    "hk tradingFeeOrTaf all both amount cent",
    "..2022-12-31 0.00005 min 0.01",
    "2023-01-01.. 0.0000565 min 0.01",
  ],
  ["hk tradingFeeOrTaf all both fill cent", "..2022-12-31 0.50"],
  ["hk tradingLevy all both amount cent", "2010-10-01..2014-10-31 0.00003", "2014-11-01.. 0.000027 min 0.01"],
  ["hk disputeCouncilLevy all both amount cent", "..2021-12-31 0", "2022-01-01.. 0.0000015"],
  ["hk settlementFee all both amount cent", "..2025-06-29 0.00002 min 2 max 100", "2025-06-30.. 0.000042"],
  [
    "us stampDutyOrSecFee all sell amount cent-up",
    "2020-02-18..2021-02-24 0.0000221",
    "2021-02-25..2022-05-13 0.0000051",
    "2022-05-14..2023-02-26 0.0000229",
    "2023-02-27..2024-05-21 0.000008",
    "2024-05-22..2025-05-13 0.0000278",
    "2025-05-14..2026-04-03 0",
    "2026-04-04.. 0.0000206",
  ],
  [
    "us tradingFeeOrTaf all sell share cent-up",
    "..2021-12-31 0.000119 max 5.95",
    "2022-01-01..2022-12-31 0.00013 max 6.49",
    "2023-01-01..2023-12-31 0.000145 max 7.27",
    "2024-01-01..2025-12-31 0.000166 max 8.30",
    "2026-01-01..2026-09-30 0.000195 max 9.79",
    "2026-10-01..2026-12-31 0",
    "2027-01-01..2028-12-31 0.000195 max 9.79",
  ],
  ["us tradingLevy all both amount cent", ".. 0"],
  // Rates since 2024-09, as current part plus historical part, in millionths: 35; 35+13; 22+13; 9+13; none; 1+2.
  [
    "us auditTrailFee all both share cent-up order",
    "..2024-08-31 0",
    "2024-09-01..2024-09-30 0.000035",
    "2024-10-01..2024-12-31 0.000048",
    "2025-01-01..2025-06-30 0.000035",
    "2025-07-01..2025-11-30 0.000022",
    "2025-12-01..2026-04-30 0",
    "2026-05-01.. 0.000003",
  ],
  ["us settlementFee all both share cent", ".. 0.003 cap 0.01"],
  ["china stampDutyOrSecFee stock sell amount cent", "..2023-08-27 0.001", "2023-08-28.. 0.0005"],
  [
    "china tradingFeeOrTaf stock both amount cent",
    "2015-08-01..2023-08-27 0.0000487",
    "2023-08-28.. 0.0000341",
  ],
  ["china tradingFeeOrTaf etf both amount cent", ".. 0.00004"],
  ["china tradingLevy stock both amount cent", ".. 0.00002"],
  ["china settlementFee stock both amount cent", "2015-08-01..2022-04-28 0.00002", "2022-04-29.. 0.00001"],
  ["china settlementFee all both amount cent", ".. 0.00002"],
  ["us-option stampDutyOrSecFee all sell amount cent-up", "as in us"],
  [
    "us-option tradingFeeOrTaf all sell contract cent-up",
    "..2021-12-31 0.002",
    "2022-01-01..2022-12-31 0.00218",
    "2023-01-01..2023-12-31 0.00244",
    "2024-01-01..2025-12-31 0.00279",
    "2026-01-01..2026-09-30 0.00329",
    "2026-10-01..2026-12-31 0",
    "2027-01-01..2028-12-31 0.00329",
  ],
  [
    "us-option optionRegulatoryFee all both contract cent order",
    "2023-01-01..2025-03-02 0.02905",
    "2025-03-03..2026-06-30 0.02815",
    "2026-07-01.. 0.0122",
  ],
  [
    "us-option optionClearingFee all both contract cent",
    "..2024-12-31 0.02 max 55",
    "2025-01-01..2025-11-30 0.025",
    "2025-12-01..2025-12-31 0",
    "2026-01-01.. 0.025",
  ],
  ["us-option auditTrailFee all both share cent-up order", "as in us"],
  ["hk-future tradingFeeOrTaf HSI both contract cent", ".. 10"],
  ["hk-future tradingFeeOrTaf MHI both contract cent", ".. 3.50"],
  ["hk-future tradingFeeOrTaf HHI both contract cent", ".. 3.50"],
  ["hk-future tradingFeeOrTaf MCH both contract cent", ".. 2"],
  ["hk-future tradingFeeOrTaf HTI both contract cent", ".. 5"],
  ["hk-future tradingLevy HSI+HHI+HTI both contract cent", "2014-11-01.. 0.54"],
  ["hk-future tradingLevy MHI+MCH both contract cent", "2014-11-01.. 0.10"],
];

Deno.test("the recorded fees are the published fees, row by row", pure, () => {
  const { sources: _, ...markets } = data;
  const held = Object.entries(markets).flatMap(([market, charges]) =>
    // The cast is safe because this test checks every value of the file.
    (charges as unknown as Charge[]).map(({ item, only, products, side, per, round, scope, rates }) => [
      [market, item, (only ?? products ?? ["all"]).join("+"), side ?? "both", per, round, scope ?? []].flat()
        .join(" "),
      ...(rates?.map(({ from = "", to = "", rate, min, max, maxOfAmount }) =>
        `${from}..${to} ${rate}${min === undefined ? "" : ` min ${min}`}${
          max === undefined ? "" : ` max ${max}`
        }${maxOfAmount === undefined ? "" : ` cap ${maxOfAmount}`}`
      ) ?? ["as in us"]),
    ])
  );
  assertEquals(held, CHARGES.map((charge) => [...charge]));
});

const free = { rate: "0", per: "order" } as const;
const tariff: Tariff = {
  hk: { commission: free },
  us: { commission: free },
  shanghai: { commission: free },
  shenzhen: { commission: free },
  "us-option": { commission: free },
  "hk-future": { commission: free },
};

/** Returns a rule as in `CHARGES`: unit, rounding, rate and limits. `min` and `max` are in cents. */
function show({ per, round, rate, min, max, cap }: Rule): string {
  const decimals = ({ coefficient, scale }: { coefficient: bigint; scale: number }) => {
    const digits = `${coefficient}`.padStart(scale + 1, "0");
    return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  };
  const cents = (name: string, value?: bigint) => value === undefined ? "" : ` ${name} ${value}`;
  return `${per} ${round} ${decimals(rate)}${cents("min", min)}${cents("max", max)}${
    cap === undefined ? "" : ` cap ${decimals(cap)}`
  }`;
}

const toCents = (word: string) => /^\d/.test(word) ? `${Math.round(Number(word) * 100)}` : word;

const MARKETS: Record<string, readonly FeeMarket[]> = {
  hk: ["hk"],
  us: ["us"],
  china: ["shanghai", "shenzhen"],
  "us-option": ["us-option"],
  "hk-future": ["hk-future"],
};

/** The first day on which every charge of the market has a rate. */
const FIRST_DAY: Record<string, string> = {
  hk: "2010-10-01",
  us: "2020-02-18",
  china: "2015-08-01",
  "us-option": "2023-01-01",
  "hk-future": "2014-11-01",
};

Deno.test("scheduleOf() uses every rate on its first day and on its last day", pure, () => {
  let seen = 0;
  for (const [charge, ...rows] of CHARGES) {
    const [name = "", member = "", who = "", side = "", per, round] = charge.split(" ");
    for (const row of rows) {
      if (row === "as in us") continue;
      const [days = "", rate, ...limits] = row.split(" ");
      const [from = "", to = ""] = days.split("..");
      const limit = limits.map((word) => word === "cap" || limits[0] === "cap" ? word : toCents(word));
      const wanted = [per, round, rate, ...limit].join(" ");
      for (const market of MARKETS[name] ?? []) {
        const first = FIRST_DAY[name]!;
        const last = to || "2028-12-31";
        for (const date of [from || (last < first ? last : first), last]) {
          const instrument: FeeInstrument = who === "etf" || who === "reit" ? who : "stock";
          const product = name === "hk-future" ? who.split("+")[0] : undefined;
          const at = (on: "buy" | "sell") => {
            const key = { market, date, side: on, instrument, product };
            const { members, perFill, perOrder } = scheduleOf(key, tariff);
            const rules = charge.endsWith(" order") ? perOrder : perFill;
            return rules.filter((rule) => members[rule.at] === member).map(show);
          };
          if (date < first) { // before that day another charge of the market has no rate
            assertThrows(() => at("sell"), RangeError, "no rate");
            continue;
          }
          seen++;
          assertEquals(at("sell").includes(wanted), true, `${market} ${member} ${date}: ${at("sell")}`);
          assertEquals(at("buy").includes(wanted), side === "both", `${market} ${member} ${date}`);
        }
      }
    }
  }
  // The number of first and last days that have a schedule. It shows that the loop skips no rows.
  assertEquals(seen, 152);
});

Deno.test("the example tariff has the published list prices", pure, () => {
  const paid = (market: FeeMarket, quantity: string, price: string, symbol?: string) => {
    const fills = [{ quantity, price }];
    const { order } = feesOf({ market, date: "2025-08-15", side: "buy", fills, symbol });
    return [order.commission, order.platformFee];
  };
  for (const market of ["hk", "shanghai", "shenzhen"] as const) {
    assertEquals(paid(market, "1", "10000"), ["3.00", "15.00"]); // 0.03 percent reaches the minimum
    assertEquals(paid(market, "1000", "10000"), ["3000.00", "15.00"]);
  }
  assertEquals(paid("us", "100000", "100"), ["490.00", "500.00"]);
  assertEquals(paid("us", "202", "100"), ["0.99", "1.01"]); // 0.9898 is below the minimum
  assertEquals(paid("us", "100000", "0.1"), ["50.00", "50.00"]); // half a percent at most
  assertEquals(paid("us-option", "1000", "1"), ["650.00", "300.00"]);
  assertEquals(paid("us-option", "3", "1"), ["1.99", "1.00"]);
  const perContract = ["HSI", "MHI", "HHI", "MCH", "HTI"].map((product) =>
    paid("hk-future", "1", "20000", `${product}2508.HK`)[0]
  );
  assertEquals(perContract, ["30.00", "5.00", "12.00", "20.00", "20.00"]);
});
