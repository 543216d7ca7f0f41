/**
 * Care of the ledger: copies that can be trusted, whether it holds together, and going on without what was lost.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { Ledger, LedgerError } from "./ledger.ts";
import { backupWords, whyNoAccess } from "./ledger_access.ts";
import { damageOf, isBusy } from "./ledger_damage.ts";
import { type Mark, readMark, sizeOf, whyCutOff, whyOlder, whyUnmarked } from "./ledger_mark.ts";
import { skipRun } from "./run_rows.ts";

/** What is asked of every ledger, and a statement that counts where it does not hold. */
const rules: readonly { rule: string; sql: string }[] = [
  {
    rule: "a run that ended says when",
    sql: `select count(*) as n from run where state in ('ok','failed','cancelled','unknown','skipped')
      and finished_at is null`,
  },
  {
    rule: "a run that was skipped says why",
    sql: "select count(*) as n from run where state = 'skipped' and reason is null",
  },
  {
    rule: "a running run has a holder and a lease",
    sql: "select count(*) as n from run where state = 'running' and (holder is null or lease_until is null)",
  },
  {
    rule: "a write step was begun once",
    sql: "select count(*) as n from step_run where effect = 'write' and (attempt <> 1 or round <> 0)",
  },
  {
    rule: "a run that ended well has no step that is open or failed last",
    sql: `select count(*) as n from step_run s join run r on r.run_key = s.run_key and r.round = s.round
      where r.state = 'ok' and s.state in ('begun','failed','unknown') and not exists (
        select 1 from step_run later where later.run_key = s.run_key and later.step_id = s.step_id
          and later.round = s.round and later.attempt > s.attempt)`,
  },
  {
    rule: "a slot of a schedule has one run",
    sql: `select count(*) as n from (select 1 from run where kind in ('live','catchup')
      group by recipe, schedule_id, slot_at having count(*) > 1)`,
  },
];

/**
 * Returns what is wrong with the file of a ledger; nothing when all is well. A file that is damaged, or that is no
 * ledger, is only read, and so is its mark.
 */
export function verifyLedgerFile(path: string): string[] {
  try {
    const { mark, fault } = markOf(path);
    const cutOff = whyCutOff(path, mark);
    const faults = [...fault ?? [], ...cutOff === undefined ? faultsOfFile(path, mark) : [cutOff]];
    if (faults.length > 0) return faults;
    using ledger = new Ledger(path, { mark: "leave" });
    const older = mark === undefined ? undefined : whyOlder(mark, ledger.ownMark());
    return [...older === undefined ? [] : [older], ...verifyLedger(ledger)];
  } catch (error) {
    const damage = damageOf(error);
    if (damage === undefined) throw error;
    return [damage === "no-database" ? "it is no ledger: it is not even a database" : cutOff(error)];
  }
}

/** The mark of a ledger; a fault where it cannot be read. */
function markOf(path: string): { mark?: Mark; fault?: string[] } {
  try {
    return { mark: readMark(path) };
  } catch (error) {
    if (error instanceof LedgerError) return { fault: ["its mark is damaged"] };
    throw error;
  }
}

const cutOff = (error: unknown) =>
  `it is damaged or cut off: ${error instanceof Error ? error.message : error}`;

function faultsOfFile(path: string, mark: Mark | undefined): string[] {
  const size = sizeOf(path);
  if (size === undefined) return ["the file is gone"]; // and has left a mark that is damaged
  if (size === 0) return [whyUnmarked(path) ?? "it is no ledger: it is empty"];
  const file = new DatabaseSync(path, { readOnly: true });
  try {
    const faults = file.prepare("pragma integrity_check").all().map((row) => String(row.integrity_check))
      .filter((text) => text !== "ok").map((text) => `it is damaged: ${text}`);
    if (faults.length > 0) return faults;
    const isLedger = file.prepare("select 1 from sqlite_master where type = 'table' and name = 'migration'")
      .get();
    if (isLedger !== undefined) return [];
    const tables = file.prepare("select count(*) as n from sqlite_master").get()?.n;
    if (tables === 0 && mark !== undefined) return [whyOlder(mark, undefined)!]; // it lacks everything
    return [
      `it is no ledger: it is ${tables === 0 ? "an empty database" : "the database of another program"}`,
    ];
  } finally {
    file.close();
  }
}

