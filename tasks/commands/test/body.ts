/**
 * Runs `hsgate test`.
 *
 * @module
 */
import {
  differences,
  type RehearsalProgress,
  type RehearsalResult,
  rehearse,
  reportLines,
  summaryLine,
} from "../../../lib/rehearsal/mod.ts";
import { ScriptError } from "../../../lib/simulator/script.ts";
import { replaceFile } from "../../../lib/private_files.ts";
import { readRegularTextSync } from "../../../lib/regular_files.ts";
import { RecipeError } from "../../../lib/recipes/mod.ts";
import { MOST_ISSUES } from "../../../lib/recipes/recipe_error.ts";
import { calendarsOf, dayOf } from "../../terminal/arguments.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { paint, plain } from "../../terminal/print.ts";
import type { TestInput } from "../test.ts";
import { refuseLinkedOut } from "../shared/linked_out.ts";
import { loadRecipes } from "../shared/recipe_files.ts";

type TestFlags = TestInput["flags"];

/** Rehearses recipes, and compares the report with the golden file. */
export async function run({ args, flags, host }: TestInput): Promise<number> {
  const { from, to } = daysOf(flags);
  const seed = seedOf(flags.seed ?? "1");
  const golden = goldenOf(flags);
  // The golden file or the store may be a link, and the command would then write outside the folder.
  if (golden?.update) refuseLinkedOut(golden.path);
  if (flags.store !== undefined) refuseLinkedOut(flags.store);
  if (flags.store !== undefined && await exists(flags.store)) {
    throw new UsageError(`Cannot keep the store in "${flags.store}": the file exists already`);
  }
  const outages = fileOf(flags.outages, "the outages");
  const script = fileOf(flags.script, "the script");
  // The checks of a recipe look at the days after `now`, so `now` is the first day of the rehearsal.
  const now = () => Date.parse(`${from}T00:00:00Z`);
  const { recipes, report, untrusted } = await loadRecipes(args, { host, now });
  if (!report.ok) return 2;
  // A rehearsal sends nothing, has no secrets, and writes only at a simulated broker. So only custom steps need
  // trust.
  const code = [...untrusted.values()].find(({ judgement }) =>
    judgement.wanted.some(({ kind }) => kind === "code")
  );
  if (code !== undefined) throw new UsageError(code.text);
  const result = await rehearsed(host, { json: flags.json ?? false }, (onProgress) =>
    rehearse({
      recipes,
      from,
      to,
      seed,
      calendars: calendarsOf(host),
      onProgress,
      signal: host.signal,
      ...outages !== undefined && { outages },
      ...script !== undefined && { script },
      ...flags.out !== undefined && { out: flags.out },
      ...flags.store !== undefined && { store: flags.store },
    }), outages?.fileName);
  if (result === undefined) return 2;
  const text = `${reportLines(result).join("\n")}\n`;
  if (golden?.update) {
    replaceFile(golden.path, text);
    return show(result, {
      host,
      json: flags.json,
      lines: [summaryLine(result)],
      note: `wrote "${golden.path}"`,
    });
  }
  if (golden === undefined) {
    return show(result, { host, json: flags.json, lines: text.trimEnd().split("\n") });
  }
  const found = differences(golden.text, text);
  if (found.length === 0) {
    const note = `the report matches "${golden.path}"`;
    return show(result, { host, json: flags.json, lines: [summaryLine(result)], note, found });
  }
  const note =
    `the report differs from "${golden.path}" (- removed, + added); if that is right, --update-golden accepts it`;
  const left = found.length - MOST_DIFFERENCES;
  const lines = left > 0
    ? [...found.slice(0, MOST_DIFFERENCES), `and ${left} more lines; --json lists all`]
    : found;
  show(result, { host, json: flags.json, lines, note, found });
  return 7;
}

/** Maximum number of lines that differ from the golden file and are printed. */
const MOST_DIFFERENCES = 200;

interface ShowOptions {
  host: Host;
  json?: boolean;
  lines: readonly string[];
  note?: string;
  /** Lines that differ from the golden file; absent without a golden file. */
  found?: readonly string[];
}

function show(result: RehearsalResult, { host, json, lines, note, found }: ShowOptions): number {
  if (json) {
    host.out(JSON.stringify({ ...result, ...found !== undefined && { golden: { differences: found } } }));
  } else {
    for (const line of lines) {
      const color = line.startsWith("+ ") ? "green" : line.startsWith("- ") ? "red" : undefined;
      host.out(color === undefined || found === undefined ? plain(line) : paint(host, color, plain(line)));
    }
  }
  if (note !== undefined) host.note(`hsgate: ${note}`);
  return 0;
}

/** Rehearses with a progress display; prints mistakes of the outages file in the form of recipe mistakes. */
async function rehearsed(
  host: Host,
  { json }: { json: boolean },
  work: (onProgress: (event: RehearsalProgress) => void) => Promise<RehearsalResult>,
  outagesFile: string | undefined,
): Promise<RehearsalResult | undefined> {
  const { errTerminal } = host;
  try {
    return await work(({ month, runs }) => {
      if (errTerminal !== undefined) errTerminal.draw("\r\x1b[K", `${month}  ${runs} slots so far`);
      else if (!json) host.note(`hsgate: ${month}, ${runs} slots so far`);
    });
  } catch (error) {
    if (error instanceof ScriptError) throw new UsageError(error.message);
    if (!(error instanceof RecipeError) || outagesFile === undefined) throw error;
    for (const { line, column, message } of error.issues.slice(0, MOST_ISSUES)) {
      host.note(`hsgate: ${outagesFile}:${line}:${column}: ${message}`);
    }
    const left = error.issues.length - MOST_ISSUES;
    if (left > 0) host.note(`hsgate: and ${left} more ${left === 1 ? "mistake" : "mistakes"}`);
    return undefined;
  } finally {
    errTerminal?.draw("\r\x1b[K");
  }
}

function daysOf({ from, to }: TestFlags): { from: string; to: string } {
  if (from === undefined || to === undefined) {
    throw new UsageError(
      "Cannot rehearse: give --from and --to, such as --from 2025-01-01 --to 2025-12-31",
    );
  }
  dayOf("from", from);
  dayOf("to", to);
  if (to < from) {
    throw new UsageError(`Cannot rehearse from ${from} to ${to}: the last day is before the first`);
  }
  return { from, to };
}

function seedOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`Cannot use --seed "${text}": write a whole number`);
}

function fileOf(path: string | undefined, what: string): { text: string; fileName: string } | undefined {
  if (path === undefined) return undefined;
  const text = readIfThere(path);
  if (text === undefined) throw new UsageError(`Cannot read ${what}: there is no "${path}"`);
  return { text, fileName: path };
}

function goldenOf(flags: TestFlags): { path: string; text: string; update: boolean } | undefined {
  const { golden: path, "update-golden": update = false } = flags;
  if (path === undefined) {
    if (update) throw new UsageError("Cannot update the golden file: name it with --golden FILE");
    return undefined;
  }
  const text = update ? "" : readIfThere(path);
  if (text !== undefined) return { path, text, update };
  throw new UsageError(`Cannot compare: there is no "${path}"; --update-golden creates it`);
}

function readIfThere(path: string): string | undefined {
  try {
    return readRegularTextSync(path).replaceAll("\r\n", "\n");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
