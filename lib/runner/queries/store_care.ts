/**
 * Backs up and verifies stores, and continues with a store that has lost data.
 *
 * @module
 */
import { messageOf } from "../../errors.ts";
import { openSqlite, SqliteStore } from "../../store/sqlite.ts";
import type { Store } from "../../store/store.ts";
import { StoreError } from "../../store/store_error.ts";
import { backupWords, whyNoAccess } from "../../store/file_access.ts";
import { DATABASE_SIDE_FILES } from "../../store/distrust.ts";
import { FOREIGN_TABLES, foreignValueIn, openReadOnly, tablesIn } from "../../store/read_only.ts";
import { damageOf, isBusy } from "../../store/store_error.ts";
import { type Mark, readMark, sizeOf, whyCutOff, whyOlder, whyUnmarked } from "../../store/mark.ts";
import { skipRun } from "./runs.ts";
import { copyStore } from "./store_copy.ts";

/** Rules for the rows of every store. Each has a statement that counts the rows that break the rule. */
const rules: readonly { rule: string; sql: string }[] = [
  {
    rule: "a run that ended has an end time",
    sql: `select count(*) as n from run where state in ('ok','failed','cancelled','unknown','skipped')
      and finished_at is null`,
  },
  {
    rule: "a skipped run has a reason",
    sql: "select count(*) as n from run where state = 'skipped' and reason is null",
  },
  {
    rule: "a running run has a holder and a lease",
    sql: "select count(*) as n from run where state = 'running' and (holder is null or lease_until is null)",
  },
  {
    rule: "a write step was begun once, and once more for each time that the order desk let it begin again",
    sql: `select count(*) as n from step_run s where effect = 'write' and (round <> 0 or attempt > 1 + (
      select count(*) from event e where e.run_key = s.run_key and e.kind = 'resolved'
        and e.data like '%"state":"again"%'))`,
  },
  {
    rule: "a successful run has no unfinished or failed step",
    sql: `select count(*) as n from step_run s join run r on r.run_key = s.run_key and r.round = s.round
      where r.state = 'ok' and s.state in ('begun','failed','unknown') and not exists (
        select 1 from step_run later where later.run_key = s.run_key and later.step_id = s.step_id
          and later.round = s.round and later.attempt > s.attempt)`,
  },
  {
    rule: "a slot of a schedule has one run",
    sql: `select count(*) as n from (select 1 from run where kind in ('live','catchup')
      group by recipe, schedule_id, slot_at having count(*) > 1) as doubled`,
  },
];

/**
 * Returns what is wrong with the file of a store; an empty list if nothing is wrong. Never writes to the mark. Never
 * writes to a file that is damaged or that is not a store.
 */
export async function verifyStoreFile(path: string): Promise<string[]> {
  try {
    const { mark, fault } = markOf(path);
    const cutOff = whyCutOff(path, mark);
    const faults = [...fault ?? [], ...cutOff === undefined ? faultsOfFile(path, mark) : [cutOff]];
    if (faults.length > 0) return faults;
    await using store = await openSqlite(path, { mark: "leave" });
    const older = mark === undefined ? undefined : whyOlder(mark, await store.ownMark());
    return [...older === undefined ? [] : [older], ...await verifyStore(store)];
  } catch (error) {
    const damage = damageOf(error);
    if (damage === undefined) throw error;
    return [damage === "no-database" ? "it is not a store: it is not even a database" : cutOff(error)];
  }
}

/** Returns the mark of a store; returns a fault if the mark cannot be read. */
function markOf(path: string): { mark?: Mark; fault?: string[] } {
  try {
    return { mark: readMark(path) };
  } catch (error) {
    if (error instanceof StoreError) return { fault: ["its mark is damaged"] };
    throw error;
  }
}

const cutOff = (error: unknown) => `it is damaged or cut off: ${messageOf(error)}`;

function faultsOfFile(path: string, mark: Mark | undefined): string[] {
  const size = sizeOf(path);
  if (size === undefined) return ["the file is missing"]; // there is only a mark, and it is damaged
  if (size === 0) return [whyUnmarked(path) ?? "it is not a store: it is empty"];
  const file = openReadOnly(path);
  try {
    const faults = file.prepare("pragma integrity_check").all().map((row) => String(row.integrity_check))
      .filter((text) => text !== "ok").map((text) => `it is damaged: ${text}`);
    if (faults.length > 0) return faults;
    const isStore = file.prepare("select 1 from sqlite_master where type = 'table' and name = 'migration'")
      .get();
    if (isStore !== undefined) {
      const kind = tablesIn(file);
      if (kind === "foreign") return [FOREIGN_TABLES];
      // If the store has a newer version, the caller tries to open it, and the error names the version.
      const value = kind === "newer" ? undefined : foreignValueIn(path);
      return value === undefined ? [] : [value];
    }
    const tables = file.prepare("select count(*) as n from sqlite_master").get()?.n;
    if (tables === 0 && mark !== undefined) return [whyOlder(mark, undefined)!]; // every recorded write is missing
    return [
      `it is not a store: it is ${tables === 0 ? "an empty database" : "the database of another program"}`,
    ];
  } finally {
    file.close();
  }
}

