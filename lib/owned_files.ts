/**
 * Reads settings and secrets from files, and detects files that other users could have written.
 *
 * @module
 */

import { BrokerError } from "./errors.ts";
import { needRegular, readAtMost, unreadable } from "./regular_files.ts";
import { shellHint } from "./shell_words.ts";

/** The text of a file, and whether other users could have written it. */
interface OwnedText {
  text: string;
  /** Permission bits; `null` if the system has none. */
  mode: number | null;
  /** Why the file cannot be trusted, and what to do; absent if it can be trusted. */
  distrusted?: string;
}

/** Owner, group and mode of a file or folder. */
type Facts = Pick<Deno.FileInfo, "uid" | "gid" | "mode">;

/** Default limit for the size of a file. Settings, keys and secrets are far smaller. */
const MOST_BYTES = 1024 * 1024;
const OTHERS_WRITE = 0o002;
const GROUP_WRITES = 0o020;
const STICKY = 0o1000;
const ROOT = 0;
/** Maximum number of links that Linux follows in one path. */
const MOST_LINKS = 40;

/**
 * Reads a text file and checks who could have written it. The file and its folder must belong to this user or to root.
 * Nobody else may have permission to write to the file, or to replace it in its folder. Windows has no such owners and
 * modes, so nothing is checked there.
 *
 * Reading the user's id needs `--allow-sys=uid`. Without it only the modes are checked, not the owners.
 *
 * @param options `mostBytes` is the limit. @default 1 MiB
 * @returns `undefined` if there is no such file.
 * @throws {TypeError} When it is neither a regular file nor a folder, or is larger than the limit. For a folder, throws
 * the system's own error.
 */
