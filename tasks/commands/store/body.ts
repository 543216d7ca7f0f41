/**
 * Runs `hsgate store backup`, `store verify`, `store copy` and `store accept`.
 *
 * @module
 */
import {
  acceptLoss,
  backupStore,
  verifyStore,
  verifyStoreFile,
} from "../../../lib/runner/queries/store_care.ts";
import { whyUnmarked } from "../../../lib/store/mark.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { copyStore } from "../../../lib/runner/queries/store_copy.ts";
import { isPostgresUrl } from "../../../lib/store/postgres_url.ts";
import type { Host } from "../../terminal/host.ts";
import type { StoreAcceptInput, StoreBackupInput, StoreCopyInput, StoreVerifyInput } from "../store.ts";
import { plain } from "../../terminal/print.ts";
import { actorOf } from "../shared/decide.ts";
import { refuseLinkedOut } from "../shared/linked_out.ts";
import { existingStore, openStore, recordStore, storeError, withStoreErrors } from "../shared/store_file.ts";
import { type StoreFlags, storePath } from "../shared/session.ts";

/** Copies the store to a file. */
export async function backup({ args: [file = ""], flags, host }: StoreBackupInput): Promise<number> {
  refuseLinkedOut(file); // somebody else may have created a link of this name
  await using store = await openStore(flags, { host, mustExist: true });
  await backupStore(store, file).catch((error) => {
    throw storeError(store.name, error);
  });
  if (flags.json) host.out(JSON.stringify({ file, ok: true }));
  else host.out(`wrote "${file}" and verified it`);
  return 0;
}

/** Verifies the store; returns 7 if it is damaged. */
export async function verify({ flags, host }: StoreVerifyInput): Promise<number> {
  const named = await storePath(flags, host) ?? "";
  if (isPostgresUrl(named)) return await verifyDatabase(flags, host);
  const path = await existingStore(flags, host);
  const faults = await withStoreErrors(path, async () => await verifyStoreFile(path));
  const unmarked = faults.length === 0 ? whyUnmarked(path) : undefined;
  const warnings = unmarked === undefined ? [] : [unmarked];
  if (flags.json) host.out(JSON.stringify({ ok: faults.length === 0, faults, warnings }));
  else if (faults.length === 0) host.out(`"${path}" is consistent`);
  else for (const fault of faults) host.out(`${path}: ${plain(fault)}`);
  for (const warning of warnings) host.note(`hsgate: warning: ${path}: ${plain(warning)}`);
  if (faults.length === 0) return 0;
  host.note(
    "  -> Stop the scheduler, move this file elsewhere, and copy the last backup to the path of this file. " +
      'The backup does not contain what ran after it: check the orders since then, and then run "store accept"',
  );
  return 7;
}

async function verifyDatabase(flags: StoreFlags, host: Host): Promise<number> {
  await using store = await openStore(flags, { host, mustExist: true });
  const faults = await verifyStore(store);
  if (flags.json) host.out(JSON.stringify({ ok: faults.length === 0, faults, warnings: [] }));
  else if (faults.length === 0) host.out(`"${store.name}" is consistent`);
  else for (const fault of faults) host.out(`${store.name}: ${plain(fault)}`);
  return faults.length === 0 ? 0 : 7;
}

/** Copies every row of a store into an empty one, and verifies the copy. */
export async function copy({ flags, host }: StoreCopyInput): Promise<number> {
  const { from, to } = flags;
  if (from === undefined || to === undefined) {
    throw new UsageError("Cannot copy: name the store with --from, and an empty one with --to");
  }
  if (!isPostgresUrl(to)) refuseLinkedOut(to);
  await using source = await openStore({ ...flags, store: from }, { host, mustExist: true });
  await using target = await openStore({ ...flags, store: to }, { host, mustExist: false });
  const tables = await copyStore(source, target);
  await target.mark();
  const rows = tables.reduce((sum, each) => sum + each.rows, 0);
  if (flags.json) host.out(JSON.stringify({ from: source.name, to: target.name, tables }));
  else {host.out(
      `copied ${rows} rows of ${tables.length} tables to "${target.name}"; row counts and digests match`,
    );}
  return 0;
}

/** Accepts a store that lacks writes that its mark records. */
export async function accept({ flags, host }: StoreAcceptInput): Promise<number> {
  const { because } = flags;
  if (because === undefined || because.trim() === "") {
    throw new UsageError('Cannot accept the loss without a reason: write --because "what you checked"');
  }
  const path = await existingStore(flags, host);
  const actor = actorOf(flags, host);
  const lost = await withStoreErrors(
    path,
    async () => await acceptLoss(path, { actor, because, now: host.now() }),
  );
  if (lost === undefined) {
    throw new UsageError(`Cannot accept a loss of "${path}": it contains every write that its mark records`);
  }
  // A file that was empty is now a new store with a new id, so its trust must be recorded.
  await recordStore(path, flags, host);
  if (flags.json) host.out(JSON.stringify({ store: path, lost, actor, because }));
  else {
    host.out(`"${path}" is accepted, although ${plain(lost)}`);
    host.out(
      "no schedule catches up older slots; waiting writes are skipped; pauses that the store does not contain are lost",
    );
  }
  return 0;
}
