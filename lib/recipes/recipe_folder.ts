/**
 * Which files of a folder may be recipes, by their names. Reads none of them.
 *
 * @module
 */

/** A file of a folder that may be a recipe. */
interface FolderFile {
  path: string;
  /** It is a link to a file outside the folder. */
  isOutside: boolean;
}

/** Returns whether a file's name is that of a recipe. Custom steps, settings and tests lie beside recipes. */
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
 * Returns whether an entry of a folder is a link to a file outside it. Listing a folder must read nothing else: a link
 * in a stranger's folder may lead to any file of this machine.
 */
async function leadsOutside(folder: string, { name, isSymlink }: Deno.DirEntry): Promise<boolean> {
  if (!isSymlink) return false;
  try {
    const root = (await Deno.realPath(folder)).replace(/\/*$/, "/");
    return !(await Deno.realPath(`${folder.replace(/\/*$/, "")}/${name}`)).startsWith(root);
  } catch {
    return false; // it leads nowhere, and reading it says so
  }
}
