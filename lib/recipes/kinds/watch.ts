/**
 * Defines the step `watch`, which records pushes to files for a part of the day.
 *
 * @module
 */
import type { SecurityType } from "../../dictionaries/security_type.ts";
import { exists, isLink, makePrivate, PRIVATE_FILE, PRIVATE_FOLDER } from "../../private_files.ts";
import { needRegular } from "../../regular_files.ts";
import * as z from "zod";
import { PushTopic } from "../../dictionaries/push.ts";
import { BrokerError } from "../../errors.ts";
import type { TransportEvent } from "../../transports/push/events.ts";
import type { AsOfNow, StepContext } from "../compiled.ts";
import { refusePast } from "../engine/call_operation.ts";
import { durationOf } from "../compile/written_times.ts";
import { someTime } from "../schema/recipe_schema.ts";
import { endsMarketData, folder, security, securityFrom, writesInto } from "./fields.ts";
import { nodeCrypto } from "../../std/node_crypto.ts";
import { jsonLines, pathIn } from "./files.ts";
import { stepKind } from "./kind.ts";
import { tradedMs } from "./trading_hours.ts";
import { instantOf, pause, sessionMoment } from "./times.ts";

const params = z.strictObject({
  securities: z.array(security).max(200).default([]).meta({ description: "Securities to subscribe to" }),
  // A code table is never empty.
  topics: z.array(z.enum(PushTopic.names as [PushTopic, ...PushTopic[]])).min(1).default(["quote"])
    .meta({ description: "What to record of each security" }),
  orders: z.boolean().default(true).meta({ description: "Also record changes of orders" }),
  for: someTime.optional().meta({ description: "How long the step records; give either this or until" }),
  until: sessionMoment.optional().meta({ description: "Session time of this run at which the step ends" }),
  out: folder.default("out/pushes"),
});
type Params = z.infer<typeof params>;

const output = z.strictObject({
  /** Whether no push is known to be missing. */
  ok: z.boolean(),
  day: z.string(),
  /** Number of pushes of each kind. */
  counts: z.record(z.string(), z.number()),
  /** Interruptions of the connection. Pushes may be missing between the two instants. */
  gaps: z.array(z.strictObject({
    from: z.string(),
    to: z.string(),
    reason: z.string(),
    /**
     * Set if only silence made the connection look dead, and the market was closed during most of this time. Probably
     * no push is missing then.
     */
    quiet: z.literal(true).optional(),
  })),
  /** Number of ticks and unknown pushes that were dropped because the disk was too slow. */
  dropped: z.number(),
  files: z.array(z.string()),
});
/** Result of the recording. */
export type Recorded = z.infer<typeof output>;

/**
 * Pushes arrive only live, so a past slot cannot be recorded. The exchanges of the securities are left out, because a
 * market may trade past midnight.
 */
const pushes: AsOfNow = { reads: "pushes", exchanges: [] };

/** Records until the given end; a resumed run appends to its files. */
export const watch = stepKind<Params, Recorded>({
  name: "watch",
  summary: "Records pushes (quotes, books, ticks, order changes) to files during a part of the day",
  effect: "read",
  needsAccount: ({ orders }) => orders,
  asOfNow: () => pushes,
  reaches: (given) => [...endsMarketData(given.securities), ...writesInto(given)],
  params,
  output,
  check(given, wrong) {
    if ((given.for === undefined) === (given.until === undefined)) wrong([], "either for or until");
    if (given.securities?.length === 0 && !given.orders) wrong(["securities"], "securities, or orders: true");
  },
  async run(given, context) {
    const day = context.day.date;
    const result: Recorded = { ok: true, day, counts: {}, gaps: [], dropped: 0, files: [] };
    refusePast(pushes, context);
    const waitMs = endOf(given, day, context) - context.now();
    if (waitMs <= 0) {
      throw new BrokerError(
        `Cannot record the pushes of ${day}: pushes arrive live only, and the end of the recording has passed`,
        { code: "past" },
      );
    }
    const ending = new AbortController();
    const signal = AbortSignal.any([ending.signal, context.signal]);
    // A stop of the run rejects the wait. Its signal also ends the loop below.
    const timer = pause({ ...context, signal }, waitMs).then(() => ending.abort(), () => {});
    const files = new PushFiles((name) => pathIn(context, given.out, day, name));
    files.pathOf("gap"); // rejects a bad folder before recording
    try {
      const client = await context.client();
      const events = client.watch({
        securities: given.securities.map(securityFrom),
        topics: given.topics,
        orders: given.orders,
        signal,
      });
      const types = given.securities.map((each) => securityFrom(each).type);
      for await (const event of events) await record(event, { files, result, context, types });
    } finally {
      ending.abort();
      await timer;
      result.files = await files.close();
    }
    context.signal.throwIfAborted();
    await reportArtifacts(result, context);
    result.ok = result.gaps.every(({ quiet }) => quiet) && result.dropped === 0;
    return result;
  },
  // The recording takes part of the day, so a dry run skips it.
  plan: ({ topics, securities, orders, for: length, until }) =>
    Promise.resolve({
      record: topics,
      securities,
      orders,
      ...until === undefined ? { for: length } : { until },
    }),
});