/** Returns what is wrong with a store; an empty list if nothing is. */
export async function verifyStore(store: Store): Promise<string[]> {
  const faults = !(store instanceof SqliteStore)
    ? []
    : (await store.all<{ integrity_check: string }>("pragma integrity_check"))
      .map((row) => row.integrity_check)
      .filter((text) => text !== "ok");
  // PostgreSQL enforces foreign keys itself.
  const orphans = store instanceof SqliteStore ? (await store.all("pragma foreign_key_check")).length : 0;
  if (orphans > 0) faults.push(`${orphans} rows belong to a run that does not exist`);
  for (const { rule, sql } of rules) {
    const count = (await store.get<{ n: number }>(sql))?.n ?? 0;
    if (count > 0) faults.push(`${count} rows break the rule "${rule}"`);
  }
  return faults;
}

/**
 * Copies a store that may be in use, and verifies the copy before it gets its final name.
 *
 * @throws {StoreError} If the target exists or cannot be written, or the copy is damaged.
 */
export async function backupStore(store: Store, path: string): Promise<void> {
  if (exists(path)) {
    throw new StoreError(`Cannot write the backup "${path}": a file of that name exists already`, {
      code: "file-exists",
    });
  }
  const unfinished = `${path}.part`;
  try {
    for (const each of ["", ...DATABASE_SIDE_FILES].map((ending) => `${unfinished}${ending}`)) {
      if (exists(each)) Deno.removeSync(each);
    }
    if (store instanceof SqliteStore) await store.copyTo(unfinished);
    else await copyToFile(store, unfinished);
  } catch (error) {
    throw notWritten(path, error);
  }
  const faults = await checkCopy(unfinished);
  if (faults.length > 0) {
    throw new StoreError(`Cannot trust the backup "${unfinished}": ${faults.join("; ")}`, {
      code: "damaged-store",
    });
  }
  Deno.renameSync(unfinished, path);
}

/** Copies a store that is not a SQLite file into a new SQLite file. */
async function copyToFile(store: Store, path: string): Promise<void> {
  await using copy = await openSqlite(path, { mark: "leave" });
  await copyStore(store, copy);
}

/**
 * Returns the error for a backup that could not be written. If the store itself is the cause, returns its error
 * unchanged.
 */
function notWritten(path: string, error: unknown): unknown {
  if (damageOf(error) !== undefined || isBusy(error)) return error;
  const why = whyNoAccess(path, backupWords) ?? messageOf(error);
  try {
    Deno.removeSync(`${path}.part`);
  } catch {
    // The `.part` file was never created, or the disk is read-only.
  }
  return new StoreError(`Cannot write the backup "${path}": ${why}`, { code: "no-access", cause: error });
}

async function checkCopy(path: string): Promise<string[]> {
  await using copy = await openSqlite(path, { mark: "leave" });
  return await verifyStore(copy);
}

/** Who accepts the loss of data, and why. */
interface Acceptance {
  actor: string;
  /** What the actor saw. */
  because: string;
  now: number;
}

/**
 * Accepts a store that has lost data: it lacks writes that its mark file records. Writes a new mark. To make sure that
 * no write is sent twice, starts all schedules from now, skips waiting writes, and sets the outcome of running writes
 * to unknown.
 *
 * @returns What is lost; `undefined` if the store lacks nothing.
 * @throws {StoreError} If the file is cut off and cannot be used at all.
 */
export async function acceptLoss(
  path: string,
  { actor, because, now }: Acceptance,
): Promise<string | undefined> {
  const { mark, fault } = markOf(path);
  const size = sizeOf(path) ?? 0;
  const broken = whyCutOff(path, undefined);
  if (broken !== undefined) {
    const file = size > 0 ? path : `${path}-wal`;
    throw new StoreError(
      `Cannot continue with the store "${path}": ${broken}; move "${file}" elsewhere, and try again`,
      { code: "lost-store" },
    );
  }
  if (mark === undefined && fault === undefined) return undefined;
  const cutOff = whyCutOff(path, mark);
  await using store = await openSqlite(path, { mark: "replace" });
  const lost = fault?.[0] ?? cutOff ?? whyOlder(mark!, await store.ownMark()); // the mark or its fault is defined
  if (lost === undefined) return undefined;
  await store.transaction(async () => {
    await store.event(now, "loss_accepted", { actor, because, lost, mark });
    for (const [account, { number, run, step, at }] of Object.entries(mark?.lastWrites ?? {})) {
      await store.run(
        `insert into account_write (account, number, run_key, step_id, at) values (?, ?, ?, ?, ?)
          on conflict (account) do update set number = excluded.number where account_write.number < excluded.number`,
        account,
        number,
        run,
        step,
        Date.parse(at) || now,
      );
    }
    await store.run("update schedule set watermark = ? where watermark < ?", now, now);
    const waiting = await store.all<{ run_key: string }>(
      "select run_key from run where state in ('due', 'waiting_approval') and class = 'write'",
    );
    for (const { run_key: runKey } of waiting) await skipRun(store, runKey, "loss_accepted", now);
    await store.run(
      `update run set state = 'unknown', reason = 'loss_accepted', finished_at = ?, holder = null, lease_until = null
        where state = 'running' and class = 'write'`,
      now,
    );
  });
  await store.mark();
  return lost;
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    throw error;
  }
}
