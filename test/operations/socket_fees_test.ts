import { assertEquals } from "@std/assert";
import { completeFees } from "../../lib/operations/fills.ts";

// A purchase for 76,480 Hong Kong dollars: the levy of 0.00015 % is 0.11.
const hk = {
  market: "hk",
  fillAmount: "76480.00",
  fees: {
    commission: "22.94",
    stampDutyOrSecFee: "77.00",
    tradingFeeOrTaf: "4.32",
    tradingLevy: "2.06",
    platformFee: "15.00",
    settlementFee: "3.21",
    total: "124.64",
  },
};

Deno.test("completeFees() adds the market's fee that has no field number on the socket", () => {
  assertEquals(completeFees([hk])[0]!.fees, { ...hk.fees, disputeCouncilLevy: "0.11" });
  const us = { market: "us", fillAmount: "1500.00", fees: { commission: "0.99", total: "1.00" } };
  assertEquals(completeFees([us])[0]!.fees, { ...us.fees, auditTrailFee: "0.01" });
});

Deno.test("completeFees() adds a fee of zero with the decimals of the total", () => {
  const us = { market: "us", fillAmount: "1500.00", fees: { commission: "0.99", total: "0.99" } };
  assertEquals(completeFees([us])[0]!.fees, { ...us.fees, auditTrailFee: "0.00" });
});

Deno.test("completeFees() does not change fees whose total is wrong, so that the mistake stays visible", () => {
  // The limit of the missing fee is a ten-thousandth of the amount, 7.648, plus five cents.
  const most = { ...hk, fees: { ...hk.fees, total: "132.22" } };
  assertEquals(completeFees([most])[0]!.fees, { ...most.fees, disputeCouncilLevy: "7.69" });
  for (const total of ["132.23", "124.52", "ABC"]) {
    const off = { ...hk, fees: { ...hk.fees, total } };
    assertEquals(completeFees([off]), [off]);
  }
});

Deno.test("completeFees() does not change fills whose market has no such fee, or that already have it", () => {
  const given = [
    { ...hk, market: "shanghai" },
    { ...hk, market: undefined },
    { ...hk, fees: undefined },
    { ...hk, fees: { commission: "22.94" } },
    { ...hk, fees: { ...hk.fees, disputeCouncilLevy: "0.12" } },
  ];
  assertEquals(completeFees(given), given);
});
