/**
 * Defines the types with which the parts of the simulator work together: handlers of operations, rejections, and order
 * pushes.
 *
 * @module
 */
import { ResponseCode } from "../dictionaries/response_code.ts";
import type { catalogue } from "../operations/mod.ts";
import type { Params, Result } from "../operations/operation.ts";
import type { OperationName, OrderUpdate } from "../operations/public_types.ts";

type Catalogue = typeof catalogue;

export type { OperationName };

type EntryOf<Name extends string> = Name extends `${infer F}.${infer K}`
  ? F extends keyof Catalogue ? K extends keyof Catalogue[F] ? Catalogue[F][K] : never : never
  : never;

/** Operations that the endpoints handle themselves: logins, subscriptions, the platform. */
export type EndpointName =
  | `account.${"login" | "logout" | "keepLogin"}`
  | `orders.${"subscribe" | "unsubscribe"}`
  | `quotes.${"subscribe" | "unsubscribe"}`
  | "futures.resetPassword"
  | Extract<OperationName, `platform.${string}`>;

/** Operations that the broker handles. */
export type BrokerName = Exclude<OperationName, EndpointName>;

/** One handler per operation; parameters and results have hsgate's names. */
export type Handlers<Names extends OperationName> = {
  [Name in Names]: (params: Params<EntryOf<Name>>) => Result<EntryOf<Name>>;
};

/** A rejection by the broker; each endpoint converts it to its own kind of error. */
export class Refusal extends Error {
  constructor(
    /** The broker's code from the code table, such as `1016`; absent if only a text is known. */
    readonly code: string | undefined,
    /** The broker's text. */
    readonly text: string,
    /** The documented text of the code, which the gateway writes between the code and the text. */
    readonly documented?: string,
  ) {
    super(code === undefined ? text : `${code} ${text}`);
  }
}

/** Returns a rejection with a listed code, its documented text, and a detailed reason. */
export function refusalOfCode(name: ResponseCode, detail: string): Refusal {
  const { code, label } = ResponseCode.entries.find((entry) => entry.name === name)!; // each name has a row
  return new Refusal(code, detail, label);
}

/** A change of an order's state, for listeners. */
export interface OrderPush {
  /** Whether the order is for a future, or for a stock or option. */
  kind: "stock" | "future";
  /** Content of the push, with hsgate's names. */
  update: OrderUpdate;
  /** Time of the change, Unix milliseconds. */
  at: number;
}
