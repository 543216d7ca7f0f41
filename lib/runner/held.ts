/**
 * Why a run is held back, for people.
 *
 * @module
 */
import type { Because } from "./run_rows.ts";

/** Says what stands in the way of a run, and what to do about it. */
export function tellHeld({ because, by }: { because: Because; by?: string }): string {
  switch (because) {
    case "recovery":
      return `it is open what "${by}" wrote on the account; look at it, then: hsgate settle ${by} ok|failed`;
    case "account":
      return by === undefined ? "another run has the account" : `"${by}" has the account`;
    case "unsafe":
      return `writing is not safe here: ${by}`;
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
