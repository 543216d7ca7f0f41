/**
 * Writes names and paths into commands that a person may paste into a shell.
 *
 * @module
 */

/** Matches words without characters that have a meaning in a shell. */
const PLAIN = /^[\p{L}\p{N}_@%+:,./][\p{L}\p{N}_@%+=:,./-]*$/u;

/** Returns words as a command line for a POSIX shell, quoted where needed. */
export function shellLine(words: readonly string[]): string {
  return words.map((word) => PLAIN.test(word) || isFlag(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
    .join(" ");
}

/**
 * Returns a name or path for a command inside a sentence. A person may copy the command together with the double quotes
 * around it. Inside double quotes, a shell still runs `$( )` and backquotes. So characters that have a meaning inside
 * double quotes become escapes, and a shell runs nothing inside the name.
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
