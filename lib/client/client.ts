/**
 * Creates the client: a typed function for every operation of the catalogue, over any transport.
 *
 * @module
 */
import { BrokerError, BusyError, InvalidParamsError, type Issue, TransportError } from "../errors.ts";
import type { account } from "../operations/account.ts";
import {
  type Catalogue,
  type FamilyName,
  type Indexed,
  indexedFamilies,
  loadedFamily,
  loadFamily,
} from "../operations/families.ts";
import type { OperationName } from "../operations/public_types.ts";
import { whereToLook } from "../operations/proof.ts";
import type { AnyOperation, Operation, Paging, Params, Result, Row } from "../operations/operation.ts";
import { Redactor } from "../redact.ts";
import type { TransportEvent } from "../transports/push/events.ts";
import { unanswered } from "../transports/outcome.ts";
import {
  type BrokerTime,
  type CallOptions,
  type LateAnswer,
  type LoginKeeper,
  refuseReadOnly,
  type Transport,
} from "../transports/transport.ts";
import { isLoginMissing, Login } from "./login.ts";
import type { Methods } from "./methods.ts";
import { type Paged, paged, type PagingOptions } from "./paging.ts";
import type { Watches, WatchOptions } from "./watch.ts";
import { type Machine, machineWith, waitUnlessAborted } from "../time.ts";
import { lazily } from "../lazy.ts";

const loadCatalogue = lazily(() => import("../operations/mod.ts"));
const loadWatches = lazily(() => import("./watch.ts"));

/** When reads are retried. Writes are never retried. */
export interface RetryOptions {
  /**
   * Maximum number of attempts of a read that gets no answer, or that a busy broker rejects.
   *
   * @default 3
   */
  attempts?: number;
  /**
   * Longest wait before the second attempt, milliseconds; doubles with each further attempt. Each wait is random: at
   * least half of this time.
   *
   * @default 200
   */
  waitMs?: number;
}

/** Options of {@linkcode createClient}. */
export interface ClientOptions {
  /** Trade password. If set, the client logs in automatically when an operation needs it. */
  tradePassword?: string;
  /** When reads are retried. */
  retry?: RetryOptions;
  /**
   * Numbers of your accounts. Order pushes for other accounts arrive as `unknown` events.
   *
   * @default any account. After a push names a second account, that push and all later pushes of its type have
   * `unsureAccount`.
   */
  fundAccounts?: readonly string[];
  /** Replacements for this machine's clocks and random numbers, for tests and rehearsals. */
  machine?: Partial<Machine>;
  /** Why this client must not write orders, for the text of the error. @default it may write orders */
  noOrders?: string;
  /**
   * Called when the client passes a write to the transport. The client calls the returned function when the answer has
   * arrived or the call has failed.
   */
  onWrite?: (write: WriteUnderWay) => () => void;
}

/** A write that the transport may have sent and that has no answer yet. */
export interface WriteUnderWay {
  /** hsgate's name of the operation, or the broker's path for an operation that the catalogue does not contain. */
  operation: string;
  /** Where to see the outcome, as advice for a person: `look in orders.today and fills.today`. */
  look: string;
}

type Optionally<P, O> = Record<never, never> extends P ? [params?: P, options?: O] : [params: P, options?: O];

/** The function for an operation. The login takes the password of the client's options if none is given. */
type Method<O, Name> = O extends Operation<infer _P, infer _R, infer G>
  ? G extends Paging
    ? (...args: Optionally<Omit<Params<O>, "cursor" | "page">, PagingOptions>) => Paged<Row<O>>
  : Name extends "account.login" ? (params?: Partial<Params<O>>, options?: CallOptions) => Promise<Result<O>>
  : (...args: Optionally<Params<O>, CallOptions>) => Promise<Result<O>>
  : never;

/** The functions of all operations, from the catalogue. A test compares them with {@linkcode Methods}. */
export type DerivedMethods = {
  readonly [F in keyof Catalogue]: {
    readonly [K in keyof Catalogue[F]]: Method<Catalogue[F][K], `${F}.${K & string}`>;
  };
};

/** A client of the broker. Close it with `await using`, or with {@linkcode ClientBase.close}. */
export type Client = Methods & ClientBase;

