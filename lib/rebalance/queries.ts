/**
 * Reads and writes the plans of rebalancing in the store. Each plan of an account has one row, from its recording to
 * its result.
 *
 * The row of a plan does not contain the orders of the plan. They are found through the intents whose `why` has the
 * plan's hash, so they are correct even after a crash.
 *
 * @module
 */
import type { ZodType } from "zod";
import { planFilledSince } from "../desk/queries.ts";
import { BrokerError } from "../errors.ts";
import { readJson, type Store } from "../store/store.ts";
import type { Plan } from "./solver/plan.ts";
import type { RebalanceReport } from "./results/report.ts";
import {
  type ArrivalPrice,
  arrivalShape,
  notesShape,
  planShape,
  type PlanSource,
  reportShape,
  sourceShape,
  termsShape,
  type TradeNote,
} from "./stored_plan.ts";
import type { ExecutionTerms } from "./input/terms.ts";

/** State of a plan in the store. */
export type PlanState =
  /** Recorded, but not approved: nothing is sent. */
  | "planned"
  /** A person or a program has allowed its execution. The execution must begin before the approval expires. */
  | "approved"
  /** It is being executed, or the executing process ended before the execution was over. */
  | "running"
  /** Everything is filled. */
  | "done"
  /** Its execution ended and something remains; or it was refused, and then it cannot be approved any more. */
  | "stopped";

/** The approval of a plan. */
export interface PlanApproval {
  by: string;
  at: number;
  /** Its execution must begin before this instant, Unix milliseconds. */
  until: number;
}

/** A plan in the store. */
export interface PlanRecord {
  account: string;
  hash: string;
  plan: Plan;
  terms: ExecutionTerms;
  /** What the plan was made from; absent if a program made the plan. */
  source: PlanSource | undefined;
  state: PlanState;
  /** The run that planned it; absent for a person or a script. */
  runKey: string | undefined;
  plannedAt: number;
  approval: PlanApproval | undefined;
  /** The process that executes it, and the end of that process's lease, Unix milliseconds. */
  holder: string | undefined;
  heldUntil: number | undefined;
  /** When its last execution began, and when it ends at the latest, Unix milliseconds. */
  startedAt: number | undefined;
  deadlineAt: number | undefined;
  /** Arrival prices, by the trade's index in the plan. */
  arrival: Readonly<Record<string, ArrivalPrice>>;
  /** The last note of each trade, by the trade's index in the plan. */
  notes: Readonly<Record<string, TradeNote>>;
  /** Why the execution stopped. */
  reason: string | undefined;
  endedAt: number | undefined;
  /** Absent until the execution ended. */
  report: RebalanceReport | undefined;
}

interface PlanRow {
  account: string;
  hash: string;
  plan: string;
  terms: string;
  source: string | null;
  state: PlanState;
  run_key: string | null;
  planned_at: number;
  approved_by: string | null;
  approved_at: number | null;
  approved_until: number | null;
  holder: string | null;
  held_until: number | null;
  started_at: number | null;
  deadline_at: number | null;
  arrival: string;
  notes: string;
  reason: string | null;
  ended_at: number | null;
  report: string | null;
}

function recordOf(row: PlanRow): PlanRecord {
  const { approved_by: by, approved_at: at, approved_until: until } = row;
  const read = <T>(column: string, text: string, shape: ZodType<T>) =>
    readJson<T>(text, (value) => shape.safeParse(value).success, {
      table: "rebalance",
      column,
      row: row.hash,
    });
  return {
    account: row.account,
    hash: row.hash,
    plan: read("plan", row.plan, planShape),
    terms: read("terms", row.terms, termsShape),
    source: row.source === null ? undefined : read("source", row.source, sourceShape),
    state: row.state,
    runKey: row.run_key ?? undefined,
    plannedAt: row.planned_at,
    approval: by === null || at === null || until === null ? undefined : { by, at, until },
    holder: row.holder ?? undefined,
    heldUntil: row.held_until ?? undefined,
    startedAt: row.started_at ?? undefined,
    deadlineAt: row.deadline_at ?? undefined,
    arrival: read("arrival", row.arrival, arrivalShape),
    notes: read("notes", row.notes, notesShape),
    reason: row.reason ?? undefined,
    endedAt: row.ended_at ?? undefined,
    report: row.report === null ? undefined : read("report", row.report, reportShape),
  };
}

