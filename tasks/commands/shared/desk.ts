/**
 * Opens what a command needs to write orders: the store, the connection and the order desk of the account.
 *
 * @module
 */
import { directAccount, gatewayAccount } from "../../../lib/client/account_name.ts";
import type { Client } from "../../../lib/client/client.ts";
import { limitsOf } from "../../../lib/client/limits.ts";
import type { LoadedSettings } from "../../../lib/client/load_settings.ts";
import type { Settings } from "../../../lib/client/settings.ts";
import { placeBefore, readLists } from "../../../lib/desk/broker_lists.ts";
import { Desk } from "../../../lib/desk/desk.ts";
import type { Check } from "../../../lib/desk/guards/check.ts";
import { checkOf, guardsOf } from "../../../lib/desk/guards/rules.ts";
import type { Intent } from "../../../lib/desk/intent.ts";
import { findHalt, findIntent, intentsLike, unresolvedIntents } from "../../../lib/desk/queries.ts";
import { refuseWrongClock } from "../../../lib/desk/send.ts";
import { BrokerError } from "../../../lib/errors.ts";
import { didYouMean } from "../../../lib/client/nearest.ts";
import { Market } from "../../../lib/dictionaries/market.ts";
import type { AnyOperation } from "../../../lib/operations/operation.ts";
import type { Store } from "../../../lib/store/store.ts";
import { calendarsOf } from "../../terminal/arguments.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import { plain } from "../../terminal/print.ts";
import type { Host } from "../../terminal/host.ts";
import { runnerMachine } from "../run/deps.ts";
import { actorOf } from "./decide.ts";
import { clientOf, settingsOf, type StoreFlags } from "./session.ts";
import { fileHaltOf, openStore, warnOfPlace } from "./store_file.ts";

/** Flags of a command that uses the order desk. */
export type DeskFlags = StoreFlags & { readonly by?: string };

/** Codes of errors after which no answer arrived. With any other code, an answer arrived that proves nothing. */
const lostCodes: readonly string[] = ["timeout", "connection-lost", "aborted"];

/** Options of {@linkcode openDesk}. */
interface DeskOptions {
  host: Host;
  /** Name of the command. The lease shows it to other programs, and warnings name it. */
  command: string;
  /** Whether the command writes orders. */
  writes: boolean;
  /** The settings, if the command has loaded them. */
  loaded?: LoadedSettings;
  /** Called with each change of an intent. */
  onChange?(intent: Intent): void;
}

/** The store and the account of a command. Disposal closes the store. */
export interface AccountStore extends AsyncDisposable {
  store: Store;
  account: string;
  loaded: LoadedSettings;
}

/** The order desk of a command. Disposal closes the connection and, after `openDesk`, the store. */
export interface OpenDesk extends AsyncDisposable {
  store: Store;
  account: string;
  /** The client without the desk, for reads. */
  client: Client;
  desk: Desk;
  /** The client whose order writes go through the desk. */
  trader: Client;
  /**
   * Reads the broker's lists, and returns the data for the guard rails of a new order or an amendment. The command shows
   * this data and checks the guard rails before it asks the user. The desk checks the write again before it sends the
   * write.
   */
  checkOf(operation: AnyOperation, params: Readonly<Record<string, unknown>>): Promise<Check>;
  /** The intents that this command sent, as they are now, oldest first. */
  sent(): Intent[];
}

/** Returns the name of the account that the settings connect to. */
export async function accountOf({ transport, developerPrivateKey, gatewayUrl }: Settings): Promise<string> {
  return transport === "direct" ? await directAccount(developerPrivateKey) : gatewayAccount(gatewayUrl);
}

/**
 * Opens the store, and finds the account that the settings name. Does not connect.
 *
 * @throws {BrokerError} If the command writes, and trading is halted (code `halted`) or this machine's clock is wrong
 * (code `wrong-clock`).
 * @throws {UsageError} If the command writes, and the settings are read-only or the store may be lost.
 */
