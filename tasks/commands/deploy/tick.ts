/**
 * What the program for `Deno.cron` calls once a minute.
 *
 * @module
 */
import { type Host, processHost } from "../../terminal/host.ts";
import { main } from "../main.ts";

/** What is ticked. */
interface TickingOptions {
  /** Files of recipes, absolute. */
  recipes: readonly string[];
  /** The store, absolute. */
  store: string;
  /** Folder that everything runs in. */
  dir: string;
  /** The settings file, absolute. */
  config?: string;
  /** The timeline that may trade; given when a recipe writes. */
  timeline?: string;
  /** The world; this process when absent. */
  host?: Host;
  /** How long a tick waits for what it began. @default 50 s, so that the next tick is not left out */
  waitMs?: number;
}

/** What a tick came to. */
interface TickEnd {
  /** Exit code of `hsgate schedule --once`; absent while it still runs, or where this timeline may not. */
  code?: number;
  /** Ticks whose runs go on. */
  open: number;
}

/** Whoever is called once a minute. */
interface Ticking {
  tick(): Promise<TickEnd>;
  /** Resolves once nothing goes on. */
  settled(): Promise<void>;
}

/** Makes what is called once a minute. @throws {TypeError} For recipes that write, on a disk that does not last. */
export function startTicking(
  { recipes, store, dir, config, timeline, host: given, waitMs = 50_000 }: TickingOptions,
): Ticking {
  if (given === undefined) Deno.chdir(dir);
  const host = given ?? processHost();
  if (timeline !== undefined && host.env("DENO_DEPLOYMENT_ID") !== undefined) {
    throw new TypeError(
      "Cannot trade on Deno Deploy: its disk goes with the process, and the store with it",
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
    // A cron alone would go on after the runs have been given back.
    host.signal.addEventListener("abort", () => void settled().then(() => Deno.exit(0)));
  }
  return {
    settled,
    async tick() {
      if (!isAllowed || host.signal.aborted) return { open: open.size };
      // Each tick is a claimer of its own: the store keeps them apart, as it does processes.
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
