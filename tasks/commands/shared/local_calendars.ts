/**
 * Finds, reads and writes the local calendar file, and applies it to commands that use calendars.
 *
 * @module
 */
import { shellHint } from "../../../lib/shell_words.ts";
import type { LocalFile } from "../../../lib/calendars/local_file.ts";
import { isInside } from "../../../lib/confined_paths.ts";
import { exists, replaceFile } from "../../../lib/private_files.ts";
import { readOwned, trustedText } from "../../../lib/owned_files.ts";
import type { FlagValues, sharedFlags } from "../../terminal/command.ts";
import type { Host } from "../../terminal/host.ts";
import { paint, plain } from "../../terminal/print.ts";
import type { Standing } from "../../../lib/runner/trust/trust_file.ts";

/** Largest size of the file, bytes; many years of every market need far less. */
export const MOST_BYTES = 1024 * 1024;
/** Default file name. */
const FILE = "hsgate.calendars.json";

type Shared = FlagValues<typeof sharedFlags>;

/** Path of the file. */
export interface CalendarsPlace {
  path: string;
  /**
   * Whether hsgate uses the file only if the user has trusted it. True if the user did not name the file, because a
   * file at this path may come from somebody else.
   */
  needsTrust: boolean;
}

/** Returns the file that HSGATE_CALENDARS or the settings name, or else `hsgate.calendars.json`. */
export async function calendarsPlace(flags: Shared, host: Host): Promise<CalendarsPlace> {
  const named = host.env("HSGATE_CALENDARS");
  if (named !== undefined) return { path: named, needsTrust: false };
  const { loadSettingsOf } = await import("./session.ts");
  return await placeIn((await loadSettingsOf(flags, host)).settings.calendars, flags, host);
}

/** Like `calendarsPlace`, but ignores settings that are not trusted. */
async function trustedCalendarsPlace(flags: Shared, host: Host): Promise<CalendarsPlace> {
  const isNamed = [flags.config, host.env("HSGATE_CONFIG"), host.env("HSGATE_CALENDARS")].some(Boolean);
  if (isNamed) return await calendarsPlace(flags, host);
  const { foundSettings } = await import("./session.ts");
  const found = await foundSettings(flags, host);
  return await placeIn(found?.refused === undefined ? found?.members.calendars : undefined, flags, host);
}

/**
 * Returns the place of the file that the settings name. If the settings were found in the working folder, a calendar
 * file in that folder needs its own trust. A file outside the folder does not.
 */
async function placeIn(set: string | undefined, flags: Shared, host: Host): Promise<CalendarsPlace> {
  if (set === undefined) return { path: FILE, needsTrust: true };
  if ((flags.config ?? host.env("HSGATE_CONFIG")) !== undefined) return { path: set, needsTrust: false };
  const { placeOf } = await import("../../../lib/runner/trust/trusted_files.ts");
  return { path: set, needsTrust: isInside(await Deno.realPath("."), await placeOf(set)) };
}

/** A calendar file, and whether it may be used. */
export interface CalendarFile {
  path: string;
  text: string;
  file: LocalFile;
  /** `plain` for a file that a user named. */
  standing: Standing;
  /** Why hsgate must not use the file; absent if it may. */
  refused?: Error;
}

/**
 * Reads the file and checks its trust.
 *
 * @returns `undefined` if there is no file.
 * @throws {InvalidParamsError} With each mistake and its line.
 * @throws {TypeError} If another user could have written it.
 * @throws {TrustError} If it is a link to a file outside the folder.
 */
export async function findCalendars(
  { path, needsTrust }: CalendarsPlace,
  host: Pick<Host, "env">,
): Promise<CalendarFile | undefined> {
  if (!exists(path)) return undefined;
  const refuse = async (why: string) => {
    const { TrustError } = await import("../../../lib/runner/trust/trust_file.ts");
    return new TrustError(`Cannot use "${path}" of this folder: ${why}`, { code: "untrusted" });
  };
  const { isLinkOut } = await import("../../../lib/runner/trust/trusted_files.ts");
  if (needsTrust && await isLinkOut(path)) {
    throw await refuse(
      "it is a link to a file outside the folder; if that file is yours, name it with HSGATE_CALENDARS",
    );
  }
  const read = await readOwned(path, { mostBytes: MOST_BYTES });
  if (read === undefined) return undefined;
  const text = trustedText(path, read);
  const { parseLocalFile } = await import("../../../lib/calendars/local_file.ts");
  const calendars = { path, text, file: await parseLocalFile(text, path) };
  if (!needsTrust) return { ...calendars, standing: "plain" };
  const [{ judgeCalendars }, { TrustFile }] = await Promise.all([
    import("../../../lib/runner/trust/trusted_files.ts"),
    import("../../../lib/runner/trust/trust_file.ts"),
  ]);
  const standing = await judgeCalendars(path, text, TrustFile.of(host.env));
  if (standing === "trusted") return { ...calendars, standing };
  const why = standing === "changed" ? "it was changed after it was trusted" : "nobody has trusted it";
  const refused = await refuse(
    `${why}, and it sets trading days; check the file, then run "hsgate trust ${
      shellHint(path)
    }", or name it with ` +
      "HSGATE_CALENDARS",
  );
  return { ...calendars, standing, refused };
}

