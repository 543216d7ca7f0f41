/**
 * Defines the options, progress events, result and error of a day book export. A reading is the data of one day as one
 * export read it from the broker.
 *
 * @module
 */
import type { Calendars } from "../calendars/mod.ts";
import {
  BrokerError,
  BusyError,
  type ErrorContext,
  LoginExpiredError,
  messageOf,
  ProtocolError,
  TransportError,
} from "../errors.ts";
import type { Market } from "../operations/public_types.ts";

/** A file format for rows. */
export type DayBookFormat = "csv" | "jsonl";

/** Lists of a day book. All come from the broker, except `rebalance_trades`, which comes from the store. */
export type DayBookList =
  | "fills"
  | "orders"
  | "fund_journal"
  | "futures_fills"
  | "futures_orders"
  | "rebalance_trades";

/** Where rows come from: one of the markets, or the futures account. */
export type DayBookMarket = Market | "futures";

/** Accounts that an export can cover: the securities accounts of the markets, and the futures account. */
export type DayBookAccount = "securities" | "futures";

/** Days and accounts to export, and the folder for them. */
export interface DayBookOptions {
  /** Markets of the securities accounts, in any order. May be empty if `accounts` has no `securities`. */
  markets: readonly Market[];
  /**
   * The accounts to export. If the broker rejects the query for a futures list, the result names the list as not
   * read, and the day does not become final. For a customer without futures, use `["securities"]`.
   *
   * @default ["securities", "futures"]
   */
  accounts?: readonly DayBookAccount[];
  /** First day, `yyyy-MM-dd`. */
  from: string;
  /** Last day, included. */
  to: string;
  /** Folder that gets one folder per day; created if missing. */
  out: string;
  /** Formats of the files. @default ["csv", "jsonl"] */
  formats?: readonly DayBookFormat[];
  /**
   * Returns the current time in Unix milliseconds. The export uses it to distinguish past days from today.
   */
  now: () => number;
  /** Trading days of the exchanges. @default the built-in calendars */
  calendars?: Calendars;
  /**
   * A name of your choice for the account that the folder belongs to. The folder stores a digest of the name,
   * and the export rejects any other name. Without a name, the export recognizes the account by its orders,
   * and over the direct transport also by its developer key.
   */
  owner?: string;
  /**
   * Also writes the rows in the broker's format: `fills.wire.jsonl` and so on, each row with its `rowKey`.
   *
   * @default false
   */
  wire?: boolean;
  /**
   * Writes texts in CSV exactly as the broker sent them, for programs. Otherwise the export puts an apostrophe before a
   * text that a spreadsheet would run as a formula. It also writes control characters as escapes. JSON Lines are always
   * exact.
   *
   * @default false
   */
  exactCsv?: boolean;
  /**
   * Returns whether a file contains the value of a secret. Called for every file before the day's folder gets its
   * final name. If it returns true, the export stops and keeps no file of that reading.
   *
   * @default no file is checked
   */
  hasSecret?: (path: string) => boolean;
  /**
   * Returns the trades of the rebalancing plans that were executed on a day, for the list `rebalance_trades`.
   *
   * @default there is no such list, and the result says so
   */
  rebalanceTrades?: RebalanceSource;
  /** Stops the export and keeps the complete days. */
  signal?: AbortSignal;
  /** Called with every progress event. */
  onProgress?: (event: DayBookEvent) => void;
  /**
   * Maximum number of lists that are read at the same time.
   *
   * @default 4
   */
  concurrency?: number;
  /**
   * Also reads final days again. Days with differences are never final, so the export always reads them
   * again.
   *
   * @default false
   */
  refresh?: boolean;
}

/** Sum of the fills of an order on a day, as the day book has them. */
export interface OrderFills {
  /** Decimal text, in shares. */
  quantity: string;
  /** Price times quantity of each fill. */
  amount: string;
  /** Absent until the broker has booked the fees of every fill. */
  fees?: string;
}

/** A day whose trades a {@linkcode RebalanceSource} returns. */
export interface RebalanceDay {
  /** `yyyy-MM-dd` */
  day: string;
  /** The markets of the export. */
  markets: readonly Market[];
  /** Returns the fills of some orders in the day book. An order without fills on this day is absent. */
  fillsOf: (orderIds: readonly string[]) => ReadonlyMap<string, OrderFills>;
}

/** Resolves to the trades of the rebalancing plans that were executed on a day, market by market. */
export type RebalanceSource = (day: RebalanceDay) => Promise<readonly RebalanceTrade[]>;

