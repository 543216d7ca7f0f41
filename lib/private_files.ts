/**
 * Modes of the files that hold an account's data: only their owner reads them.
 *
 * @module
 */

/** Mode of a new file. Files that exist keep the mode that they have. */
export const PRIVATE_FILE = 0o600;
/** Mode of a new folder. */
export const PRIVATE_FOLDER = 0o700;
