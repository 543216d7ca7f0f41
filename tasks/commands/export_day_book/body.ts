/**
 * Runs `hsgate export day-book`.
 *
 * @module
 */
import { secretsOf } from "../../../lib/client/settings.ts";
import { Redactor } from "../../../lib/redact.ts";
import { exportDayBook } from "../../../lib/day_book/mod.ts";
import { joinDays, joinTarget } from "../../../lib/day_book/folder/join_days.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { ExportInput } from "../export_day_book.ts";
import { checkListColumns, listView, printList } from "../../terminal/list_output.ts";
import { plain } from "../../terminal/print.ts";
import { clientOf, loadSettingsOf } from "../shared/session.ts";
import { showProgress } from "./progress.ts";
import { dayColumns, dayRows, dayTable } from "../../terminal/day_table.ts";
import { calendarsOf, clockOf, dayOf, lastTradingDays, listOf, marketsOf } from "../../terminal/arguments.ts";
import { refuseLinkedOut } from "../shared/linked_out.ts";

/** Exports, shows progress, and returns 7 if the checks of a day found differences. */
export async function run({ flags, host }: ExportInput): Promise<number> {
  const begin = clockOf(flags.now, host);
  // With `--now`, time continues from that instant, like the broker's clock.
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
  // The folder may contain links of these names.
  refuseLinkedOut(out);
  if (join !== undefined) refuseLinkedOut(join);
  const view = listView(flags);
  checkListColumns(view, dayColumns);
  const isJson = view.output.startsWith("json");
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
      // `--json` hides progress on stderr, but not these warnings.
      const isClock = event.type === "clock-differs" || event.type === "clock-unknown";
      if (isClock && isJson) host.note(`hsgate: warning: ${event.message}`);
      progress.update(event);
    },
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
