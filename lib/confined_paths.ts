/**
 * Paths that stay in one folder, and names of files that are made of texts from elsewhere.
 *
 * @module
 */

/** Longest name of a file that a text becomes; most systems allow 255 bytes, and endings are added. */
const MOST_NAME = 150;

/**
 * Tells whether a path is a folder or lies below it, by the names only: links are not followed. Both are absolute or
 * both are relative to the same folder.
 */
export function isInside(folder: string, path: string): boolean {
  const [above, below] = [resolved(folder), resolved(path)];
  return below === above || below.startsWith(above.endsWith("/") ? above : `${above}/`);
}

/**
 * Returns the path of a file below a folder. The path comes from a recipe or from the broker: it may not leave the
 * folder, by `..`, as an absolute path, or through a link that is there.
 *
 * @returns The folder's own spelling, followed by the rest without `.` and `..`.
 * @throws {TypeError} When the path leaves the folder, holds control characters, or names a file that programs load as
 * configuration. Nothing was written.
 */
export function confined(folder: string, path: string): string {
  const root = folder === "" ? "." : folder;
  const refuse = (why: string) => {
    const hint = root === "." ? "; --out DIR names another folder" : "";
    return new TypeError(
      `Cannot use the path ${JSON.stringify(path)}: ${why}; files of a recipe stay in ` +
        `${root === "." ? "the working folder" : `"${folder}"`}${hint}`,
    );
  };
  // deno-lint-ignore no-control-regex -- the point of it
  if (/[\0-\x1f\x7f]/.test(path)) throw refuse("it holds control characters");
  // There it would name a stream of a file, or a folder of another drive.
  if (Deno.build.os === "windows" && path.lastIndexOf(":") > 1) throw refuse("it holds a colon");
  const top = resolved(root);
  const wanted = isAbsolute(path) ? resolved(path) : resolved(`${top}/${path}`);
  if (!isInside(top, wanted)) throw refuse("it is outside the folder of the run");
  const rest = wanted === top ? "" : wanted.slice(top === "/" ? 1 : top.length + 1);
  const loaded = rest.split("/").find(isLoadedByPrograms);
  if (loaded !== undefined) throw refuse(`"${loaded}" is a name of settings that programs load`);
  const [realTop, real] = [realPlace(top), realPlace(wanted)];
  if (realTop === undefined || real === undefined) throw refuse("a link on the way leads nowhere");
  if (!isInside(realTop, real)) throw refuse("a link on the way leads out of the folder of the run");
  if (folder === "") return isAbsolute(path) ? wanted : rest;
  return rest === "" ? folder : `${folder.replace(/\/+$/, "")}/${rest}`;
}

/**
 * Returns a name for a file or folder from a text of the broker, such as a symbol. Different texts get different names,
 * also where upper and lower case are the same. Capital letters, digits, `.`, `_` and `-` stay.
 */
export async function safeName(text: string): Promise<string> {
  const encode = (part: string) =>
    Array.from(
      new TextEncoder().encode(part),
      (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
    ).join("");
  let name = text.replaceAll(/[^A-Z0-9._-]/gu, encode);
  // Dots only, a dot at the end, and names of devices mean something else to a system.
  if (/\.$/.test(name)) name = `${name.slice(0, -1)}%2E`;
  if (/^\./.test(name)) name = `%2E${name.slice(1)}`;
  if (/^(CON|PRN|AUX|NUL|COM\d|LPT\d)(\.|$)/.test(name)) name = encode(name[0]!) + name.slice(1);
  if (name === "") return "%";
  if (name.length <= MOST_NAME) return name;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  // No other name holds "%~".
  return `${name.slice(0, MOST_NAME - 70)}%~${digest.toHex().toUpperCase()}`;
}

const isAbsolute = (path: string) =>
  path.startsWith("/") || Deno.build.os === "windows" && /^[A-Za-z]:[\\/]/.test(path);

/** Names of files and folders whose content other programs execute or obey. */
function isLoadedByPrograms(name: string): boolean {
  return /^(\.(?!\.).*|node_modules|(deno|package|tsconfig|jsr|import_map)\.jsonc?)$/i.test(name);
}

/** An absolute path without `.` and `..`, by the names only. */
function resolved(path: string): string {
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

/** Where a path leads once links are followed; what is not there yet stays. Nothing for a link that leads nowhere. */
function realPlace(path: string): string | undefined {
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
