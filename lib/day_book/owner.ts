/**
 * A folder belongs to one account.
 *
 * Three things distinguish accounts: a name that the user gives, the developer key of the direct transport, of which each
 * account has one, and the orders in the folder. No answer of the broker names the account, so over the
 * gateway the orders decide: before anything is written, the broker is asked for a day that is kept with orders. An
 * account that shows other orders for that day is another one. One that shows none of the last days with orders, and
 * has orders, fills or journal lines in the days to be exported, is taken for another one too, unless its name or its
 * key is the folder's. When it has nothing in those days either, no day that is read becomes final.
 *
 * `account.json` contains digests of the name and of the key; neither can be read from them.
 *
 * @module
 */
import type { Client } from "../client/client.ts";
import { isRefusal } from "../client/page_walk.ts";
import { type KeptDay, keptDay, summaryIn } from "./kept_day.ts";
import { listsOf, sourceOf } from "./lists.ts";
import type { ListReading } from "./losses.ts";
import { dateIn, marketDay } from "./market_days.ts";
import { TextFile } from "./row_file.ts";
import { Digest, DigestCounts } from "./row_keys.ts";
import type { Shelf } from "./shelf.ts";
import type { Settings, Summary } from "./summary.ts";
import { dayAtStart } from "./tally.ts";
import { DayBookError, type DayBookList } from "./types.ts";

/** Whose orders are compared with the folder's. */
export interface OwnerOptions {
  client: Client;
  shelf: Shelf;
  settings: Settings;
  /** Name of the account, of the user's choice. */
  owner: string | undefined;
  from: string;
  to: string;
  now: number;
  signal: AbortSignal;
}

/** Digests by what they are of. */
interface Digests {
  name?: string;
  developerKey?: string;
}

/** Days with orders that are asked for before the answer is taken for "none of them". */
const WITNESSES = 3;
const FILE = "account.json";
const kinds = ["name", "developerKey"] as const satisfies readonly (keyof Digests)[];
const advice = "export each account into a folder of its own";

/**
 * Refuses an account that the folder does not belong to, and binds a folder that has no owner yet. Resolves to why it
 * is not known whether the folder belongs to the account; `undefined` when nothing speaks against it.
 *
 * @throws {DayBookError} With code `other-account`; nothing was written.
 */
export async function checkOwner(options: OwnerOptions): Promise<string | undefined> {
  const { shelf, client, owner } = options;
  const key = await client.transport.account?.();
  const given: Digests = {
    ...owner !== undefined && { name: await digestOf(owner) },
    ...key !== undefined && { developerKey: await digestOf(key) },
  };
  const had = readDigests(shelf.path(FILE));
  const differs = (kind: keyof Digests) =>
    had[kind] !== undefined && given[kind] !== undefined && had[kind] !== given[kind];
  if (differs("name")) throw other(shelf, "the folder belongs to an account of another name");
  // A user who names an account that the folder does not name yet vouches that the folder is its own.
  const isNamed = given.name !== undefined && had.name === undefined;
  const isKnown = isNamed || kinds.some((kind) => had[kind] !== undefined && had[kind] === given[kind]);
  const { recognized, doubt } = await refuseStranger(options, isKnown);
  // An account can get a new key; then its orders show that it is the same one.
  if (differs("developerKey") && !recognized) {
    throw other(
      shelf,
      "the folder belongs to an account of another developer key",
      `or remove "${shelf.path(FILE)}" when it is the same account with a new key`,
    );
  }
  if (kinds.some((kind) => given[kind] !== undefined && given[kind] !== had[kind])) {
    writeDigests(shelf, { ...had, ...given });
  }
  return doubt;
}

/** Whether the account shows the folder's orders, or why that is doubtful. */
interface Recognition {
  recognized: boolean;
  doubt?: string;
}

/** Refuses an account that shows other orders than the folder. */
async function refuseStranger(options: OwnerOptions, isKnown: boolean): Promise<Recognition> {
  const { shelf } = options;
  const asked: string[] = [];
  for (const day of shelf.days().reverse()) {
    if (asked.length === WITNESSES) break;
    const summary = summaryIn(shelf.path(day));
    // A folder that is no day book is an error when that day is exported.
    if (summary === undefined || ordersIn(summary) === 0) continue;
    const kept = await keptDay(shelf.path(day), options.settings);
    const witness = kept === undefined ? undefined : witnessOf(kept);
    if (witness === undefined) continue;
    const shown = await compareOrders(options, day, witness);
    if (shown === "same") return { recognized: true };
    if (shown === "other") {
      throw other(shelf, `the broker shows other orders for ${day} than the folder has, and none of those`);
    }
    asked.push(day);
  }
  if (asked.length === 0 || isKnown) return { recognized: false };
  const instead =
    'name the account (--owner, option "owner") when the broker no longer shows days as old as those';
  const none = `none of the orders in the folder for ${asked.join(", ")}`;
  const found = await firstRow(options);
  // No row of this account can get into the folder; an empty day of it could.
  if (found === undefined) {
    return { recognized: false, doubt: `the broker shows ${none}, so it may be another account: ${instead}` };
  }
  throw other(shelf, `the broker shows ${found.list} of ${found.day} and ${none}`, `or ${instead}`);
}

