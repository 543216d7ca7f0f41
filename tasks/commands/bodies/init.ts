/**
 * What `hsgate init` does.
 *
 * @module
 */
import { TrustError } from "../../../lib/runner/trust.ts";
import { wrap } from "../help.ts";
import type { Host } from "../host.ts";
import type { InitInput } from "../init.ts";
import { paint } from "../print.ts";
import { type Answers, collect } from "./init/answers.ts";
import { filesFor } from "./init/files.ts";
import { type NextStep, nextSteps } from "./init/next_steps.ts";
import { listed, wayInWords } from "./init/readme.ts";
import { toolkit } from "./init/toolkit.ts";
import { trustWritten } from "./trust.ts";
import { type PlannedFile, writeAll } from "./init/work_folder.ts";

/** Asks, then writes everything at once. */
export async function run(input: InitInput): Promise<number> {
  const { flags, host } = input;
  const answers = await collect(input);
  const steps = nextSteps(answers, host);
  const files = await filesFor(answers, steps);
  host.signal.throwIfAborted();
  await writeAll(answers.folder, files);
  await trustOwn(answers, host);
  if (answers.folder.url.href.startsWith(toolkit.href)) {
    host.note(
      "hsgate: warning: the folder lies inside the toolkit's own, where git and its checks see it too",
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

/** Trusts the recipes that were written just now. Nobody else can have changed them yet. */
async function trustOwn({ folder }: Answers, host: Host): Promise<void> {
  const { pathname } = new URL("recipes", `${folder.url.href.replace(/\/*$/, "")}/`);
  try {
    await trustWritten([decodeURIComponent(pathname)], host);
  } catch (error) {
    if (!(error instanceof TrustError)) throw error;
    host.note(`hsgate: warning: the recipes were not trusted: ${error.message}`);
  }
}

function show(
  { way, markets, calendar, folder }: Answers,
  { files, steps, host }: { files: readonly PlannedFile[]; steps: readonly NextStep[]; host: Host },
): void {
  const where = folder.path === "." ? "this folder" : `"${folder.path}"`;
  const what = `${wayInWords(way)}, ${listed(markets)}, hours of ${calendar}`;
  host.out(`Wrote ${files.length} files into ${where}, for ${what}:`);
  const names = files.map(({ path }) => path).join(" ");
  for (const line of wrap(names, 78)) host.out(paint(host, "dim", `  ${line}`));
  host.out(`\n${paint(host, "bold", "Next")}`);
  const width = Math.max(...steps.map(({ command }) => command.length));
  for (const { command, text } of steps) {
    host.out(`  ${command.padEnd(width)}  ${paint(host, "dim", text)}`.trimEnd());
  }
}
