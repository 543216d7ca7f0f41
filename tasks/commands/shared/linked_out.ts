/**
 * Checks the places to which commands write.
 *
 * @module
 */
import { linkedOutside } from "../../../lib/confined_paths.ts";
import { UsageError } from "../../terminal/exit_codes.ts";

/**
 * Rejects an output folder or file if a link in its path leads out of the working folder, because somebody else may
 * have created the link.
 *
 * @throws {UsageError} If a link leads out.
 */
export function refuseLinkedOut(out: string): void {
  const elsewhere = linkedOutside(out);
  if (elsewhere === undefined) return;
  throw new UsageError(
    `Cannot write into "${out}": a link leads to "${elsewhere}"; if that folder is yours, give its real path`,
  );
}
