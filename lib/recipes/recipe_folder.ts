/**
 * Lists the files of a folder that may be recipes, by their names, without reading them.
 *
 * @module
 */

/** A file of a folder that may be a recipe. */
interface FolderFile {
  path: string;
  /** Whether it is a link to a file outside the folder. */
  isOutside: boolean;
}

/** Returns whether a file name may be that of a recipe. Custom steps, settings and tests are in the same folder. */
function mayBeRecipe(name: string): boolean {
  return /\.(ya?ml|json|ts)$/.test(name) &&
    !/(^|\/)[._]|_step\.ts$|_test\.ts$|(^|\/)deno\.jsonc?$|(^|\/)hsgate\.(ya?ml|json)$/.test(name);
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
 * Returns whether an entry of a folder is a link to a file outside it. Listing somebody else's folder must not read
 * other files, and a link may lead to any file.
 */
async function leadsOutside(folder: string, { name, isSymlink }: Deno.DirEntry): Promise<boolean> {
  if (!isSymlink) return false;
  try {
    const root = (await Deno.realPath(folder)).replace(/\/*$/, "/");
    return !(await Deno.realPath(`${folder.replace(/\/*$/, "")}/${name}`)).startsWith(root);
  } catch {
    return false; // a broken link; reading it reports that
  }
}
