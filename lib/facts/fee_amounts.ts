/**
 * Fee arithmetic on whole numbers. Rates are read once and applied to millions of fills, so this room keeps
 * coefficient and scale apart instead of parsing decimal strings for each step.
 *
 * @module
 */
import { normalize } from "../decimal.ts";

/** A decimal as `coefficient / 10 ** scale`. */
export interface Fixed {
  coefficient: bigint;
  scale: number;
}

/** How a charge is brought to money: nearest cent, next cent, or next whole unit of the currency. */
export type CentRounding = "cent" | "cent-up" | "whole-up";

/** What a charge is taken of. */
export type Basis = "amount" | "share" | "contract" | "fill" | "order";

/** One charge, ready to be applied. Limits are in cents. */
export interface Rule {
  per: Basis;
  rate: Fixed;
  round: CentRounding;
  min?: bigint;
  max?: bigint;
  /** Most, as a fraction of the amount; `min` goes before it. */
  cap?: Fixed;
}

/** What was traded, in a fill or in the order as a whole. */
export interface Traded {
  /** Money in the market's currency. */
  amount: Fixed;
  /** Shares, those behind an option included. */
  shares: Fixed;
  /** As the fills count: shares or contracts. */
  quantity: Fixed;
}

const PLAIN = /^\d+(?:\.\d+)?$/;
const ONE: Fixed = { coefficient: 1n, scale: 0 };

const powers: bigint[] = [1n];

/** Ten to a power; kept, since a bigint power is slow. */
function ten(power: number): bigint {
  for (let next = powers.length; next <= power; next++) powers.push(powers[next - 1]! * 10n);
  return powers[power]!; // filled just above
}

/**
 * Reads a decimal that is not below zero.
 *
 * @throws {TypeError} When it is no decimal.
 * @throws {RangeError} When it is below zero.
 */
export function readFixed(value: string): Fixed {
  const text = PLAIN.test(value) ? value : normalize(value);
  if (text.startsWith("-")) throw new RangeError(`Cannot work out fees with "${value}": it is below zero`);
  const point = text.indexOf(".");
  if (point < 0) return { coefficient: BigInt(text), scale: 0 };
  return {
    coefficient: BigInt(text.slice(0, point) + text.slice(point + 1)),
    scale: text.length - point - 1,
  };
}

/** Returns the exact product. */
export function times(a: Fixed, b: Fixed): Fixed {
  return { coefficient: a.coefficient * b.coefficient, scale: a.scale + b.scale };
}

/** Returns the exact sum. */
export function plus(a: Fixed, b: Fixed): Fixed {
  const scale = Math.max(a.scale, b.scale);
  return {
    coefficient: a.coefficient * ten(scale - a.scale) + b.coefficient * ten(scale - b.scale),
    scale,
  };
}

function isBelow(a: Fixed, b: Fixed): boolean {
  return a.coefficient * ten(b.scale) < b.coefficient * ten(a.scale);
}

/** Rounds a value that is not below zero to whole multiples of `10 ** -places`. */
function toUnits({ coefficient, scale }: Fixed, places: number, up: boolean): bigint {
  if (scale <= places) return coefficient * ten(places - scale);
  const unit = ten(scale - places);
  return (coefficient + (up ? unit - 1n : unit / 2n)) / unit;
}

/** Brings a limit such as `"5.95"` to cents. */
export function readCents(value: string): bigint {
  const fixed = readFixed(value);
  if (fixed.scale > 2) throw new RangeError(`Cannot use "${value}" as a limit: it has parts of a cent`);
  return toUnits(fixed, 2, false);
}

function basisOf(per: Basis, traded: Traded): Fixed {
  if (per === "amount") return traded.amount;
  if (per === "share") return traded.shares;
  return per === "contract" ? traded.quantity : ONE;
}

/** Works one charge out, in cents. A rate of zero charges nothing, whatever the minimum. */
export function chargeOf(rule: Rule, traded: Traded): bigint {
  if (rule.rate.coefficient === 0n) return 0n;
  let value = times(basisOf(rule.per, traded), rule.rate);
  if (rule.cap !== undefined) {
    const most = times(traded.amount, rule.cap);
    if (isBelow(most, value)) value = most;
  }
  let cents = rule.round === "whole-up"
    ? toUnits(value, 0, true) * 100n
    : toUnits(value, 2, rule.round === "cent-up");
  if (rule.max !== undefined && cents > rule.max) cents = rule.max;
  if (rule.min !== undefined && cents < rule.min) cents = rule.min;
  return cents;
}

/** Writes cents as a decimal string: `1234n` is `"12.34"`. */
export function writeCents(cents: bigint): string {
  if (cents === 0n) return "0.00";
  const digits = cents.toString().padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
