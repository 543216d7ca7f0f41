/**
 * Checks that an export folder contains the days of only one account.
 *
 * An account is recognized by a name that the user gives, by the account's developer key on the direct transport, and
 * by the orders in the folder. No answer of the broker names the account, so over the gateway the orders decide.
 * Before anything is written, the export queries the orders of the last kept days, newest first, and compares them with
 * the folder's:
 * - If the broker shows one of the folder's orders, it is the same account.
 * - If the broker shows only other orders for a day, it is another account.
 * - If the broker shows no orders for these days, the name or the key must match the folder's, or the user must name
 *   the account of a folder that has no name yet. Otherwise the export rejects the account if it has orders, fills or
 *   journal lines for the days to export.
 * - If the broker has nothing for those days either, no day that is read becomes final.
 *
 * `account.json` contains digests of the name and of the key, from which neither can be recovered.
 *
 * @module
 */
import { isRefusal } from "../../errors.ts";
import { isMap } from "../../foreign_values.ts";
import type { Calendars } from "../../calendars/mod.ts";
import type { Client } from "../../client/client.ts";
import { replaceFile } from "../../private_files.ts";
import { readRegularTextSync } from "../../regular_files.ts";
import { type KeptDay, keptDay, summaryIn } from "./kept_day.ts";
import { listsOf, sourceOf } from "../reading/lists.ts";
import type { ListReading } from "../checks/losses.ts";
import { dateIn, marketDay } from "../market_days.ts";
import { Digest, DigestCounts } from "../rows/keys.ts";
import type { ExportFolder } from "./export_folder.ts";
import type { Settings, Summary } from "./summary.ts";
import { dayAtStart } from "../checks/tally.ts";
import { DayBookError, type DayBookList } from "../types.ts";

/** The account to check, and the folder. */
interface OwnerOptions {
  client: Client;
  exportFolder: ExportFolder;
  settings: Settings;
  /** Name of the account, chosen by the user. */
  owner: string | undefined;
  from: string;
  to: string;
  now: number;
  calendars: Calendars;
  signal: AbortSignal;
}

/** Digests of the name and the key of the account. */
interface Digests {
  name?: string;
  developerKey?: string;
}

/** Number of kept days whose orders the export queries before it concludes that the broker shows none of them. */
const MOST_DAYS = 3;
const FILE = "account.json";
const kinds = ["name", "developerKey"] as const satisfies readonly (keyof Digests)[];
const advice = "export each account into its own folder";

/**
 * Throws if the folder belongs to another account. Stores new digests of the name and the key in the folder. Resolves
 * to the reason why the owner is uncertain, or to `undefined` if nothing contradicts this account.
 *
 * @throws {DayBookError} With code `other-account`, before anything is written.
 */
export async function checkOwner(options: OwnerOptions): Promise<string | undefined> {
  const { exportFolder, client, owner } = options;
  const key = await client.transport.account?.();
  const given: Digests = {
    ...owner !== undefined && { name: await digestOf(owner) },
    ...key !== undefined && { developerKey: await digestOf(key) },
  };
  const had = readDigests(exportFolder.path(FILE));
  const differs = (kind: keyof Digests) =>
    had[kind] !== undefined && given[kind] !== undefined && had[kind] !== given[kind];
  if (differs("name")) throw otherAccount(exportFolder, "the folder belongs to an account with another name");
  // If the folder has no name yet and the user gives a name, the user confirms that the folder belongs to this account.
  const isNamed = given.name !== undefined && had.name === undefined;
  const isKnown = isNamed || kinds.some((kind) => had[kind] !== undefined && had[kind] === given[kind]);
  const { recognized, unconfirmedOwner } = await rejectOtherAccount(options, isKnown);
  // An account can get a new key; then its orders show that it is the same account.
  if (differs("developerKey") && !recognized) {
    throw otherAccount(
      exportFolder,
      "the folder belongs to an account with another developer key",
      `or remove "${exportFolder.path(FILE)}" if it is the same account with a new key`,
    );
  }
  // Store nothing while the owner is unconfirmed. If this is another account, the next export would otherwise recognize
  // its key.
  const isConfirmed = unconfirmedOwner === undefined;
  if (isConfirmed && kinds.some((kind) => given[kind] !== undefined && given[kind] !== had[kind])) {
    writeDigests(exportFolder, { ...had, ...given });
  }
  return unconfirmedOwner;
}

/** Whether the broker shows the folder's orders, and if not, why the owner is uncertain. */
interface Recognition {
  recognized: boolean;
  unconfirmedOwner?: string;
}

/**
 * Throws if the broker shows only other orders for a kept day. Also throws if the broker shows no orders for the kept
 * days, the account is not known, and the account has rows for the days to export.
 *
 * @param isKnown Whether the name or the key shows that the folder belongs to this account.
 */
