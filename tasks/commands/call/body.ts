/**
 * Runs `hsgate call`.
 *
 * @module
 */
import type { Client } from "../../../lib/client/client.ts";
import type { Settings } from "../../../lib/client/settings.ts";
import { paged } from "../../../lib/client/paging.ts";
import { parseExactly, repeatedMember } from "../../../lib/json_text.ts";
import { account } from "../../../lib/operations/account.ts";
import {
  type AnyOperation,
  encodeParams,
  gatewayPath,
  normalizeParams,
} from "../../../lib/operations/operation.ts";
import type { FieldsInfo } from "../../../lib/operations/types.ts";
import {
  isListMissing,
  LIST_LEFT_OUT,
  unknownMembers,
  wireAnswerOf,
  wireOf,
} from "../../../lib/operations/wire_rows.ts";
import type { CallOptions } from "../../../lib/transports/transport.ts";
import type { CallInput } from "../call.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { checkColumns, printAnswer } from "../../terminal/answer.ts";
import { cut } from "../../terminal/print.ts";
import { checkParams, namedOperation } from "../shared/named_operation.ts";
import { listView } from "../../terminal/list_output.ts";
import type { LoadedSettings } from "../../../lib/client/load_settings.ts";
import type { OpenDesk } from "../shared/desk.ts";
import { confirm } from "../shared/ask.ts";
import { clientOf, settingsOf } from "../shared/session.ts";

type GivenParams = Record<string, unknown>;

/** Calls one operation and prints its answer. */
export async function run({ args, flags, host }: CallInput): Promise<number> {
  const [name = "", json] = args;
  const operation = namedOperation(name);
  const fields = operation.request.fields ?? {};
  const params = normalizeParams(fields, await readParams(operation, json, host));
  // A login without parameters uses the password of the settings, so there is nothing to check.
  const isOwnLogin = operation.name === account.login.name && json === undefined;
  if (!isOwnLogin) checkParams(operation, params);
  const [view, inWireForm] = [listView(flags), flags.wire === true];
  checkColumns({ operation, inWireForm, columns: view.columns });
  const loaded = await settingsOf(flags, host);
  const { transport } = loaded.settings;
  if (flags["dry-run"]) {
    const sent = isOwnLogin ? {} : await shownRequest(operation, params, transport);
    host.out(JSON.stringify(sent, undefined, flags.json ? 0 : 2));
    return 0;
  }
  if (flags.all && operation.paging === undefined) {
    throw new UsageError(`Cannot use --all: ${operation.name} has no pages; remove --all`);
  }
  await using open = operation.order === undefined
    ? undefined
    : await openOrders(operation, params, { flags, host, loaded });
  if (operation.effect === "write" && !flags.yes && host.canAsk) {
    const sent = await shownRequest(operation, params, transport);
    await confirmCall(operation, sent, { open, params, host });
  }
  await using own = open === undefined
    ? await clientOf(flags, host, { command: `call ${operation.name}`, loaded })
    : undefined;
  const client = open?.trader ?? own!; // exactly one of the two exists
  // Tables show rounded JSON numbers; output for programs keeps every digit.
  const keepWire = inWireForm && (view.output !== "table" || !host.isTerminal) ? "digits" : "members";
  const all = flags.all === true;
  const answer = await callOnce(client, operation, params, { all, isOwnLogin, host, keepWire });
  const sent = wireForm(operation, answer);
  noteUnknownMembers(operation, sent, inWireForm, host);
  printAnswer(inWireForm ? sent : answer, {
    operation,
    params,
    hasAllRows: flags.all === true,
    view,
    inWireForm,
    host,
  });
  return 0;
}

async function callOnce(
  client: Client,
  operation: AnyOperation,
  params: unknown,
  { all, isOwnLogin, host, keepWire }: {
    all: boolean;
    isOwnLogin: boolean;
    host: Host;
    keepWire: NonNullable<CallOptions["keepWire"]>;
  },
): Promise<unknown> {
  const options = { signal: host.signal, keepWire };
  // `checkParams` has checked these parameters; a login without parameters uses the client's password.
  const given = params as GivenParams;
  if (operation.name === account.login.name) {
    return await client.account.login(isOwnLogin ? {} : given, options);
  }
  if (!all) {
    const answer: unknown = await client.call(operation, given, options);
    if (typeof answer === "object" && answer !== null && isListMissing(answer)) {
      host.note(`hsgate: warning: there may be rows: ${LIST_LEFT_OUT}`);
    }
    return answer;
  }
  const list = paged<unknown>(
    () => Promise.resolve(operation),
    given,
    options,
    (each, page, pageOptions) => client.call(each, page, pageOptions),
  );
  const rows = await list.toArray();
  if (list.unproven !== undefined) {
    host.note(`hsgate: there may be more than these ${rows.length} rows: ${list.unproven}`);
  }
  return rows;
}

