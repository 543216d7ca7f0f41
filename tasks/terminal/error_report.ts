/**
 * Reports errors to people and programs, with advice on what to do next.
 *
 * @module
 */
import {
  BrokerError,
  BusyError,
  DisplacedError,
  InvalidParamsError,
  LoginExpiredError,
  LoginRefusedError,
  MarketClosedError,
  OutcomeUnknownError,
  ProtocolError,
  RejectedError,
  TransportError,
  UnmappedError,
} from "../../lib/errors.ts";
import { ExpressionError, RecipeError } from "../../lib/recipes/recipe_error.ts";
import { operations } from "../../lib/operations/mod.ts";
import { commandsOf } from "../../lib/operations/proof.ts";
import { damageOf } from "../../lib/store/store_error.ts";
import type { Command } from "./command.ts";
import {
  DeclinedError,
  type ExitCode,
  exitCodeOf,
  InterruptedError,
  isMisuse,
  UsageError,
} from "./exit_codes.ts";
import type { Host } from "./host.ts";
import { plain } from "./print.ts";

/** Writes an error to stderr. */
export function report(error: unknown, command: Command | undefined, host: Host): void {
  if (error instanceof Deno.errors.BrokenPipe) return; // the reader of the output closed the pipe and needs no message
  if (error instanceof InterruptedError) return host.note("hsgate: interrupted");
  if (!isKnown(error)) {
    host.note(`hsgate: internal error, please report it:\n${stackOf(error)}`);
    return;
  }
  host.note(`hsgate: ${messageOf(error, host)}`);
  const advice = adviceFor(error, command);
  if (advice !== undefined) host.note(`  -> ${advice}`);
}

/** An error for `--json`. */
export interface ErrorData {
  /** Name of the class, such as `RejectedError`. */
  class: string;
  /** The broker's code, or hsgate's short code; `null` if there is none. */
  code: string | null;
  /** What failed, and why. */
  text: string;
  /** What to do next; `null` if there is no advice. */
  advice: string | null;
  exitCode: ExitCode;
  /** hsgate's name of the operation, such as `orders.place`. */
  operation?: string;
  /** The transport that carried the call. */
  transport?: string;
}

/** Returns an error for programs. */
export function errorData(error: unknown, command: Command | undefined, host: Host): ErrorData {
  const exitCode = exitCodeOf(error);
  if (!isKnown(error)) {
    const text = (host.errorText ?? String)(plain(error instanceof Error ? error.message : String(error)));
    return {
      class: error instanceof Error ? error.name : "Error",
      code: "internal-error",
      text,
      advice: "This is an internal error: please report it",
      exitCode,
    };
  }
  const { code, operation, transport }: Partial<BrokerError> = error instanceof BrokerError
    ? error
    : error instanceof DeclinedError
    ? { code: "declined" }
    : {};
  return {
    class: error.name,
    code: code ?? null,
    text: messageOf(error, host),
    advice: adviceFor(error, command) ?? null,
    exitCode,
    ...operation !== undefined && { operation },
    ...transport !== undefined && { transport },
  };
}

/** Returns whether the message of an error is for people. Any other error is an internal error. */
function isKnown(error: unknown): error is Error {
  return error instanceof BrokerError || error instanceof UsageError || error instanceof DeclinedError ||
    isMisuse(error) ||
    isOfSystem(error) || error instanceof ExpressionError;
}

/** Returns the message of an error without secrets. */
function messageOf(error: Error, host: Host): string {
  // The message may contain text of the broker, which must not control the screen or forge a line of hsgate.
  const lines = hasOwnLines(error) ? textOf(error).split("\n") : [textOf(error)];
  return (host.errorText ?? String)(lines.map(plain).join("\n"));
}

/** Returns whether every line break of a message comes from hsgate itself, as in a list of mistakes. */
const hasOwnLines = (error: Error): boolean =>
  error instanceof InvalidParamsError || error instanceof RecipeError || error instanceof UsageError ||
  isMisuse(error);

/** Returns the stack of an internal error. Its message is put on one line, because it may contain untrusted text. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return plain(String(error));
  const { message, stack = message } = error;
  return stack.replace(message, () => plain(message));
}

/** Returns whether an error comes from the operating system or SQLite: a missing file, a full disk and so on. */
function isOfSystem(error: unknown): error is Error {
  return exitCodeOf(error) === 1 && error instanceof Error &&
    (isOfSqlite(error) || OF_SYSTEM.test(error.message) ||
      Object.values(Deno.errors).some((each) => typeof each === "function" && error instanceof each));
}

/**
 * Matches the message of a system error, because not every such error has its own class:
 * `No space left on device (os error 28): writefile 'out/a.csv'`.
 */
const OF_SYSTEM = /^([^\n]+?) \(os error \d+\)(?:: (\w+) '([^\n]*)')?$/;

/** Returns whether an error comes from SQLite, and so from the store. */
const isOfSqlite = (error: Error) => "code" in error && error.code === "ERR_SQLITE_ERROR";

/** Verbs for the names of file operations in Deno's messages. */
const verbs: Readonly<Record<string, string>> = {
  readfile: "read",
  readdir: "read",
  writefile: "write",
  mkdir: "create",
  remove: "remove",
  rename: "rename",
};

