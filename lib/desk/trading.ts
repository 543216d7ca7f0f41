/**
 * Opens a store, and connects a client whose order writes go through the store's order desk.
 *
 * @module
 */
import { builtInCalendars } from "../calendars/mod.ts";
import { directAccount, gatewayAccount } from "../client/account_name.ts";
import type { Client } from "../client/client.ts";
import type { ConnectOptions, DirectConnectOptions } from "../client/connect.ts";
import { type LimitTexts, readLimits } from "../client/limits.ts";
import { secretsOf } from "../client/settings.ts";
import { Redactor } from "../redact.ts";
import { isPostgresUrl } from "../store/postgres_url.ts";
import type { Store } from "../store/store.ts";
import { machineWith } from "../time.ts";
import { GATEWAY_URL } from "../transports/gateway.ts";
import { Desk, type DeskOptions } from "./desk.ts";
import { guardsOf } from "./guards/rules.ts";
import { fileHalt } from "./halt.ts";
import { lazily } from "../lazy.ts";

const loadPostgres = lazily(() => import("../store/postgres.ts"));
const loadSqlite = lazily(() => import("../store/sqlite.ts"));

/** The member that a client with a store has in addition. The order writes of such a client go through the desk. */
export interface Trading {
  /** The order desk of the account. */
  readonly desk: Desk;
}

/** Opens the store that a path or URL names. */
async function openStore(name: string): Promise<Store> {
  if (isPostgresUrl(name)) return await (await loadPostgres()).openPostgres(name);
  return await (await loadSqlite()).openSqlite(name);
}

/** Returns a redactor with the secrets of a connection. */
async function redactorOf(options: ConnectOptions | DirectConnectOptions): Promise<Redactor> {
  const redactor = new Redactor({ anyLength: true });
  const { tradePassword, fundAccounts = [] } = options;
  const own = "direct" in options
    ? {
      loginPassword: options.direct.password,
      mobile: options.direct.mobile,
      developerPrivateKey: options.direct.privateKey,
    }
    : {
      tradePasswordKey: typeof options.gateway === "string"
        ? options.tradePasswordKey
        : options.gateway.tradePasswordKey ?? options.tradePasswordKey,
    };
  const secrets = await secretsOf({ tradePassword, fundAccounts: fundAccounts.join(), ...own });
  for (const [, secret] of secrets) redactor.add(secret);
  return redactor;
}

/** Returns the client that `connectClient` creates, with the desk of a store. Closing the client closes the store. */
export async function openTrading(
  connectClient: () => Promise<Client>,
  options: ConnectOptions | DirectConnectOptions,
  { store: name, by = "a script", limits: texts = {}, reconcileEveryMs }: {
    store: string;
    by?: string | undefined;
    limits?: LimitTexts | undefined;
    reconcileEveryMs?: DeskOptions["reconcileEveryMs"];
  },
): Promise<Client & Trading> {
  const limits = readLimits(texts);
  const to = "direct" in options
    ? options.direct
    : typeof options.gateway === "string"
    ? { url: options.gateway }
    : options.gateway;
  const account = "direct" in options
    ? await directAccount(options.direct.privateKey)
    : gatewayAccount(to.url ?? GATEWAY_URL);
  const redactor = await redactorOf(options); // before the store is opened, because it can fail
  const store = await openStore(name);
  let inner: Client;
  try {
    inner = await connectClient();
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
  const machine = machineWith(options.machine);
  const guard = guardsOf(limits, { store, machine, account, calendars: () => builtInCalendars });
  const desk = new Desk({
    store,
    machine,
    account,
    client: inner,
    guard,
    haltedByFile: fileHalt(name),
    redact: (text) => redactor.text(text),
    reconcileEveryMs,
    ...to.timeoutMs !== undefined && { timeoutMs: to.timeoutMs },
  });
  const stopReconciling = desk.keepReconciled();
  const close = async () => {
    const stopped = stopReconciling();
    try {
      await inner.close();
    } finally {
      await stopped;
      await store[Symbol.asyncDispose]();
    }
  };
  return { ...desk.client({ by }), desk, close, [Symbol.asyncDispose]: close };
}
