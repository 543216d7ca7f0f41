/**
 * Runs `hsgate check`.
 *
 * @module
 */
import { type Calendars, showInstant } from "../../../lib/calendars/mod.ts";
import { type Limits, limitsIfKnown } from "../../../lib/client/limits.ts";
import { whyPlan } from "../../../lib/recipes/live.ts";
import { clockChangeSlots } from "../../../lib/runner/schedule/schedule_checks.ts";
import { storeNotes } from "../../../lib/runner/explain/store_notes.ts";
import { calendarOf } from "../../../lib/recipes/engine/step_context.ts";
import { nextSlots } from "../../../lib/runner/schedule/slots.ts";
import { isOpenToOthers } from "../../../lib/loopback.ts";
import { withoutCredentials } from "../../../lib/credentials.ts";
import { Trust } from "../../../lib/runner/trust/trust.ts";
import { checkRecipes, type CheckReport, type FileReport, powersOf } from "../../../lib/recipes/mod.ts";
import type { CheckInput } from "../check.ts";
import type { Host } from "../../terminal/host.ts";
import { powerData } from "../../../lib/recipes/powers.ts";
import { paint, plain } from "../../terminal/print.ts";
import { type FoundSettings, foundSettings, loadSettingsOf } from "../shared/session.ts";
import {
  applyTrustedCalendars,
  calendarLines,
  type RefusedCalendars,
  showCalendars,
} from "../shared/local_calendars.ts";
import { warningsOf } from "../calendar/lines.ts";
import { openStore, storeExists } from "../shared/store_file.ts";
import { calendarsOf, clockOf } from "../../terminal/arguments.ts";
import { issueLines, recipeFiles, type Untrusted, untrustedIn } from "../shared/recipe_files.ts";
import { scheduleNotes } from "./runnable_days.ts";
import { powerLines, showSettings } from "../trust/body.ts";
import { localTime, noteOf, precisionOf, readable, shownSlot } from "../shared/slot_lines.ts";
import { filledAddress } from "../../../lib/recipes/schema/open_addresses.ts";
import { shellHint } from "../../../lib/shell_words.ts";

/** Checks recipes and lists what they will do; returns 2 if a recipe has a mistake or the calendar file is damaged. */
export async function run({ args, flags, host }: CheckInput): Promise<number> {
  const now = clockOf(flags.now, host);
  const trust = Trust.of(host.env);
  await trust.records(); // an invalid trust record must not appear as a mistake of a recipe
  const calendars = await applyTrustedCalendars(flags, host);
  const mayRunCode = (file: string) => flags.run === true || trust.isUnchanged(file);
  const limits = await limitsIfKnown(() => loadSettingsOf(flags, host));
  const compiled = await checkRecipes(await recipeFiles(args), {
    now,
    calendars: calendarsOf(host),
    ...limits !== undefined && { limits },
    nextSlots: (...given) => nextSlots(calendarsOf(host), ...given),
    clockChangeSlots: (...given) => clockChangeSlots(calendarsOf(host), ...given),
    mayRunCode,
    signal: host.signal,
  });
  host.signal.throwIfAborted();
  const standings = new Map<FileReport["path"], Untrusted | undefined>();
  for (const file of compiled.files) standings.set(file.path, await untrustedIn(trust, file));
  const settings = await foundSettings(flags, host);
  const { report, warnings: scheduleWarnings } = await withScheduleNotes(compiled, { host, now: now() });
  const warnings = [
    ...scheduleWarnings,
    ...calendarWarnings(calendarsOf(host), report.files, now()),
    ...report.files.flatMap(plainHttpWarnings),
    ...await storeWarnings(report.files, { flags, host }),
  ];
  if (settings?.refused !== undefined) warnings.push(settings.refused.error.message);
  if (calendars?.isWrong === false) warnings.push(calendars.error.message);
  if (calendars?.isWrong) host.note(`hsgate: ${plain(calendars.error.message)}`);
  const ok = report.ok && !calendars?.isWrong;
  if (flags.json) {
    const files = report.files.map((file) =>
      dataOf(calendarsOf(host), file, { untrusted: standings.get(file.path), limits })
    );
    const found = settings === undefined ? {} : { settings: settingsData(settings) };
    const refused = calendars === undefined ? {} : { calendars: await calendarsData(calendars) };
    host.out(JSON.stringify({ ok, warnings: warnings.map(withoutCredentials), files, ...found, ...refused }));
    return ok ? 0 : 2;
  }
  if (settings?.refused !== undefined) showSettings(settings, host);
  if (calendars !== undefined) await showCalendars(calendars, host);
  for (const file of report.files) {
    if (file.issues.length === 0) show(file, host, { untrusted: standings.get(file.path), limits });
  }
  // Stdout ends with the mistakes, because the user looks there first.
  for (const line of issueLines(report)) host.out(paint(host, "red", plain(withoutCredentials(line))));
  for (const warning of warnings) host.note(`hsgate: warning: ${plain(warning)}`);
  const untrusted = [...standings.values()].filter((each) => each !== undefined).length;
  host.note(`hsgate: ${verdict(report.files, untrusted)}`);
  return ok ? 0 : 2;
}

