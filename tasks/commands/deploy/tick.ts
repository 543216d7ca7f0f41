/**
 * Runs one tick of the scheduler; the generated `Deno.cron` program calls it once a minute.
 *
 * @module
 */
import { type Host, processHost } from "../../terminal/host.ts";
import { main } from "../main.ts";

/** Options of a tick. */
interface TickingOptions {
  /** Recipe files, absolute. */
  recipes: readonly string[];
  /** The store, absolute. */
  store: string;
  /** Working folder, absolute. */
  dir: string;
  /** The settings file, absolute. */
  config?: string;
  /**
   * The program runs recipes only where `HSGATE_TIMELINE` has this value. Required if a recipe writes. This option
   * cannot be given on Deno Deploy.
   */
  timeline?: string;
  /** Environment, files and clock. @default this process */
  host?: Host;
  /** How long a tick waits for runs that it started. @default 50 s, so that the next tick is on time */
  waitMs?: number;
}

/** Result of a tick. */
interface TickEnd {
  /**
   * Exit code of `hsgate schedule --once`. Absent while that command still runs, after a signal to stop, or if recipes
   * do not run on this timeline.
   */
  code?: number;
  /** Number of ticks whose runs are still in progress. */
  open: number;
}

/** A function to call once a minute. */
interface Ticking {
  tick(): Promise<TickEnd>;
  /** Resolves when no run is in progress. */
  settled(): Promise<void>;
}

/**
 * Returns the function to call once a minute.
 *
 * @throws {TypeError} If `timeline` is given on Deno Deploy, whose disk is not durable.
 */
export function startTicking(
  { recipes, store, dir, config, timeline, host: given, waitMs = 50_000 }: TickingOptions,
): Ticking {
  if (given === undefined) Deno.chdir(dir);
  const host = given ?? processHost();
  if (timeline !== undefined && host.env("DENO_DEPLOYMENT_ID") !== undefined) {
    throw new TypeError(
      "Cannot trade on Deno Deploy: its disk is deleted with the process, and the store with it",
    );
  }
  const isAllowed = timeline === undefined || host.env("HSGATE_TIMELINE") === timeline;
  if (!isAllowed) {
    host.note(
      `hsgate: nothing runs on this timeline: HSGATE_TIMELINE is not "${timeline}", and a recipe trades`,
    );
  }
  const words = ["schedule", ...recipes, "--once", "--store", store, "--out", dir];
  if (config !== undefined) words.push("--config", config);
  const open = new Set<Promise<number>>();
  const settled = async () => {
    while (open.size > 0) await Promise.allSettled([...open]);
  };
  if (given === undefined) {
    // Exit explicitly, because the cron would keep the process alive after a stop.
    host.signal.addEventListener("abort", () => void settled().then(() => Deno.exit(0)));
  }
  return {
    settled,
    async tick() {
      if (!isAllowed || host.signal.aborted) return { open: open.size };
      // Each tick claims runs under its own name, so the store distinguishes ticks as it distinguishes processes.
      const work = main(words, host);
      open.add(work);
      work.finally(() => open.delete(work));
      const late = Promise.withResolvers<undefined>();
      const timer = setTimeout(() => late.resolve(undefined), waitMs);
      const code = await Promise.race([work, late.promise]);
      clearTimeout(timer);
      return code === undefined ? { open: open.size } : { code, open: open.size };
    },
  };
}
