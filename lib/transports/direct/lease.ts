/**
 * Manages the lease of the trade connection. An account has only one such connection. The lease stops a second
 * program on the same machine before it takes the connection from the first program.
 *
 * The folder contains two files. `trade-….lock` is locked while the program runs. The system releases the lock when
 * the program ends for any reason. So a lease is never stale, and nobody has to check process ids. `trade-….json`
 * describes the holder and can be read at any time. The file names contain a digest of the account's developer key,
 * which does not reveal the key.
 *
 * @module
 */
import { isAbsolute } from "../../confined_paths.ts";
import { TransportError } from "../../errors.ts";
import { readOwned } from "../../owned_files.ts";
import { isLink, openExistingLock, openLock, replaceFile } from "../../private_files.ts";
import { systemMachine, wait } from "../../time.ts";

/** The holder of a lease. */
export interface LeaseHolder {
  /** Process id. */
  pid: number;
  /** Name that the program gives itself. */
  program: string;
  /** When it acquired the lease, `2025-08-15T01:30:05.000Z`. */
  since: string;
}

/** An acquired lease. */
export interface Lease extends AsyncDisposable {
  readonly holder: LeaseHolder;
}

/** Options of {@linkcode takeLease}. */
interface LeaseOptions {
  folder: string;
  /** Name of the lease, from {@linkcode leaseName}. */
  name: string;
  program: string;
  /** Unix milliseconds. */
  now: number;
}

/** Returns the default folder for leases. */
export function defaultLeaseFolder(env: (name: string) => string | undefined): string {
  const [state, home] = [env("XDG_STATE_HOME"), env("HOME") ?? env("USERPROFILE")];
  // In a relative folder, each working folder would have its own lease.
  if (state !== undefined && isAbsolute(state)) return `${state}/hsgate`;
  if (home !== undefined && isAbsolute(home)) return `${home}/.local/state/hsgate`;
  throw new TypeError(
    "Cannot find a folder for the lease of the trade connection: set the option leaseFolder to an absolute folder, " +
      "or to false to use no lease",
  );
}

/** Returns the name of an account's lease: part of a digest of the developer's public key. */
export async function leaseName(publicKey: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(publicKey));
  return `trade-${new Uint8Array(digest).toHex().slice(0, 12)}`;
}

/**
 * Acquires the lease.
 *
 * @throws {TransportError} With code `lease-held` if another program holds it; the message names the holder.
 */
export async function takeLease({ folder, name, program, now }: LeaseOptions): Promise<Lease> {
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = openLock(`${folder}/${name}.lock`);
  if (!await tryToLock(lock)) {
    lock.close();
    throw new TransportError(
      `Cannot open the trade connection: ${
        describeHolder(await readHolder(folder, name))
      }; an account has only one trade connection, so close the connection of that program first`,
      { code: "lease-held", transport: "direct" },
    );
  }
  const holder: LeaseHolder = { pid: Deno.pid, program, since: new Date(now).toISOString() };
  const path = `${folder}/${name}.json`;
  try {
    replaceFile(path, `${JSON.stringify(holder)}\n`);
  } catch (error) {
    lock.close();
    throw error;
  }
  return {
    holder,
    async [Symbol.asyncDispose]() {
      await Deno.remove(path).catch((error) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }).finally(() => lock.close());
    },
  };
}

/**
 * The lease counts as held after this number of checks that found an exclusive lock. One check is not enough, because
 * the holder may just be ending.
 */
const MOST_HELD = 3;
/**
 * Maximum number of attempts in all. An attempt that finds only a shared lock does not count as held, because
 * {@linkcode leaseHolder} takes one for a moment.
 */
const MOST_ATTEMPTS = 200;

async function tryToLock(lock: Deno.FsFile): Promise<boolean> {
  for (let attempt = 0, held = 0; attempt < MOST_ATTEMPTS && held < MOST_HELD; attempt++) {
    if (await lock.tryLock(true)) return true;
    if (await lock.tryLock(false)) await lock.unlock();
    else held++;
    await wait(systemMachine, 5 + held * 10);
  }
  return false;
}

/** Returns the holder of a lease, or `undefined` if the lease is free. */
export async function leaseHolder(folder: string, name: string): Promise<LeaseHolder | undefined> {
  let lock: Deno.FsFile;
  try {
    lock = await openExistingLock(`${folder}/${name}.lock`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  try {
    if (await lock.tryLock(false)) return undefined;
    return await readHolder(folder, name) ?? { pid: 0, program: "unknown", since: "" };
  } finally {
    lock.close();
  }
}

/** Returns all held leases of a folder, by name. */
export async function leaseHolders(folder: string): Promise<Map<string, LeaseHolder>> {
  const holders = new Map<string, LeaseHolder>();
  try {
    for await (const { name } of Deno.readDir(folder)) {
      if (!name.endsWith(".lock")) continue;
      const lease = name.slice(0, -".lock".length);
      const holder = await leaseHolder(folder, lease);
      if (holder !== undefined) holders.set(lease, holder);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return holders;
}

/**
 * Describes a holder for a message, such as `process 4711 ("hsgate watch") has used it since 2025-08-15T01:30:05.000Z`.
 * "It" is the trade connection.
 */
export function describeHolder(holder: LeaseHolder | undefined): string {
  if (holder === undefined || holder.pid === 0) return "another process uses it";
  const { pid, program, since } = holder;
  return `${pid === Deno.pid ? "this process" : `process ${pid}`} ("${program}") has used it since ${since}`;
}

/** Maximum size of a holder's description, which is normally far smaller. */
const MOST_BYTES = 64 * 1024;

/** Returns the described holder; `undefined` if the description is missing, invalid or could be another user's. */
async function readHolder(folder: string, name: string): Promise<LeaseHolder | undefined> {
  const path = `${folder}/${name}.json`;
  try {
    const file = isLink(path) ? undefined : await readOwned(path, { mostBytes: MOST_BYTES });
    if (file === undefined || file.distrusted !== undefined) return undefined;
    const value: unknown = JSON.parse(file.text);
    if (typeof value !== "object" || value === null) return undefined;
    const members = new Map<string, unknown>(Object.entries(value));
    const [pid, program, since] = [members.get("pid"), members.get("program"), members.get("since")];
    if (typeof pid !== "number" || typeof program !== "string" || typeof since !== "string") return undefined;
    return { pid, program, since };
  } catch (error) {
    // Not a regular file, too large, or not JSON: the lock still shows that the lease is held.
    if (error instanceof TypeError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
