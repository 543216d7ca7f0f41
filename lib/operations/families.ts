/**
 * Loads a family of operations when one of its operations is first used. Most programs use one or two families, and
 * loading all of them takes longer than a call.
 *
 * The file `index.json` contains the details that are needed before a family is loaded. `deno task docs` derives it
 * from the catalogue, and `deno task ok` checks that it is up to date.
 *
 * @module
 */
import index from "./index.json" with { type: "json" };
import { lazily } from "../lazy.ts";

const loaders = {
  account: lazily(async () => (await import("./account.ts")).account),
  orders: lazily(async () => (await import("./orders.ts")).orders),
  fills: lazily(async () => (await import("./fills.ts")).fills),
  fundJournal: lazily(async () => (await import("./fund_journal.ts")).fundJournal),
  conditionalOrders: lazily(async () => (await import("./conditional_orders.ts")).conditionalOrders),
  algo: lazily(async () => (await import("./algo.ts")).algo),
  futures: lazily(async () => (await import("./futures.ts")).futures),
  quotes: lazily(async () => (await import("./quotes.ts")).quotes),
  platform: lazily(async () => (await import("./platform.ts")).platform),
};

/** Every family of operations. */
export type Catalogue = { readonly [F in FamilyName]: Awaited<ReturnType<(typeof loaders)[F]>> };
/** Name of a family, such as `orders`. */
export type FamilyName = keyof typeof loaders;
/** hsgate's name of an operation, from the catalogue; a test compares it with `OperationName`. */
export type DerivedName = { [F in FamilyName]: `${F}.${keyof Catalogue[F] & string}` }[FamilyName];

/** Details of an operation that code needs before it loads the operation's family. */
export interface Indexed {
  /** hsgate's name. */
  readonly name: string;
  /** Whether the operation reads a list page by page. */
  readonly isPaged: boolean;
  /** The operation to use for a past day, if there is one. */
  readonly instead?: string;
  /** For a write: the lists that show its outcome. */
  readonly lists?: readonly string[];
}

const loaded: { -readonly [F in FamilyName]?: Catalogue[F] } = {};

/** Registers all families as loaded, for a program that has imported the whole catalogue. */
export function useLoaded(families: Catalogue): void {
  Object.assign(loaded, families);
}

/** Returns a family if it is loaded. */
export function loadedFamily<F extends FamilyName>(family: F): Catalogue[F] | undefined {
  return loaded[family];
}

/** Resolves to a family. Loads it at the first use. */
export async function loadFamily<F extends FamilyName>(family: F): Promise<Catalogue[F]> {
  // The loader of a name loads the family with that name; the type of the table cannot express that.
  return loaded[family] ??= await loaders[family]() as Catalogue[F];
}

/** The entry of an operation in the index, as `deno task docs` writes it. */
type Entry = Readonly<{ paged?: boolean; instead?: string; lists?: readonly string[] }>;
const families: Readonly<Record<string, Readonly<Record<string, Entry>>>> = index;

/** Returns every family, with the keys of its operations. */
export function indexedFamilies(): [FamilyName, [string, Indexed][]][] {
  return Object.entries(families).map(([family, entries]) => {
    const named = Object.entries(entries).map(([key, { paged = false, ...entry }]): [string, Indexed] => [
      key,
      { name: `${family}.${key}`, isPaged: paged, ...entry },
    ]);
    return [family as FamilyName, named]; // the index has exactly the families of the catalogue
  });
}

/** Returns the details of an operation from the index, by hsgate's name. */
export function indexed(name: string): Indexed | undefined {
  const [family = "", key = ""] = name.split(".");
  return indexedFamilies().find(([each]) => each === family)?.[1].find(([each]) => each === key)?.[1];
}
