/**
 * Notices to people: queued in the transaction that they tell of, one row for each channel, tried again until they
 * are sent or given up.
 *
 * @module
 */
import type { CompiledNotice, CompiledRecipe, NoticeChannel } from "../steps/compiled.ts";
import type { Host } from "./host.ts";
import type { Ledger } from "./ledger.ts";
import type { RunRow, RunState } from "./run_rows.ts";

/** A notice by one channel. */
export interface Notice {
  /** Two notices with the same key are one. */
  dedupeKey: string;
  /** Name of the channel, such as `mail`. */
  channel: string;
  /** Plain data without secrets. */
  body: string;
  /** The run that it tells of. */
  runKey?: string;
}

/** Sends one notice; rejects when it could not. The signal says that nobody waits any more. */
export type Channel = (notice: Notice, signal: AbortSignal) => Promise<void>;

/** What `queueNotices` writes into a notice. */
export interface NoticeBody {
  run: { runKey: string; recipe: string };
  /** Which notice of the recipe, counted from 0. */
  notice: number;
  /** Which of its channels, counted from 0. */
  place: number;
  /** Channels that are queued as soon as this one fails. */
  fallbacks?: readonly { place: number; channel: string }[];
}

/** How one try went. */
export interface NoticeEvent {
  runKey: string;
  recipe: string;
  /** Which notice of the recipe, counted from 1. */
  notice: number;
  channel: string;
  /** `failed` is tried again at `nextTryAt`; `given-up` only when a person wants it. */
  state: "sent" | "failed" | "given-up";
  tries: number;
  /** Why it was not sent. */
  error?: string;
  /** Epoch milliseconds; with `failed`. */
  nextTryAt?: number;
}

const FIRST_WAIT_MS = 30_000;
const MOST_WAIT_MS = 60 * 60_000;
/** After this many tries a notice is given up. */
const MOST_TRIES = 12;
/** How long a channel may take; shorter than the first wait, so that no second try begins beside it. */
const CHANNEL_TIMEOUT_MS = 20_000;
/** Notices of one channel that are sent at a time. */
const MOST_AT_ONCE = 4;
/** Notices that are taken up at a time. */
const MOST_TAKEN = 200;
/** A longer reason is cut. */
const LONGEST_ERROR = 500;