/** Returns what is wrong with a ledger; nothing when all is well. */
export function verifyLedger(ledger: Ledger): string[] {
  const faults = ledger.all<{ integrity_check: string }>("pragma integrity_check")
    .map((row) => row.integrity_check)
    .filter((text) => text !== "ok");
  const orphans = ledger.all("pragma foreign_key_check").length;
  if (orphans > 0) faults.push(`${orphans} rows belong to a run that is not there`);
  for (const { rule, sql } of rules) {
    const count = ledger.get<{ n: number }>(sql)?.n ?? 0;
    if (count > 0) faults.push(`${rule}: not so in ${count}`);
  }
  return faults;
}

/**
 * Copies a ledger that may be in use, and checks the copy before it gets its name.
 *
 * @throws {LedgerError} When the target is there already or cannot be written, or the copy does not hold together.
 */
export async function backupLedger(ledger: Ledger, path: string): Promise<void> {
  if (exists(path)) {
    throw new LedgerError(`Cannot write the backup "${path}": there is a file of that name`, {
      code: "file-exists",
    });
  }
  const unfinished = `${path}.part`;
  try {
    if (exists(unfinished)) Deno.removeSync(unfinished);
    await ledger.copyTo(unfinished);
  } catch (error) {
    throw notWritten(path, error);
  }
  const faults = checkCopy(unfinished);
  if (faults.length > 0) {
    throw new LedgerError(`Cannot trust the backup "${unfinished}": ${faults.join("; ")}`, {
      code: "damaged-ledger",
    });
  }
  Deno.renameSync(unfinished, path);
}

/** The error of a backup that could not be written: it names the target, unless the ledger itself is the cause. */
function notWritten(path: string, error: unknown): unknown {
  if (damageOf(error) !== undefined || isBusy(error)) return error;
  const why = whyNoAccess(path, backupWords) ?? (error instanceof Error ? error.message : String(error));
  try {
    Deno.removeSync(`${path}.part`);
  } catch {
    // It was never made, or the disk takes no change.
  }
  return new LedgerError(`Cannot write the backup "${path}": ${why}`, { code: "no-access", cause: error });
}

function checkCopy(path: string): string[] {
  using copy = new Ledger(path, { mark: "leave" });
  return verifyLedger(copy);
}

/** Who goes on with a ledger that has lost something, and why. */
export interface Acceptance {
  actor: string;
  /** What the actor saw. */
  because: string;
  now: number;
}

/**
 * Goes on with a ledger that lacks what its mark names: the mark is made anew. Schedules begin now, so that no write
 * that has been sent is sent again; writes that wait are skipped, and those that were running are unknown.
 *
 * @returns What is lost; nothing when the ledger lacks nothing.
 * @throws {LedgerError} When the file is cut off, and there is nothing to go on with.
 */
export function acceptLoss(path: string, { actor, because, now }: Acceptance): string | undefined {
  const { mark, fault } = markOf(path);
  const size = sizeOf(path) ?? 0;
  const broken = whyCutOff(path, undefined);
  if (broken !== undefined) {
    const file = size > 0 ? path : `${path}-wal`;
    throw new LedgerError(
      `Cannot go on with the ledger "${path}": ${broken}; move "${file}" elsewhere, and try again`,
      { code: "lost-ledger" },
    );
  }
  if (mark === undefined && fault === undefined) return undefined;
  const gone = whyCutOff(path, mark);
  using ledger = new Ledger(path, { mark: "replace" });
  const lost = fault?.[0] ?? gone ?? whyOlder(mark!, ledger.ownMark()); // one of mark and fault is there
  if (lost === undefined) return undefined;
  ledger.transaction(() => {
    ledger.event(now, "loss_accepted", { actor, because, lost, mark });
    for (const [account, { number, run, step, at }] of Object.entries(mark?.lastWrites ?? {})) {
      ledger.run(
        `insert into account_write (account, number, run_key, step_id, at) values (?, ?, ?, ?, ?)
          on conflict (account) do update set number = excluded.number where account_write.number < excluded.number`,
        account,
        number,
        run,
        step,
        Date.parse(at) || now,
      );
    }
    ledger.run("update schedule set watermark = ? where watermark < ?", now, now);
    const waiting = ledger.all<{ run_key: string }>(
      "select run_key from run where state in ('due', 'waiting_approval') and class = 'write'",
    );
    for (const { run_key: runKey } of waiting) skipRun(ledger, runKey, "maintenance", now);
    ledger.run(
      `update run set state = 'unknown', reason = 'maintenance', finished_at = ?, holder = null, lease_until = null
        where state = 'running' and class = 'write'`,
      now,
    );
  });
  ledger.mark();
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
