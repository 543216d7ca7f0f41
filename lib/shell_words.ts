/**
 * Writes names and paths into commands that a person may paste into a shell.
 *
 * @module
 */

/** Characters that mean nothing to any shell, also at the start of a word. */
const PLAIN = /^[\p{L}\p{N}_@%+:,./][\p{L}\p{N}_@%+=:,./-]*$/u;

/** Writes words for a POSIX shell. */
export function shellLine(words: readonly string[]): string {
  return words.map((word) => PLAIN.test(word) || isFlag(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
    .join(" ");
}

/**
 * Writes a name or path into a command inside a sentence. Such a command often stands between double quotes, in which a
 * shell still obeys `$( )` and backquotes. So characters with a meaning there become escapes, and no shell runs
 * anything, whether the quotes are copied or not.
 */
export function shellHint(text: string): string {
  const path = text.startsWith("-") ? `./${text}` : text;
  if (PLAIN.test(path)) return path;
  if (/^[\p{L}\p{N}_@%+=:,./ ()&;<>|*?#~{}^[\]-]*$/u.test(path)) return `'${path}'`;
  const escaped = path.replaceAll(/[^\p{L}\p{N}_@%+=:,./ -]/gu, (character) =>
    Array.from(
      new TextEncoder().encode(character),
      (byte) => `\\x${byte.toString(16).padStart(2, "0")}`,
    ).join(""));
  return `$'${escaped}'`;
}

const isFlag = (word: string) => /^--?[\w-]+(=[\w@%+:,./-]*)?$/.test(word);
