/**
 * The days of Stock Connect: both markets trade, less those that settlement closed until April 2023.
 *
 * @module
 */
import type { Book } from "./book.ts";
import { type ConnectData, readHours, spellDays } from "./records.ts";

/** What both directions have in common. */
function meet(hongKong: Book, mainland: Book, data: ConnectData): Omit<Book, "zone" | "regular" | "halfDay"> {
  const [from] = [data.from, hongKong.from, mainland.from].sort().reverse();
  const [projectedFrom] = [hongKong.projectedFrom, mainland.projectedFrom].filter((day) => day !== undefined)
    .sort();
  return {
    from: from!, // three entries
    through: hongKong.through < mainland.through ? hongKong.through : mainland.through,
    projectedFrom,
    versions: [...new Set([data.version, ...hongKong.versions, ...mainland.versions])],
    hoursOn: () => undefined,
    isHalfDay: () => false,
    unplannedOn: (date) => mainland.unplannedOn(date) ?? hongKong.unplannedOn(date),
  };
}

/**
 * Makes the book of a northbound link, which sends orders from Hong Kong to the mainland, with the mainland's
 * hours. An announced half-day of Hong Kong does not shorten it, weather there does, and whatever cuts a day short
 * without notice.
 */
export function northboundBook(hongKong: Book, mainland: Book, data: ConnectData): Book {
  const unsettled = new Set(spellDays(data.northbound));
  return {
    ...meet(hongKong, mainland, data),
    zone: mainland.zone,
    regular: mainland.regular,
    halfDay: mainland.halfDay,
    hoursOn(date) {
      const hours = mainland.hoursOn(date);
      if (hours === undefined || hongKong.hoursOn(date) === undefined || unsettled.has(date)) {
        return undefined;
      }
      const weather = hongKong.unplannedOn(date);
      return weather === undefined ? hours : shorten(hours, weather);
    },
    isHalfDay: (date) => mainland.isHalfDay(date),
  };
}

/**
 * Makes the book of the southbound links, which send orders from the mainland to Hong Kong, with Hong Kong's hours,
 * half-days included, and no longer than a mainland day that was cut short without notice. Shanghai's and Shenzhen's
 * links keep the same days.
 */
export function southboundBook(hongKong: Book, mainland: Book, data: ConnectData): Book {
  const unsettled = new Set(spellDays(data.southbound));
  return {
    ...meet(hongKong, mainland, data),
    zone: hongKong.zone,
    regular: hongKong.regular,
    halfDay: hongKong.halfDay,
    hoursOn(date) {
      const hours = hongKong.hoursOn(date);
      if (hours === undefined || mainland.hoursOn(date) === undefined || unsettled.has(date)) {
        return undefined;
      }
      const cut = mainland.unplannedOn(date);
      return cut === undefined ? hours : shorten(hours, cut);
    },
    isHalfDay: (date) => hongKong.isHalfDay(date),
    unplannedOn: (date) => hongKong.unplannedOn(date) ?? mainland.unplannedOn(date),
  };
}

/** Keeps what lies between the first and the last minute of other hours; `undefined` when nothing does. */
function shorten(hours: string, within: string): string | undefined {
  const [first, last] = [within.slice(0, 5), within.slice(-5)];
  const kept = readHours(hours)
    .map(({ from, to }) => ({ from: from > first ? from : first, to: to < last ? to : last }))
    .filter(({ from, to }) => from < to);
  return kept.length === 0 ? undefined : kept.map(({ from, to }) => `${from}-${to}`).join(" ");
}
