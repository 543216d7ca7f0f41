/**
 * An export in a process of its own, to be killed: at the n-th thing that it tells, or from outside.
 *
 * @module
 */
import { createClient } from "../../lib/client/client.ts";
import { exportDayBook } from "../../lib/day_book/mod.ts";
import type { Market } from "../../lib/dictionaries/market.ts";
import { gateway } from "../../lib/transports/gateway.ts";

/** What the process is told, as JSON in its only argument. */
export interface ExportJob {
  gatewayUrl: string;
  tradePassword: string;
  tradePasswordKey: string;
  markets: Market[];
  from: string;
  to: string;
  out: string;
  now: number;
  /** Kills itself at this event, counted from 1. */
  killAt?: number;
  /** How often a call is tried, and for how long it waits. */
  attempts?: number;
}

/** Starts the process. */
export function spawnExport(job: ExportJob, flags: string[] = ["-A"]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", ...flags, import.meta.filename!, JSON.stringify(job)],
    stdout: "piped",
    stderr: "null",
  }).spawn();
}

if (import.meta.main) {
  const job: ExportJob = JSON.parse(Deno.args[0]!);
  const { gatewayUrl, tradePassword, tradePasswordKey, killAt, attempts, now, ...options } = job;
  const client = createClient(gateway({ url: gatewayUrl, tradePasswordKey }), {
    tradePassword,
    retry: { attempts: attempts ?? 3, waitMs: 1 },
  });
  let events = 0;
  const onProgress = () => {
    // Whoever kills it from outside counts from here, as a process takes its time to start.
    if (events === 0) Deno.stdout.writeSync(new TextEncoder().encode("started\n"));
    // SIGKILL cannot be caught: nothing is tidied up, as when the machine loses its power.
    if (++events === killAt) Deno.kill(Deno.pid, "SIGKILL");
  };
  try {
    const { ok } = await exportDayBook(client, { ...options, now: () => now, onProgress });
    Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify({ ok, events })));
  } catch (error) {
    const { name, message, code } = error as { name: string; message: string; code?: string };
    Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify({ name, message, code, events })));
    Deno.exit(1);
  }
}
