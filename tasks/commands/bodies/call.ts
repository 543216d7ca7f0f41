/**
 * What `hsgate call` does.
 *
 * @module
 */
import type { Client } from "../../../lib/client/client.ts";
import { paged } from "../../../lib/client/paging.ts";
import { InvalidParamsError, type Issue } from "../../../lib/errors.ts";
import { account } from "../../../lib/operations/account.ts";
import {
  type AnyOperation,
  encodeParams,
  gatewayPath,
  normalizeParams,
} from "../../../lib/operations/operation.ts";
import type { FieldsInfo } from "../../../lib/operations/types.ts";
import type { CallInput } from "../call.ts";
import { UsageError } from "../exit_codes.ts";
import type { Host } from "../host.ts";
import { printAnswer } from "./answer.ts";
import { namedOperation } from "./named_operation.ts";
import { clientOf } from "../session.ts";

type Given = Record<string, unknown>;

/** Calls one operation and prints its answer. */
export async function run({ args, flags, host }: CallInput): Promise<number> {
  const [name = "", json] = args;
  const operation = namedOperation(name);
  const fields = operation.request.fields ?? {};
  const params = normalizeParams(fields, await readParams(operation, json, host));
  // A login without parameters takes the password of the settings, so there is nothing to check.
  const isOwnLogin = operation.name === account.login.name && json === undefined;
  if (!isOwnLogin) check(operation, params);
  if (flags["dry-run"]) {
    host.out(
      isOwnLogin ? "{}" : JSON.stringify(whatIsSent(operation, params), undefined, flags.json ? 0 : 2),
    );
    return 0;
  }
  if (flags.all && operation.paging === undefined) {
    throw new UsageError(`Cannot walk pages: ${operation.name} answers at once, leave --all out`);
  }
  if (operation.effect === "write" && !flags.yes && host.canAsk && !await confirm(operation, params, host)) {
    host.note("hsgate: nothing was sent");
    return 0;
  }
  await using client = await clientOf(flags, host, { command: "call" });
  const answer = await callOnce(client, operation, params, { all: flags.all === true, isOwnLogin, host });
  const shown = flags.wire ? inWireForm(operation, answer) : answer;
  printAnswer(shown, { operation, params, isWhole: flags.all === true, asJson: flags.json === true, host });
  return 0;
}

async function callOnce(
  client: Client,
  operation: AnyOperation,
  params: unknown,
  { all, isOwnLogin, host }: { all: boolean; isOwnLogin: boolean; host: Host },
): Promise<unknown> {
  const options = { signal: host.signal };
  // `check` has seen that these are parameters; a login knows its own password.
  const given = params as Given;
  if (operation.name === account.login.name) {
    return await client.account.login(isOwnLogin ? {} : given, options);
  }
  if (!all) return await client.call(operation, given, options);
  return await paged<unknown>(
    operation,
    given,
    options,
    (each, page, pageOptions) => client.call(each, page, pageOptions),
  ).toArray();
}

/** An answer in the broker's spelling; the rows of several pages stand in one list. */
function inWireForm(operation: AnyOperation, answer: unknown): unknown {
  const isRows = Array.isArray(answer) && !Array.isArray(operation.response.zero);
  return operation.response.encode(isRows ? { rows: answer } : answer);
}

function check(operation: AnyOperation, params: unknown): void {
  const issues: Issue[] = [];
  operation.request.check(params, [], issues);
  if (issues.length > 0) {
    throw new InvalidParamsError(`call ${operation.name}`, issues, { operation: operation.name });
  }
}

function whatIsSent(operation: AnyOperation, params: unknown): { path: string | undefined; params: Given } {
  const encoded = encodeParams(operation, params);
  for (const { wire, type } of Object.values(operation.request.fields ?? {})) {
    if (type.secret && encoded[wire] !== undefined) encoded[wire] = "[secret]";
  }
  return { path: gatewayPath(operation), params: encoded };
}

async function confirm(operation: AnyOperation, params: unknown, host: Host): Promise<boolean> {
  const sent = whatIsSent(operation, params);
  host.note(`This changes the account. It would send to ${sent.path}:`);
  host.note(JSON.stringify(sent.params, undefined, 2));
  return /^y(es)?$/i.test(await host.ask(`Send ${operation.name}? [y/N] `));
}

/** Reads the parameters from the command line, stdin or a file. */
async function readParams(operation: AnyOperation, given: string | undefined, host: Host): Promise<unknown> {
  if (given === undefined) return {};
  const isInline = given !== "-" && !given.startsWith("@");
  const text = given === "-"
    ? await host.readStdin()
    : isInline
    ? given
    : await readNamed(given.slice(1), host);
  const params = parseJson(operation, text);
  const secret = isInline ? secretIn(operation.request.fields ?? {}, params) : undefined;
  if (secret !== undefined) {
    throw new UsageError(
      `Cannot take "${secret}" on the command line: everybody on this machine can read it in the process list; ` +
        `give the parameters on stdin (-) or in a file (@FILE)` +
        (operation.name === account.login.name
          ? ", or leave them out to use the password of the settings"
          : ""),
    );
  }
  return params;
}

async function readNamed(path: string, host: Host): Promise<string> {
  const file = await host.readFile(path);
  if (file === undefined) throw new UsageError(`Cannot read the parameters: there is no file "${path}"`);
  return file.text;
}

function parseJson(operation: AnyOperation, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser quotes the text in its message, and the text may hold a secret.
    const holdsSecret = Object.values(operation.request.fields ?? {}).some(({ type }) => type.secret);
    const reason = error instanceof Error && !holdsSecret ? error.message : "they are not JSON";
    throw new UsageError(
      `Cannot read the parameters: ${reason}; they are a JSON object in single quotes, such as '{"market":"hk"}'`,
    );
  }
}

/** Finds a member that must not stand in a process list. */
function secretIn(fields: FieldsInfo, given: unknown): string | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const secrets = Object.entries(fields).filter(([, { type }]) => type.secret);
  return Object.keys(given).find((member) =>
    secrets.some(([name, { wire }]) => member === name || member === wire)
  );
}
