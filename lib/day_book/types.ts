/**
 * What an export of day books is asked for, what it tells on its way, and what comes back.
 *
 * @module
 */
import type { Market } from "../dictionaries/market.ts";
import { BrokerError, type ErrorContext } from "../errors.ts";

/** A form that rows are written in. */
export type DayBookFormat = "csv" | "jsonl";

/** Lists of a day book. */
export type DayBookList = "fills" | "orders" | "fund_journal" | "futures_fills" | "futures_orders";

/** An account that rows come from: one of the markets, or the futures account. */
export type DayBookMarket = Market | "futures";

/** What an export can cover: the securities accounts of the markets, and the futures account. */
export type DayBookAccount = "securities" | "futures";

/** What is exported, and where to. */
export interface DayBookOptions {
  /** Markets of the securities accounts; their order does not matter. May be empty without securities. */
  markets: readonly Market[];
  /**
   * What the export covers. A list of the futures account that the broker refuses is named as not read, and no day
   * that lacks it becomes final: an account without futures asks for `["securities"]`.
   *
   * @default ["securities", "futures"]
   */
  accounts?: readonly DayBookAccount[];
  /** First day, `yyyy-MM-dd`. */
  from: string;
  /** Last day, included. */
  to: string;
  /** Folder that gets one folder per day; made when it is missing. */
  out: string;
  /** @default ["csv", "jsonl"] */
  formats?: readonly DayBookFormat[];
  /** What time it is, Unix milliseconds: tells past days from the running one. */
  now: () => number;
  /**
   * Name of the account that the folder belongs to, of your own choice. The folder keeps a digest of it and refuses
   * exports of another name. Without a name the account is recognized by its developer key over the direct
   * transport, and by its orders over every transport.
   */
  owner?: string;
  /**
   * Writes the rows as the broker sent them beside ours: `fills.wire.jsonl` and so on, each row with its `rowKey`.
   *
   * @default false
   */
  wire?: boolean;
  /**
   * Writes texts in CSV exactly as the broker sent them, for programs. Without it a text that a spreadsheet would
   * run as a formula gets an apostrophe in front. JSON Lines are always exact.
   *
   * @default false
   */
  exactCsv?: boolean;
  /** Stops the export; days that are whole stay. */
  signal?: AbortSignal;
  /** Told about every step. */
  onProgress?: (event: DayBookEvent) => void;
  /**
   * Lists that are read at the same time.
   *
   * @default 4
   */
  concurrency?: number;
  /**
   * Reads final days again too. Days with differences are never final, and are always read again.
   *
   * @default false
   */
  refresh?: boolean;
}

/** What was done with a day. */
export type DayAction =
  /** It is new. */
  | "written"
  /** It was there with other bytes, and now has these. */
  | "replaced"
  /** It was there with the same bytes. */
  | "unchanged"
  /** It was there and final, and was not read again. */
  | "kept"
  /** It was there and final, and the new reading was only provisional; differences are those of the new reading. */
  | "kept-final"
  /**
   * Two readings contradict each other: rows or totals of an earlier reading are missing in the new one. The day
   * stays as it was and the new reading is beside it, or a reading beside the day has rows that the day lacks.
   */
  | "disputed"
  /** Its files were damaged, and the new reading has brought back the same bytes. */
  | "restored";

/** Whether a day can still change. */
export type DayStatus = "final" | "provisional";

/** Which of the broker's lists rows come from. */
export type Origin = "history" | "today";

/** Where a day is while it is brought into its place. */
export type DayStage = "begun" | "read" | "sealed" | "set-aside" | "in-place" | "tidied";

