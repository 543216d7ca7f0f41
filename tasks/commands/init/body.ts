/**
 * Runs `hsgate init`.
 *
 * @module
 */
import { TrustError } from "../../../lib/runner/trust/trust_file.ts";
import { wrap } from "../../terminal/help.ts";
import type { Host } from "../../terminal/host.ts";
import type { InitInput } from "../init.ts";
import { paint } from "../../terminal/print.ts";
import { type Answers, collect } from "./answers.ts";
import { filesFor } from "./files.ts";
import { marketsText, type NextStep, nextSteps, wayInWords } from "./readme.ts";
import { linkedOutside } from "../../../lib/confined_paths.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { toolkit } from "./toolkit.ts";
import { trustWritten } from "../trust/body.ts";
import { type PlannedFile, writeAll } from "./work_folder.ts";

/** Asks the questions, then writes all files. */
export async function run(input: InitInput): Promise<number> {
  const { flags, host } = input;
  const answers = await collect(input);
  const { path } = answers.folder;
  const elsewhere = linkedOutside(path);
  if (elsewhere !== undefined) {
    throw new UsageError(
      `Cannot write into "${path}": a link leads to "${elsewhere}"; if that folder is yours, give its real path`,
    );
  }
  const steps = nextSteps(answers, host);
  const files = await filesFor(answers, steps);
  host.signal.throwIfAborted();
  await writeAll(answers.folder, files);
  await trustOwn(answers, host);
  if (answers.folder.url.href.startsWith(toolkit.href)) {
    host.note(
      "hsgate: warning: the folder is inside hsgate's own folder, where git and hsgate's checks include it",
    );
  }
  const { way, markets, calendar, folder } = answers;
  if (flags.json) {
    const paths = files.map(({ path }) => path);
    const next = steps.map(({ command }) => command);
    host.out(JSON.stringify({ folder: folder.path, connect: way, markets, calendar, files: paths, next }));
  } else show(answers, { files, steps, host });
  return 0;
}

/** Trusts the settings and recipes that this command has just written. */
async function trustOwn({ folder }: Answers, host: Host): Promise<void> {
  const at = (name: string) =>
    decodeURIComponent(new URL(name, `${folder.url.href.replace(/\/*$/, "")}/`).pathname);
  try {
    await trustWritten({ settings: at("hsgate.yaml"), recipes: at("recipes") }, host);
  } catch (error) {
    if (!(error instanceof TrustError)) throw error;
    host.note(`hsgate: warning: the settings and recipes were not trusted: ${error.message}`);
  }
}

function show(
  { way, markets, calendar, folder }: Answers,
  { files, steps, host }: { files: readonly PlannedFile[]; steps: readonly NextStep[]; host: Host },
): void {
  const where = folder.path === "." ? "this folder" : `"${folder.path}"`;
  const what = `${wayInWords(way)}, ${marketsText(markets)}, session times of ${calendar}`;
  host.out(`Wrote ${files.length} files into ${where}, for ${what}:`);
  const names = files.map(({ path }) => path).join(" ");
  for (const line of wrap(names, 78)) host.out(paint(host, "dim", `  ${line}`));
  host.out(`\n${paint(host, "bold", "Next")}`);
  const width = Math.max(...steps.map(({ command }) => command.length));
  for (const { command, text } of steps) {
    host.out(`  ${command.padEnd(width)}  ${paint(host, "dim", text)}`.trimEnd());
  }
}
