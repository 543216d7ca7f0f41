/** Descriptions of the commands that write and show orders. @module */
import { command, type Flags, type Input, unconnected } from "../terminal/command.ts";
import { by, listing, newStore, store } from "../terminal/flags.ts";

const yes = { type: "boolean", short: "y", text: "do not ask; needed without a terminal" } as const;
const writeFlags = { yes, by, store: newStore } as const satisfies Flags;

const recorded = `The store records the write before hsgate sends it. If no answer arrives, hsgate searches
the broker's lists for the outcome; "orders show" shows what is known. hsgate never sends a
write twice.`;

const placeFlags = {
  limit: { type: "string", value: "PRICE", text: "limit price, in the listing's currency" },
  "market-order": { type: "boolean", text: "a market order, at any price; only in the US" },
  type: {
    type: "string",
    value: "TYPE",
    text: 'order type of the market: "limit", "enhanced-limit", "auction", "odd-lot", ... (limit)',
  },
  hours: {
    type: "string",
    value: "HOURS",
    text:
      'trading hours: "no-extended" or "extended"; a conditional order has other values, such as "regular"',
  },
  trigger: { type: "string", value: "VALUE", text: "of a conditional order: the value that triggers it" },
  "valid-days": {
    type: "string",
    value: "DAYS",
    text: "of a conditional order: how long it is valid, 1 to 100",
  },
  "trail-by": { type: "string", value: "UNIT", text: 'of a trailing order: "percentage" or "spread"' },
  display: { type: "string", value: "QUANTITY", text: "of an iceberg order: the quantity that others see" },
  ...writeFlags,
} as const satisfies Flags;
/** Arguments and flags of `hsgate buy` and `hsgate sell`. */
export type PlaceInput = Input<typeof placeFlags>;

const placing = `The command shows the order in words, with quote, value, estimated fees and cash, and asks
you. Without a terminal it needs --yes, and sends nothing without it. The suffix of SYMBOL
names the market: 00700.HK, 600519.SH, 000333.SZ; a code without a suffix, such as AAPL, is
a US listing. For futures and options, use "call".

Guard rails check the order first. The setting liveTrading must be "allow"; other settings
limit prices and values.

A conditional order has a --type such as take-profit-limit or stop-loss-limit. It needs
--trigger and --valid-days.

${recorded}`;

const placeCommand = (name: "buy" | "sell", examples: readonly string[]) =>
  command({
    name,
    summary: `${name} shares: show the order in words, ask, and send it once`,
    usage: "QUANTITY SYMBOL",
    args: [2, 2],
    details: placing,
    flags: placeFlags,
    calendars: false,
    exits: [3, 4, 5, 6],
    examples,
  });

/** Buys shares. */
export const buy = placeCommand("buy", [
  "buy 100 00700.HK --limit 600",
  "buy 10 AAPL --market-order --yes",
  "buy 100 00700.HK --type take-profit-limit --trigger 580 --limit 581 --valid-days 5",
]);
/** Sells shares. */
export const sell = placeCommand("sell", [
  "sell 100 00700.HK --limit 650",
  "sell 100 00700.HK --type auction",
]);

const findMarket = {
  type: "string",
  value: "MARKET",
  text: '"hk", "us", "shanghai" or "shenzhen" (where the order is found)',
} as const;

const amendFlags = {
  quantity: { type: "string", value: "QUANTITY", text: "the new quantity (unchanged)" },
  limit: { type: "string", value: "PRICE", text: "the new limit price (unchanged)" },
  market: findMarket,
  ...writeFlags,
} as const satisfies Flags;
/** Arguments and flags of `hsgate amend`. */
export type AmendInput = Input<typeof amendFlags>;

/** Amends an order. */
export const amend = command({
  name: "amend",
  summary: "change the quantity or the price of an order",
  usage: "ORDER --quantity N --limit P",
  args: [1, 1],
  details: `ORDER is the broker's order number from "orders". The command shows the order
before and after the change, with quote and value, and asks you. Without a terminal it
needs --yes. The broker may give the amended order a new number. For conditional orders, use
"call orders.amend"; for algorithmic orders, "call algo.amend".

${recorded}`,
  flags: amendFlags,
  calendars: false,
  exits: [3, 4, 5, 6],
  examples: ["amend 2508150000123 --limit 590", "amend 2508150000123 --quantity 200 --limit 590"],
});

