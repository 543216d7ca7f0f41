/**
 * Executes an approved plan, and shows what it does.
 *
 * @module
 */
import { replacePage } from "../../../lib/private_files.ts";
import { isZero } from "../../../lib/decimal.ts";
import { planPage, type PlanRecord, rebalance, type RebalanceReport } from "../../../lib/rebalance/mod.ts";
import { calendarsOf } from "../../terminal/arguments.ts";
import type { Host } from "../../terminal/host.ts";
import { clockText, ZONE_NAME } from "../../terminal/market_time.ts";
import { paint, plain } from "../../terminal/print.ts";
import { actorOf } from "../shared/decide.ts";
import type { OpenDesk } from "../shared/desk.ts";
import { leftOrders, noteLeftOrders } from "./decide.ts";
import { reportLines } from "./lines.ts";

/** The part of a command's input that the execution of a plan uses. */
interface ExecuteInput {
  flags: { readonly by?: string; readonly html?: string; readonly json?: boolean };
  host: Host;
}

/** Executes a plan to its end. Returns the exit code. */
export async function execute(
  open: OpenDesk,
  record: PlanRecord,
  { flags, host }: ExecuteInput,
): Promise<number> {
  const { plan, terms } = record;
  const report = await rebalance(open.desk, plan, terms, {
    by: actorOf(flags, host),
    calendars: calendarsOf(host),
    signal: host.signal,
    onEvent: ({ at, trade, text }) => {
      const symbol = trade === undefined ? "" : `${plan.trades[trade]!.symbol}: `;
      host.note(`${paint(host, "dim", `${clockText(at)} ${ZONE_NAME}`)}  ${plain(symbol + text)}`);
    },
  });
  if (flags.html !== undefined) {
    const page = planPage(plan, report);
    // The page may contain texts of the broker, which may repeat a secret.
    replacePage(flags.html, host.shown?.(page) ?? page);
  }
  if (flags.json) host.out(JSON.stringify(report));
  else for (const line of reportLines(host, report)) host.out(line);
  noteLeftOrders(host, await leftOrders(open.store, record));
  return codeOf(report);
}

/**
 * Returns the exit code of a report: 5 if an outcome is unknown, 7 if a quantity remains or is in an open order, and
 * otherwise 0.
 */
function codeOf({ trades }: RebalanceReport): number {
  if (trades.some(({ unknown }) => !isZero(unknown))) return 5;
  return trades.every(({ remaining, open }) => isZero(remaining) && isZero(open)) ? 0 : 7;
}