/**
 * Returns the content of the file; `undefined` if there is no file. @throws {TrustError} If hsgate must not use the
 * file. Also throws like `findCalendars`.
 */
export async function readCalendars(
  place: CalendarsPlace,
  host: Pick<Host, "env">,
): Promise<LocalFile | undefined> {
  const found = await findCalendars(place, host);
  if (found?.refused !== undefined) throw found.refused;
  return found?.file;
}

/**
 * Applies the file to the calendars of this process. An invalid file leaves them unchanged.
 *
 * @throws Like `readCalendars`.
 */
export async function applyCalendars(flags: Shared, host: Host): Promise<void> {
  await apply(await readCalendars(await calendarsPlace(flags, host), host), host);
}

/** Why a file was not used. */
export interface RefusedCalendars extends Partial<Pick<CalendarFile, "standing" | "file">> {
  path: string;
  error: Error;
  /**
   * Whether the file itself is the problem, and not its trust: for example, it has a mistake, or another user can write
   * to it.
   */
  isWrong: boolean;
}

/** Like `applyCalendars`, but if hsgate must not use the file, keeps the built-in calendars and returns why. */
export async function applyTrustedCalendars(
  flags: Shared,
  host: Host,
): Promise<RefusedCalendars | undefined> {
  const place = await trustedCalendarsPlace(flags, host);
  const { path } = place;
  const { TrustError } = await import("../../../lib/runner/trust/trust_file.ts");
  let found: CalendarFile | undefined;
  try {
    found = await findCalendars(place, host);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    await apply(undefined, host);
    return { path, error, isWrong: !(error instanceof TrustError) };
  }
  await apply(found?.refused === undefined ? found?.file : undefined, host);
  if (found?.refused === undefined) return undefined;
  return { path, standing: found.standing, file: found.file, error: found.refused, isWrong: false };
}

async function apply(file: LocalFile | undefined, host: Pick<Host, "calendars">): Promise<void> {
  // Without a file, `host.calendars` stays unset: only commands that need trading days load the built-in calendars.
  host.calendars = file && new (await import("../../../lib/calendars/mod.ts")).Calendars(file);
}

/** Replaces the whole file, records its trust if the file needs trust, and applies it. */
export async function writeCalendars(
  { path, needsTrust }: CalendarsPlace,
  file: LocalFile,
  host: Pick<Host, "env" | "now" | "calendars">,
): Promise<void> {
  const { formatLocalFile } = await import("../../../lib/calendars/local_file.ts");
  const text = formatLocalFile(file);
  replaceFile(path, text);
  if (needsTrust) {
    const [{ trustCalendars }, { TrustFile }] = await Promise.all([
      import("../../../lib/runner/trust/trusted_files.ts"),
      import("../../../lib/runner/trust/trust_file.ts"),
    ]);
    await trustCalendars(TrustFile.of(host.env), { path, text, at: host.now() });
  }
  await apply(file, host);
}

/** Prints the content of a calendar file, one line for each market or day. */
export async function showCalendars(
  { path, file }: { path: string; file?: LocalFile },
  host: Host,
): Promise<void> {
  host.out(`${paint(host, "bold", "calendars")}  ${paint(host, "dim", plain(path))}`);
  for (const line of file === undefined ? [] : await calendarLines(file)) {
    host.out(paint(host, "yellow", `  ${plain(line)}`));
  }
}

/** Returns the content of a calendar file, one line for each market or day. */
export async function calendarLines({ calendars, overrides }: LocalFile): Promise<string[]> {
  const [{ dataMics }, { builtInData }, { changesBetween }] = await Promise.all([
    import("../../../lib/calendars/local_file.ts"),
    import("../../../lib/calendars/mod.ts"),
    import("../../../lib/calendars/update.ts"),
  ]);
  const markets = dataMics.flatMap((mic) => {
    const data = calendars[mic];
    if (data === undefined) return [];
    const { version, from, through, regular } = data;
    const { length } = changesBetween(builtInData[mic], data);
    return `${mic} version ${version}, ${from} to ${through}, usual hours ${regular}; ` +
      `${length} days differ from the built-in calendar`;
  });
  return [
    ...markets,
    ...overrides.map(({ mic, date, hours, because }) => `${mic} ${date} ${hours}: ${because}`),
  ];
}