/** Members of a client besides the operations. */
export interface ClientBase extends AsyncDisposable {
  /** The transport of the client. */
  readonly transport: Transport;
  /**
   * Calls an operation; for a paged operation, requests one page. Validates the parameters, logs in if needed and
   * possible, and retries reads.
   *
   * @throws {InvalidParamsError} If a parameter is invalid. Nothing was sent.
   */
  call<P, R>(operation: Operation<P, R>, params: P, options?: CallOptions): Promise<R>;
  /**
   * Calls an operation that the catalogue does not contain, with the broker's own names. Resolves to the broker's
   * answer unchanged. Treats the call as a write: never repeats it, and throws an `OutcomeUnknownError` if no answer
   * arrives.
   */
  raw(group: string, name: string, params?: Record<string, unknown>, options?: CallOptions): Promise<unknown>;
  /**
   * Yields pushes as they arrive: order changes, and market data of the given securities. A break of the connection
   * appears as events, with a `gap` after the reconnect. To stop, leave the loop or abort the signal.
   *
   * @throws {InvalidParamsError} If more than 200 securities would be subscribed together.
   * @throws {BrokerError} If the first connection fails, or if the transport has no pushes.
   */
  watch(options?: WatchOptions): AsyncIterableIterator<TransportEvent>;
  /** Stops the pushes and closes the connections. */
  close(): Promise<void>;
}

