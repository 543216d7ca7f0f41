/**
 * Guard rails about the quantity: its lot, and its fraction of the average daily volume.
 *
 * @module
 */
import {
  add,
  compare,
  type Decimal,
  divide,
  isZero,
  multiply,
  round,
  subtract,
  toStep,
} from "../../decimal.ts";
import { RejectedError } from "../../errors.ts";
import { sellableOf } from "./broker_figures.ts";
import type { Check, Rule } from "./check.ts";
import { isBuy } from "../terms.ts";
import { percentText, typeOf } from "./order.ts";

/** Days whose volume is averaged. */
const VOLUME_DAYS = 20;

/** Requires a quantity that is a multiple of the lot. */
export const lot: Rule = {
  name: "lot",
  about:
    "a quantity that is not a multiple of the board lot; an odd lot passes only with the order type `odd-lot`, or in " +
    "a mainland sale that leaves only whole lots; a purchase on the STAR market may have any whole number from 200",
  async check(check) {
    const { market, symbol, quantity, orderType, side } = check.order;
    const refuse = (what: string, ...nearest: Decimal[]) =>
      check.refuse(
        "lot",
        `the quantity ${quantity} of "${symbol}" is not ${what}`,
        `the nearest ${nearest.length === 1 ? "quantity is" : "quantities are"} ${
          nearest.map((each) => round(each, 0, "exact")).join(" and ")
        }`,
      );
    const around = (step: Decimal, what: string) => {
      const [below, above] = [toStep(quantity, step, "down"), toStep(quantity, step, "up")];
      if (compare(below, quantity) === 0) return;
      throw isZero(below) ? refuse(what, above) : refuse(what, below, above);
    };
    const lot = await check.lot();
    if (lot === undefined) return around("1", "a whole number");
    if (orderType === "odd-lot") {
      around("1", "a whole number");
      if (compare(quantity, lot) >= 0) {
        throw refuse(`an odd lot, which is less than ${lot}`, subtract(lot, "1"));
      }
      return;
    }
    if (market === "shanghai" && /^68[89]/.test(symbol) && isBuy(side)) {
      around("1", "a whole number");
      if (compare(quantity, "200") < 0) throw refuse("200 or more", "200");
      return;
    }
    // On the mainland, an odd lot of a holding may be sold, but only completely.
    if ((market === "shanghai" || market === "shenzhen") && !isBuy(side)) {
      const held = await sellableOf(check);
      const rest = subtract(held, toStep(held, lot, "down"));
      if (compare(subtract(quantity, toStep(quantity, lot, "down")), rest) === 0) return;
    }
    around(lot, `a multiple of the lot ${lot}`);
  },
};

/** Limits the quantity to a fraction of the average daily volume. */
export const maxVolumeShare: Rule = {
  name: "maxVolumeShare",
  about:
    "largest quantity, as a fraction of the average daily volume of the last 20 trading days, such as `1%`; needs bars (see below)",
  async check(check) {
    const { maxVolumeShare } = check.limits;
    if (maxVolumeShare === undefined) return;
    const { quantity } = check.order;
    const { average, days } = await averageVolume(check);
    if (compare(quantity, multiply(average, maxVolumeShare)) <= 0) return;
    const largest = toStep(multiply(average, maxVolumeShare), await check.lot() ?? "1", "down");
    throw check.refuse(
      "maxVolumeShare",
      `the quantity ${quantity} is more than ${
        percentText(maxVolumeShare)
      } of ${average}, the average volume of ${days} days`,
      `the largest quantity is ${round(largest, 0, "exact")}`,
    );
  },
};

/** Returns the average volume of the last trading days before today, and the number of these days. */
async function averageVolume(check: Check): Promise<{ average: Decimal; days: number }> {
  const { order } = check;
  const { symbol } = order;
  const today = check.today(order);
  const type = typeOf(symbol);
  let bars: readonly { date?: string; volume?: string }[] = [];
  try {
    if (type !== undefined) {
      ({ bars } = await check.planned.client.quotes.bars({
        security: { type, symbol },
        start: today,
        direction: "older",
        interval: "day",
        limit: VOLUME_DAYS + 1,
      }));
    }
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error;
    throw check.unchecked("maxVolumeShare", `the broker gave no bars of "${symbol}": ${error.message}`);
  }
  const volumes = bars.filter(({ date }) => date !== undefined && date < today).map(({ volume }) => volume)
    .filter((volume) => volume !== undefined).slice(-VOLUME_DAYS);
  if (volumes.length === 0) {
    throw check.unchecked(
      "maxVolumeShare",
      `the broker has no volume of "${symbol}" for any day before today`,
    );
  }
  return { average: divide(add(...volumes), String(volumes.length), 0, "down"), days: volumes.length };
}
