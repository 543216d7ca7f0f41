/**
 * Runs `hsgate calendar update`.
 *
 * @module
 */
import { calendarsOf } from "../../terminal/arguments.ts";
import { checkData, Faults, refuseFaults } from "../../../lib/calendars/check_data.ts";
import { dataMics, emptyLocalFile, type LocalFile, parseJson } from "../../../lib/calendars/local_file.ts";
import { type DataMic } from "../../../lib/calendars/mod.ts";
import type { CalendarData } from "../../../lib/calendars/records.ts";
import { changesBetween, checkUpdate, type DayChange } from "../../../lib/calendars/update.ts";
import { readRegular } from "../../../lib/regular_files.ts";
import type { CalendarUpdateInput } from "../calendar.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { plain } from "../../terminal/print.ts";
import {
  type CalendarsPlace,
  calendarsPlace,
  MOST_BYTES,
  readCalendars,
  writeCalendars,
} from "../shared/local_calendars.ts";

/** Installs a calendar, or reinstalls the previous one. */
export async function run({ args: [given = ""], flags, host }: CalendarUpdateInput): Promise<number> {
  const place = await calendarsPlace(flags, host);
  const { path } = place;
  const file = await readCalendars(place, host) ?? emptyLocalFile();
  const mic = flags.back ? dataMicOf(given) : undefined;
  const before = mic === undefined ? undefined : calendarsOf(host).dataOf(mic);
  if (mic !== undefined && before !== undefined) {
    if (file.calendars[mic] === undefined) {
      throw new UsageError(
        `Cannot reinstall the previous calendar of ${mic}: "${path}" contains no calendar of this market, ` +
          "so the built-in one is in use",
      );
    }
    const after = { ...file, calendars: { ...file.calendars }, previous: { ...file.previous } };
    delete after.calendars[mic];
    if (file.previous[mic] !== undefined) after.calendars[mic] = file.previous[mic];
    delete after.previous[mic];
    return await install({ file: after, place, mic, before }, flags, host);
  }
  const data = await readUpdate(given, { flags, host });
  const name = dataMicOf(data.mic);
  const previous = calendarsOf(host).dataOf(name);
  const after: LocalFile = {
    ...file,
    calendars: { ...file.calendars, [name]: data },
    // The file never contains a built-in calendar. If the current calendar is built in, the file keeps no previous one.
    previous: { ...file.previous, [name]: file.calendars[name] },
  };
  return await install({ file: after, place, mic: name, before: previous }, flags, host);
}

/** Reads and checks the file. The error lists every mistake with its line. */
async function readUpdate(
  path: string,
  { flags, host }: Pick<CalendarUpdateInput, "flags" | "host">,
): Promise<CalendarData> {
  const limit = flags["max-changes"] ?? "40";
  if (!/^\d{1,4}$/.test(limit)) throw new UsageError(`Cannot use --max-changes "${limit}": write a number`);
  const text = await readText(path);
  const faults = new Faults();
  const data = checkData(parseJson(text, path), faults);
  const mic = dataMics.find((each) => each === data?.mic);
  if (data !== undefined && mic === undefined) {
    faults.add(["mic"], data.mic, `one of ${dataMics.join(", ")}; XSHE and Stock Connect follow from these`);
  } else if (data !== undefined && mic !== undefined) {
    checkUpdate(calendarsOf(host).dataOf(mic), data, {
      now: host.now(),
      allowPast: flags["allow-past"] ?? false,
      maxChanges: Number(limit),
    }, faults);
  }
  await refuseFaults(faults, { text, file: path });
  return data!; // without issues, there is data
}

async function readText(path: string): Promise<string> {
  try {
    const bytes = await readRegular(path, MOST_BYTES);
    if (bytes instanceof Uint8Array) return new TextDecoder().decode(bytes);
    throw new UsageError(`Cannot update a calendar from "${path}": ${bytes.refused}`);
  } catch (error) {
    const reason = unreadable(error, path);
    if (reason === undefined) throw error;
    throw new UsageError(`Cannot update a calendar: ${reason}`);
  }
}

function unreadable(error: unknown, path: string): string | undefined {
  if (error instanceof Deno.errors.NotFound) return `there is no file "${path}"`;
  if (error instanceof Deno.errors.PermissionDenied) return `you have no permission to read "${path}"`;
  return undefined;
}

async function install(
  { file, place, mic, before }: {
    file: LocalFile;
    place: CalendarsPlace;
    mic: DataMic;
    before: CalendarData;
  },
  flags: CalendarUpdateInput["flags"],
  host: Host,
): Promise<number> {
  const dry = flags["dry-run"] ?? false;
  if (!dry) await writeCalendars(place, file, host);
  const after = dry ? file.calendars[mic] ?? before : calendarsOf(host).dataOf(mic);
  const changes = changesBetween(before, after);
  const { version, from, through, projectedFrom } = after;
  if (flags.json) {
    const change = { mic, before: before.version, version, from, through, projectedFrom, changes };
    host.out(JSON.stringify({ ...change, installed: !dry, file: place.path }));
    return 0;
  }
  const verb = dry ? "would change" : "changed";
  host.out(
    plain(`${mic} ${verb} from version ${before.version} to ${version}, covering ${from} to ${through}`),
  );
  if (projectedFrom !== before.projectedFrom) {
    host.out(
      projectedFrom === undefined ? "no day is projected any longer" : `projected from ${projectedFrom} on`,
    );
  }
  for (const change of changes) host.out(plain(lineOf(change)));
  if (changes.length === 0) host.out("no day changes");
  if (dry) host.note("hsgate: nothing was changed");
  else if (!flags.back) {
    host.note(
      `hsgate: kept in "${place.path}"; "calendar update ${mic} --back" reinstalls the previous calendar`,
    );
  }
  return 0;
}

function lineOf({ date, before, after }: DayChange): string {
  if (before === "unknown") return `  new      ${date} ${after}`;
  if (after === "closed") return `  removed  ${date}, which was open ${before}`;
  return before === "closed"
    ? `  added    ${date} ${after}`
    : `  changed  ${date} ${after}, before ${before}`;
}

function dataMicOf(given: string): DataMic {
  const found = dataMics.find((each) => each === given.toUpperCase());
  if (found !== undefined) return found;
  throw new UsageError(
    `Cannot reinstall the previous calendar of "${given}": name one of ${
      dataMics.join(", ")
    }; XSHE and Stock Connect follow from these`,
  );
}
