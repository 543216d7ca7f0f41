/**
 * Loads `node:crypto` at its first use. Loading it takes as long as running an empty script, and most runs do not
 * need it.
 *
 * @module
 */

/** Returns the module `node:crypto`. */
export function nodeCrypto(): typeof import("node:crypto") {
  return process.getBuiltinModule("node:crypto");
}
