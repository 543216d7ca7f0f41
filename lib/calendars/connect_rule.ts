/**
 * Works out the days that settlement closed on Stock Connect until April 2023, and compares them with what was
 * published. Used by the build task alone; what it finds is held in `data/CONNECT.json`.
 *
 * @module
 */
import type { Book } from "./book.ts";
import { type ConnectData, type DaysByYear, groupDays, spellDays } from "./records.ts";

/** One of the two directions. */
export type Direction = "northbound" | "southbound";

/** The hand-written file `connect.json`. */
export interface ConnectFile {
  from: string;
  /** First day from which the links are open whenever both markets are. */
  commonDaysFrom: string;
  /** The rule in words. */
  rule: Record<Direction | "since", string>;
  /** Hong Kong closures by weather: nobody knew of them on the days before. */
  unannounced: DaysByYear;
  /** Pages that give the rule. */
  sources: string[];
  /** Lists of closed days that were published, `"2018-05-22 2018-06-16..2018-06-18"`; other mainland days were open. */
  notices: {
    direction: Direction;
    what: string;
    from: string;
    through: string;
    closed: string;
    source: string;
  }[];
  /** Days that the rule of before would have closed, and the change opened, of whole years. */
  added: { direction: Direction; what: string; days: DaysByYear; source: string }[];
}

/** What the rule works on. */
export interface ConnectInputs {
  hongKong: Book;
  mainland: Book;
  version: string;
}

const addDay = (date: string): string => Temporal.PlainDate.from(date).add({ days: 1 }).toString();
const isWeekday = (date: string): boolean => Temporal.PlainDate.from(date).dayOfWeek <= 5;

function* weekdays(from: string, through: string): Generator<string> {
  for (let date = from; date <= through; date = addDay(date)) if (isWeekday(date)) yield date;
}

/** The days of both markets as they were known beforehand. */
class Markets {
  readonly #inputs: ConnectInputs;
  readonly #unannounced: ReadonlySet<string>;

  constructor(inputs: ConnectInputs, unannounced: DaysByYear) {
    this.#inputs = inputs;
    this.#unannounced = new Set(spellDays(unannounced));
  }

  hongKongTrades(date: string): boolean {
    return isWeekday(date) && this.#inputs.hongKong.hoursOn(date) !== undefined;
  }

  mainlandTrades(date: string): boolean {
    return isWeekday(date) && this.#inputs.mainland.hoursOn(date) !== undefined;
  }

  /** Hong Kong's banks were to be open. */
  hasBanks(date: string): boolean {
    return this.hongKongTrades(date) || this.#unannounced.has(date);
  }

  /** Hong Kong was to settle. */
  settles(date: string): boolean {
    return this.hasBanks(date) && !this.#inputs.hongKong.isHalfDay(date);
  }
}

/** Tells whether settlement closed a day on which both markets trade, by the rule that held until 2023-04-23. */
function isUnsettled(markets: Markets, direction: Direction, date: string): boolean {
  let day = date;
  if (direction === "northbound") {
    do day = addDay(day); while (!markets.mainlandTrades(day));
    return !markets.hasBanks(day);
  }
  for (let counted = 0; counted < 2; counted++) {
    do day = addDay(day); while (!markets.settles(day));
    if (!markets.mainlandTrades(day)) return true;
  }
  return false;
}

/** Days from one to another, both included, on which both trade and that rule closes a direction. */
function unsettledDays(markets: Markets, direction: Direction, from: string, through: string): string[] {
  return [...weekdays(from, through)].filter((date) =>
    markets.hongKongTrades(date) && markets.mainlandTrades(date) && isUnsettled(markets, direction, date)
  );
}

/** Spells out `"2018-05-22 2018-06-16..2018-06-18"`, weekends left out. */
function spellRanges(ranges: string): Set<string> {
  return new Set(
    ranges.split(" ").flatMap((range) => {
      const [from = "", through = from] = range.split("..");
      return [...weekdays(from, through)];
    }),
  );
}

/**
 * Makes the data of Stock Connect. What the rule says and a notice does not, or the other way round, is a problem.
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
  const problems = spellDays(file.unannounced).filter((date) => markets.hongKongTrades(date))
    .map((date) => `CONNECT: ${date} stands among the closures by weather, and Hong Kong trades`);
  for (const { direction, what, from, through, closed: ranges, source } of file.notices) {
    const published = spellRanges(ranges);
    for (const date of weekdays(from, through)) {
      const isOpen = markets.hongKongTrades(date) && markets.mainlandTrades(date) &&
        !closed[direction].includes(date);
      const wasOpen = markets.mainlandTrades(date) && !published.has(date);
      if (isOpen === wasOpen) continue;
      const says = isOpen ? "open by the rule and closed" : "closed by the rule and open";
      problems.push(`CONNECT ${direction}: ${date} is ${says} in "${what}" (${source})`);
    }
  }
  for (const { direction, what, days, source } of file.added) {
    for (const [year, list] of Object.entries(days)) {
      const from = [`${year}-01-01`, file.commonDaysFrom].sort()[1]!; // two entries
      const found = unsettledDays(markets, direction, from, `${year}-12-31`);
      const published = spellDays({ [year]: list });
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
