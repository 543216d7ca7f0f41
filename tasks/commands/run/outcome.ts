/**
 * Explains why a run did not start or how it ended, and returns the exit code.
 *
 * @module
 */
import { runningOf, unresolvedOn } from "../../../lib/runner/queries/claims.ts";
import { accountHolder, type Refusal } from "../../../lib/runner/claims/claims.ts";
import type { Store } from "../../../lib/store/store.ts";
import type { ScriptResult } from "../../../lib/runner/run/script.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import type { RunInput } from "../run.ts";
import type { Connections } from "./connections.ts";
import { shellHint } from "../../../lib/shell_words.ts";

/** A run that cannot begin yet, and the reason. */
interface Waiting {
  store: Store;
  recipe: CompiledRecipe;
  runKey: string;
  untilAt: number;
  reason: Refusal;
}

/** Returns a line that says what the command waits for, and how long at most. */
export async function waitText(
  { store, recipe, runKey, untilAt, reason }: Waiting,
  connections: Connections,
  now: number,
): Promise<string> {
  const left = `up to ${Math.max(1, Math.round((untilAt - now) / 1000))} s`;
  if (reason === "not-due") return `waiting ${left} until "${runKey}" is due`;
  return `waiting ${left} for ${await blockerText({ store, recipe, reason }, connections, now)}`;
}

/** Returns a description of what blocks the run. */
async function blockerText(
  { store, recipe, reason }: Pick<Waiting, "store" | "recipe" | "reason">,
  connections: Connections,
  now: number,
): Promise<string> {
  if (reason === "account") {
    const holder = await accountHolder(store, connections.accountOf(recipe), now);
    return holder === undefined ? "the trade login" : `run "${holder}", which uses the trade login`;
  }
  if (reason === "reserved") {
    return "the process that started this run, because only that process may run it";
  }
  if (reason === "not-due") return "the time at which it is due";
  if (reason !== "overlap") return reason;
  const other = await runningOf(store, recipe.name);
  return other === undefined ? "another run of the same recipe" : `run "${other}" of the same recipe`;
}

/** Returns lines that say why this call ran nothing, and what to do next. */
export async function notRunLines(
  { runKey, meanwhile = false, outcome: { state, reason } }: ScriptResult,
  { store, recipe, connections, input: { args: [name = ""], host }, now }: {
    store: Store;
    recipe: CompiledRecipe;
    connections: Connections;
    input: RunInput;
    now: number;
  },
): Promise<string[]> {
  const show = `"hsgate runs show ${shellHint(runKey)}" shows details`;
  const because = reason === undefined ? "" : ` (${reason})`;
  const within = recipe.class === "write" ? ", within its window" : "";
  const manual = `"hsgate run ${shellHint(name)} --manual" runs the recipe anyway${within}`;
  if (state === "refused") {
    if (host.signal.aborted) return [`${runKey} was not run: the wait was cancelled`];
    const why = reason !== undefined && reason in forPerson
      ? `: ${forPerson[reason as keyof typeof forPerson]}`
      : `: it waited for ${await blockerText(
        { store, recipe, reason: reason as Refusal },
        connections,
        now,
      )}`;
    return [
      `${runKey} was not run${why}`,
      `  -> ${await refusedAdvice(reason as Refusal, { store, recipe, connections, show })}`,
    ];
  }
  if (state === "running") return [`another process is running ${runKey}`, `  -> ${show}`];
  if (state === "waiting_recovery" || state === "unknown") {
    return [
      `another process started ${runKey}, and the outcome of its write is unknown`,
      `  -> ${show}, and how to resolve it; until then no recipe may write on the account`,
    ];
  }
  if (state === "skipped" && reason === "plan") {
    return [
      `${runKey} has already run, as a plan that sent nothing; a slot runs only once`,
      `  -> ${show}; ${manual}`,
    ];
  }
  if (state === "ok" || state === "failed") {
    const ended = reason === "resolved"
      ? `was already started, and a person resolved it as ${state}`
      : meanwhile
      ? `ended as ${state} in the meantime${because}`
      : `has already run and ended as ${state}${because}`;
    // A failed run may have sent some of its orders.
    const again = state === "failed" && recipe.class === "write"
      ? `check the account's orders before you write again: ${manual}`
      : manual;
    return [`${runKey} ${ended}; a slot runs only once`, `  -> ${show}; ${again}`];
  }
  const next = state === "waiting_approval"
    ? `"hsgate approve ${shellHint(runKey)}" approves it`
    : reason === "paused"
    ? `"hsgate resume ${shellHint(recipe.name)}" resumes its slots; ${manual}`
    : manual;
  return [
    `${runKey} was not run now: ${state}${because}`,
    `  -> ${show}; ${next}`,
  ];
}

/** Returns advice for a run that did not start. */
async function refusedAdvice(
  reason: Refusal,
  { store, recipe, connections, show }: {
    store: Store;
    recipe: CompiledRecipe;
    connections: Connections;
    show: string;
  },
): Promise<string> {
  if (reason === "recovery") {
    const by = await unresolvedOn(store, connections.accountOf(recipe));
    if (by !== undefined) {
      return `"hsgate runs show ${shellHint(by)}" lists what to check; then run "hsgate resolve ${
        shellHint(by)
      } ok|failed ` +
        '--because TEXT"';
    }
  }
  // For the reasons in `forPerson`, the command does not wait, so a longer `--wait` does not help.
  return reason in forPerson ? show : `${show}; --wait SECONDS waits longer`;
}

const forPerson = {
  recovery:
    "the outcome of an earlier run's write is unknown; no recipe may write on the account until it is known",
  unsafe: "writing to the account is not safe now: the store may be lost, or a clock is wrong",
  displaced: "another device took over the trade login",
  password:
    "the broker rejected the password; hsgate does not log in until you change it or resume the recipe",
  login: "the broker rejected the login a short time ago; hsgate does not try again yet",
} as const;

/**
 * Returns the exit code of a run. With `ifNew`, returns 0 for a slot that was already started, unless its outcome is
 * unknown.
 */
export function codeOf({ ran, outcome: { state, reason } }: ScriptResult, ifNew: boolean): number {
  // `--if-new` never turns an unknown outcome into 0.
  if (state === "unknown" || state === "waiting_recovery") return 5;
  if (state === "lost" && reason === "write") return 5;
  if (state === "refused") return 4;
  if (!ran && ifNew) return 0;
  if (state === "running") return 4;
  if (state === "due") return 130; // Ctrl-C stopped it, and it is due again
  return state === "failed" || state === "cancelled" || state === "lost" ? 1 : 0;
}
