/**
 * Messages to people: queued in the transaction that they tell of, sent once by key, tried again until they are out.
 *
 * @module
 */
import type { CompiledRecipe } from "../steps/compiled.ts";
import type { Host } from "./host.ts";
import type { Ledger } from "./ledger.ts";
import type { RunRow, RunState } from "./run_rows.ts";

/** A message that waits. */
export interface Notice {
  /** Two messages with the same key are one. */
  dedupeKey: string;
  /** Name of the channel, such as `notify-mail`. */
  channel: string;
  /** Plain data without secrets. */
  body: string;
}

/** Sends one message; rejects when it could not. */
export type Channel = (notice: Notice) => Promise<void>;

const FIRST_WAIT_MS = 30_000;
const MOST_WAIT_MS = 60 * 60_000;
/** After this many tries a message is given up, which is an event of its own. */
const MOST_TRIES = 12;

/** Queues a message; tells whether it is new. */
export function queueNotice(ledger: Ledger, notice: Notice, now: number): boolean {
  return ledger.run(
    `insert into outbox (dedupe_key, channel, body, next_try) values (?, ?, ?, ?)
      on conflict (dedupe_key) do nothing`,
    notice.dedupeKey,
    notice.channel,
    notice.body,
    now,
  ) === 1;
}

const occasions: Partial<Record<RunState, "success" | "failure" | "skip">> = {
  ok: "success",
  failed: "failure",
  unknown: "failure",
  cancelled: "failure",
  waiting_recovery: "failure",
  waiting_approval: "failure",
  skipped: "skip",
};

/**
 * Queues what a recipe wants told of a run. A write that was missed is told to everybody whom the recipe would tell
 * of a failure: an order that was not placed is one.
 */
export function queueNotices(
  ledger: Ledger,
  recipe: CompiledRecipe,
  row: RunRow,
  { now, redact }: { now: number; redact: (value: unknown) => string },
): number {
  const occasion = occasions[row.state];
  if (occasion === undefined) return 0;
  const missedWrite = row.class === "write" && row.state === "skipped" &&
    (row.reason === "misfire" || row.reason === "deadline" || row.reason === "calendar_unknown");
  let queued = 0;
  for (const [index, { on, uses }] of (recipe.notify ?? []).entries()) {
    if (on !== "always" && on !== occasion && !(missedWrite && on === "failure")) continue;
    const { run_key, recipe: name, state, reason, business_day, slot_at, started_at, finished_at } = row;
    const dedupeKey = `${run_key}/${row.round}/${row.attempt}/${state}/${index}`;
    const body = redact({
      run: { runKey: run_key, recipe: name, state, reason, businessDay: business_day },
      times: { slotAt: slot_at, startedAt: started_at, finishedAt: finished_at },
      notice: index,
    });
    if (queueNotice(ledger, { dedupeKey, channel: uses, body }, now)) queued++;
  }
  return queued;
}

interface OutboxRow {
  dedupe_key: string;
  channel: string;
  body: string;
  tries: number;
}

/** Sends what is waiting, and resolves to how many went out. Processes that share a ledger do not send twice. */
export async function deliverNotices(
  ledger: Ledger,
  channelOf: (notice: Notice) => Channel | undefined,
  host: Pick<Host, "now">,
): Promise<number> {
  const waiting = ledger.all<OutboxRow>(
    "select dedupe_key, channel, body, tries from outbox where sent_at is null and next_try <= ? and tries < ?",
    host.now(),
    MOST_TRIES,
  );
  let sent = 0;
  for (const { dedupe_key: dedupeKey, channel, body, tries } of waiting) {
    const send = channelOf({ dedupeKey, channel, body });
    if (send === undefined) continue; // another process may know it
    const next = host.now() + Math.min(FIRST_WAIT_MS * 2 ** tries, MOST_WAIT_MS);
    const mine = ledger.run(
      "update outbox set tries = tries + 1, next_try = ? where dedupe_key = ? and tries = ? and sent_at is null",
      next,
      dedupeKey,
      tries,
    ) === 1;
    if (!mine) continue;
    try {
      await send({ dedupeKey, channel, body });
      ledger.run("update outbox set sent_at = ? where dedupe_key = ?", host.now(), dedupeKey);
      sent++;
    } catch (error) {
      const name = error instanceof Error ? error.name : "unknown";
      const kind = tries + 1 >= MOST_TRIES ? "notice_given_up" : "notice_failed";
      ledger.event(host.now(), kind, { dedupeKey, channel, error: name });
    }
  }
  return sent;
}
