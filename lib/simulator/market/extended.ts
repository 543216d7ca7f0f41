/**
 * Generates the prices of the sessions outside the regular hours.
 *
 * No prices of these sessions are stored, so they follow from the prices of the regular hours. The prices of the
 * after-hours session begin at the close. The prices of the pre-market session end at the next open. Between these two
 * sessions there is one price, which the seed decides. The prices of a future's night session lead from the close of
 * its day session to its next open. So if a script sets another opening price for a day, the prices of the sessions
 * before that day change too. Volumes are a small part of the day's volume.
 *
 * @module
 */
import type { Calendars, ExtendedSession } from "../../calendars/mod.ts";
import { randomFrom } from "../../time.ts";
import { type Asset, referenceClose, unhaltedBar } from "./asset.ts";
import type { UnitBar } from "./packing.ts";
import { LEAST_PER_MINUTE, makePath } from "./path.ts";
import { bell, hashText, mix } from "./random.ts";
import { timelineOf } from "./timeline.ts";

/** Smallest and largest fraction of the day's volume that a session trades. */
const PART_OF_DAY: Record<ExtendedSession, [number, number]> = {
  "pre-market": [0.004, 0.015],
  "after-hours": [0.008, 0.03],
  "night": [0.08, 0.25],
};

/** How far a session typically goes beyond its first and last price, as a fraction of the day's range. */
const REACH = 0.25;

/** Largest difference of the prices of a night session from the close of the day session, in percent. */
export const NIGHT_PERCENT = 5;

/** Returns the sessions outside the regular hours in which an asset trades. */
export function extendedSessions(asset: Asset): readonly ExtendedSession[] {
  const { market, kind } = asset.describe(asset.timeline.day(0).date);
  if (kind === "future") return ["night"];
  return market === "us" && kind !== "option" ? ["pre-market", "after-hours"] : [];
}

/** Options of {@linkcode extendedAsset}. */
interface ExtendedOptions {
  session: ExtendedSession;
  calendars: Calendars;
  seed: number;
}

/** Returns the prices of an asset in a session outside the regular hours, in the form of an asset. */
export function extendedAsset(asset: Asset, { session, calendars, seed }: ExtendedOptions): Asset {
  const timeline = timelineOf(calendars, session);
  const { future } = asset.describe(asset.timeline.day(0).date);
  // The contracts of an index have the same random numbers, so they move together.
  const name = `${session} ${future?.index ?? asset.symbol}`;
  const streamOf = (purpose: string, date: string) =>
    randomFrom(mix(seed, hashText(`${purpose} ${name} ${date}`)));
  /** Returns the index of the regular day of a session. */
  const dayOf = (index: number) => {
    const { date } = timeline.day(index);
    return asset.timeline.on(date)?.index ?? asset.timeline.indexOn(date);
  };
  /**
   * Returns the price between a close and the next open. The price is not adjusted for a split or dividend on the day
   * of that open.
   */
  const between = (day: number) => {
    const { close, high, low } = asset.bar(day);
    if (day + 1 >= asset.timeline.days.length) return close;
    const next = randomFrom(mix(seed, hashText(`between ${asset.symbol}`), day));
    const move = Math.log(unhaltedBar(asset, day + 1).open / referenceClose(asset, day + 1));
    return close * Math.exp((0.2 + 0.6 * next()) * move + 0.05 * bell(next) * (high - low) / close);
  };
  const ends = (day: number): [number, number] => {
    const { close } = asset.bar(day);
    const { open } = unhaltedBar(asset, day);
    if (session === "after-hours") return [close, between(day)];
    if (session === "pre-market") {
      const from = day === 0
        ? open
        : between(day - 1) * referenceClose(asset, day) / asset.bar(day - 1).close;
      return [from, open];
    }
    return [close, unhaltedBar(asset, Math.min(day + 1, asset.lastIndex)).open];
  };
  const bar = (index: number): UnitBar => {
    const { date, minutes } = timeline.day(index);
    const day = dayOf(index);
    const grid = asset.grid(date);
    const regular = asset.bar(day);
    const next = streamOf("bar", date);
    const [least, most] = PART_OF_DAY[session];
    const room = session === "night" ? NIGHT_PERCENT / 100 : Infinity;
    const tick = grid.tick(regular.close);
    const [bottom, top] = [
      Math.ceil(regular.close * (1 - room) / tick) * tick,
      Math.floor(regular.close * (1 + room) / tick) * tick,
    ];
    const within = (price: number) => Math.min(top, Math.max(bottom, grid.snap(price)));
    const [open, close] = ends(day).map(within) as [number, number]; // `ends` returns two prices
    const range = REACH * (regular.high - regular.low);
    const [up, down] = [range * Math.abs(bell(next)), range * Math.abs(bell(next))];
    const volume = Math.round(regular.volume * (least + (most - least) * next()));
    return {
      open,
      high: Math.max(open, close, within(Math.max(open, close) + up)),
      low: Math.min(open, close, within(Math.min(open, close) - down)),
      close,
      volume: Math.max(LEAST_PER_MINUTE * minutes, volume),
    };
  };
  return {
    ...asset,
    symbol: `${asset.symbol} ${session}`,
    session,
    timeline,
    // The last regular day of a future has no night session.
    lastIndex: asset.lastIndex === Infinity
      ? Infinity
      : timeline.indexOn(asset.timeline.days[asset.lastIndex - 1]?.date ?? ""),
    bar,
    reference: (index) =>
      session === "pre-market" ? referenceClose(asset, dayOf(index)) : asset.bar(dayOf(index)).close,
    path: (index) => {
      const day = timeline.day(index);
      const key = mix(seed, hashText(`path ${name}`), index);
      const path = makePath(day, bar(index), asset.grid(day.date), { key });
      const { isHalted } = asset;
      if (isHalted === undefined) return path;
      return { ...path, ticks: (minute) => path.ticks(minute).filter(({ at }) => !isHalted(at)) };
    },
  };
}
