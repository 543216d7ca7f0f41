/**
 * What `hsgate check` does.
 *
 * @module
 */
import { clockChangeSlots } from "../../../lib/runner/clock_changes.ts";
import { ledgerNotes } from "../../../lib/runner/ledger_notes.ts";
import { calendarOf } from "../../../lib/runner/plan_run.ts";
import { nextSlots, showInstant } from "../../../lib/runner/slots.ts";
import { Trust } from "../../../lib/runner/trust.ts";
import { checkRecipes, type CheckReport, type FileReport, powersOf } from "../../../lib/steps/mod.ts";
import type { CheckInput } from "../check.ts";
import type { Host } from "../host.ts";
import { paint, plain } from "../print.ts";
import { warningsOf } from "./calendar_lines.ts";
import { ledgerExists, openLedger } from "./ledger_file.ts";
import { clockOf } from "./lists.ts";
import { issueLines, recipeFiles, type Untrusted, untrustedIn } from "./recipe_files.ts";
import { reachNotes } from "./reach_notes.ts";
import { powerData, powerLines } from "./trust.ts";
import { localTime, noteOf, precisionOf, readable, shownSlot } from "./slot_lines.ts";

/** Checks recipes and lists what they will do; ends with 2 when one is wrong. */
export async function run({ args, flags, host }: CheckInput): Promise<number> {
  const now = clockOf(flags.now, host);
  const trust = Trust.of(host.env);
  await trust.records(); // a record that is not to be believed is no mistake of a recipe
  const mayRunCode = (file: string) => flags.run === true || trust.isUnchanged(file);
  const compiled = await checkRecipes(await recipeFiles(args), {
    now,
    nextSlots,
    clockChangeSlots,
    mayRunCode,
  });
  const standings = new Map<FileReport["path"], Untrusted | undefined>();
  for (const file of compiled.files) standings.set(file.path, await untrustedIn(trust, file));
  const { report, warnings: unreached } = await withReach(compiled, now());
  const warnings = [
    ...unreached,
    ...calendarWarnings(report.files, now()),
    ...await ledgerWarnings(report.files, { flags, host }),
  ];
  if (flags.json) {
    const files = report.files.map((file) => dataOf(file, standings.get(file.path)));
    host.out(JSON.stringify({ ok: report.ok, warnings, files }));
    return report.ok ? 0 : 2;
  }
  for (const file of report.files) if (file.issues.length === 0) show(file, host, standings.get(file.path));
  // Mistakes stand last, where the eye is.
  for (const line of issueLines(report)) host.out(paint(host, "red", plain(line)));
  for (const warning of warnings) host.note(`hsgate: warning: ${plain(warning)}`);
  const wrong = report.files.filter(({ issues }) => issues.length > 0).length;
  const count = report.files.length;
  host.note(
    wrong === 0
      ? `hsgate: ${count === 1 ? "the recipe is" : `all ${count} recipes are`} fine`
      : `hsgate: ${wrong} of ${count} recipes ${wrong === 1 ? "is" : "are"} wrong`,
  );
  return report.ok ? 0 : 2;
}

/** Adds what the windows of recipes make of their schedules. */
async function withReach(
  { files }: CheckReport,
  now: number,
): Promise<{ report: CheckReport; warnings: string[] }> {
  const notes = await Promise.all(files.map((file) => reachNotes(file, now)));
  const checked = files.map((file, index) => ({
    ...file,
    issues: [...file.issues, ...notes[index]!.issues], // one for each file
  }));
  return {
    report: { ok: checked.every(({ issues }) => issues.length === 0), files: checked },
    warnings: notes.flatMap(({ warnings }) => warnings),
  };
}

/**
 * What the ledger knows of schedules that are gone or too slow. Only one that a person has named is opened: the folder,
 * with its settings and its ledger, may be a stranger's.
 */
