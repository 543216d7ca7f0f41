/**
 * Decides what becomes of a new reading of a day, and puts it into its place.
 *
 * | The new reading | What happens |
 * |---|---|
 * | has everything that was read before | it becomes the day; readings beside it that it covers too are removed |
 * | lacks rows or amounts of the day | the day stays, the reading goes beside it, and what is missing is named |
 * | is only provisional, and the day is final | the day stays; the reading goes beside it when it has more rows |
 * | brings back the bytes of a damaged day | it becomes the day |
 *
 * @module
 */
import type { BrokerClock } from "../client/broker_clock.ts";
import { coversKept, hasAllOf, isCoveredBy, type NewReading } from "./compare_day.ts";
import type { DifferenceFile } from "./differences.ts";
import type { Evidence } from "./evidence.ts";
import { checksBetween, judgeDay } from "./judge_day.ts";
import { isWhole, type KeptDay } from "./kept_day.ts";
import { type MarketDay, mayTrade } from "./market_days.ts";
import type { DayReading } from "./read_day.ts";
import type { Shelf } from "./shelf.ts";
import { isCleared, isSettled, type Settings, type Summary } from "./summary.ts";
import type { DayAction, DayBookMarket, DayStage, Difference } from "./types.ts";
import { type Draft, draftDay, placed, type Standing, writeSummary, type WrittenDay } from "./write_day.ts";

/** A new reading, and what is there already. */
export interface PlaceOptions extends DayReading {
  shelf: Shelf;
  /** Folder with the parts. */
  folder: string;
  day: string;
  markets: readonly MarketDay[];
  settings: Settings;
  /** What told the broker's time. */
  clock: BrokerClock;
  /** Why the account may not be the folder's; no day becomes final then. */
  doubt: string | undefined;
  contradictions: DifferenceFile;
  before: KeptDay | undefined;
  /** Readings that contradict the day. */
  beside: readonly KeptDay[];
  evidence: Evidence;
  onStage: (stage: DayStage) => void;
}

/** What became of a day. */
export interface Placed {
  /** Summary of the day that is in its place now. */
  summary: Summary;
  /** The first differences, and how many there are. */
  differences: readonly Difference[];
  count: number;
  action: DayAction;
}

/** Puts a reading into its place; `undefined` when there is nothing to keep. */
export async function placeReading(options: PlaceOptions): Promise<Placed | undefined> {
  const { shelf, day, markets, parts, before, beside, contradictions } = options;
  const isEmpty = parts.every(({ tally }) => tally.rows === 0);
  if (before === undefined && beside.length === 0 && isEmpty && !markets.some(mayTrade)) {
    contradictions.close();
    shelf.discard(day);
    return undefined;
  }
  try {
    return await place(options);
  } finally {
    contradictions.close();
  }
}

async function place(options: PlaceOptions): Promise<Placed> {
  const { shelf, folder, day, markets, parts, others, before, beside, contradictions, evidence, onStage } =
    options;
  const between = markets.flatMap((market) => checksBetween(market, parts)); // reads the parts
  const hasFills = (market: DayBookMarket) =>
    parts.some((part) => part.market === market && part.spec.list === "fills" && part.tally.rows > 0);
  const tied = between.filter(({ record: { check, result, market } }) =>
    check === "journal" && result === "passed" && hasFills(market)
  );
  const cleared = markets.filter((each) =>
    isCleared(each, parts.filter((part) => part.market === each.market))
  );
  const reading: NewReading = {
    parts,
    others,
    tied: new Set(tied.map(({ record }) => record.market)),
    cleared: new Set(cleared.map(({ market }) => market)),
  };
  const dayParts = { ...options, between, whyEmpty: evidence.whyEmpty };
  const coversDay = before === undefined || coversKept(reading, before, contradictions);
  // What the reading is by itself; readings beside the day only keep it from being final.
  const alone = await judgeDay(dayParts);
  const isBetter = before !== undefined && isWhole(before) && before.isSame && isSettled(before.summary) &&
    alone.status !== "final";
  const addsNothing = isBetter && coversDay && isCoveredBy(before, reading, contradictions);
  // What a reading beside the day shows is nothing new when the day has it: the new reading takes its place.
  const covered = beside.filter((each) =>
    (before !== undefined && hasAllOf(before, each)) ||
    (coversKept(reading, each, contradictions) && each.damaged.length === 0)
  );
  const rivals = beside.filter((each) => !covered.includes(each)).map(({ name }) => name);

  contradictions.finish();
  const draft = await draftDay(dayParts, await judgeDay(dayParts), folder);

  const put = (standing: Standing, name: string, old: KeptDay | undefined): WrittenDay => {
    const written = placed(draft, standing);
    if (old !== undefined && isWhole(old) && old.text === written.summaryText) shelf.discard(day);
    else {
      writeSummary(folder, written);
      onStage("sealed");
      shelf.publish(day, name, onStage);
    }
    return written;
  };
  const asDay: Standing = { standing: "day", contradicts: rivals };
  const text = placed(draft, asDay).summaryText;
  const isRestored = before !== undefined && before.damaged.length > 0 && before.text === text;
  if (before === undefined || isRestored || (isWholeOrWider(before) && coversDay && !isBetter)) {
    const written = put(asDay, day, before);
    for (const { name } of covered) shelf.drop(name);
    const action = isRestored
      ? "restored"
      : rivals.length > 0
      ? "disputed"
      : before === undefined
      ? "written"
      : before.text === text
      ? "unchanged"
      : "replaced";
    return result(written, action, before === undefined ? [] : damageOf(before, shelf, isRestored));
  }
  if (addsNothing) {
    shelf.discard(day);
    for (const { name } of covered) shelf.drop(name);
    const { differencesFound: differences, differences: count } = draft;
    const action = rivals.length > 0 ? "disputed" : "kept-final";
    return { summary: seenNow(before.summary, draft), differences, count, action };
  }
  const [replaced, ...needless] = covered;
  const name = replaced?.name ?? shelf.nextBeside(day);
  const written = put({ standing: "disputed", contradicts: [day, ...rivals] }, name, replaced);
  for (const each of needless) shelf.drop(each.name);
  const summary = { ...seenNow(before.summary, draft), differences: draft.differences };
  return result({ ...written, summary }, "disputed", damageOf(before, shelf, false));
}

/** A day that stays, with what was found when it was read again. */
function seenNow(kept: Summary, { checks, incomplete }: Draft): Summary {
  return { ...kept, checks, incomplete: [...new Set([...kept.incomplete, ...incomplete])] };
}

/** Its files are as they were written; it may lack files that are wanted now. */
const isWholeOrWider = ({ damaged }: KeptDay) => damaged.length === 0;

function result(
  { summary, differences }: Pick<WrittenDay, "summary" | "differences">,
  action: DayAction,
  damage: readonly Difference[],
): Placed {
  const count = summary.differences + damage.length;
  return { summary, differences: [...damage, ...differences], count, action };
}

function damageOf({ name, damaged, summary }: KeptDay, shelf: Shelf, isRestored: boolean): Difference[] {
  const { day, files } = summary;
  return damaged.map((file) => {
    const path = `${shelf.path(name)}/${file}`;
    const what = `"${path}" is not as the export wrote it`;
    const todo = isRestored
      ? "the broker's answers have brought back the same bytes"
      : `restore it from a backup, or move "${shelf.path(name)}" away and export the day again`;
    const expected = `sha256 ${files[file]?.sha256}`;
    return { day, check: "files" as const, expected, actual: "other bytes", message: `${what}: ${todo}` };
  });
}
