/**
 * Reads and writes the rows of the order desk: intents, their changes of state, and halts.
 *
 * @module
 */
import { isDecimal, isZero } from "../decimal.ts";
import { isMap, isText, isTexts } from "../foreign_values.ts";
import { foreignValue, readJson, rowsValue, type Store } from "../store/store.ts";
import {
  type AbsentReadings,
  type ApprovedTerms,
  type Intent,
  type IntentChange,
  type IntentKind,
  isAbsent,
  isEarlier,
  isProof,
  isWhy,
} from "./intent.ts";
import {
  allStates,
  type Evidence,
  type IntentState,
  isFinal,
  mayChange,
  unresolvedStates,
} from "./states.ts";
import { areTerms } from "./terms.ts";

/** Returns whether a value of a store can be a rebalancing plan, as far as the desk reads it. */
const isPlan = (value: unknown): boolean =>
  isMap(value) && Array.isArray(value.trades) &&
  value.trades.every((trade) =>
    isMap(trade) && [trade.market, trade.symbol, trade.side].every(isText) && isDecimal(trade.quantity)
  );

interface IntentRow {
  id: string;
  account: string;
  kind: IntentKind;
  operation: string;
  params: string;
  fingerprint: string;
  why: string;
  run_key: string | null;
  state: IntentState;
  order_ids: string;
  child_ids: string;
  known: string;
  earlier: string | null;
  look_since: number | null;
  broker_at: number | null;
  sent_number: number | null;
  filled: string;
  absent: string | null;
  created_at: number;
  sent_at: number | null;
  timeout_ms: number;
  ended_at: number | null;
}

function intentOf(row: IntentRow): Intent {
  const read = <T>(column: string, json: string, isRight: (value: unknown) => boolean) =>
    readJson<T>(json, isRight, { table: "intent", column, row: row.id });
  if (!allStates.includes(row.state)) {
    throw foreignValue({ table: "intent", column: "state", row: row.id }, "it is not a state");
  }
  if (!isDecimal(row.filled)) {
    throw foreignValue({ table: "intent", column: "filled", row: row.id }, "it is not a decimal number");
  }
  return {
    id: row.id,
    account: row.account,
    kind: row.kind,
    operation: row.operation,
    params: read("params", row.params, areTerms),
    fingerprint: row.fingerprint,
    why: read("why", row.why, isWhy),
    state: row.state,
    orderIds: idsIn(row, "order_ids"),
    childIds: idsIn(row, "child_ids"),
    known: idsIn(row, "known"),
    earlier: row.earlier === null ? undefined : read("earlier", row.earlier, isEarlier),
    readSince: row.look_since ?? undefined,
    brokerAt: row.broker_at ?? undefined,
    filled: row.filled,
    absent: row.absent === null ? undefined : read("absent", row.absent, isAbsent),
    createdAt: row.created_at,
    sentAt: row.sent_at ?? undefined,
    sentNumber: row.sent_number ?? undefined,
    timeoutMs: row.timeout_ms,
    endedAt: row.ended_at ?? undefined,
  };
}

/** Records a new intent in the state `planned`. */
export async function insertIntent(
  store: Store,
  intent: Pick<
    Intent,
    "id" | "account" | "kind" | "operation" | "params" | "fingerprint" | "why" | "createdAt" | "timeoutMs"
  >,
): Promise<void> {
  await store.transaction(async () => {
    await store.run(
      `insert into intent (id, account, kind, operation, params, fingerprint, why, run_key, plan, state, created_at,
        timeout_ms) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'planned', ?, ?)`,
      intent.id,
      intent.account,
      intent.kind,
      intent.operation,
      JSON.stringify(intent.params),
      intent.fingerprint,
      JSON.stringify(intent.why),
      intent.why.runKey,
      intent.why.plan,
      intent.createdAt,
      intent.timeoutMs,
    );
    await insertChange(store, intent.id, {
      seq: 1,
      at: intent.createdAt,
      from: undefined,
      to: "planned",
      by: "desk",
      data: {},
    });
  });
}

