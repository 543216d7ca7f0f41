import { assertEquals } from "@std/assert";
import { completeFees } from "../../lib/operations/socket_fees.ts";

// Buying 76,480 Hong Kong dollars' worth: the levy of 0.00015 % is 0.11.
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

Deno.test("completeFees() gives the one fee of the market that the socket has no number for", () => {
  assertEquals(completeFees([hk])[0]!.fees, { ...hk.fees, disputeCouncilLevy: "0.11" });
  const us = { market: "us", fillAmount: "1500.00", fees: { commission: "0.99", total: "1.00" } };
  assertEquals(completeFees([us])[0]!.fees, { ...us.fees, auditTrailFee: "0.01" });
});

Deno.test("completeFees() writes a charge of nothing with the decimals of the total", () => {
  const us = { market: "us", fillAmount: "1500.00", fees: { commission: "0.99", total: "0.99" } };
  assertEquals(completeFees([us])[0]!.fees, { ...us.fees, auditTrailFee: "0.00" });
});

Deno.test("completeFees() leaves a total alone that does not add up, so that it stays visible", () => {
  // A ten-thousandth of the amount is 7.648, and five cents come on top.
  const most = { ...hk, fees: { ...hk.fees, total: "132.22" } };
  assertEquals(completeFees([most])[0]!.fees, { ...most.fees, disputeCouncilLevy: "7.69" });
  for (const total of ["132.23", "124.52", "ABC"]) {
    const off = { ...hk, fees: { ...hk.fees, total } };
    assertEquals(completeFees([off]), [off]);
  }
});

Deno.test("completeFees() leaves alone what has no such fee, or has it already", () => {
  const given = [
    { ...hk, market: "shanghai" },
    { ...hk, market: undefined },
    { ...hk, fees: undefined },
    { ...hk, fees: { commission: "22.94" } },
    { ...hk, fees: { ...hk.fees, disputeCouncilLevy: "0.12" } },
  ];
  assertEquals(completeFees(given), given);
});
