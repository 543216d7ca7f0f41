/**
 * Pings a monitoring service such as Healthchecks, which warns when the pings stop. A recipe's runs ping when they
 * begin and when they end; the scheduler pings while it is alive. No run waits for a ping or fails because of one.
 *
 * @module
 */
import { messageOf } from "../../errors.ts";
import { type Machine, wait } from "../../time.ts";
import type { Redactor } from "../../redact.ts";
import type { RunEvent } from "../run/report.ts";
import { runId } from "./plan_run.ts";
import type { SchedulerEvent } from "./scheduler.ts";

/** Kinds of pings; for the scheduler itself, `success` means that it is alive. */
type PingKind = "start" | "success" | "fail";

/** What a {@linkcode Pinger} needs. */
interface PingerOptions {
  machine: Machine;
  /** Sends a POST request, and resolves to the HTTP status of the answer. */
  post(url: string, signal: AbortSignal): Promise<number>;
  /** Returns the address of a recipe's check; `undefined` if it has none. */
  urlOf(recipe: string): Promise<string | undefined>;
  /** The address of the scheduler's own check. */
  aliveUrl?: string;
  redactor: Redactor;
  /** Called when pings cannot be delivered, and when they are delivered again; the text contains no address. */
  onTrouble?(text: string): void;
}

const TIMEOUT_MS = 10_000;
/** Waits before a ping is tried again. */
const WAITS_MS = [1_000, 5_000];
/** Shortest time between two pings of the scheduler itself. */
const ALIVE_EVERY_MS = 55_000;
/** Maximum number of pings that wait for one check; further pings are dropped, because the service does not answer. */
const MOST_WAITING = 20;

/**
 * Returns the address of a ping. The pings of one run have the same id, so that the service can measure how long the
 * run takes.
 */
export async function pingUrl(url: string, kind: PingKind, runKey?: string): Promise<string> {
  const address = new URL(url);
  const suffix = kind === "success" ? "" : `/${kind}`;
  address.pathname = `${address.pathname.replace(/\/$/, "")}${suffix}`;
  if (runKey !== undefined) address.searchParams.set("rid", await runId(runKey));
  return address.href;
}

/** Returns the ping for a run that ended; `undefined` if another process continues it, or if a person stopped it. */
function kindOfEnd(state: string, reason: string | undefined): PingKind | undefined {
  if (state === "cancelled" && reason === "stopped") return undefined;
  if (state === "ok" || state === "skipped") return "success";
  return state === "due" || state === "lost" ? undefined : "fail";
}

/**
 * The ping for a skipped slot, by its reason: a holiday is a success, and a missed slot is a failure. Other skipped
 * slots, for example because of a pause or an earlier run, send no ping. Then the service raises an alarm.
 */
const kindOfSkip: Readonly<Record<string, PingKind>> = {
  holiday: "success",
  half_day: "success",
  misfire: "fail",
  deadline: "fail",
  calendar_unknown: "fail",
};

interface Ping {
  /** The recipe; empty for the scheduler itself. */
  check: string;
  urlOf: () => Promise<string | undefined>;
  kind: PingKind;
  runKey?: string;
}

/** The queue of pings of one check; they are sent one after the other. */
interface Line {
  last: Promise<void>;
  waiting: number;
  isDown: boolean;
}

/** Pings for the runs and the scheduler of this process. */
export class Pinger {
  readonly #options: PingerOptions;
  readonly #lines = new Map<string, Line>();
  readonly #stop = new AbortController();
  readonly #open = new Set<Promise<void>>();
  #aliveAt = -Infinity;

  constructor(options: PingerOptions) {
    this.#options = options;
    if (options.aliveUrl !== undefined) addAddress(options.redactor, options.aliveUrl);
  }

  /** Pings when a run begins or ends. */
  readonly onEvent = (event: RunEvent): void => {
    const kind = event.type === "run-started"
      ? "start"
      : event.type === "run-ended"
      ? kindOfEnd(event.state, event.reason)
      : undefined;
    if (kind !== undefined) this.#pingFor(event.recipe, kind, event.runKey);
  };