async function insertChange(store: Store, id: string, change: IntentChange): Promise<void> {
  const { seq, at, from, to, by, data } = change;
  await store.run(
    "insert into intent_change (intent, seq, at, from_state, to_state, evidence, data) values (?, ?, ?, ?, ?, ?, ?)",
    id,
    seq,
    at,
    from,
    to,
    by,
    JSON.stringify(data),
  );
}

/** A change of an intent's state, with what the evidence shows. */
export interface Move {
  to: IntentState;
  by: Evidence;
  at: number;
  data?: Readonly<Record<string, unknown>>;
  /** Orders at the broker that belong to the intent. @default unchanged */
  orderIds?: readonly string[];
  /** @default unchanged */
  filled?: string;
  /** Orders that the intent's own order has placed. @default unchanged */
  childIds?: readonly string[];
  /** What is recorded when the intent is sent. @default unchanged */
  sent?: Pick<Intent, "known" | "earlier" | "readSince"> & { sentAt: number; sentNumber: number };
  /** The broker's time at the approval, Unix milliseconds. @default unchanged */
  brokerAt?: number | undefined;
  /** Whether to delete the count of readings that did not show the intent. @default false */
  forgetsAbsence?: boolean;
}

/**
 * Moves an intent to another state. The same transaction adds a row with the reason.
 *
 * @returns The intent after the change.
 * @throws {TypeError} If the table of states does not allow this change.
 */
export async function moveIntent(store: Store, id: string, move: Move): Promise<Intent> {
  const { to, by, at, data = {} } = move;
  return await store.transaction(async () => {
    const intent = await findIntent(store, id);
    if (intent === undefined) throw new TypeError(`Cannot find the intent "${id}" in the store`);
    if (!mayChange(intent.state, to, by)) {
      throw new TypeError(
        `Cannot move the intent "${id}" from "${intent.state}" to "${to}" by "${by}": the table of states does not allow it`,
      );
    }
    const { orderIds = intent.orderIds, childIds = intent.childIds, filled = intent.filled } = move;
    const { sent = intent } = move;
    const absent = move.forgetsAbsence ? undefined : intent.absent;
    await store.run(
      `update intent set state = ?, order_ids = ?, child_ids = ?, filled = ?, known = ?, earlier = ?, look_since = ?,
        sent_at = ?, sent_number = ?, absent = ?, broker_at = ?, ended_at = ? where id = ?`,
      to,
      JSON.stringify(orderIds),
      JSON.stringify(childIds),
      filled,
      JSON.stringify(sent.known),
      sent.earlier && JSON.stringify(sent.earlier),
      sent.readSince,
      sent.sentAt,
      sent.sentNumber,
      absent && JSON.stringify(absent),
      move.brokerAt ?? intent.brokerAt,
      isFinal(to) ? at : undefined,
      id,
    );
    const last = await store.get<{ seq: number }>(
      "select max(seq) as seq from intent_change where intent = ?",
      id,
    );
    await insertChange(store, id, { seq: (last?.seq ?? 0) + 1, at, from: intent.state, to, by, data });
    return (await findIntent(store, id))!; // it was just updated
  });
}

/**
 * Records a filled quantity, or a reading that did not show the intent. Does not change the state.
 *
 * @param from The intent as the caller has read it. If it has changed in the store since then, nothing is recorded.
 * @returns Whether it was recorded.
 */
export async function noteIntent(
  store: Store,
  from: Pick<Intent, "id" | "state" | "filled" | "absent">,
  { filled, absent }: { filled?: string; absent?: AbsentReadings },
): Promise<boolean> {
  const changed = await store.run(
    `update intent set filled = coalesce(?, filled), absent = coalesce(?, absent)
      where id = ? and state = ? and filled = ? and absent is not distinct from ?`,
    filled,
    absent && JSON.stringify(absent),
    from.id,
    from.state,
    from.filled,
    from.absent && JSON.stringify(from.absent),
  );
  return changed > 0;
}

