/**
 * The file of a person's own calendars: where it lies, and its days for every command that looks at calendars.
 *
 * @module
 */
import type { LocalFile } from "../../lib/calendars/local_file.ts";
import { PRIVATE_FILE } from "../../lib/private_files.ts";
import { believed, readOwned } from "../../lib/owned_files.ts";
import type { FlagValues, sharedFlags } from "./command.ts";
import type { Host } from "./host.ts";

/** The file when none is named. */
const FILE = "hsgate.calendars.json";

type Shared = FlagValues<typeof sharedFlags>;

/** Whether days were taken up, which the next command of the same process must not have by accident. */
let taken = false;

/** The file that the settings name, or else `hsgate.calendars.json`. */
export async function calendarsPath(flags: Shared, host: Host): Promise<string> {
  const named = host.env("HSGATE_CALENDARS");
  if (named !== undefined) return named;
  const { loadSettingsOf } = await import("./session.ts");
  return (await loadSettingsOf(flags, host)).settings.calendars ?? FILE;
}

/**
 * Reads the file; nothing when there is none.
 *
 * @throws {InvalidParamsError} With what is wrong in which line.
 * @throws {TypeError} When others could have written it.
 */
export async function readCalendars(path: string): Promise<LocalFile | undefined> {
  const read = await readOwned(path);
  if (read === undefined) return undefined;
  const text = believed(path, read);
  const { readLocalFile } = await import("../../lib/calendars/local_file.ts");
  return await readLocalFile(text, path);
}

/**
 * Lays what the file says over the held calendars. A file that cannot be read leaves them as they were.
 *
 * @param options `isBeside` passes over a file outside the current folder that no person has named.
 */
export async function takeUpCalendars(
  flags: Shared,
  host: Host,
  { isBeside = false }: { isBeside?: boolean } = {},
): Promise<void> {
  const path = isBeside ? await pathBeside(flags, host) : await calendarsPath(flags, host);
  const file = path === undefined ? undefined : await readCalendars(path);
  if (file === undefined && !taken) return;
  const { useLocalCalendars } = await import("../../lib/calendars/mod.ts");
  useLocalCalendars(file ?? {});
  taken = file !== undefined;
}

/**
 * As `calendarsPath`, but of a settings file that nobody has named only this one setting is read: the file may have come
 * with a stranger's folder. Nothing where it leads out of the folder.
 */
async function pathBeside(flags: Shared, host: Host): Promise<string | undefined> {
  const isNamed = [flags.config, host.env("HSGATE_CONFIG"), host.env("HSGATE_CALENDARS")].some(Boolean);
  if (isNamed) return await calendarsPath(flags, host);
  const { DEFAULT_FILE } = await import("./session.ts");
  for (const find of [() => DEFAULT_FILE, () => calendarsIn(DEFAULT_FILE, host)]) {
    const path = await find();
    if (!await leadsOut(path)) continue;
    host.note(
      `hsgate: warning: "${path}" is outside the current folder and was not read; --config ${DEFAULT_FILE} says that ` +
        "these settings are yours",
    );
    return undefined;
  }
  return await calendarsIn(DEFAULT_FILE, host);
}

/** The calendars file that a settings file names. What else is wrong with it is found by whoever connects. */
async function calendarsIn(settings: string, host: Host): Promise<string> {
  const file = await host.readFile(settings);
  if (file === undefined) return FILE;
  const { parse } = await import("@std/yaml");
  try {
    const content: unknown = parse(believed(settings, file), { schema: "failsafe" });
    if (typeof content !== "object" || content === null || !("calendars" in content)) return FILE;
    return typeof content.calendars === "string" ? content.calendars : FILE;
  } catch (error) {
    if (error instanceof SyntaxError) return FILE; // no YAML
    throw error;
  }
}

/** Whether a path, or the file that it is a link to, is outside the current folder. */
async function leadsOut(path: string): Promise<boolean> {
  const folder = `${Deno.cwd().replace(/\/+$/, "")}/`;
  if (path.split(/[/\\]/).includes("..") || path.startsWith("/") && !path.startsWith(folder)) return true;
  const real = await Deno.realPath(path).catch(() => undefined);
  return real !== undefined && !real.startsWith(`${(await Deno.realPath(".")).replace(/\/+$/, "")}/`);
}

/** Puts the file in place of the one before as a whole, and takes it up. */
export async function writeCalendars(path: string, file: LocalFile): Promise<void> {
  const { writeLocalFile } = await import("../../lib/calendars/local_file.ts");
  const unfinished = `${path}.new`;
  await Deno.writeTextFile(unfinished, writeLocalFile(file), { mode: PRIVATE_FILE });
  await Deno.rename(unfinished, path);
  const { useLocalCalendars } = await import("../../lib/calendars/mod.ts");
  useLocalCalendars(file);
  taken = true;
}
