/**
 * Errors for people: what went wrong, and what to do next.
 *
 * @module
 */
import {
  BrokerError,
  DisplacedError,
  InvalidParamsError,
  LoginExpiredError,
  LoginRefusedError,
  MarketClosedError,
  OutcomeUnknownError,
  ProtocolError,
  TransportError,
  UnmappedError,
} from "../../lib/errors.ts";
import { commandsOf, needsMarket } from "../../lib/operations/proof.ts";
import { damageOf } from "../../lib/runner/ledger_damage.ts";
import type { Command } from "./command.ts";
import { exitCodeOf, InterruptedError, isMisuse, UsageError } from "./exit_codes.ts";
import type { Host } from "./host.ts";
import { plain } from "./print.ts";

/** Writes an error to stderr. */
export function report(error: unknown, command: Command | undefined, host: Host): void {
  if (error instanceof Deno.errors.BrokenPipe) return; // nobody reads on, which is no news to anybody
  if (error instanceof InterruptedError) return host.note("hsgate: interrupted");
  const known = error instanceof BrokerError || error instanceof UsageError || isMisuse(error) ||
    isOfSystem(error);
  if (!known) {
    host.note(
      `hsgate: this is a fault of the program\n${error instanceof Error ? error.stack : String(error)}`,
    );
    return;
  }
  // The broker's own words stand in it, and must not write anywhere on the screen; lines are ours.
  host.note(`hsgate: ${textOf(error).split("\n").map(plain).join("\n")}`);
  const advice = adviceFor(error, command);
  if (advice !== undefined) host.note(`  -> ${advice}`);
}

/** Files that are missing or locked, addresses in use, a full disk: the system's own words say it best. */
function isOfSystem(error: unknown): error is Error {
  return exitCodeOf(error) === 1 && error instanceof Error &&
    (isOfSqlite(error) || OF_SYSTEM.test(error.message) ||
      Object.values(Deno.errors).some((each) => typeof each === "function" && error instanceof each));
}

/** Such as `No space left on device (os error 28): writefile 'out/a.csv'`; not every one has a class of its own. */
const OF_SYSTEM = /^([^\n]+?) \(os error \d+\)(?:: (\w+) '([^\n]*)')?$/;

/** The ledger is the one database. */
const isOfSqlite = (error: Error) => "code" in error && error.code === "ERR_SQLITE_ERROR";

/** What was done with a file, by the names that the runtime has for it. */
const verbs: Readonly<Record<string, string>> = {
  readfile: "read",
  readdir: "read",
  writefile: "write",
  mkdir: "make",
  remove: "remove",
  rename: "rename",
};

/** The words of an error; those of the system in the form of our own. */
function textOf(error: Error): string {
  if (isOfSqlite(error)) return `Cannot use the ledger: ${error.message}`;
  const [, reason = "", action = "", path = ""] = OF_SYSTEM.exec(error.message) ?? [];
  if (action === "") return error.message;
  return `Cannot ${verbs[action] ?? "use"} "${path}": ${reason[0]?.toLowerCase()}${reason.slice(1)}`;
}

const doctorTells = '"deno task hsgate doctor --transport direct" looks at each step and says what is wrong';

const checkPassword =
  "Check the trade password against the broker's app; too many wrong tries can lock the account";

const isDirect = ({ transport }: BrokerError) => transport === "direct";

/** The login at the platform was refused, or what came does not fit the keys. */
const isAboutKeys = ({ operation, name }: BrokerError) =>
  operation === "platform.login" || operation === "platform.openConnection" || name === "ProtocolError";

/** Says what to do next, where there is something to do. */
export function adviceFor(error: Error, command?: Command): string | undefined {
  if (error instanceof UsageError) {
    return command === undefined
      ? '"deno task hsgate --help" lists the commands'
      : `"deno task hsgate ${command.name} --help" shows how it is written`;
  }
  if (error instanceof OutcomeUnknownError) {
    const { lists } = error;
    const calls = commandsOf(lists, "deno task hsgate").map((words) => `"${words}"`);
    return calls.length === 0
      ? "It may have happened. Do not repeat it: first look in the broker's app"
      : `It may have happened. Do not repeat it: first read ${calls.join(" and ")}${
        needsMarket(lists) ? " with the market of the order" : ""
      }`;
  }
  if (damageOf(error) ?? damageOf(error.cause)) {
    return '"deno task hsgate ledger verify" lists what is wrong with it, and what to do';
  }
  if (error instanceof DisplacedError) {
    return "Close the other program or device that uses this account, then log in again";
  }
  if (error instanceof LoginRefusedError) {
    return error.reason === "passing"
      ? 'Nothing says that the password is wrong: try again later, or ask "deno task hsgate doctor" what is wrong'
      : isDirect(error)
      ? checkPassword
      : 'Check the trade password and its key; "deno task hsgate doctor" looks at both; too many wrong tries can ' +
        "lock the account";
  }
  if (error instanceof LoginExpiredError && isDirect(error)) {
    if (error.operation === "platform.login" || error.code === "1014") return doctorTells;
    return error.operation === "account.login" && error.code !== "no-password"
      ? checkPassword
      : "Set HSGATE_TRADE_PASSWORD; over the direct transport it needs no key";
  }
  if (error instanceof LoginExpiredError) {
    if (error.operation === "account.login" && error.code !== "no-password") {
      return 'Check the trade password and its key; "deno task hsgate doctor" looks at both';
    }
    return "Set HSGATE_TRADE_PASSWORD and HSGATE_TRADE_PASSWORD_KEY and log in with " +
      '"deno task hsgate login", or type "tradelogin" in the gateway\'s console. Nothing was done: send it again ' +
      "if it is still wanted";
  }
  if (error instanceof MarketClosedError) {
    return "The market is closed now: send it again in its trading hours";
  }
  if (error instanceof UnmappedError) {
    return error.code === "not-on-socket"
      ? 'Use --transport gateway; "deno task hsgate operations" shows which transports carry what'
      : undefined;
  }
  if (error instanceof TransportError && isDirect(error)) {
    return error.code === "lease-held"
      ? "Close that program first, or wait until it has ended; a gateway (--transport gateway) has a login of its own"
      : error.code === "timeout"
      ? `Wait longer with --timeout, or see what is wrong: ${doctorTells}`
      : doctorTells;
  }
  if (error instanceof TransportError) {
    return error.code === "timeout"
      ? 'Wait longer with --timeout, or ask "deno task hsgate doctor" what is wrong'
      : 'Is the gateway running? "deno task hsgate doctor" looks for it and says what is wrong';
  }
  if (error instanceof BrokerError && isDirect(error) && isAboutKeys(error)) return doctorTells;
  if (error instanceof ProtocolError && /not-json|not-an-envelope/.test(error.code ?? "")) {
    return 'Something else answers at this address: "deno task hsgate doctor" tells more';
  }
  if (isMisuse(error) && /^Cannot read (private|public) key: /.test(error.message)) {
    return '"deno task hsgate keys check FILE" tells more about a key';
  }
  if (error instanceof InvalidParamsError && error.operation !== undefined) {
    return `"deno task hsgate operations ${error.operation}" lists its parameters`;
  }
  return undefined;
}