/** Deletes the count of readings that did not show an intent. */
export async function forgetAbsence(store: Store, id: string): Promise<void> {
  await store.run("update intent set absent = null where id = ?", id);
}

/** Adds orders to an intent: its own orders, or orders that its own order has placed. */
export async function addOrders(
  store: Store,
  id: string,
  { orderIds = [], childIds = [] }: { orderIds?: readonly string[]; childIds?: readonly string[] },
): Promise<void> {
  await store.transaction(async () => {
    const intent = await findIntent(store, id);
    if (intent === undefined) return;
    await store.run(
      "update intent set order_ids = ?, child_ids = ? where id = ?",
      JSON.stringify([...new Set([...intent.orderIds, ...orderIds])]),
      JSON.stringify([...new Set([...intent.childIds, ...childIds])]),
      id,
    );
  });
}

/** Removes orders that a wrong decision has added to an intent: own orders, and orders that its order has placed. */
export async function removeOrders(store: Store, id: string, wrong: readonly string[]): Promise<void> {
  const intent = await findIntent(store, id);
  if (intent === undefined) return;
  const rest = (ids: readonly string[]) => JSON.stringify(ids.filter((each) => !wrong.includes(each)));
  await store.run(
    "update intent set order_ids = ?, child_ids = ? where id = ?",
    rest(intent.orderIds),
    rest(intent.childIds),
    id,
  );
}

/** Returns an intent; `undefined` if the store does not have it. */
export async function findIntent(store: Store, id: string): Promise<Intent | undefined> {
  const row = await store.get<IntentRow>("select * from intent where id = ?", id);
  return row && intentOf(row);
}

/**
 * Returns the intents whose ids begin with a text; at most two, because two already show that the text is ambiguous.
 */
export async function intentsLike(store: Store, start: string): Promise<Intent[]> {
  const rows = await store.all<IntentRow>(
    "select * from intent where substr(id, 1, ?) = ? order by created_at limit 2",
    start.length,
    start,
  );
  return rows.map(intentOf);
}

const placeholders = (values: readonly unknown[]) => values.map(() => "?").join(", ");

/** Returns the intents of an account that are not final, oldest first. */
export async function openIntents(store: Store, account: string): Promise<Intent[]> {
  const rows = await store.all<IntentRow>(
    "select * from intent where account = ? and ended_at is null order by created_at, id",
    account,
  );
  return rows.map(intentOf);
}

/** Returns id, account, operation and state of every intent that is not final, by account and oldest first. */
export async function namesOfOpenIntents(
  store: Store,
): Promise<{ intent: string; account: string; operation: string; state: IntentState }[]> {
  return await store.all(
    `select id as intent, account, operation, state from intent where ended_at is null
      order by account, created_at, id`,
  );
}

/** Returns the accounts that have open intents. */
export async function openAccounts(store: Store): Promise<string[]> {
  const rows = await store.all<{ account: string }>(
    "select distinct account from intent where ended_at is null order by account",
  );
  return rows.map(({ account }) => account);
}

/** Returns an account's newest intents, newest first. */
export async function recentIntents(
  store: Store,
  account: string,
  { since = 0, limit }: { since?: number; limit: number },
): Promise<Intent[]> {
  const rows = await store.all<IntentRow>(
    "select * from intent where account = ? and created_at >= ? order by created_at desc, id desc limit ?",
    account,
    since,
    limit,
  );
  return rows.map(intentOf);
}

/** Returns an account's amendments that were recorded since an instant, oldest first. */
export async function amendmentsSince(store: Store, account: string, since: number): Promise<Intent[]> {
  const rows = await store.all<IntentRow>(
    "select * from intent where account = ? and created_at >= ? and kind = 'amend' order by created_at",
    account,
    since,
  );
  return rows.map(intentOf);
}