/** Queues a notice; returns whether it is new. */
export function queueNotice(
  ledger: Ledger,
  { dedupeKey, channel, body, runKey }: Notice,
  now: number,
): boolean {
  return ledger.run(
    `insert into outbox (dedupe_key, channel, body, next_try, run_key, created_at) values (?, ?, ?, ?, ?, ?)
      on conflict (dedupe_key) do nothing`,
    dedupeKey,
    channel,
    body,
    now,
    runKey,
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

/** Returns the channels of a notice, in the order in which rows name them by their place. */
export function channelsOf({ uses, step, channels }: CompiledNotice): readonly NoticeChannel[] {
  return channels ?? [{ name: uses, isFallback: false, step }];
}

/**
 * Queues the notices that a recipe wants sent of a run, and returns how many rows are new. A write that was missed is
 * told to everybody whom the recipe would tell of a failure: an order that was not placed is one.
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
  for (const [index, notice] of (recipe.notify ?? []).entries()) {
    const { on } = notice;
    if (on !== "always" && on !== occasion && !(missedWrite && on === "failure")) continue;
    const { run_key: runKey, recipe: name, state, reason, business_day, slot_at, started_at, finished_at } =
      row;
    const channels = channelsOf(notice);
    const fallbacks = channels.flatMap(({ name, isFallback }, place) =>
      isFallback ? [{ place, channel: name }] : []
    );
    for (const [place, { name: channel, isFallback }] of channels.entries()) {
      if (isFallback) continue;
      const dedupeKey = `${runKey}/${row.round}/${row.attempt}/${state}/${index}/${place}`;
      const body = redact({
        run: { runKey, recipe: name, state, reason, businessDay: business_day },
        times: { slotAt: slot_at, startedAt: started_at, finishedAt: finished_at },
        notice: index,
        place,
        ...fallbacks.length > 0 && { fallbacks },
      });
      if (queueNotice(ledger, { dedupeKey, channel, body, runKey }, now)) queued++;
    }
  }
  return queued;
}

interface OutboxRow {
  dedupe_key: string;
  channel: string;
  body: string;
  tries: number;
  run_key: string | null;
}

/** What sending notices stands on. */
export interface DeliveryOptions {
  ledger: Ledger;
  host: Pick<Host, "now" | "setTimer">;
  /** Finds the channel of a notice; none when another process may know it. */
  channelOf(notice: Notice): Channel | undefined;
  /** Takes secrets out of a text. */
  redact?(text: string): string;
  /** Called after each try. */
  onNotice?(event: NoticeEvent): void;
}

/** Sends notices, each channel without regard to the others. Processes that share a ledger do not send one twice. */
export class NoticeDelivery {
  readonly #options: DeliveryOptions;
  /** Channels that are being sent by. */
  readonly #busy = new Set<string>();
  readonly #delivering = new Set<Promise<number>>();
  #isEnding = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Takes up nothing more by itself; resolves when nothing is being sent. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.allSettled(this.#delivering);
  }

  /** Begins to send what is due by channels that are idle; resolves to how many of it were sent. */
  async deliver(): Promise<number> {
    const work = this.#deliver();
    this.#delivering.add(work);
    try {
      return await work;
    } finally {
      this.#delivering.delete(work);
    }
  }

  async #deliver(): Promise<number> {
    let sent = 0;
    // A channel that failed may have queued its fallbacks.
    for (let works = this.#begin(); works.length > 0; works = this.#isEnding ? [] : this.#begin()) {
      sent += (await Promise.all(works)).reduce((sum, count) => sum + count, 0);
    }
    return sent;
  }

  #begin(): Promise<number>[] {
    const { ledger, host, channelOf } = this.#options;
    const due = ledger.all<OutboxRow>(
      `select dedupe_key, channel, body, tries, run_key from outbox
        where sent_at is null and given_up_at is null and next_try <= ? order by next_try limit ${MOST_TAKEN}`,
      host.now(),
    );
    const groups = new Map<string, { row: OutboxRow; send: Channel }[]>();
    for (const row of due) {
      const key = groupOf(row);
      if (this.#busy.has(key)) continue;
      const send = channelOf(noticeOf(row));
      if (send !== undefined) groups.set(key, [...groups.get(key) ?? [], { row, send }]);
    }
    return [...groups].map(([key, waiting]) => {
      this.#busy.add(key);
      return this.#sendAll(waiting).finally(() => this.#busy.delete(key));
    });
  }

  async #sendAll(waiting: { row: OutboxRow; send: Channel }[]): Promise<number> {
    let sent = 0;
    const worker = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (await this.#try(next.row, next.send)) sent++;
      }
    };
    await Promise.all(Array.from({ length: Math.min(MOST_AT_ONCE, waiting.length) }, worker));
    return sent;
  }

  /** Tries once, unless another process is at it; returns whether it was sent. */
  async #try(row: OutboxRow, send: Channel): Promise<boolean> {
    const { ledger, host } = this.#options;
    const { dedupe_key: key, tries } = row;
    const nextTryAt = host.now() + Math.min(FIRST_WAIT_MS * 2 ** tries, MOST_WAIT_MS);
    const isMine = ledger.run(
      `update outbox set tries = tries + 1, next_try = ?
        where dedupe_key = ? and tries = ? and sent_at is null and given_up_at is null`,
      nextTryAt,
      key,
      tries,
    ) === 1;
    if (!isMine) return false;
    try {
      await withinTime(host, row.channel, (signal) => send(noticeOf(row), signal));
    } catch (error) {
      this.#failed(row, error, nextTryAt);
      return false;
    }
    ledger.run("update outbox set sent_at = ?, last_error = null where dedupe_key = ?", host.now(), key);
    this.#tell(row, { state: "sent" });
    return true;
  }

  #failed(row: OutboxRow, cause: unknown, nextTryAt: number): void {
    const { ledger, host, redact = (text) => text } = this.#options;
    const now = host.now();
    const isLast = row.tries + 1 >= MOST_TRIES;
    const error = redact(messageOf(cause)).slice(0, LONGEST_ERROR);
    ledger.transaction(() => {
      ledger.run(
        "update outbox set last_error = ?, given_up_at = ? where dedupe_key = ? and sent_at is null",
        error,
        isLast ? now : null,
        row.dedupe_key,
      );
      ledger.event(now, isLast ? "notice_given_up" : "notice_failed", {
        dedupeKey: row.dedupe_key,
        channel: row.channel,
        error,
      }, row.run_key ?? undefined);
      this.#queueFallbacks(row, now);
    });
    this.#tell(row, isLast ? { state: "given-up", error } : { state: "failed", error, nextTryAt });
  }

  #queueFallbacks({ body, dedupe_key, run_key }: OutboxRow, now: number): void {
    const { fallbacks = [], ...about } = bodyOf(body);
    for (const { place, channel } of fallbacks) {
      // The same key whichever channel of the notice failed, so that a fallback is queued once.
      const dedupeKey = `${dedupe_key.replace(/\/\d+$/, "")}/${place}`;
      const fallback: Notice = { dedupeKey, channel, body: JSON.stringify({ ...about, place }) };
      queueNotice(this.#options.ledger, { ...fallback, ...run_key !== null && { runKey: run_key } }, now);
    }
  }

  #tell(row: OutboxRow, how: Pick<NoticeEvent, "state" | "error" | "nextTryAt">): void {
    const { run, notice = 0 } = bodyOf(row.body);
    this.#options.onNotice?.({
      runKey: row.run_key ?? run?.runKey ?? "",
      recipe: run?.recipe ?? "",
      notice: notice + 1,
      channel: row.channel,
      tries: row.tries + 1,
      ...how,
    });
  }
}

