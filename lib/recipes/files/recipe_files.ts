/**
 * Finds recipe files in a folder and reads their texts: regular files of limited size, in UTF-8.
 *
 * @module
 */
import { readRegular } from "../../regular_files.ts";
import { RecipeError } from "../recipe_error.ts";

/** Largest size of a recipe file, bytes. */
export const MOST_BYTES = 256 * 1024;

/**
 * Reads a recipe file as text. Never waits for other processes, and reads at most {@linkcode MOST_BYTES}.
 *
 * @throws {RecipeError} If it is not a regular file, is too large, cannot be read, or is not UTF-8. For wrong UTF-8, the
 * error has the place of the first wrong byte.
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

/** Returns the position of the first byte that is not valid UTF-8. */
function firstNotUtf8(bytes: Uint8Array): { offset: number; line: number; column: number } | undefined {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  let offset = 0;
  let last = 0;
  for (let at = text.indexOf("\uFFFD"); at >= 0; at = text.indexOf("\uFFFD", at + 1)) {
    offset += new TextEncoder().encode(text.slice(last, at)).length;
    // The decoder replaces a wrong byte with this character, but the text itself may also contain the character.
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

/** A file of a folder that may be a recipe. */
interface FolderFile {
  path: string;
  /** Whether the entry is a link to a file outside the folder. */
  isOutside: boolean;
}

/**
 * Returns whether a file may be a recipe, by its name. Excludes custom steps, settings, schemas and tests, which can be
 * in the same folder.
 */
function mayBeRecipe(name: string): boolean {
  return /\.(ya?ml|json|ts)$/.test(name) &&
    !/(^|\/)[._]|_step\.ts$|_test\.ts$|\.schema\.json$|(^|\/)deno\.jsonc?$|(^|\/)hsgate\.(ya?ml|json)$/.test(
      name,
    );
}

/** Lists the files of a folder that may be recipes, sorted by name. */
export async function recipesOfFolder(folder: string): Promise<FolderFile[]> {
  const root = folder.replace(/\/+$/, "");
  const files: FolderFile[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const { name, isDirectory } = entry;
    if (isDirectory || !mayBeRecipe(name)) continue;
    files.push({ path: `${root}/${name}`, isOutside: await leadsOutside(folder, entry) });
  }
  return files.sort((a, b) => a.path < b.path ? -1 : 1);
}

/**
 * Returns whether an entry of a folder is a link to a file outside of the folder. A link may lead to any file, and
 * listing somebody else's folder must not read files outside of it.
 */
async function leadsOutside(folder: string, { name, isSymlink }: Deno.DirEntry): Promise<boolean> {
  if (!isSymlink) return false;
  try {
    const root = (await Deno.realPath(folder)).replace(/\/*$/, "/");
    return !(await Deno.realPath(`${folder.replace(/\/*$/, "")}/${name}`)).startsWith(root);
  } catch {
    return false; // a broken link, which is reported when it is read
  }
}

/** Returns the URL of a path, relative to the current folder; escapes `#`, `?` and `%`. */
export function fileUrl(path: string): URL {
  const url = new URL("file:///");
  url.pathname = (path.startsWith("/") ? path : `${Deno.cwd()}/${path}`).replaceAll("%", "%25");
  return url;
}
