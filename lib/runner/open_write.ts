/**
 * A run of which nobody knows what it wrote: what a person has to look at, and how to say what they saw.
 *
 * @module
 */
import { commandsOf, laterLists, whereToLook } from "../operations/proof.ts";
import type { Ledger } from "./ledger.ts";
import type { RunRow } from "./run_rows.ts";
import { showInstant } from "./slots.ts";
import type { StepRow } from "./step_rows.ts";

/** Kind of the event that is written right before a step sends a write. */
export const WRITE_SENT = "write_sent";

interface WriteSent {
  step: string;
  operation: string;
  /** Operations that list what it made or changed. */
  lists: string[];
}

/** Tells whether it is open what a run wrote. */
export function isOpen({ class: kind, state }: Pick<RunRow, "class" | "state">): boolean {
  return state === "waiting_recovery" || (kind === "write" && state === "unknown");
}

/** Says what to look at and what to do, line by line; nothing for a run that has no question open. */
export function openWriteAdvice(ledger: Ledger, row: RunRow): string[] {
  if (!isOpen(row)) return [];
  const steps = ledger.all<StepRow>(
    "select * from step_run where run_key = ? and effect = 'write' and state in ('begun', 'unknown') order by started_at",
    row.run_key,
  );
  const named = steps.map(({ step_id, started_at }) => `"${step_id}", begun at ${showInstant(started_at)}`);
  const what = named.length === 0 ? "what it wrote before it was broken off" : `step ${named.join(" and ")}`;
  const since = steps[0]?.started_at ?? row.started_at ?? row.slot_at;
  const isOpenStep = ({ step }: WriteSent) =>
    steps.length === 0 || steps.some(({ step_id }) => step_id === step);
  const sent = ledger.all<{ data: string }>(
    "select data from event where run_key = ? and kind = ? order by seq",
    row.run_key,
    WRITE_SENT,
  ).map(({ data }): WriteSent => JSON.parse(data)).filter(isOpenStep); // written by the run itself
  const operations = [...new Set(sent.map(({ operation }) => operation))];
  const lists = [...new Set(sent.flatMap((each) => each.lists))];
  return [
    `open: ${what}${operations.length === 0 ? "" : `, which sent ${operations.join(", ")}`}`,
    `look at what the account has from ${showInstant(since)} on: ${
      placesFor(sent.length === 0 ? undefined : lists)
    }, and in the broker's app`,
    `then say what came of it: hsgate settle ${row.run_key} ok|failed --because "what you saw"`,
    "until then no other recipe that writes begins on the account",
  ];
}

/** Says which lists to look in; every one that shows a write, where nobody knows which was sent. */
function placesFor(lists: readonly string[] | undefined): string {
  if (lists === undefined) return whereToLook({}).replace(/^look /, "");
  const later = laterLists(lists);
  const calls = commandsOf(lists, "hsgate").join(", ");
  return lists.length === 0
    ? "no list of the broker shows it"
    : `${calls}${later.length === 0 ? "" : ` (on a later day: ${later.join(", ")})`}`;
}
