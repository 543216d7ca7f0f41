/**
 * Formats a rebalancing plan, and the report of its execution, as tables.
 *
 * @module
 */
import type {
  Plan,
  PlannedPosition,
  PlannedTrade,
  RebalanceReport,
  TradeReport,
} from "../../../lib/rebalance/mod.ts";
import {
  boundText,
  driftText,
  moneyText,
  percentText,
  remainsText,
  reportFacts,
  slippageText,
  sumText,
  tradesWithCurrency,
  tradeText,
} from "../../../lib/rebalance/results/words.ts";
import type { Host } from "../../terminal/host.ts";
import { type Column, cut, list, paint, plain, tableLines } from "../../terminal/print.ts";

const MORE = "--json prints all";

const positionColumns: readonly Column<PlannedPosition>[] = [
  { title: "symbol", id: true, of: ({ symbol }) => symbol },
  { title: "held", of: ({ quantity }) => quantity, align: "right" },
  { title: "price", of: ({ price, currency }) => `${price} ${currency}`, align: "right" },
  { title: "weight", of: ({ weight }) => percentText(weight), align: "right" },
  { title: "target", of: ({ target }) => percentText(target), align: "right" },
  { title: "drift", of: ({ drift }) => driftText(drift), align: "right" },
  { title: "trade", of: ({ trade }) => tradeText(trade), align: "right", keep: true },
  { title: "after", of: ({ weightAfter }) => percentText(weightAfter), align: "right" },
  { title: "drift after", of: ({ driftAfter }) => driftText(driftAfter), align: "right" },
];

const tradeColumns: readonly Column<PlannedTrade & { currency: string }>[] = [
  { title: "side", of: ({ side }) => side, color: ({ side }) => side === "buy" ? "green" : "red" },
  { title: "quantity", of: ({ quantity }) => quantity, align: "right" },
  { title: "symbol", id: true, of: ({ symbol }) => symbol },
  { title: "price", of: ({ price, currency }) => `${price} ${currency}`, align: "right" },
  { title: "value", of: ({ value }) => moneyText(value), align: "right" },
  { title: "fees", of: ({ fees }) => moneyText(fees), align: "right" },
];

/** Returns the lines of a plan under a title. */
export function planLines(host: Host, plan: Plan, heading: string): string[] {
  const title = (text: string) => ["", paint(host, "bold", text)];
  const cash = Object.entries(plan.cashAfter).map(([currency, after]) => ({
    currency,
    before: plan.cash[currency]!,
    after,
    buffer: plan.cashBuffer[currency]!,
    fees: plan.fees[currency]!,
  }));
  return [
    paint(host, "bold", heading),
    ...list(host, [
      ["account value", `${moneyText(plan.value)} ${plan.base}`],
      [
        "sum of squared drifts",
        `${sumText(plan.sumSquaredDriftBefore)} before, ${sumText(plan.sumSquaredDrift)} after`,
      ],
      ["lower bound", boundText(plan)],
      ["turnover", percentText(plan.turnover)],
    ]),
    ...title("Portfolio"),
    ...tableLines(host, positionColumns, plan.positions, { more: MORE }),
    ...title("Trades"),
    ...plan.trades.length === 0
      ? ["no trades"]
      : tableLines(host, tradeColumns, tradesWithCurrency(plan), { more: MORE }),
    ...title("Cash"),
    ...tableLines(
      host,
      [
        { title: "currency", id: true, of: ({ currency }) => currency },
        { title: "before", of: ({ before }) => moneyText(before), align: "right" },
        { title: "fees", of: ({ fees }) => moneyText(fees), align: "right" },
        { title: "after", of: ({ after }) => moneyText(after), align: "right" },
        { title: "buffer", of: ({ buffer }) => moneyText(buffer), align: "right" },
      ],
      cash,
      { more: MORE },
    ),
    ...plan.leftOut.length === 0 ? [] : [
      ...title("Left out"),
      ...list(host, plan.leftOut.map(({ symbol, reason }) => [cut(symbol), cut(reason)] as const)),
    ],
    "",
    ...list(host, [["hash", plan.hash]]),
  ];
}

const reportColumns: readonly Column<TradeReport>[] = [
  { title: "side", of: ({ side }) => side, color: ({ side }) => side === "buy" ? "green" : "red" },
  { title: "symbol", id: true, of: ({ symbol }) => symbol },
  { title: "planned", of: ({ planned }) => planned, align: "right" },
  { title: "filled", of: ({ filled }) => filled, align: "right", keep: true },
  { title: "average", of: ({ averagePrice }) => averagePrice ?? "", align: "right" },
  { title: "arrival", of: ({ arrivalPrice }) => arrivalPrice ?? "", align: "right" },
  {
    title: "slippage",
    of: ({ slippage }) => slippage === undefined ? "" : slippageText(slippage),
    align: "right",
  },
  {
    title: "fees",
    of: ({ fees: { booked } }) => booked === undefined ? "" : moneyText(booked),
    align: "right",
  },
];

/** Returns the report of an execution as lines. */
export function reportLines(host: Host, report: RebalanceReport): string[] {
  const remains = report.trades.map((trade) => [trade.symbol, plain(remainsText(trade))] as const)
    .filter(([, text]) => text !== "");
  return [
    paint(host, "bold", "Execution"),
    ...list(host, reportFacts(report).map(([name, text]) => [name, plain(text)] as const)),
    "",
    ...tableLines(host, reportColumns, report.trades, { more: MORE }),
    ...remains.length === 0 ? [] : ["", paint(host, "bold", "Not filled"), ...list(host, remains)],
  ];
}
