/**
 * Runs an export in a child process that is killed at its n-th progress event, or by its parent.
 *
 * @module
 */
import { createClient } from "../../lib/client/client.ts";
import { exportDayBook } from "../../lib/day_book/mod.ts";
import type { Market } from "../../lib/dictionaries/market.ts";
import { gateway } from "../../lib/transports/gateway.ts";

/** Input of the process, as JSON in its only argument. */
export interface ExportJob {
  gatewayUrl: string;
  tradePassword: string;
  tradePasswordKey: string;
  markets: Market[];
  from: string;
  to: string;
  out: string;
  now: number;
  /** Number of the event at which the process kills itself, from 1. */
  killAt?: number;
  /** Number of attempts of each call. @default 3 */
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
    // The parent counts its delay from here, because starting a process takes a varying time.
    if (events === 0) Deno.stdout.writeSync(new TextEncoder().encode("started\n"));
    // SIGKILL cannot be caught, so nothing is cleaned up, as after a power failure.
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
