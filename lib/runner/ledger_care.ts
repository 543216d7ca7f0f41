/**
 * Care of the ledger: copies that can be trusted, and whether it holds together.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { Ledger, LedgerError } from "./ledger.ts";
import { damageOf } from "./ledger_damage.ts";

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
 * ledger, is only read.
 */
export function verifyLedgerFile(path: string): string[] {
  try {
    const faults = faultsOfFile(path);
    if (faults.length > 0) return faults;
    using ledger = new Ledger(path);
    return verifyLedger(ledger);
  } catch (error) {
    const damage = damageOf(error);
    if (damage === undefined) throw error;
    return [damage === "no-database" ? "it is no ledger: it is not even a database" : cutOff(error)];
  }
}

const cutOff = (error: unknown) =>
  `it is damaged or cut off: ${error instanceof Error ? error.message : error}`;

function faultsOfFile(path: string): string[] {
  if (Deno.statSync(path).size === 0) return ["it is no ledger: it is empty"];
  const file = new DatabaseSync(path, { readOnly: true });
  try {
    const faults = file.prepare("pragma integrity_check").all().map((row) => String(row.integrity_check))
      .filter((text) => text !== "ok").map((text) => `it is damaged: ${text}`);
    if (faults.length > 0) return faults;
    const isLedger = file.prepare("select 1 from sqlite_master where type = 'table' and name = 'migration'")
      .get();
    return isLedger === undefined ? ["it is no ledger: it is the database of another program"] : [];
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
 * @throws {LedgerError} When the target is there already, or the copy does not hold together.
 */
export async function backupLedger(ledger: Ledger, path: string): Promise<void> {
  if (exists(path)) {
    throw new LedgerError(`Cannot write the backup "${path}": there is a file of that name`, {
      code: "file-exists",
    });
  }
  const unfinished = `${path}.part`;
  if (exists(unfinished)) Deno.removeSync(unfinished);
  await ledger.copyTo(unfinished);
  const faults = checkCopy(unfinished);
  if (faults.length > 0) {
    throw new LedgerError(`Cannot trust the backup "${unfinished}": ${faults.join("; ")}`, {
      code: "damaged-ledger",
    });
  }
  Deno.renameSync(unfinished, path);
}

function checkCopy(path: string): string[] {
  using copy = new Ledger(path);
  return verifyLedger(copy);
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
