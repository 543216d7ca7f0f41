/**
 * The hand-written lines of `rulings.json`, which settle what two records of trading days differ in.
 *
 * @module
 */
import { areHours, isDate } from "./check_data.ts";
import { type DaysByYear, spellDays } from "./records.ts";

interface Cited {
  mic: string;
  because: string;
  /** Addresses of the pages that say so. */
  sources: string[];
}

/** One source knows no half-days; the named one is believed where it keeps to the exchange's rule. */
export interface HalfDaysRuling extends Cited {
  kind: "half-days";
  takeFrom: string;
  /** Hours of such a day. */
  hours: string;
  /** Days of every year, `"12-24 12-31"`. */
  everyYear: string;
  /** Days that fall differently each year, one at least for each; those at weekends shorten nothing. */
  eves: DaysByYear;
}

/** A line of the file. */
export type Ruling =
  | HalfDaysRuling
  | (
    & Cited
    & (
      /** The day had no trading, or (`open`) an ordinary one. */
      | { kind: "closed" | "open"; date: string }
      /** The records begin later, as all weekdays from here to their first day were closed. */
      | { kind: "closed-since"; from: string }
      /** The day was cut short without notice. */
      | { kind: "hours"; date: string; hours: string }
      /** A half-day beside the exchange's rule, which the source that is believed has. */
      | { kind: "half-day"; date: string }
      /** One source ends early; the named one is believed for these days. */
      | { kind: "single-source"; from: string; through: string; takeFrom: string; projected?: boolean }
    )
  );

/** The hand-written file. */
export interface RulingFile {
  version: string;
  rulings: Ruling[];
}

/** Names a ruling in a report. */
export const nameOf = (ruling: Ruling): string =>
  `the ruling "${ruling.kind}${"date" in ruling ? ` ${ruling.date}` : ""}"`;

/** Says what no ruling may hold: days and hours that cannot be. */
export function rulingFaults(rulings: readonly Ruling[]): string[] {
  return rulings.flatMap((ruling) => {
    const say = (what: string) => `rulings.json: ${ruling.mic}: ${nameOf(ruling)} ${what}`;
    const faults: string[] = [];
    const given: Record<string, unknown> = { ...ruling };
    const days = ["date", "from", "through"].filter((key) => key in given).map((key) => given[key]);
    // 2024 has every day that a year can have.
    if (ruling.kind === "half-days") {
      days.push(...spellDays(ruling.eves), ...spellDays({ "2024": ruling.everyYear }));
    }
    for (const day of new Set(days)) if (!isDate(day)) faults.push(say(`has "${day}", which is no day`));
    if ("hours" in ruling && !areHours(ruling.hours)) {
      faults.push(
        say(`has the hours "${ruling.hours}": expected such as "13:00-16:00", each after the one before`),
      );
    }
    return faults;
  });
}

/** Says which rulings lack their reason, or the page that says so. */
export function uncited(rulings: readonly Ruling[]): string[] {
  return rulings.flatMap((ruling) => {
    const what = `${ruling.mic}: ${nameOf(ruling)}`;
    if (ruling.because.trim() === "") return [`${what} gives no reason`];
    // Nobody has published what is projected.
    const needsPage = !(ruling.kind === "single-source" && ruling.projected);
    return needsPage && !ruling.sources.some((page) => page.startsWith("https://"))
      ? [`${what} cites no page`]
      : [];
  });
}