/** The longest list of orders of a day. */
function witnessOf({ summary, readings }: KeptDay): ListReading | undefined {
  const rowsOf = ({ market, list }: ListReading) => summary.markets[market]?.lists[list]?.rows ?? 0;
  const lists = readings().filter((reading) => isOrders(reading.list) && rowsOf(reading) > 0);
  return lists.sort((a, b) => rowsOf(b) - rowsOf(a))[0];
}

function ordersIn({ rows }: Summary): number {
  return Object.entries(rows).reduce((sum, [list, count]) => sum + (isOrders(list) ? count : 0), 0);
}

const isOrders = (list: string) => list === "orders" || list === "futures_orders";

/** Compares the orders of a kept day with what the broker shows: one that is in both is enough. */
async function compareOrders(
  options: OwnerOptions,
  day: string,
  { market, list, rows }: ListReading,
): Promise<"same" | "other" | "nothing"> {
  const spec = listsOf(market).find((each) => each.list === list)!; // a list of that market
  const digest = new Digest();
  const take = (row: Readonly<Record<string, unknown>>) => {
    digest.reset();
    for (const name of spec.identity) digest.add(row[name]);
    return digest;
  };
  const kept = new DigestCounts();
  for (const row of rows()) kept.next(take(row));
  let shown = 0;
  const { client, now, signal } = options;
  const operations = marketDay(market, day, now).isRecent ? [spec.history, spec.today] : [spec.history];
  for (const operation of operations) {
    const { pages } = sourceOf(client, operation, { market, from: day, to: day }, { signal });
    try {
      for await (const page of pages) {
        for (const row of page.rows) {
          if (kept.take(take(row))) return "same";
          if (operation === spec.history || row.date === day) shown++;
        }
      }
    } catch (error) {
      if (!isRefusal(error)) throw error; // a list that is refused shows nothing
    }
  }
  return shown > 0 ? "other" : "nothing";
}

/** Returns the list and day of any row that the broker shows in the days to be exported, orders first. */
async function firstRow(
  { client, settings, from, to, now, signal }: OwnerOptions,
): Promise<{ list: DayBookList; day: string } | undefined> {
  const markets = [...settings.markets, ...settings.accounts.includes("futures") ? ["futures" as const] : []];
  const lists = markets.flatMap((market) => listsOf(market).map((spec) => ({ market, spec })));
  lists.sort((a, b) => Number(isOrders(b.spec.list)) - Number(isOrders(a.spec.list)));
  for (const { market, spec } of lists) {
    for (const operation of [spec.history, spec.today]) {
      // A row that does not say its day is one of the days that were asked for.
      const usual = operation === spec.today ? dateIn(market, now) : from;
      try {
        for await (const { rows } of sourceOf(client, operation, { market, from, to }, { signal }).pages) {
          for (const row of rows) {
            const day = dayAtStart(row[spec.dated]) ?? usual;
            if (day >= from && day <= to) return { list: spec.list, day };
          }
        }
      } catch (error) {
        if (!isRefusal(error)) throw error; // as above
      }
    }
  }
  return undefined;
}

function other(shelf: Shelf, why: string, instead = ""): DayBookError {
  return new DayBookError(
    `Cannot export into "${shelf.out}": ${why}; ${advice}${instead === "" ? "" : `, ${instead}`}`,
    { code: "other-account" },
  );
}

async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`hsgate day book ${text}`));
  return new Uint8Array(digest).toHex().slice(0, 12);
}

function readDigests(path: string): Digests {
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return {};
    throw error;
  }
  try {
    const { digests } = JSON.parse(text) as { digests?: Digests };
    if (digests !== undefined) return digests;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new DayBookError(
    `Cannot read "${path}": it does not say which account the folder belongs to; restore it, or remove it when you ` +
      "are sure of the account",
    { code: "other-account" },
  );
}

function writeDigests(shelf: Shelf, digests: Digests): void {
  const note = "Digests of the account that this folder belongs to; exports of another account are refused.";
  const file = new TextFile(shelf.path(`.${FILE}.partial`), { write: true, create: true, truncate: true });
  file.write(`${JSON.stringify({ version: 1, note, digests }, null, 2)}\n`);
  file.seal();
  Deno.renameSync(shelf.path(`.${FILE}.partial`), shelf.path(FILE));
  shelf.sync();
}