export async function readOwned(
  path: string,
  { mostBytes = MOST_BYTES }: { mostBytes?: number } = {},
): Promise<OwnedText | undefined> {
  try {
    const info = await Deno.stat(path);
    needRegular(path, info, mostBytes);
    if (info.isDirectory) await Deno.readTextFile(path); // throws an error that names the path
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  using file = await openIfThere(path);
  if (file === undefined) return undefined; // removed since the check
  // Check the open file, not its path: another file may get that name meanwhile.
  const facts = await file.stat();
  needRegular(path, facts, mostBytes);
  const bytes = await readAtMost(file, mostBytes);
  if (!(bytes instanceof Uint8Array)) throw unreadable(path, bytes);
  const text = new TextDecoder().decode(bytes);
  // This program may lack the permission to resolve the path.
  const real = await Deno.realPath(path).catch(() => undefined);
  const why = distrustOf(path, facts, ownUid()) ?? await distrustOfFolders(path, real);
  return {
    text,
    mode: facts.mode,
    ...why !== undefined && { distrusted: why },
  };
}

async function openIfThere(path: string): Promise<Deno.FsFile | undefined> {
  try {
    return await Deno.open(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Returns the text of a trusted file.
 *
 * @throws {TypeError} When other users could have written the file. The message contains the reason and what to do.
 */
export function trustedText(
  path: string,
  { text, distrusted }: Pick<OwnedText, "text" | "distrusted">,
): string {
  if (distrusted === undefined) return text;
  throw new TypeError(`Cannot trust "${path}": ${distrusted}`);
}

/**
 * Returns why a file with this owner and mode cannot be trusted, and what to do.
 *
 * @returns `undefined` if the file can be trusted.
 */
export function distrustOf(path: string, facts: Facts, uid: number | undefined): string | undefined {
  const { mode } = facts;
  if (mode === null) return undefined;
  const foreignOwner = foreignOwnerOf(facts, uid);
  if (foreignOwner !== undefined) {
    return `it belongs to user ${foreignOwner}, and this program runs as user ${uid}; if you know what is in it, run: ` +
      `chown ${uid} ${shellHint(path)}`;
  }
  if ((mode & (GROUP_WRITES | OTHERS_WRITE)) === 0) return undefined;
  return `others may write to it (mode ${modeText(mode)}); if you know what is in it, run: chmod go-w ${
    shellHint(path)
  }`;
}

/**
 * Returns why a file cannot be trusted even after a check of its content, and what to do. Others could change or
 * replace such a file between the check and its use. Assumes that a group whose id equals the owner's id contains only
 * the owner.
 *
 * @returns `undefined` if the file can be trusted, or does not exist.
 */
export async function distrustOfChecked(path: string): Promise<string | undefined> {
  if (Deno.build.os === "windows") return undefined;
  const facts = await statOf(path);
  if (facts === undefined) return undefined;
  const { mode, gid, uid } = facts;
  const isGroupOnly = mode !== null && gid === uid && (mode & OTHERS_WRITE) === 0;
  return distrustOf(path, { uid, gid, mode: isGroupOnly ? mode & ~GROUP_WRITES : mode }, ownUid()) ??
    await distrustOfFolders(path, await Deno.realPath(path).catch(() => undefined));
}

/**
 * Creates a temporary folder for files that hsgate reads again or runs.
 *
 * @throws {BrokerError} If another user could replace the folder, and so its files.
 */
export async function ownTemporaryFolder(options: Deno.MakeTempOptions): Promise<string> {
  const path = await Deno.makeTempDir(options);
  const why = await distrustOfChecked(path).catch((error) => {
    // This program may not read the folders above, so it cannot check them.
    if (error instanceof Deno.errors.NotCapable) return undefined;
    throw error;
  });
  if (why === undefined) return path;
  await Deno.remove(path);
  throw new BrokerError(
    `Cannot use the temporary folder "${path}": ${why}; or set TMPDIR to a folder of your own`,
    { code: "temporary-folder" },
  );
}

/**
 * Returns why others could create a missing file or folder, or replace it later, and what to do. Checks the nearest
 * existing folder above the path, and all folders above that folder.
 *
 * @param path Absolute, with its links resolved.
 * @returns `undefined` if they could not, or if the path exists.
 */
export async function distrustAround(path: string): Promise<string | undefined> {
  if (Deno.build.os === "windows" || await statOf(path) !== undefined) return undefined;
  let above = path;
  do above = above.replace(/\/[^/]*$/, "") || "/"; while (await statOf(above) === undefined);
  return await distrustAbove(above);
}

/**
 * Returns why a database cannot be trusted, and what to do. Others must not be able to write the database file or a
 * file beside it, or to add a file there. SQLite reads the files beside a database, so a folder that others may write
 * to is rejected even if it is sticky. Does not open the files. Assumes that a group whose id equals this user's id
 * contains only this user.
 *
 * @param path Path of the database, with its links resolved. The file need not exist.
 * @param endings Endings of the files beside it, such as `-wal`.
 * @returns `undefined` if the database can be trusted.
 */
export async function distrustOfDatabase(
  path: string,
  endings: readonly string[],
): Promise<string | undefined> {
  if (Deno.build.os === "windows") return undefined;
  const uid = ownUid();
  for (const file of [path, ...endings.map((ending) => `${path}${ending}`)]) {
    const facts = await statOf(file);
    if (facts === undefined) continue;
    if (facts.isDirectory) return undefined; // SQLite cannot open it
    const { mode, gid } = facts;
    const isGroupOnly = mode !== null && gid === uid && (mode & OTHERS_WRITE) === 0;
    const why = facts.isFile
      ? distrustOf(file, { ...facts, mode: isGroupOnly ? mode & ~GROUP_WRITES : mode }, uid)
      : "it is not a regular file";
    if (why !== undefined) return file === path ? why : `"${file}" beside it: ${why}`;
  }
  const folder = await Deno.realPath(path.replace(/[^/]*$/, "") || ".").catch(() => undefined);
  return folder === undefined ? undefined : await distrustAbove(folder, true);
}

async function statOf(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}

/**
 * Returns why a folder on the way to a file cannot be trusted, and what to do. Checks the folder of the path, the
 * folder of the target, and all folders above them. Does the same for every link in the path, because a user who may
 * replace a link decides which file the path leads to.
 *
 * @param target The path with its links resolved.
 */
async function distrustOfFolders(path: string, target: string | undefined): Promise<string | undefined> {
  if (Deno.build.os === "windows") return undefined;
  const folderOf = (each: string) => each.replace(/[^/]*$/, "") || ".";
  const real = (each: string) => Deno.realPath(each).catch(() => undefined);
  const links = await linksOn(path);
  const folders = [await real(folderOf(path)), ...target === undefined ? [] : [await real(folderOf(target))]];
  for (
    const folder of new Set([
      ...folders,
      ...links.map(folderOf).map((each) => each.replace(/(?<=.)\/$/, "")),
    ])
  ) {
    const why = folder === undefined ? undefined : await distrustAbove(folder);
    if (why !== undefined) return why;
  }
  return undefined;
}

/**
 * Returns the links that the system follows on the way to a path. Each returned path has its folder resolved, but not
 * the link itself.
 */
async function linksOn(path: string): Promise<string[]> {
  const links: string[] = [];
  const names = path.split("/");
  let at = path.startsWith("/") ? "" : await Deno.realPath(".").catch(() => "");
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      at = at.replace(/\/[^/]*$/, "");
      continue;
    }
    const next = `${at}/${name}`;
    const target = await Deno.readLink(next).catch(() => undefined);
    if (target === undefined) {
      at = next;
      continue;
    }
    links.push(next);
    if (links.length > MOST_LINKS) break; // probably a circle; the system does not open such a path
    names.unshift(...target.split("/"));
    if (target.startsWith("/")) at = "";
  }
  return links;
}

/**
 * Returns why a folder or one above it cannot be trusted, and what to do. Only the first folder must belong to this
 * user or to root.
 *
 * @param isForDatabase Whether the first folder contains a database. Then nobody else may add files to the folder.
 */
async function distrustAbove(folder: string, isForDatabase = false): Promise<string | undefined> {
  const uid = ownUid();
  for (let at = folder, isFirst = true;; isFirst = false) {
    const facts = await Deno.stat(at).catch(() => undefined);
    const why = facts === undefined ? undefined : distrustOfFolder(at, facts, {
      uid: isFirst ? uid : undefined,
      isForDatabase: isFirst && isForDatabase,
    });
    if (why !== undefined) return why;
    const above = at.replace(/\/[^/]*$/, "") || "/";
    if (above === at) return undefined;
    at = above;
  }
}

function distrustOfFolder(
  path: string,
  facts: Facts,
  { uid, isForDatabase }: { uid: number | undefined; isForDatabase: boolean },
): string | undefined {
  const { mode, gid } = facts;
  if (mode === null) return undefined;
  const foreignOwner = foreignOwnerOf(facts, uid);
  if (foreignOwner !== undefined) {
    return `its folder "${path}" belongs to user ${foreignOwner}, and this program runs as user ${uid}; move the file to a ` +
      "folder of your own";
  }
  // In a sticky folder, such as /tmp, only a file's owner can remove the file. Many systems create a group for each
  // user. So assume that a group whose id equals the id of the folder's owner contains only this owner.
  const isPrivateGroup = gid === facts.uid || isForDatabase && gid === uid;
  const others = mode & (OTHERS_WRITE | (isPrivateGroup ? 0 : GROUP_WRITES));
  if (others === 0 || (mode & STICKY) !== 0 && !isForDatabase) return undefined;
  if (isForDatabase) {
    return `others may add files beside it: they may write to the folder "${path}" (mode ${
      modeText(mode)
    }); move the ` +
      "file to a folder of your own";
  }
  return `others may replace it: they may write to the folder "${path}" (mode ${modeText(mode)}); run: ` +
    `chmod go-w ${shellHint(path)}`;
}

/** Returns the owner's id if the owner is neither this user nor root. */
function foreignOwnerOf({ uid: owner }: Facts, uid: number | undefined): number | undefined {
  return owner === null || uid === undefined || owner === uid || owner === ROOT ? undefined : owner;
}

const modeText = (mode: number) => (mode & 0o7777).toString(8).padStart(4, "0");

/** Returns this user's id; `undefined` if the system has none, or if the program may not read it. */
function ownUid(): number | undefined {
  const isGranted = Deno.permissions.querySync({ name: "sys", kind: "uid" }).state === "granted";
  return isGranted ? Deno.uid() ?? undefined : undefined;
}
