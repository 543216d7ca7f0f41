/**
 * Why a run is broken off from outside.
 *
 * @module
 */

/** `stopped`: the process ends; `cancelled`: somebody asked; `timeout`: it took too long; `lost`: the lease did. */
export type HaltKind = "stopped" | "cancelled" | "timeout" | "lost";

/** The reason that an aborted step is given. */
export class Halt extends Error {
  override readonly name = "AbortError";
  readonly kind: HaltKind;

  constructor(kind: HaltKind, why: string) {
    super(`Cannot go on: ${why}`);
    this.kind = kind;
  }
}
