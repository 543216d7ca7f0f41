/**
 * Runs `hsgate export day-book`.
 *
 * @module
 */
import { secretsOf } from "../../../lib/client/settings.ts";
import { Redactor } from "../../../lib/redact.ts";
import { exportDayBook } from "../../../lib/day_book/mod.ts";
import { rebalanceTradesOf } from "../../../lib/rebalance/results/day_trades.ts";
import { joinDays, joinTarget } from "../../../lib/day_book/folder/join_days.ts";
import type { Store } from "../../../lib/store/store.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { ExportInput } from "../export_day_book.ts";
import type { Host } from "../../terminal/host.ts";
import { checkListColumns, listView, printList } from "../../terminal/list_output.ts";
import { plain } from "../../terminal/print.ts";
import { accountOf } from "../shared/desk.ts";
import { clientOf, loadSettingsOf, storePath } from "../shared/session.ts";
import { openStore, storeExists } from "../shared/store_file.ts";
import { showProgress } from "./progress.ts";
import { dayColumns, dayRows, dayTable } from "../../terminal/day_table.ts";
import { calendarsOf, clockOf, dayOf, lastTradingDays, listOf, marketsOf } from "../../terminal/arguments.ts";
import { refuseLinkedOut } from "../shared/linked_out.ts";

/** Opens the store with the rebalancing plans, if there is one. A store that the flag names must exist. */
async function storeOf(flags: ExportInput["flags"], host: Host): Promise<Store | undefined> {
  if (flags.store !== undefined || await storeExists(flags, host)) {
    return await openStore(flags, { host, mustExist: true });
  }
  const named = await storePath(flags, host);
  if (named !== undefined) {
    host.note(
      plain(`hsgate: warning: there is no store "${named}", so there is no list of rebalancing trades`),
    );
  }
  return undefined;
}

/** Exports, shows progress, and returns 7 if the checks of a day found differences. */
export async function run({ flags, host }: ExportInput): Promise<number> {
  const begin = clockOf(flags.now, host);
  // With `--now`, the clock starts at that instant and then runs on.
  const since = host.now();
  const now = flags.now === undefined ? begin : () => begin() + host.now() - since;
  const markets = marketsOf(flags.markets ?? "hk");
  const to = flags.to === undefined
    ? lastTradingDays(calendarsOf(host), markets[0]!, 1, now())[0]!
    : dayOf("to", flags.to);
  const from = flags.from === undefined ? to : dayOf("from", flags.from);
  if (from > to) throw new UsageError(`Cannot export from ${from} to ${to}: the first day is after the last`);
  const formats = listOf("formats", flags.formats ?? "csv,jsonl", ["csv", "jsonl"] as const);
  const accounts = listOf(
    "accounts",
    flags.accounts ?? "securities,futures",
    ["securities", "futures"] as const,
  );
  const join = flags.join;
  if (join !== undefined && !formats.includes(joinTarget(join).format)) {
    throw new UsageError(
      `Cannot use --join "${join}" with --formats ${formats.join(",")}: the export writes no such files`,
    );
  }
  const out = flags.out ?? "out";
  // Somebody else may have created a link with one of these names in the working folder.
  refuseLinkedOut(out);
  if (join !== undefined) refuseLinkedOut(join);
  const view = listView(flags);
  checkListColumns(view, dayColumns);
  const isJson = view.output.startsWith("json");
  await using store = await storeOf(flags, host);
  const account = await accountOf((await loadSettingsOf(flags, host)).settings);
  await using client = await clientOf(flags, host, { command: "export day-book" });
  const redactor = new Redactor();
  for (const [, secret] of await secretsOf((await loadSettingsOf(flags, host)).settings)) {
    redactor.add(secret);
  }
  using progress = showProgress(host, { json: isJson });
  const result = await exportDayBook(client, {
    markets,
    accounts,
    from,
    to,
    out,
    formats,
    now,
    calendars: calendarsOf(host),
    signal: host.signal,
    hasSecret: (path) => redactor.isInFile(path),
    onProgress(event) {
      // With `--json` and without a terminal, `progress` shows nothing, so print these warnings here.
      const isClock = event.type === "clock-differs" || event.type === "clock-unknown";
      if (isClock && isJson && host.errTerminal === undefined) host.note(`hsgate: warning: ${event.message}`);
      progress.update(event);
    },
    ...store !== undefined && { rebalanceTrades: rebalanceTradesOf({ store, account }) },
    ...flags.refresh && { refresh: true },
    ...flags["exact-csv"] && { exactCsv: true },
    ...flags.wire && { wire: true },
    ...flags.owner !== undefined && { owner: flags.owner },
  });
  const joined = join === undefined ? undefined : joinDays(result, join);
  const shownJoined = (joined ?? []).map(({ path, days }) =>
    plain(`joined ${days} ${days === 1 ? "day" : "days"} into ${path}`)
  );
  printList(host, view, {
    columns: dayColumns,
    rows: dayRows(result),
    data: ({ day, market, action, result }) => ({ day, market, action, ...result }),
    json: () => joined === undefined ? result : { ...result, joined },
    empty: "",
    lines: () => [...dayTable(result, host, { columns: view.columns }), ...shownJoined],
  });
  return result.ok ? 0 : 7;
}
