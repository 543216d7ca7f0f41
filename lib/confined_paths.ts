/**
 * Keeps file paths inside one folder, makes safe file names from untrusted text, and removes from a search path all
 * folders that depend on the working folder.
 *
 * @module
 */

/** Longest file name made from a text, in characters. Most systems allow 255 bytes, and callers add a file ending. */
const MOST_NAME = 150;

/**
 * Returns whether a path is the given folder, or is below this folder. Compares names only and does not follow links.
 * Both paths must be absolute, or both relative to the same folder.
 */
export function isInside(folder: string, path: string): boolean {
  const [above, below] = [resolved(folder), resolved(path)];
  return below === above || below.startsWith(above.endsWith("/") ? above : `${above}/`);
}

/**
 * Returns the real target of a path if a link in the path leads out of the working folder. For a path outside the
 * working folder, returns the real target if a link leads out of the folder that contains the path. A folder from
 * somebody else may contain such a link.
 *
 * @returns `undefined` if no link leads out, or if a link is broken: a path with a broken link cannot be opened
 * anyway. The path itself if this program has no permission to read the target.
 */
export function linkedOutside(path: string): string | undefined {
  const at = resolved(path);
  const here = resolved(".");
  const base = isInside(here, at) ? here : at.replace(/\/[^/]*$/, "") || "/";
  try {
    const [top, real] = [realPlace(base), realPlace(at)];
    return top === undefined || real === undefined || isInside(top, real) ? undefined : real;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return path;
    throw error;
  }
}

/**
 * Returns the path of a file below a folder. The path comes from a recipe or from the broker. It is an error if the
 * path leads out of the folder: through `..`, as an absolute path, or through an existing link. It is also an error if
 * a name in the path, or in the target of a link, is reserved.
 *
 * @param folder The folder; an empty text means the working folder.
 * @returns The folder as given, and the path below it without `.` and `..`. If `folder` is an empty text: for a
 * relative path, the path relative to the working folder; for an absolute path, the absolute path.
 * @throws {TypeError} When the path leaves the folder, or contains control characters or a broken link. Also when it
 * names a file that belongs to hsgate, or that programs load as configuration.
 */
export function confined(folder: string, path: string): string {
  const root = folder === "" ? "." : folder;
  const refuse = (why: string) => {
    const hint = root === "." ? "; --out DIR names another folder" : "";
    return new TypeError(
      `Cannot use the path ${JSON.stringify(path)}: ${why}; a recipe may only use files in ` +
        `${root === "." ? "the working folder" : `"${folder}"`}${hint}`,
    );
  };
  // deno-lint-ignore no-control-regex -- control characters are what this rejects
  if (/[\0-\x1f\x7f]/.test(path)) throw refuse("it contains control characters");
  // On Windows a colon selects a stream of a file, or a folder on another drive.
  if (Deno.build.os === "windows" && path.lastIndexOf(":") > 1) throw refuse("it contains a colon");
  const top = resolved(root);
  const wanted = isAbsolute(path) ? resolved(path) : resolved(`${top}/${path}`);
  if (!isInside(top, wanted)) throw refuse("it is outside the folder of the run");
  const rest = wanted === top ? "" : wanted.slice(top === "/" ? 1 : top.length + 1);
  for (const name of rest.split("/")) {
    if (isLoadedByPrograms(name)) throw refuse(`programs load "${name}" as configuration`);
    if (isOfWorkingFolder(name)) throw refuse(`"${name}" belongs to hsgate or to the working folder`);
  }
  const [realTop, real] = [realPlace(top), realPlace(wanted)];
  if (realTop === undefined || real === undefined) throw refuse("a link in the path is broken");
  if (!isInside(realTop, real)) throw refuse("a link in the path leads out of the folder of the run");
  // The name of a link may be allowed although its target is reserved, so check the names of the target too.
  const reserved = real.slice(realTop.length).split("/").find((name) =>
    isLoadedByPrograms(name) || isOfWorkingFolder(name)
  );
  if (reserved !== undefined) throw refuse(`a link in the path leads to "${reserved}"`);
  if (folder === "") return isAbsolute(path) ? wanted : rest;
  return rest === "" ? folder : `${folder.replace(/\/+$/, "")}/${rest}`;
}

/**
 * Returns a file or folder name for a text from the broker, such as a symbol. Different texts get different names, even
 * on file systems that ignore case. Capital letters, digits, `.`, `_` and `-` stay as they are, except where the name
 * would mean something to the operating system.
 */