/**
 * Does the work of a channel within its time; what it does later is not looked at.
 *
 * @throws {Error} When the channel takes longer than 20 seconds.
 */
export async function withinTime(
  host: Pick<Host, "setTimer">,
  channel: string,
  send: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const limit = new AbortController();
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => {});
  const cancel = host.setTimer(CHANNEL_TIMEOUT_MS, () => {
    const error = new Error(`Cannot notify by ${channel}: no answer within ${CHANNEL_TIMEOUT_MS / 1000} s`);
    // The error is there first, as an abort makes the work itself fail with another one.
    late.reject(error);
    limit.abort(error);
  });
  try {
    const sending = send(limit.signal);
    sending.catch(() => {});
    await Promise.race([sending, late.promise]);
  } finally {
    cancel();
  }
}

/** Sends what is due, and resolves to how many notices were sent. */
export async function deliverNotices(
  ledger: Ledger,
  channelOf: (notice: Notice) => Channel | undefined,
  host: Pick<Host, "now" | "setTimer">,
  options: Pick<DeliveryOptions, "redact" | "onNotice"> = {},
): Promise<number> {
  return await new NoticeDelivery({ ledger, channelOf, host, ...options }).deliver();
}

const noticeOf = ({ dedupe_key: dedupeKey, channel, body, run_key }: OutboxRow): Notice => ({
  dedupeKey,
  channel,
  body,
  ...run_key !== null && { runKey: run_key },
});

/** The channel as a place that may hang: that of one notice of one recipe. */
function groupOf({ body, channel }: OutboxRow): string {
  const { run, notice, place } = bodyOf(body);
  return `${run?.recipe}/${notice}/${place}/${channel}`;
}

/** Reads what `queueNotices` wrote; a notice of another origin has none of it. */
export function bodyOf(body: string): Partial<NoticeBody> {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message === "" ? error.name : error.message;
}
