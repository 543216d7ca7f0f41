/**
 * Pings a dead-man service in the manner of Healthchecks: it speaks up when the pings stay away. A recipe's runs tell
 * when they begin and how they end, the scheduler that it is alive. No run waits for a ping or fails over one.
 *
 * @module
 */
import { type Host, wait } from "./host.ts";
import type { Redactor } from "../redact.ts";
import type { RunEvent } from "./run_events.ts";
import { runId } from "./run_key.ts";
import type { SchedulerEvent } from "./scheduler.ts";

/** What a ping says; `success` of the scheduler itself is that it is alive. */
export type PingKind = "start" | "success" | "fail";

/** What pinging needs. */
export interface PingerOptions {
  host: Host;
  /** Posts, and resolves to the status of the answer. */
  post(url: string, signal: AbortSignal): Promise<number>;
  /** The address of a recipe's check; nothing when it has none. */
  urlOf(recipe: string): Promise<string | undefined>;
  /** The address of the scheduler's own check. */
  aliveUrl?: string;
  redactor: Redactor;
  /** Told when pings are not taken, and when they are again; no address is in it. */
  onTrouble?(text: string): void;
}

const TIMEOUT_MS = 10_000;
/** Waits before a ping is tried again. */
const WAITS_MS = [1_000, 5_000];
/** The scheduler says no more often that it is alive. */
const ALIVE_EVERY_MS = 55_000;
/** Pings that wait for one check; the service is gone when there are more. */
const MOST_WAITING = 20;

/** Makes the address of a ping; pings of one run share its id, so that the service can time it. */
export async function pingUrl(url: string, kind: PingKind, runKey?: string): Promise<string> {
  const address = new URL(url);
  const suffix = kind === "success" ? "" : `/${kind}`;
  address.pathname = `${address.pathname.replace(/\/$/, "")}${suffix}`;
  if (runKey !== undefined) address.searchParams.set("rid", await runId(runKey));
  return address.href;
}

/** What a check should hear of a run that ended; nothing where another process goes on with it, or a person ended it. */
function kindOfEnd(state: string, reason: string | undefined): PingKind | undefined {
  if (state === "cancelled" && reason === "stopped") return undefined;
  if (state === "ok" || state === "skipped") return "success";
  return state === "due" || state === "lost" ? undefined : "fail";
}

/**
 * What it should hear of a slot that was passed over: on a holiday all is well, a slot that was missed is a failure,
 * and what a person paused or an earlier run stands in the way of shows by its silence.
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

/** The pings of one check, one after the other. */
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

  /** Listens to runs. */
  readonly onEvent = (event: RunEvent): void => {
    const kind = event.type === "run-started"
      ? "start"
      : event.type === "run-ended"
      ? kindOfEnd(event.state, event.reason)
      : undefined;
    if (kind !== undefined) this.#pingFor(event.recipe, kind, event.runKey);
  };

  /** Listens to the scheduler. */
  readonly onSchedulerEvent = (event: SchedulerEvent): void => {
    if (event.type === "skipped") {
      const kind = kindOfSkip[event.reason];
      if (kind !== undefined) this.#pingFor(event.recipe, kind, event.runKey);
    }
    const { aliveUrl, host } = this.#options;
    if (event.type !== "tick" || aliveUrl === undefined) return;
    if (host.monotonic() - this.#aliveAt < ALIVE_EVERY_MS) return;
    this.#aliveAt = host.monotonic();
    this.#enqueue({ check: "", urlOf: () => Promise.resolve(aliveUrl), kind: "success" });
  };

  /** Resolves when every ping is out or given up, or when the time is over; nothing is sent after it. */
  async end(timeoutMs = 5_000): Promise<void> {
    const timer = new AbortController();
    const over = wait(this.#options.host, timeoutMs, timer.signal).catch(() => {});
    await Promise.race([Promise.all(this.#open), over]);
    timer.abort();
    this.#stop.abort();
    await Promise.all(this.#open);
  }

  #pingFor(recipe: string, kind: PingKind, runKey: string): void {
    this.#enqueue({ check: recipe, urlOf: () => this.#options.urlOf(recipe), kind, runKey });
  }

  /** Pings of one check keep their order, whatever its address takes to be read. */
  #enqueue({ check, urlOf, kind, runKey }: Ping): void {
    const line = this.#lines.get(check) ?? { last: Promise.resolve(), waiting: 0, isDown: false };
    this.#lines.set(check, line);
    if (line.waiting >= MOST_WAITING) return;
    line.waiting++;
    const work = line.last.then(async () => {
      const { taken, why } = await this.#try(urlOf, kind, runKey);
      line.waiting--;
      if (this.#stop.signal.aborted || taken !== line.isDown) return;
      line.isDown = !taken;
      const whose = check === "" ? "the scheduler" : `"${check}"`;
      this.#tell(taken ? `pings of ${whose} are taken again` : `pings of ${whose} are not taken: ${why}`);
    }).finally(() => this.#open.delete(work));
    line.last = work;
    this.#open.add(work);
  }

  async #try(
    urlOf: Ping["urlOf"],
    kind: PingKind,
    runKey: string | undefined,
  ): Promise<{ taken: boolean; why?: string }> {
    try {
      const url = await urlOf();
      if (url === undefined) return { taken: true };
      addAddress(this.#options.redactor, url);
      const why = await this.#send(await pingUrl(url, kind, runKey));
      return { taken: why === undefined, why: `${new URL(url).host}: ${why}` };
    } catch (error) {
      return { taken: false, why: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Sends a ping, a few times if it must, and returns why it was not taken. */
  async #send(address: string): Promise<string | undefined> {
    const { post, host } = this.#options;
    let why = "the program is ending";
    for (let tries = 0; !this.#stop.signal.aborted; tries++) {
      const timeout = new AbortController();
      const cancel = host.setTimer(TIMEOUT_MS, () => timeout.abort());
      try {
        const status = await post(address, AbortSignal.any([timeout.signal, this.#stop.signal]));
        if (status >= 200 && status < 300) return undefined;
        why = `it answered ${status}`;
        // The service knows no such check, or wants no more: asking again changes nothing.
        if (status >= 400 && status < 500 && status !== 429) return why;
      } catch {
        why = timeout.signal.aborted ? "it took too long" : "it cannot be reached";
      } finally {
        cancel();
      }
      const waitMs = WAITS_MS[tries];
      if (waitMs === undefined) return why;
      await wait(host, waitMs, this.#stop.signal).catch(() => {});
    }
    return why;
  }

  #tell(text: string): void {
    this.#options.onTrouble?.(this.#options.redactor.text(text));
  }
}

/** Whoever knows the path of the address can ping, too. */
function addAddress(redactor: Redactor, url: string): void {
  redactor.add(url);
  const path = new URL(url).pathname.replace(/^\/+|\/+$/g, "");
  if (path.length >= 8) redactor.add(path);
}
