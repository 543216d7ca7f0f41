/**
 * Computes the days until April 2023 on which Stock Connect was closed for settlement reasons, and compares them with
 * published lists. Only the task that builds the calendars uses this file. The result is in `data/CONNECT.json`.
 *
 * @module
 */
import type { Book } from "../../lib/calendars/book.ts";
import { type ConnectData, type DaysByYear, groupDays, listDays } from "../../lib/calendars/records.ts";

/** A direction of trading. */
type Direction = "northbound" | "southbound";

/** The hand-written file `connect.json`. */
export interface ConnectFile {
  from: string;
  /** From this day, the links are open whenever both markets trade. */
  commonDaysFrom: string;
  /** The rule in words. */
  rule: Record<Direction | "since", string>;
  /** Days on which weather closed the Hong Kong market without notice. */
  unannounced: DaysByYear;
  /** Pages that contain the rule. */
  sources: string[];
  /**
   * Published lists of closed days, such as `"2018-05-22 2018-06-16..2018-06-18"`. On all other trading days of the
   * mainland, the link was open.
   */
  notices: {
    direction: Direction;
    what: string;
    from: string;
    through: string;
    closed: string;
    source: string;
  }[];
  /**
   * Published lists of whole years: the days on which the old rule would have closed a link, but the new rule kept it
   * open.
   */
  added: { direction: Direction; what: string; days: DaysByYear; source: string }[];
}

/** Input of the rule. */
interface ConnectInputs {
  hongKong: Book;
  mainland: Book;
  version: string;
}

const addDay = (date: string): string => Temporal.PlainDate.from(date).add({ days: 1 }).toString();
const isWeekday = (date: string): boolean => Temporal.PlainDate.from(date).dayOfWeek <= 5;

function* weekdays(from: string, through: string): Generator<string> {
  for (let date = from; date <= through; date = addDay(date)) if (isWeekday(date)) yield date;
}

/** Trading days of both markets, and the days on which Hong Kong's banks were expected to be open. */
class Markets {
  readonly #inputs: ConnectInputs;
  readonly #unannounced: ReadonlySet<string>;

  constructor(inputs: ConnectInputs, unannounced: DaysByYear) {
    this.#inputs = inputs;
    this.#unannounced = new Set(listDays(unannounced));
  }

  hongKongTrades(date: string): boolean {
    return isWeekday(date) && this.#inputs.hongKong.hoursOn(date) !== undefined;
  }

  mainlandTrades(date: string): boolean {
    return isWeekday(date) && this.#inputs.mainland.hoursOn(date) !== undefined;
  }

  /** Returns whether Hong Kong's banks were expected to be open. */
  areBanksOpen(date: string): boolean {
    return this.hongKongTrades(date) || this.#unannounced.has(date);
  }

  /** Returns whether the day was expected to be a settlement day in Hong Kong. */
  settles(date: string): boolean {
    return this.areBanksOpen(date) && !this.#inputs.hongKong.isHalfDay(date);
  }
}

/**
 * Returns whether the rule until 2023-04-23 closed the link for settlement reasons on a day when both markets trade.
 */
function isUnsettled(markets: Markets, direction: Direction, date: string): boolean {
  let day = date;
  if (direction === "northbound") {
    do day = addDay(day); while (!markets.mainlandTrades(day));
    return !markets.areBanksOpen(day);
  }
  for (let counted = 0; counted < 2; counted++) {
    do day = addDay(day); while (!markets.settles(day));
    if (!markets.mainlandTrades(day)) return true;
  }
  return false;
}

/** Returns the days of a range, both ends included, on which both markets trade and the rule closes a direction. */
function unsettledDays(markets: Markets, direction: Direction, from: string, through: string): string[] {
  return [...weekdays(from, through)].filter((date) =>
    markets.hongKongTrades(date) && markets.mainlandTrades(date) && isUnsettled(markets, direction, date)
  );
}

/** Returns the weekdays of ranges such as `"2018-05-22 2018-06-16..2018-06-18"`. */
function weekdaysIn(ranges: string): Set<string> {
  return new Set(
    ranges.split(" ").flatMap((range) => {
      const [from = "", through = from] = range.split("..");
      return [...weekdays(from, through)];
    }),
  );
}

/**
 * Builds the data of Stock Connect. Reports a problem for each day on which the rule and a published list differ, and
 * for each unannounced closure on a day on which Hong Kong trades.
 */
export function makeConnect(
  file: ConnectFile,
  inputs: ConnectInputs,
): { data: ConnectData; problems: string[] } {
  const markets = new Markets(inputs, file.unannounced);
  const lastDay = Temporal.PlainDate.from(file.commonDaysFrom).subtract({ days: 1 }).toString();
  const closed: Record<Direction, string[]> = {
    northbound: unsettledDays(markets, "northbound", file.from, lastDay),
    southbound: unsettledDays(markets, "southbound", file.from, lastDay),
  };
  const problems = listDays(file.unannounced).filter((date) => markets.hongKongTrades(date))
    .map((date) => `CONNECT: ${date} is listed as closed by weather, but Hong Kong trades`);
  for (const { direction, what, from, through, closed: ranges, source } of file.notices) {
    const published = weekdaysIn(ranges);
    for (const date of weekdays(from, through)) {
      const isOpen = markets.hongKongTrades(date) && markets.mainlandTrades(date) &&
        !closed[direction].includes(date);
      const wasOpen = markets.mainlandTrades(date) && !published.has(date);
      if (isOpen === wasOpen) continue;
      const says = isOpen ? "open by the rule but closed" : "closed by the rule but open";
      problems.push(`CONNECT ${direction}: ${date} is ${says} in "${what}" (${source})`);
    }
  }
  for (const { direction, what, days, source } of file.added) {
    for (const [year, list] of Object.entries(days)) {
      const from = [`${year}-01-01`, file.commonDaysFrom].sort()[1]!; // the list has two entries
      const found = unsettledDays(markets, direction, from, `${year}-12-31`);
      const published = listDays({ [year]: list });
      for (const date of new Set(found).symmetricDifference(new Set(published))) {
        problems.push(`CONNECT ${direction}: ${date} differs from "${what}" (${source})`);
      }
    }
  }
  return {
    problems,
    data: {
      mic: "CONNECT",
      version: inputs.version,
      from: file.from,
      commonDaysFrom: file.commonDaysFrom,
      northbound: groupDays(closed.northbound),
      southbound: groupDays(closed.southbound),
      sources: [
        ...new Set([...file.sources, ...[...file.notices, ...file.added].map(({ source }) => source)]),
      ],
    },
  };
}
