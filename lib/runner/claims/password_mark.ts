/**
 * Marks passwords, so that a later run can tell whether the password has changed.
 *
 * @module
 */
import { nodeCrypto } from "../../std/node_crypto.ts";

/**
 * Returns one byte of a slow, salted hash of a password. It reveals a changed password in 255 of 256 cases, and is too
 * short to recover the password.
 */
export function markPassword(password: string, salt: string): string {
  return nodeCrypto().scryptSync(password, salt, 1).toString("hex");
}
