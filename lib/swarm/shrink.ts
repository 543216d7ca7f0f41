/**
 * Shrinks the plan of a failed seed. Removes whole kinds of faults, then smaller and smaller parts of the plan down to
 * single faults, while the same invariant still fails.
 *
 * @module
 */
import type { PlannedFault } from "./faults.ts";

/**
 * Returns the shortest plan found with which the seed still fails.
 *
 * @param fails Runs the seed with a plan, and returns whether the same invariant fails.
 * @param most Maximum number of calls of `fails`.
 */
export async function shrink(
  plan: readonly PlannedFault[],
  fails: (plan: readonly PlannedFault[]) => Promise<boolean>,
  most = 60,
): Promise<readonly PlannedFault[]> {
  let shortest = plan;
  let runs = 0;
  const keeps = async (fewer: readonly PlannedFault[]) => {
    if (fewer.length === shortest.length || ++runs > most || !await fails(fewer)) return false;
    shortest = fewer;
    return true;
  };
  if (await keeps([])) return [];
  for (const kind of new Set(plan.map((fault) => fault.kind))) {
    await keeps(shortest.filter((fault) => fault.kind !== kind));
  }
  for (let size = Math.ceil(shortest.length / 2); size >= 1 && runs < most;) {
    let isShorter = false;
    for (let at = 0; at < shortest.length && runs < most;) {
      const fewer = [...shortest.slice(0, at), ...shortest.slice(at + size)];
      if (await keeps(fewer)) isShorter = true;
      else at += size;
    }
    if (size === 1 && !isShorter) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return shortest;
}
