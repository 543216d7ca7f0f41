/**
 * Runs `hsgate sim`.
 *
 * @module
 */
import type { Input } from "../../terminal/command.ts";

/** Hands over to the simulator task. Its output is JSON, with or without --json. */
export async function run({ args }: Input): Promise<number> {
  const { main } = await import("../../sim.ts");
  return await main(args.filter((word) => word !== "--json"));
}
