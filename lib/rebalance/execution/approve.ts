/**
 * The rules of approval: which plan may be approved and for how long, and whether its file and the account still match
 * the plan.
 *
 * @module
 */
import { calendarZone, dateAt, showInstant } from "../../calendars/mod.ts";
import { add, compare, isZero, normalize, subtract } from "../../decimal.ts";
import { mics } from "../../desk/guards/order.ts";
import { Market } from "../../dictionaries/market.ts";
import { resolved } from "../../confined_paths.ts";
import { BrokerError, InvalidParamsError, type Issue } from "../../errors.ts";
import { readRegular } from "../../regular_files.ts";
import { sha256 } from "../../sha256.ts";
import type { Store } from "../../store/store.ts";
import { showDuration } from "../../time.ts";
import type { Account } from "../input/account.ts";
import type { Plan } from "../solver/plan.ts";
import type { RebalanceFile } from "../input/plan_file.ts";
import { canonical } from "../solver/plan.ts";
import type { Progress } from "./progress.ts";
import { approvePlan, type PlanRecord, shortHash } from "../queries.ts";
import type { RecipeFile } from "../stored_plan.ts";
import { checkedRows } from "../input/rows.ts";

/** How long an approval is valid by default, milliseconds. */
export const APPROVAL_MS = 3_600_000;

/** Maximum size of a recipe's file that is read; recipes are far smaller. */
const MOST_RECIPE_BYTES = 1024 * 1024;

/** A decision to execute a plan. */
export interface ApprovalWish {
  /** Name of the person, or of the recipe. */
  by: string;
  /** When the plan is approved, Unix milliseconds. */
  at: number;
  /**
   * How long the approval is valid, milliseconds; at most until the end of the plan's day.
   *
   * @default {@linkcode APPROVAL_MS}, or less at the end of the day
   */
  forMs?: number;
}

/**
 * Approves exactly one plan. Its execution must begin before the approval expires, and on the day of the plan, because
 * the prices of the plan are from that day.
 *
 * @param settings What the plan's file says now. Without it, the plan is not compared with its file.
 * @throws {BrokerError} `plan-old` if the plan is of an earlier day, `plan-changed` if its file or its recipe
 * has changed, `plan-empty` if it has no trades, and the errors of `approvePlan`.
 * @throws {InvalidParamsError} If the approval would be valid longer than the plan's day.
 */
export async function approveExactly(
  store: Store,
  record: PlanRecord,
  { by, at, forMs }: ApprovalWish,
  settings?: RebalanceFile,
): Promise<PlanRecord> {
  const { plan, hash } = record;
  const cannot = (code: string, why: string) =>
    new BrokerError(`Cannot approve the plan ${shortHash(hash)}: ${why}`, { code, operation: "rebalance" });
  if (plan.trades.length === 0) throw cannot("plan-empty", "it has no trades");
  const [made, today] = [record.plannedAt, at].map((instant) => dateAt(instant, zoneOf(record)));
  if (made !== today) {
    throw cannot("plan-old", `it was made on ${made}, and today is ${today}; make a new plan`);
  }
  if (settings !== undefined && hasChanged(record, settings) || await hasOtherRecipe(record)) {
    throw cannot("plan-changed", `${fileOf(record)} has changed since the plan was made; make a new plan`);
  }
  const dayEnd =
    Temporal.PlainDate.from(today!).add({ days: 1 }).toZonedDateTime(zoneOf(record)).epochMilliseconds;
  const leftMs = dayEnd - at;
  if (forMs !== undefined && forMs > leftMs) {
    throw new InvalidParamsError(`approve the plan ${shortHash(hash)}`, [{
      path: ["for"],
      value: showDuration(forMs),
      expected: `at most ${
        showDuration(leftMs >= 60_000 ? leftMs - leftMs % 60_000 : leftMs)
      }, because the plan is valid until ${showInstant(dayEnd)}`,
    }]);
  }
  return await approvePlan(store, record, { by, at, until: at + Math.min(forMs ?? APPROVAL_MS, leftMs) });
}

/** Returns whether a plan's settings have changed since the plan was made. */
export const hasChanged = ({ source }: Pick<PlanRecord, "source">, settings: RebalanceFile): boolean =>
  source !== undefined && canonical(source.settings) !== canonical(settings);