export async function safeName(text: string): Promise<string> {
  const encode = (part: string) =>
    Array.from(
      new TextEncoder().encode(part),
      (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
    ).join("");
  let name = text.replaceAll(/[^A-Z0-9._-]/gu, encode);
  // Operating systems give a special meaning to `.` and `..`, to a dot at the end, and to device names.
  if (/\.$/.test(name)) name = `${name.slice(0, -1)}%2E`;
  if (/^\./.test(name)) name = `%2E${name.slice(1)}`;
  if (/^(CON|PRN|AUX|NUL|COM\d|LPT\d)(\.|$)/.test(name)) name = encode(name[0]!) + name.slice(1);
  if (name === "") return "%";
  if (name.length <= MOST_NAME) return name;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  // No other name contains "%~".
  return `${name.slice(0, MOST_NAME - 70)}%~${digest.toHex().toUpperCase()}`;
}

/** Returns whether a path does not depend on the working folder. */
export const isAbsolute = (path: string): boolean =>
  path.startsWith("/") || Deno.build.os === "windows" && /^[A-Za-z]:[\\/]/.test(path);

const SEPARATOR = Deno.build.os === "windows" ? ";" : ":";

/**
 * Returns a value of `PATH` without relative and empty folders. Because of such a folder, a program in the working
 * folder could start instead of the system's program of the same name. The working folder may come from somebody else.
 */
export function absoluteFolders(path: string): string {
  const kept = path.split(SEPARATOR).filter(isAbsolute);
  // An empty path would mean the working folder.
  return kept.length === 0 && SEPARATOR === ":" ? "/usr/bin:/bin" : kept.join(SEPARATOR);
}

/**
 * Matches names of folders and settings files that other programs load. Hidden names are checked in
 * `isLoadedByPrograms`.
 */
const LOADED = new RegExp(
  `^(${
    [
      "node_modules",
      "(deno|package|tsconfig|jsr|import_map)\\.jsonc?",
      // Instructions for programming assistants, also in variants such as `CLAUDE.local.md`.
      "(agents?|claude|gemini|codex|copilot|cursor|cline|windsurf|aider|warp|junie|replit|qwen|amp|kiro|crush)" +
      "([._-].*)?\\.md",
      "(conventions|skills?|system[._-]prompt)([._-].*)?\\.md|opencode\\.jsonc?",
      "(.*[._-])?(instructions|prompt|chatmode|agent|skill)s?\\.md|.*\\.mdc",
      "(gnu)?makefile|justfile|rakefile|gemfile|procfile|vagrantfile|(docker|container)file",
      "pyproject\\.toml|cargo\\.toml|(setup|conftest|sitecustomize|usercustomize)\\.py",
      "\\w+\\.config\\.([cm]?[jt]s|json)",
    ].join("|")
  })$`,
  "i",
);

/**
 * Returns whether other programs execute or load files and folders of this name. The hidden folders of a Kubernetes
 * volume, such as `..data`, contain the volume's files, so they do not count.
 */
function isLoadedByPrograms(name: string): boolean {
  return /^\.(?!\.(data|\d{4}_[\d_.]+)$)/.test(name) || LOADED.test(name);
}

/**
 * Returns whether this name is reserved for hsgate or its user: no recipe reads or writes such files or folders. Also
 * reserves the usual names of stores and calendar files, because a recipe could otherwise create such a file before
 * hsgate does.
 */
function isOfWorkingFolder(name: string): boolean {
  return /^(hsgate\..*|recipes|README\.md|.*[.-]lock(\..*)?|(.*[._-])?calendars\.json|.*\.db([.-].*)?)$/i
    .test(name);
}

/** Returns an absolute path without `.` and `..`. Does not follow links. */
export function resolved(path: string): string {
  const plain = Deno.build.os === "windows" ? path.replaceAll("\\", "/") : path;
  const absolute = isAbsolute(plain) ? plain : `${Deno.cwd().replaceAll("\\", "/")}/${plain}`;
  const drive = /^[A-Za-z]:/.exec(absolute)?.[0] ?? "";
  const parts: string[] = [];
  for (const part of absolute.slice(drive.length).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `${drive}/${parts.join("/")}`;
}

/**
 * Returns a path with its links followed. Keeps the parts that do not exist yet. Returns `undefined` for a broken
 * link.
 */
export function realPlace(path: string): string | undefined {
  const missing: string[] = [];
  for (let at = path;;) {
    try {
      Deno.lstatSync(at);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory)) throw error;
      const cut = at.lastIndexOf("/");
      missing.unshift(at.slice(cut + 1));
      at = at.slice(0, cut) || "/";
      continue;
    }
    try {
      const real = Deno.realPathSync(at).replaceAll("\\", "/");
      return [real.replace(/\/$/, ""), ...missing].join("/") || "/";
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }
}
