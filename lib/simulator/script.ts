/**
 * Reads and checks the script of a simulator: price moves, gaps, halts, dividends, splits and outages at chosen times.
 *
 * A script is a list of entries in YAML or JSON. Its times are on the simulator's clock, in the local time of the
 * entry's exchange; the times of an outage are in Hong Kong time. The same seed, script, clock and orders give the same
 * answers.
 *
 * @module
 */
import { parse } from "../std/yaml.ts";
import * as z from "zod";
import { builtInCalendars, type Calendars } from "../calendars/mod.ts";
import type { CorporateAction } from "../facts/corporate_actions.ts";
import { futureContract } from "../facts/contracts.ts";
import { listing } from "../facts/listings.ts";
import { toUnits } from "./market/packing.ts";
import { type Halt, type MarketPlan, MOST_PRICE, type Move } from "./market/scripted.ts";
import {
  futureTimeline,
  minuteAt,
  type Timeline,
  type TimelineName,
  timelineOf,
  type TradingDay,
} from "./market/timeline.ts";
import { isDate, readInstant } from "../time.ts";

const MINUTE_MS = 60_000;

/** Markets that a halt can stop as a whole, each with the timeline that has its trading days. */
const marketDays = {
  hk: "XHKG",
  us: "XNYS",
  shanghai: "XSHG",
  shenzhen: "XSHG",
  futures: "HKFUT",
} as const satisfies Record<ScriptMarket, TimelineName>;

/** A market of the simulator, for a halt of the whole market. */
export type ScriptMarket = "hk" | "us" | "shanghai" | "shenzhen" | "futures";

const timeExpected = 'a local time of the exchange, such as "2025-08-18 10:30"';
const dayExpected = 'a trading day, such as "2025-08-18"';
const spanExpected = 'a span of time, such as "45m", "1h30m" or "2d"';
const priceExpected = `a price above zero and at most ${MOST_PRICE} as text, such as "512.50"`;

const time = z.string(timeExpected)
  .regex(/^\d{4}-\d{2}-\d{2}[ T]([01]\d|2[0-3]):[0-5]\d$/, timeExpected);
const day = z.string(dayExpected).regex(/^\d{4}-\d{2}-\d{2}$/, dayExpected);
const span = z.string(spanExpected).regex(/^(?=\d)(\d{1,3}d)?(\d{1,4}h)?(\d{1,5}m)?$/, spanExpected);
// A price in a script may be written as a number: YAML reads 550 as one.
const price = z.union([z.string(), z.number()], priceExpected).transform(String)
  .refine(
    (given) => /^(?=.*[1-9])\d{1,6}(\.\d{1,4})?$/.test(given) && Number(given) <= MOST_PRICE,
    priceExpected,
  );
const percentExpected = 'a percentage, such as "-8%" or "12.5%"';
const percent = z.string(percentExpected).regex(/^[+-]?\d{1,3}(\.\d{1,2})?%$/, percentExpected);
const symbol = z.string("a listing or an index future, such as 00700.HK, AAPL or MHI2509.HK")
  .refine(
    (given) => listing(given) !== undefined || futureContract(given) !== undefined,
    "a listing or an index future of the simulator, such as 00700.HK, AAPL or MHI2509.HK",
  );
const stock = z.string("a listing, such as 00700.HK or AAPL")
  .refine((given) => listing(given) !== undefined, "a listing of the simulator, such as 00700.HK or AAPL");
const cashExpected = 'an amount above zero as text, such as "0.25"';
const cash = z.union([z.string(), z.number()], cashExpected).transform(String)
  .refine((given) => /^(?=.*[1-9])\d{1,6}(\.\d{1,8})?$/.test(given), cashExpected);
const ratioExpected = 'new shares for old shares, such as "3:1" or "1:10"';
const ratio = z.string(ratioExpected).regex(/^[1-9]\d{0,3}:[1-9]\d{0,3}$/, ratioExpected);
const market = z.enum(Object.keys(marketDays) as [ScriptMarket, ...ScriptMarket[]]); // the table is not empty

