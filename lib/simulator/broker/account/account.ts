/**
 * Computes funds, holdings, and how much can be bought and sold.
 *
 * The account is a cash account without credit. Short sales are possible only if the option `shorts` is on. Both
 * mainland markets share one cash balance in renminbi. So the funds of each mainland market show the whole balance, and
 * the market value of the holdings in both markets.
 *
 * @module
 */
import { divide, multiply, subtract } from "../../../decimal.ts";
import type { Market } from "../../../dictionaries/market.ts";
import { listing } from "../../../facts/listings.ts";
import type { Funds, Holding } from "../../../operations/account.ts";
import type { BrokerName, Handlers } from "../../contract.ts";
import type { Instrument } from "../../market/mod.ts";
import { checkPrice, findInstrument, invalid } from "../orders/checks.ts";
import { amountOf, divideHalfUp, least, PRICES_PER_CENT, writeCents, writePrice } from "./money.ts";
import { type AccountCurrency, bookRules, markets } from "../sessions.ts";
import { unsettledProceeds } from "./settlement.ts";
import { marginOf, shortTerms } from "./short_terms.ts";
import { closable, isShortable, lendable, marginPriceOf, shortOf } from "./shorts.ts";
import type { State } from "../state.ts";

type Names = Extract<BrokerName, `account.${string}`>;

const ZERO = "0.00";
const HUNDRED = 100n;

/** Returns the handlers of the `account` family. */
export function accountHandlers(state: State): Handlers<Names> {
  return {
    "account.funds": ({ market }) => fundsOf(state, bookRules[market].currency),
    "account.holdings": ({ market }) =>
      [...state.holdings[market].keys()].map((symbol) => holdingOf(state, market, symbol)),
    "account.maxBuy": ({ market, symbol, price }) => {
      const instrument = findInstrument(state, market, symbol);
      if (shortOf(state, market, symbol) > 0n) return { quantity: String(closable(state, market, symbol)) };
      return { quantity: String(mostToBuy(state, instrument, pricedAt(state, instrument, price))) };
    },
    "account.maxSell": ({ market, symbol }) => {
      findInstrument(state, market, symbol);
      return { quantity: String(state.sellable(market, symbol)) };
    },
    "account.buyingPower": ({ market, symbol, price }) => {
      const instrument = findInstrument(state, market, symbol);
      const at = pricedAt(state, instrument, price);
      const buy = String(mostToBuy(state, instrument, at));
      const shorts = shortFigures(state, instrument, at);
      const held = state.holdings[market].get(symbol)?.quantity ?? 0n;
      const cash = writeCents(state.available(bookRules[market].currency));
      return {
        position: held > 0n ? "long" : held < 0n ? "short" : "no-position",
        positionQuantity: String(held),
        maxLongOpen: buy,
        maxLongClose: String(state.sellable(market, symbol)),
        maxOpenByCash: buy,
        maxOpenByMargin: "0",
        maxOpenByCashAndMargin: buy,
        cashAvailable: cash,
        marginAvailable: ZERO,
        cashAndMarginAvailable: cash,
        ...shorts,
        contractSize: instrument.multiplier,
        unifiedBuyingPower: "0",
        creditLimit: ZERO,
        ...(instrument.kind === "option" ? { optionLongMargin: ZERO, optionShortMargin: ZERO } : {}),
      };
    },
    "account.marginTerms": ({ symbol }) => {
      const market = listing(symbol)?.market ?? state.market.instrument(symbol)?.market;
      if (market === undefined) throw invalid(`unknown stock code "${symbol}"`);
      const instrument = findInstrument(state, market, symbol);
      const shortAllowed = isShortable(state, instrument);
      return {
        marginAllowed: false,
        initialMarginRatio: "1",
        maintenanceMarginRatio: "1",
        shortAllowed,
        shortInitialMarginRatio: shortAllowed ? shortTerms.initialMarginRatio : "1",
        shortMaintenanceMarginRatio: shortAllowed ? shortTerms.maintenanceMarginRatio : "1",
        shortInterestRate: shortAllowed ? shortTerms.interestRate : "0",
        shortAvailableQuantity: shortAllowed ? String(lendable(state, instrument)) : "0",
        rates: [],
      };
    },
    "account.extendedHours": ({ market, symbol }) => ({
      supported: market === "us" && findInstrument(state, market, symbol).kind !== "option",
    }),
    "account.shortSale": ({ market, symbol }) => {
      const supported = isShortable(state, findInstrument(state, market, symbol));
      return { supported, interestRate: supported ? shortTerms.interestRate : "0" };
    },
    "account.exchangeRates": ({ rateType }) => ratesAt(state, rateType === "spot"),
  };
}

/** Returns the members of the buying power that concern short sales: how much can be sold short and bought back. */
function shortFigures(state: State, instrument: Instrument, price: bigint) {
  const { market, symbol, lotSize } = instrument;
  const isAllowed = isShortable(state, instrument);
  const available = state.available(bookRules[market].currency);
  const power = isAllowed && available > 0n ? available * HUNDRED / marginOf(HUNDRED) : 0n;
  const perLot = amountOf(marginPriceOf(state, symbol, price), BigInt(lotSize), 1n);
  const byMargin = perLot > 0n ? power / perLot * BigInt(lotSize) : 0n;
  const pool = isAllowed ? lendable(state, instrument) : 0n;
  const close = String(closable(state, market, symbol));
  return {
    maxShortOpen: String(least(byMargin, pool)),
    maxShortClose: close,
    maxShortCloseByCash: close,
    shortPool: String(pool),
    shortBuyingPower: writeCents(power),
  };
}