/** An intent that counts in the limits of an account. */
export interface CountedIntent extends Intent {
  /** Empty before the approval. */
  approved: ApprovedTerms;
}

/**
 * Returns an account's intents to place or amend orders that are not abandoned, oldest first: those that were recorded
 * since an instant by this machine's clock, or approved since an instant by the broker's clock. The statement uses one
 * index for each of the two clocks; with "or", SQLite would read all intents of the account.
 */
export async function countedIntents(
  store: Store,
  account: string,
  { since, brokerSince }: { since: number; brokerSince: number },
): Promise<CountedIntent[]> {
  const rows = await store.all<IntentRow & { approval: string | null }>(
    `select intent.*, intent_change.data as approval from intent
      left join intent_change on intent_change.intent = intent.id and intent_change.to_state = 'approved'
      where intent.id in (select id from intent where account = ? and created_at >= ?
        union select id from intent where account = ? and broker_at >= ?) and kind <> 'cancel' and state <> 'abandoned' order by created_at, id`,
    account,
    since,
    account,
    brokerSince,
  );
  return rows.map((row) => ({
    ...intentOf(row),
    approved: row.approval === null ? {} : proofIn(row.id, row.approval),
  }));
}

/** Returns the intents of a run, oldest first. */
export async function intentsOfRun(store: Store, runKey: string): Promise<Intent[]> {
  const rows = await store.all<IntentRow>(
    "select * from intent where run_key = ? order by created_at, id",
    runKey,
  );
  return rows.map(intentOf);
}

/** Returns the intents of a rebalancing plan, oldest first. */
export async function intentsOfPlan(store: Store, account: string, hash: string): Promise<Intent[]> {
  const rows = await store.all<IntentRow>(
    "select * from intent where account = ? and plan = ? order by created_at, id",
    account,
    hash,
  );
  return rows.map(intentOf);
}

/**
 * Returns the hash of a rebalancing plan of the account, other than the plan `except`, that has an order with fills.
 * The order is still open, or has ended since an instant. `undefined` if there is no such plan.
 */
export async function planFilledSince(
  store: Store,
  account: string,
  { except, since }: { except: string; since: number },
): Promise<string | undefined> {
  const rows = await store.all<{ plan: string; filled: string }>(
    `select plan, filled from intent where account = ? and plan is not null and plan <> ?
      and (ended_at is null or ended_at >= ?) order by created_at, id`,
    account,
    except,
    since,
  );
  // A value that is not a number counts as filled; the code that reads the whole intent reports the wrong value.
  return rows.find(({ filled }) => !isDecimal(filled) || !isZero(filled))?.plan;
}

/** The limits that a rebalancing plan sets for its orders. */
export interface PlanCaps {
  state: string;
  /** The orders of the plan: the most that the plan may buy and sell. */
  trades: readonly { market: string; symbol: string; side: string; quantity: string }[];
}

/** Returns the limits of a rebalancing plan; `undefined` if the store has no such plan of the account. */
export async function capsOfPlan(store: Store, account: string, hash: string): Promise<PlanCaps | undefined> {
  const row = await store.get<{ state: string; plan: string }>(
    "select state, plan from rebalance where account = ? and hash = ?",
    account,
    hash,
  );
  if (row === undefined) return undefined;
  const { trades } = readJson<Pick<PlanCaps, "trades">>(row.plan, isPlan, {
    table: "rebalance",
    column: "plan",
    row: hash,
  });
  return { state: row.state, trades };
}

/** Returns the unresolved intents of an account, oldest first. Without `account`, returns those of all accounts. */
export async function unresolvedIntents(store: Store, account?: string): Promise<Intent[]> {
  const rows = await store.all<IntentRow>(
    `select * from intent where ${
      account === undefined ? "" : "account = ? and "
    }ended_at is null and state in (${placeholders(unresolvedStates)}) order by created_at, id`,
    ...account === undefined ? [] : [account],
    ...unresolvedStates,
  );
  return rows.map(intentOf);
}