/** The schema of an entry. */
export const scriptEntry = z.discriminatedUnion("what", [
  z.strictObject({
    what: z.literal("price").describe("the price moves to a level, at once or over a span of time"),
    symbol,
    at: time.describe("start of the move, within trading hours"),
    to: price.describe("the price at the end of the move; later moves of the market continue from it"),
    over: span.optional().describe("length of the move; without it the price jumps"),
  }),
  z.strictObject({
    what: z.literal("gap").describe("the day opens away from the previous close"),
    symbol,
    on: day,
    by: percent.optional().describe("distance from the previous close"),
    to: price.optional().describe("the opening price; instead of `by`"),
  }),
  z.strictObject({
    what: z.literal("dividend").describe("the price falls by the cash, which holders get on the pay day"),
    symbol: stock,
    on: day.describe("ex-date"),
    cash: cash.describe("cash for one share, in the currency of the listing"),
    pays: day.optional().describe("pay day, on or after the ex-date; without it the ex-date"),
  }),
  z.strictObject({
    what: z.literal("split").describe("holdings grow and the price falls, or the reverse"),
    symbol: stock,
    on: day.describe("first day with the new shares"),
    ratio: ratio.describe("new shares for old shares"),
  }),
  z.strictObject({
    what: z.literal("halt").describe("trading stops: orders are refused, and open orders are cancelled"),
    symbol: symbol.optional(),
    market: market.optional().describe("a whole market; instead of `symbol`"),
    at: time,
    for: span.optional().describe("length of the halt; without it, the halt ends with `resume`, or never"),
  }),
  z.strictObject({
    what: z.literal("resume").describe("trading continues after a halt of the same symbol or market"),
    symbol: symbol.optional(),
    market: market.optional(),
    at: time,
  }),
  z.strictObject({
    what: z.literal("outage").describe("a part of the broker does not work; its time is Hong Kong time"),
    of: z.enum(["gateway", "lists", "pushes"]).describe(
      "gateway: calls get no answer and are not executed, and pushes are lost; " +
        "lists: lists of orders, fills, journals and holdings are rejected as busy; pushes: pushes are lost",
    ),
    at: time,
    for: span,
  }),
]);

/** One entry of a script. `scriptJsonSchema` describes the fields. A test compares the type with the schema. */
export type ScriptEntry =
  | { what: "price"; symbol: string; at: string; to: string | number; over?: string | undefined }
  | {
    what: "gap";
    symbol: string;
    on: string;
    by?: string | undefined;
    to?: string | number | undefined;
  }
  | { what: "dividend"; symbol: string; on: string; cash: string | number; pays?: string | undefined }
  | { what: "split"; symbol: string; on: string; ratio: string }
  | {
    what: "halt";
    symbol?: string | undefined;
    market?: ScriptMarket | undefined;
    at: string;
    for?: string | undefined;
  }
  | { what: "resume"; symbol?: string | undefined; market?: ScriptMarket | undefined; at: string }
  | { what: "outage"; of: "gateway" | "lists" | "pushes"; at: string; for: string };

/** A script: a list of entries, or a text in YAML or JSON with its file name for messages. */
export type ScriptSource = readonly ScriptEntry[] | { text: string; fileName: string };

/** A part of the broker that does not work for some time. */
export interface ScriptedOutage {
  of: "gateway" | "lists" | "pushes";
  /** Start, Unix milliseconds. */
  from: number;
  /** End, Unix milliseconds; not part of the outage. */
  until: number;
}

/** A checked script. */
export interface ScriptPlan extends MarketPlan {
  outages: readonly ScriptedOutage[];
}

/** Thrown for an invalid script. */
export class ScriptError extends TypeError {
  /** Name of the class. */
  override name = "ScriptError";
  /**
   * Creates the error; its text lists the mistakes.
   *
   * @param issues The mistakes, each with the entry, the field, the value, and what was expected.
   */
  constructor(fileName: string, readonly issues: readonly string[]) {
    super(`Cannot use script "${fileName}":\n  ${issues.join("\n  ")}`);
  }
}