/** Returns the message of an error. Converts messages of the system to hsgate's form. */
function textOf(error: Error): string {
  if (isOfSqlite(error)) return `Cannot use the store: ${error.message}`;
  if (error instanceof Deno.errors.NotCapable) {
    // Replace Deno's message, which suggests granting all permissions.
    const [, access, name] = /^Requires (\w+) access to ("[^"]*")/.exec(error.message) ?? [];
    return access === "all"
      ? `Cannot use ${name}: it is a device or another special file, which hsgate does not open`
      : `Cannot use ${name ?? "a file or address"}: this process has no permission for ${access ?? "it"}`;
  }
  const [, reason = "", action = "", path = ""] = OF_SYSTEM.exec(error.message) ?? [];
  if (action === "") return error.message;
  return `Cannot ${verbs[action] ?? "use"} "${path}": ${reason[0]?.toLowerCase()}${reason.slice(1)}`;
}

const runDoctor = '"hsgate doctor --transport direct" checks each step and explains what is wrong';

const checkPassword =
  "Check the trade password in the broker's app; too many wrong tries can lock the account";

const isDirect = ({ transport }: BrokerError) => transport === "direct";

/** Returns whether wrong keys may be the cause: an error of the platform's login, or an answer that cannot be read. */
const isAboutKeys = ({ operation, name }: BrokerError) =>
  operation === "platform.login" || operation === "platform.openConnection" || name === "ProtocolError";

/** Returns whether a list requires a market as a parameter. */
const needsMarket = (name: string) => operations.get(name)?.request.fields?.market?.optional === false;

/** Returns what to do next. @returns `undefined` if there is no advice. */
export function adviceFor(error: Error, command?: Command): string | undefined {
  if (error instanceof UsageError) {
    return command === undefined
      ? '"hsgate --help" lists the commands'
      : `"hsgate ${command.name} --help" shows the usage`;
  }
  if (error instanceof DeclinedError) {
    return "Nothing was changed: run the command again if you want it after all";
  }
  if (error instanceof OutcomeUnknownError) {
    const { lists } = error;
    const calls = commandsOf(lists).map((words) => `"${words}"`);
    return calls.length === 0
      ? "The write may have happened. Do not repeat it: first check in the broker's app"
      : `The write may have happened. Do not repeat it: first run ${calls.join(" and ")}${
        lists.some(needsMarket) ? " with the market of the order" : ""
      }`;
  }
  if (damageOf(error) ?? damageOf(error.cause)) {
    return '"hsgate store verify" lists the damage, and what to do';
  }
  if (error instanceof DisplacedError) {
    return "Close the other program or device that uses this account, then log in again";
  }
  if (error instanceof LoginRefusedError) {
    return error.reason === "temporary"
      ? 'The password may be right: try again later, or run "hsgate doctor"'
      : isDirect(error)
      ? checkPassword
      : 'Check the trade password and its key with "hsgate doctor"; too many wrong tries can lock the account';
  }
  if (error instanceof LoginExpiredError && isDirect(error)) {
    if (error.operation === "platform.login" || error.code === "1014") return runDoctor;
    return error.operation === "account.login" && error.code !== "no-password"
      ? checkPassword
      : "Set HSGATE_TRADE_PASSWORD; over the direct transport it needs no key";
  }
  if (error instanceof LoginExpiredError) {
    if (error.operation === "account.login" && error.code !== "no-password") {
      return 'Check the trade password and its key with "hsgate doctor"';
    }
    return "Set HSGATE_TRADE_PASSWORD and HSGATE_TRADE_PASSWORD_KEY and log in with " +
      '"hsgate login", or type "tradelogin" in the gateway\'s console. Nothing was done: send it again ' +
      "if you still want it";
  }
  if (error instanceof MarketClosedError) {
    return "The market is closed now: send it again during its trading hours";
  }
  if (error instanceof BusyError) return "The broker is busy, and nothing was done: try again later";
  if (error instanceof RejectedError && error.operation !== undefined && operations.has(error.operation)) {
    return "The broker gives the reason, and nothing was done: correct the request; " +
      `"hsgate operations ${error.operation}" lists its parameters`;
  }
  if (error instanceof UnmappedError) {
    return error.code === "not-on-socket"
      ? 'Use --transport gateway; "hsgate operations" lists the transports of each operation'
      : undefined;
  }
  if (error instanceof TransportError && isDirect(error)) {
    return error.code === "lease-held"
      ? "Close that program first, or wait until it ends; or use a gateway (--transport gateway), which has its own login"
      : error.code === "timeout"
      ? `Wait longer with --timeout; ${runDoctor}`
      : runDoctor;
  }
  if (error instanceof TransportError) {
    return error.code === "timeout"
      ? 'Wait longer with --timeout, or run "hsgate doctor"'
      : 'Is the gateway running? "hsgate doctor" looks for it and explains what is wrong';
  }
  if (
    error instanceof BrokerError && error.code === "guard" && /guard rail liveTrading /.test(error.message)
  ) {
    return 'Set HSGATE_LIVE_TRADING=allow, or write "liveTrading: allow" into the settings file';
  }
  if (error instanceof BrokerError && error.code === "read-only") {
    return 'To write, set HSGATE_READ_ONLY=no, or write "readOnly: no" into the settings file. The value "login" allows only the trade login';
  }
  if (error instanceof BrokerError && isDirect(error) && isAboutKeys(error)) return runDoctor;
  if (error instanceof ProtocolError && /not-json|not-an-envelope/.test(error.code ?? "")) {
    return 'Another program answers at this address; run "hsgate doctor"';
  }
  if (isMisuse(error) && /^Cannot read (private|public) key: /.test(error.message)) {
    return '"hsgate keys check FILE" explains what is wrong with a key';
  }
  if (error instanceof InvalidParamsError && error.operation !== undefined) {
    return `"hsgate operations ${error.operation}" lists its parameters`;
  }
  return undefined;
}
