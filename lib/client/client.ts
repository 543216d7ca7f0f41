/**
 * The client: every operation of the catalogue as a typed function, over any transport.
 *
 * @module
 */
import { BrokerError, BusyError, InvalidParamsError, type Issue, TransportError } from "../errors.ts";
import { account } from "../operations/account.ts";
import { quotes } from "../operations/quotes.ts";
import { catalogue } from "../operations/mod.ts";
import { whereToLook } from "../operations/proof.ts";
import type { AnyOperation, Operation, Paging, Params, Result, Row } from "../operations/operation.ts";
import { Redactor } from "../redact.ts";
import type { TransportEvent } from "../transports/push_events.ts";
import { unanswered } from "../transports/outcome.ts";
import type { CallOptions, LoginKeeper, Transport } from "../transports/transport.ts";
import { isLoginMissing, Login } from "./login.ts";
import { type Paged, paged, type PagingOptions } from "./paging.ts";
import { Watches, type WatchOptions } from "./watch.ts";

/** When reads are tried again. Writes never are. */
export interface RetryOptions {
  /**
   * How often a read is tried in all, when it goes unanswered or the broker is busy.
   *
   * @default 3
   */
  attempts?: number;
  /**
   * Wait before the second try; doubles from try to try, with jitter.
   *
   * @default 200
   */
  waitMs?: number;
}

/** Options of {@linkcode createClient}. */
export interface ClientOptions {
  /** Trade password; with it the client logs in by itself when an operation needs it. */
  tradePassword?: string;
  /** When reads are tried again. */
  retry?: RetryOptions;
  /**
   * Numbers of the accounts whose order pushes are ours; pushes of others arrive as `unknown` events.
   *
   * @default the first account that comes, for each kind of order push
   */
  fundAccounts?: readonly string[];
  /**
   * Source of jitter, from 0 up to 1.
   *
   * @default Math.random
   */
  random?: () => number;
  /**
   * The time, Unix milliseconds; for the gaps of pushes.
   *
   * @default Date.now
   */
  now?: () => number;
  /**
   * Milliseconds of a clock that never jumps; for the waits after a refused login.
   *
   * @default performance.now
   */
  monotonic?: () => number;
  /**
   * Called right before a write is sent. What it returns is called once its answer has come, or nobody waits for it
   * any more.
   */
  onWrite?: (write: WriteUnderWay) => () => void;
}

/** A write that was sent, and whose answer has not come. */
export interface WriteUnderWay {
  /** Our name of the operation; the broker's own path for one that the catalogue does not know. */
  operation: string;
  /** Says where its outcome shows: `look in orders.today`. */
  look: string;
}

type Optionally<P, O> = Record<never, never> extends P ? [params?: P, options?: O] : [params: P, options?: O];

/** The function that an operation becomes. */
export type Method<O> = O extends Operation<infer _P, infer _R, infer G>
  ? G extends Paging
    ? (...args: Optionally<Omit<Params<O>, "cursor" | "page">, PagingOptions>) => Paged<Row<O>>
  : O extends typeof account.login
    ? (params?: Partial<Params<O>>, options?: CallOptions) => Promise<Result<O>>
  : (...args: Optionally<Params<O>, CallOptions>) => Promise<Result<O>>
  : never;

/** Families of such functions. */
export type Methods = {
  readonly [F in keyof typeof catalogue]: {
    readonly [K in keyof (typeof catalogue)[F]]: Method<(typeof catalogue)[F][K]>;
  };
};

/** A client of the broker. Close it with `await using`, or with {@linkcode ClientBase.close}. */
export type Client = Methods & ClientBase;