export async function openAccountStore(flags: DeskFlags, options: DeskOptions): Promise<AccountStore> {
  const { host, command, writes } = options;
  const loaded = options.loaded ?? await settingsOf(flags, host);
  // Checked before the store is opened: the halt file stops order writes even if the store does not answer.
  if (writes) refuseHalted((await fileHaltOf(flags, host))());
  if (writes && loaded.settings.readOnly !== "no") {
    throw new UsageError(
      `Cannot send orders: the setting readOnly is "${loaded.settings.readOnly}" (${loaded.origins.readOnly}); ` +
        'to send them, set it to "no"',
    );
  }
  const account = await accountOf(loaded.settings);
  await using opened = new AsyncDisposableStack();
  const store = opened.use(await openStore(flags, { host, mustExist: false }));
  if (writes) {
    await warnOfPlace(store, [{ name: command, class: "write" }], { flags, host });
    if (store.risk !== undefined) {
      throw new UsageError(`Cannot send orders: the store "${store.name}" may be lost: ${store.risk}`);
    }
    refuseHalted(await whyHalted({ store, account }, flags, host));
    refuseWrongClock(store);
    await warnOfOthers({ store, account }, host);
  }
  const kept = opened.move();
  return { store, account, loaded, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Connects, and returns the order desk of an open store. Disposal closes only the connection. */
export async function connectDesk(
  { store, account, loaded }: AccountStore,
  flags: DeskFlags,
  { host, command, writes, onChange }: DeskOptions,
): Promise<OpenDesk> {
  // The guard rails use trading days. A command that only reads needs no trading days.
  if (writes) await (await import("./local_calendars.ts")).applyCalendars(flags, host);
  const client = await clientOf(flags, host, { command, loaded });
  const sent = new Map<string, Intent>();
  const machine = runnerMachine(host);
  const why = { by: actorOf(flags, host) };
  const calendars = () => calendarsOf(host);
  const limits = limitsOf(loaded.settings);
  const guardDeps = { store, machine, account, calendars };
  const desk = new Desk({
    store,
    machine,
    account,
    client,
    guard: guardsOf(limits, guardDeps),
    timeoutMs: loaded.settings.timeoutMs,
    haltedByFile: await fileHaltOf(flags, host),
    ...host.errorText !== undefined && { redact: host.errorText },
    onChange(intent, error) {
      const before = sent.get(intent.id)?.state;
      if (intent.state === "sent" || before !== undefined) sent.set(intent.id, intent);
      if (before === "sent" && intent.state === "unknown" && !host.signal.aborted) {
        const what = error instanceof BrokerError && !lostCodes.includes(error.code ?? "")
          ? "the answer does not say whether the order write was executed"
          : "the answer was lost";
        host.note(`hsgate: ${what}: looking in the broker's lists for up to 15 s`);
      } else if (before === "unknown" && intent.state !== "unknown") {
        host.note(`hsgate: the broker's lists show what happened: ${intent.state}`);
      }
      onChange?.(intent);
    },
  });
  return {
    store,
    account,
    client,
    desk,
    trader: desk.client(why),
    async checkOf(operation, params) {
      const { signal, now } = host;
      const reading = await readLists(client, placeBefore(operation, params), { now, signal });
      return await checkOf(limits, guardDeps, { id: "", operation, params, why, reading, client, signal });
    },
    sent: () => [...sent.values()],
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/**
 * Opens the store, connects, and returns the order desk.
 *
 * @throws Like {@linkcode openAccountStore}.
 */
export async function openDesk(flags: DeskFlags, options: DeskOptions): Promise<OpenDesk> {
  await using opened = new AsyncDisposableStack();
  const accountStore = opened.use(await openAccountStore(flags, options));
  const desk = await connectDesk(accountStore, flags, options);
  opened.use(desk);
  const kept = opened.move();
  return { ...desk, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/**
 * Warns of writes with an unknown outcome on an account with another name. Both names may mean one account, because
 * hsgate cannot see that a gateway and the direct transport lead to the same account. So an unknown write over one
 * transport does not block the same order over the other transport.
 */
async function warnOfOthers(
  { store, account }: Pick<AccountStore, "store" | "account">,
  host: Host,
): Promise<void> {
  const [first, ...more] = (await unresolvedIntents(store)).filter((each) => each.account !== account);
  if (first === undefined) return;
  host.note(
    plain(
      `hsgate: warning: account "${first.account}" has ${
        more.length === 0
          ? `a write with an unknown outcome, intent ${first.id}`
          : `writes with an unknown outcome, first intent ${first.id}`
      }; if it is the same account as "${account}", do not send ${
        more.length === 0 ? "this order" : "these orders"
      } again: see hsgate orders show ${first.id}`,
    ),
  );
}

/** Returns why trading is halted, by the halt file or by the row of the store; `undefined` if it is not halted. */
export async function whyHalted(
  { store, account }: Pick<AccountStore, "store" | "account">,
  flags: StoreFlags,
  host: Host,
): Promise<string | undefined> {
  const byFile = (await fileHaltOf(flags, host))();
  if (byFile !== undefined) return byFile;
  const halt = await findHalt(store, account);
  return halt && `${halt.why} (by ${halt.by})`;
}

function refuseHalted(why: string | undefined): void {
  if (why === undefined) return;
  throw new BrokerError(`Cannot write orders: trading is halted: ${why}; to continue, run: hsgate resume`, {
    code: "halted",
  });
}

/**
 * Returns the intent with this id, or with the only id that begins with this text.
 *
 * @throws {UsageError} If the store has no such intent, or several ids begin with the text.
 */
export async function intentOf(store: Store, given: string, verb: string): Promise<Intent> {
  const exact = await findIntent(store, given);
  if (exact !== undefined) return exact;
  const [intent, other] = given === "" ? [] : await intentsLike(store, given);
  if (intent === undefined) {
    throw new UsageError(
      `Cannot ${verb} "${given}": the store has no such intent; to list the intents, run: hsgate orders`,
    );
  }
  if (other === undefined) return intent;
  throw new UsageError(
    `Cannot ${verb} "${given}": the ids of several intents begin with it; write more of the id`,
  );
}

/** Returns the market that a flag names. @throws {UsageError} If there is no such market. */
export function marketOf(given: string): Market {
  if (Market.has(given)) return given;
  throw new UsageError(
    `Cannot use --market "${given}": expected one of ${Market.names.join(", ")}${
      didYouMean(given, Market.names)
    }`,
  );
}
