/**
 * Calls between the door and the broker: the front door's own state first, everything else is the broker's.
 *
 * @module
 */
import type { AnyOperation, Params } from "../../operations/operation.ts";
import type { quotes } from "../../operations/quotes.ts";
import type { Broker, FrontDoorName } from "../broker/broker.ts";
import { type Handlers, type OperationName, refusalOfCode } from "../contract.ts";
import { decodeParams } from "./params.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { TradeLogin } from "./trade_login.ts";

/** What a front door asks of the broker behind it. */
export type DoorBroker = Pick<Broker, "call" | "settle" | "onOrderPush">;

/** What calls work with. */
export interface CallsOptions {
  broker: DoorBroker;
  login: TradeLogin;
  subscriptions: Subscriptions;
  /** Whether bars are refused for securities that nobody has subscribed. */
  barsNeedSubscription: boolean;
}

/** Operations that a front door answers itself, and bars, which it answers for subscribed securities alone. */
type OwnNames = Exclude<FrontDoorName, `platform.${string}`> | "quotes.bars";

/** Takes calls in the broker's spelling and answers in ours. */
export class Calls {
  readonly #options: CallsOptions;
  readonly #own: ReadonlyMap<string, (params: unknown) => unknown>;

  constructor(options: CallsOptions) {
    this.#options = options;
    // A handler takes the parameters of its own operation, which have been checked when it is called.
    this.#own = new Map(Object.entries(this.#makeOwn())) as ReadonlyMap<string, (params: unknown) => unknown>;
  }

  /**
   * Reads the parameters of a call, after a look at the login: without one the call is refused whatever they are.
   *
   * @throws {Refusal} When the login is missing or a parameter is wrong.
   */
  read(operation: AnyOperation, wire: unknown): unknown {
    // Asking whether the login still holds is no misuse without one: the answer says so.
    const asksItself = operation.name === ("account.keepLogin" satisfies OperationName);
    if (operation.needs === "trade-login" && !asksItself) this.#options.login.demand();
    return decodeParams(operation, wire);
  }

  /**
   * Answers a call, in our names.
   *
   * @throws {Refusal} When the broker says no.
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
      // The password is kept nowhere: nothing in the simulation asks for it again.
      "futures.resetPassword": () => ({}),
      "quotes.subscribe": ({ topic, securities }) => {
        // A symbol that nothing trades under is refused by the broker, in its own words.
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
            `security "${params.security.symbol}" is not subscribed, KL answers for subscribed ones alone`,
          );
        }
        // The broker answers each operation with the result that the catalogue gives it.
        return broker.call("quotes.bars", params) as ReturnType<Handlers<"quotes.bars">["quotes.bars"]>;
      },
    };
  }
}
