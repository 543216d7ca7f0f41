/**
 * Compares a new reading of a day with the earlier readings, decides which reading becomes the day, and moves the new
 * one into place.
 *
 * - If the new reading contains everything that was read before, it becomes the day. Disputed readings that it also
 *   contains are removed.
 * - If it lacks rows or amounts of the day, the day is kept, and the new reading becomes a disputed one. Every loss is
 *   listed.
 * - If it is only provisional and the day is final, the day is kept. The new reading becomes a disputed one if it has
 *   rows or amounts that the day lacks.
 * - If the day is damaged, the new reading becomes the day only if it equals the original bytes. Otherwise it becomes a
 *   disputed one.
 *
 * @module
 */
import type { BrokerClock } from "../../client/broker_clock.ts";
import type { Evidence } from "../checks/evidence.ts";
import { checksBetween, judgeDay } from "../checks/judge_day.ts";
import { isComplete, type KeptDay } from "./kept_day.ts";
import { type ListReading, lostFromAll } from "../checks/losses.ts";
import { type MarketDay, mayTrade } from "../market_days.ts";
import type { Part } from "../reading/part.ts";
import type { DayReading } from "../reading/read_day.ts";
import type { RebalanceList } from "../reading/rebalance_list.ts";
import type { DifferenceFile } from "../rows/files.ts";
import type { ExportFolder } from "./export_folder.ts";
import { isCleared, isDone, type Settings, type Summary } from "./summary.ts";
import {
  type DayAction,
  DayBookError,
  type DayBookMarket,
  type DayStage,
  type Difference,
} from "../types.ts";
import { type Draft, draftDay, placed, type Standing, writeSummary, type WrittenDay } from "./write_day.ts";

/** A new reading, and the kept ones. */
interface PlaceOptions extends DayReading {
  exportFolder: ExportFolder;
  /** Folder with the files of the parts. */
  folder: string;
  day: string;
  markets: readonly MarketDay[];
  settings: Settings;
  /** Compares the broker's clock with this machine's. */
  clock: BrokerClock;
  /** Why the folder may belong to another account; if set, no day becomes final. */
  unconfirmedOwner: string | undefined;
  contradictions: DifferenceFile;
  before: KeptDay | undefined;
  /** Readings that contradict the day. */
  disputedReadings: readonly KeptDay[];
  evidence: Evidence;
  /** The rebalancing trades of the day; absent without a store. */
  rebalance: RebalanceList | undefined;
  /** Whether texts in CSV are written exactly as they are. */
  exactCsv: boolean;
  hasSecret: (path: string) => boolean;
  onStage: (stage: DayStage) => void;
}

/** Result of the export for one day. */
export interface Placed {
  /** The summary that is now in the day's folder. */
  summary: Summary;
  /** The first differences. */
  differences: readonly Difference[];
  count: number;
  action: DayAction;
}

/** Moves a reading into place. Resolves to `undefined` if there is nothing to keep. */
export async function placeReading(options: PlaceOptions): Promise<Placed | undefined> {
  const { exportFolder, day, markets, parts, before, disputedReadings, contradictions } = options;
  const isEmpty = parts.every(({ tally }) => tally.rows === 0);
  if (before === undefined && disputedReadings.length === 0 && isEmpty && !markets.some(mayTrade)) {
    contradictions.close();
    exportFolder.discard(day);
    return undefined;
  }
  try {
    return await place(options);
  } finally {
    contradictions.close();
  }
}

