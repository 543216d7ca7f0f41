/**
 * What `hsgate run` does.
 *
 * @module
 */
import { UsageError } from "../exit_codes.ts";
import type { RunInput } from "../run.ts";

/** Runs a recipe. */
export function run({ args: [recipe] }: RunInput): Promise<number> {
  return Promise.reject(new UsageError(`Cannot run "${recipe}": recipes are not there yet`));
}
