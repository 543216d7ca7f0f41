/**
 * Calls every read of the catalogue for each market. For a list, also requests the second page. Compares each answer,
 * as the broker sent it, with the catalogue. Never calls a write, and reports no value of the account.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import type { Security } from "../operations/public_types.ts";
import {
  BrokerError,
  BusyError,
  DisplacedError,
  InvalidParamsError,
  LoginExpiredError,
  LoginRefusedError,
  RejectedError,
  TransportError,
  UnmappedError,
} from "../errors.ts";
import { type Difference, examine, type WireAnswer } from "../operations/answer_shapes.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { type Machine, waitUnlessAborted } from "../time.ts";
import {
  familyOf,
  Learned,
  marketsOf,
  PAGE_ROWS,
  planCall,
  type PlannedCall,
  type ProbeTransport,
  reads,
  whyNot,
} from "./plan.ts";
import { type CallOutcome, type ProbeCall, type ProbeReport, withoutValues } from "./report.ts";

/** Options of {@linkcode probe}. */
export interface ProbeOptions {
  /** A client that refuses writes. It must not retry reads, so that no call is sent more often than the report says. */
  client: Client;
  transport: ProbeTransport;
  /** Families to call. @default all */
  only?: readonly string[];
  /** Asks before each family; resolves to whether to call its reads. */
  ask(family: string, operations: readonly AnyOperation[]): Promise<boolean>;
  /** Milliseconds between two calls. @default 500 */
  paceMs?: number;
  /** Milliseconds that a call waits for its answer. @default the timeout of the transport */
  timeoutMs?: number;
  machine: Machine;
  /** Ends the probe. The report then contains the calls that were made. */
  signal: AbortSignal;
  /** Called before each call. */
  onCall?(call: { operation: string; market: string | undefined; done: number; planned: number }): void;
  /** Called with the report so far, at most every two seconds, and at the end. */
  onReport?(report: ProbeReport): void;
  /** Further values that must not appear in the report, in addition to those of the answers. */
  secrets?: readonly string[];
}

const PACE_MS = 500;
/** Longest wait between two calls after the broker was busy. */
const MOST_PACE_MS = 10_000;
/** Shortest time between two reports to `onReport`. */
const REPORT_MS = 2_000;
/** The probe ends after this many calls in a row without an answer. */
const MOST_UNANSWERED = 3;

/** Resolves to the report. Rejects only for an internal error; an interruption is part of the report. */
export async function probe(options: ProbeOptions): Promise<ProbeReport> {
  return await new Probe(options).run();
}

/** A read for one market. */
interface ReadInMarket {
  operation: AnyOperation;
  /** `undefined` if the parameters of the read name no market. */
  market: ReturnType<typeof marketsOf>[number];
}

class Probe {
  readonly #options: ProbeOptions;
  readonly #learned = new Learned();
  readonly #values: Set<string>;
  readonly #calls: ProbeCall[] = [];
  readonly #notCalled: ProbeReport["left"] = [];
  readonly #families: ProbeReport["families"] = {};
  readonly #started: string;
  #clock: ProbeReport["clock"];
  #aheadMs = 0;
  #paceMs: number;
  #calledAt = -Infinity;
  #planned = 0;
  #unanswered = 0;
  #isWithoutLogin = false;
  #stopped: string | undefined;
  #reportedAt = -Infinity;

  constructor(options: ProbeOptions) {
    this.#options = options;
    this.#paceMs = options.paceMs ?? PACE_MS;
    this.#values = new Set(options.secrets);
    this.#started = this.#time();
  }

