/**
 * Checks which stores may be used. No other user may be able to write to a store. If nobody named a store and the
 * program found it in its working folder, this user must have created or trusted it there.
 *
 * @module
 */
import { shellHint } from "../../shell_words.ts";
import { distrustOfDatabase } from "../../owned_files.ts";
import { exists } from "../../private_files.ts";
import { damageOf } from "../../store/store_error.ts";
import { markPath, sizeOf } from "../../store/mark.ts";
import { distrustBeside } from "../../store/distrust.ts";
import { STORE_SIDE_FILES, storeIdIn } from "../../store/read_only.ts";
import { TrustError, type TrustFile } from "./trust_file.ts";
import { isLinkOut, placeOf } from "./trusted_files.ts";

/**
 * Returns why others could have written a store or the files next to it, and what to do; `undefined` if nobody could.
 * Opens only the rollback journal, if there is one.
 */
export async function distrustOfStore(path: string): Promise<string | undefined> {
  return await distrustOfDatabase(markPath(path).slice(0, -".mark".length), STORE_SIDE_FILES) ??
    distrustBeside(path);
}

/**
 * Checks a store before it is opened.
 *
 * @param options `needsTrust` is set for a store that nobody named. This user must have created or trusted such a
 * store.
 * @returns Whether the store is to be created.
 * @throws {TrustError} If others could have written the store, or somebody else created it.
 */
export async function checkStore(
  path: string,
  { needsTrust, trust }: { needsTrust: boolean; trust: TrustFile },
): Promise<{ isNew: boolean }> {
  const refuse = (why: string) =>
    new TrustError(`Cannot use the store "${path}"${needsTrust ? " of this folder" : ""}: ${why}`, {
      code: "untrusted",
    });
  const distrusted = await distrustOfStore(path);
  if (distrusted !== undefined) throw refuse(distrusted);
  const isNew = !sizeOf(path) && !exists(markPath(path));
  if (!needsTrust) return { isNew };
  if (await isLinkOut(path)) {
    throw refuse("it is a link to a file outside the folder; if that file is yours, name it with --store");
  }
  if (isNew) return { isNew };
  const advice = `if it is yours, run "hsgate trust ${shellHint(path)}", or name it with --store`;
  const record = (await trust.read()).stores.get(await placeOf(path));
  if (record === undefined) {
    throw refuse(
      `you did not create it on this machine, so its runs may come from somebody else; ${advice}`,
    );
  }
  if (sizeOf(path) && readId(path, record.id) !== record.id) {
    throw refuse(`another store was here when you created or trusted it; ${advice}`);
  }
  return { isNew };
}

/**
 * Returns the id of a store. For a damaged store, returns the expected id, because the damage is reported when the
 * store is opened.
 */
function readId(path: string, expected: string): string | undefined {
  try {
    return storeIdIn(path);
  } catch (error) {
    if (damageOf(error) === undefined) throw error;
    return expected;
  }
}

/** Records a store as the user's own. @throws {TrustError} If the record cannot be written. */
export async function trustStore(
  trust: TrustFile,
  { id, path, at }: { id: string; path: string; at: number },
): Promise<void> {
  const place = await placeOf(path);
  await trust.change(({ stores }) => void stores.set(place, { id, trustedAt: new Date(at).toISOString() }));
}

/** Returns whether a recorded store is still the trusted one, and no other user could write it. */
export async function isSameStore(path: string, id: string): Promise<boolean> {
  try {
    return await distrustOfStore(path) === undefined && storeIdIn(path) === id;
  } catch {
    return false; // a command that uses the store shows the reason
  }
}
