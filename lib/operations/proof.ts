/**
 * Finds the lists that show the outcome of a write whose answer was lost. Errors, the reference pages and the runner
 * name these lists.
 *
 * @module
 */
import { indexed, indexedFamilies } from "./families.ts";
import type { AnyOperation, Proof } from "./operation.ts";

type Provable = Pick<AnyOperation, "provenBy">;

/**
 * A write that the catalogue does not contain. It may be any kind of write, so its proof names the lists of all
 * writes.
 */
const anyWrite: Provable = {
  provenBy: [{
    lists: [
      ...new Set(indexedFamilies().flatMap(([, entries]) => entries.flatMap(([, { lists = [] }]) => lists))),
    ],
  }],
};

/** Returns the proofs that apply to a call with these parameters, or all proofs if no parameters are given. */
function proofsOf({ provenBy = [] }: Provable, params?: unknown): readonly Proof[] {
  if (typeof params !== "object" || params === null) return provenBy;
  const given = new Map<string, unknown>(Object.entries(params));
  const special = provenBy.filter(({ when }) =>
    when !== undefined && when.isOneOf.some((value) => value === given.get(when.param))
  );
  return special.length > 0 ? special : provenBy.filter(({ when }) => when === undefined);
}

/** Returns the names of the lists that show the outcome of a call. */
export function provingLists(operation: Provable, params?: unknown): string[] {
  return [...new Set(proofsOf(operation, params).flatMap(({ lists }) => lists))];
}

/** Returns the commands that print complete lists: `hsgate call orders.today --all`. */
export function commandsOf(lists: readonly string[]): string[] {
  return lists.map((name) => {
    const isPaged = indexed(name)?.isPaged;
    return `hsgate call ${name}${isPaged ? " --all" : ""}`;
  });
}

/** Returns the lists that show the same rows on a later day, for lists that only show today. */
export function laterLists(lists: readonly string[]): string[] {
  return lists.flatMap((name) => indexed(name)?.instead ?? []);
}

/**
 * Returns advice on which lists to check before sending the same write again: `look in orders.today and fills.today
 * (on a later day: orders.history, fills.history)`.
 *
 * @param operation Without `provenBy`, the advice names every list that can show a write.
 * @param params The call's parameters with hsgate's names. Without them, the advice names the lists for each kind of
 * call.
 * @returns Advice to look in the broker's app if no list shows the write.
 */
export function whereToLook(operation: Provable, params?: unknown): string {
  const known = operation.provenBy === undefined ? anyWrite : operation;
  const proofs = proofsOf(known, params);
  if (proofs.length === 0) return "no list of the broker shows it: look in the broker's app";
  const parts = proofs.map(({ lists, when }) =>
    proofs.length > 1 && when !== undefined ? `for ${when.what} in ${joined(lists)}` : `in ${joined(lists)}`
  );
  const later = laterLists(provingLists(known, params));
  return `look ${parts.join(", ")}${later.length === 0 ? "" : ` (on a later day: ${later.join(", ")})`}`;
}

function joined(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