/** Returns an answer in the broker's format. The rows of several pages are one list. */
function wireForm(operation: AnyOperation, answer: unknown): unknown {
  const sent = wireAnswerOf(answer);
  if (sent !== undefined) return sent;
  const { rows } = operation.response.fields ?? {};
  if (Array.isArray(answer) && rows !== undefined) {
    return { [rows.wire]: answer.map((row) => wireOf(row) ?? row) };
  }
  return operation.response.encode(answer);
}

/** Prints a note about the members of an answer that this version does not know. */
function noteUnknownMembers(operation: AnyOperation, sent: unknown, isShown: boolean, host: Host): void {
  const counts = unknownMembers(operation, sent);
  if (counts.size === 0) return;
  const named = [...counts]
    .map(([path, count]) => count === 1 ? cut(path) : `${cut(path)} (${count} times)`).join(", ");
  const what = counts.size === 1
    ? "1 member that this version does not know"
    : `${counts.size} members that this version does not know`;
  host.note(
    `hsgate: the answer has ${what}: ${named}${
      isShown ? "" : "; --wire shows everything that the broker sent"
    }`,
  );
}

/** A request, as it would be sent. */
interface Sent {
  /** Path at the gateway, or at the platform. */
  path?: string | undefined;
  /** Message on the socket; `null` for a request without a payload. Absent if the request does not use the socket. */
  message?: string | null;
  params: GivenParams;
}

/**
 * Returns a request as it would be sent, with its secrets hidden.
 *
 * @throws {UsageError} If the gateway does not offer the operation.
 * @throws {UnmappedError} If the direct transport does not support the operation.
 */
async function shownRequest(
  operation: AnyOperation,
  params: unknown,
  transport: Settings["transport"],
): Promise<Sent> {
  const { group, platformPath } = operation;
  const isOnSocket = transport === "direct" && platformPath === undefined;
  if (transport === "gateway" && group === null) {
    throw new UsageError(
      `Cannot call ${operation.name} over the gateway: the gateway does not offer this operation`,
    );
  }
  if (!isOnSocket) {
    const path = transport === "direct" ? platformPath : gatewayPath(operation);
    return { path, params: withoutSecrets(operation, encodeParams(operation, params)) };
  }
  const { mappingOf, plainParams } = await import("../../../lib/transports/direct/payloads.ts");
  const { request } = mappingOf(operation);
  return { message: request, params: withoutSecrets(operation, plainParams(operation, params)) };
}

function withoutSecrets(operation: AnyOperation, encoded: GivenParams): GivenParams {
  for (const { wire, type } of Object.values(operation.request.fields ?? {})) {
    if (type.secret && encoded[wire] !== undefined) encoded[wire] = "[secret]";
  }
  return encoded;
}

/**
 * Opens the order desk for an order write. Fails before it opens anything if the transport does not support the
 * operation.
 */
async function openOrders(
  operation: AnyOperation,
  params: unknown,
  { flags, host, loaded }: Pick<CallInput, "flags" | "host"> & { loaded: LoadedSettings },
): Promise<OpenDesk> {
  await shownRequest(operation, params, loaded.settings.transport);
  const { openDesk } = await import("../shared/desk.ts"); // only order writes need a store
  return await openDesk(flags, { host, command: `call ${operation.name}`, writes: true, loaded });
}

async function confirmCall(
  operation: AnyOperation,
  { path, message, params }: Sent,
  { open, params: given, host }: { open: OpenDesk | undefined; params: unknown; host: Host },
): Promise<void> {
  const { name } = operation;
  const what = path === undefined ? `send ${message ?? name} over the trade socket` : `send to ${path}`;
  host.note(`This call changes the account. It would ${what}:`);
  host.note(JSON.stringify(params, undefined, 2));
  if (open === undefined) return await confirm(`Send ${name}?`, host);
  const { confirmOrder } = await import("../orders/place.ts");
  // The operation has checked that the parameters are a record.
  await confirmOrder(operation, given as GivenParams, { open, host, isAsked: true });
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
      `Cannot accept "${secret}" on the command line: everybody on this machine can read it in the process list; ` +
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
  let params: unknown;
  try {
    params = parseExactly(text);
  } catch (error) {
    // The parser's message quotes the text, which may contain a secret.
    const holdsSecret = Object.values(operation.request.fields ?? {}).some(({ type }) => type.secret);
    const reason = error instanceof Error && !holdsSecret ? error.message : "they are not JSON";
    throw new UsageError(
      `Cannot read the parameters: ${reason}; write a JSON object in single quotes, such as '{"market":"hk"}'`,
    );
  }
  const twice = repeatedMember(text);
  if (twice === undefined) return params;
  throw new UsageError(
    `Cannot read the parameters: they have the member "${twice}" twice; remove one of them`,
  );
}

/**
 * Returns the name of a given member that is a secret and must not appear in a process list; `undefined` if there is
 * none.
 */
function secretIn(fields: FieldsInfo, given: unknown): string | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const secrets = Object.entries(fields).filter(([, { type }]) => type.secret);
  return Object.keys(given).find((member) =>
    secrets.some(([name, { wire }]) => member === name || member === wire)
  );
}
