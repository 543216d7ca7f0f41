/**
 * Files that a program obeys or takes secrets from: read only when nobody but their owner could have written them.
 *
 * @module
 */

/** A text, and who could have written it. */
export interface OwnedText {
  text: string;
  /** Permission bits; absent where the system has none. */
  mode: number | null;
  /** Why the file cannot be believed, and what to do; absent when it can be. */
  distrusted?: string;
  /** Its path once links are followed; absent where the program may not look. */
  real?: string;
}

/** What counts of a file or folder. */
type Facts = Pick<Deno.FileInfo, "uid" | "gid" | "mode">;

const OTHERS_WRITE = 0o002;
const GROUP_WRITES = 0o020;
const STICKY = 0o1000;
const ROOT = 0;

/**
 * Reads a text and looks at who could have written it: its owner must be this user or root, nobody else may write to
 * it, its folder must be this user's or root's, and nobody else may put another file in its place. Windows has no such
 * owners and modes, so that nothing is checked there.
 *
 * The user's id needs `--allow-sys=uid`. Without it the owner is not compared, and the modes are.
 *
 * @returns Nothing when there is no such file.
 */
export async function readOwned(path: string): Promise<OwnedText | undefined> {
  let file: Deno.FsFile;
  try {
    file = await Deno.open(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  let facts: Deno.FileInfo;
  try {
    // Of the file that is open: another one may take its name meanwhile.
    facts = await file.stat();
  } catch (error) {
    file.close();
    throw error;
  }
  if (facts.isDirectory) {
    file.close();
    await Deno.readTextFile(path); // fails, with an error that names the path
  }
  const text = await new Response(file.readable).text();
  // This program may not be allowed to look there.
  const real = await Deno.realPath(path).catch(() => undefined);
  const why = distrustOf(path, facts, ownUid()) ?? await distrustOfFolders(path, real);
  return {
    text,
    mode: facts.mode,
    ...real !== undefined && { real },
    ...why !== undefined && { distrusted: why },
  };
}

/**
 * Returns the text of a file that can be believed.
 *
 * @throws {TypeError} When others could have written the file, with its mode or owner, and what to do.
 */
export function believed(path: string, { text, distrusted }: Pick<OwnedText, "text" | "distrusted">): string {
  if (distrusted === undefined) return text;
  throw new TypeError(`Cannot believe "${path}": ${distrusted}`);
}

/** Says why a file of these facts cannot be believed, and what to do; nothing when it can be. */
export function distrustOf(path: string, facts: Facts, uid: number | undefined): string | undefined {
  const { mode } = facts;
  if (mode === null) return undefined;
  const stranger = strangerOf(facts, uid);
  if (stranger !== undefined) {
    return `it belongs to user ${stranger}, and this program runs as user ${uid}; if you know what is in it, run: ` +
      `chown ${uid} "${path}"`;
  }
  if ((mode & (GROUP_WRITES | OTHERS_WRITE)) === 0) return undefined;
  return `others may write to it (mode ${shown(mode)}); if you know what is in it, run: chmod go-w "${path}"`;
}

/** Looks at the folder of the name and at that of the file that it leads to, with those above. */
async function distrustOfFolders(path: string, target: string | undefined): Promise<string | undefined> {
  if (Deno.build.os === "windows") return undefined;
  const folderOf = (each: string) => each.replace(/[^/]*$/, "") || ".";
  const real = (each: string) => Deno.realPath(each).catch(() => undefined);
  const folders = [await real(folderOf(path)), ...target === undefined ? [] : [await real(folderOf(target))]];
  for (const folder of new Set(folders)) {
    const why = folder === undefined ? undefined : await distrustAbove(folder);
    if (why !== undefined) return why;
  }
  return undefined;
}

async function distrustAbove(folder: string): Promise<string | undefined> {
  const uid = ownUid();
  for (let at = folder, isFirst = true;; isFirst = false) {
    const facts = await Deno.stat(at).catch(() => undefined);
    const why = facts === undefined ? undefined : distrustOfFolder(at, facts, isFirst ? uid : undefined);
    if (why !== undefined) return why;
    const above = at.replace(/\/[^/]*$/, "") || "/";
    if (above === at) return undefined;
    at = above;
  }
}

function distrustOfFolder(path: string, facts: Facts, uid: number | undefined): string | undefined {
  const { mode, gid } = facts;
  if (mode === null) return undefined;
  const stranger = strangerOf(facts, uid);
  if (stranger !== undefined) {
    return `its folder "${path}" belongs to user ${stranger}, and this program runs as user ${uid}; move the file to a ` +
      "folder of your own";
  }
  // In a sticky folder, such as /tmp, only its owner takes a file away. A group with the number of the folder's owner
  // is that user's own, as many systems make one for each user.
  const others = mode & (OTHERS_WRITE | (gid === facts.uid ? 0 : GROUP_WRITES));
  if (others === 0 || (mode & STICKY) !== 0) return undefined;
  return `others may replace it: they may write to the folder "${path}" (mode ${shown(mode)}); run: ` +
    `chmod go-w "${path}"`;
}

/** The owner, where it is neither this user nor root. */
function strangerOf({ uid: owner }: Facts, uid: number | undefined): number | undefined {
  return owner === null || uid === undefined || owner === uid || owner === ROOT ? undefined : owner;
}

const shown = (mode: number) => (mode & 0o7777).toString(8).padStart(4, "0");

/** This user's id; nothing where the system has none, or where the program may not ask for it. */
function ownUid(): number | undefined {
  const isGranted = Deno.permissions.querySync({ name: "sys", kind: "uid" }).state === "granted";
  return isGranted ? Deno.uid() ?? undefined : undefined;
}
