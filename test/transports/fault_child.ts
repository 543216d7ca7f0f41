/**
 * Runs a simulator in its own process. So a test can stop the simulator, and the simulator runs while the test's
 * event loop is blocked. As a script, it prints one line of JSON; the first argument contains options as JSON.
 *
 * @module
 */
import { ShiftedClock } from "../../lib/time.ts";
import { type SimulatorInfo, startSimulator } from "../../lib/simulator/mod.ts";
import type { PlatformPortOptions } from "../../lib/simulator/platform/mod.ts";
import { readUntil, waitUntil } from "../support/waits.ts";

/** A running child. */
export interface FaultChild extends AsyncDisposable {
  info: SimulatorInfo;
  /** Stops the whole process. Its sockets remain open, but none of its code runs. Resolves when it has stopped. */
  stop(): Promise<void>;
  /** Lets the process continue. */
  resume(): void;
  /** Resolves to the state of the simulator. */
  state(): Promise<{ platform: { silenced: number; callsTaken: number }; callsTaken: number }>;
}

/** Starts a simulator whose clock runs. */
export async function startFaultChild(platform: PlatformPortOptions = {}): Promise<FaultChild> {
  const script = new URL(import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", script, JSON.stringify(platform)],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  text = await readUntil("\n", reader, (text) => text.includes("\n"), { text: text });
  // The line of JSON that this file prints as a script.
  const info = JSON.parse(text) as SimulatorInfo;
  return {
    info,
    async stop() {
      child.kill("SIGSTOP");
      const isStopped = async () => /^State:\s+T/m.test(await Deno.readTextFile(`/proc/${child.pid}/status`));
      await waitUntil("the process to stop", async () => await isStopped());
    },
    resume: () => child.kill("SIGCONT"),
    async state() {
      const response = await fetch(`${info.gatewayUrl}/control/state`, {
        headers: { authorization: `Bearer ${info.controlToken}` },
      });
      return (await response.json()).data;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await reader.cancel();
      await child.status;
    },
  };
}

if (import.meta.main) {
  const platform: PlatformPortOptions = JSON.parse(Deno.args[0] ?? "{}");
  const simulator = await startSimulator({
    seed: 7,
    clock: new ShiftedClock(Date.parse("2025-08-15T10:30:00+08:00")),
    days: 2,
    fillsPerDay: 2,
    gateway: { pushIntervalMs: 20 },
    platform: { pushIntervalMs: 20, ...platform },
  });
  await Deno.stdout.write(new TextEncoder().encode(`${JSON.stringify(simulator.info)}\n`));
}