/**
 * Compares a recipe's file with the recipe that hsgate loaded from it. Returns `missing` if there is no such file or
 * the system denies access, and `unknown` if Deno's permissions do not allow reading it.
 */
export async function compareRecipe(
  { file, sha256: before }: RecipeFile,
): Promise<"same" | "changed" | "missing" | "unknown"> {
  try {
    const bytes = await readRegular(resolved(file), MOST_RECIPE_BYTES);
    const isSame = bytes instanceof Uint8Array && await sha256(new TextDecoder().decode(bytes)) === before;
    return isSame ? "same" : "changed";
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return "unknown";
    const { NotADirectory, NotFound, PermissionDenied } = Deno.errors;
    if ([NotADirectory, NotFound, PermissionDenied].some((kind) => error instanceof kind)) return "missing";
    throw error;
  }
}

/**
 * Returns whether the recipe that made a plan has changed since. A missing recipe counts as unchanged: it may be on
 * another machine, where the run that waits for the approval compares it again.
 */
export async function hasOtherRecipe({ source }: Pick<PlanRecord, "source">): Promise<boolean> {
  return source?.recipe !== undefined && await compareRecipe(source.recipe) === "changed";
}

/** Returns the name of a plan's file, for messages. */
export function fileOf({ source }: Pick<PlanRecord, "source">): string {
  const file = source?.file ?? source?.recipe?.file;
  return file === undefined ? "the file" : `"${file}"`;
}

function zoneOf({ source }: PlanRecord): string {
  // The plan's date is in the time zone of its first market.
  return calendarZone[mics[source?.settings.markets?.[0] ?? Market.names[0]!]];
}

/**
 * Checks, before the execution of a plan begins or continues, that the account still matches the plan: the same
 * holdings, at least the same cash, current quotes, and board lots that the broker confirms. Sends nothing.
 *
 * Expects the holdings to contain what the plan's own orders have filled. If these orders have filled something, the
 * cash is not checked here, because the execution compares each order with the cash.
 *
 * @param account The account as it is now.
 * @param progress What the plan's orders have done, if the plan was stopped earlier.
 * @throws {InvalidParamsError} If a quote, lot or number is missing or wrong; the error lists all of these. Otherwise,
 * if the holdings differ or the cash is lower; the error lists every difference.
 */
export function checkAccount(
  plan: Plan,
  settings: RebalanceFile,
  account: Account,
  progress: readonly Progress[] = [],
): void {
  const action = `execute the plan ${shortHash(plan.hash)}`;
  const { rows } = checkedRows(settings, account);
  const issues: Issue[] = [];
  const keyOf = ({ market, symbol }: { market: string; symbol: string }) => `${market} ${symbol}`;
  const now = new Map(rows.map((row) => [keyOf(row.quote), row.quantity]));
  const planned = new Map(plan.positions.map((position) => [keyOf(position), position.quantity]));
  for (const [index, { filled }] of progress.entries()) {
    const trade = plan.trades[index]!; // there is one progress per trade
    const before = planned.get(keyOf(trade)) ?? "0";
    planned.set(keyOf(trade), trade.side === "buy" ? add(before, filled) : subtract(before, filled));
  }
  for (const key of new Set([...planned.keys(), ...now.keys()])) {
    const [before = "0", after = "0"] = [planned.get(key), now.get(key)];
    if (compare(before, after) === 0) continue;
    issues.push({
      path: ["holdings", key.replace(/^\S+ /, "")],
      value: after,
      expected: `${normalize(before)} (the quantity when the plan was made${
        progress.length === 0 ? "" : ", with the plan's own fills"
      }; otherwise make a new plan)`,
    });
  }
  const hasFilled = progress.some(({ filled }) => !isZero(filled));
  for (const [currency, before] of Object.entries(hasFilled ? {} : plan.cash)) {
    const after = account.cash[currency] ?? "0";
    if (compare(after, before) >= 0 || (isZero(before) && isZero(after))) continue;
    issues.push({
      path: ["cash", currency],
      value: after,
      expected: `at least ${before} (the cash when the plan was made; otherwise make a new plan)`,
    });
  }
  if (issues.length > 0) throw new InvalidParamsError(action, issues);
}