async function ledgerWarnings(
  files: readonly FileReport[],
  { flags, host }: Pick<CheckInput, "flags" | "host">,
): Promise<string[]> {
  const named = [flags.ledger, flags.config, host.env("HSGATE_LEDGER"), host.env("HSGATE_CONFIG")];
  if (!named.some(Boolean) || flags.ledger === undefined && !await ledgerExists(flags, host)) return [];
  using ledger = await openLedger(flags, { host, mustExist: true });
  return ledgerNotes(ledger, files.flatMap(({ recipe }) => recipe ?? []));
}

/** What recipes go by and is not certain: calendars that end soon, days that are projected, set by hand for nothing. */
function calendarWarnings(files: readonly FileReport[], now: number): string[] {
  const mics = new Set(files.flatMap(({ recipe }) =>
    recipe === undefined ? [] : [
      ...recipe.schedules.map((schedule) => calendarOf(recipe, schedule)),
      recipe.window?.mic,
    ]
  ));
  return [...mics].flatMap((mic) => mic === undefined ? [] : warningsOf(mic, now));
}

function dataOf({ path, recipe, issues, next, clockChanges }: FileReport, untrusted: Untrusted | undefined) {
  const powers = recipe === undefined ? untrusted?.judgement.wanted ?? [] : powersOf(recipe);
  const isPlain = powers.every(({ needsTrust }) => !needsTrust);
  const known = recipe !== undefined || untrusted !== undefined;
  return {
    path,
    ...recipe !== undefined && { name: recipe.name, class: recipe.class },
    ...known && { trust: untrusted?.judgement.standing ?? (isPlain ? "plain" : "trusted") },
    powers: powerData(powers),
    issues: issues.map(({ line, column, path, message }) => ({ line, column, path, message })),
    next: recipe === undefined ? [] : next.map((slot) => shownSlot(recipe, slot)),
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
  untrusted: Untrusted | undefined,
): void {
  const waits = untrusted === undefined
    ? undefined
    : untrusted.judgement.standing === "changed"
    ? `changed after it was trusted: it does not run as it is until "hsgate trust ${path}"`
    : `not trusted: it does not run until "hsgate trust ${path}"`;
  if (recipe === undefined) {
    if (waits === undefined) return;
    host.out(`${paint(host, "bold", plain(path))}  ${paint(host, "yellow", plain(waits))}`);
    host.out(
      "  TypeScript, which is not run until it is trusted; --run loads it in a process that may reach nothing",
    );
    return;
  }
  host.out(`${paint(host, "bold", recipe.name)}  ${paint(host, "dim", path)}`);
  for (const line of powerLines(powersOf(recipe), host)) host.out(line);
  for (const { id, code } of recipe.steps) {
    if (code === "unread") {
      host.out(
        paint(
          host,
          "yellow",
          `  step "${id}" is not run until it is trusted, so it was not checked; --run loads it`,
        ),
      );
    }
  }
  if (waits !== undefined) host.out(paint(host, "yellow", plain(`  ${waits}`)));
  if (recipe.schedules.length === 0) host.out("  no schedule: it runs when it is asked to");
  else if (next.length === 0) host.out("  no slot within three years");
  const slots = next.map((each) => shownSlot(recipe, each));
  const precision = precisionOf(slots.map(({ local }) => local));
  for (const slot of slots) {
    const line = `  ${readable(slot.local, precision)} ${slot.zone}  ${slot.schedule}  ${noteOf(slot)}`
      .trimEnd();
    host.out(slot.skipped === undefined ? line : paint(host, "dim", line));
  }
  for (const { scheduleId, kind, wall, zone, runsAt } of clockChanges) {
    const what = kind === "gap" ? "is left out by the clocks" : "comes twice by the clocks";
    const times = runsAt.map((at) => localTime(at, zone)).join(" and ");
    const then = runsAt.length === 0 ? "it does not run" : `it runs at ${times}`;
    host.out(paint(host, "yellow", `  ${wall.replace("T", " ")} ${zone}  ${scheduleId}  ${what}: ${then}`));
  }
}
