/**
 * Why a run does not begin, how it ended, and what to do next: in words, and as an exit code.
 *
 * @module
 */
import { accountHolder, type Refusal, unsettledOn } from "../../../lib/runner/claims.ts";
import type { Ledger } from "../../../lib/runner/ledger.ts";
import type { ScriptResult } from "../../../lib/runner/script.ts";
import type { CompiledRecipe } from "../../../lib/steps/mod.ts";
import type { RunInput } from "../run.ts";
import type { Connections } from "./run_connections.ts";

/** What a run that is due waits for. */
export interface Waiting {
  ledger: Ledger;
  recipe: CompiledRecipe;
  runKey: string;
  untilAt: number;
  reason: Refusal;
}

/** Says for what it is waited, and until when. */
export function waitText(
  { ledger, recipe, runKey, untilAt, reason }: Waiting,
  connections: Connections,
  now: number,
): string {
  const left = `up to ${Math.max(1, Math.round((untilAt - now) / 1000))} s`;
  if (reason === "not-due") return `waiting ${left} until "${runKey}" is due`;
  return `waiting ${left} for ${inTheWay({ ledger, recipe, reason }, connections, now)}`;
}

/** Names what stands in the way. */
function inTheWay(
  { ledger, recipe, reason }: Pick<Waiting, "ledger" | "recipe" | "reason">,
  connections: Connections,
  now: number,
): string {
  if (reason === "account") {
    const holder = accountHolder(ledger, connections.accountOf(recipe), now);
    return holder === undefined ? "the trade login" : `run "${holder}", which has the trade login`;
  }
  if (reason === "owned") return "the process that started it";
  if (reason === "not-due") return "the time that it is due";
  if (reason !== "overlap") return reason;
  const other = ledger.get<{ run_key: string }>(
    "select run_key from run where recipe = ? and state = 'running' limit 1",
    recipe.name,
  );
  return other === undefined ? "another run of the same recipe" : `run "${other.run_key}" of the same recipe`;
}

/** Says why this call has run nothing, what the ledger knows of the run, and what to do next. */
export function notRunLines(
  { runKey, meanwhile = false, outcome: { state, reason } }: ScriptResult,
  { ledger, recipe, connections, input: { args: [name = ""], host }, now }: {
    ledger: Ledger;
    recipe: CompiledRecipe;
    connections: Connections;
    input: RunInput;
    now: number;
  },
): string[] {
  const show = `"deno task hsgate runs show ${runKey}" tells more`;
  const because = reason === undefined ? "" : ` (${reason})`;
  const within = recipe.class === "write" ? ", within its window" : "";
  const manual = `"deno task hsgate run ${name} --manual" runs the recipe all the same${within}`;
  if (state === "refused") {
    if (host.signal.aborted) return [`${runKey} was not run: the waiting was ended`];
    const why = reason !== undefined && reason in forPerson
      ? `: ${forPerson[reason as keyof typeof forPerson]}`
      : `: it waited for ${inTheWay({ ledger, recipe, reason: reason as Refusal }, connections, now)}`;
    return [
      `${runKey} was not run${why}`,
      `  -> ${refusedAdvice(reason as Refusal, { ledger, recipe, connections, show })}`,
    ];
  }
  if (state === "running") return [`${runKey} is being run by another process`, `  -> ${show}`];
  if (state === "waiting_recovery" || state === "unknown") {
    return [
      `${runKey} was begun by another process, and the outcome of what it wrote is unknown`,
      `  -> ${show}, and how to settle it; until then nothing more is written`,
    ];
  }
  if (state === "ok" || state === "failed") {
    const ended = reason === "settled"
      ? `was begun before, and a person settled it as ${state}`
      : meanwhile
      ? `was run by another process meanwhile and ended as ${state}${because}`
      : `was run before and ended as ${state}${because}`;
    // What failed may have sent some of its orders.
    const again = state === "failed" && recipe.class === "write"
      ? `look at the account's orders before you write again: ${manual}`
      : manual;
    return [`${runKey} ${ended}; a slot is run once`, `  -> ${show}; ${again}`];
  }
  const next = state === "waiting_approval"
    ? `"deno task hsgate approve ${runKey}" lets it run`
    : reason === "paused"
    ? `"deno task hsgate resume ${recipe.name}" lets its slots run again; ${manual}`
    : manual;
  return [
    `${runKey} was not run now: ${state}${because}`,
    `  -> ${show}; ${next}`,
  ];
}

/** What to do about a run that did not begin. */
function refusedAdvice(
  reason: Refusal,
  { ledger, recipe, connections, show }: {
    ledger: Ledger;
    recipe: CompiledRecipe;
    connections: Connections;
    show: string;
  },
): string {
  if (reason === "recovery") {
    const by = unsettledOn(ledger, connections.accountOf(recipe));
    if (by !== undefined) {
      return `"deno task hsgate runs show ${by}" says where to look; then run "deno task hsgate settle ${by} ok|failed ` +
        '--because TEXT"';
    }
  }
  // What only a person can change does not change while somebody waits.
  return reason in forPerson ? show : `${show}; --wait SECONDS waits longer`;
}

const forPerson = {
  recovery:
    "the outcome of what an earlier run wrote is unknown, and nothing is written before a person has looked",
  unsafe: "nothing may be written now",
  displaced: "another device has taken the trade login over",
  password:
    "the broker refused the password, and no login is tried until it is changed or a person allows it",
  login: "the broker refused the login a short while ago, and the next one is not due yet",
} as const;

/** The exit code of a run; `ifNew` says that coming second is no failure. */
export function codeOf({ ran, outcome: { state, reason } }: ScriptResult, ifNew: boolean): number {
  // Nobody may get used to this one.
  if (state === "unknown" || state === "waiting_recovery") return 5;
  if (state === "lost" && reason === "write") return 5;
  if (state === "refused") return 4;
  if (!ran && ifNew) return 0;
  if (state === "running") return 4;
  if (state === "due") return 130; // given back, as somebody stopped it
  return state === "failed" || state === "cancelled" || state === "lost" ? 1 : 0;
}
