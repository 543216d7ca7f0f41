/**
 * Runs `hsgate rebalance`.
 *
 * @module
 */
import {
  type Account,
  makePlan,
  planPage,
  readAccount,
  readBrokerAccount,
  readRebalanceFile,
  type RebalanceFile,
} from "../../../lib/rebalance/mod.ts";
import { showValue } from "../../../lib/errors.ts";
import { isInside, realPlace, resolved } from "../../../lib/confined_paths.ts";
import { replacePage } from "../../../lib/private_files.ts";
import { calendarsOf } from "../../terminal/arguments.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import type { RebalanceInput } from "../rebalance.ts";
import { clientOf } from "../shared/session.ts";
import { planLines } from "./lines.ts";

/** Makes the plan, and prints it. */
export async function run({ args: [path = ""], flags, host }: RebalanceInput): Promise<number> {
  if (!flags.plan) {
    throw new UsageError(
      "Cannot rebalance without --plan: hsgate only makes plans, and sends no orders of them",
    );
  }
  const file = await readRebalanceFile(await textOf(path, host), {
    name: path,
    readOther: (other) => textOf(besides(path, other), host),
  });
  const account = await accountFor(file, flags, host);
  const plan = await makePlan(file, account);
  if (flags.html !== undefined) {
    const page = planPage(plan);
    // The page may contain texts of the broker, which may repeat a secret.
    replacePage(flags.html, host.shown?.(page) ?? page);
  }
  if (flags.json) host.out(JSON.stringify(plan));
  else for (const line of planLines(host, plan)) host.out(line);
  return 0;
}

/** Returns the account of a plan: of the file that --account names, or of the broker. */
async function accountFor(
  file: RebalanceFile,
  flags: RebalanceInput["flags"],
  host: Host,
): Promise<Account> {
  if (flags.account !== undefined) return readAccount(await textOf(flags.account, host), flags.account);
  await using client = await clientOf(flags, host, { command: "rebalance" });
  return await readBrokerAccount(client, file, {
    now: host.now,
    calendars: calendarsOf(host),
    signal: host.signal,
  });
}

/**
 * Returns the path of a file that another file names: relative to that file's folder.
 *
 * @throws {UsageError} If it is outside that folder: the file may come from somebody else, and errors quote values.
 */
function besides(path: string, other: string): string {
  const folder = path.includes("/") ? path.replace(/[^/]*$/, "") : "./";
  const found = other.startsWith("/") ? other : `${folder}${other}`;
  const [top, real] = [realPlace(resolved(folder)), realPlace(resolved(found))];
  // A broken link has no place, and reading it reports that.
  if (isInside(folder, found) && (top === undefined || real === undefined || isInside(top, real))) {
    return found;
  }
  throw new UsageError(
    `Cannot read the targets ${
      showValue(other)
    }: they are outside the folder of "${path}"; copy the file into that folder`,
  );
}

async function textOf(path: string, host: Host): Promise<string> {
  const found = await host.readFile(path);
  if (found === undefined) {
    throw new UsageError(`Cannot read ${showValue(path)}: there is no such file; correct the path`);
  }
  return found.text;
}