const cancelFlags = { market: findMarket, ...writeFlags } as const satisfies Flags;
/** Arguments and flags of `hsgate cancel`. */
export type CancelInput = Input<typeof cancelFlags>;

/** Cancels orders. */
export const cancel = command({
  name: "cancel",
  summary: "cancel orders, each with one request",
  usage: "ORDER…",
  args: [1, 100],
  details: `ORDER is the broker's order number from "orders", of an ordinary, a conditional or an
algorithmic order. For futures, use "call futures.cancel". The command shows the orders and
asks you. Without a terminal it needs --yes. If one of the orders is not found, the command
cancels none. If one cancellation fails, the command still sends the other cancellations.
The exit code is 5 if the outcome of a cancellation is unknown, and otherwise that of the
first problem. An order that has ended is not cancelled: the command says so, and ends with
1 if the order was filled.

${recorded}`,
  flags: cancelFlags,
  calendars: false,
  exits: [3, 4, 5, 6],
  examples: ["cancel 2508150000123", "cancel 2508150000123 2508150000124 --yes"],
});

const cancelAllFlags = {
  market: { type: "string", value: "MARKET", text: 'required: "hk", "us", "shanghai" or "shenzhen"' },
  "yes-all": { type: "boolean", text: "do not ask; needed without a terminal" },
  by,
  store: newStore,
} as const satisfies Flags;
/** Arguments and flags of `hsgate cancel-all`. */
export type CancelAllInput = Input<typeof cancelAllFlags>;

/** Cancels all orders of a market. */
export const cancelAll = command({
  name: "cancel-all",
  summary: "cancel every ordinary order of a market, even those placed elsewhere",
  usage: "--market MARKET",
  args: [0, 0],
  details: `The command shows today's open orders of the market, and asks you. Without a terminal it
needs --yes-all; --yes is not enough. The broker cancels shanghai and shenzhen together.
Conditional and algorithmic orders stay, and an algorithmic order can still send new orders
to the market: cancel them one by one. The direct transport does not have this operation.

${recorded}`,
  flags: cancelAllFlags,
  calendars: false,
  exits: [3, 4, 5, 6],
  examples: ["cancel-all --market hk", "cancel-all --market hk --yes-all"],
});

const markets = {
  type: "string",
  value: "LIST",
  text: "hk, us, shanghai, shenzhen (hk, and the markets of open intents)",
} as const;

const listFlags = {
  markets,
  limit: { type: "string", value: "N", text: "how many intents, newest first, 1 to 1000 (20)" },
  watch: { type: "boolean", text: "show changes until Ctrl-C" },
  ...listing,
  store: newStore,
} as const satisfies Flags;
/** Arguments and flags of `hsgate orders`. */
export type OrdersInput = Input<typeof listFlags>;

/** Lists intents and orders. */
export const orders = command({
  name: "orders",
  summary: "list your order writes together with the orders at the broker",
  usage: "",
  args: [0, 0],
  details: `An intent is the store's record of one order write: to place, amend or cancel orders.
First, the command compares every open intent (one that has not ended) with the broker's
lists, and records what the lists prove. Orders without an intent were made in the broker's
app or by another program.

If the broker does not answer, the command shows what the store knows, and says so.
--json prints a list of { intent, state, orderIds, why, evidence } with more members. For
an order that was made elsewhere, "intent" is null. With --watch, --json prints a line for
each change.`,
  flags: listFlags,
  calendars: false,
  exits: [3, 4, 6],
  examples: ["orders", "orders --watch", "orders --markets hk,us --json"],
});

const showFlags = { store } as const satisfies Flags;
/** Arguments and flags of `hsgate orders show`. */
export type OrdersShowInput = Input<typeof showFlags>;

const intentText = 'INTENT is an id from "orders", or its first letters if no other id begins with them.';