/** Maximum number of mistakes that an error lists. */
const MOST_ISSUES = 20;
/** Maximum number of characters of a script. */
const MOST_TEXT = 1_000_000;
/** Maximum number of entries of a script. */
const MOST_ENTRIES = 5_000;
/** Maximum number of characters that a message shows of a wrong value. */
const MOST_SHOWN = 500;

/** Returns the JSON Schema of scripts. */
export function scriptJsonSchema(): object {
  return z.toJSONSchema(z.array(scriptEntry), { io: "input" });
}

/** Returns a line for each kind of entry: its name and what it does. */
export function scriptKinds(): [kind: string, text: string][] {
  return scriptEntry.options.map(({ shape: { what } }) => [[...what.values][0]!, what.description ?? ""]); // one literal
}

/**
 * Checks a script and converts its times.
 *
 * @throws {ScriptError} If the text or an entry is invalid. Lists at most 20 mistakes.
 */
export function scriptPlan(source: ScriptSource, calendars: Calendars = builtInCalendars): ScriptPlan {
  if (!("text" in source)) return planOf(source, "script", calendars);
  const { text, fileName } = source;
  if (text.length > MOST_TEXT) throw new ScriptError(fileName, [`expected at most ${MOST_TEXT} characters`]);
  let given: unknown;
  try {
    // YAML's core schema has no dates, so the times in a script stay text.
    given = parse(text, { schema: "core" }) ?? [];
  } catch (error) {
    // The parser calls itself for each level until the stack is full.
    if (error instanceof RangeError) throw new ScriptError(fileName, ["lists and maps are nested too deep"]);
    throw new ScriptError(fileName, [error instanceof Error ? error.message : String(error)]);
  }
  return planOf(given, fileName, calendars);
}

function planOf(given: unknown, fileName: string, calendars: Calendars): ScriptPlan {
  if (Array.isArray(given) && given.length > MOST_ENTRIES) {
    throw new ScriptError(fileName, [`expected at most ${MOST_ENTRIES} entries`]);
  }
  const result = z.array(scriptEntry).safeParse(given);
  if (!result.success) {
    const issues = result.error.issues.flatMap((issue) => issueTexts(issue, given));
    throw new ScriptError(fileName, issues.slice(0, MOST_ISSUES));
  }
  const planner = new Planner(calendars);
  result.data.forEach((each, index) => planner.add(each, index));
  const plan = planner.plan();
  if (planner.issues.length > 0) throw new ScriptError(fileName, planner.issues.slice(0, MOST_ISSUES));
  return plan;
}

type Checked = z.output<typeof scriptEntry>;

