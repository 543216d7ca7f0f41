/**
 * Why a run is held back, for people.
 *
 * @module
 */
import type { Ledger } from "./ledger.ts";
import type { Because } from "./run_rows.ts";

/** What stands in the way of a run. */
export interface Hindrance {
  because: Because;
  /** The run, or the circumstance. */
  by?: string;
}

/** Says what stands in the way of a run, and what to do about it. */
export function tellHeld({ because, by }: Hindrance): string {
  switch (because) {
    case "recovery":
      return `the outcome of what "${by}" wrote is unknown: check the account's orders, then run ` +
        `"hsgate settle ${by} ok|failed"`;
    case "account":
      return by === undefined ? "another run has the account" : `"${by}" has the account`;
    case "unsafe":
      return `writing is not safe here: ${by}`;
    case "password":
      return `the broker refused the password, as "${by}" found; no login is tried until it is changed or a person ` +
        `allows it: hsgate resume ${by?.split("/")[0]}`;
    case "login":
      return `the broker refused the login for now, as "${by}" found; it is tried again by itself, within an hour at ` +
        `the latest, or at once after: hsgate resume ${by?.split("/")[0]}`;
    case "displaced":
      return `another device took over the login, as "${by}" found; when it may be taken back: hsgate resume ${
        by?.split("/")[0]
      }`;
  }
}

/** What stands in the way by the reason of a run that is due; nothing when nobody has found anything. */
export function heldReason(reason: string | null): Because | undefined {
  // Written by `holdRun`.
  return reason?.startsWith("held:") ? reason.slice("held:".length) as Because : undefined;
}

/** What stood in the way of a run last; nothing when nothing ever did. */
export function lastHeld(ledger: Ledger, runKey: string): Hindrance | undefined {
  const row = ledger.get<{ data: string }>(
    "select data from event where run_key = ? and kind = 'held' order by seq desc limit 1",
    runKey,
  );
  return row === undefined ? undefined : JSON.parse(row.data) as Hindrance; // written by `holdRun`
}