/** Returns an error about a plan; nothing was sent. */
const refused = (code: string, text: string): BrokerError =>
  new BrokerError(text, { code, operation: "rebalance" });

/** The key of a plan. */
export interface PlanKey {
  account: string;
  hash: string;
}

/** Separates the two parts of a holder: the key of a run and step, and the id of a process. */
const OF_RUN = " ";

/**
 * Returns the holder of a plan: the id of the executing process. If a step of a run executes the plan, the key of that
 * run and step comes first.
 */
export const holderOf = (id: string, stepKey?: string): string =>
  stepKey === undefined ? id : `${stepKey}${OF_RUN}${id}`;

/**
 * Returns the plans that are executed by runs of recipes, including plans whose processes ended during the execution.
 */
export async function plansOfRuns(store: Store): Promise<(PlanKey & { holder: string; stepKey: string })[]> {
  const rows = await store.all<PlanKey & { holder: string | null }>(
    "select account, hash, holder from rebalance where state = 'running'",
  );
  return rows.flatMap(({ account, hash, holder }) => {
    const end = holder?.lastIndexOf(OF_RUN) ?? -1;
    return end < 0 ? [] : [{ account, hash, holder: holder!, stepKey: holder!.slice(0, end) }];
  });
}

/** Returns the first characters of a hash, which are enough to name a plan. */
export const shortHash = (hash: string): string => hash.slice(0, 12);

/** Returns a plan; `undefined` if the store does not have it. */
export async function findPlan(store: Store, account: string, hash: string): Promise<PlanRecord | undefined> {
  const row = await store.get<PlanRow>(
    "select * from rebalance where account = ? and hash = ?",
    account,
    hash,
  );
  return row && recordOf(row);
}

/**
 * Returns whether a plan was refused, for example by a person, or because nobody approved it in time. A refused plan
 * has no approval.
 */
const isRefused = ({ state, approval }: PlanRecord): boolean => state === "stopped" && approval === undefined;

/**
 * Returns the newest plans whose hashes begin with a text; at most two, because two already show that the text is
 * ambiguous.
 */
export async function plansLike(store: Store, start: string): Promise<PlanRecord[]> {
  const rows = await store.all<PlanRow>(
    "select * from rebalance where substr(hash, 1, ?) = ? order by planned_at desc, hash limit 2",
    start.length,
    start,
  );
  return rows.map(recordOf);
}

/** Returns the newest plans, newest first. */
export async function plansOf(
  store: Store,
  { account, limit = 20 }: { account?: string; limit?: number } = {},
): Promise<PlanRecord[]> {
  const rows = await store.all<PlanRow>(
    `select * from rebalance ${
      account === undefined ? "" : "where account = ? "
    }order by planned_at desc, hash limit ?`,
    ...account === undefined ? [] : [account],
    limit,
  );
  return rows.map(recordOf);
}

/** Returns all plans of an account that are in a state, newest first. */
export async function plansIn(
  store: Store,
  account: string,
  state: PlanState,
): Promise<PlanRecord[]> {
  const rows = await store.all<PlanRow>(
    "select * from rebalance where account = ? and state = ? order by planned_at desc, hash",
    account,
    state,
  );
  return rows.map(recordOf);
}