function pricedAt(state: State, instrument: Instrument, price: string): bigint {
  return /[1-9]/.test(price)
    ? checkPrice(state, instrument, price)
    : state.tape.price(instrument.symbol, state.now);
}

/** Returns the largest quantity in whole lots that cash can pay for, including fees. */
function mostToBuy(state: State, instrument: Instrument, price: bigint): bigint {
  const { market, lotSize, multiplier } = instrument;
  const draft = { book: market, instrument, multiplier: BigInt(multiplier), day: state.today[market].day };
  const available = state.available(bookRules[market].currency);
  const lot = BigInt(lotSize);
  const perLot = amountOf(price, lot, draft.multiplier);
  if (available <= 0n || perLot <= 0n) return 0n;
  let [low, high] = [0n, available / perLot];
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (state.costOf(draft, price, middle * lot) <= available) low = middle;
    else high = middle - 1n;
  }
  return low * lot;
}

function valueOf(state: State, market: Market, symbol: string): bigint {
  const quantity = state.holdings[market].get(symbol)?.quantity ?? 0n;
  return amountOf(state.tape.price(symbol, state.now), quantity, state.describe(symbol).multiplier);
}

function fundsOf(state: State, currency: AccountCurrency): Funds {
  let value = 0n;
  let proceeds = 0n;
  for (const market of markets) {
    if (bookRules[market].currency !== currency) continue;
    for (const symbol of state.holdings[market].keys()) value += valueOf(state, market, symbol);
    proceeds += unsettledProceeds(state, market);
  }
  const cash = state.cash[currency];
  const frozen = state.frozen(currency);
  const available = cash - frozen.all;
  const withdrawable = available > proceeds ? available - proceeds : 0n;
  const total = cash + value;
  const power = (of: AccountCurrency) => of === currency ? writeCents(available) : ZERO;
  const perCurrency = { Hk: power("HKD"), Us: power("USD"), Cn: power("CNY") };
  return {
    totalAssets: writeCents(total),
    available: writeCents(available),
    frozenByOrders: writeCents(frozen.byOrders),
    frozen: writeCents(frozen.all),
    withdrawable: writeCents(withdrawable),
    creditUsed: ZERO,
    creditLine: ZERO,
    creditLimit: ZERO,
    maxCreditLimit: ZERO,
    unifiedCreditLimit: ZERO,
    maxUnifiedCreditLimit: ZERO,
    accountStatus: "0",
    usageRatio: total > 0n ? writeCents(divideHalfUp(value * 10_000n, total)) : ZERO,
    buyingPower: writeCents(available),
    buyingPowerWithCredit: writeCents(available),
    buyingPowerHk: perCurrency.Hk,
    buyingPowerUs: perCurrency.Us,
    buyingPowerCn: perCurrency.Cn,
    unifiedBuyingPowerHk: perCurrency.Hk,
    unifiedBuyingPowerUs: perCurrency.Us,
    unifiedBuyingPowerCn: perCurrency.Cn,
    thirdPartyBuyingPowerHk: ZERO,
    thirdPartyBuyingPowerUs: ZERO,
    thirdPartyBuyingPowerCn: ZERO,
    shortBuyingPower: ZERO,
    cashBuyingPower: writeCents(available),
    holdingsProfit: ZERO,
    marketValue: writeCents(value),
  };
}

function holdingOf(state: State, market: Market, symbol: string): Holding {
  const held = state.holdings[market].get(symbol) ?? { quantity: 0n, costCents: 0n };
  const { name, multiplier } = state.describe(symbol);
  const magnitude = (value: bigint) => value < 0n ? -value : value;
  const units = magnitude(held.quantity) * multiplier;
  // A short position has a negative quantity and a negative cost.
  const cost = units === 0n
    ? 0n
    : divideHalfUp(magnitude(held.costCents) * HUNDRED, units) * PRICES_PER_CENT / HUNDRED;
  const value = valueOf(state, market, symbol);
  const profit = value - held.costCents;
  const costPrice = writePrice(cost);
  return {
    symbol,
    name,
    market,
    quantity: String(held.quantity),
    sellableQuantity: String(state.sellable(market, symbol)),
    costPrice,
    dayCostPrice: costPrice,
    breakEvenPrice: costPrice,
    dayIn: String(state.tradedToday(market, symbol, false)),
    dayOut: String(state.tradedToday(market, symbol, true)),
    lastPrice: writePrice(state.tape.price(symbol, state.now)),
    profit: writeCents(profit),
    marketValue: writeCents(value),
    ...(held.costCents === 0n
      ? {}
      : { incomeRatio: writeCents(divideHalfUp(profit * 10_000n, magnitude(held.costCents))) }),
  };
}

/**
 * Returns the exchange rates. In each direction, the swap rate is two per thousand below the spot rate.
 */
function ratesAt(state: State, spot: boolean): Record<string, Record<string, string>> {
  const { day } = state.today.hk;
  const { USDHKD, CNYHKD } = state.market.currencyRates(day.date);
  const hkd: Record<AccountCurrency, string> = { HKD: "1", USD: USDHKD, CNY: CNYHKD };
  const currencies: AccountCurrency[] = ["HKD", "USD", "CNY"];
  const factor = spot ? "1" : subtract("1", "0.002");
  return Object.fromEntries(currencies.map((from) => [
    from,
    Object.fromEntries(
      currencies.filter((to) => to !== from)
        .map((to) => [to, divide(multiply(hkd[from], factor), hkd[to], 6, "half-up")]),
    ),
  ]));
}
