/**
 * Looks up the trading days and hours of one market or Stock Connect link, with calendar overrides. Parses the data
 * once.
 *
 * A Stock Connect link is open when both markets are open. Until April 2023 it was also closed on some days for
 * settlement reasons.
 *
 * @module
 */
import { type CalendarData, type ConnectData, listDays, readHours } from "./records.ts";

/** A break within a session, local `"HH:MM"`. */
export interface SessionBreak {
  /** Start of the break. */
  from: string;
  /** End of the break. */
  to: string;
}

/** A trading session, without the auctions before and after it. */
export interface Session {
  /** Local date, `"2025-08-15"`. */
  date: string;
  /** Local `"HH:MM"`. */
  open: string;
  /** Local `"HH:MM"`. */
  close: string;
  /** Breaks within the session, such as lunch; empty if trading is continuous. */
  breaks: SessionBreak[];
  /** Whether the exchange announced a half-day. A day shortened by weather is not a half-day. */
  halfDay: boolean;
  /** Time of the open, Unix milliseconds. */
  openAt: number;
  /** Time of the close, Unix milliseconds. */
  closeAt: number;
}

/** A session outside the regular hours. */
export type ExtendedSession = "pre-market" | "after-hours" | "night";

/** A period in Unix milliseconds; the end is excluded. */
export interface ExtendedPeriod {
  /** Start of the period. */
  from: number;
  /** End of the period. */
  to: number;
}

const MINUTE_MS = 60_000;
const NIGHT_MS = 585 * MINUTE_MS;

/**
 * Returns when the extended session of a day begins and ends. The night session begins in the evening of the day; its
 * trades belong to the next trading day.
 *
 * Sources: `lean` and `fut-aht`, which `docs/simulator.md` lists. No source says whether there is a night session on a
 * day on which the markets of London and New York are both closed. This function assumes that there is one.
 *
 * @returns `undefined` for the night after a half-day, which has no night session.
 */
export function extendedPeriod(
  name: ExtendedSession,
  { date, openAt, closeAt, halfDay }: Pick<Session, "date" | "openAt" | "closeAt" | "halfDay">,
): ExtendedPeriod | undefined {
  switch (name) {
    case "pre-market":
      return { from: openAt - 330 * MINUTE_MS, to: openAt };
    case "after-hours":
      return { from: closeAt, to: closeAt + 240 * MINUTE_MS };
    case "night": {
      // Hong Kong has no daylight saving.
      const from = Date.parse(`${date}T17:15:00+08:00`);
      return halfDay ? undefined : { from, to: from + NIGHT_MS };
    }
  }
}

/** The calendar of one market. */
export interface Book {
  zone: string;
  from: string;
  through: string;
  /** First day that is projected and not announced by the exchange. */
  projectedFrom: string | undefined;
  /** Versions of the data from which the calendar is derived. */
  versions: readonly string[];
  /** Hours of an ordinary day, `"09:30-12:00 13:00-16:00"`. */
  regular: string;
  /** Hours of an announced half-day; `null` if the exchange has no half-days. */
  halfDay: string | null;
  /** Returns the hours of a covered weekday; `undefined` if the market is closed. */
  hoursOn(date: string): string | undefined;
  isHalfDay(date: string): boolean;
  /** Returns the shortened hours of a day with an unannounced early close or late open; otherwise `undefined`. */
  unplannedOn(date: string): string | undefined;
}

/** Returns the calendar of an exchange from its data. */
export function readBook(data: CalendarData): Book {
  const closed = new Set(listDays(data.closed));
  const halfDays = new Set(listDays(data.halfDays));
  const { zone, from, through, projectedFrom, regular, halfDay, version } = data;
  return {
    zone,
    from,
    through,
    projectedFrom,
    versions: [version],
    regular,
    halfDay,
    hoursOn(date) {
      if (closed.has(date)) return undefined;
      return data.unplanned[date] ?? (halfDays.has(date) && halfDay ? halfDay : regular);
    },
    isHalfDay: (date) => halfDays.has(date),
    unplannedOn: (date) => data.unplanned[date],
  };
}

/** Returns the session of a day with these hours. The object is frozen, because callers share it. */
export function makeSession(book: Book, date: string, hours: string): Session {
  const stretches = readHours(hours);
  const open = hours.slice(0, 5);
  const close = hours.slice(-5);
  const breaks = stretches.slice(1).map((stretch, i) =>
    Object.freeze({ from: stretches[i]!.to, to: stretch.from }) // `i` is the index of the previous stretch
  );
  Object.freeze(breaks);
  const day = Temporal.PlainDate.from(date);
  const at = (time: string) =>
    day.toZonedDateTime({ timeZone: book.zone, plainTime: Temporal.PlainTime.from(time) }).epochMilliseconds;
  const halfDay = book.isHalfDay(date);
  return Object.freeze({ date, open, close, breaks, halfDay, openAt: at(open), closeAt: at(close) });
}

