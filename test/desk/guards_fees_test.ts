/** Tests of the estimate of the fees of an order. */
import { assertEquals } from "@std/assert";
import { estimateFees } from "../../lib/desk/guards/order.ts";
import { feesOf } from "../../lib/facts/fees.ts";

const TENCENT = { market: "hk", symbol: "00700.HK", isBuy: true, price: "400", quantity: "100" } as const;

Deno.test("estimateFees() uses the rates of the listing's market on the day", () => {
  const date = "2025-08-15";
  assertEquals(estimateFees({ ...TENCENT, date }), "72.08"); // as in the example of feesOf()
  // On this earlier day, the stamp duty was 52.00 instead of 40.00, and the settlement fee 2.00 instead of 1.68.
  assertEquals(estimateFees({ ...TENCENT, date: "2023-11-16" }), "84.40");
  const fills = [{ price: "5.5", quantity: "2" }];
  const totalOf = (market: "us-option" | "hk-future", symbol: string, side: "buy" | "sell") =>
    feesOf({ market, symbol, date, side, fills }).order.total;
  const option = { market: "us", symbol: "AAPL250919C2300000", price: "5.5", quantity: "2", date } as const;
  assertEquals(
    [true, false].map((isBuy) => estimateFees({ ...option, isBuy })),
    [totalOf("us-option", option.symbol, "buy"), totalOf("us-option", option.symbol, "sell")],
  );
  const future = { ...option, market: "futures", symbol: "HSI2508.HK", isBuy: true } as const;
  assertEquals(estimateFees(future), totalOf("hk-future", future.symbol, "buy"));
  // A trust has no stamp duty.
  const { order } = feesOf({ market: "hk", date, side: "buy", instrument: "reit", fills: [TENCENT] });
  assertEquals([estimateFees({ ...TENCENT, symbol: "00823.HK", date }), order.stampDutyOrSecFee], [
    order.total,
    "0.00",
  ]);
});

Deno.test("estimateFees() returns undefined for a day without rates", () => {
  assertEquals(estimateFees({ ...TENCENT, date: "1990-01-02" }), undefined);
});
