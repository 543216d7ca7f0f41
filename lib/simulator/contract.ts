/**
 * What the rooms of the simulator agree on: how an operation is answered, refused and followed by pushes.
 *
 * @module
 */
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
  ) {
    super(code === undefined ? text : `${code} ${text}`);
  }
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
