/**
 * Reads recipe files: regular files of limited size, in UTF-8.
 *
 * @module
 */
import { readRegular } from "../regular_files.ts";
import { RecipeError } from "./recipe_error.ts";

/** Largest size of a recipe file, bytes. */
export const MOST_BYTES = 256 * 1024;

/**
 * Reads a recipe file as text. Does not wait for other processes, and reads at most {@linkcode MOST_BYTES}.
 *
 * @throws {RecipeError} If it is not a regular file, is too large, cannot be read, or is not UTF-8; with the place of
 * the first wrong byte.
 */
export async function readText(path: string): Promise<string> {
  const refuse = (message: string, place = { line: 1, column: 1 }) =>
    new RecipeError(path, [{ ...place, path: [], message }]);
  let bytes: Awaited<ReturnType<typeof readRegular>>;
  try {
    bytes = await readRegular(path, MOST_BYTES);
  } catch (error) {
    if (error instanceof Error) throw refuse(`it cannot be read: ${await whyUnreadable(path, error)}`);
    throw error;
  }
  if (!(bytes instanceof Uint8Array)) throw refuse(bytes.refused);
  const wrong = firstNotUtf8(bytes);
  if (wrong === undefined) return new TextDecoder().decode(bytes);
  const { offset, line, column } = wrong;
  const byte = `0x${bytes[offset]!.toString(16).toUpperCase().padStart(2, "0")}`;
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  throw refuse(
    `it is not UTF-8${
      isUtf16 ? " but UTF-16" : ""
    }: byte ${byte} at offset ${offset} belongs to no character; ` +
      "save it as UTF-8",
    { line, column },
  );
}

async function whyUnreadable(path: string, error: Error): Promise<string> {
  if (error instanceof Deno.errors.NotFound) {
    const isLink = await Deno.lstat(path).then(({ isSymlink }) => isSymlink, () => false);
    return isLink ? "it is a link to a file that is not there" : "there is no such file";
  }
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  return error.message.split("\n")[0]!;
}

/** Returns the position of the first byte that is not part of a character. */
function firstNotUtf8(bytes: Uint8Array): { offset: number; line: number; column: number } | undefined {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  let offset = 0;
  let last = 0;
  for (let at = text.indexOf("\uFFFD"); at >= 0; at = text.indexOf("\uFFFD", at + 1)) {
    offset += new TextEncoder().encode(text.slice(last, at)).length;
    // The replacement character marks an unreadable byte, but may also be a character of the text itself.
    const isMeant = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd;
    if (!isMeant) {
      const before = text.slice(0, at).split("\n");
      return { offset, line: before.length, column: before.at(-1)!.length + 1 };
    }
    offset += 3;
    last = at + 1;
  }
  return undefined;
}
