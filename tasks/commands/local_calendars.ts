/**
 * The file of a person's own calendars: where it lies, and its days for every command that looks at calendars.
 *
 * @module
 */
import type { LocalFile } from "../../lib/calendars/local_file.ts";
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

/** Lays what the file says over the held calendars. A file that cannot be read leaves them as they were. */
export async function takeUpCalendars(flags: Shared, host: Host): Promise<void> {
  const file = await readCalendars(await calendarsPath(flags, host));
  if (file === undefined && !taken) return;
  const { useLocalCalendars } = await import("../../lib/calendars/mod.ts");
  useLocalCalendars(file ?? {});
  taken = file !== undefined;
}

/** Puts the file in place of the one before as a whole, and takes it up. */
export async function writeCalendars(path: string, file: LocalFile): Promise<void> {
  const { writeLocalFile } = await import("../../lib/calendars/local_file.ts");
  const unfinished = `${path}.new`;
  await Deno.writeTextFile(unfinished, writeLocalFile(file));
  await Deno.rename(unfinished, path);
  const { useLocalCalendars } = await import("../../lib/calendars/mod.ts");
  useLocalCalendars(file);
  taken = true;
}
