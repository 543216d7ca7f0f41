/**
 * What each column holds, in words. The types keep it in step with the catalogue: a field without words here, or
 * words without a field, does not compile.
 *
 * @module
 */
import type { fillFields } from "../operations/fills.ts";
import type { journalFields } from "../operations/fund_journal.ts";
import type { futuresOrderFields } from "../operations/futures.ts";

/** Meaning and unit. */
export type Meaning = readonly [meaning: string, unit: string];

/** A cursor is the row's place in one answer and differs from query to query, so it is not exported. */
type Named<Fields> = Record<Exclude<keyof Fields, "cursor" | "fees" | "market">, Meaning>;

const MONEY = "listing's currency";
const SHARES = "shares or contracts";
const DATE = "yyyy-MM-dd, date of the exchange";
const TIME = "HH:mm:ss, time of the exchange";
const CODE = "name from the code table";
const TEXT = "the broker's words";
const FLAG = "true or false";

const shared = {
  symbol: ["listing code", "code as text; leading zeros count"],
  name: ["name of the listing", TEXT],
  orderId: ["order number", "text"],
  side: ["bought or sold", CODE],
  orderType: ["order type", CODE],
  orderTypeText: ["order type in words", TEXT],
  price: ["limit price of the order", MONEY],
  quantity: ["quantity ordered", SHARES],
  fillPrice: ["price of the fill; the mean price where fills are merged", MONEY],
  filledQuantity: ["quantity filled", SHARES],
  date: ["day of the order in orders, day of the fill in fills", DATE],
  orderTime: ["when it was ordered", TIME],
  fillTime: ["when it was filled", TIME],
  status: ["state of the order", CODE],
  statusText: ["state of the order in words", TEXT],
  canCancel: ["whether it could be cancelled when it was exported", FLAG],
  canAmend: ["whether it could be amended when it was exported", FLAG],
} as const satisfies Record<string, Meaning>;

/** Columns of fills and orders. */
export const stockMeanings: Named<typeof fillFields> = {
  ...shared,
  unfilledQuantity: ["quantity not filled", SHARES],
  fillAmount: ["amount of the fill: price times quantity, times 100 for US options", MONEY],
  counterpartySeat: ["seat of the other side", TEXT],
  remarkType: ["whether the order was voided", CODE],
  remark: ["remark", TEXT],
  venue: ["routing venue, US", CODE],
};

/** Columns of futures fills and orders. */
export const futuresMeanings: Named<typeof futuresOrderFields> = {
  ...shared,
  isValid: ["whether it is valid", FLAG],
  validity: ["how long it is good for", CODE],
  validityText: ["how long it is good for, in words", TEXT],
  validUntil: ["until when it is good", DATE],
  session: ["whether it may trade in the after-hours session", CODE],
};

/** Columns of the fund journal. */
export const journalMeanings: Named<typeof journalFields> = {
  amount: ["amount; money that leaves is negative", "market's currency"],
  type: ["what the line stands for", CODE],
  typeText: ["what the line stands for in words", TEXT],
  parentType: ["group of the type", "the broker's code"],
  time: ["when; absent on the running day", "time of the exchange, as the broker writes it"],
};
