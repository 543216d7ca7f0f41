/**
 * What the broker itself charges: commission and platform fee, per market.
 *
 * The broker's own price list is not published, so every amount can be replaced. The example follows list
 * prices of brokers in Hong Kong (futuhk.com/en/commissionnew, /support/topic2_283, /support/topic334;
 * futures after hf2228.com/efhk-charges and the fee model of QuantConnect Lean).
 *
 * @module
 */

/** A market whose trades are charged alike. */
export type FeeMarket = "hk" | "us" | "shanghai" | "shenzhen" | "us-option" | "hk-future";

/** One charge of the broker, taken once per order and trading day, rounded to the nearest cent. */
export interface BrokerCharge {
  /** A fraction of the amount, or money per unit, in the market's currency. */
  rate: string;
  per: "amount" | "share" | "contract" | "order";
  /** Least charge per order. */
  min?: string;
  /** Most, as a fraction of the amount; `min` goes before it. */
  maxOfAmount?: string;
  /** Other rates for some futures products, such as `{ MHI: "5" }`. */
  byProduct?: Record<string, string>;
}

/** What one market costs; without a platform fee the fees have no such member. */
export interface MarketTariff {
  commission: BrokerCharge;
  platformFee?: BrokerCharge;
}

/** The broker's charges, market by market. */
export type Tariff = Record<FeeMarket, MarketTariff>;

const northbound: MarketTariff = {
  commission: { rate: "0.0003", per: "amount", min: "3" },
  platformFee: { rate: "15", per: "order" },
};

/** List prices of the example broker. */
export const exampleTariff: Tariff = {
  hk: {
    commission: { rate: "0.0003", per: "amount", min: "3" },
    platformFee: { rate: "15", per: "order" },
  },
  us: {
    commission: { rate: "0.0049", per: "share", min: "0.99", maxOfAmount: "0.005" },
    platformFee: { rate: "0.005", per: "share", min: "1", maxOfAmount: "0.005" },
  },
  shanghai: northbound,
  shenzhen: northbound,
  "us-option": {
    commission: { rate: "0.65", per: "contract", min: "1.99" },
    platformFee: { rate: "0.30", per: "contract", min: "1" },
  },
  "hk-future": {
    commission: { rate: "20", per: "contract", byProduct: { HSI: "30", MHI: "5", HHI: "12" } },
  },
};