async function place(options: PlaceOptions): Promise<Placed> {
  const {
    exportFolder,
    folder,
    day,
    markets,
    parts,
    others,
    before,
    disputedReadings,
    contradictions,
    evidence,
    onStage,
  } = options;
  const { rebalance } = options;
  // Must run before `draftDay`, which joins the files of the parts.
  const between = markets.flatMap((market) => checksBetween(market, parts, rebalance));
  const hasFills = (market: DayBookMarket) =>
    parts.some((part) => part.market === market && part.spec.list === "fills" && part.tally.rows > 0);
  const agreeing = between.filter(({ record: { check, result, market } }) =>
    check === "journal" && result === "passed" && hasFills(market)
  );
  const cleared = markets.filter((each) =>
    isCleared(each, parts.filter((part) => part.market === each.market))
  );
  const reading: NewReading = {
    parts,
    others,
    rebalance,
    agreeing: new Set(agreeing.map(({ record }) => record.market)),
    cleared: new Set(cleared.map(({ market }) => market)),
  };
  const dayParts = { ...options, between, confirmEmpty: evidence.confirmEmpty };
  const coversDay = before === undefined || coversKept(reading, before, contradictions);
  // Judge the reading now. Below, `coversKept` compares it with the disputed readings and adds further differences,
  // which would make it provisional.
  const ownJudgement = await judgeDay(dayParts);
  const isKeptBetter = before !== undefined && isComplete(before) && before.isSame &&
    isDone(before.summary) &&
    ownJudgement.status !== "final";
  const addsNothing = isKeptBetter && coversDay && isCoveredBy(before, reading, contradictions);
  // A disputed reading is no longer needed if the day or the new reading contains all of it.
  const covered = disputedReadings.filter((each) =>
    (before !== undefined && hasAllOf(before, each)) ||
    (coversKept(reading, each, contradictions) && each.damaged.length === 0)
  );
  const uncovered = disputedReadings.filter((each) => !covered.includes(each)).map(({ name }) => name);

  contradictions.finish();
  const judgement = await judgeDay(dayParts);
  exportFolder.checkBegun(day);
  const draft = await draftDay(dayParts, judgement, folder);

  const put = (standing: Standing, name: string, old: KeptDay | undefined): WrittenDay => {
    const written = placed(draft, standing);
    if (old !== undefined && isComplete(old) && old.text === written.summaryText) exportFolder.discard(day);
    else {
      exportFolder.checkBegun(day);
      writeSummary(folder, written);
      rejectSecrets(folder, day, options.hasSecret);
      onStage("sealed");
      exportFolder.publish(day, name, onStage);
    }
    return written;
  };
  const asDay: Standing = { standing: "day", contradicts: uncovered };
  const text = placed(draft, asDay).summaryText;
  const isRestored = before !== undefined && before.damaged.length > 0 && before.text === text;
  if (before === undefined || isRestored || (isUndamaged(before) && coversDay && !isKeptBetter)) {
    const written = put(asDay, day, before);
    for (const { name } of covered) exportFolder.drop(name);
    const action = isRestored
      ? "restored"
      : uncovered.length > 0
      ? "disputed"
      : before === undefined
      ? "written"
      : before.text === text
      ? "unchanged"
      : "replaced";
    return result(written, action, before === undefined ? [] : damageOf(before, exportFolder, isRestored));
  }
  if (addsNothing) {
    exportFolder.discard(day);
    for (const { name } of covered) exportFolder.drop(name);
    const { differencesFound: differences, differences: count } = draft;
    const action = uncovered.length > 0 ? "disputed" : "kept-final";
    return { summary: withNewResults(before.summary, draft), differences, count, action };
  }
  const [replaced, ...needless] = covered;
  const name = replaced?.name ?? exportFolder.nextDisputed(day);
  const written = put({ standing: "disputed", contradicts: [day, ...uncovered] }, name, replaced);
  for (const each of needless) exportFolder.drop(each.name);
  const summary = { ...withNewResults(before.summary, draft), differences: draft.differences };
  return result({ ...written, summary }, "disputed", damageOf(before, exportFolder, false));
}

/** Throws if a file of a day contains a secret. The caller removes the folder. */
function rejectSecrets(folder: string, day: string, hasSecret: (path: string) => boolean): void {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  const found = names.filter((name) => hasSecret(`${folder}/${name}`));
  if (found.length === 0) return;
  throw new DayBookError(
    `Cannot export ${day}: ${
      found.join(", ")
    } would contain the value of a secret, so no file of this reading is ` +
      "kept; find out why the broker's data contains it, and change the secret",
    { code: "secret-in-file", day },
  );
}

/** Returns the summary of a kept day with the results of the new reading. */
function withNewResults(kept: Summary, { checks, incomplete }: Draft): Summary {
  return { ...kept, checks, incomplete: [...new Set([...kept.incomplete, ...incomplete])] };
}

/**
 * Returns whether no file of the day is damaged or missing. It may lack files that the current options request and the
 * earlier options did not.
 */
const isUndamaged = ({ damaged }: KeptDay) => damaged.length === 0;

function result(
  { summary, differences }: Pick<WrittenDay, "summary" | "differences">,
  action: DayAction,
  damage: readonly Difference[],
): Placed {
  const count = summary.differences + damage.length;
  return { summary, differences: [...damage, ...differences], count, action };
}

