/**
 * Describes what blocks a run, what a person must check after an interrupted write, and what to do if the process of a
 * run has stopped renewing its lease.
 *
 * @module
 */
import { type EventData, eventDataOf, WRITE_SENT } from "../queries/events.ts";
import { commandsOf, laterLists, whereToLook } from "../../operations/proof.ts";
import { intentsOfRun } from "../../desk/queries.ts";
import { unresolvedStates } from "../../desk/states.ts";
import { isEnded, isStarterOnly, isUnresolved, type RunRow } from "../queries/runs.ts";
import { type Block } from "../queries/claims.ts";
import { hasBegunWrite, unresolvedSteps } from "../queries/steps.ts";
import { showInstant } from "../../calendars/mod.ts";
import type { Store } from "../../store/store.ts";
import { shellHint } from "../../shell_words.ts";

/** Returns the name of a run's recipe, quoted for a command. */
const recipeIn = (runKey = "") => shellHint(runKey.split("/")[0]!); // `split` returns at least one part

/** Returns a text about what blocks a run, and what to do about it. */
export function describeBlock({ because, by }: Block): string {
  switch (because) {
    case "recovery":
      return `the outcome of the writes of "${by}" is unknown: check the account's orders, then run ` +
        `"hsgate resolve ${shellHint(by ?? "")} ok|failed"`;
    case "account":
      return by === undefined ? "another run uses the account" : `"${by}" uses the account`;
    case "unsafe":
      return `writing to the account is not safe: ${by}`;
    case "password":
      return `the broker refused the password (found by run "${by}"); hsgate tries no login until you change the ` +
        `password, or run: hsgate resume ${recipeIn(by)}`;
    case "login":
      return `the broker refused the login for now (found by run "${by}"); hsgate tries it again within an hour; to ` +
        `try it at once: hsgate resume ${recipeIn(by)}`;
    case "displaced":
      return `another device took over the login (found by run "${by}"); once you may take it back, run: hsgate resume ${
        recipeIn(by)
      }`;
  }
}

/**
 * Returns the last block of a run, or the last one for a reason; `undefined` if there was none.
 *
 * @param because The reason. @default any
 */
export async function lastBlock(
  store: Store,
  runKey: string,
  because?: Block["because"],
): Promise<Block | undefined> {
  const blocks = await eventDataOf(store, runKey, "held");
  return blocks.findLast((block) => because === undefined || block.because === because);
}

/**
 * Returns a line for each intent of a run whose outcome is unknown. A decision about a run does not resolve its
 * intents: each of them blocks the same request until its own outcome is known.
 */
export async function unresolvedIntentAdvice(store: Store, runKey: string): Promise<string[]> {
  const intents = (await intentsOfRun(store, runKey)).filter(({ state }) => unresolvedStates.includes(state));
  return intents.map(({ id, operation }) => {
    const resolve = `hsgate orders resolve ${shellHint(id)}`;
    return `the outcome of intent ${id} (${operation}) is unknown, and hsgate refuses the same request until it is ` +
      `resolved: to see what is missing for a proof, run: hsgate orders show ${
        shellHint(id)
      }; then record what you ` +
      `found: ${resolve} sent --order ORDER, or: ${resolve} not-sent --because "what you checked"`;
  });
}

/**
 * Returns lines that say what to check and what to do about a run with an unresolved write. For a run that has ended,
 * returns only lines about its unresolved intents. For any other run, returns no lines.
 */
export async function unresolvedWriteAdvice(store: Store, row: RunRow): Promise<string[]> {
  const ofIntents = isUnresolved(row) || isEnded(row) ? await unresolvedIntentAdvice(store, row.run_key) : [];
  if (!isUnresolved(row)) return ofIntents;
  const steps = await unresolvedSteps(store, row.run_key);
  const named = steps.map(({ step_id, started_at }) => `"${step_id}", begun at ${showInstant(started_at)}`);
  const what = named.length === 0
    ? "the writes before the run was interrupted"
    : `step ${named.join(" and ")}`;
  const since = steps[0]?.started_at ?? row.started_at ?? row.slot_at;
  const isOpenStep = ({ step }: EventData<typeof WRITE_SENT>) =>
    steps.length === 0 || steps.some(({ step_id }) => step_id === step);
  const sent = (await eventDataOf(store, row.run_key, WRITE_SENT)).filter(isOpenStep);
  const operations = [...new Set(sent.map(({ operation }) => operation))];
  const lists = [...new Set(sent.flatMap((each) => each.lists))];
  return [
    `unresolved: ${what}${operations.length === 0 ? "" : `, which sent ${operations.join(", ")}`}`,
    `check the account for changes since ${showInstant(since)}: ${
      placesFor(sent.length === 0 ? undefined : lists)
    }, and in the broker's app`,
    ...ofIntents,
    `then record the outcome${ofIntents.length === 0 ? "" : " of the run"}: hsgate resolve ${
      shellHint(row.run_key)
    } ok|failed --because "what you checked"`,
    "until then no other recipe may write on this account",
  ];
}

/** Returns which lists to check. If `lists` is `undefined`, names every list that shows writes. */
function placesFor(lists: readonly string[] | undefined): string {
  if (lists === undefined) return whereToLook({}).replace(/^look /, "");
  const later = laterLists(lists);
  const calls = commandsOf(lists).join(", ");
  return lists.length === 0
    ? "no list of the broker shows this write"
    : `${calls}${later.length === 0 ? "" : ` (on a later day: ${later.join(", ")})`}`;
}

/**
 * Returns when the lease of a running run expired, epoch milliseconds. Its process has not renewed the lease since.
 *
 * @returns `undefined` if the lease is valid or the run is not running.
 */
export function unresponsiveSince({ state, lease_until: until }: RunRow, now: number): number | undefined {
  return state === "running" && until !== null && until < now ? until : undefined;
}

/** Returns lines that say what to do about a run whose process does not renew its lease. */
export async function unresponsiveAdvice(store: Store, row: RunRow): Promise<string[]> {
  const key = row.run_key;
  if (row.class !== "write") {
    return isStarterOnly(row)
      ? [
        `no scheduler takes over a run that was started by hand; to continue it: hsgate rerun ${
          shellHint(key)
        }`,
      ]
      : [`a scheduler takes it over on its next pass; to do it now: hsgate rerun ${shellHint(key)}`];
  }
  if (await hasBegunWrite(store, key)) {
    return [
      "it had begun to write, so it is not run again",
      ...await unresolvedWriteAdvice(store, { ...row, state: "waiting_recovery" }),
    ];
  }
  return [
    isStarterOnly(row)
      ? `it had written nothing, and no process continues it; to start a new run: hsgate run ${
        shellHint(row.recipe)
      } --manual`
      : "it had written nothing; a scheduler takes it over if its window is still open",
  ];
}