/**
 * Returns the parts of a link's calendar that both directions share. Each direction replaces the hours and half-days.
 */
function commonBook(
  hongKong: Book,
  mainland: Book,
  data: ConnectData,
): Omit<Book, "zone" | "regular" | "halfDay"> {
  const [from] = [data.from, hongKong.from, mainland.from].sort().reverse();
  const [projectedFrom] = [hongKong.projectedFrom, mainland.projectedFrom].filter((day) => day !== undefined)
    .sort();
  return {
    from: from!, // the sorted list has three days, so the first one exists
    through: hongKong.through < mainland.through ? hongKong.through : mainland.through,
    projectedFrom,
    versions: [...new Set([data.version, ...hongKong.versions, ...mainland.versions])],
    hoursOn: () => undefined,
    isHalfDay: () => false,
    unplannedOn: (date) => mainland.unplannedOn(date) ?? hongKong.unplannedOn(date),
  };
}

/**
 * Returns the calendar of a northbound link, which sends orders from Hong Kong to the mainland. The link has the
 * mainland's hours. An announced half-day in Hong Kong does not shorten them. An unannounced early close in Hong Kong
 * shortens them, for example after a weather warning.
 */
export function northboundBook(hongKong: Book, mainland: Book, data: ConnectData): Book {
  const unsettled = new Set(listDays(data.northbound));
  return {
    ...commonBook(hongKong, mainland, data),
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
 * Returns the calendar of the southbound links, which send orders from the mainland to Hong Kong. The links have Hong
 * Kong's hours and half-days. An unannounced early close on the mainland shortens the hours. The links from Shanghai
 * and from Shenzhen have the same days.
 */
export function southboundBook(hongKong: Book, mainland: Book, data: ConnectData): Book {
  const unsettled = new Set(listDays(data.southbound));
  return {
    ...commonBook(hongKong, mainland, data),
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

/**
 * Returns the part of `hours` between the first and the last minute of the hours `within`.
 *
 * @returns `undefined` if no part remains.
 */
function shorten(hours: string, within: string): string | undefined {
  const [first, last] = [within.slice(0, 5), within.slice(-5)];
  const kept = readHours(hours)
    .map(({ from, to }) => ({ from: from > first ? from : first, to: to < last ? to : last }))
    .filter(({ from, to }) => from < to);
  return kept.length === 0 ? undefined : kept.map(({ from, to }) => `${from}-${to}`).join(" ");
}

/** A calendar override: the hours of one day of one market, set by a user. */
export interface Override {
  /** Name of the market, such as `XHKG`. */
  mic: string;
  /** Local date of the market, a weekday. */
  date: string;
  /** `"closed"`, `"open"` for the usual full hours, or hours, `"09:30-12:00 13:00-15:00"`. */
  hours: string;
  /**
   * Whether the exchange announced the day as a half-day with its usual half-day hours. Any other short hours count
   * as unannounced. They also shorten the hours of the Stock Connect links. @default false
   */
  halfDay?: boolean;
  /** The user's reason. */
  because: string;
  /** Time when it was set, `"2026-11-21T05:00:00Z"`. */
  setAt: string;
}

/** Returns the hours of an override; `undefined` if the market is closed. */
function hoursOf({ hours }: Override, { regular }: Pick<Book, "regular">): string | undefined {
  if (hours === "closed") return undefined;
  return hours === "open" ? regular : hours;
}

/** Returns whether an override is an announced half-day: it is marked as one, and has the usual half-day hours. */
function isHalfDay(override: Override, book: Pick<Book, "regular" | "halfDay">): boolean {
  return override.halfDay === true && book.halfDay !== null && hoursOf(override, book) === book.halfDay;
}

/**
 * Returns whether an override is unnecessary: without this market's overrides, the calendar already has the same hours
 * and the same half-day.
 */
export function isNeedless(override: Override, shipped: Book): boolean {
  const { date } = override;
  if (date < shipped.from || date > shipped.through) return false;
  // On a projected day the override is still needed: it confirms the projection.
  if (shipped.projectedFrom !== undefined && date >= shipped.projectedFrom) return false;
  return shipped.hoursOn(date) === hoursOf(override, shipped) &&
    shipped.isHalfDay(date) === isHalfDay(override, shipped);
}

/** Returns a calendar with overrides applied. Overrides outside its coverage have no effect. */
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

/** Returns a short text that changes with the overrides: their number and a hash of their content. */
export function fingerprint(overrides: readonly Override[]): string {
  const text = overrides.map(({ mic, date, hours, halfDay }) =>
    `${mic} ${date} ${hours}${halfDay === true ? " half-day" : ""}`
  ).sort().join("\n");
  let hash = 0x811c9dc5; // FNV-1a: good enough to notice changes, but not cryptographic
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return `${overrides.length}.${hash.toString(16).padStart(8, "0")}`;
}