/** Shows one intent. */
export const ordersShow = command({
  name: "orders show",
  summary: "show an intent: its history with evidence, and what is missing for a proof",
  usage: "INTENT",
  args: [1, 1],
  details: `${intentText}
If you give an order number instead, the command shows the intent that placed the order. If
the intent is open, the command compares it with the broker's lists first.`,
  flags: showFlags,
  calendars: false,
  exits: [3, 4, 6],
  examples: ["orders show 01K2P0", "orders show 01K2P0 --json"],
});

const resolveFlags = {
  order: {
    type: "list",
    value: "ORDER",
    text: "with sent and placed: an order of this write; may be given several times",
  },
  because: { type: "string", value: "TEXT", text: "what you checked; the store records it" },
  by,
  store,
} as const satisfies Flags;
/** Arguments and flags of `hsgate orders resolve`. */
export type OrdersResolveInput = Input<typeof resolveFlags>;

/** Records the outcome of an intent. */
export const ordersResolve = command({
  name: "orders resolve",
  summary: "record the unknown outcome of an order write",
  usage: "INTENT sent|not-sent|placed|ended",
  args: [2, 2],
  details: `${intentText}

"sent": the broker executed the write. For a new order, name the broker's orders with
--order. For a cancellation or an amendment, you can leave out --order: hsgate then uses the
order that you cancelled or amended.

"not-sent": the broker did not execute the write; --because is required. Check the broker's
app first: after "not-sent", hsgate no longer blocks the same order.

"placed": a conditional order has triggered, and nothing shows which order it placed. Name
that order with --order.

"ended": the broker accepted the write ("acknowledged"), its lists never show the order,
and you are sure that the order has ended; --because is required. Use "ended" also for an
open order that was sent at least 24 hours ago and that the lists no longer show, and for a
conditional order that has triggered, if nothing shows which order it placed.`,
  flags: resolveFlags,
  without: unconnected,
  exits: [],
  examples: [
    "orders resolve 01K2P0 sent --order 2508150000123",
    'orders resolve 01K2P0 not-sent --because "the app shows no such order"',
  ],
});

const fillsFlags = {
  markets: {
    ...markets,
    text: "hk, us, shanghai, shenzhen (hk, and the markets of intents of the last two days)",
  },
  ...listing,
  store,
} as const satisfies Flags;
/** Arguments and flags of `hsgate fills`. */
export type FillsInput = Input<typeof fillsFlags>;

/** Lists fills. */
export const fills = command({
  name: "fills",
  summary: "list today's fills, with the intents of their orders",
  usage: "",
  args: [0, 0],
  details:
    `Fees are not known before clearing: "export day-book" has them. If there is a store, each fill names the intent of its order. A fill without an intent belongs to an order that was placed elsewhere.`,
  flags: fillsFlags,
  calendars: false,
  exits: [3, 4, 6],
  examples: ["fills", "fills --markets hk,us --json"],
});

const haltFlags = {
  why: { type: "string", value: "TEXT", text: "the reason; each rejected write names it" },
  by,
  store,
} as const satisfies Flags;
/** Arguments and flags of `hsgate halt`. */
export type HaltInput = Input<typeof haltFlags>;

/** Shared flags that only matter for a connection. `halt` does not connect, so it does not accept them. */
const unneeded = ["push", "plain-http", "auth-url", "timeout"] as const;

/** Stops every order write. */
export const halt = command({
  name: "halt",
  summary: 'stop every order write at once, until "resume"',
  usage: "",
  args: [0, 0],
  details: `hsgate sends no order, amendment or cancellation any more: no command, no recipe and no
script with this store. Orders that are at the broker stay there. The command writes a
file beside the store first, which works even if the store or the broker does not answer.
Then it writes a row into the store, for the other machines that use it. With a store on
PostgreSQL, the file is hsgate.halt in the working folder.

The exit code is also 1 if only this machine is halted, because the command could not write
the row into a store on PostgreSQL. Then run "halt" on the other machines too.`,
  flags: haltFlags,
  without: unneeded,
  calendars: false,
  exits: [],
  examples: ["halt", 'halt --why "prices look wrong"'],
});