/** Creates a client over a transport. */
export function createClient(transport: Transport, options: ClientOptions = {}): Client {
  const calls = new Calls(transport, options);
  let opened: Promise<Watches> | undefined;
  const watches = () => opened ??= openWatches(calls, transport, options);
  const close = async () => {
    await (await opened)?.close();
    await calls.close();
  };
  const { noOrders: why } = options;
  const base: ClientBase = {
    transport: why === undefined ? transport : withoutOrders(transport, why),
    call: (operation, params, callOptions = {}) => calls.call(operation, params, callOptions),
    raw: async (group, name, params = {}, callOptions = {}) => {
      const given = copyOf(params) as Record<string, unknown>;
      refuseReadOnly(transport, `${group}/${name}`);
      if (why !== undefined) await refuseRawOrder(`${group}/${name}`, why);
      return await calls.underWay(
        { name: `${group}/${name}` },
        params,
        () => transport.raw(group, name, given, callOptions),
      );
    },
    async *watch(watchOptions = {}) {
      yield* (await watches()).watch(watchOptions);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  return Object.assign(methodsOf(calls, trackedBy(calls, watches)), base);
}

/** Rejects a raw call of an operation that writes orders. Loads the catalogue, which lists these operations. */
async function refuseRawOrder(path: string, why: string): Promise<void> {
  const { operationOfPath } = await loadCatalogue();
  const operation = operationOfPath(path);
  if (operation?.order !== undefined) throw noOrders(operation.name, why);
}

const noOrders = (operation: string, why: string) =>
  new BrokerError(`Cannot call ${operation}: ${why}`, { code: "no-store", operation });

/** Returns a transport that rejects order writes, because a caller could use it to bypass the client. */
function withoutOrders(inner: Transport, why: string): Transport {
  const own: Pick<Transport, "call" | "raw"> = {
    async call(operation, params, options) {
      refuseReadOnly(inner, operation);
      if (operation.order !== undefined) throw noOrders(operation.name, why);
      return await inner.call(operation, params, options);
    },
    async raw(group, name, params, options) {
      refuseReadOnly(inner, `${group}/${name}`);
      await refuseRawOrder(`${group}/${name}`, why);
      return await inner.raw(group, name, params, options);
    },
  };
  const bound = new WeakMap<object, unknown>();
  // Transports have further members of their own, and private ones that only their own object can use. The proxy has an
  // empty target, because the members of a frozen one could not be replaced.
  return new Proxy({} as Transport, {
    get(_, name) {
      if (name === "call" || name === "raw") return own[name];
      const member = Reflect.get(inner, name, inner);
      if (typeof member !== "function") return member;
      if (!bound.has(member)) bound.set(member, member.bind(inner));
      return bound.get(member);
    },
    set: (_, name, value) => Reflect.set(inner, name, value, inner),
    has: (_, name) => name in inner,
    getPrototypeOf: () => Reflect.getPrototypeOf(inner),
  });
}

/** Loads the code for pushes, which most programs do not use. */
async function openWatches(calls: Calls, transport: Transport, options: ClientOptions): Promise<Watches> {
  const { Watches } = await loadWatches();
  return new Watches({
    transport,
    call: (operation, params, callOptions) => calls.call(operation, params, callOptions),
    machine: machineWith(options.machine),
    aheadOf: () => calls.aheadMs,
    ...options.fundAccounts !== undefined && { fundAccounts: options.fundAccounts },
  });
}

/** Methods that change the client's own state: login and subscriptions. */
type Tracked = {
  readonly [Name in OperationName]?: (params?: unknown, options?: CallOptions) => Promise<unknown>;
};

function trackedBy(calls: Calls, watches: () => Promise<Watches>): Tracked {
  const checked = <P>(
    load: () => Promise<Operation<P, unknown>>,
    run: (params: P, options: CallOptions) => Promise<unknown>,
  ) =>
  async (params: unknown = {}, options: CallOptions = {}) => {
    const given = copyOf(params); // the caller may change its object while the family loads
    return await run(calls.checked(await load(), given), options);
  };
  const logIn = checked(
    async () => (await loadFamily("account")).login,
    ({ password }, options) => calls.logIn(password, options),
  );
  return {
    // Without parameters the client uses its own password, so there is nothing to validate.
    "account.login": (params = {}, options = {}) =>
      isEmpty(params) ? calls.logIn(undefined, options) : logIn(params, options),
    "quotes.subscribe": checked(
      async () => (await loadFamily("quotes")).subscribe,
      async (params, options) => (await watches()).subscribe(params, options).then(() => ({})),
    ),
    "quotes.unsubscribe": checked(
      async () => (await loadFamily("quotes")).unsubscribe,
      async (params, options) => (await watches()).unsubscribe(params, options).then(() => ({})),
    ),
  };
}

const isEmpty = (params: unknown) =>
  typeof params === "object" && params !== null && Object.values(params).every((each) => each === undefined);

/**
 * Returns the methods of a client, by family. The families are plain objects, not proxies, so that editors, notebooks
 * and `Object.keys` show the methods.
 */
function methodsOf(calls: Calls, tracked: Tracked): Methods {
  const families = indexedFamilies().map(([family, entries]) => {
    const methods = entries.map(([key, entry]) => [
      key,
      // The index has exactly the names of the catalogue.
      tracked[entry.name as OperationName] ?? methodOf(calls, family, key, entry),
    ]);
    return [family, Object.fromEntries(methods)];
  });
  // The keys are those of the catalogue, and each value is the function of its entry.
  return Object.fromEntries(families) as Methods;
}

function methodOf(calls: Calls, family: FamilyName, key: string, { isPaged }: Indexed) {
  let entry: AnyOperation | undefined;
  const entryOf = (entries: Readonly<Record<string, AnyOperation>> | undefined) => entry = entries?.[key];
  const loadedEntry = () => entry ?? entryOf(loadedFamily(family));
  const loadEntry = async () => entryOf(await loadFamily(family))!; // the index names it
  if (!isPaged) {
    return (params: unknown = {}, options: CallOptions = {}) => {
      const operation = loadedEntry();
      if (operation !== undefined) return calls.call(operation, params, options);
      const given = copyOf(params); // the caller may change its object while the family loads
      return loadEntry().then((each) => calls.call(each, given, options));
    };
  }
  return (params: Record<string, unknown> = {}, options: PagingOptions = {}) => {
    const call = (each: AnyOperation, pageParams: Record<string, unknown>, pageOptions: CallOptions) =>
      calls.call(each, pageParams, pageOptions);
    return paged(async () => loadedEntry() ?? await loadEntry(), params, options, call);
  };
}

/** Returns a copy of the lists and plain objects of parameters. Does not copy other values. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) {
    return value;
  }
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyOf(each)]));
}

/** Validates and sends the calls of a client, with logins and retries. */
class Calls {
  readonly #transport: Transport;
  /** Sends over the transport, and records the broker's time of each answer. */
  readonly #send: Transport["call"];
  readonly #login: Login;
  /** Makes and renews the logins that calls need: the transport's own keeper, or `#login` if it has none. */
  readonly #keeper: LoginKeeper;
  readonly #attempts: number;
  readonly #waitMs: number;
  readonly #machine: Machine;
  readonly #onWrite: ClientOptions["onWrite"];
  readonly #noOrders: string | undefined;
  /**
   * Removes the trade password from errors: its plain text, and the form that was sent. A broker's answer may repeat
   * either of them.
   */
  readonly #hidden = new Redactor({ anyLength: true });
  readonly #closed = new AbortController();
  #aheadMs: number | undefined;

  constructor(
    transport: Transport,
    { tradePassword, retry = {}, machine, onWrite, noOrders }: ClientOptions,
  ) {
    this.#machine = machineWith(machine);
    this.#transport = transport;
    this.#send = (operation, params, options) => {
      const onBrokerTime = (brokerTime: BrokerTime) => {
        this.#aheadMs = brokerTime.time - this.#machine.now();
        options.onBrokerTime?.(brokerTime);
      };
      const onSecret = (secret: string) => void this.#hidden.add(secret);
      const onLateAnswer = (late: LateAnswer) => {
        this.#withoutPassword(late.error);
        options.onLateAnswer?.(late);
      };
      return transport.call(operation, params, { ...options, onBrokerTime, onSecret, onLateAnswer });
    };
    if (tradePassword !== undefined) this.#hidden.add(tradePassword);
    this.#login = new Login(
      { name: transport.name, call: this.#send },
      transport.readOnly === "yes" ? undefined : tradePassword,
      this.#machine.monotonic,
    );
    this.#keeper = transport.logins ?? this.#login;
    this.#attempts = Math.max(1, retry.attempts ?? 3);
    this.#waitMs = retry.waitMs ?? 200;
    this.#onWrite = onWrite;
    this.#noOrders = noOrders;
  }

  /**
   * Milliseconds by which the broker's clock is ahead of this machine's, according to the newest answer with a time;
   * `undefined` before such an answer.
   */
  get aheadMs(): number | undefined {
    return this.#aheadMs;
  }

  async call<P, R>(operation: Operation<P, R>, params: P, options: CallOptions): Promise<R> {
    this.checked(operation, params);
    if (this.#closed.signal.aborted) {
      throw new TransportError(`Cannot send ${operation.name}: the client is closed`, {
        code: "closed",
        operation: operation.name,
      });
    }
    try {
      const answer = operation.effect === "read"
        ? await this.#read(operation, params, options)
        : await this.#write(operation, params, options);
      // The transport decodes with this operation's own answer type.
      return answer as R;
    } catch (error) {
      throw this.#withoutPassword(error);
    }
  }

  #withoutPassword(error: unknown): unknown {
    if (error instanceof BrokerError) this.#hidden.error(error);
    return error;
  }

  /** Returns valid parameters. Throws if any is invalid; the error lists all of them. */
  checked<P, R>(operation: Operation<P, R>, params: unknown): P {
    const issues: Issue[] = [];
    operation.request.check(params, [], issues);
    if (issues.length === 0) return params as P; // `check` has validated the parameters
    throw new InvalidParamsError(`call ${operation.name}`, issues, {
      operation: operation.name,
      transport: this.#transport.name,
    });
  }

  async logIn(password: string | undefined, options: CallOptions): Promise<Result<typeof account.login>> {
    if (password !== undefined) this.#hidden.add(password);
    try {
      refuseReadOnly(this.#transport, (await loadFamily("account")).login);
      return await this.#login.logIn(password, options);
    } catch (error) {
      throw this.#withoutPassword(error);
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#transport[Symbol.asyncDispose]();
  }

  /**
   * Sends a write or a session operation once. Throws if the login has expired: only the caller may send a write again.
   */
  async #write(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    // Check this before `beforeWrite`, because `beforeWrite` records that bytes may leave.
    refuseReadOnly(this.#transport, operation);
    if (operation.order !== undefined && this.#noOrders !== undefined) {
      throw noOrders(operation.name, this.#noOrders);
    }
    if (operation.needs === "trade-login" && operation.effect === "write" && this.#keeper.canLogIn) {
      await this.#keeper.ensure();
    }
    if (operation.effect === "write") await options.beforeWrite?.();
    const send = () => this.#send(operation, params, options);
    const answer = await (operation.effect === "write" ? this.underWay(operation, params, send) : send());
    const left = operation.unmentioned?.(params, answer) ?? [];
    if (left.length === 0) return answer;
    const context = { operation, transport: this.#transport.name, params };
    throw unanswered(
      context,
      `the answer does not mention the outcome of ${left.join(", ")}`,
      "not-mentioned",
    );
  }

  /** Sends a write, and calls `onWrite` at its start and end. */
  async underWay<T>(
    operation: Pick<AnyOperation, "name" | "provenBy">,
    params: unknown,
    send: () => Promise<T>,
  ): Promise<T> {
    const ended = this.#onWrite?.({ operation: operation.name, look: whereToLook(operation, params) });
    try {
      return await send();
    } catch (error) {
      throw this.#withoutPassword(error);
    } finally {
      ended?.();
    }
  }

  async #read(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    let mayLogIn = this.#keeper.canLogIn;
    for (let attempt = 1;;) {
      const generation = this.#keeper.generation;
      try {
        return await this.#send(operation, params, options);
      } catch (error) {
        if (mayLogIn && isLoginMissing(error)) {
          mayLogIn = false; // log in only once
          await this.#keeper.renew(generation, error);
          continue;
        }
        const mayRetry = error instanceof TransportError || error instanceof BusyError;
        if (
          !mayRetry || attempt >= this.#attempts || options.signal?.aborted || this.#closed.signal.aborted
        ) throw error;
        await this.#pause(this.#waitMs * 2 ** (attempt - 1), options.signal);
        attempt++;
      }
    }
  }

  /** Waits with jitter, but only until the call is aborted or the client is closed. */
  async #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const ends = [this.#closed.signal, ...signal === undefined ? [] : [signal]];
    const waitMs = ms * (0.5 + this.#machine.random() / 2);
    await waitUnlessAborted(this.#machine, waitMs, AbortSignal.any(ends));
    signal?.throwIfAborted();
  }
}