/** What a client has beside the operations. */
export interface ClientBase extends AsyncDisposable {
  /** The transport that carries its calls. */
  readonly transport: Transport;
  /**
   * Calls an operation once, one page of it where it answers in pages. Checks the parameters, logs in when that
   * is needed and possible, and tries reads again.
   *
   * @throws {InvalidParamsError} When a parameter is wrong; nothing was sent.
   */
  call<P, R>(operation: Operation<P, R>, params: P, options?: CallOptions): Promise<R>;
  /**
   * Calls what the catalogue does not know, with the broker's own spelling, and resolves to the answer as it
   * came. Counts as a write: never repeated, and `OutcomeUnknownError` when no answer comes.
   */
  raw(group: string, name: string, params?: Record<string, unknown>, options?: CallOptions): Promise<unknown>;
  /**
   * Yields pushes as they come: changes of orders, and market data of the securities that are named. Breaks of
   * the connection show as events, with a `gap` once it works again. Leave the loop, or abort, to stop.
   *
   * @throws {InvalidParamsError} When more than 200 securities would be subscribed at once.
   * @throws {TransportError} When the first connection cannot be made.
   */
  watch(options?: WatchOptions): AsyncIterableIterator<TransportEvent>;
  /** Ends pushes and connections. */
  close(): Promise<void>;
}

/** Makes a client over a transport. */
export function createClient(transport: Transport, options: ClientOptions = {}): Client {
  const calls = new Calls(transport, options);
  const watches = new Watches({
    transport,
    call: (operation, params, callOptions) => calls.call(operation, params, callOptions),
    now: options.now ?? Date.now,
    random: options.random ?? Math.random,
    ...options.fundAccounts !== undefined && { fundAccounts: options.fundAccounts },
  });
  const close = async () => {
    await watches.close();
    await calls.close();
  };
  const base: ClientBase = {
    transport,
    call: (operation, params, callOptions = {}) => calls.call(operation, params, callOptions),
    raw: (group, name, params = {}, callOptions = {}) =>
      calls.underWay(
        { name: `${group}/${name}` },
        params,
        () => transport.raw(group, name, params, callOptions),
      ),
    watch: (watchOptions = {}) => watches.watch(watchOptions),
    close,
    [Symbol.asyncDispose]: close,
  };
  return Object.assign(methodsOf(calls, rememberedBy(calls, watches)), base);
}

/** Methods of operations whose effect the client has to remember: the login and the subscriptions. */
type Remembered = ReadonlyMap<string, (params?: unknown, options?: CallOptions) => Promise<unknown>>;

function rememberedBy(calls: Calls, watches: Watches): Remembered {
  const checked = <P, R>(
    operation: Operation<P, R>,
    run: (params: P, options: CallOptions) => Promise<unknown>,
  ) => {
    const method = async (params: unknown = {}, options: CallOptions = {}) => {
      calls.check(operation, params);
      return await run(params as P, options); // the check has just held it against the parameters' own type
    };
    return [operation.name, method] as const;
  };
  const [loginName, logIn] = checked(
    account.login,
    ({ password }, options) => calls.logIn(password, options),
  );
  return new Map([
    // Without a password the client's own is used, so there is nothing to check.
    [
      loginName,
      (params = {}, options = {}) =>
        isEmpty(params) ? calls.logIn(undefined, options) : logIn(params, options),
    ],
    checked(quotes.subscribe, (params, options) => watches.subscribe(params, options).then(() => ({}))),
    checked(quotes.unsubscribe, (params, options) => watches.unsubscribe(params, options).then(() => ({}))),
  ]);
}

const isEmpty = (params: unknown) =>
  typeof params === "object" && params !== null && Object.values(params).every((each) => each === undefined);

/** Plain objects rather than a proxy, so that editors, notebooks and `Object.keys` see what there is. */
function methodsOf(calls: Calls, remembered: Remembered): Methods {
  const families = Object.entries(catalogue).map(([name, family]) => {
    const methods = Object.entries<AnyOperation>(family).map((
      [key, operation],
    ) => [key, methodOf(calls, remembered, operation)]);
    return [name, Object.fromEntries(methods)];
  });
  // The same keys as the catalogue, each with the function that `methodOf` makes of its entry.
  return Object.fromEntries(families) as Methods;
}

function methodOf(calls: Calls, remembered: Remembered, operation: AnyOperation) {
  const special = remembered.get(operation.name);
  if (special !== undefined) return special;
  if (operation.paging === undefined) {
    return (params: unknown = {}, options: CallOptions = {}) => calls.call(operation, params, options);
  }
  return (params: Record<string, unknown> = {}, options: PagingOptions = {}) => {
    const call = (each: AnyOperation, pageParams: Record<string, unknown>, pageOptions: CallOptions) =>
      calls.call(each, pageParams, pageOptions);
    return paged(operation, params, options, call);
  };
}

