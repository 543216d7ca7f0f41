/**
 * Marks passwords, so that a later run can tell whether the password has changed.
 *
 * @module
 */
import { nodeCrypto } from "../../std/node_crypto.ts";

/**
 * Returns one byte of a slow, salted hash of a password. A changed password has a different byte in 255 of 256 cases.
 * One byte is too short to recover the password.
 */
export function markPassword(password: string, salt: string): string {
  return nodeCrypto().scryptSync(password, salt, 1).toString("hex");
}
