/**
 * Days that a person set by hand, laid over the data of a market.
 *
 * @module
 */
import type { Book } from "./book.ts";

/** What a person said of one day of one market. */
export interface Override {
  /** The market, by its name here. */
  mic: string;
  /** Local date of the market, a weekday. */
  date: string;
  /** `"closed"`, `"open"` for the usual full hours, or hours, `"09:30-12:00 13:00-15:00"`. */
  hours: string;
  /**
   * The exchange announced the day as a half-day, and the hours are those. Other short hours count as cut short
   * without notice, which closes Stock Connect as well. @default false
   */
  halfDay?: boolean;
  /** Why, in the person's words. */
  because: string;
  /** When it was set, `"2026-11-21T05:00:00Z"`. */
  setAt: string;
}

/** Returns the hours that an override gives, `undefined` for none. */
export function hoursOf({ hours }: Override, { regular }: Pick<Book, "regular">): string | undefined {
  if (hours === "closed") return undefined;
  return hours === "open" ? regular : hours;
}

/** Tells whether a day was set to an announced half-day: its hours alone do not say so. */
function isHalfDay(override: Override, book: Pick<Book, "regular" | "halfDay">): boolean {
  return override.halfDay === true && book.halfDay !== null && hoursOf(override, book) === book.halfDay;
}

/** Tells whether the data says the same by itself, so that the override is not needed. */
export function isNeedless(override: Override, shipped: Book): boolean {
  const { date } = override;
  if (date < shipped.from || date > shipped.through) return false;
  // On a projected day the person knows, and the data guesses right.
  if (shipped.projectedFrom !== undefined && date >= shipped.projectedFrom) return false;
  return shipped.hoursOn(date) === hoursOf(override, shipped) &&
    shipped.isHalfDay(date) === isHalfDay(override, shipped);
}

/** Lays overrides over a book. Those outside its coverage say nothing. */
export function withOverrides(book: Book, overrides: ReadonlyMap<string, Override>): Book {
  if (overrides.size === 0) return book;
  return {
    ...book,
    hoursOn(date) {
      const override = overrides.get(date);
      return override === undefined ? book.hoursOn(date) : hoursOf(override, book);
    },
    isHalfDay(date) {
      const override = overrides.get(date);
      return override === undefined ? book.isHalfDay(date) : isHalfDay(override, book);
    },
    unplannedOn(date) {
      const override = overrides.get(date);
      if (override === undefined) return book.unplannedOn(date);
      const hours = hoursOf(override, book);
      return hours === book.regular || isHalfDay(override, book) ? undefined : hours;
    },
  };
}

/** A short text that differs when the overrides do: how many there are, and a hash of what they say. */
export function fingerprint(overrides: readonly Override[]): string {
  const text = overrides.map(({ mic, date, hours, halfDay }) =>
    `${mic} ${date} ${hours}${halfDay === true ? " half-day" : ""}`
  ).sort().join("\n");
  let hash = 0x811c9dc5; // FNV-1a: names a version, guards nothing
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return `${overrides.length}.${hash.toString(16).padStart(8, "0")}`;
}