/** Returns the newest plan of a run's step; `undefined` if it has none. */
export async function planOfStep(
  store: Store,
  account: string,
  stepKey: string,
): Promise<PlanRecord | undefined> {
  const row = await store.get<PlanRow>(
    "select * from rebalance where account = ? and run_key = ? order by planned_at desc, hash limit 1",
    account,
    stepKey,
  );
  return row && recordOf(row);
}

/**
 * Returns the plans of an account that may have been executed between two instants, oldest first. The times of orders
 * come from the broker's clock, which can differ from this machine's clock.
 */
export async function executedPlans(
  store: Store,
  account: string,
  { from, to }: { from: number; to: number },
): Promise<PlanRecord[]> {
  const rows = await store.all<PlanRow>(
    `select * from rebalance where account = ? and started_at is not null and (
        (planned_at < ? and (ended_at is null or ended_at >= ?))
        or hash in (select plan from intent where account = ? and plan is not null and look_since >= ?
          and look_since < ?))
      order by planned_at, hash`,
    account,
    to,
    from,
    account,
    from,
    to,
  );
  return rows.map(recordOf);
}

/**
 * Records a plan in the state `planned`. Recording the same plan with the same terms again changes nothing.
 * If the terms, the file or the recipe have changed, records the new ones and removes the approval, because a
 * person approves a plan together with its terms, file and recipe. A refused plan that is made again becomes
 * `planned` again.
 *
 * @throws {BrokerError} `plan-state` if the terms have changed and the execution of the plan has begun.
 */
export async function recordPlan(
  store: Store,
  { account, plan, terms, source, at, runKey }: {
    account: string;
    plan: Plan;
    terms: ExecutionTerms;
    source?: PlanSource;
    at: number;
    runKey?: string;
  },
): Promise<PlanRecord> {
  const { hash } = plan;
  return await store.transaction(async () => {
    const found = await findPlan(store, account, hash);
    const [text, sourceText] = [JSON.stringify(terms), source && JSON.stringify(source)];
    const isWaiting = found?.state === "planned" || found?.state === "approved";
    if (found === undefined) {
      await store.run(
        `insert into rebalance (account, hash, plan, terms, source, state, run_key, planned_at)
          values (?, ?, ?, ?, ?, 'planned', ?, ?)`,
        account,
        hash,
        JSON.stringify(plan),
        text,
        sourceText,
        runKey,
        at,
      );
    } else if (
      JSON.stringify(found.terms) !== text || isRefused(found) ||
      isWaiting && sourceText !== undefined && JSON.stringify(found.source) !== sourceText
    ) {
      if (!isWaiting && !isRefused(found)) {
        throw refused(
          "plan-state",
          `Cannot record the plan ${
            shortHash(hash)
          } with other terms: its execution has begun; make a new plan`,
        );
      }
      await store.run(
        `update rebalance set terms = ?, source = coalesce(?, source), state = 'planned', run_key = ?, planned_at = ?, approved_by = null,
          approved_at = null, approved_until = null, reason = null, ended_at = null
          where account = ? and hash = ?`,
        text,
        sourceText,
        runKey,
        at,
        account,
        hash,
      );
    }
    return (await findPlan(store, account, hash))!; // it was just written
  });
}

/**
 * Approves a plan that was recorded, or whose execution has stopped and may continue.
 *
 * @throws {BrokerError} `plan-unknown` if the store does not have the plan, `plan-state` if it is running,
 * done or refused.
 */
export async function approvePlan(
  store: Store,
  { account, hash }: { account: string; hash: string },
  { by, at, until }: PlanApproval,
): Promise<PlanRecord> {
  return await store.transaction(async () => {
    const record = await needPlan(store, account, hash);
    const { state, reason } = record;
    if (state === "running" || state === "done") {
      throw refused("plan-state", `Cannot approve the plan ${shortHash(hash)}: it is ${state}`);
    }
    if (isRefused(record)) {
      throw refused(
        "plan-state",
        `Cannot approve the plan ${shortHash(hash)}: it was refused (${reason}); make a new plan`,
      );
    }
    await store.run(
      `update rebalance set state = case when state = 'planned' then 'approved' else state end, approved_by = ?,
        approved_at = ?, approved_until = ? where account = ? and hash = ?`,
      by,
      at,
      until,
      account,
      hash,
    );
    return (await findPlan(store, account, hash))!; // it was just written
  });
}

