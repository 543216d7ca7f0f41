/**
 * Defines the tables of a store, version by version. A released version is never edited; a change is a new version.
 *
 * The same text serves SQLite and PostgreSQL: `integer` means `bigint` in PostgreSQL, and texts are compared
 * byte by byte. The text uses no `autoincrement`, no `rowid` and no `insert or replace`. Instants are epoch
 * milliseconds in UTC.
 *
 * @module
 */
import type { Store } from "./store.ts";
import { StoreError } from "./store_error.ts";

/** The statements of each version. */
export const migrations: readonly (readonly string[])[] = [
  [
    // `spec` is the compiled schedule: a different text means that the schedule was edited. `file` is the file that the
    // recipe was last loaded from: a scheduler that reads this file or its folder notices when it is missing.
    `create table schedule (recipe text not null, schedule_id text not null, spec text not null,
      watermark integer not null, paused_reason text, updated_at integer not null, file text,
      primary key (recipe, schedule_id))`,
    // `round` counts how often the run started again from its first step: outputs are reused only within a round.
    // `span_id` is the first span of the run, the parent of the spans of later attempts.
    `create table run (run_key text primary key, recipe text not null, schedule_id text not null,
      kind text not null check (kind in ('live','catchup','backfill','manual','dry')),
      class text not null check (class in ('read','keep-alive','write')),
      slot_at integer not null, business_day text, assumed integer not null default 0,
      due_at integer not null, deadline_at integer,
      state text not null check (state in ('due','running','waiting_approval','waiting_recovery','ok','failed',
        'cancelled','skipped','unknown')),
      reason text, attempt integer not null default 0, round integer not null default 0,
      fence integer not null default 0, holder text, account text, lease_until integer, cancel_asked text,
      recipe_sha text not null, calendar_version text, params text not null default '{}', trace_id text not null,
      span_id text, started_at integer, finished_at integer)`,
    // Every query of a scheduler's pass, of `hsgate runs` and of `hsgate why` uses an index, so its cost does not grow
    // with the history. A test checks the query plans.
    `create index run_of_recipe on run (recipe, slot_at)`,
    `create index run_of_state on run (recipe, state, slot_at)`,
    `create index run_by_state on run (state, slot_at)`,
    `create index run_due on run (state, due_at, run_key) where state = 'due'`,
    `create index run_of_day on run (recipe, business_day)`,
    `create index run_timed on run (recipe, schedule_id, slot_at)
      where kind = 'live' and state in ('ok', 'failed')`,
    `create index run_unresolved on run (account, slot_at)
      where class = 'write' and state in ('waiting_recovery', 'unknown')`,
    `create index run_by_end on run (finished_at) where state in ('ok', 'failed', 'cancelled', 'skipped')`,
    `create table step_run (run_key text not null references run (run_key), step_id text not null,
      round integer not null, attempt integer not null,
      effect text not null check (effect in ('read','local','write')), idem_key text not null,
      state text not null check (state in ('begun','ok','failed','skipped','unknown')),
      output text, error text, started_at integer not null, finished_at integer,
      primary key (run_key, step_id, round, attempt))`,
    // Guarantees, even if the code has a mistake, that a write step cannot begin a second time.
    `create unique index step_write_once on step_run (run_key, step_id) where effect = 'write'`,
    `create table lease (name text primary key, holder text not null, fence integer not null,
      until integer not null)`,
    `create table artifact (dataset text not null, business_day text not null, revision integer not null,
      run_key text not null references run (run_key), sha256 text not null, bytes integer not null,
      uri text not null, final integer not null, primary key (dataset, business_day, revision))`,
    `create index artifact_of_run on artifact (run_key)`,
    // One notice for one channel. `run_key` is the run that it reports, `last_error` is why it was not sent.
    `create table outbox (dedupe_key text primary key, channel text not null, body text not null,
      tries integer not null default 0, next_try integer not null, sent_at integer, run_key text,
      created_at integer, last_error text, given_up_at integer)`,
    `create index outbox_waiting on outbox (next_try) where sent_at is null and given_up_at is null`,
    `create index outbox_unsent on outbox (created_at) where sent_at is null`,
    `create index outbox_of_run on outbox (run_key)`,
    `create table event (seq integer primary key, at integer not null, run_key text, kind text not null,
      data text not null)`,
    `create index event_of_run on event (run_key, seq)`,
    `create index event_alone on event (kind, at) where run_key is null`,
    `create table log (seq integer primary key, run_key text not null references run (run_key),
      at integer not null, level text not null check (level in ('debug','info','warn','error')), step text,
      text text not null)`,
    `create index log_of_run on log (run_key, seq)`,
    `create index log_by_age on log (at)`,
    // The store's id.
    `create table store (one integer primary key check (one = 1), id text not null)`,
    // Runs of a recipe up to this slot were removed, so a slot without a row may have run.
    `create table pruned (recipe text primary key, until integer not null)`,
    // The last write of each account. With SQLite, hsgate's mark file next to the store also contains the id and these
    // writes.
    `create table account_write (account text primary key, number integer not null, run_key text not null,
      step_id text not null, at integer not null)`,
  ],
  [
    // The order desk. `params`, `why`, `order_ids`, `known` and `absent` are JSON; `ended_at` is null until the state
    // is final.
    `create table intent (id text primary key, account text not null,
      kind text not null check (kind in ('place','amend','cancel')), operation text not null, params text not null,
      fingerprint text not null, why text not null, run_key text, state text not null, order_ids text not null default '[]',
      known text not null default '[]', filled text not null default '0', absent text, created_at integer not null,
      sent_at integer, timeout_ms integer not null, ended_at integer)`,
    `create index intent_open on intent (account, created_at) where ended_at is null`,
    `create index intent_of_account on intent (account, created_at)`,
    `create index intent_of_run on intent (run_key) where run_key is not null`,
    `create index intent_by_end on intent (ended_at) where ended_at is not null`,
    `create table intent_change (intent text not null references intent (id), seq integer not null,
      at integer not null, from_state text, to_state text not null,
      evidence text not null check (evidence in ('desk','answer','list','person')), data text not null,
      primary key (intent, seq))`,
    // A row stops every write of the account.
    `create table halt (account text primary key, why text not null, "by" text not null, at integer not null)`,
  ],
  [
    // Columns for the search for a lost answer. `child_ids`: orders that an order has placed, JSON. `earlier`: the
    // terms before an amendment, JSON. `look_since`: the instant from which the lists are read. `sent_number`: the
    // position in the sequence of the account's writes.
    `alter table intent add column child_ids text not null default '[]'`,
    `alter table intent add column earlier text`,
    `alter table intent add column look_since integer`,
    `alter table intent add column sent_number integer`,
  ],
  [
    // Rebalancing plans. `plan` of an intent is the hash of the plan that the intent is part of.
    `alter table intent add column plan text`,
    `create index intent_of_plan on intent (account, plan) where plan is not null`,
    // `holder` is the process that executes the plan, until `held_until`. `source` is what the plan was made from.
    // `plan`, `terms`, `source`, `arrival`, `notes` and `report` are JSON.
    `create table rebalance (account text not null, hash text not null, plan text not null, terms text not null, source text,
      state text not null check (state in ('planned','approved','running','done','stopped')), run_key text,
      planned_at integer not null, approved_by text, approved_at integer, approved_until integer,
      holder text, held_until integer, started_at integer, deadline_at integer, arrival text not null default '{}',
      notes text not null default '{}', reason text, ended_at integer, report text, primary key (account, hash))`,
    `create index rebalance_by_age on rebalance (account, planned_at)`,
  ],
  [
    // The `id` makes the index cover the whole sort order of open intents. Without it, SQLite reads all intents of the
    // account.
    `drop index intent_open`,
    `create index intent_open on intent (account, created_at, id) where ended_at is null`,
  ],
  // Each pass of a scheduler looks for running plans. The rows of plans are large, so an index is needed.
  [`create index rebalance_running on rebalance (account, hash, holder) where state = 'running'`],
  // With this index, old plans are found without reading the other plans, whose rows are large.
  [`create index rebalance_by_time on rebalance (planned_at)`],
  [
    // `broker_at`: the broker's time when the intent was approved. The day's limits use it, because this machine's
    // clock may have been wrong then.
    `alter table intent add column broker_at integer`,
    `create index intent_by_broker on intent (account, broker_at) where broker_at is not null`,
  ],
];

