/**
 * Decodes and executes calls. The endpoint handles logins and subscriptions itself; the broker handles the
 * rest.
 *
 * @module
 */
import type { Issue } from "../../errors.ts";
import type { AnyOperation, Params } from "../../operations/operation.ts";
import type { quotes } from "../../operations/quotes.ts";
import { type FieldInfo, type FieldsInfo, InexactNumber, Mismatch } from "../../operations/types.ts";
import { type EndpointName, type Handlers, type OperationName, refusalOfCode } from "../contract.ts";
import type { BrokerCalls } from "./core.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { TradeLogin } from "./trade_login.ts";

/** Options of {@linkcode Calls}. */
interface CallsOptions {
  broker: BrokerCalls;
  login: TradeLogin;
  subscriptions: Subscriptions;
  /** Whether bars are rejected for securities without a subscription. */
  barsNeedSubscription: boolean;
}

/**
 * Operations that an endpoint handles itself. Bars are among them, because the endpoint checks whether their security
 * is subscribed.
 */
type OwnNames = Exclude<EndpointName, `platform.${string}`> | "quotes.bars";

/** Accepts calls in the broker's format and returns results with hsgate's names. */
export class Calls {
  readonly #options: CallsOptions;
  readonly #own: ReadonlyMap<string, (params: unknown) => unknown>;

  constructor(options: CallsOptions) {
    this.#options = options;
    // Each handler is only called with the validated parameters of its own operation.
    this.#own = new Map(Object.entries(this.#makeOwn())) as ReadonlyMap<string, (params: unknown) => unknown>;
  }

  /**
   * Decodes the parameters of a call. Checks the login first, because a missing login is reported before
   * wrong parameters.
   *
   * @throws {Refusal} If the login is missing or a parameter is wrong.
   */
  read(operation: AnyOperation, wire: unknown): unknown {
    // This operation asks whether the login is valid, so it is allowed without a login.
    const asksForLogin = operation.name === ("account.keepLogin" satisfies OperationName);
    if (operation.needs === "trade-login" && !asksForLogin) this.#options.login.demand();
    return decodeParams(operation, wire);
  }

  /**
   * Executes a call and returns the result with hsgate's names.
   *
   * @throws {Refusal} If the broker rejects the call.
   */
  answer(operation: AnyOperation, params: unknown): unknown {
    const { broker } = this.#options;
    broker.settle();
    const own = this.#own.get(operation.name);
    // Every name in the catalogue is an operation name.
    return own === undefined ? broker.call(operation.name as OperationName, params) : own(params);
  }

  #makeOwn(): Handlers<OwnNames> {
    const { broker, login, subscriptions, barsNeedSubscription } = this.#options;
    const switchOrderPushes = (on: boolean) => {
      subscriptions.orderPushes = on;
      return { success: true };
    };
    return {
      "account.login": ({ password }) => ({ success: login.login(password) }),
      "account.logout": () => {
        login.logout();
        return { success: true };
      },
      "account.keepLogin": () => ({ success: login.keep() }),
      "orders.subscribe": () => switchOrderPushes(true),
      "orders.unsubscribe": () => switchOrderPushes(false),
      // The password is not stored, because nothing in the simulation needs it.
      "futures.resetPassword": () => ({}),
      "quotes.subscribe": ({ topic, securities }) => {
        // The broker rejects a symbol that is not traded, with its own text.
        broker.call("quotes.latest", { securities } satisfies Params<typeof quotes.latest>);
        subscriptions.add(topic, securities);
        return {};
      },
      "quotes.unsubscribe": ({ topic, securities }) => {
        subscriptions.remove(topic, securities);
        return {};
      },
      "quotes.bars": (params) => {
        if (barsNeedSubscription && !subscriptions.has(params.security)) {
          throw refusalOfCode(
            "invalid-parameter",
            `security "${params.security.symbol}" is not subscribed, and KL answers only for subscribed securities`,
          );
        }
        // The broker returns the catalogue's result type for each operation.
        return broker.call("quotes.bars", params) as ReturnType<Handlers<"quotes.bars">["quotes.bars"]>;
      },
    };
  }
}

/**
 * Decodes the parameters of a request.
 *
 * @throws {Refusal} 1016 with the wire name of everything that is wrong.
 */
export function decodeParams(operation: AnyOperation, wire: unknown): unknown {
  const params = decode(operation, wire);
  const issues: Issue[] = [];
  operation.request.check(params, [], issues);
  if (issues.length === 0) return params;
  const fields = operation.request.fields ?? {};
  throw invalid(issues.map((issue) => describe(issue, fields)).join("; "));
}

function decode(operation: AnyOperation, wire: unknown): unknown {
  try {
    return operation.request.decode(wire);
  } catch (error) {
    if (error instanceof Mismatch) {
      throw invalid(describe(error, operation.request.fields ?? {}));
    }
    if (error instanceof InexactNumber) {
      throw invalid("an amount or a price was given as a number; write it as text");
    }
    throw error;
  }
}

const invalid = (text: string) => refusalOfCode("invalid-parameter", text);

/** Describes an issue with the wire's member names, and with codes if the member has a code table. */
function describe(issue: Pick<Issue, "path" | "value" | "expected">, fields: FieldsInfo): string {
  const names: (string | number)[] = [];
  let inner: FieldsInfo | undefined = fields;
  let info: FieldInfo | undefined;
  for (const step of issue.path) {
    if (typeof step === "number") names.push(step);
    else {
      info = inner?.[step];
      inner = info?.type.fields;
      names.push(info?.wire ?? step);
    }
  }
  const name = names.length === 0 ? "params" : names.join(".");
  if (issue.value === undefined) return `${name} is missing`;
  return `${name}: expected ${codesOf(info, issue.expected) ?? issue.expected}`;
}

/**
 * Returns the codes for the names that a member accepts. Returns `undefined` if the member has no code table,
 * or if the issue is about a rule over several members. The message then keeps the text of the issue.
 */
function codesOf(info: FieldInfo | undefined, expected: string): string | undefined {
  const { dictionary, expected: usual } = info?.type ?? {};
  if (dictionary === undefined || expected !== usual) return undefined;
  const allowed = dictionary.entries.filter(({ name }) => expected.includes(`"${name}"`));
  return `one of ${allowed.map(({ code }) => `"${code}"`).join(", ")}`;
}