/**
 * Returns a summary: how many recipes have mistakes; if none has, how many were not loaded; and if all were loaded, how
 * many are not trusted.
 */
function verdict(files: readonly FileReport[], untrusted: number): string {
  const count = files.length;
  const wrong = files.filter(({ issues }) => issues.length > 0).length;
  const unread = files.filter(({ unread }) => unread).length;
  if (wrong > 0) return `${wrong} of ${count} recipes ${wrong === 1 ? "is" : "are"} wrong`;
  if (unread > 0) {
    return `no mistake found, but ${unread} of ${count} recipes ${
      unread === 1 ? "was" : "were"
    } not loaded: TypeScript ` +
      'is loaded after "hsgate trust", or with --run';
  }
  const found = `${count} ${count === 1 ? "recipe" : "recipes"}, no mistakes`;
  return untrusted === 0 ? found : `${found}; ${untrusted} ${untrusted === 1 ? "is" : "are"} not trusted`;
}

/** Adds mistakes and warnings about schedules whose slots cannot run. */
async function withScheduleNotes(
  { files }: CheckReport,
  { host, now }: { host: Host; now: number },
): Promise<{ report: CheckReport; warnings: string[] }> {
  const notes: Awaited<ReturnType<typeof scheduleNotes>>[] = [];
  for (const file of files) {
    // Each file takes time, so let signals such as Ctrl-C arrive in between.
    await new Promise((resolve) => setTimeout(resolve, 0));
    host.signal.throwIfAborted();
    notes.push(await scheduleNotes(calendarsOf(host), file, now));
  }
  const checked = files.map((file, index) => ({
    ...file,
    issues: [...file.issues, ...notes[index]!.issues], // one note for each file
  }));
  return {
    report: { ok: checked.every(({ issues }) => issues.length === 0), files: checked },
    warnings: notes.flatMap(({ warnings }) => warnings),
  };
}

/**
 * Returns warnings from the store about deleted or slow schedules. Opens the store only if the user named it or a
 * settings file: a store found in the working folder may come from somebody else.
 */
async function storeWarnings(
  files: readonly FileReport[],
  { flags, host }: Pick<CheckInput, "flags" | "host">,
): Promise<string[]> {
  const own = flags.store ?? host.env("HSGATE_STORE");
  const isNamed = own !== undefined || (flags.config ?? host.env("HSGATE_CONFIG")) !== undefined;
  const named = own === undefined ? flags : { ...flags, store: own };
  if (!isNamed || flags.store === undefined && !await storeExists(named, host)) return [];
  await using store = await openStore(named, { host, mustExist: true });
  return await storeNotes(store, calendarsOf(host), files.flatMap(({ recipe }) => recipe ?? []));
}

/**
 * Returns warnings about the calendars of recipes: they end soon, are projected, or have overrides that are not needed.
 */
function calendarWarnings(calendars: Calendars, files: readonly FileReport[], now: number): string[] {
  const mics = new Set(files.flatMap(({ recipe }) =>
    recipe === undefined ? [] : [
      ...recipe.schedules.map((schedule) => calendarOf(recipe, schedule)),
      recipe.window?.mic,
    ]
  ));
  return [...mics].flatMap((mic) => mic === undefined ? [] : warningsOf(calendars, mic, now));
}

/** Returns warnings about addresses that a recipe would reach over plain HTTP. */
function plainHttpWarnings({ path, recipe }: FileReport): string[] {
  const powers = recipe === undefined ? [] : powersOf(recipe);
  return powers.flatMap(({ kind, name, by }) => {
    const url = URL.parse(filledAddress(name));
    if (kind !== "host" || url === null || !isOpenToOthers(url)) return [];
    return `${path}: ${by}: http://${url.host} is plain HTTP to another machine: anybody on the network path can read and ` +
      'change what is sent; a run rejects it unless the setting "plainHttp" is "allow"; use https';
  });
}

const calendarsData = async ({ path, standing, file, error }: RefusedCalendars) => ({
  path,
  trust: standing ?? "unknown",
  days: file === undefined ? [] : await calendarLines(file),
  error: error.message,
});

const settingsData = ({ path, standing, powers }: FoundSettings) => ({ path, trust: standing, powers });

