/**
 * Queues and sends notices to people. The transaction that ends a run also queues its notices, one row for each
 * channel. Each row is tried again until it is sent or given up.
 *
 * @module
 */
import {
  beginTry,
  dueNotices,
  insertNotice,
  noteSent,
  noteUnsent,
  type StoredNotice,
} from "../queries/events.ts";
import { messageOf } from "../../errors.ts";
import type { CompiledNotice, CompiledRecipe, NoticeChannel } from "../../recipes/compiled.ts";
import type { Machine } from "../../time.ts";
import { isMap, isText } from "../../foreign_values.ts";
import { readJson, type Store } from "../../store/store.ts";
import type { RunRow, RunState } from "../queries/runs.ts";

/** A notice for one channel. */
export interface Notice {
  /** A second notice with the same key is not queued. */
  dedupeKey: string;
  /** Name of the channel, such as `mail`. */
  channel: string;
  /** JSON without secrets. */
  body: string;
  /** The run that the notice reports. */
  runKey?: string;
}

/** Sends one notice; rejects if it fails. The signal is aborted when the caller stops waiting. */
export type Channel = (notice: Notice, signal: AbortSignal) => Promise<void>;

/** The content of a notice, as `queueNotices` writes it. */
interface NoticeBody {
  run: { runKey: string; recipe: string };
  /** Index of the notice in the recipe, from 0. */
  notice: number;
  /** Index of the channel in the notice, from 0. */
  place: number;
  /** Channels whose notices are queued as soon as this channel fails. */
  fallbacks?: readonly { place: number; channel: string }[];
}

/** The result of one try. */
export interface NoticeEvent {
  runKey: string;
  recipe: string;
  /** Number of the notice in the recipe, from 1. */
  notice: number;
  channel: string;
  /** A `failed` notice is tried again at `nextTryAt`, a `given-up` notice only after `hsgate notices --send`. */
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
/** How long a channel may take; shorter than the first wait, so that two tries never overlap. */
const CHANNEL_TIMEOUT_MS = 20_000;
/** Maximum number of notices that one channel sends at a time. */
const MOST_AT_ONCE = 4;
/** Maximum number of notices that one pass reads from the store. */
const MOST_TAKEN = 200;
/** Maximum length of a recorded error; a longer text is cut. */
const LONGEST_ERROR = 500;

const occasions: Partial<Record<RunState, "success" | "failure" | "skip">> = {
  ok: "success",
  failed: "failure",
  unknown: "failure",
  cancelled: "failure",
  waiting_recovery: "failure",
  waiting_approval: "failure",
  skipped: "skip",
};

/** Returns the channels of a notice. A notice's row names its channel by the channel's index in this list. */
export function channelsOf({ uses, step, channels }: CompiledNotice): readonly NoticeChannel[] {
  return channels ?? [{ name: uses, isFallback: false, step }];
}

/**
 * Queues the notices that a recipe declares for the state of a run, and returns how many rows are new. If a run that
 * writes was missed, also notifies the receivers of failures, because no order was placed.
 */
export async function queueNotices(
  store: Store,
  recipe: CompiledRecipe,
  row: RunRow,
  { now, redact }: { now: number; redact: (value: unknown) => string },
): Promise<number> {
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
      if (await insertNotice(store, { dedupeKey, channel, body, runKey }, now)) queued++;
    }
  }
  return queued;
}

/** What the delivery of notices needs. */
interface DeliveryOptions {
  store: Store;
  machine: Pick<Machine, "now" | "setTimer">;
  /** Returns the channel of a notice; `undefined` if this process does not know it. Another process may know it. */
  channelOf(notice: Notice): Channel | undefined | Promise<Channel | undefined>;
  /** Removes secrets from a text. */
  redact?(text: string): string;
  /** Called after each try. */
  onNotice?(event: NoticeEvent): void;
}

