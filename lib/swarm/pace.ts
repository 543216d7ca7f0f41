/**
 * Draws from a seed how much happens in a world, and when.
 *
 * Most worlds are short: the trader trades, and the faults strike, only in a part of each day. As a result, each order
 * meets many faults, and such a day has far fewer events than a full day. In the other worlds, the trader trades all
 * day.
 *
 * @module
 */
import type { Decimal } from "../decimal.ts";
import { randomFrom } from "../time.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A period, Unix milliseconds. */
export interface Period {
  from: number;
  to: number;
}

/** How much happens in a world, and when. */
export interface Pace {
  isShort: boolean;
  /**
   * For each session: the periods in which the programs run, until the faults of the day end. Between these periods
   * their computers are suspended, because most of their events would change nothing.
   */
  awake: readonly (readonly Period[])[];
  /** When the trader trades; one period for each session. */
  trading: readonly Period[];
  /**
   * Whether the trader cancels its open orders after each period. As long as orders are open, the desk reads the lists.
   */
  cancelsAtEnd: boolean;
  /** Longest time between two actions of the trader, milliseconds. */
  actMs: number;
  /** Longest interval at which the trader itself asks its desk to compare open intents with the lists, milliseconds. */
  readMs: number;
  /** Interval at which the trader's desk compares open intents with the broker's lists. */
  reconcileMs: number;
  /** While orders are open, interval at which the broker sends pushes of what has happened. */
  roundMs: number;
  /** The symbols that the trader trades. */
  symbols: readonly string[];
  /** The largest distance of the trader's prices from the last price, as a fraction. */
  distance: number;
  /** Largest value of the trader's orders, HKD. An order of up to three lots may be larger. */
  orderValue: number;
  /** Limit of the value of an order. */
  orderCap: Decimal;
  /** Limit of the value of a day's orders, which some days reach. */
  dayCap: Decimal;
  /** When faults may strike. */
  faults: readonly (Period & {
    /** Number of faults in the period, as a fraction of the usual number of a full day. */
    weight: number;
  })[];
}

/** A session of the exchange, Unix milliseconds. */
export interface Session {
  openAt: number;
  closeAt: number;
}

/** No fault strikes in this time before the close. So the world is quiet for a while before the market closes. */
export const QUIET_MS = 35 * MINUTE;

/** The symbols of most worlds. */
export const SYMBOLS: readonly string[] = ["00700.HK", "09988.HK", "00005.HK", "01810.HK"];
/** Symbols with so few trades that a large order waits for a while between its fills. */
const QUIET_SYMBOLS: readonly string[] = ["09999.HK", "00388.HK", "00001.HK"];

/** Fraction of the worlds that are short. */
const SHORT = 0.98;
/**
 * In this fraction of the short worlds, the trader places large orders that stay open. The broker fills them in parts,
 * and some expire in the evening.
 */
const LARGE = 0.15;
/** The recipe that buys has its window in this part of the day, minutes from the open. */
const EARLY = [27, 34] as const;
/**
 * In a short world, the programs begin to run this long before each period in which they trade, and run this long after
 * it.
 */
const [EARLIER_MS, LATER_MS] = [2 * MINUTE, 15 * MINUTE];

/**
 * Intervals at which the trader's desk compares open intents with the broker's lists; a seed draws one. With the
 * shortest interval, the simulation of a day takes several times as long.
 */
const fullReadings = [3 * MINUTE, 10 * MINUTE, 20 * MINUTE, 30 * MINUTE];
const shortReadings = [5 * MINUTE, 20 * MINUTE, 30 * MINUTE, 60 * MINUTE];
/** Intervals between two rounds of pushes of the broker. */
const fullRounds = [MINUTE / 2, MINUTE, 3 * MINUTE, 5 * MINUTE];
const shortRounds = [MINUTE / 2, 3 * MINUTE, 10 * MINUTE, 20 * MINUTE];

/** Draws whether a world is short. */
export const isShortWorld = (seed: number): boolean => randomFrom(seed * 7 + 5)() < SHORT;