class Calls {
  readonly #transport: Transport;
  readonly #login: Login;
  /** The logins that calls need: the client's own, or the transport's where it keeps them by itself. */
  readonly #keeper: LoginKeeper;
  readonly #attempts: number;
  readonly #waitMs: number;
  readonly #random: () => number;
  readonly #onWrite: ClientOptions["onWrite"];
  readonly #password: string | undefined;
  readonly #closed = new AbortController();

  constructor(
    transport: Transport,
    { tradePassword, retry = {}, random = Math.random, monotonic = () => performance.now(), onWrite }:
      ClientOptions,
  ) {
    this.#transport = transport;
    this.#password = tradePassword;
    this.#login = new Login(transport, tradePassword, monotonic);
    this.#keeper = transport.logins ?? this.#login;
    this.#attempts = Math.max(1, retry.attempts ?? 3);
    this.#waitMs = retry.waitMs ?? 200;
    this.#random = random;
    this.#onWrite = onWrite;
  }

  async call<P, R>(operation: Operation<P, R>, params: P, options: CallOptions): Promise<R> {
    this.check(operation, params);
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
      throw this.#withoutPassword(error, this.#password);
    }
  }

  /** Takes the password out of an error: a broker may repeat what it was sent. */
  #withoutPassword(error: unknown, password: string | undefined): unknown {
    if (password === undefined || !(error instanceof BrokerError)) return error;
    const redactor = new Redactor();
    redactor.add(password);
    redactor.error(error);
    return error;
  }

  /** Refuses wrong parameters, all of them at once. */
  check(operation: AnyOperation, params: unknown): void {
    const issues: Issue[] = [];
    operation.request.check(params, [], issues);
    if (issues.length === 0) return;
    throw new InvalidParamsError(`call ${operation.name}`, issues, {
      operation: operation.name,
      transport: this.#transport.name,
    });
  }

  logIn(password: string | undefined, options: CallOptions): Promise<Result<typeof account.login>> {
    return this.#login.logIn(password, options).catch((error) => {
      throw this.#withoutPassword(error, password ?? this.#password);
    });
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#transport[Symbol.asyncDispose]();
  }

  /** Sent once. An expired login is reported, as the write behind it belongs to whoever decides on it. */
  async #write(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    if (operation.needs === "trade-login" && operation.effect === "write" && this.#keeper.canLogIn) {
      await this.#keeper.ensure();
    }
    if (operation.effect === "write") options.beforeWrite?.();
    const send = () => this.#transport.call(operation, params, options);
    const answer = await (operation.effect === "write" ? this.underWay(operation, params, send) : send());
    const left = operation.unmentioned?.(params, answer) ?? [];
    if (left.length === 0) return answer;
    const context = { operation, transport: this.#transport.name, params };
    throw unanswered(context, `the answer does not say what became of ${left.join(", ")}`, "not-mentioned");
  }

  /** Does the sending of a write, and tells when it begins and ends. */
  async underWay<T>(
    operation: Pick<AnyOperation, "name" | "provenBy">,
    params: unknown,
    send: () => Promise<T>,
  ): Promise<T> {
    const ended = this.#onWrite?.({ operation: operation.name, look: whereToLook(operation, params) });
    try {
      return await send();
    } finally {
      ended?.();
    }
  }

  async #read(operation: AnyOperation, params: unknown, options: CallOptions): Promise<unknown> {
    let mayLogIn = this.#keeper.canLogIn;
    for (let attempt = 1;;) {
      const generation = this.#keeper.generation;
      try {
        return await this.#transport.call(operation, params, options);
      } catch (error) {
        if (mayLogIn && isLoginMissing(error)) {
          mayLogIn = false; // a login that does not help once will not help the second time
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

  /** Waits with jitter, and no longer once the call is given up or the client closed. */
  #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const wait = ms * (0.5 + this.#random() / 2);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(done, wait);
      const closed = this.#closed.signal;
      function done() {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        closed.removeEventListener("abort", done);
        if (signal?.aborted) reject(signal.reason);
        else resolve();
      }
      signal?.addEventListener("abort", done);
      closed.addEventListener("abort", done);
    });
  }
}
