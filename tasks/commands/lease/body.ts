/**
 * Runs `hsgate lease`.
 *
 * @module
 */
import { type LeaseHolder, leaseHolders } from "../../../lib/transports/direct/lease.ts";
import { checkListColumns, listView, printList } from "../../terminal/list_output.ts";
import type { Column } from "../../terminal/print.ts";
import { leaseFolderOf } from "./account_lease.ts";
import type { LeaseInput } from "../lease.ts";
import { settingsOf } from "../shared/session.ts";

type Row = { lease: string } & Partial<LeaseHolder>;

const columns: readonly Column<Row>[] = [
  // A process may hold the lock of a lease without a readable description.
  { title: "program", keep: true, of: ({ program }) => program ?? "(another process)" },
  { title: "process", of: ({ pid }) => pid === undefined ? "" : String(pid), align: "right" },
  { title: "since (UTC)", name: "since", of: ({ since }) => since ?? "" },
  { title: "lease", of: ({ lease }) => lease },
];

/** Prints the holders of all leases; each account has its own lease. */
export async function run({ flags, host }: LeaseInput): Promise<number> {
  const view = listView(flags);
  checkListColumns(view, columns);
  const { settings } = await settingsOf(flags, host);
  const holders = [...await leaseHolders(leaseFolderOf(settings, host))];
  const rows = holders.map(([lease, holder]): Row => ({ lease, ...holder }));
  printList(host, view, { columns, rows, empty: "no process on this machine has a trade connection" });
  return 0;
}