/**
 * Stops a plan that no process executes: a person refuses the plan, or ends it although something remains.
 *
 * @throws {BrokerError} `plan-unknown` if the store does not have the plan, `plan-state` if it is done or stopped,
 * `plan-held` if a process executes it.
 */
export async function refusePlan(
  store: Store,
  { account, hash }: { account: string; hash: string },
  { at, reason }: { at: number; reason: string },
): Promise<PlanRecord> {
  return await store.transaction(async () => {
    const { state, holder, heldUntil = 0 } = await needPlan(store, account, hash);
    const cannot = `Cannot refuse the plan ${shortHash(hash)}`;
    if (state === "done" || state === "stopped") throw refused("plan-state", `${cannot}: it is ${state}`);
    if (state === "running" && holder !== undefined && heldUntil > at) {
      throw refused("plan-held", `${cannot}: a process executes it; stop that process, or run: hsgate halt`);
    }
    await store.run(
      `update rebalance set state = 'stopped', reason = ?, ended_at = ?, approved_by = null, approved_at = null,
        approved_until = null, holder = null, held_until = null where account = ? and hash = ?`,
      reason,
      at,
      account,
      hash,
    );
    return (await findPlan(store, account, hash))!; // it was just written
  });
}

async function needPlan(store: Store, account: string, hash: string): Promise<PlanRecord> {
  const found = await findPlan(store, account, hash);
  if (found === undefined) {
    throw refused("plan-unknown", `Cannot find the plan ${shortHash(hash)} of this account in the store`);
  }
  return found;
}

/** Options of {@linkcode beginPlan}. */
export interface Beginning {
  /** Name of the process, different for each execution. */
  holder: string;
  at: number;
  /** How long no other process may execute the plan. {@linkcode renewPlan} extends this time. */
  leaseMs: number;
  /** When an execution that begins now ends at the latest. */
  deadlineAt: number;
  /** Whether this call may only continue an execution that is in progress, and not begin one. @default false */
  isContinued?: boolean;
}

/**
 * Begins the execution of an approved plan, or continues an execution whose process has ended. A continued execution
 * keeps its start and its deadline. A stopped plan also keeps them, unless a person approved the plan again after the
 * stop.
 *
 * @throws {BrokerError} `plan-unknown` if the store does not have the plan; `plan-not-approved` if nobody
 * approved the plan, the approval has expired, or the deadline of a stopped plan has passed; `plan-held` if
 * another process executes the plan; `plan-state` if the plan is done, or if `isContinued` and no execution
 * is in progress; `plan-changed` if another plan of the account has traded since this plan was recorded or
 * begun; `plan-other` if another plan of the account is running.
 */