/** Converts the entries of a script, and collects what is wrong with them. */
class Planner {
  readonly issues: string[] = [];
  readonly #calendars: Calendars;
  readonly #moves = new Map<string, { move: Move; index: number }[]>();
  readonly #stops: {
    key: string;
    at: number;
    until?: number;
    index: number;
    of: Omit<Halt, "from" | "until">;
  }[] = [];
  readonly #resumes: { key: string; at: number; text: string; index: number }[] = [];
  readonly #actions: CorporateAction[] = [];
  readonly #outages: ScriptedOutage[] = [];

  constructor(calendars: Calendars) {
    this.#calendars = calendars;
  }

  add(each: Checked, index: number): void {
    switch (each.what) {
      case "price":
        return this.#addPrice(each, index);
      case "gap":
        return this.#addGap(each, index);
      case "halt":
      case "resume":
        return this.#addHalt(each, index);
      case "dividend":
      case "split":
        return this.#addAction(each, index);
      case "outage": {
        const from = readInstant(`${each.at.replace(" ", "T")}:00+08:00`);
        if (from === undefined) return this.#wrong(index, "at", each.at, timeExpected);
        this.#outages.push({ of: each.of, from, until: from + spanMs(each.for) });
      }
    }
  }

  plan(): ScriptPlan {
    const moves = new Map<string, Move[]>();
    for (const [symbol, planned] of this.#moves) {
      planned.sort((a, b) => a.move.from - b.move.from);
      planned.forEach(({ move, index }, place) => {
        const before = planned[place - 1]?.move;
        if (before !== undefined && move.from < before.until) {
          this.#wrong(index, "symbol", symbol, "a start after the end of the previous move of this symbol");
        }
      });
      moves.set(symbol, planned.map(({ move }) => move));
    }
    const actions = this.#actions.toSorted((a, b) => a.exDate < b.exDate ? -1 : a.exDate > b.exDate ? 1 : 0);
    return { moves, halts: this.#halts(), actions, outages: this.#outages };
  }

  #halts(): Halt[] {
    const used = new Set<number>();
    const resumes = this.#resumes.toSorted((a, b) => a.at - b.at);
    const halts = this.#stops.map(({ key, at, until, of }): Halt => {
      const resume = resumes.find((each) => each.key === key && each.at > at);
      if (resume !== undefined && resume.at < (until ?? Infinity)) used.add(resume.index);
      return { ...of, from: at, until: Math.min(until ?? Infinity, resume?.at ?? Infinity) };
    });
    for (const { index, text } of this.#resumes) {
      if (!used.has(index)) {
        this.#wrong(index, "at", text, "a time within a halt of the same symbol or market");
      }
    }
    return halts;
  }

  #addPrice({ symbol, at, to, over = "0m" }: Extract<Checked, { what: "price" }>, index: number): void {
    const timeline = this.#timelineOf(symbol);
    const found = this.#find(timeline, at, index);
    if (found === undefined) return;
    const { day, at: from } = found;
    const until = from + spanMs(over);
    const trades = (instant: number) =>
      day.segments.some((part) => instant >= part.from && instant <= part.to);
    if (!trades(from) || minuteAt(day, from) < 0) {
      return this.#wrong(index, "at", at, `a time within the trading hours of ${day.date}`);
    }
    if (!trades(until)) {
      return this.#wrong(index, "over", over, `a span that ends within the trading hours of ${day.date}`);
    }
    this.#addMove(symbol, { day: day.index, from, until, to: toUnits(to) }, index);
  }

  #addGap({ symbol, on, by, to }: Extract<Checked, { what: "gap" }>, index: number): void {
    const day = this.#timelineOf(symbol).on(on);
    if (day === undefined) return this.#wrong(index, "on", on, `a trading day of ${symbol}`);
    if ((by === undefined) === (to === undefined)) {
      return this.#wrong(index, "by", by, "either `by` or `to`");
    }
    const at = day.startsAt;
    const move = { day: day.index, from: at, until: at };
    if (to !== undefined) return this.#addMove(symbol, { ...move, to: toUnits(to), atOpen: true }, index);
    const factor = 1 + Number(by?.slice(0, -1)) / 100;
    if (factor <= 0) return this.#wrong(index, "by", by, "a fall of less than 100%");
    this.#addMove(symbol, { ...move, factor, atOpen: true }, index);
  }

  #addAction(each: Extract<Checked, { what: "dividend" | "split" }>, index: number): void {
    const { symbol, on } = each;
    const day = this.#timelineOf(symbol).on(on);
    if (day === undefined || day.index === 0) {
      return this.#wrong(index, "on", on, `a trading day of ${symbol}`);
    }
    const action = { symbol, exDate: on, payDate: on, cash: "0", newShares: 1, oldShares: 1 };
    if (each.what === "split") {
      const [newShares = 1, oldShares = 1] = each.ratio.split(":").map(Number);
      this.#actions.push({ ...action, newShares, oldShares });
      return;
    }
    const { pays = on, cash } = each;
    if (pays < on || !isDate(pays)) {
      return this.#wrong(index, "pays", pays, "a day on or after the ex-date");
    }
    this.#actions.push({ ...action, payDate: pays, cash });
  }

  #addHalt(each: Extract<Checked, { what: "halt" | "resume" }>, index: number): void {
    const { symbol, market, at } = each;
    if ((symbol === undefined) === (market === undefined)) {
      return this.#wrong(index, "symbol", symbol, "either `symbol` or `market`");
    }
    const timeline = market === undefined
      ? this.#timelineOf(symbol ?? "")
      : timelineOf(this.#calendars, marketDays[market]);
    const instant = this.#find(timeline, at, index)?.at;
    if (instant === undefined) return;
    const key = symbol ?? market ?? "";
    if (each.what === "resume") this.#resumes.push({ key, at: instant, text: at, index });
    else {
      const until = each.for === undefined ? {} : { until: instant + spanMs(each.for) };
      const of = symbol === undefined ? { market } : { symbol };
      this.#stops.push({ key, at: instant, index, of, ...until });
    }
  }

  #addMove(symbol: string, move: Move, index: number): void {
    const known = this.#moves.get(symbol) ?? [];
    this.#moves.set(symbol, [...known, { move, index }]);
  }

  #timelineOf(symbol: string): Timeline {
    const future = futureContract(symbol);
    if (future !== undefined) return futureTimeline(this.#calendars, future.lastTradingDay);
    return timelineOf(this.#calendars, marketDays[listing(symbol)?.market ?? "futures"]);
  }

  /** Returns the trading day and the instant of a local time. */
  #find(timeline: Timeline, text: string, index: number): { day: TradingDay; at: number } | undefined {
    const day = timeline.on(text.slice(0, 10));
    if (day === undefined) {
      this.#wrong(index, "at", text, "a time on a trading day of its exchange");
      return undefined;
    }
    return { day, at: Date.parse(`${text.replace(" ", "T")}:00Z`) - day.offset };
  }

  #wrong(index: number, field: string, value: unknown, expected: string): void {
    this.issues.push(issueText(index, field, value, expected));
  }
}

