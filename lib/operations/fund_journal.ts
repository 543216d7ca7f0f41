/**
 * The fund journal: every movement of cash.
 *
 * @module
 */
import { FundJournalType } from "../dictionaries/fund_journal_type.ts";
import { family, operation } from "./operation.ts";
import { field, key, params, record, type RecordOf, rows } from "./records.ts";
import { checkCommon, cursorPaging, dateRange, journalIdentity, market } from "./shared.ts";
import { anyOf, decimal, text } from "./types.ts";

/** Fields of a line of the fund journal. */
export const journalFields = {
  /** Amount, in the market's currency; money that leaves is negative. */
  amount: key("businessBalance", decimal),
  /** What it stands for. */
  type: field("type", anyOf(FundJournalType)),
  /** What it stands for, in the broker's words. */
  typeText: field("typeDesc", text),
  /** Group of the type, the broker's code. */
  parentType: field("fundJourParentType", text),
  /** When; absent in the journal of today. */
  time: field("time", text),
  /** Position of the line in its list, for paging. */
  cursor: field("queryParamStr", text),
};
const journalRecord = record(journalFields, ["FundJourVo"]);
/** A line of the fund journal. */
export type JournalEntry = RecordOf<typeof journalFields>;

/** The fund journal. */
export const fundJournal = family("fundJournal", {
  /** Yields the lines of today; they carry no time. */
  today: operation({
    wire: "TradeQueryRealFundJourList",
    group: "trade",
    effect: "read",
    answers: "now",
    instead: "fundJournal.history",
    needs: "trade-login",
    source: "API document 4.2, 4.8",
    request: params({ market, ...cursorPaging }),
    response: rows("data", journalRecord, { proto: ["TradeQueryRealFundJourListResponse"] }),
    paging: { style: "cursor", last: "short", identity: [...journalIdentity, "time"] },
    socket: { request: "TradeQueryRealFundJourListRequest", response: "TradeQueryRealFundJourListResponse" },
  }),

  /** Yields the lines of past days. */
  history: operation({
    wire: "TradeQueryHistoryFundJourList",
    group: "trade",
    effect: "read",
    needs: "trade-login",
    source: "API document 4.2, 4.8",
    request: params({ market, ...dateRange, ...cursorPaging }, checkCommon),
    response: rows("data", journalRecord, { proto: ["TradeQueryHistoryFundJourListResponse"] }),
    paging: { style: "cursor", last: "short", identity: [...journalIdentity, "time"] },
    socket: {
      request: "TradeQueryHistoryFundJourListRequest",
      response: "TradeQueryHistoryFundJourListResponse",
    },
  }),
});