async function rejectOtherAccount(options: OwnerOptions, isKnown: boolean): Promise<Recognition> {
  const { exportFolder } = options;
  const asked: string[] = [];
  for (const day of exportFolder.days().reverse()) {
    if (asked.length === MOST_DAYS) break;
    const summary = summaryIn(exportFolder.path(day));
    // Here, skip a folder that is not a day book. The export of that day throws.
    if (summary === undefined || ordersIn(summary) === 0) continue;
    const kept = await keptDay(exportFolder.path(day), options.settings);
    const orders = kept === undefined ? undefined : longestOrders(kept);
    if (orders === undefined) continue;
    const shown = await compareOrders(options, day, orders);
    if (shown === "same") return { recognized: true };
    if (shown === "other") {
      throw otherAccount(
        exportFolder,
        `the broker shows other orders for ${day} than the folder contains, and none of the folder's`,
      );
    }
    asked.push(day);
  }
  if (asked.length === 0 || isKnown) return { recognized: false };
  const instead =
    'if the broker no longer shows days as old as those, name the account (--owner, option "owner")';
  const none = `none of the orders in the folder for ${asked.join(", ")}`;
  const found = await firstRow(options);
  // The account has no rows for these days, so only empty days would be written.
  if (found === undefined) {
    return {
      recognized: false,
      unconfirmedOwner: `the broker shows ${none}, so it may be another account: ${instead}`,
    };
  }
  throw otherAccount(
    exportFolder,
    `the broker shows ${found.list} of ${found.day} and ${none}`,
    `or ${instead}`,
  );
}

/** Returns the longest list of orders of a day; `undefined` if no list of orders has rows. */
function longestOrders({ summary, readings }: KeptDay): ListReading | undefined {
  const rowsOf = ({ market, list }: ListReading) => summary.markets[market]?.lists[list]?.rows ?? 0;
  const lists = readings().filter((reading) => isOrders(reading.list) && rowsOf(reading) > 0);
  return lists.sort((a, b) => rowsOf(b) - rowsOf(a))[0];
}

function ordersIn({ rows }: Summary): number {
  return Object.entries(rows).reduce((sum, [list, count]) => sum + (isOrders(list) ? count : 0), 0);
}

const isOrders = (list: string) => list === "orders" || list === "futures_orders";

/** Compares the orders of a kept day with those that the broker shows. One common order is enough. */
async function compareOrders(
  options: OwnerOptions,
  day: string,
  { market, list, rows }: ListReading,
): Promise<"same" | "other" | "nothing"> {
  const spec = listsOf(market).find((each) => each.list === list)!; // `list` is one of this market's lists
  const digest = new Digest();
  const identityOf = (row: Readonly<Record<string, unknown>>) => {
    digest.reset();
    for (const name of spec.identity) digest.add(row[name]);
    return digest;
  };
  const kept = new DigestCounts();
  for (const row of rows()) kept.next(identityOf(row));
  let shown = 0;
  const { client, now, calendars, signal } = options;
  const operations = marketDay(calendars, market, day, now).isRecent
    ? [spec.history, spec.today]
    : [spec.history];
  for (const operation of operations) {
    const { pages } = sourceOf(client, operation, { market, from: day, to: day }, { signal });
    try {
      for await (const page of pages) {
        for (const row of page.rows) {
          if (kept.take(identityOf(row))) return "same";
          if (operation === spec.history || row.date === day) shown++;
        }
      }
    } catch (error) {
      if (!isRefusal(error)) throw error; // a rejected query shows no orders
    }
  }
  return shown > 0 ? "other" : "nothing";
}

/** Returns the list and day of any row that the broker shows in the days to export; checks orders first. */
async function firstRow(
  { client, settings, from, to, now, signal }: OwnerOptions,
): Promise<{ list: DayBookList; day: string } | undefined> {
  const markets = [...settings.markets, ...settings.accounts.includes("futures") ? ["futures" as const] : []];
  const lists = markets.flatMap((market) => listsOf(market).map((spec) => ({ market, spec })));
  lists.sort((a, b) => Number(isOrders(b.spec.list)) - Number(isOrders(a.spec.list)));
  for (const { market, spec } of lists) {
    for (const operation of [spec.history, spec.today]) {
      // A row of the history without a date belongs to the requested days. A row of today's list without a date belongs
      // to today.
      const usual = operation === spec.today ? dateIn(market, now) : from;
      try {
        for await (const { rows } of sourceOf(client, operation, { market, from, to }, { signal }).pages) {
          for (const row of rows) {
            const day = dayAtStart(row[spec.dated]) ?? usual;
            if (day >= from && day <= to) return { list: spec.list, day };
          }
        }
      } catch (error) {
        if (!isRefusal(error)) throw error; // a rejected query shows no rows
      }
    }
  }
  return undefined;
}

function otherAccount(exportFolder: ExportFolder, why: string, instead = ""): DayBookError {
  return new DayBookError(
    `Cannot export into "${exportFolder.out}": ${why}; ${advice}${instead === "" ? "" : `, ${instead}`}`,
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
    text = readRegularTextSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return {};
    throw error;
  }
  try {
    const file: unknown = JSON.parse(text);
    const digests = isMap(file) ? file.digests : undefined;
    if (isMap(digests)) return digests;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new DayBookError(
    `Cannot read "${path}": it does not identify the account of this folder; restore it, or remove it if you are ` +
      "sure of the account",
    { code: "other-account" },
  );
}

function writeDigests(exportFolder: ExportFolder, digests: Digests): void {
  const note = "Digests of the account that this folder belongs to; the export rejects other accounts.";
  replaceFile(exportFolder.path(FILE), `${JSON.stringify({ version: 1, note, digests }, null, 2)}\n`);
}