/**
 * Reads a list of ids. Most lists are empty and one reading parses hundreds of them, so simple lists have a fast path.
 */
function idsIn<Column extends "order_ids" | "child_ids" | "known">(
  row: Pick<IntentRow, "id" | Column>,
  column: Column,
): string[] {
  const json = row[column];
  if (json === "[]") return [];
  // A list with one id that contains no escaped character.
  return /^\["[\w-]*"\]$/.test(json)
    ? [json.slice(2, -2)]
    : readJson(json, isTexts, { table: "intent", column, row: row.id });
}

function proofIn(intent: string, data: string): ApprovedTerms & Record<string, unknown> {
  return readJson(data, isProof, { table: "intent_change", column: "data", row: intent });
}

/** The intent that placed an order, directly or through its conditional or algorithmic order. */
export interface Owner {
  intent: string;
  /** The intent's position in the sequence of the account's writes; absent for a record of an older version. */
  sentNumber: number | undefined;
  /** Whether the order was placed by a conditional or algorithmic order of the intent. */
  isChild: boolean;
}

/** Returns the orders that an account's intents have placed since an instant, by order id. */
export async function ownedOrders(store: Store, account: string, since: number): Promise<Map<string, Owner>> {
  const rows = await store.all<
    { id: string; order_ids: string; child_ids: string; sent_number: number | null }
  >(
    `select id, order_ids, child_ids, sent_number from intent where account = ? and created_at >= ?
      and kind = 'place' and (order_ids <> '[]' or child_ids <> '[]') and sent_at is not null order by created_at`,
    account,
    since,
  );
  return new Map(
    rows.flatMap((row) => {
      const owned = (ids: readonly string[], isChild: boolean) =>
        ids.map((id): [string, Owner] => [
          id,
          { intent: row.id, sentNumber: row.sent_number ?? undefined, isChild },
        ]);
      return [...owned(idsIn(row, "child_ids"), true), ...owned(idsIn(row, "order_ids"), false)];
    }),
  );
}

/**
 * Returns an intent's changes of state, oldest first.
 *
 * @throws {StoreError} With code `value` if there are none, because an intent is recorded together with its first
 * change.
 */
export async function changesOf(store: Store, id: string): Promise<IntentChange[]> {
  const rows = await store.all<
    {
      seq: number;
      at: number;
      from_state: IntentState | null;
      to_state: IntentState;
      evidence: Evidence;
      data: string;
    }
  >(
    "select seq, at, from_state, to_state, evidence, data from intent_change where intent = ? order by seq",
    id,
  );
  if (rows.length === 0) {
    throw foreignValue({ table: "intent_change", column: "intent", row: id }, "there is no such row");
  }
  return rows.map(({ from_state: from, to_state: to, evidence: by, data, ...row }) => ({
    ...row,
    from: from ?? undefined,
    to,
    by,
    data: proofIn(id, data),
  }));
}

/** The account name of a halt of all accounts of the store. */
export const ALL_ACCOUNTS = "*";

/** A halt: why an account sends no order writes. */
export interface HaltRow {
  /** Name of the account, or {@linkcode ALL_ACCOUNTS}. */
  account: string;
  why: string;
  by: string;
  at: number;
}

/** Halts the order writes of an account until {@linkcode clearHalt}. A second halt keeps the first reason. */
export async function setHalt(store: Store, halt: HaltRow): Promise<void> {
  await store.run(
    'insert into halt (account, why, "by", at) values (?, ?, ?, ?) on conflict (account) do nothing',
    halt.account,
    halt.why,
    halt.by,
    halt.at,
  );
}