  async run(): Promise<ProbeReport> {
    const { only, ask, transport, signal } = this.#options;
    const all = Map.groupBy(reads(), familyOf);
    const families = [...all.keys()].filter((family) => only === undefined || only.includes(family));
    for (const family of families) this.#families[family] = "not reached";
    const later: ReadInMarket[] = [];
    for (const family of families) {
      if (this.#isEnded()) break;
      const operations = all.get(family) ?? [];
      const callable = operations.filter((each) => {
        const why = whyNot(each, transport);
        if (why !== undefined) this.#notCalled.push({ operation: each.name, why });
        return why === undefined;
      });
      if (callable.length === 0) {
        delete this.#families[family];
        continue;
      }
      try {
        if (!await ask(family, callable)) {
          this.#families[family] = "declined";
          continue;
        }
      } catch (error) {
        if (!signal.aborted) throw error;
        break;
      }
      this.#families[family] = "called";
      const places = callable.flatMap((operation) =>
        marketsOf(operation).map((market) => ({ operation, market }))
      );
      this.#planned += places.length;
      // A call whose parameters come from later answers is made at the end.
      for (const place of places) if (!await this.#callOne(place, false)) later.push(place);
    }
    for (const place of later) await this.#callOne(place, true);
    if (signal.aborted) this.#stopped ??= "interrupted";
    this.#passOnReport(true);
    return this.#report();
  }

  #isEnded(): boolean {
    if (this.#options.signal.aborted) this.#stopped ??= "interrupted";
    return this.#stopped !== undefined;
  }

  /** Makes a call, and for a list the call of its second page. Returns false if its parameters are not known yet. */
  async #callOne({ operation, market }: ReadInMarket, isLast: boolean): Promise<boolean> {
    const skip = (why: string) => {
      this.#notCalled.push({ operation: operation.name, ...market !== undefined && { market }, why });
      return true;
    };
    if (this.#isEnded()) return skip(`the probe ended before this call: ${this.#stopped}`);
    if (this.#isWithoutLogin && operation.needs === "trade-login") return skip("the trade login is missing");
    const now = this.#options.machine.now() + this.#aheadMs;
    const planned = planCall(operation, market, { learned: this.#learned, now, isLast });
    if ("why" in planned) return planned.waits ? false : skip(planned.why);
    const first = await this.#call(planned, undefined);
    if (first?.call.outcome === "rejected" && operation.name === "quotes.bars") {
      await this.#callSubscribed(planned);
      return true;
    }
    const { paging } = operation;
    if (paging === undefined || first?.answer === undefined || this.#isEnded()) return true;
    const rows = rowsOf(first.answer);
    if (rows.length > PAGE_ROWS) {
      this.#pagingFault(first.call, `expected at most ${PAGE_ROWS} rows, came: more`);
    }
    if (rows.length < PAGE_ROWS) return true;
    const last = rows.at(-1);
    const cursor = last?.cursor;
    if (paging.style === "cursor" && typeof cursor !== "string") {
      this.#pagingFault(first.call, "the last row of a full page has no cursor");
      return true;
    }
    this.#planned++;
    const next = paging.style === "cursor" ? { cursor } : { page: 2 };
    const second = await this.#call({ ...planned, params: { ...planned.params, ...next } }, 2);
    if (second?.answer === undefined) return true;
    if (isRepeated(rows, rowsOf(second.answer))) {
      this.#pagingFault(second.call, "the second page contains rows of the first page");
    }
    return true;
  }

  /**
   * Makes a call again while subscribed to its security, because the broker may send bars only then. The first call was
   * rejected, so no other program had this subscription, and the probe may end it.
   */
  async #callSubscribed(planned: PlannedCall): Promise<void> {
    const { client } = this.#options;
    const subscription = { topic: "quote" as const, securities: [planned.params.security as Security] };
    try {
      await this.#pace();
      if (this.#isEnded()) return;
      await client.quotes.subscribe(subscription);
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      return; // the report already contains the rejection of the first call
    }
    try {
      this.#planned++;
      await this.#call(planned, undefined, true);
    } finally {
      // Unsubscribes even after Ctrl-C. If that fails, the broker ends the subscription together with the connection.
      await client.quotes.unsubscribe(subscription).catch((error) => {
        if (!(error instanceof BrokerError)) throw error;
      });
    }
  }

  /** Waits until the next call may be sent. */
  async #pace(): Promise<void> {
    const { machine, signal } = this.#options;
    await waitUnlessAborted(
      machine,
      Math.max(0, this.#calledAt + this.#paceMs - machine.monotonic()),
      signal,
    );
    this.#calledAt = machine.monotonic();
  }

  #pagingFault(call: ProbeCall, text: string): void {
    const fault: Difference = { path: "", kind: "paging", weight: "differs", times: 1, of: 1, text };
    call.differences.push(fault);
    if (call.outcome === "fits") call.outcome = "differs";
  }

  async #call(
    { operation, market, params, codes }: PlannedCall,
    page: number | undefined,
    subscribed = false,
  ): Promise<{ call: ProbeCall; answer?: unknown } | undefined> {
    const { client, machine, signal, onCall, timeoutMs } = this.#options;
    await this.#pace();
    if (this.#isEnded()) return undefined;
    onCall?.({ operation: operation.name, market, done: this.#calls.length, planned: this.#planned });
    const started = this.#calledAt;
    let wire: WireAnswer | undefined;
    let answer: unknown;
    let thrown: unknown;
    try {
      answer = await client.call(operation, params, {
        signal,
        ...timeoutMs !== undefined && { timeoutMs },
        onWire: (each) => wire = each,
        onBrokerTime: ({ time, source }) => this.#noteClock(time, source),
      });
    } catch (error) {
      if (signal.aborted) return void this.#isEnded();
      if (!(error instanceof BrokerError)) throw error;
      thrown = error;
    }
    const ms = Math.round(machine.monotonic() - started);
    const examined = wire && examine(operation, wire);
    for (const value of examined?.values ?? []) this.#values.add(value);
    const differences = examined?.differences ?? [];
    const { outcome, code } = outcomeOf(thrown, differences);
    const call: ProbeCall = {
      operation: operation.name,
      ...page !== undefined && { page },
      ...subscribed && { subscribed },
      params: Object.keys(params),
      codes,
      outcome,
      ...code !== undefined && { code },
      ms,
      ...examined !== undefined && { answer: examined.answer },
      differences,
    };
    this.#calls.push(call);
    this.#judge(operation, thrown);
    if (thrown === undefined) this.#learned.take(operation, answer, market);
    this.#passOnReport();
    return { call, ...thrown === undefined && { answer } };
  }

  /** Decides after a call whether the probe ends, skips the calls that need a trade login, or calls more slowly. */
  #judge(operation: AnyOperation, error: unknown): void {
    this.#unanswered = error instanceof TransportError ? this.#unanswered + 1 : 0;
    if (this.#unanswered >= MOST_UNANSWERED) {
      this.#stopped = `${MOST_UNANSWERED} calls in a row got no answer`;
    }
    if (error instanceof DisplacedError) this.#stopped = "another program or device has logged in";
    const isLogin = error instanceof LoginExpiredError || error instanceof LoginRefusedError;
    if (isLogin && operation.needs === "trade-login") this.#isWithoutLogin = true;
    if (error instanceof BusyError) this.#paceMs = Math.min(MOST_PACE_MS, this.#paceMs * 2);
  }

  #noteClock(time: number, source: string): void {
    const aheadMs = Math.round(time - this.#options.machine.now());
    this.#aheadMs = aheadMs;
    const { aheadMs: [least, most] = [aheadMs, aheadMs], answers = 0 } = this.#clock ?? {};
    this.#clock = {
      source,
      aheadMs: [Math.min(least, aheadMs), Math.max(most, aheadMs)],
      answers: answers + 1,
    };
  }

  /** Passes the report to `onReport`, but not after each call: to make and write a report takes longer than a call. */
  #passOnReport(isDue = this.#options.machine.monotonic() - this.#reportedAt > REPORT_MS): void {
    if (!isDue) return;
    this.#reportedAt = this.#options.machine.monotonic();
    this.#options.onReport?.(this.#report());
  }

  #time(): string {
    return new Date(this.#options.machine.now()).toISOString();
  }

  #report(): ProbeReport {
    const { transport, signal } = this.#options;
    const stopped = this.#stopped ?? (signal.aborted ? "interrupted" : undefined);
    return withoutValues({
      what: "hsgate probe",
      format: 1,
      transport,
      started: this.#started,
      ended: this.#time(),
      ...stopped !== undefined && { stopped },
      families: { ...this.#families },
      ...this.#clock !== undefined && { clock: this.#clock },
      calls: this.#calls,
      left: this.#notCalled,
    }, this.#values);
  }
}

interface Row {
  readonly cursor?: unknown;
}

function rowsOf(answer: unknown): Row[] {
  if (Array.isArray(answer)) return answer;
  const { rows } = answer as { rows?: unknown };
  return Array.isArray(rows) ? rows : [];
}

/**
 * Returns whether a page repeats rows of the page before. Compares the cursors if the rows have them, because different
 * rows may be equal except for their cursors. Rows without cursors are repeated only if both pages are equal.
 */
function isRepeated(before: readonly Row[], page: readonly Row[]): boolean {
  if (page.length === 0) return false;
  const cursors = new Set<unknown>(before.flatMap(({ cursor }) => cursor === undefined ? [] : [cursor]));
  if (cursors.size > 0) return page.some(({ cursor }) => cursors.has(cursor));
  return JSON.stringify(before) === JSON.stringify(page);
}

/**
 * Returns the outcome of a call. `code` is a short code of the broker or of hsgate; any other text is left
 * out.
 */
function outcomeOf(
  error: unknown,
  differences: readonly Difference[],
): { outcome: CallOutcome; code?: string } {
  if (error instanceof BrokerError) {
    const { code = "" } = error;
    const isSafe = /^\d{3,4}$/.test(code) || /^[a-z][a-z-]{2,30}(-\d{3})?$/.test(code);
    const shown = { ...isSafe && { code } };
    if (
      error instanceof RejectedError || error instanceof InvalidParamsError || error instanceof UnmappedError
    ) {
      return { outcome: "rejected", ...shown };
    }
    return { outcome: error instanceof TransportError ? "no-answer" : "unreadable", ...shown };
  }
  return { outcome: differences.some(({ weight }) => weight !== "absent") ? "differs" : "fits" };
}
