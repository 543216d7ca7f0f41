/**
 * Runs `hsgate sim`.
 *
 * @module
 */
import type { Input } from "../../terminal/command.ts";

/** Runs the simulator task. */
export async function run({ args, host }: Input): Promise<number> {
  const { main } = await import("../../sim.ts");
  return await main([...args], host.note);
}