/** What an export tells on its way. */
export type DayBookEvent =
  | { type: "started"; days: number; markets: readonly Market[]; out: string }
  | { type: "day-started"; day: string; index: number; days: number }
  | {
    type: "rows";
    day: string;
    market: DayBookMarket;
    list: DayBookList;
    /** Which of the broker's two lists; the last days are read from both. */
    origin: Origin;
    /** Rows of the page that came. */
    added: number;
    /** Rows of this list so far. */
    rows: number;
  }
  | { type: "stage"; day: string; stage: DayStage }
  /** The clocks of this machine and of the broker differ by more than a minute; told once. */
  | { type: "clock-differs"; differenceMs: number; message: string }
  /** No answer and no quote told the broker's time; told once. */
  | { type: "clock-unknown"; message: string }
  | { type: "day-done"; day: string; index: number; days: number; result: DayResult | undefined }
  | { type: "done"; result: DayBookResult };

/** Something that does not add up. */
export interface Difference {
  /** `yyyy-MM-dd` */
  day: string;
  /** Absent when it is about a file of all markets. */
  market?: DayBookMarket;
  /** Absent when it is not about one list. */
  list?: DayBookList;
  /** Which check found it. */
  check: CheckName;
  /** The row's key; absent when it is not about one row. */
  rowKey?: string;
  expected: string;
  actual: string;
  message: string;
}

/** The checks that are made. */
export type CheckName =
  /** The fees of each fill add up to its total. */
  | "fees"
  /** The amount of each fill is price times quantity. */
  | "amounts"
  /** Fills and journal tell of the same money, line by line where the broker books each fill as a line. */
  | "journal"
  /** Fills and orders tell of the same quantities. */
  | "orders"
  /** Numbers can be read, and the day and the market are those that were asked for. */
  | "values"
  /** Rows and totals that another reading of the day showed are there. */
  | "rows"
  /** A market without any row: something besides the empty lists confirms that there was nothing. */
  | "empty"
  /** The files of the day are as the export wrote them. */
  | "files";

/** One market of a day. */
export interface MarketResult {
  status: DayStatus;
  /** Rows of each list. */
  rows: Partial<Record<DayBookList, number>>;
  differences: number;
  /** Checks that could not be made, at least not for every row. */
  notCheckable: number;
}

/** One day of an export. */
export interface DayResult {
  /** `yyyy-MM-dd` */
  day: string;
  status: DayStatus;
  action: DayAction;
  /** Folder of the day. */
  path: string;
  /** Folders of readings that contradict the day, beside it. */
  beside: string[];
  /** Rows of each list. */
  rows: Partial<Record<DayBookList, number>>;
  markets: Partial<Record<DayBookMarket, MarketResult>>;
  /** How many things do not add up. */
  differences: number;
  /** Why it is not final yet. */
  provisionalBecause: string[];
  /** What was not read, or may be missing. */
  incomplete: string[];
}

/** What an export did. */
export interface DayBookResult {
  out: string;
  days: DayResult[];
  /** Rows of all days and lists. */
  rows: number;
  /** The first thousand; `differences.csv` of each day holds its own in full. */
  differences: Difference[];
  /** How many there are. */
  differenceCount: number;
  /** Days of the range that have not begun. */
  notBegun: string[];
  /**
   * This machine's time less the broker's, in milliseconds, where they differ by more than a minute: no day that was
   * read becomes final then. The broker's time is that of its answers, from the header `Date` or the message.
   */
  clockDifferenceMs?: number;
  /** No answer and no quote told the broker's time; a day that ended within the last week does not become final then. */
  brokerClock?: "unknown";
  /** Nothing is missing, everything adds up, and the clock is right. */
  ok: boolean;
}

/** What else is known about an export that stopped. */
export interface DayBookErrorContext extends ErrorContext {
  /** Days that are whole, and stay. */
  kept?: readonly string[];
  /** The day that it stopped at. */
  day?: string;
}

/** An export stopped. Days before it are whole, and the same call goes on from there. */
export class DayBookError extends BrokerError {
  override readonly name: string = "DayBookError";
  /** Days that are whole, and stay. */
  readonly kept: readonly string[];
  /** The day that it stopped at. */
  readonly day: string | undefined;

  constructor(message: string, context: DayBookErrorContext = {}) {
    super(message, context);
    this.kept = context.kept ?? [];
    this.day = context.day;
  }
}