/** How to adapt the migrations to a database. */
interface MigrateOptions {
  /** Returns whether a table exists. */
  has(table: string): Promise<boolean>;
  /** Adapts a `create table` or `create index` statement to the database. */
  translate(sql: string): string;
  /** Returns a new store id. */
  drawId(): string;
}

/** Runs the missing migrations. If several processes start at the same time, only the first one runs them. */
export async function migrate(store: Store, { has, translate, drawId }: MigrateOptions): Promise<void> {
  const versionOf = async () =>
    (await store.get<{ version: number | null }>("select max(version) as version from migration"))?.version ??
      0;
  // If no migration is missing, begin no transaction: a process that only reads must not wait for the store's lock.
  if (await has("migration") && await versionOf() === migrations.length) return;
  await store.transaction(async () => {
    await store.run(translate("create table if not exists migration (version integer primary key)"));
    const version = await versionOf();
    if (version > migrations.length) {
      throw new StoreError(
        `Cannot open the store "${store.name}": it has version ${version}, but this program supports only up to ${migrations.length}`,
        { code: "newer-store" },
      );
    }
    for (const [index, statements] of migrations.entries()) {
      if (index < version) continue;
      for (const sql of statements) await store.run(translate(sql));
      await store.run("insert into migration (version) values (?)", index + 1);
    }
    await store.run("insert into store (one, id) values (1, ?) on conflict do nothing", drawId());
  });
}
