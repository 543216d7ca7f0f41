/**
 * What `hsgate notices` does.
 *
 * @module
 */
import type { Ledger } from "../../../lib/runner/ledger.ts";
import { noticeChannel } from "../../../lib/runner/notice_step.ts";
import { deliverNotices, type NoticeEvent } from "../../../lib/runner/notify.ts";
import {
  dismissNotices,
  type NoticeRow,
  noticesOf,
  retryNotices,
  unsentNotices,
} from "../../../lib/runner/outbox.ts";
import { showInstant } from "../../../lib/runner/slots.ts";
import type { Surroundings } from "../../../lib/runner/run.ts";
import type { CompiledRecipe } from "../../../lib/steps/mod.ts";
import { UsageError } from "../exit_codes.ts";
import type { NoticesInput } from "../notices.ts";
import { type Column, columnsAsked, plain, tableLines } from "../print.ts";
import { actorOf, runOf } from "./decide.ts";
import { openLedger } from "./ledger_file.ts";
import { failedLine, noticeColors, noticeRowData } from "./notice_lines.ts";
import { learnSettings, redactorFor } from "./observers.ts";
import { refuseUntrusted } from "./recipe_files.ts";
import { findRecipe, notFound } from "./remembered_recipe.ts";
import { Connections } from "./run_connections.ts";
import { noticeText } from "./run_log.ts";
import { runnerHost, secretReader } from "./run_surroundings.ts";

/** Lists notices, or sends them again. */
export async function run(input: NoticesInput): Promise<number> {
  const { args: [given], flags, host } = input;
  const columns = columnsAsked(flags);
  using ledger = await openLedger(flags, { host, mustExist: true });
  const runKey = given === undefined ? undefined : runOf(ledger, given, "list the notices of").run_key;
  if (flags.send && flags.dismiss) {
    throw new UsageError("Cannot use --send with --dismiss: notices are sent or taken off the list");
  }
  if (flags.send) return await sendAgain(ledger, runKey, input);
  const rows = wanted(ledger, runKey, flags.failed ?? false);
  if (flags.dismiss) {
    dismissNotices(ledger, rows.map(({ key }) => key), { actor: actorOf(flags, host), now: host.now() });
    if (flags.json) host.out(JSON.stringify({ dismissed: rows.map(noticeRowData) }));
    else host.out(`${rows.length} ${rows.length === 1 ? "notice was" : "notices were"} taken off the list`);
    return 0;
  }
  if (flags.json) host.out(JSON.stringify(rows.map(noticeRowData)));
  else if (rows.length === 0) host.out("there are no notices that were not sent");
  else for (const line of tableLines(host, columnsOf, rows, { columns })) host.out(line);
  return 0;
}

function wanted(ledger: Ledger, runKey: string | undefined, failedOnly: boolean): NoticeRow[] {
  if (runKey === undefined) return unsentNotices(ledger, { failedOnly });
  return noticesOf(ledger, runKey).filter(({ state, tries }) =>
    state !== "sent" && (!failedOnly || tries > 0)
  );
}

const columnsOf: Column<NoticeRow>[] = [
  { title: "run", id: true, of: ({ runKey, key }) => runKey ?? key },
  { title: "notice", of: ({ notice }) => String(notice ?? ""), align: "right" },
  { title: "channel", keep: true, of: ({ channel }) => channel },
  { title: "state", keep: true, of: ({ state }) => state, color: ({ state }) => noticeColors[state] },
  { title: "tries", of: ({ tries }) => String(tries), align: "right" },
  { title: "next try (UTC)", name: "next", of: ({ nextTryAt }) => instant(nextTryAt) },
  { title: "reason", of: ({ error }) => error ?? "" },
  { title: "recipe", extra: true, of: ({ recipe }) => recipe ?? "" },
  { title: "since (UTC)", name: "since", extra: true, of: ({ createdAt }) => instant(createdAt) },
];

const instant = (at: number | undefined) => at === undefined ? "" : showInstant(at);

/** Tries every notice that was not sent, and says how each went. */
async function sendAgain(
  ledger: Ledger,
  runKey: string | undefined,
  { flags, host }: NoticesInput,
): Promise<number> {
  const rows = wanted(ledger, runKey, flags.failed ?? false);
  const recipes = new Map<string, CompiledRecipe>();
  const missing = new Set<string>();
  for (const name of new Set(rows.flatMap(({ recipe }) => recipe ?? []))) {
    const found = await findRecipe(name, ledger, { folder: flags.recipes, host, now: host.now });
    if (found !== undefined) await refuseUntrusted(found, host);
    if (found !== undefined) recipes.set(name, found);
    else missing.add(name);
  }
  for (const name of missing) {
    host.note(
      `hsgate: warning: cannot send the notices of "${name}": ${notFound(name, ledger, flags.recipes)}`,
    );
  }
  await using connections = await Connections.open(flags, host);
  const redactor = redactorFor(host);
  learnSettings(redactor, connections.settings);
  const machine = runnerHost(host);
  const around: Surroundings = {
    ledger,
    host: machine,
    out: "",
    redactor,
    client: connections.of,
    secret: secretReader([...recipes.values()], host),
    onEvent: () => {},
  };
  const events: NoticeEvent[] = [];
  retryNotices(ledger, rows.map(({ key }) => key), host.now());
  await deliverNotices(ledger, (notice) => noticeChannel(recipes, around, notice), machine, {
    redact: (text) => redactor.text(text),
    onNotice(event) {
      events.push(event);
      if (flags.json) return;
      const line = failedLine(event);
      if (line !== undefined) host.note(line);
      else host.out(plain(`${event.runKey}: ${noticeText(event)}`));
    },
  });
  if (flags.json) host.out(JSON.stringify(events));
  else if (rows.length === 0) host.out("there are no notices that were not sent");
  const sent = new Set(events.filter(({ state }) => state === "sent").map(noticeOf));
  const isLeft = missing.size > 0 || events.some((event) => !sent.has(noticeOf(event)));
  return isLeft ? 1 : 0;
}

/** A notice reached somebody when any of its channels was sent. */
const noticeOf = ({ runKey, notice }: NoticeEvent) => `${runKey} ${notice}`;
