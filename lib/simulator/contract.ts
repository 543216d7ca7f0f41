/**
 * What the rooms of the simulator agree on: how an operation is answered, refused and followed by pushes.
 *
 * @module
 */
import { ResponseCode } from "../dictionaries/response_code.ts";
import type { catalogue } from "../operations/mod.ts";
import type { Params, Result } from "../operations/operation.ts";
import type { OrderUpdate } from "../operations/pushes.ts";

type Catalogue = typeof catalogue;

/** Names of all operations, such as `orders.place`. */
export type OperationName = {
  [F in keyof Catalogue]: { [K in keyof Catalogue[F]]: `${F & string}.${K & string}` }[keyof Catalogue[F]];
}[keyof Catalogue];

type EntryOf<Name extends string> = Name extends `${infer F}.${infer K}`
  ? F extends keyof Catalogue ? K extends keyof Catalogue[F] ? Catalogue[F][K] : never : never
  : never;

/** One handler per operation, in our names on both sides. */
export type Handlers<Names extends OperationName> = {
  [Name in Names]: (params: Params<EntryOf<Name>>) => Result<EntryOf<Name>>;
};

/** The broker says no; front doors turn it into their own kind of error. */
export class Refusal extends Error {
  constructor(
    /** The broker's code, as the code table lists it, such as `1016`; none when only a text is known. */
    readonly code: string | undefined,
    /** The broker's text. */
    readonly text: string,
    /** The documented text of the code, which the gateway writes between the code and the text. */
    readonly documented?: string,
  ) {
    super(code === undefined ? text : `${code} ${text}`);
  }
}

/** Returns a refusal with a listed code, its documented text, and what is wrong in detail. */
export function refusalOfCode(name: ResponseCode, detail: string): Refusal {
  const { code, label } = ResponseCode.entries.find((entry) => entry.name === name)!; // each name has a row
  return new Refusal(code, detail, label);
}

/** A change of an order's state, for whoever listens. */
export interface OrderPush {
  /** A future's order, or a stock's or option's. */
  kind: "stock" | "future";
  /** What is pushed, in our names. */
  update: OrderUpdate;
  /** When, Unix milliseconds. */
  at: number;
}
