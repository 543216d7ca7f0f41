/**
 * Exports to a small or a read-only file system, in a child process. Only root may mount one. Prints the
 * outcome, or why the test was not possible.
 *
 * @module
 */
import { createClient } from "../../lib/client/client.ts";
import { type DayBookError, exportDayBook } from "../../lib/day_book/mod.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import type { ExportJob } from "./export_child.ts";
import { readTree } from "./scripted_gateway.ts";

/** Input of the process. */
export interface LimitedJob extends ExportJob {
  /** Mount options such as `size=64k`. */
  mount: string;
  /** Mount options of a second attempt, with more space. */
  remount: string;
}

/** Result of the process. */
export interface LimitedOutcome {
  /** Why the test was not possible. */
  skipped?: string;
  code?: string;
  message?: string;
  kept?: readonly string[];
  /** Names of the files after the failure. */
  after?: string[];
  /** Files after the second attempt. */
  repeated?: Record<string, string>;
}

/** Runs the process. */
export async function exportToLimitedDisk(job: LimitedJob): Promise<LimitedOutcome> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", import.meta.filename!, JSON.stringify(job)],
    stdout: "piped",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

function mount(options: string, folder: string): boolean {
  try {
    return new Deno.Command("mount", {
      args: ["-t", "tmpfs", "-o", options, "tmpfs", folder],
      stderr: "null",
    }).outputSync().success;
  } catch {
    return false; // `mount` is not installed
  }
}

async function run(job: LimitedJob): Promise<LimitedOutcome> {
  const { gatewayUrl, tradePassword, tradePasswordKey, now, mount: first, remount, ...options } = job;
  if (!mount(first, job.out)) return { skipped: "no right to mount a file system" };
  try {
    const client = createClient(gateway({ url: gatewayUrl, tradePasswordKey }), { tradePassword });
    const outcome: LimitedOutcome = {};
    try {
      await exportDayBook(client, { ...options, now: () => now });
    } catch (error) {
      const { code, message, kept } = error as DayBookError;
      Object.assign(outcome, { code, message, kept, after: Object.keys(readTree(job.out)) });
    }
    if (!mount(`remount,${remount}`, job.out)) return { skipped: "no right to mount again" };
    await exportDayBook(client, { ...options, now: () => now });
    return { ...outcome, repeated: readTree(job.out) };
  } finally {
    new Deno.Command("umount", { args: ["-l", job.out] }).outputSync();
  }
}

if (import.meta.main) {
  Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(await run(JSON.parse(Deno.args[0]!)))));
}
