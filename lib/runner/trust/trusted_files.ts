/**
 * Checks which settings and calendar files may be used. If nobody named a file and the program found it in its working
 * folder, the file must be a version that this user trusted or wrote with a command.
 *
 * @module
 */
import {
  inspectSettingsFile,
  type SettingsFileContent,
  type SettingsSources,
} from "../../client/load_settings.ts";
import { isInside } from "../../confined_paths.ts";
import { sha256 } from "../../sha256.ts";
import type { SettingsRecord, Standing, TrustFile } from "./trust_file.ts";

type ReadFile = SettingsSources["readFile"];

/** The only settings file that the program reads although nobody named it. */
export const FOUND_SETTINGS = "hsgate.yaml";

/** Returns whether a path is a link to a file outside its folder. Such a file is never trusted. */
export async function isLinkOut(path: string): Promise<boolean> {
  const [folder, file] = await Promise.all([realPath(folderOf(path)), realPath(path)]);
  return folder !== undefined && file !== undefined && !isInside(folder, file);
}

/**
 * Returns whether a settings file is trusted; `plain` if it needs no trust.
 *
 * @throws {TrustError} If others could have written the trust file.
 */
export async function judgeSettings(
  asked: SettingsFileContent,
  trust: TrustFile,
  readFile: ReadFile,
): Promise<Standing> {
  if (asked.powers.length === 0) return "plain";
  const record = (await trust.read()).settings.get(await placeOf(asked.path));
  if (record === undefined) return "unknown";
  return record.sha256 === await digestOf(asked, readFile) ? "trusted" : "changed";
}

/**
 * Records trust of a settings file. The digest is what {@linkcode digestOf} returned before the user was asked, because
 * the files may change while the user thinks.
 *
 * @throws {TrustError} If the record cannot be written.
 */
export async function trustSettings(
  { path, digest }: { path: string; digest: string },
  trust: TrustFile,
  { at }: { at: number },
): Promise<void> {
  const place = await placeOf(path);
  await trust.change(({ settings }) => {
    settings.set(place, { sha256: digest, trustedAt: new Date(at).toISOString() });
  });
}

/**
 * Returns whether the text of a calendar file is trusted.
 *
 * @throws {TrustError} If others could have written the trust file.
 */
export async function judgeCalendars(path: string, text: string, trust: TrustFile): Promise<Standing> {
  const record = (await trust.read()).calendars.get(await placeOf(path));
  if (record === undefined) return "unknown";
  return record.sha256 === await sha256(text) ? "trusted" : "changed";
}

/** Records trust of the text of a calendar file. @throws {TrustError} If the record cannot be written. */
export async function trustCalendars(
  trust: TrustFile,
  { path, text, at }: { path: string; text: string; at: number },
): Promise<void> {
  const [place, digest] = [await placeOf(path), await sha256(text)];
  await trust.change(({ calendars }) => {
    calendars.set(place, { sha256: digest, trustedAt: new Date(at).toISOString() });
  });
}

/**
 * Removes the trust of settings files, stores or calendar files.
 *
 * @returns The paths that were on record.
 * @throws {TrustError} If the record cannot be written.
 */
export async function distrust(
  kind: "settings" | "stores" | "calendars",
  paths: readonly string[],
  trust: TrustFile,
): Promise<string[]> {
  if (paths.length === 0) return [];
  const places = await Promise.all(paths.map(placeOf));
  const removed: string[] = [];
  await trust.change((all) => {
    for (const place of places) if (all[kind].delete(place)) removed.push(place);
  });
  return removed;
}

/** Returns whether a recorded settings file is unchanged; `false` if the file cannot be read. */
export async function isUnchanged(
  place: string,
  { sha256 }: SettingsRecord,
  readFile: ReadFile,
): Promise<boolean> {
  try {
    const asked = await inspectSettingsFile(place, readFile);
    return asked !== undefined && await digestOf(asked, readFile) === sha256;
  } catch {
    return false; // a command that uses the file shows the reason
  }
}

/** Returns the path under which a found file is recorded: its name in the real folder. */
export async function placeOf(path: string): Promise<string> {
  const folder = await realPath(folderOf(path)) ?? folderOf(path);
  return `${folder.replace(/\/+$/, "")}/${path.replace(/^.*\//, "")}`;
}

/**
 * Hashes a settings file and the files in its folder that it names. Files in other folders belong to the user and may
 * change.
 */
export async function digestOf(
  { path, text, files }: SettingsFileContent,
  readFile: ReadFile,
): Promise<string> {
  const folder = folderOf(path);
  const parts: unknown[] = [text];
  for (const name of files) {
    const at = folder === "." || /^(\/|[A-Za-z]:)/.test(name) ? name : `${folder}/${name}`;
    if (await isOfFolder(folder, at)) parts.push([name, (await readFile(at))?.text ?? null]);
  }
  return await sha256(JSON.stringify(parts));
}

/** Returns whether a path is in a folder, by its name or after following links. */
async function isOfFolder(folder: string, path: string): Promise<boolean> {
  if (isInside(folder, path)) return true;
  const [above, below] = await Promise.all([realPath(folder), realPath(path)]);
  return above !== undefined && below !== undefined && isInside(above, below);
}

/** Returns the path with all links resolved; `undefined` if it does not exist or cannot be accessed. */
const realPath = (path: string) => Deno.realPath(path).catch(() => undefined);

const folderOf = (path: string) => path.includes("/") ? path.replace(/\/[^/]*$/, "") || "/" : ".";