/**
 * One trade of a rebalancing plan, as far as it was executed on one day. Amounts and quantities are decimal texts;
 * money is in the currency of the listing.
 */
export interface RebalanceTrade {
  /** The market of the trade. */
  market: Market;
  /** Currency of the listing. */
  currency: string;
  /** Hash of the plan. */
  plan: string;
  /** Place of the trade in the plan, from 1. */
  trade: number;
  /** State of the plan. */
  state: "running" | "done" | "stopped";
  /** When the execution of the plan began; ISO 8601, UTC. */
  startedAt: string;
  /** When the execution ended. Absent until then. */
  endedAt?: string;
  /** Symbol of the broker, such as `00700.HK`. */
  symbol: string;
  /** Side of the trade. */
  side: "buy" | "sell";
  /** Quantity of the plan. */
  plannedQuantity: string;
  /** Quantity filled by the orders of this day, according to the store. */
  filledQuantity: string;
  /** Quantity of the plan's orders that may still fill. */
  openQuantity: string;
  /** Quantity of the plan's orders whose outcome is unknown. */
  unknownQuantity: string;
  /** Quantity of the plan that is not filled, not open and not unknown. */
  remainingQuantity: string;
  /** Why a quantity remains. */
  reason?: string;
  /** The broker's numbers of the orders of this day, separated by spaces. */
  orderIds: string;
  /** Price of the market when the execution of the plan began. */
  arrivalPrice?: string;
  /** Amount of the exported fills of these orders, exact. */
  fillAmount?: string;
  /** `fillAmount` divided by `filledQuantity`, rounded half to even to 6 decimals. */
  averagePrice?: string;
  /**
   * For a purchase: how much more the fills cost than the same quantity at `arrivalPrice`. For a sale: how much less
   * they brought. Exact; below zero is a gain.
   */
  slippage?: string;
  /** `slippage` divided by `filledQuantity`, rounded half to even to 6 decimals. */
  slippagePrice?: string;
  /** `slippage` in basis points of the quantity at `arrivalPrice`, rounded half to even to 4 decimals. */
  slippageBps?: string;
  /** Estimate of the plan for the whole trade. */
  feesEstimated: string;
  /** Total fees of the exported fills. Absent until each fill has its fees. */
  feesBooked?: string;
  /** `unknown` if the exported fills differ from the store. */
  feesStatus: "booked" | "not booked yet" | "no fills" | "unknown";
  /** `feesBooked` minus `feesEstimated`, exact. Present only if the whole trade was filled on this day. */
  feesDifference?: string;
  /** Sum of the squared drifts of the whole plan at the plan's prices, before its trades. */
  driftBefore: string;
  /** Like `driftBefore`, but as if every trade had been filled completely. */
  driftPlanned: string;
  /** Like `driftBefore`, but with the quantities that were filled. */
  driftReached: string;
  /** The orders of this day as the store has them, to compare them with the fills. Not a column. */
  orders: readonly RecordedOrder[];
}

/** An order of a rebalancing plan, according to the store. */
export interface RecordedOrder {
  /** The broker's order numbers. Several if the broker split the order, or placed it as an algorithmic order. */
  orderIds: readonly string[];
  /** Filled quantity, in shares. */
  filled: string;
  /** Whether the store knows how the order ended. */
  hasEnded: boolean;
}

/** What the execution of a rebalancing plan did on a day, from the rows of `rebalance_trades`. Money by currency. */
export interface PlanQuality {
  /** Hash of the plan. */
  plan: string;
  /** State of the plan. */
  state: RebalanceTrade["state"];
  /** Number of trades. */
  trades: number;
  /** Number of trades that were filled completely. */
  filled: number;
  /** Sum over the trades with a known slippage. Above zero is a cost. */
  slippage: Record<string, string>;
  /** Fees of all trades: estimated and booked. `booked` is absent while the fees of one trade are unknown. */
  fees: { estimated: Record<string, string>; booked?: Record<string, string> };
  /** Sum of the squared drifts at the plan's prices. */
  drift: { before: string; planned: string; reached: string };
}

/** Result of the export for one day. */
export type DayAction =
  /** Wrote it for the first time. */
  | "written"
  /** Replaced its files with different content. */
  | "replaced"
  /** Read it again and got the same bytes. */
  | "unchanged"
  /** Kept it without reading, because it was final. */
  | "kept"
  /**
   * Kept it, because it was final and the new reading is only provisional. `differences` are those of the new
   * reading.
   */
  | "kept-final"
  /**
   * Readings contradict each other. One reading is the day, and each other reading is in a `disputed` folder. The new
   * reading is the day only if it has all rows and totals that the day had before.
   */
  | "disputed"
  /** Replaced damaged files with the same bytes, which the broker sent again. */
  | "restored";

