/**
 * Returns a path of Deno for files such as crontabs. The path stays valid, even if a package manager empties its cache.
 *
 * @module
 */
import type { Host } from "../../terminal/host.ts";

/** Folders of caches: of npx, of pnpm and Yarn, of Linux, of macOS. */
const CACHES = ["_npx", "dlx", ".cache", "Caches"];

/**
 * Returns the path of the running Deno. If it is in a cache, copies it into the user's data folder, and
 * returns the path of the copy.
 *
 * @param running Path of the running Deno.
 */
export function lastingDeno(host: Pick<Host, "env" | "note">, running: string = Deno.execPath()): string {
  const names = running.split(/[/\\]/);
  if (!CACHES.some((name) => names.includes(name))) return running;
  const folder = `${dataFolder(host)}/hsgate/deno-${Deno.version.deno}`;
  const path = `${folder}/${names.at(-1)}`;
  Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = Deno.lstatSync(folder);
  // On Windows there is neither a mode nor a user id.
  if (mode !== null && ((mode & 0o022) !== 0 || uid !== Deno.uid())) {
    throw new Error(
      `Cannot copy Deno into "${folder}": another user can write into it; remove it, or name Deno with ` +
        "--deno",
    );
  }
  if (exists(path)) return path;
  // Copy under another name and rename, so that an interrupted copy is never used.
  const part = `${path}.${Deno.pid}`;
  Deno.copyFileSync(running, part);
  if (Deno.build.os !== "windows") Deno.chmodSync(part, 0o755);
  Deno.renameSync(part, path);
  host.note(`hsgate: copied Deno to "${path}", because "${running}" is in a cache`);
  return path;
}

/** Returns the folder for data of the user's programs; `tasks/package/hsgate.mjs` uses the same. */
function dataFolder({ env }: Pick<Host, "env">): string {
  const { os } = Deno.build;
  const [xdg, home] = [env("XDG_DATA_HOME"), env(os === "windows" ? "USERPROFILE" : "HOME")];
  if (xdg?.startsWith("/")) return xdg;
  if (os === "windows") return env("LOCALAPPDATA") ?? `${home}/AppData/Local`;
  return os === "darwin" ? `${home}/Library/Application Support` : `${home}/.local/share`;
}

function exists(path: string): boolean {
  try {
    return Deno.lstatSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
