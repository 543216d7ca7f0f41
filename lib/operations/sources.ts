/**
 * Loads the catalogue's source files as text and reads descriptions of operations from them. Only the reference pages
 * and the command line load this module; calls do not need it.
 *
 * @module
 */
import account from "./account.ts" with { type: "text" };
import algo from "./algo.ts" with { type: "text" };
import conditionalOrders from "./conditional_orders.ts" with { type: "text" };
import { readDocComments } from "./doc_comments.ts";
import fills from "./fills.ts" with { type: "text" };
import fundJournal from "./fund_journal.ts" with { type: "text" };
import futures from "./futures.ts" with { type: "text" };
import orders from "./orders.ts" with { type: "text" };
import platform from "./platform.ts" with { type: "text" };
import pushes from "./pushes.ts" with { type: "text" };
import quotes from "./quotes.ts" with { type: "text" };
import shared from "./shared.ts" with { type: "text" };

/** Text of each source file that describes operations or fields, by name of the family. */
export const sources: Readonly<Record<string, string>> = {
  account,
  orders,
  fills,
  fundJournal,
  conditionalOrders,
  algo,
  futures,
  quotes,
  platform,
  pushes,
  shared,
};

let comments: ReadonlyMap<string, string> | undefined;

/** Returns the catalogue's description of an operation, by hsgate's name: `docOf("orders.place")`. */
export function docOf(operationName: string): string | undefined {
  comments ??= new Map(Object.values(sources).flatMap((source) => [...readDocComments(source)]));
  return comments.get(operationName);
}

/** Returns the catalogue's description of a family, such as `orders`: the module comment of its source file. */
export function docOfFamily(family: string): string | undefined {
  const head = /^\/\*\*([\s\S]*?)\*\//.exec(sources[family] ?? "")?.[1];
  return head?.replace(/@module[\s\S]*/, "").replaceAll(/\s*\n\s*\* ?/g, " ").trim();
}
