/**
 * Blocks logins for all processes of a store after another device took the login over, or after the broker refused a
 * login.
 *
 * A login that was taken over stays blocked until a person releases it, because two programs would keep taking it from
 * each other. After a wrong password the login stays blocked until the password changes. After any other refusal the
 * login is tried again, after a wait that grows with each refusal.
 *
 * @module
 */
import { type EventData, lastEventData } from "../queries/events.ts";
import { endHold, endLoginHolds, findHold, setFirstHold, setHold } from "../queries/claims.ts";
import { BusyError, LoginRefusedError } from "../../errors.ts";
import type { CompiledRecipe } from "../../recipes/compiled.ts";
import { showInstant } from "../../calendars/mod.ts";
import type { Store } from "../../store/store.ts";
import { loginWaitMs } from "../../transports/login_refusals.ts";
import { shellHint } from "../../shell_words.ts";

/** Pause reason of a recipe whose login was taken over. */
export const LOGIN_TAKEN_OVER = "another device took over the login";

const TAKEN_OVER = "displaced:";
/** The last instant that JavaScript can represent. */
const FOREVER = 8.64e15;

/** Returns whether a recipe needs a login. A recipe of local steps only, such as notices, does not. */
export function asksBroker({ steps }: Pick<CompiledRecipe, "steps">): boolean {
  return steps.some(({ effect }) => effect !== "local");
}

/**
 * Blocks the login of an account that another device has taken over. The block belongs to the given run. Call it within
 * a transaction; a run that found the login taken over calls it in its last transaction.
 */
export async function holdLogin(
  store: Store,
  { account, runKey, now }: { account: string; runKey: string; now: number },
): Promise<void> {
  await setFirstHold(store, { name: `${TAKEN_OVER}${account}`, runKey, until: FOREVER });
  await store.event(now, "displaced", { account }, runKey);
}

/** Returns the run that found the login taken over; `undefined` if the login is not blocked for this reason. */
export async function takenOverBy(store: Store, account: string): Promise<string | undefined> {
  return (await findHold(store, `${TAKEN_OVER}${account}`))?.holder;
}

/** Ends every block of a login that a run of this recipe began; returns whether there was one. */
export async function releaseLogin(store: Store, recipe: string, now: number): Promise<boolean> {
  const freed = await endLoginHolds(store, recipe);
  if (freed > 0) await store.event(now, "login_released", { recipe });
  return freed > 0;
}

/** Pause reason of a recipe after a wrong password. */
export const PASSWORD_REFUSED = "the broker refused the password";

const REFUSED = "login:";
const KIND = "login_refused";
/** Returns a salted mark of the password that a recipe logs in with; `undefined` if there is no password. */
type PasswordMark = (salt: string) => string | undefined;

/** A refused login, as its event stores it. */
type Noted = EventData<typeof KIND>;

/**
 * Searches an error and its causes for a refused login, and returns the error of the refusal. A login that failed
 * because the broker was busy counts too.
 */
export function loginRefusalIn(error: unknown): LoginRefusedError | BusyError | undefined {
  for (let each = error, depth = 0; each instanceof Error && depth < 8; each = each.cause, depth++) {
    if (each instanceof LoginRefusedError) return each;
    if (each instanceof BusyError && /\.login$/.test(each.operation ?? "")) return each;
  }
  return undefined;
}

/**
 * Blocks the login of an account after a refusal, and returns a warning; `undefined` if the login was blocked already.
 * A wrong password also replaces a block that would end by itself. The block belongs to the given run. Call it within a
 * transaction; a run whose login was refused calls it in its last transaction.
 */
export async function holdRefusedLogin(
  store: Store,
  error: LoginRefusedError | BusyError,
  { account, runKey, now, salt, markOf }: {
    account: string;
    runKey: string;
    now: number;
    salt: string;
    markOf?: PasswordMark;
  },
): Promise<string | undefined> {
  const isWrong = error instanceof LoginRefusedError && error.reason === "password";
  const before = await holdOf(store, account);
  // Runs that began at the same time see the same refusal.
  if (before !== undefined && before.until > now && !(isWrong && before.until < FOREVER)) return undefined;
  const count = (before?.noted?.count ?? 0) + 1;
  const leftMs = error instanceof LoginRefusedError ? error.retryInMs ?? 0 : 0;
  const until = isWrong ? FOREVER : now + Math.max(loginWaitMs(count), leftMs);
  await setHold(store, { name: REFUSED + account, runKey, until });
  const mark = isWrong ? markOf?.(salt) : undefined;
  const noted: Noted = {
    account,
    reason: isWrong ? "password" : "temporary",
    count,
    isPlatform: error.operation?.startsWith("platform.") === true,
    ...mark !== undefined && { salt, mark },
  };
  await store.event(now, KIND, { ...noted }, runKey);
  return isWrong
    ? `${PASSWORD_REFUSED}: no process of this store tries a login until you change the password, or run: ` +
      `hsgate resume ${shellHint(runKey.split("/")[0]!)}`
    : `the broker refused the login for now (refusal ${count} in a row); no requests are sent until ${
      showInstant(until)
    }, ` +
      "then a login is tried again";
}

interface Hold {
  by: string;
  until: number;
  noted: Noted | undefined;
}

/** Returns the block of an account, even if it has expired; `undefined` if there is none, or if it was ended. */
async function holdOf(store: Store, account: string): Promise<Hold | undefined> {
  const row = await findHold(store, REFUSED + account);
  if (row === undefined) return undefined;
  return { by: row.holder, until: row.until, noted: await lastEventData(store, row.holder, KIND) };
}

/**
 * Returns why the login of an account is blocked and which run caused that; `undefined` if it is not blocked. Ends the
 * block if the password has changed.
 */
export async function refusedLoginOn(
  store: Store,
  account: string,
  { now, needsAccount, markOf }: {
    now: number;
    /** Whether the trade login is needed. */
    needsAccount: boolean;
    markOf?: PasswordMark;
  },
): Promise<{ because: "password" | "login"; by: string } | undefined> {
  const hold = await holdOf(store, account);
  if (hold === undefined || hold.until <= now) return undefined;
  const { by, until, noted } = hold;
  if (!needsAccount && noted?.isPlatform === false) return undefined;
  if (until < FOREVER) return { because: "login", by };
  const mark = noted?.salt === undefined ? undefined : markOf?.(noted.salt);
  if (mark === undefined || mark === noted?.mark) return { because: "password", by };
  await clear(store, account);
  await store.event(now, "login_released", { account, because: "another password" });
  return undefined;
}

/** Clears earlier refusals. Call it in the last transaction of a run whose login worked. */
export async function noteLoginWorked(store: Store, account: string): Promise<void> {
  await clear(store, account);
}

async function clear(store: Store, account: string): Promise<void> {
  await endHold(store, REFUSED + account);
}
