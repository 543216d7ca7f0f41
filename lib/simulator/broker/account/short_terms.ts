/**
 * Defines the margins and the interest of short positions in stocks.
 *
 * The broker does not publish them. Here the margins are the usual minimum of the United States, and the interest is 3%
 * a year. There is no forced purchase: an account that lacks margin keeps its positions, but cannot open more.
 *
 * @module
 */
import { divideHalfUp, readPrice, writePrice } from "./money.ts";

/** Initial and maintenance margin, in percent of a position's value. */
const INITIAL = 50n;
const MAINTENANCE = 30n;

/** Yearly interest in percent of a position's value. */
export const shortInterest = 3n;

const ratio = (percent: bigint) => writePrice(readPrice(String(percent)) / 100n);

/** The terms of short sales, as the broker's answers show them. */
export const shortTerms = {
  initialMarginRatio: ratio(INITIAL),
  maintenanceMarginRatio: ratio(MAINTENANCE),
  interestRate: ratio(shortInterest),
};

/**
 * Returns the margin of an order that opens a position. The order's proceeds are not part of it: they arrive with its
 * fills.
 */
export const marginOf = (cents: bigint): bigint => divideHalfUp(cents * INITIAL, 100n);

/** Returns the cash that a position reserves: its value, which is the cost of closing it, plus the margin. */
export const reserveOf = (cents: bigint): bigint => cents + marginOf(cents);