export async function beginPlan(
  store: Store,
  { account, hash }: { account: string; hash: string },
  { holder, at, leaseMs, deadlineAt, isContinued = false }: Beginning,
): Promise<PlanRecord> {
  return await store.transaction(async () => {
    const record = await needPlan(store, account, hash);
    const { state, approval, holder: other, heldUntil = 0, plannedAt, startedAt = plannedAt } = record;
    const plan = `the plan ${shortHash(hash)}`;
    const cannot = (code: string, why: string) => refused(code, `Cannot execute ${plan}: ${why}`);
    if (state === "done") throw cannot("plan-state", "it is done already; make a new plan");
    if (state === "running") {
      if (other !== undefined && other !== holder && heldUntil > at) {
        throw cannot("plan-held", "another process executes it");
      }
    } else if (isContinued) {
      throw cannot("plan-state", "another process has ended its execution");
    } else if (approval === undefined) {
      throw cannot("plan-not-approved", `nobody has approved it; run: hsgate approve ${shortHash(hash)}`);
    } else if (approval.until <= at) {
      throw cannot(
        "plan-not-approved",
        `its approval has expired at ${new Date(approval.until).toISOString()}; run: hsgate approve ${
          shortHash(hash)
        }`,
      );
    }
    const { endedAt, deadlineAt: before } = record;
    // A stopped plan that nobody has approved again keeps its deadline.
    const isSameApproval = state === "stopped" && approval!.at < (endedAt ?? 0);
    if (isSameApproval && before !== undefined && before <= at) {
      throw cannot(
        "plan-not-approved",
        `it was stopped, and its deadline passed at ${new Date(before).toISOString()}; run: hsgate approve ${
          shortHash(hash)
        }`,
      );
    }
    const continues = state === "running" || isSameApproval;
    const newer = state === "running"
      ? undefined
      : await planFilledSince(store, account, { except: hash, since: startedAt });
    if (newer !== undefined) {
      throw cannot(
        "plan-changed",
        `the plan ${shortHash(newer)} of this account has traded since; make a new plan`,
      );
    }
    const running = await store.get<{ hash: string }>(
      "select hash from rebalance where account = ? and state = 'running' and hash <> ? limit 1",
      account,
      hash,
    );
    if (running !== undefined) {
      throw cannot(
        "plan-other",
        `the plan ${shortHash(running.hash)} of this account is not finished; finish or stop it first`,
      );
    }
    await store.run(
      `update rebalance set state = 'running', holder = ?, held_until = ?,
        started_at = case when ? = 1 then started_at else ? end,
        deadline_at = case when ? = 1 then deadline_at else ? end,
        reason = null, ended_at = null, report = null where account = ? and hash = ?`,
      holder,
      at + leaseMs,
      Number(continues),
      at,
      Number(continues),
      deadlineAt,
      account,
      hash,
    );
    return (await findPlan(store, account, hash))!; // it was just written
  });
}

/** Extends the lease of the process that executes a plan. Returns whether this process still executes the plan. */
export async function renewPlan(
  store: Store,
  { account, hash }: { account: string; hash: string },
  { holder, until }: { holder: string; until: number },
): Promise<boolean> {
  return await store.run(
    `update rebalance set held_until = ? where account = ? and hash = ? and holder = ? and state = 'running'`,
    until,
    account,
    hash,
    holder,
  ) === 1;
}

/** Records arrival prices that are not recorded yet, and notes, by the trade's index in the plan. */
export async function notePlan(
  store: Store,
  { account, hash }: { account: string; hash: string },
  { arrival = {}, notes = {} }: {
    arrival?: Readonly<Record<string, ArrivalPrice>>;
    notes?: Readonly<Record<string, TradeNote>>;
  },
): Promise<void> {
  await store.transaction(async () => {
    const found = await needPlan(store, account, hash);
    await store.run(
      "update rebalance set arrival = ?, notes = ? where account = ? and hash = ?",
      JSON.stringify({ ...arrival, ...found.arrival }),
      JSON.stringify({ ...found.notes, ...notes }),
      account,
      hash,
    );
  });
}

/** Ends the execution of a plan, if this process still executes the plan. Returns whether it did. */
export async function endPlan(
  store: Store,
  { account, hash }: { account: string; hash: string },
  { holder, state, reason, at, report }: {
    holder: string;
    state: "done" | "stopped";
    reason?: string | undefined;
    at: number;
    report: RebalanceReport;
  },
): Promise<boolean> {
  return await store.run(
    `update rebalance set state = ?, reason = ?, ended_at = ?, report = ?, holder = null, held_until = null
      where account = ? and hash = ? and holder = ? and state = 'running'`,
    state,
    reason,
    at,
    JSON.stringify(report),
    account,
    hash,
    holder,
  ) === 1;
}
