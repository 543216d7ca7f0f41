/**
 * Runs `hsgate probe`.
 *
 * @module
 */
import { indexedFamilies } from "../../../lib/operations/families.ts";
import { secretsOf } from "../../../lib/client/settings.ts";
import { didYouMean } from "../../../lib/client/nearest.ts";
import { replaceFile } from "../../../lib/private_files.ts";
import { probe } from "../../../lib/probe/probe.ts";
import { type ProbeReport, readReport } from "../../../lib/probe/report.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import type { ProbeInput } from "../probe.ts";
import { runnerMachine } from "../run/deps.ts";
import { needAnswer } from "../shared/ask.ts";
import { clientOf, settingsOf } from "../shared/session.ts";
import { summaryOf } from "./summary.ts";

/** Probes the broker, or replays a report. */
export async function run({ flags, host }: ProbeInput): Promise<number> {
  if (flags.replay !== undefined) {
    const file = await host.readFile(flags.replay);
    if (file === undefined) {
      throw new UsageError(`Cannot read the report: there is no file "${flags.replay}"`);
    }
    const { replay } = await import("./replay.ts");
    return await replay(readReport(file.text, flags.replay), { json: flags.json === true, host });
  }
  const only = familiesOf(flags.only);
  const paceMs = flags.pace === undefined ? undefined : paceOf(flags.pace);
  needAnswer("yes", flags.yes, host);
  const given = await settingsOf(flags, host);
  const { settings } = given;
  // The connection of a probe never writes. It logs in only if the settings allow that.
  const readOnly = settings.readOnly === "yes" ? "yes" : "login";
  const loaded = { ...given, settings: { ...settings, readOnly } as const };
  const { transport } = settings;
  const out = flags.out ?? `hsgate-probe-${transport}-${stampOf(host.now())}.json`;
  await using client = await clientOf(flags, host, { command: "probe", loaded, retry: { attempts: 1 } });
  const progress = progressOf(host, flags.json === true);
  const report = await probe({
    client,
    transport,
    ...only !== undefined && { only },
    ...paceMs !== undefined && { paceMs },
    machine: runnerMachine(host),
    signal: host.signal,
    secrets: (await secretsOf(settings)).map(([, secret]) => secret),
    async ask(family, operations) {
      if (flags.yes) return true;
      progress.end();
      const names = operations.map(({ name }) => name.slice(family.length + 1)).join(", ");
      const what = operations.length === 1 ? "read" : `${operations.length} reads`;
      return /^y(es)?$/i.test(await host.ask(`Call the ${what} of ${family} (${names})? [y/N] `));
    },
    onCall: progress.call,
    // The report is written every few seconds, so that most of it exists if the process is killed.
    onReport: (each) => replaceFile(out, `${JSON.stringify(each, undefined, 1)}\n`),
  });
  progress.end();
  if (flags.json) host.out(JSON.stringify(report));
  else for (const line of summaryOf(report)) host.out(line);
  host.note(`hsgate: the report is in ${out}; it contains no values of your account`);
  return exitCodeOf(report);
}

function exitCodeOf({ calls, stopped, left }: ProbeReport): number {
  if (stopped === "interrupted") return 130;
  if (calls.some(({ outcome }) => outcome === "differs" || outcome === "unreadable")) return 7;
  if (calls.length > 0 && calls.every(({ outcome }) => outcome === "no-answer")) return 4;
  return left.some(({ why }) => why === "the trade login is missing") ? 6 : 0;
}

function familiesOf(given: readonly string[] | undefined): readonly string[] | undefined {
  const families: string[] = indexedFamilies().map(([family]) => family);
  const wrong = given?.find((each) => !families.includes(each));
  if (wrong === undefined) return given;
  throw new UsageError(
    `Cannot probe "${wrong}": the families are ${families.join(", ")}${didYouMean(wrong, families)}`,
  );
}

function paceOf(text: string): number {
  const seconds = /^\d{1,3}(\.\d{1,3})?$/.test(text) ? Number(text) : NaN;
  if (seconds <= 60) return Math.round(seconds * 1000);
  throw new UsageError(`Cannot read --pace "${text}": write seconds from 0 to 60, such as 0.5`);
}

/** Returns a time for the name of a file: `20251124T013000Z`. */
const stampOf = (now: number) => new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, "") + "Z";

/** Returns a progress display: one line that is redrawn on a terminal, elsewhere a line for each family. */
function progressOf({ note, errTerminal }: Pick<Host, "note" | "errTerminal">, json: boolean) {
  let isDrawn = false;
  let family = "";
  return {
    call({ operation, market, done, planned }: {
      operation: string;
      market: string | undefined;
      done: number;
      planned: number;
    }) {
      const text = `hsgate: call ${done + 1} of at least ${planned}: ${operation} ${market ?? ""}`.trimEnd();
      if (errTerminal !== undefined) {
        errTerminal.draw("\r\x1b[2K", text.slice(0, Math.max(20, errTerminal.columns() - 1)));
        isDrawn = true;
      } else if (!json && family !== operation.split(".")[0]) {
        [family = ""] = operation.split(".");
        note(`hsgate: calling the reads of ${family}`);
      }
    },
    end() {
      if (isDrawn) errTerminal?.draw("\r\x1b[2K");
      isDrawn = false;
    },
  };
}
