/**
 * Writes a plan as a page: one HTML file without scripts, which loads nothing.
 *
 * @module
 */
import { compare, type Decimal } from "../../decimal.ts";
import { shownLine } from "../../shown_text.ts";
import type { Plan, PlannedPosition } from "../solver/plan.ts";
import type { RebalanceReport } from "./report.ts";
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
} from "./words.ts";

/** Returns HTML that shows a text literally. */
const escaped = (text: string): string =>
  shownLine(text).replaceAll(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`);

/** A cell: a text, the text of a number, or HTML. */
type Cell = string | { number: string } | { html: string };

const number = (text: string): Cell => ({ number: text });

function cellHtml(cell: Cell): string {
  if (typeof cell === "string") return `<td>${escaped(cell)}</td>`;
  return "html" in cell ? `<td>${cell.html}</td>` : `<td class="n">${escaped(cell.number)}</td>`;
}

function table(titles: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const isNumber = titles.map((_, index) => rows.some((row) => Object(row[index]).number !== undefined));
  const head = titles.map((title, index) =>
    `<th${isNumber[index] ? ' class="n"' : ""}>${escaped(title)}</th>`
  );
  const body = rows.map((row) => `<tr>${row.map(cellHtml).join("")}</tr>`);
  return `<div class="wide"><table><thead><tr>${head.join("")}</tr></thead>\n<tbody>${
    body.join("\n")
  }</tbody></table></div>`;
}

/** Width of the bars in pixels. */
const BAR = 260;

/** Returns bars of the weight before and after, with a line at the target. */
function bars({ weight, weightAfter, target }: PlannedPosition, largest: number): string {
  const at = (value: Decimal) => (Math.max(0, Number(value)) / largest * BAR).toFixed(1);
  const label = `before ${percentText(weight)}, after ${percentText(weightAfter)}, target ${
    percentText(target)
  }`;
  return `<svg width="${BAR + 4}" height="22" role="img" aria-label="${escaped(label)}">` +
    `<rect class="before" x="0" y="2" width="${at(weight)}" height="8"/>` +
    `<rect class="after" x="0" y="12" width="${at(weightAfter)}" height="8"/>` +
    `<line x1="${at(target)}" x2="${at(target)}" y1="0" y2="22"/></svg>`;
}

const style = `
:root { color-scheme: light dark; --line: #8884; --before: #9aa4b2; --after: #2f7de1; --target: #d9480f; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; padding: 0 1rem; max-width: 76rem; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { margin: .2rem 0; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
.n { text-align: right; }
.facts td:first-child { opacity: .75; } .buy { color: #2b8a3e; } .sell { color: #c92a2a; }
svg { display: block; } .before { fill: var(--before); } .after { fill: var(--after); }
svg line { stroke: var(--target); stroke-width: 2; }
.key span { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 1rem; vertical-align: -1px; }
code { overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { .buy { color: #69db7c; } .sell { color: #ff8787; } }
`;

/** Returns what an execution did, as parts of a page. */
function reportHtml(report: RebalanceReport, side: (name: "buy" | "sell") => Cell): string {
  const facts = reportFacts(report).map(([name, text]) => [name, text]);
  const rows = report.trades.map((trade) => {
    const { symbol, planned, filled, averagePrice = "", arrivalPrice = "", slippage, fees } = trade;
    return [
      side(trade.side),
      symbol,
      number(planned),
      number(filled),
      number(averagePrice),
      number(arrivalPrice),
      number(slippage === undefined ? "" : `${moneyText(slippage.money)} (${slippageText(slippage)})`),
      number(moneyText(fees.estimated)),
      number(fees.booked === undefined ? "" : moneyText(fees.booked)),
      remainsText(trade),
    ];
  });
  return `<h2>Execution</h2>
${table(["", ""], facts)}
${
    table(
      [
        "side",
        "symbol",
        "planned",
        "filled",
        "average price",
        "arrival price",
        "slippage",
        "fees estimated",
        "fees booked",
        "not filled",
      ],
      rows,
    )
  }
`;
}

/** Returns the page of a plan and, if there is a report, of what its execution did. */
export function planPage(plan: Plan, report?: RebalanceReport): string {
  const largest = plan.positions.flatMap(({ weight, weightAfter, target }) =>
    [weight, weightAfter, target].map(Number)
  ).reduce((a, b) => Math.max(a, b), 0.01);
  const side = (name: "buy" | "sell"): Cell => ({ html: `<span class="${name}">${name}</span>` });
  const positions = plan.positions.toSorted((a, b) =>
    compare(b.target, a.target) || compare(b.weight, a.weight) || (a.symbol < b.symbol ? -1 : 1)
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Rebalancing plan of ${escaped(plan.date)}</title>
<style>${style}</style>
</head>
<body>
<h1>Rebalancing plan of ${escaped(plan.date)}</h1>
${
    report === undefined
      ? "<p>This is only a plan. No order was sent for this page.</p>"
      : reportHtml(report, side)
  }
<table class="facts"><tbody>
${
    [
      ["account value", `${moneyText(plan.value)} ${plan.base}`],
      [
        "sum of squared drifts",
        `${sumText(plan.sumSquaredDriftBefore)} before, ${sumText(plan.sumSquaredDrift)} after`,
      ],
      ["lower bound", boundText(plan)],
      ["turnover", percentText(plan.turnover)],
    ].map(([name = "", value = ""]) => `<tr><td>${escaped(name)}</td><td>${escaped(value)}</td></tr>`).join(
      "\n",
    )
  }
</tbody></table>
<h2>Before and after</h2>
<p class="key">weight<span style="background: var(--before)"></span>before<span style="background: var(--after)"></span>after<span style="background: var(--target); width: .2rem"></span>target</p>
${
    table(
      ["symbol", "", "held", "price", "before", "target", "drift", "trade", "after", "drift after"],
      positions.map((each) => [
        each.symbol,
        { html: bars(each, largest) },
        number(each.quantity),
        number(`${each.price} ${each.currency}`),
        number(percentText(each.weight)),
        number(percentText(each.target)),
        number(driftText(each.drift)),
        number(tradeText(each.trade)),
        number(percentText(each.weightAfter)),
        number(driftText(each.driftAfter)),
      ]),
    )
  }
<h2>Trades</h2>
${
    plan.trades.length === 0 ? "<p>No trades.</p>" : table(
      ["side", "quantity", "symbol", "price", "value", "fees"],
      tradesWithCurrency(plan).map((trade) => [
        side(trade.side),
        number(trade.quantity),
        trade.symbol,
        number(`${trade.price} ${trade.currency}`),
        number(moneyText(trade.value)),
        number(moneyText(trade.fees)),
      ]),
    )
  }
<h2>Cash</h2>
${
    table(
      ["currency", "before", "fees", "after", "buffer"],
      Object.entries(plan.cashAfter).map(([currency, after]) => [
        currency,
        number(moneyText(plan.cash[currency]!)),
        number(moneyText(plan.fees[currency]!)),
        number(moneyText(after)),
        number(moneyText(plan.cashBuffer[currency]!)),
      ]),
    )
  }
${
    plan.leftOut.length === 0 ? "" : `<h2>Left out</h2>
${
      table(
        ["symbol", "reason"],
        plan.leftOut.map(({ symbol, reason }) => [symbol, reason]),
      )
    }`
  }
<p><small>hash <code>${escaped(plan.hash)}</code></small></p>
</body>
</html>
`;
}