  /** Pings for skipped slots, and while the scheduler is alive. */
  readonly onSchedulerEvent = (event: SchedulerEvent): void => {
    if (event.type === "skipped") {
      const kind = kindOfSkip[event.reason];
      if (kind !== undefined) this.#pingFor(event.recipe, kind, event.runKey);
    }
    const { aliveUrl, machine } = this.#options;
    if (event.type !== "tick" || aliveUrl === undefined) return;
    if (machine.monotonic() - this.#aliveAt < ALIVE_EVERY_MS) return;
    this.#aliveAt = machine.monotonic();
    this.#enqueue({ check: "", urlOf: () => Promise.resolve(aliveUrl), kind: "success" });
  };

  /** Resolves when every ping is sent or given up, or when the time is over; sends nothing afterwards. */
  async end(timeoutMs = 5_000): Promise<void> {
    const timer = new AbortController();
    const over = wait(this.#options.machine, timeoutMs, timer.signal).catch(() => {});
    await Promise.race([Promise.all(this.#open), over]);
    timer.abort();
    this.#stop.abort();
    await Promise.all(this.#open);
  }

  #pingFor(recipe: string, kind: PingKind, runKey: string): void {
    this.#enqueue({ check: recipe, urlOf: () => this.#options.urlOf(recipe), kind, runKey });
  }

  /** Queues a ping. Pings of one check keep their order, even if reading the address takes long. */
  #enqueue({ check, urlOf, kind, runKey }: Ping): void {
    const line = this.#lines.get(check) ?? { last: Promise.resolve(), waiting: 0, isDown: false };
    this.#lines.set(check, line);
    if (line.waiting >= MOST_WAITING) return;
    line.waiting++;
    const work = line.last.then(async () => {
      const { isDelivered, why } = await this.#try(urlOf, kind, runKey);
      line.waiting--;
      if (this.#stop.signal.aborted || isDelivered !== line.isDown) return;
      line.isDown = !isDelivered;
      const whose = check === "" ? "the scheduler" : `"${check}"`;
      this.#reportTrouble(
        isDelivered ? `pings for ${whose} are delivered again` : `cannot deliver pings for ${whose}: ${why}`,
      );
    }).finally(() => this.#open.delete(work));
    line.last = work;
    this.#open.add(work);
  }

  async #try(
    urlOf: Ping["urlOf"],
    kind: PingKind,
    runKey: string | undefined,
  ): Promise<{ isDelivered: boolean; why?: string }> {
    try {
      const url = await urlOf();
      if (url === undefined) return { isDelivered: true };
      addAddress(this.#options.redactor, url);
      const why = await this.#send(await pingUrl(url, kind, runKey));
      return { isDelivered: why === undefined, why: `${new URL(url).host}: ${why}` };
    } catch (error) {
      return { isDelivered: false, why: messageOf(error) };
    }
  }

  /** Sends a ping, with up to two retries; returns why it was not delivered, or `undefined` if it was. */
  async #send(address: string): Promise<string | undefined> {
    const { post, machine } = this.#options;
    let why = "the program is ending";
    for (let tries = 0; !this.#stop.signal.aborted; tries++) {
      const timeout = new AbortController();
      const cancel = machine.setTimer(TIMEOUT_MS, () => timeout.abort());
      try {
        const status = await post(address, AbortSignal.any([timeout.signal, this.#stop.signal]));
        if (status >= 200 && status < 300) return undefined;
        why = `it answered ${status}`;
        // The service does not know the check, or it rejects the ping. Trying again would not help.
        if (status >= 400 && status < 500 && status !== 429) return why;
      } catch {
        why = timeout.signal.aborted ? "it took too long" : "it cannot be reached";
      } finally {
        cancel();
      }
      const waitMs = WAITS_MS[tries];
      if (waitMs === undefined) return why;
      await wait(machine, waitMs, this.#stop.signal).catch(() => {});
    }
    return why;
  }

  #reportTrouble(text: string): void {
    this.#options.onTrouble?.(this.#options.redactor.text(text));
  }
}

/** Makes the redactor hide the address and its path, because anybody who knows the path can ping. */
function addAddress(redactor: Redactor, url: string): void {
  redactor.add(url);
  const path = new URL(url).pathname.replace(/^\/+|\/+$/g, "");
  if (path.length >= 8) redactor.add(path);
}
