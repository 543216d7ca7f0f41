/**
 * Computes prices and sensitivities of options with the Black–Scholes formula, without dividends.
 *
 * The numbers are doubles, because they are model values of a market and not an account's money. The formula ignores
 * early exercise; for calls without dividends, early exercise has no value.
 *
 * @module
 */

/** Input of an option price. */
export interface OptionInputs {
  type: "call" | "put";
  /** Price of the underlying. */
  spot: number;
  strike: number;
  /** Years to expiry. */
  years: number;
  /** Yearly volatility, 0.3 for 30 percent. */
  volatility: number;
  /** Yearly interest, continuous. */
  rate: number;
}

/** Sensitivities of the price; vega and rho per one percent, theta per day. */
interface Greeks {
  delta: number;
  gamma: number;
  vega: number;
  theta: number;
  rho: number;
}

const UPPER = [
  3.52624965998911e-2,
  0.700383064443688,
  6.37396220353165,
  33.912866078383,
  112.079291497871,
  221.213596169931,
  220.206867912376,
];
const LOWER = [
  8.83883476483184e-2,
  1.75566716318264,
  16.064177579207,
  86.7807322029461,
  296.564248779674,
  637.333633378831,
  793.826512519948,
  440.413735824752,
];

const polynomial = (factors: readonly number[], x: number) =>
  factors.reduce((sum, factor) => sum * x + factor, 0);

/**
 * Returns the cumulative normal distribution in double precision (Hart's fraction as given by West, 2005). With a
 * coarser formula, an option's price could fall by a step while the stock rises, and ticks could be outside their bar.
 */
export function normalCdf(x: number): number {
  const size = Math.abs(x);
  if (size > 37) return x > 0 ? 1 : 0;
  const peak = Math.exp(-size * size / 2);
  const tail = size < 7.07106781186547
    ? peak * polynomial(UPPER, size) / polynomial(LOWER, size)
    : peak / (2.506628274631 * [4, 3, 2, 1].reduce((sum, factor) => size + factor / sum, size + 0.65));
  return x > 0 ? 1 - tail : tail;
}

const density = (x: number) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);

function terms({ spot, strike, years, volatility, rate }: OptionInputs) {
  const width = volatility * Math.sqrt(years);
  const d1 = (Math.log(spot / strike) + (rate + volatility * volatility / 2) * years) / width;
  return { d1, d2: d1 - width, discount: Math.exp(-rate * years) };
}

/** Returns the value of an option, never below zero. */
export function optionValue(inputs: OptionInputs): number {
  const { type, spot, strike } = inputs;
  const { d1, d2, discount } = terms(inputs);
  const value = type === "call"
    ? spot * normalCdf(d1) - strike * discount * normalCdf(d2)
    : strike * discount * normalCdf(-d2) - spot * normalCdf(-d1);
  return Math.max(0, value);
}

/** Returns the sensitivities of an option. */
export function optionGreeks(inputs: OptionInputs): Greeks {
  const { type, spot, strike, years, volatility, rate } = inputs;
  const { d1, d2, discount } = terms(inputs);
  const sign = type === "call" ? 1 : -1;
  const decay = -spot * density(d1) * volatility / (2 * Math.sqrt(years));
  const carry = sign * rate * strike * discount * normalCdf(sign * d2);
  return {
    delta: sign * normalCdf(sign * d1),
    gamma: density(d1) / (spot * volatility * Math.sqrt(years)),
    vega: spot * density(d1) * Math.sqrt(years) / 100,
    theta: (decay - carry) / 365,
    rho: sign * strike * years * discount * normalCdf(sign * d2) / 100,
  };
}