/** Draws how much happens in a world. */
export function drawPace(
  seed: number,
  sessions: readonly Session[],
  { isShort, schedulers, windows }: {
    isShort: boolean;
    /** Number of schedulers. */
    schedulers: number;
    /** When recipes that rebalance may write. */
    windows: readonly Period[];
  },
): Pace {
  const random = randomFrom(seed * 7 + 3);
  const one = (times: readonly number[]) => times[Math.floor(random() * times.length)]!; // less than the length
  if (!isShort) {
    return {
      isShort,
      awake: sessions.map(({ openAt, closeAt }) => [{ from: openAt - 40 * MINUTE, to: closeAt - QUIET_MS }]),
      cancelsAtEnd: false,
      trading: sessions.map(({ openAt, closeAt }) => ({
        from: openAt - 10 * MINUTE,
        to: closeAt + 10 * MINUTE,
      })),
      actMs: 15 * MINUTE,
      readMs: 75 * MINUTE,
      reconcileMs: one(fullReadings),
      roundMs: one(fullRounds),
      symbols: SYMBOLS,
      distance: 0.01,
      orderValue: 0,
      orderCap: "120000",
      dayCap: "700000",
      faults: sessions.map(({ openAt, closeAt }) => ({
        from: openAt - 5 * MINUTE,
        to: closeAt - QUIET_MS,
        weight: 1,
      })),
    };
  }
  const weight = 0.05 + 0.3 * random();
  const isLarge = randomFrom(seed * 7 + 8)() < LARGE;
  const trading = sessions.map(({ openAt, closeAt }) => {
    const length = (10 + 40 * random()) * MINUTE;
    // Half of the periods are around the recipe that buys, so that this recipe and the trader trade at the same time.
    const from = random() < 0.5
      ? openAt + (EARLY[0] - 20 + 15 * random()) * MINUTE
      : openAt - 10 * MINUTE + random() * (closeAt - QUIET_MS - length - openAt);
    return { from: Math.floor(from), to: Math.floor(from + length) };
  });
  const early = schedulers === 0 ? [] : sessions.map(({ openAt }) => ({
    from: openAt + EARLY[0] * MINUTE,
    to: openAt + EARLY[1] * MINUTE,
  }));
  const busy = [...trading, ...early, ...windows];
  return {
    isShort,
    awake: sessions.map(({ openAt, closeAt }) =>
      joined(
        busy.filter(({ from }) => openAt - HOUR < from && from < closeAt).map(({ from, to }) => ({
          from: from - EARLIER_MS,
          to: Math.min(to + LATER_MS, closeAt - QUIET_MS),
        })),
      )
    ),
    cancelsAtEnd: !isLarge && random() < 0.8,
    trading,
    actMs: 12 * MINUTE,
    readMs: 10 * HOUR,
    reconcileMs: one(shortReadings),
    roundMs: isLarge ? MINUTE / 4 : one(shortRounds),
    symbols: isLarge ? QUIET_SYMBOLS : SYMBOLS,
    distance: isLarge ? 0.03 : 0.01,
    orderValue: isLarge ? 500_000 : 0,
    orderCap: isLarge ? "600000" : "120000",
    dayCap: isLarge ? "2500000" : windows.length > 0 ? "700000" : "250000", // a rebalancing plan needs more
    faults: [
      ...trading.map(({ from, to }, index) => ({
        from: from - 2 * MINUTE,
        to: Math.min(to + 10 * MINUTE, sessions[index]!.closeAt - QUIET_MS), // a period for each session
        weight,
      })),
      ...[...early, ...windows].map((period) => ({ ...period, weight: weight / 4 })),
    ],
  };
}

/** Joins periods that overlap. */
function joined(periods: readonly Period[]): Period[] {
  const all: Period[] = [];
  for (const { from, to } of periods.toSorted((one, other) => one.from - other.from)) {
    const last = all.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else all.push({ from, to });
  }
  return all;
}
