/**
 * Runs `hsgate notices`.
 *
 * @module
 */
import type { Store } from "../../../lib/store/store.ts";
import type { NoticeEvent } from "../../../lib/runner/notify/notify.ts";
import {
  dismissNotices,
  type NoticeRow,
  noticesOf,
  retryNotices,
  unsentNotices,
} from "../../../lib/runner/notify/outbox.ts";
import { showInstant } from "../../../lib/calendars/mod.ts";
import { Runner } from "../../../lib/runner/runner.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { NoticesInput } from "../notices.ts";
import { checkListColumns, listView, printList, refuseListFlags } from "../../terminal/list_output.ts";
import { type Column, plain } from "../../terminal/print.ts";
import { actorOf, runOf } from "../shared/decide.ts";
import { openStore, storeTime } from "../shared/store_file.ts";
import { failedLine, noticeColors, noticeRowData } from "../shared/notice_lines.ts";
import { refuseUntrusted } from "../shared/recipe_files.ts";
import { findRecipe, notFound } from "../shared/remembered_recipe.ts";
import { Connections } from "../run/connections.ts";
import { noticeText } from "../run/log.ts";
import { commandDeps, redactorOf } from "../run/deps.ts";

/** Lists unsent notices, sends them again, or removes them from the list. */
export async function run(input: NoticesInput): Promise<number> {
  const { args: [given], flags, host } = input;
  const view = listView(flags);
  checkListColumns(view, columnsOf);
  await using store = await openStore(flags, { host, mustExist: true });
  const runKey = given === undefined ? undefined : (await runOf(store, given, "list the notices of")).run_key;
  if (flags.send && flags.dismiss) {
    throw new UsageError(
      "Cannot use --send with --dismiss: notices are either sent or removed from the list",
    );
  }
  if (flags.send || flags.dismiss) refuseListFlags(flags, flags.send ? "with --send" : "with --dismiss");
  if (flags.send) return await sendAgain(store, runKey, input);
  const rows = await chosenNotices(store, runKey, flags.failed ?? false);
  if (flags.dismiss) {
    await dismissNotices(store, rows.map(({ key }) => key), {
      actor: actorOf(flags, host),
      now: storeTime(store, host),
    });
    if (flags.json) host.out(JSON.stringify({ dismissed: rows.map(noticeRowData) }));
    else {host.out(
        `${rows.length} ${rows.length === 1 ? "notice was" : "notices were"} removed from the list`,
      );}
    return 0;
  }
  printList(host, view, {
    columns: columnsOf,
    rows,
    data: noticeRowData,
    empty: "there are no unsent notices",
  });
  return 0;
}

async function chosenNotices(
  store: Store,
  runKey: string | undefined,
  failedOnly: boolean,
): Promise<NoticeRow[]> {
  if (runKey === undefined) return await unsentNotices(store, { failedOnly });
  return (await noticesOf(store, runKey)).filter(({ state, tries }) =>
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

/** Tries the chosen unsent notices again, and prints the result of each. */
async function sendAgain(
  store: Store,
  runKey: string | undefined,
  { flags, host }: NoticesInput,
): Promise<number> {
  const rows = await chosenNotices(store, runKey, flags.failed ?? false);
  const recipes = new Map<string, CompiledRecipe>();
  const missing = new Set<string>();
  for (const name of new Set(rows.flatMap(({ recipe }) => recipe ?? []))) {
    const found = await findRecipe(name, store, { folder: flags.recipes, host, now: host.now });
    if (found !== undefined) await refuseUntrusted(found, host);
    if (found !== undefined) recipes.set(name, found);
    else missing.add(name);
  }
  for (const name of missing) {
    host.note(
      `hsgate: warning: cannot send the notices of "${name}": ${await notFound(name, store, flags.recipes)}`,
    );
  }
  await using connections = await Connections.open(flags, host);
  const events: NoticeEvent[] = [];
  const runner = new Runner({
    ...commandDeps({ connections, host, recipes: recipes.values(), redactor: await redactorOf(connections) }),
    store,
    recipes: () => recipes,
    onEvent: () => {},
    onNotice(event) {
      events.push(event);
      if (flags.json) return;
      const line = failedLine(event);
      if (line !== undefined) host.note(line);
      else host.out(plain(`${event.runKey}: ${noticeText(event)}`));
    },
  });
  await retryNotices(store, rows.map(({ key }) => key), storeTime(store, host));
  await runner.deliverNotices();
  if (flags.json) host.out(JSON.stringify(events));
  else if (rows.length === 0) host.out("there are no unsent notices");
  const sent = new Set(events.filter(({ state }) => state === "sent").map(noticeOf));
  const isLeft = missing.size > 0 || events.some((event) => !sent.has(noticeOf(event)));
  return isLeft ? 1 : 0;
}

/** Identifies a notice. It counts as sent if any of its channels sent it. */
const noticeOf = ({ runKey, notice }: NoticeEvent) => `${runKey} ${notice}`;
