/**
 * A process that begins a write under a ledger and kills itself in the middle of it.
 *
 * @module
 */
import { Ledger } from "../../lib/runner/ledger.ts";
import { bench, orders, step } from "./support.ts";

/** Starts the process; it ends by SIGKILL in the write of 2025-12-22, after `reads` runs that only read. */
export async function killInWrite(path: string): Promise<void> {
  const { signal } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", import.meta.filename!, path],
    stdout: "null",
    stderr: "inherit",
  }).output();
  if (signal !== "SIGKILL") throw new Error("Cannot use the ledger: the process was not killed in its write");
}

if (import.meta.main) {
  const ledger = new Ledger(Deno.args[0]!);
  const recipes = [
    orders([], {
      steps: [step({
        id: "place",
        effect: "write",
        run: () => Promise.resolve(Deno.kill(Deno.pid, "SIGKILL")),
      })],
    }),
  ];
  const { scheduler, host } = bench({ start: "2025-12-22T01:30:00Z", recipes, ledger });
  scheduler.start();
  await host.pass(3_600_000);
}
