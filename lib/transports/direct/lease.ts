/**
 * The lease of the trade connection: an account has one, so the second program on a machine is stopped before it
 * takes the connection away from the first.
 *
 * Two files lie in the folder. `trade-….lock` is locked for as long as the program runs; the system takes the lock
 * back when the program ends in whatever way, so that no lease is ever stale and no process id has to be judged.
 * `trade-….json` says who holds it, and can be read at any time. The name comes from the developer's key, of which
 * each account has one, and gives nothing away.
 *
 * @module
 */
import { TransportError } from "../../errors.ts";

/** Who holds a lease. */
export interface LeaseHolder {
  /** Process id. */
  pid: number;
  /** What it is, in its own words. */
  program: string;
  /** When it took the lease, `2025-08-15T01:30:05.000Z`. */
  since: string;
}

/** A lease that is held. */
export interface Lease extends AsyncDisposable {
  readonly holder: LeaseHolder;
}

/** Details of {@linkcode takeLease}. */
export interface LeaseOptions {
  folder: string;
  /** Name of the account, as {@linkcode leaseName} makes it. */
  name: string;
  program: string;
  /** Unix milliseconds. */
  now: number;
}

/** Folder of leases when none is named. */
export function defaultLeaseFolder(env: (name: string) => string | undefined): string {
  const [state, home] = [env("XDG_STATE_HOME"), env("HOME") ?? env("USERPROFILE")];
  if (state !== undefined && state !== "") return `${state}/hsgate`;
  if (home !== undefined && home !== "") return `${home}/.local/state/hsgate`;
  throw new TypeError(
    "Cannot find a folder for the lease of the trade connection: name one (option leaseFolder), or false for none",
  );
}

/** Name of an account's lease: part of a digest of the developer's public key. */
export async function leaseName(publicKey: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(publicKey));
  return `trade-${new Uint8Array(digest).toHex().slice(0, 12)}`;
}

/**
 * Takes the lease, or says who holds it.
 *
 * @throws {TransportError} With code `lease-held`.
 */
export async function takeLease({ folder, name, program, now }: LeaseOptions): Promise<Lease> {
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = await Deno.open(`${folder}/${name}.lock`, {
    create: true,
    read: true,
    write: true,
    mode: 0o600,
  });
  if (!await tryToLock(lock)) {
    lock.close();
    throw new TransportError(
      `Cannot open the trade connection: ${
        describeHolder(await readHolder(folder, name))
      }; an account has one`,
      { code: "lease-held", transport: "direct" },
    );
  }
  const holder: LeaseHolder = { pid: Deno.pid, program, since: new Date(now).toISOString() };
  const path = `${folder}/${name}.json`;
  try {
    // Renamed into its place, so that a reader never sees half of it.
    await Deno.writeTextFile(`${path}.new`, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
    await Deno.rename(`${path}.new`, path);
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

/** Looks at a lock that another program has for good before it counts as held; that program may just be ending. */
const LOOKS = 3;
/** Most attempts while somebody merely asks who holds the lease, which shares the lock for a moment. */
const MOST_ATTEMPTS = 200;

async function tryToLock(lock: Deno.FsFile): Promise<boolean> {
  for (let attempt = 0, held = 0; attempt < MOST_ATTEMPTS && held < LOOKS; attempt++) {
    if (await lock.tryLock(true)) return true;
    if (await lock.tryLock(false)) await lock.unlock();
    else held++;
    await new Promise((resolve) => setTimeout(resolve, 5 + held * 10));
  }
  return false;
}

/** Says who holds a lease; nothing when it is free, or was left behind by a program that has ended. */
export async function leaseHolder(folder: string, name: string): Promise<LeaseHolder | undefined> {
  let lock: Deno.FsFile;
  try {
    lock = await Deno.open(`${folder}/${name}.lock`, { read: true });
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

/** All leases of a folder that are held, by their names. */
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

/** Writes a holder for a person, such as `process 4711 ("hsgate watch") holds it since 2025-08-15T01:30:05.000Z`. */
export function describeHolder(holder: LeaseHolder | undefined): string {
  if (holder === undefined || holder.pid === 0) return "another process holds it";
  const { pid, program, since } = holder;
  return `${pid === Deno.pid ? "this process" : `process ${pid}`} ("${program}") holds it since ${since}`;
}

async function readHolder(folder: string, name: string): Promise<LeaseHolder | undefined> {
  try {
    const value: unknown = JSON.parse(await Deno.readTextFile(`${folder}/${name}.json`));
    if (typeof value !== "object" || value === null) return undefined;
    const members = new Map<string, unknown>(Object.entries(value));
    const [pid, program, since] = [members.get("pid"), members.get("program"), members.get("since")];
    if (typeof pid !== "number" || typeof program !== "string" || typeof since !== "string") return undefined;
    return { pid, program, since };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
