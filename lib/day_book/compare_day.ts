/**
 * Compares a new reading of a day with the readings of it that are there already.
 *
 * @module
 */
import type { DifferenceFile } from "./differences.ts";
import type { KeptDay } from "./kept_day.ts";
import { type ListReading, lostFromAll } from "./losses.ts";
import type { Part } from "./part.ts";
import type { DayBookMarket } from "./types.ts";

/** A new reading. */
export interface NewReading {
  parts: readonly Part[];
  /** The other lists of some parts. */
  others: readonly Part[];
  /** Markets whose journal ties to the fills. */
  tied: ReadonlySet<DayBookMarket>;
  /** Markets whose day the broker has cleared. */
  cleared: ReadonlySet<DayBookMarket>;
}

const NEW = "the new reading";

/** Names everything that an earlier reading has and the new one lacks; returns whether that is nothing. */
export function coversKept(
  { parts, others, tied }: NewReading,
  kept: KeptDay,
  differences: DifferenceFile,
): boolean {
  const before = differences.count;
  const { day } = kept.summary;
  const now = [...parts, ...others].map((part) => part.reading(NEW, false)); // only what was there may change
  for (const reading of kept.readings()) {
    const { market, list } = reading;
    const same = now.filter(isSameList(reading));
    if (same.length === 0) {
      const [first] = reading.rows();
      if (first === undefined) continue;
      const rows = kept.summary.markets[market]?.lists[list]?.rows ?? 0;
      const message = `${kept.name} has ${rows} rows, and the list was not read for the new reading`;
      differences.add({
        day,
        market,
        list,
        check: "rows",
        expected: `${rows} rows`,
        actual: "not read",
        message,
      });
      continue;
    }
    const options = { isOneReading: false, isTied: tied.has(market) };
    for (const loss of lostFromAll(reading, same, options)) {
      differences.add({ day, market, list, check: "rows", ...loss });
    }
  }
  return differences.count === before;
}

/** Names everything that the new reading has and an earlier one lacks; returns whether that is nothing. */
export function isCoveredBy(
  kept: KeptDay,
  { parts, others, cleared }: NewReading,
  differences: DifferenceFile,
): boolean {
  const before = differences.count;
  const readings = kept.readings();
  for (const part of [...parts, ...others]) {
    const { day, market, spec: { list } } = part;
    const now = part.reading(NEW, cleared.has(market));
    const same = readings.filter(isSameList(now));
    const nothing = { ...now, name: kept.name, rows: () => [] };
    const all = same.length === 0 ? [nothing] : same;
    for (const loss of lostFromAll(now, all, { isOneReading: false, isTied: true })) {
      differences.add({ day, market, list, check: "rows", ...loss });
    }
  }
  return differences.count === before;
}

/** Returns whether a day has everything that a reading beside it has. */
export function hasAllOf(day: KeptDay, beside: KeptDay): boolean {
  const now = day.readings();
  const options = { isOneReading: false, isTied: false };
  return [day, beside].every(({ damaged }) => damaged.length === 0) &&
    beside.readings().every((reading) => {
      const same = now.filter(isSameList(reading));
      const lost = same.length === 0 ? reading.rows() : lostFromAll(reading, same, options);
      for (const _ of lost) return false;
      return true;
    });
}

function isSameList({ market, list }: ListReading): (other: ListReading) => boolean {
  return (other) => other.market === market && other.list === list;
}
