/**
 * Runs `hsgate halt`, and `hsgate resume` without a recipe.
 *
 * @module
 */
import { resolved } from "../../../lib/confined_paths.ts";
import { haltPath, removeHalt, writeHalt } from "../../../lib/desk/halt.ts";
import { ALL_ACCOUNTS, clearHalt, setHalt } from "../../../lib/desk/queries.ts";
import { messageOf } from "../../../lib/errors.ts";
import { isPostgresUrl } from "../../../lib/store/postgres_url.ts";
import type { Host } from "../../terminal/host.ts";
import { plain } from "../../terminal/print.ts";
import type { HaltInput } from "../orders.ts";
import type { ResumeInput } from "../pause.ts";
import { actorOf } from "../shared/decide.ts";
import { accountOf } from "../shared/desk.ts";
import { loadSettingsOf } from "../shared/session.ts";
import {
  openStore,
  refuseLinkedStore,
  STORE,
  storeExists,
  storeName,
  storeTime,
} from "../shared/store_file.ts";

/** Stops every order write: first with a file, which needs no store and no broker, then with a row of the store. */
export async function halt({ flags, host }: HaltInput): Promise<number> {
  const by = actorOf(flags, host);
  const why = flags.why ?? "no reason given";
  const name = await nameAnyway(flags, host);
  const path = haltPath(name);
  const problems: string[] = [];
  let isFileWritten = false;
  try {
    await refuseLinkedStore(name, flags, host);
    writeHalt(name, `${why} (by ${by})`);
    isFileWritten = true;
  } catch (error) {
    problems.push(`Cannot write the halt file "${path}": ${messageOf(error)}`);
  }
  let isRowWritten = false;
  try {
    isRowWritten = await writeRow(flags, { why, by, host });
  } catch (error) {
    problems.push(`Cannot record the halt in the store: ${messageOf(error)}`);
  }
  for (const problem of problems) host.note(`hsgate: ${plain(problem)}`);
  const isHalted = isFileWritten || isRowWritten;
  // If the store is a file, the halt file beside it stops every process that uses the store. If the store is a
  // database, other machines may use it too, and they do not see the halt file.
  const isOnlyHere = isFileWritten && !isRowWritten && isPostgresUrl(name);
  if (isOnlyHere) host.note('hsgate: only this machine is halted: run "hsgate halt" on the others too');
  if (flags.json) {
    host.out(
      JSON.stringify({ halted: isHalted, why, by, file: isFileWritten ? path : null, store: isRowWritten }),
    );
  } else if (isHalted) host.out(`trading is halted: ${plain(why)}; to continue, run: hsgate resume`);
  return isHalted && !isOnlyHere ? 0 : 1;
}

/** Returns the name of the store, even if the settings cannot be read. */
async function nameAnyway(flags: HaltInput["flags"], host: Host): Promise<string> {
  try {
    return await storeName(flags, host);
  } catch (error) {
    const name = flags.store ?? host.env("HSGATE_STORE") ?? STORE;
    host.note(`hsgate: warning: ${plain(messageOf(error))}; the halt is for the store "${name}"`);
    return name;
  }
}

/**
 * Writes the halt into the store. Returns whether the store has the halt now. The row is for all accounts, because
 * recipes and scripts that use the store may use other accounts than this machine's settings. A missing store gets no
 * row, because no process can write orders with a missing store.
 */
async function writeRow(
  flags: HaltInput["flags"],
  { why, by, host }: { why: string; by: string; host: Host },
): Promise<boolean> {
  if (!await storeExists(flags, host)) return false;
  await using store = await openStore(flags, { host, mustExist: true });
  await setHalt(store, { account: ALL_ACCOUNTS, why, by, at: storeTime(store, host) });
  return true;
}

/** Removes the halt from the store, and then the file: if the store fails, trading stays halted. */
export async function resumeTrading({ flags, host }: ResumeInput): Promise<number> {
  const name = await storeName(flags, host);
  await refuseLinkedStore(name, flags, host);
  const account = await accountOf((await loadSettingsOf(flags, host)).settings);
  let hadRow = false;
  if (await storeExists(flags, host)) {
    await using store = await openStore(flags, { host, mustExist: true });
    hadRow = await clearHalt(store, account);
  }
  const hadFile = await removeHalt(name);
  const changed = hadRow || hadFile;
  // The halt file of a database is in the working folder. Other folders may have their own, which cannot be seen here.
  const isOnlyHere = isPostgresUrl(name);
  const where = isOnlyHere ? " for processes in this folder" : "";
  if (flags.json) host.out(JSON.stringify({ halted: false, changed }));
  else host.out(`${changed ? "trading is resumed" : "trading was not halted"}${where}`);
  if (isOnlyHere) {
    const path = haltPath(name);
    host.note(
      plain(
        `hsgate: the halt file of this folder is "${
          resolved(path)
        }"; processes in another folder stay halted ` +
          `if that folder has a file "${path}": run "hsgate resume" there too`,
      ),
    );
  }
  return 0;
}
