/**
 * What `hsgate run --ledger` does: the latest slot that has passed, once, whoever else may start it.
 *
 * @module
 */
import { deliverNotices, queueNotices } from "../../../lib/runner/notify.ts";
import { noticeChannel } from "../../../lib/runner/notice_step.ts";
import { runNested } from "../../../lib/runner/nested.ts";
import { Redactor } from "../../../lib/runner/redact.ts";
import type { Surroundings } from "../../../lib/runner/run.ts";
import { findRun } from "../../../lib/runner/run_rows.ts";
import { showInstant } from "../../../lib/runner/slots.ts";
import { runLatestSlot, type ScriptResult } from "../../../lib/runner/script.ts";
import { type CompiledRecipe, loadRecipe } from "../../../lib/steps/mod.ts";
import { UsageError } from "../exit_codes.ts";
import type { RunInput } from "../run.ts";
import { openLedger } from "./ledger_file.ts";
import { clockOf } from "./lists.ts";
import { loadRecipes } from "./recipe_files.ts";
import { eventLogger } from "./run_log.ts";
import { Clients, gatewayOf, holderName, runnerHost, secretReader } from "./run_surroundings.ts";

/** Runs the recipe of a file under the key of its latest slot. */
export async function runSlot(path: string, { flags, host }: RunInput): Promise<number> {
  const now = clockOf(flags.now, host);
  const recipe = await loadRecipe(path, { now });
  gatewayOf(recipe);
  const recipes = await withNeighbours(recipe, path, { host, now });
  const redactor = new Redactor();
  await using clients = new Clients(flags, host);
  using ledger = await openLedger(flags, { host, mustExist: false });
  const claimer = { holder: holderName(), leaseMs: 30_000, accountOf: () => "default" };
  const redact = (value: unknown) => redactor.json(value);
  const surroundings: Surroundings = {
    ledger,
    host: runnerHost({ now }),
    out: flags.out ?? "",
    redactor,
    client: (recipe) => clients.of(recipe),
    secret: secretReader([...recipes.values()], host),
    onEvent: eventLogger({ out: flags.json ? () => {} : host.out, color: host.color }, {
      json: false,
      redact: (text) => redactor.text(text),
    }),
    onEnd: (recipe, row) => void queueNotices(ledger, recipe, row, { now: now(), redact }),
  };
  const stop = host.signal;
  const inner = { ...surroundings };
  surroundings.runRecipe = (parent, name, params) =>
    runNested(parent, { name, params }, {
      recipes,
      surroundings: inner,
      claimer,
      holdsAccount: parent.mutex !== undefined,
      stop,
    });
  const result = await runLatestSlot(recipe, {
    surroundings,
    claimer,
    stop,
    patienceMs: recipe.misfire.graceMs,
    onWait: ({ runKey, untilAt, reason }) =>
      host.note(
        `hsgate: ${runKey} waits until ${showInstant(Math.ceil(untilAt / 1000) * 1000)} at most (${reason})`,
      ),
  });
  if (result === undefined) {
    throw new UsageError(
      `Cannot run "${recipe.name}" for a slot: its schedules name none in the last 14 days`,
    );
  }
  const row = findRun(ledger, result.runKey);
  if (!result.ran && row?.state === "skipped") queueNotices(ledger, recipe, row, { now: now(), redact });
  await deliverNotices(ledger, (notice) => noticeChannel(recipes, surroundings, notice), surroundings.host);
  const { state, reason } = result.outcome;
  if (flags.json) host.out(JSON.stringify({ key: result.runKey, ran: result.ran, state, reason }));
  else if (!result.ran) {
    host.out(`${result.runKey} was not run now: ${state}${reason === undefined ? "" : ` (${reason})`}`);
  }
  return codeOf(result, flags["if-new"] ?? false);
}

/** Recipes that a step may run lie beside it; they are looked at only when one does. */
async function withNeighbours(
  recipe: CompiledRecipe,
  path: string,
  options: Parameters<typeof loadRecipes>[1],
): Promise<Map<string, CompiledRecipe>> {
  const runsOthers = recipe.steps.some(({ uses }) => uses === "run");
  const folder = path.includes("/") ? path.replace(/\/[^/]*$/, "") : ".";
  const others = runsOthers ? (await loadRecipes([folder], options)).recipes : [];
  return new Map([...others, recipe].map((each) => [each.name, each]));
}

function codeOf({ ran, outcome: { state } }: ScriptResult, ifNew: boolean): number {
  // Nobody may get used to this one.
  if (state === "unknown" || state === "waiting_recovery") return 5;
  if (state === "refused") return 4;
  if (!ran && ifNew) return 0;
  if (state === "running") return 4;
  if (state === "due") return 130; // given back, as somebody stopped it
  return state === "failed" || state === "cancelled" || state === "lost" ? 1 : 0;
}
