/**
 * Which lists show what became of a write whose answer was lost: from the catalogue, for errors, the reference and the
 * runner.
 *
 * @module
 */
import { operations } from "./mod.ts";
import type { AnyOperation, Proof } from "./operation.ts";

type Provable = Pick<AnyOperation, "provenBy">;

/** Every write of the catalogue; what is proven by nothing known may be any of them. */
const anyWrite: Provable = {
  provenBy: [{
    lists: [
      ...new Set(
        [...operations.values()].flatMap(({ provenBy = [] }) => provenBy.flatMap(({ lists }) => lists)),
      ),
    ],
  }],
};

/** Returns the proofs that hold for a call: with parameters those of its kind, without them all. */
export function proofsOf({ provenBy = [] }: Provable, params?: unknown): readonly Proof[] {
  if (typeof params !== "object" || params === null) return provenBy;
  const given = new Map<string, unknown>(Object.entries(params));
  const special = provenBy.filter(({ when }) =>
    when !== undefined && when.isOneOf.some((value) => value === given.get(when.param))
  );
  return special.length > 0 ? special : provenBy.filter(({ when }) => when === undefined);
}

/** Returns the names of the lists that show what became of a call. */
export function provingLists(operation: Provable, params?: unknown): string[] {
  return [...new Set(proofsOf(operation, params).flatMap(({ lists }) => lists))];
}

/** Returns the commands that read lists whole: `hsgate call orders.today --all`. */
export function commandsOf(lists: readonly string[], program: string): string[] {
  return lists.map((name) => {
    const isPaged = operations.get(name)?.paging !== undefined;
    return `${program} call ${name}${isPaged ? " --all" : ""}`;
  });
}

/** Whether any of the lists has to be asked for a market. */
export function needsMarket(lists: readonly string[]): boolean {
  return lists.some((name) => operations.get(name)?.request.fields?.market?.optional === false);
}

/** Returns the lists that answer on a later day in the place of lists of today. */
export function laterLists(lists: readonly string[]): string[] {
  return lists.flatMap((name) => operations.get(name)?.instead ?? []);
}

/**
 * Says where to look before the same thing is sent again: `look in orders.today and fills.today (on a later day:
 * orders.history, fills.history)`.
 *
 * @param operation Without `provenBy` it counts as unknown, and every list that shows a write is named.
 * @param params The call's own, in our names. Without them each kind of call is named.
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