function endOf(given: Params, day: string, context: StepContext): number {
  if (given.until === undefined) return context.now() + durationOf(given.for ?? "0s");
  return instantOf(context.calendars, given.until, day, "Cannot watch until");
}

interface Recording {
  files: PushFiles;
  result: Recorded;
  context: StepContext;
  /** Kinds of the securities. */
  types: readonly SecurityType[];
}

async function record(event: TransportEvent, { files, result, context, types }: Recording): Promise<void> {
  const at = Temporal.Instant.fromEpochMilliseconds(context.now()).toString();
  switch (event.type) {
    case "connection":
      context.log("info", `push connection ${event.state}`);
      return;
    case "conflated":
      return;
    case "dropped":
      result.dropped += event.count;
      return;
    case "gap": {
      const [from, to] = [event.from, event.to].map((ms) =>
        Temporal.Instant.fromEpochMilliseconds(ms).toString()
      );
      // A quiet market looks like a dead connection. A gap counts as quiet only if the market was closed during most of
      // it.
      const quiet = event.silent &&
        tradedMs(context.calendars, types, event.from, event.to) < (event.to - event.from) / 2;
      context.log("warn", `pushes may be missing from ${from} to ${to}: ${event.reason}`);
      addGap(result.gaps, { from: from!, to: to!, reason: event.reason, ...quiet && { quiet } });
      await files.add("gap", { at, from, to, reason: event.reason });
      return;
    }
    default: {
      result.counts[event.type] = (result.counts[event.type] ?? 0) + 1;
      const { type, sentAt, offMs } = event;
      const marks = {
        ...offMs !== undefined && { offMs },
        ..."unsureAccount" in event && { unsureAccount: event.unsureAccount },
      };
      const row = type === "unknown"
        ? {
          at,
          sentAt,
          notifyType: event.notifyType,
          payloadType: event.payloadType,
          ...event.expected !== undefined && { expected: event.expected },
          ...event.error?.code !== undefined && { error: event.error.code },
          ...marks,
        }
        // `marks` comes last, so that members of the push itself cannot replace it.
        : { at, sentAt, ...event.data, ...marks };
      await files.add(type, row);
    }
  }
}

/**
 * Maximum number of gaps in the output, which the store keeps. A server whose pushes have wrong times can cause any
 * number of gaps.
 */
const MOST_GAPS = 1_000;

/** Adds a gap. When there are too many gaps, extends the last one instead. The file of the gaps contains each gap. */
function addGap(gaps: Recorded["gaps"], gap: Recorded["gaps"][number]): void {
  const last = gaps.at(-1);
  if (last === undefined || gaps.length < MOST_GAPS) return void gaps.push(gap);
  if (gap.from < last.from) last.from = gap.from;
  last.to = gap.to;
  last.reason = `${MOST_GAPS} or more gaps; this is the last reason: ${gap.reason}`;
  if (!gap.quiet) delete last.quiet;
}

async function reportArtifacts(result: Recorded, context: StepContext): Promise<void> {
  for (const path of result.files) {
    const { bytes, sha256 } = await digestOf(path);
    const dataset = `pushes/${path.replace(/^.*\//, "").replace(/\.jsonl$/, "")}`;
    await context.artifact({
      dataset,
      businessDay: result.day,
      path,
      bytes,
      sha256,
      final: true,
    });
  }
}

/** Returns the size and SHA-256 of a file. Reads it in pieces, because the recording of a day may not fit in memory. */
async function digestOf(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = nodeCrypto().createHash("sha256");
  let bytes = 0;
  const file = await Deno.open(path);
  for await (const piece of file.readable) { // closes the file at its end
    hash.update(piece);
    bytes += piece.length;
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** Writes one file for each kind of push. Writes each line at once, so that the file ends with a whole line. */
class PushFiles {
  readonly #locate: (name: string) => string;
  readonly #open = new Map<string, { file: Deno.FsFile; path: string }>();

  constructor(locate: (name: string) => string) {
    this.#locate = locate;
  }

  async add(type: string, row: unknown): Promise<void> {
    let file = this.#open.get(type)?.file;
    if (file === undefined) {
      const path = this.pathOf(type);
      await Deno.mkdir(path.replace(/\/?[^/]*$/, ""), { recursive: true, mode: PRIVATE_FOLDER });
      if (exists(path)) {
        needRegular(path, await Deno.stat(path));
        makePrivate(path);
      }
      file = await Deno.open(path, { append: true, create: true, mode: PRIVATE_FILE });
      this.#open.set(type, { file, path });
    }
    const bytes = new TextEncoder().encode(jsonLines([row]));
    for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
  }

  /** Closes the files and returns their paths. */
  async close(): Promise<string[]> {
    for (const { file } of this.#open.values()) {
      await file.sync();
      file.close();
    }
    return [...this.#open.values()].map(({ path }) => path).sort();
  }

  /**
   * Returns the path of the file for one kind of push.
   *
   * @throws {TypeError} If it would leave the folder, or if the file or the folder of the day is a link.
   */
  pathOf(type: string): string {
    const path = this.#locate(`${type}.jsonl`);
    // Appending through a link would change another file.
    for (const each of [path.replace(/\/[^/]*$/, ""), path]) {
      if (isLink(each)) throw new TypeError(`Cannot write "${each}": it is a symbolic link; remove the link`);
    }
    return path;
  }
}