/** Sends notices, each channel independently. Processes that share a store do not send a notice twice. */
export class NoticeDelivery {
  readonly #options: DeliveryOptions;
  /** Channels that are sending now. */
  readonly #busy = new Set<string>();
  readonly #delivering = new Set<Promise<number>>();
  #isEnding = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Waits for the deliveries in progress. They send the notices that they have read, and look for no further ones. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.allSettled(this.#delivering);
  }

  /** Sends the due notices of idle channels; resolves to how many were sent. */
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
    // Looks for due notices again after each round, because a failed channel queues notices for fallback channels.
    for (
      let works = await this.#begin();
      works.length > 0;
      works = this.#isEnding ? [] : await this.#begin()
    ) {
      sent += (await Promise.all(works)).reduce((sum, count) => sum + count, 0);
    }
    return sent;
  }

  async #begin(): Promise<Promise<number>[]> {
    const { store, machine, channelOf } = this.#options;
    const due = await dueNotices(store, machine.now(), MOST_TAKEN);
    const groups = new Map<string, { row: StoredNotice; send: Channel }[]>();
    for (const row of due) {
      const key = groupOf(row);
      if (this.#busy.has(key)) continue;
      const send = await channelOf(noticeOf(row));
      if (send !== undefined) groups.set(key, [...groups.get(key) ?? [], { row, send }]);
    }
    return [...groups].map(([key, waiting]) => {
      this.#busy.add(key);
      return this.#sendAll(waiting).finally(() => this.#busy.delete(key));
    });
  }

  async #sendAll(waiting: { row: StoredNotice; send: Channel }[]): Promise<number> {
    let sent = 0;
    const worker = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (await this.#try(next.row, next.send)) sent++;
      }
    };
    await Promise.all(Array.from({ length: Math.min(MOST_AT_ONCE, waiting.length) }, worker));
    return sent;
  }

  /** Tries once to send a notice, unless another process is trying; returns whether this try succeeded. */
  async #try(row: StoredNotice, send: Channel): Promise<boolean> {
    const { store, machine } = this.#options;
    const { dedupe_key: key, tries } = row;
    const nextTryAt = machine.now() + Math.min(FIRST_WAIT_MS * 2 ** tries, MOST_WAIT_MS);
    if (!await beginTry(store, row, nextTryAt)) return false;
    try {
      await withinTime(machine, row.channel, (signal) => send(noticeOf(row), signal));
    } catch (error) {
      await this.#failed(row, error, nextTryAt);
      return false;
    }
    await noteSent(store, key, machine.now());
    this.#emit(row, { state: "sent" });
    return true;
  }

  async #failed(row: StoredNotice, cause: unknown, nextTryAt: number): Promise<void> {
    const { store, machine, redact = (text) => text } = this.#options;
    const now = machine.now();
    const isLast = row.tries + 1 >= MOST_TRIES;
    const error = redact(messageOf(cause)).slice(0, LONGEST_ERROR);
    await store.transaction(async () => {
      await noteUnsent(store, row.dedupe_key, { error, givenUpAt: isLast ? now : null });
      await store.event(now, isLast ? "notice_given_up" : "notice_failed", {
        dedupeKey: row.dedupe_key,
        channel: row.channel,
        error,
      }, row.run_key ?? undefined);
      await this.#queueFallbacks(row, now);
    });
    this.#emit(row, isLast ? { state: "given-up", error } : { state: "failed", error, nextTryAt });
  }

  async #queueFallbacks({ body, dedupe_key, run_key }: StoredNotice, now: number): Promise<void> {
    const { fallbacks = [], ...about } = bodyOf(body);
    for (const { place, channel } of fallbacks) {
      // The key does not depend on which channel failed, so that a fallback is queued only once, even if several
      // channels fail.
      const dedupeKey = `${dedupe_key.replace(/\/\d+$/, "")}/${place}`;
      const fallback: Notice = { dedupeKey, channel, body: JSON.stringify({ ...about, place }) };
      await insertNotice(
        this.#options.store,
        { ...fallback, ...run_key !== null && { runKey: run_key } },
        now,
      );
    }
  }

  #emit(row: StoredNotice, how: Pick<NoticeEvent, "state" | "error" | "nextTryAt">): void {
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
 * Sends a notice by a channel within the time limit; ignores what the channel answers later.
 *
 * @throws {Error} When the channel takes longer than 20 seconds.
 */
export async function withinTime(
  machine: Pick<Machine, "setTimer">,
  channel: string,
  send: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const limit = new AbortController();
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => {});
  const cancel = machine.setTimer(CHANNEL_TIMEOUT_MS, () => {
    const error = new Error(`Cannot notify by ${channel}: no answer within ${CHANNEL_TIMEOUT_MS / 1000} s`);
    // Rejects first, because the abort makes the channel fail with a different error.
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

/** Sends the due notices, and resolves to how many were sent. */
export async function deliverNotices(
  store: Store,
  channelOf: (notice: Notice) => Channel | undefined,
  machine: Pick<Machine, "now" | "setTimer">,
  options: Pick<DeliveryOptions, "redact" | "onNotice"> = {},
): Promise<number> {
  return await new NoticeDelivery({ store, channelOf, machine, ...options }).deliver();
}

const noticeOf = ({ dedupe_key: dedupeKey, channel, body, run_key }: StoredNotice): Notice => ({
  dedupeKey,
  channel,
  body,
  ...run_key !== null && { runKey: run_key },
});

/** Returns the key of a group that is sent independently of others: one channel of one notice of one recipe. */
function groupOf({ body, channel }: StoredNotice): string {
  const { run, notice, place } = bodyOf(body);
  return `${run?.recipe}/${notice}/${place}/${channel}`;
}

const isBody = (value: unknown): boolean =>
  isMap(value) && isMap(value.run) && isText(value.run.runKey) && isText(value.run.recipe) &&
  Number.isInteger(value.notice) && Number.isInteger(value.place) &&
  (value.fallbacks === undefined ||
    Array.isArray(value.fallbacks) &&
      value.fallbacks.every((each) => isMap(each) && Number.isInteger(each.place) && isText(each.channel)));

/** Parses the body that `queueNotices` wrote; returns an empty object for the body of any other notice. */
export function bodyOf(body: string): Partial<NoticeBody> {
  try {
    return readJson(body, isBody, { table: "outbox", column: "body" });
  } catch {
    return {};
  }
}