/** Whether a day can still change. */
export type DayStatus = "final" | "provisional";

/** The broker's list from which rows were read. */
export type Origin = "history" | "today";

/**
 * A finished step in writing the folder of a day, in this order. `begun`: the folder was created. `read`: the lists
 * were read. `sealed`: the summary was written. `set-aside`: the old folder was renamed. `in-place`: the new folder has
 * its final name. `tidied`: the old folder was removed.
 */
export type DayStage = "begun" | "read" | "sealed" | "set-aside" | "in-place" | "tidied";

/** A progress event of an export. */
export type DayBookEvent =
  | { type: "started"; days: number; markets: readonly Market[]; out: string }
  | { type: "day-started"; day: string; index: number; days: number }
  | {
    type: "rows";
    day: string;
    market: DayBookMarket;
    list: DayBookList;
    /** Which of the broker's two lists; the export reads both for the last days. */
    origin: Origin;
    /** Number of rows in the page just read. */
    added: number;
    /** Number of rows of this list so far. */
    rows: number;
  }
  | { type: "stage"; day: string; stage: DayStage }
  /** The clocks of this machine and of the broker differ by more than a minute; sent once. */
  | { type: "clock-differs"; differenceMs: number; message: string }
  /** No answer and no quote contained the broker's time; sent once. */
  | { type: "clock-unknown"; message: string }
  | { type: "day-done"; day: string; index: number; days: number; result: DayResult | undefined }
  | { type: "done"; result: DayBookResult };

/** A mismatch that a check found. */
export interface Difference {
  /** `yyyy-MM-dd` */
  day: string;
  /** Absent if the difference is about a file of all markets. */
  market?: DayBookMarket;
  /** Absent if the difference is not about one list. */
  list?: DayBookList;
  /** The check that found it. */
  check: CheckName;
  /** The row's key; absent if the difference is not about one row. */
  rowKey?: string;
  /** Value that the check expected. */
  expected: string;
  /** Value that the check found. */
  actual: string;
  /** The difference in words. */
  message: string;
}

/** Names of the checks, each with the rule that it checks. */
export type CheckName =
  /** The fees of each fill add up to its total. */
  | "fees"
  /** The amount of each fill is price times quantity. */
  | "amounts"
  /** Fills and journal show the same money, line by line if the broker books each fill as one line. */
  | "journal"
  /** Fills and orders show the same filled quantities. */
  | "orders"
  /** Numbers can be parsed, and each row belongs to the requested day and market. */
  | "values"
  /** The new reading contains all rows and totals of the other readings of the day. */
  | "rows"
  /**
   * If all lists of a market are empty, another answer confirms this. Either the lists of the days around the day have
   * rows, or the broker returns the account's funds.
   */
  | "empty"
  /** The exported fills of each rebalancing order have the filled quantity that the store has for the order. */
  | "rebalance"
  /** The files of the day are unchanged since the export wrote them. */
  | "files";

/** One market of a day. */
export interface MarketResult {
  /** Whether the day of this market is final. */
  status: DayStatus;
  /** Number of rows of each list. */
  rows: Partial<Record<DayBookList, number>>;
  /** Number of differences that the checks found. */
  differences: number;
  /** Number of checks that were not possible, or not for every row. */
  notCheckable: number;
}

/** One day of an export. */
export interface DayResult {
  /** `yyyy-MM-dd` */
  day: string;
  /** Whether the day is final. */
  status: DayStatus;
  /** What the export did with the folder of the day. */
  action: DayAction;
  /** Folder of the day. */
  path: string;
  /** Folders of the readings that contradict the day. */
  beside: string[];
  /** Number of rows of each list. */
  rows: Partial<Record<DayBookList, number>>;
  /** Results by market. */
  markets: Partial<Record<DayBookMarket, MarketResult>>;
  /** Number of differences that the checks found. */
  differences: number;
  /** Why the day is not final yet. */
  provisionalBecause: string[];
  /** Lists that were not read, and lists whose rows may be incomplete. */
  incomplete: string[];
  /** The rebalancing plans of the day; absent if the day has no list of them. */
  rebalance?: PlanQuality[];
}

