/**
 * Logins that the broker refused, kept in the ledger, so that every process that shares it waits: after a wrong
 * password until a person or another password allows a login, after any other refusal for a time that grows.
 *
 * @module
 */
import { scryptSync } from "node:crypto";
import { BusyError, LoginRefusedError } from "../errors.ts";
import { loginWaitMs } from "../transports/login_refusals.ts";
import type { Ledger } from "./ledger.ts";
import { showInstant } from "./slots.ts";

/** Why a recipe stands still after a wrong password. */
export const PASSWORD_REFUSED = "the broker refused the password";

const NAME = "login:";
const KIND = "login_refused";
/** The last instant that there is. */
const FOREVER = 8.64e15;

/** Returns a mark of the password that a recipe logs in with, made with a salt; nothing when there is none. */
export type PasswordMark = (salt: string) => string | undefined;

/**
 * Marks a password: one byte of a slow hash with a salt. That is enough to see in all but one of 256 cases that the
 * password is another one now, and too little to find out what it is.
 */
export function markPassword(password: string, salt: string): string {
  return scryptSync(password, salt, 1).toString("hex");
}

/** A refused login as its event has it. */
interface Noted {
  account: string;
  reason: "password" | "passing";
  /** Refusals in a row. */
  count: number;
  /** The login at the platform, which every call needs; otherwise the trade login. */
  isPlatform: boolean;
  salt?: string;
  mark?: string;
}

/** Finds a refused login in an error or its causes. A broker that is busy refuses a login for now as well. */
export function loginRefusalIn(error: unknown): LoginRefusedError | BusyError | undefined {
  for (let each = error, depth = 0; each instanceof Error && depth < 8; each = each.cause, depth++) {
    if (each instanceof LoginRefusedError) return each;
    if (each instanceof BusyError && /\.login$/.test(each.operation ?? "")) return each;
  }
  return undefined;
}

/**
 * Holds back everything on an account, and returns what to tell; nothing when another run has done so. Within the last
 * transaction of the run that found out.
 */
export function holdRefusedLogin(
  ledger: Ledger,
  error: LoginRefusedError | BusyError,
  { account, runKey, now, salt, markOf }: {
    account: string;
    runKey: string;
    now: number;
    salt: string;
    markOf?: PasswordMark;
  },
): string | undefined {
  const isWrong = error instanceof LoginRefusedError && error.reason === "password";
  const before = holdOf(ledger, account);
  // Runs that began side by side find the same refusal.
  if (before !== undefined && before.until > now && !(isWrong && before.until < FOREVER)) return undefined;
  const count = (before?.noted?.count ?? 0) + 1;
  const leftMs = error instanceof LoginRefusedError ? error.retryInMs ?? 0 : 0;
  const until = isWrong ? FOREVER : now + Math.max(loginWaitMs(count), leftMs);
  ledger.run(
    `insert into lease (name, holder, fence, until) values (?, ?, 1, ?)
      on conflict (name) do update set holder = excluded.holder, until = excluded.until, fence = lease.fence + 1`,
    NAME + account,
    runKey,
    until,
  );
  const mark = isWrong ? markOf?.(salt) : undefined;
  const noted: Noted = {
    account,
    reason: isWrong ? "password" : "passing",
    count,
    isPlatform: error.operation?.startsWith("platform.") === true,
    ...mark !== undefined && { salt, mark },
  };
  ledger.event(now, KIND, { ...noted }, runKey);
  return isWrong
    ? `${PASSWORD_REFUSED}: no login is tried, by any process of this ledger, until it is changed or a person allows ` +
      `it with: hsgate resume ${runKey.split("/")[0]}`
    : `the broker refused the login for now (refusal ${count} in a row); nothing is asked until ${
      showInstant(until)
    }, ` +
      "then a login is tried again";
}

interface Hold {
  by: string;
  until: number;
  noted: Noted | undefined;
}

/** The hold of an account, whether it is over or not; nothing since a login worked. */
function holdOf(ledger: Ledger, account: string): Hold | undefined {
  const row = ledger.get<{ holder: string; until: number }>(
    "select holder, until from lease where name = ? and until > 0",
    NAME + account,
  );
  if (row === undefined) return undefined;
  const event = ledger.get<{ data: string }>(
    "select data from event where run_key = ? and kind = ? order by seq desc limit 1",
    row.holder,
    KIND,
  );
  // Written by `holdRefusedLogin`.
  const noted = event === undefined ? undefined : JSON.parse(event.data) as Noted;
  return { by: row.holder, until: row.until, noted };
}

/**
 * Returns why no login is tried on an account now, and the run that found out. A password that is another one now is
 * tried.
 */
export function refusedLoginOn(
  ledger: Ledger,
  account: string,
  { now, needsAccount, markOf }: {
    now: number;
    /** Whether the trade login is needed. */
    needsAccount: boolean;
    markOf?: PasswordMark;
  },
): { because: "password" | "login"; by: string } | undefined {
  const hold = holdOf(ledger, account);
  if (hold === undefined || hold.until <= now) return undefined;
  const { by, until, noted } = hold;
  if (!needsAccount && noted?.isPlatform === false) return undefined;
  if (until < FOREVER) return { because: "login", by };
  const mark = noted?.salt === undefined ? undefined : markOf?.(noted.salt);
  if (mark === undefined || mark === noted?.mark) return { because: "password", by };
  clear(ledger, account);
  ledger.event(now, "login_released", { account, because: "another password" });
  return undefined;
}

/** A run asked the broker and all was well: earlier refusals count no more. Within its last transaction. */
export function noteLoginWorked(ledger: Ledger, account: string): void {
  clear(ledger, account);
}

function clear(ledger: Ledger, account: string): void {
  ledger.run("update lease set until = 0 where name = ? and until > 0", NAME + account);
}