/** Details that are shown with a recipe. */
interface ShownWith {
  untrusted: Untrusted | undefined;
  /** The limits of the settings; absent if the settings are invalid or not trusted. */
  limits: Limits | undefined;
}

function dataOf(
  calendars: Calendars,
  { path, recipe, issues, next, clockChanges }: FileReport,
  { untrusted, limits }: ShownWith,
) {
  const plan = recipe && whyPlan(recipe, limits);
  const powers = recipe === undefined ? untrusted?.judgement.wanted ?? [] : powersOf(recipe);
  const isPlain = powers.every(({ needsTrust }) => !needsTrust);
  const known = recipe !== undefined || untrusted !== undefined;
  return {
    path,
    ...recipe !== undefined && { name: recipe.name, class: recipe.class },
    ...plan !== undefined && { plan },
    ...known && { trust: untrusted?.judgement.standing ?? (isPlain ? "plain" : "trusted") },
    ...untrusted?.judgement.changed !== undefined && { changed: untrusted.judgement.changed },
    powers: powers.map(powerData),
    issues: issues.map(({ line, column, path, message }) => ({
      line,
      column,
      path,
      message: withoutCredentials(message),
    })),
    next: recipe === undefined ? [] : next.map((slot) => shownSlot(calendars, recipe, slot)),
    clockChanges: clockChanges.map(({ scheduleId, kind, wall, zone, runsAt }) => ({
      schedule: scheduleId,
      kind,
      wall,
      zone,
      runsAt: runsAt.map(showInstant),
    })),
  };
}

function show(
  { path, recipe, next, clockChanges }: FileReport,
  host: Host,
  { untrusted, limits }: ShownWith,
): void {
  const changed = untrusted?.judgement.changed;
  const waits = untrusted === undefined
    ? undefined
    : untrusted.judgement.standing === "changed"
    ? `${
      changed === undefined ? "" : `${changed} `
    }changed after it was trusted: its new version does not run until you run: hsgate trust ${
      shellHint(path)
    }`
    : `not trusted: it does not run until you run: hsgate trust ${shellHint(path)}`;
  if (recipe === undefined) {
    if (waits === undefined) return;
    host.out(`${paint(host, "bold", plain(path))}  ${paint(host, "yellow", plain(waits))}`);
    host.out(
      "  TypeScript: hsgate does not load it before you trust it; --run loads it in a process without any permission",
    );
    return;
  }
  host.out(`${paint(host, "bold", plain(recipe.name))}  ${paint(host, "dim", plain(path))}`);
  for (const line of powerLines(powersOf(recipe), host)) host.out(line, { exact: true });
  const plan = whyPlan(recipe, limits);
  if (plan !== undefined) {
    host.out(paint(host, "yellow", plain(`  its runs are plans, and send nothing: ${plan}`)));
  }
  for (const { id, code } of recipe.steps) {
    if (code === "unread") {
      host.out(
        paint(
          host,
          "yellow",
          `  step "${id}" was not checked: hsgate does not load it before you trust it; --run loads it`,
        ),
      );
    }
  }
  if (waits !== undefined) host.out(paint(host, "yellow", plain(`  ${waits}`)));
  if (recipe.schedules.length === 0) {
    host.out("  no schedule: it runs only when a person or another recipe starts it");
  } else if (next.length === 0) host.out("  no slot within three years");
  const slots = next.map((each) => shownSlot(calendarsOf(host), recipe, each));
  const precision = precisionOf(slots.map(({ local }) => local));
  for (const slot of slots) {
    const line = `  ${readable(slot.local, precision)} ${slot.zone}  ${slot.schedule}  ${noteOf(slot)}`
      .trimEnd();
    host.out(slot.skipped === undefined ? line : paint(host, "dim", line));
  }
  for (const { scheduleId, kind, wall, zone, runsAt } of clockChanges.slice(0, MOST_CLOCK_CHANGES)) {
    const what = kind === "gap"
      ? "does not exist because of a clock change"
      : "occurs twice because of a clock change";
    const times = runsAt.map((at) => localTime(at, zone)).join(" and ");
    const then = runsAt.length === 0 ? "it does not run" : `it runs at ${times}`;
    host.out(paint(host, "yellow", `  ${wall.replace("T", " ")} ${zone}  ${scheduleId}  ${what}: ${then}`));
  }
  const more = clockChanges.length - MOST_CLOCK_CHANGES;
  if (more > 0) {
    host.out(paint(host, "yellow", `  and ${more} more slots at clock changes; --json lists them`));
  }
}

/**
 * Maximum number of slots at clock changes to list for a recipe. A schedule may have such a slot each minute.
 */
const MOST_CLOCK_CHANGES = 20;
