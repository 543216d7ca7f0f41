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

/** Fields of a fund journal entry. */
export const journalFields = {
  /** Amount, in the market's currency; negative for outgoing money. */
  amount: key("businessBalance", decimal),
  /** Type of movement. */
  type: field("type", anyOf(FundJournalType)),
  /** Type of movement, in the broker's words. */
  typeText: field("typeDesc", text),
  /** Group of the type, as the broker's code. */
  parentType: field("fundJourParentType", text),
  /** Time of the movement; absent in today's journal. */
  time: field("time", text),
  /** Position of the entry in its list, for paging. */
  cursor: field("queryParamStr", text),
};
const journalRecord = record(journalFields, ["FundJourVo"]);
/** A fund journal entry. */
export type JournalEntry = RecordOf<typeof journalFields>;

/** The fund journal. */
export const fundJournal = family("fundJournal", {
  /** Yields today's entries, without their time. */
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

  /** Yields the entries of past days. */
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