/** Returns the halt of an account or the halt of all accounts, whichever is older; `undefined` if there is none. */
export async function findHalt(store: Store, account: string): Promise<HaltRow | undefined> {
  return await store.get(
    'select account, why, "by", at from halt where account in (?, ?) order by at limit 1',
    account,
    ALL_ACCOUNTS,
  );
}

/** Removes the halt of an account, and a halt of all accounts. Returns whether there was one. */
export async function clearHalt(store: Store, account: string): Promise<boolean> {
  return await store.run("delete from halt where account in (?, ?)", account, ALL_ACCOUNTS) > 0;
}

/**
 * Condition for rebalancing plans that may be removed: all their times are before an instant, their execution is not in
 * progress, and they have no open intent. The statement needs the instant four times.
 */
const oldPlans = `rebalance.state <> 'running' and rebalance.planned_at < ?
  and coalesce(rebalance.approved_until, 0) < ? and coalesce(rebalance.deadline_at, 0) < ?
  and coalesce(rebalance.ended_at, 0) < ?
  and not exists (select 1 from intent as live where live.account = rebalance.account
    and live.plan = rebalance.hash and live.ended_at is null)`;

const oldPlanTimes = (before: number) => [before, before, before, before] as const;

/** Returns how many plans {@linkcode prunePlans} would remove. */
export async function countOldPlans(store: Store, before: number): Promise<number> {
  const sql = `select count(*) as n from rebalance where ${oldPlans}`;
  return (await store.get<{ n: number }>(sql, ...oldPlanTimes(before)))?.n ?? 0;
}

/**
 * Removes old rebalancing plans, oldest first and at most `limit`. A plan is old if all its times are before an
 * instant. Keeps plans in progress and plans with open intents. Returns how many it removed.
 */
export async function prunePlans(store: Store, before: number, limit: number): Promise<number> {
  return await store.run(
    `delete from rebalance where (account, hash) in (
      select account, hash from rebalance where ${oldPlans} order by planned_at limit ?)`,
    ...oldPlanTimes(before),
    limit,
  );
}

/**
 * Returns the condition for intents that may be removed: they ended before an instant. It excludes intents of a run
 * that is still in the store, intents of a plan that may still send orders, and the last write of each account, which
 * the store's mark file names.
 */
const oldIntents = (isPlanLeft: string) =>
  `ended_at < ? and not exists (select 1 from run where run.run_key = intent.run_key)
  and id not in (select run_key from account_write)
  and not exists (select 1 from rebalance where rebalance.account = intent.account and rebalance.hash = intent.plan
    and ${isPlanLeft})`;

/**
 * Returns how many intents {@linkcode pruneIntents} would remove if {@linkcode prunePlans} had removed all old plans
 * before.
 */
export async function countOldIntents(store: Store, before: number): Promise<number> {
  const old = oldIntents(`rebalance.state <> 'done' and not (${oldPlans})`);
  const sql = `select count(*) as n from intent where ${old}`;
  return (await store.get<{ n: number }>(sql, before, ...oldPlanTimes(before)))?.n ?? 0;
}

/**
 * Removes intents that ended before an instant, at most `limit`. Keeps the intents that a run, a plan or the mark file
 * still needs. Returns how many it removed.
 */
export async function pruneIntents(store: Store, before: number, limit: number): Promise<number> {
  const old = await store.all<{ id: string }>(
    // The intents of a plan that is not done show how much of the plan remains. They are kept until the plan is
    // removed.
    `select id from intent where ${oldIntents("rebalance.state <> 'done'")} order by ended_at limit ?`,
    before,
    limit,
  );
  if (old.length === 0) return 0;
  const ids = rowsValue(old.map(({ id }) => [id]));
  const given = "(select given.value ->> 0 from json_each(?) as given)";
  await store.run(`delete from intent_change where intent in ${given}`, ids);
  return await store.run(`delete from intent where id in ${given}`, ids);
}
