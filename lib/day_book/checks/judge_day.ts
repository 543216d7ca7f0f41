/**
 * Decides whether a day is final. Uses the checks of its rows and lists, other readings of the day, and queries of
 * longer ranges.
 *
 * @module
 */
import { checkMarketJournal, checkOrders, type ListCheck } from "./day_checks.ts";
import type { BrokerClock } from "../../client/broker_clock.ts";
import type { DifferenceFile } from "../rows/files.ts";
import type { MarketDay } from "../market_days.ts";
import type { Part } from "../reading/part.ts";
import type { DayReading } from "../reading/read_day.ts";
import type { RebalanceList } from "../reading/rebalance_list.ts";
import {
  type CheckRecord,
  type MarketRecord,
  marketRecord,
  needsEvidence,
  type Settings,
  type Summary,
} from "../folder/summary.ts";
import type { RowCheck } from "./tally.ts";
import type { CheckName, DayBookList, DayBookMarket, Difference } from "../types.ts";

/** A day that was read, before it is written. */
export interface DayParts extends DayReading {
  day: string;
  markets: readonly MarketDay[];
  settings: Settings;
  /**
   * Compares the broker's clock with this machine's. If they differ, no day becomes final.
   */
  clock: BrokerClock;
  /** Why the folder may belong to another account; if set, no day becomes final. */
  unconfirmedOwner: string | undefined;
  /** Checks that compare lists, from {@linkcode checksBetween}. */
  between: readonly Between[];
  /** The rebalancing trades of the day; absent without a store. */
  rebalance: RebalanceList | undefined;
  /** Differences between the readings of the day. */
  contradictions: DifferenceFile;
  /**
   * Resolves to the check of a market whose lists of the day are empty. The check is passed if something confirms that
   * the day is empty. `isLeftOut` is true if none of the broker's answers contained a list.
   */
  confirmEmpty: (day: MarketDay, isLeftOut: boolean) => Promise<ListCheck>;
}

/** Whether a day is final, and the reasons. */
export interface Judgement extends Pick<Summary, "status" | "provisionalBecause" | "markets" | "checks"> {
  /**
   * Differences for markets whose lists of this day are empty although queries of a longer range show rows of this
   * day.
   */
  found: Difference[];
}

const rowChecks: readonly RowCheck[] = ["fees", "amounts", "values"];

/** Resolves to whether a day is final, with the reasons and all checks. */
export async function judgeDay(options: DayParts): Promise<Judgement> {
  const { markets, parts, others, notRead, between, rebalance, contradictions, clock, unconfirmedOwner } =
    options;
  const checks = [
    ...parts.flatMap(checksOfRows),
    ...between.map(({ record }) => record),
    ...markets.flatMap(({ market }) => contradictionsOf(market, contradictions)),
  ];
  const records: [DayBookMarket, MarketRecord][] = [];
  const found: Difference[] = [];
  for (const day of markets) {
    const { market } = day;
    const of = <T extends { market: DayBookMarket }>(all: readonly T[]) =>
      all.filter((each) => each.market === market);
    const facts = {
      day,
      parts: of(parts),
      others: of(others),
      notRead: of(notRead),
      clock,
      unconfirmedOwner,
      pending: rebalance?.pending(market) ?? [],
    };
    let record = marketRecord({ ...facts, checks: of(checks) });
    if (record.status === "final" && needsEvidence(record)) {
      const { result, detail, findings } = await options.confirmEmpty(
        day,
        of(parts).every(({ isLeftOut }) => isLeftOut),
      );
      checks.push({ check: "empty", market, result, detail, differences: findings.length });
      for (const finding of findings) found.push({ day: day.day, market, ...finding });
      record = marketRecord({ ...facts, checks: of(checks) });
    }
    records.push([market, record]);
  }
  const provisionalBecause = records.flatMap(([market, { provisionalBecause }]) =>
    provisionalBecause.map((why) => `${market}: ${why}`)
  );
  return {
    status: provisionalBecause.length === 0 ? "final" : "provisional",
    provisionalBecause,
    markets: Object.fromEntries(records),
    checks,
    found,
  };
}

/** A check between lists, and its result. */
interface Between {
  record: CheckRecord;
  differences: Difference[];
}

/** Runs the checks that compare the lists of a market. The checks read the rows back from the files. */
export function checksBetween(
  { market, day, hasBegun }: MarketDay,
  parts: readonly Part[],
  rebalance: RebalanceList | undefined,
): Between[] {
  const partOf = (list: DayBookList) =>
    parts.find((part) => part.market === market && part.spec.list === list);
  const between = (
    check: CheckName,
    list: DayBookList,
    { result, detail, findings }: ListCheck,
  ): Between => ({
    record: { check, market, result, detail, differences: findings.length },
    differences: findings.map((finding) => ({ day, market, list, ...finding })),
  });
  if (!hasBegun) return [];
  if (market === "futures") {
    const [fills, orders] = [partOf("futures_fills"), partOf("futures_orders")];
    if (fills === undefined || orders === undefined) return [];
    const unknown = "fills of futures carry no fees, no amount and no multiplier";
    return [
      between("orders", "futures_fills", checkOrders(fills.tally, orders.tally)),
      between("amounts", "futures_fills", { result: "not-checkable", detail: unknown, findings: [] }),
    ];
  }
  const [fills, orders, journal] = [partOf("fills"), partOf("orders"), partOf("fund_journal")];
  if (fills === undefined || orders === undefined || journal === undefined) return [];
  const rebalanced = rebalance?.check(market);
  return [
    between("orders", "fills", checkOrders(fills.tally, orders.tally)),
    between("journal", "fund_journal", checkMarketJournal({ fills, journal })),
    ...rebalanced === undefined ? [] : [between("rebalance", "rebalance_trades", rebalanced)],
  ];
}

function contradictionsOf(market: DayBookMarket, { byMarket }: DifferenceFile): CheckRecord[] {
  const differences = byMarket.get(market) ?? 0;
  const detail = `${differences} rows or totals contradict another reading of the day`;
  return differences === 0 ? [] : [{ check: "rows", market, result: "differs", detail, differences }];
}

const detailOf: Readonly<Record<RowCheck, string>> = {
  fees: "the fees of each fill add up to its total",
  amounts: "the amount of each fill is price times quantity, to half a cent",
  values: "numbers can be parsed, day and market are the requested ones",
};
const MERGED = "; the last decimal of an average price with more than three decimals may be rounded";

function checksOfRows(part: Part): CheckRecord[] {
  const { spec: { list }, market, tally } = part;
  const checks = list === "fills" ? rowChecks : ["values" as const];
  return checks.map((check) => {
    const { passed, differs, notCheckable } = tally.checks[check];
    const merged = check === "amounts" && market === "hk" && part.origin === "history" ? MERGED : "";
    const counts = `${passed} passed, ${differs} differ, ${notCheckable} not checkable`;
    return {
      check,
      market,
      result: differs > 0 ? "differs" : notCheckable > 0 ? "not-checkable" : "passed",
      detail: `${list}: ${detailOf[check]}${merged}: ${counts}`,
      differences: differs,
    };
  });
}
