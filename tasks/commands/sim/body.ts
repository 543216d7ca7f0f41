/**
 * Runs `hsgate sim`.
 *
 * @module
 */
import type { Input } from "../../terminal/command.ts";

/** Hands over to the task of the simulator, which prints JSON anyway. */
export async function run({ args }: Input): Promise<number> {
  const { main } = await import("../../sim.ts");
  return await main(args.filter((word) => word !== "--json"));
}
