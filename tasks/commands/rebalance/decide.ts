/**
 * Approves and refuses recorded rebalancing plans, and compares plans with their files.
 *
 * @module
 */
import { showInstant } from "../../../lib/calendars/mod.ts";
import { intentsOfPlan } from "../../../lib/desk/queries.ts";
import { showValue } from "../../../lib/errors.ts";
import { isInside, realPlace, resolved } from "../../../lib/confined_paths.ts";
import {
  approveExactly,
  type PlanRecord,
  plansLike,
  progressOf,
  readRebalanceFile,
  type RebalanceFile,
  refusePlan as refuse,
  shortHash,
} from "../../../lib/rebalance/mod.ts";
import type { Store } from "../../../lib/store/store.ts";
import { shellHint } from "../../../lib/shell_words.ts";
import { durationExpected, readDuration } from "../../../lib/time.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { plain } from "../../terminal/print.ts";
import { actorOf } from "../shared/decide.ts";
import { storeTime } from "../shared/store_file.ts";

/**
 * Returns the plan whose hash begins with a text; `undefined` if the text is not 8 to 64 hexadecimal digits, or no plan
 * has such a hash.
 *
 * @throws {UsageError} If the hashes of several plans begin with the text.
 */
export async function planOf(store: Store, given: string, verb: string): Promise<PlanRecord | undefined> {
  if (!/^[0-9a-f]{8,64}$/.test(given)) return undefined;
  const [plan, other] = await plansLike(store, given);
  if (other === undefined) return plan;
  throw new UsageError(
    `Cannot ${verb} "${given}": the hashes of several plans begin with it; write more of the hash`,
  );
}

/** Reads the file of a portfolio. */
export async function readPortfolio(path: string, host: Pick<Host, "readFile">): Promise<RebalanceFile> {
  return await readRebalanceFile(await textOf(path, host), {
    name: path,
    readOther: (other) => textOf(pathBeside(path, other), host),
  });
}

/**
 * Returns the present content of a plan's file; `undefined` if the plan has no file.
 *
 * @throws {UsageError} If the file does not exist.
 */
export async function settingsNow(
  { source, hash }: PlanRecord,
  host: Pick<Host, "readFile">,
): Promise<RebalanceFile | undefined> {
  if (source?.file === undefined) return undefined;
  if (await host.readFile(source.file) === undefined) {
    throw new UsageError(
      `Cannot compare the plan ${
        shortHash(hash)
      } with its file: there is no "${source.file}" here; decide on the machine that made the plan, or make a new plan`,
    );
  }
  return await readPortfolio(source.file, host);
}

/** Approves a plan. */
export async function approvePlan(
  store: Store,
  record: PlanRecord,
  { flags, host }: { flags: { for?: string; by?: string; json?: boolean }; host: Host },
): Promise<number> {
  const forMs = flags.for === undefined ? undefined : readDuration(flags.for) ?? 0;
  if (forMs !== undefined && forMs <= 0) {
    throw new UsageError(`Cannot use --for "${flags.for}": write ${durationExpected}`);
  }
  const by = actorOf(flags, host);
  const { approval, hash, plan } = await approveExactly(
    store,
    record,
    { by, at: storeTime(store, host), ...forMs !== undefined && { forMs } },
    await settingsNow(record, host),
  );
  const until = showInstant(approval!.until); // the plan was just approved
  if (flags.json) host.out(JSON.stringify({ hash, state: "approved", by, until }));
  else {
    for (const { side, quantity, symbol, price } of plan.trades) {
      host.out(plain(`${side} ${quantity} of ${symbol}, planned at ${price}`));
    }
    host.out(`the plan ${shortHash(hash)} is approved by ${plain(by)} until ${until}`);
    host.out(
      `a run that waits for this approval executes the plan now; otherwise run: hsgate rebalance run ${
        shortHash(hash)
      }`,
    );
  }
  return 0;
}

/** Refuses a plan, or stops a plan that no process executes. Shows which of its orders the broker may still have. */
export async function refusePlan(
  store: Store,
  record: PlanRecord,
  { flags, host }: { flags: { because?: string; by?: string; json?: boolean }; host: Host },
): Promise<number> {
  const by = actorOf(flags, host);
  const reason = `refused by ${by}${flags.because === undefined ? "" : `: ${flags.because}`}`;
  const { hash, state, plan, account } = await refuse(store, record, { at: storeTime(store, host), reason });
  const left = await leftOrders(store, { account, hash, plan });
  if (flags.json) host.out(JSON.stringify({ hash, state, reason, ...left }));
  else host.out(`the plan ${shortHash(hash)} is stopped: ${plain(reason)}`);
  noteLeftOrders(host, left);
  return 0;
}

/** Orders of a plan that the broker may still fill. */
interface LeftOrders {
  /** The broker's numbers of the open orders. */
  openOrders: string[];
  /** Ids of the intents that may still be sent, or whose outcome is not known yet. */
  unresolved: string[];
}

/** Returns the orders of a plan that the broker may still fill. */
export async function leftOrders(
  store: Store,
  { account, hash, plan }: Pick<PlanRecord, "account" | "hash" | "plan">,
): Promise<LeftOrders> {
  const progress = progressOf(plan, await intentsOfPlan(store, account, hash));
  return {
    openOrders: progress.flatMap(({ live }) => live.flatMap(({ orderIds }) => [...orderIds])),
    unresolved: progress.flatMap(({ pending }) => pending.map(({ id }) => id)),
  };
}

/** Names the orders of a plan that the broker may still fill, and the commands for them. */
export function noteLeftOrders(host: Host, { openOrders, unresolved }: LeftOrders): void {
  if (openOrders.length > 0) {
    host.note(
      `hsgate: the broker may still fill orders of this plan; to cancel them: hsgate cancel ${
        // The numbers may come from the broker, so quote them for the shell.
        openOrders.map(shellHint).join(" ")}`,
    );
  }
  if (unresolved.length > 0) {
    host.note(
      `hsgate: the outcome of an order of this plan is unknown; to look it up: hsgate orders show ${
        shellHint(unresolved[0]!)
      }`,
    );
  }
}

/**
 * Returns the path of the file `other`, which the file at `path` names. A relative `other` starts in the folder of
 * `path`.
 *
 * @throws {UsageError} If `other` is outside that folder. Without this check, a file from somebody else could expose
 * any file of the user, because error messages quote values of the files that hsgate reads.
 */
function pathBeside(path: string, other: string): string {
  const folder = path.includes("/") ? path.replace(/[^/]*$/, "") : "./";
  const found = other.startsWith("/") ? other : `${folder}${other}`;
  const [top, real] = [realPlace(resolved(folder)), realPlace(resolved(found))];
  // A broken link has no real path. Reading it reports the error.
  if (isInside(folder, found) && (top === undefined || real === undefined || isInside(top, real))) {
    return found;
  }
  throw new UsageError(
    `Cannot read the targets ${
      showValue(other)
    }: they are outside the folder of "${path}"; copy the file into that folder`,
  );
}

/** Returns the text of a file. @throws {UsageError} If there is none. */
export async function textOf(path: string, host: Pick<Host, "readFile">): Promise<string> {
  const found = await host.readFile(path);
  if (found === undefined) {
    throw new UsageError(`Cannot read ${showValue(path)}: there is no such file; correct the path`);
  }
  return found.text;
}