/** Result of an export. */
export interface DayBookResult {
  /** Folder that contains the folders of the days. */
  out: string;
  /** Results by day, in order. */
  days: DayResult[];
  /** Number of rows of all days and lists. */
  rows: number;
  /** The first thousand differences; `differences.csv` of each day contains all of that day. */
  differences: Difference[];
  /** Number of differences. */
  differenceCount: number;
  /** Days of the range that have not begun. */
  notBegun: string[];
  /**
   * This machine's time minus the broker's, in milliseconds, if they differ by more than a minute. In that
   * case no day that was read becomes final. The broker's time comes from the header `Date` of its answers, from an
   * answer itself, or from a quote.
   */
  clockDifferenceMs?: number;
  /**
   * Set if no answer and no quote contained the broker's time. A day that ended within the last week is then not
   * final.
   */
  brokerClock?: "unknown";
  /** Why the export wrote no list of rebalancing trades; absent if it did. */
  withoutRebalanceTrades?: string;
  /**
   * Whether nothing is missing, no check found a difference, no other reading contradicts a day, and the clocks agree.
   */
  ok: boolean;
}

/** Context of an export that stopped. */
export interface DayBookErrorContext extends ErrorContext {
  /** Days that are complete and kept. */
  kept?: readonly string[];
  /** The day at which the export stopped. */
  day?: string;
}

/** Thrown if an export stops. The finished days are complete, and a repeated call continues after them. */
export class DayBookError extends BrokerError {
  /** Name of the class. */
  override readonly name: string = "DayBookError";
  /** Days that are complete and kept. */
  readonly kept: readonly string[];
  /** The day at which the export stopped. */
  readonly day: string | undefined;

  /** Creates the error from its text and its context. */
  constructor(message: string, context: DayBookErrorContext = {}) {
    super(message, context);
    this.kept = context.kept ?? [];
    this.day = context.day;
  }
}

/** Where an export stopped. */
interface FailureContext {
  out: string;
  day: string | undefined;
  kept: readonly string[];
  aborted: boolean;
}

const ENOSPC = /os error 28\b|os error 112\b|no space left/i;
const READ_ONLY = /os error 30\b|read-only/i;

interface Reason {
  code: string;
  reason: string;
  advice: string;
}

/** Converts an error into a {@linkcode DayBookError}, whose message names the kept days and says what to do. */
export function dayBookFailure(error: unknown, { out, day, kept, aborted }: FailureContext): DayBookError {
  if (error instanceof DayBookError && error.kept.length === kept.length && error.day === day) return error;
  const { code, reason, advice } = reasonOf(error, out, aborted);
  const earlier = kept.length === 0
    ? "no day was finished before"
    : `${kept.length === 1 ? "1 day is" : `${kept.length} days are`} kept (${kept[0]} to ${kept.at(-1)})`;
  const what = error instanceof DayBookError
    ? error.message
    : `Cannot export ${day ?? `into "${out}"`}: ${reason}`;
  return new DayBookError(`${what}; ${earlier}${advice === "" ? "" : `; ${advice}`}`, {
    code: error instanceof DayBookError ? error.code : code,
    day,
    kept,
    cause: error,
  });
}

function reasonOf(error: unknown, out: string, aborted: boolean): Reason {
  const again = "run the same export again to continue";
  const text = messageOf(error);
  if (error instanceof DayBookError) return { code: error.code ?? "failed", reason: text, advice: "" };
  if (aborted) return { code: "aborted", reason: "it was stopped", advice: again };
  if (ENOSPC.test(text)) {
    return { code: "disk-full", reason: `no space left for "${out}"`, advice: `make room, then ${again}` };
  }
  const { PermissionDenied, NotCapable, NotADirectory, AlreadyExists } = Deno.errors;
  if ([PermissionDenied, NotCapable].some((kind) => error instanceof kind) || READ_ONLY.test(text)) {
    return {
      code: "not-writable",
      reason: `"${out}" cannot be written (${text})`,
      advice: `allow writing there or choose another folder, then ${again}`,
    };
  }
  if ([NotADirectory, AlreadyExists].some((kind) => error instanceof kind)) {
    return {
      code: "not-a-folder",
      reason: `"${out}" is not a folder (${text})`,
      advice: "choose another folder",
    };
  }
  if (error instanceof LoginExpiredError) {
    return { code: "login", reason: text, advice: `log in, then ${again}` };
  }
  if (error instanceof TransportError || error instanceof BusyError) {
    return { code: "unreachable", reason: text, advice: `check that the gateway is running, then ${again}` };
  }
  if (error instanceof ProtocolError) return { code: "interrupted", reason: text, advice: again };
  return { code: "failed", reason: text, advice: again };
}