function damageOf(
  { name, damaged, missing, summary }: KeptDay,
  exportFolder: ExportFolder,
  isRestored: boolean,
): Difference[] {
  const { day, files } = summary;
  const folder = exportFolder.path(name);
  const todo = isRestored
    ? "the broker sent the same data again, and the file is restored"
    : `restore it from a backup, or move "${folder}" away and export the day again`;
  return damaged.map((file) => {
    const digest = files[file]?.sha256;
    const expected = digest === undefined ? "a digest in summary.json" : `sha256 ${digest}`;
    const [actual, what] = missing.includes(file)
      ? ["no file", `"${folder}/${file}" ${isRestored ? "was" : "is"} missing`]
      : digest === undefined
      ? ["no digest", `"${folder}/summary.json" has no digest of "${file}"`]
      : ["other bytes", `"${folder}/${file}" was changed after the export wrote it`];
    return { day, check: "files" as const, expected, actual, message: `${what}: ${todo}` };
  });
}

/** A new reading. */
interface NewReading {
  parts: readonly Part[];
  /** The parts that were not chosen: incomplete histories, and lists that contradict the chosen ones. */
  others: readonly Part[];
  rebalance: RebalanceList | undefined;
  /** Markets whose journal agrees with the fills. */
  agreeing: ReadonlySet<DayBookMarket>;
  /** Markets whose day the broker has cleared. */
  cleared: ReadonlySet<DayBookMarket>;
}

const NEW = "the new reading";

/**
 * Adds a difference for everything that a kept reading has and the new reading lacks. Returns whether the new reading
 * lacks nothing.
 */
function coversKept(
  { parts, others, rebalance, agreeing }: NewReading,
  kept: KeptDay,
  differences: DifferenceFile,
): boolean {
  const before = differences.count;
  const { day } = kept.summary;
  const now = [
    // `isCleared` is `false`: the comparison uses it only for the earlier reading, and the new one is later.
    ...[...parts, ...others].map((part) => part.reading(NEW, false)),
    ...rebalance?.readings(NEW) ?? [],
  ];
  for (const reading of kept.readings()) {
    const { market, list } = reading;
    const same = now.filter(isSameList(reading));
    if (same.length === 0) {
      const [first] = reading.rows();
      if (first === undefined) continue;
      const rows = kept.summary.markets[market]?.lists[list]?.rows ?? [...reading.rows()].length;
      const message = `${kept.name} has ${rows} rows, but the new reading did not read the list`;
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
    const options = { isOneReading: false, journalAgrees: agreeing.has(market) };
    for (const loss of lostFromAll(reading, same, options)) {
      differences.add({ day, market, list, check: "rows", ...loss });
    }
  }
  return differences.count === before;
}

/**
 * Adds a difference for everything that the new reading has and a kept reading lacks. Returns whether the kept
 * reading lacks nothing.
 */
function isCoveredBy(
  kept: KeptDay,
  { parts, others: unchosen, rebalance, cleared }: NewReading,
  differences: DifferenceFile,
): boolean {
  const before = differences.count;
  const readings = kept.readings();
  const { day } = kept.summary;
  const all = [
    ...[...parts, ...unchosen].map((part) => part.reading(NEW, cleared.has(part.market))),
    ...rebalance?.readings(NEW) ?? [],
  ];
  for (const now of all) {
    const { market, list } = now;
    const same = readings.filter(isSameList(now));
    const nothing = { ...now, name: kept.name, rows: () => [] };
    const others = same.length === 0 ? [nothing] : same;
    for (const loss of lostFromAll(now, others, { isOneReading: false, journalAgrees: true })) {
      differences.add({ day, market, list, check: "rows", ...loss });
    }
  }
  return differences.count === before;
}

/** Returns whether a day has everything that a disputed reading of the day has. */
function hasAllOf(day: KeptDay, disputedReading: KeptDay): boolean {
  const now = day.readings();
  const options = { isOneReading: false, journalAgrees: false };
  return [day, disputedReading].every(({ damaged }) => damaged.length === 0) &&
    disputedReading.readings().every((reading) => {
      const same = now.filter(isSameList(reading));
      const lost = same.length === 0 ? reading.rows() : lostFromAll(reading, same, options);
      for (const _ of lost) return false;
      return true;
    });
}

function isSameList({ market, list }: ListReading): (other: ListReading) => boolean {
  return (other) => other.market === market && other.list === list;
}