function spanMs(text: string): number {
  const [, days = 0, hours = 0, minutes = 0] =
    /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?$/.exec(text)?.map(Number) ?? [];
  return ((((days || 0) * 24 + (hours || 0)) * 60) + (minutes || 0)) * MINUTE_MS;
}

function issueText(index: number, field: string, value: unknown, expected: string): string {
  const shown = value === undefined ? "is missing" : `is ${shownValue(value)}`;
  return `entry ${index + 1}, field "${field}" ${shown}: expected ${expected}`;
}

/**
 * Returns a wrong value as text for a message. A list or map inside it becomes `…`, because YAML aliases can
 * repeat a value very often.
 */
function shownValue(value: unknown): string {
  const text = JSON.stringify(
    value,
    (key, each) => key !== "" && typeof each === "object" && each !== null ? "…" : each,
  );
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}

/** Describes an issue of zod: the entry, the field, the value and what is allowed. */
function issueTexts(issue: z.core.$ZodIssue, given: unknown): string[] {
  const [index, ...fields] = issue.path;
  if (typeof index !== "number") return ["expected a list of entries"];
  // The path begins with an index, so `given` is a list. The entry itself may be anything.
  const each = (given as Record<string, unknown>[])[index];
  const field = fields.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    const kind = scriptEntry.options.find(({ shape }) => shape.what.values.has(each?.what as never));
    const known = Object.keys(kind?.shape ?? {}).join(", ");
    return issue.keys.map((key) => issueText(index, key, each?.[key], `one of the fields ${known}`));
  }
  if (field === "what") {
    return [issueText(index, "what", each?.what, `one of ${scriptKinds().map(([kind]) => kind).join(", ")}`)];
  }
  if (field === "") return [`entry ${index + 1} is ${shownValue(each)}: expected a map of fields`];
  const expected = issue.code === "invalid_value" ? `one of ${issue.values.join(", ")}` : issue.message;
  return [issueText(index, field, each?.[field], expected)];
}
