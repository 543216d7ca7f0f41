/**
 * The Hong Kong indices under the futures, followed through the simulated stocks.
 *
 * An index takes a fixed share of the mean daily move of its basket, from a level about that of 2024-08-16. It is not
 * the published index, which has more members, slower ones and weights; the share brings it near that one's level a
 * year later. It goes the same way as the stocks beside it, which is
 * what tests of futures need. Levels are whole units of 0.0001 points, on hundredths of a point.
 *
 * @module
 */
import { listings } from "../../facts/listings.ts";
import { indexGrid, UNITS } from "./grid.ts";
import type { UnitBar } from "./packing.ts";
import type { BarSeries } from "./stock_series.ts";

/** What an index is made of. */
interface IndexRule {
  /** Points before the first day. */
  start: number;
  /** How much of the basket's move it makes. */
  share: number;
  /** Whether a Hong Kong stock belongs to it. */
  holds: (symbol: string) => boolean;
}

const CHINA = [
  "00700",
  "00939",
  "00941",
  "00981",
  "01211",
  "01398",
  "01810",
  "02318",
  "03690",
  "09988",
  "09999",
];
const TECH = ["00700", "00981", "01810", "03690", "09618", "09988", "09999"];
const among = (codes: readonly string[]) => (symbol: string) => codes.includes(symbol.slice(0, 5));

const RULES: Record<string, IndexRule> = {
  HSI: { start: 17_400, share: 0.77, holds: () => true },
  HHI: { start: 6_150, share: 0.7, holds: among(CHINA) },
  HTI: { start: 3_450, share: 0.78, holds: among(TECH) },
};

/** Day bars of one index. */
export class IndexSeries implements BarSeries {
  readonly #basket: BarSeries[];
  readonly #rule: IndexRule;
  readonly #bars: UnitBar[] = [];

  /** @param stock Returns the series of a Hong Kong stock. */
  constructor(index: string, stock: (symbol: string) => BarSeries) {
    const rule = RULES[index];
    if (rule === undefined) {
      throw new RangeError(`Cannot simulate index "${index}": not one of HSI, HHI, HTI`);
    }
    this.#rule = rule;
    this.#basket = listings.filter(({ market, symbol }) => market === "hk" && rule.holds(symbol))
      .map(({ symbol }) => stock(symbol));
  }

  /** Returns the bar of a Hong Kong trading day; its volume is 0, since nobody trades an index. */
  bar(index: number): UnitBar {
    for (let next = this.#bars.length; next <= index; next++) {
      const before = this.#bars[next - 1]?.close ?? this.#rule.start * UNITS;
      const moves = this.#basket.map((stock) => {
        const bar = stock.bar(next);
        return { bar, base: next === 0 ? bar.open : stock.bar(next - 1).close };
      });
      const level = (pick: (bar: UnitBar) => number) => {
        const sum = moves.reduce((all, { bar, base }) => all + pick(bar) / base, 0);
        return indexGrid.snap(before * (1 + this.#rule.share * (sum / moves.length - 1)));
      };
      this.#bars.push({
        open: level((bar) => bar.open),
        high: level((bar) => bar.high),
        low: level((bar) => bar.low),
        close: level((bar) => bar.close),
        volume: 0,
      });
    }
    const bar = this.#bars[index];
    if (bar === undefined) {
      throw new RangeError(`Cannot find an index bar for day ${index}: before the first`);
    }
    return bar;
  }
}
