/**
 * Code table for the fee items of a fill.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Items of `fareVo`; the names are also the column names of an export. */
export const FeeItem = dictionary({
  wire: "fareVo",
  type: "string",
  source: "API document, community Go SDK",
  values: {
    fare0: ["commission", "commission"],
    fare1: ["stampDutyOrSecFee", "HK stamp duty; US regulatory fee"],
    fare2: ["tradingFeeOrTaf", "HK trading fee; US trading activity fee"],
    fare3: ["tradingLevy", "trading levy"],
    fare4: ["optionRegulatoryFee", "US option regulatory fee"],
    fare5: ["optionClearingFee", "US option clearing fee"],
    fare6: ["platformFee", "platform fee"],
    fare7: ["reservedFee", "reserved"],
    fare8: ["auditTrailFee", "US consolidated audit trail fee"],
    fare9: ["disputeCouncilLevy", "HK financial-dispute-council levy"],
    farex: ["settlementFee", "HK settlement fee; US delivery fee"],
    faret: ["total", "total"],
  },
});
/** Items of `fareVo`; the names are also the column names of an export. */
export type FeeItem = NameOf<typeof FeeItem>;
