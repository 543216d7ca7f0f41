/**
 * Days of trades on a scripted gateway, and exports of them into a folder of their own.
 *
 * @module
 */
import { type DayBookOptions, type DayBookResult, exportDayBook } from "../../lib/day_book/mod.ts";
import {
  readTree,
  type Script,
  type ScriptedGateway,
  scriptedGateway,
  type WireRow,
} from "./scripted_gateway.ts";
import { temporaryFolder } from "./simulated.ts";

export const DAY = "2025-08-15";
/** Days after, when the day is cleared and no longer recent. */
export const LATER = Date.parse("2025-08-20T10:00:00+08:00");
/** The evening of the day: it is the last session, and is read again by every export. */
export const EVENING = Date.parse("2025-08-15T21:00:00+08:00");
const code = { hk: "K", us: "P" } as const;
type CodedMarket = keyof typeof code;

/** One fill with its order and its line, all of an order of its own. */
export function trade(market: CodedMarket, orderId: string, day = DAY): { fill: WireRow; line: WireRow } {
  const date = day.replaceAll("-", "");
  const symbol = market === "hk" ? "00700.HK" : "AAPL";
  return {
    fill: {
      stockCode: symbol,
      exchangeType: code[market],
      entrustId: orderId,
      entrustBs: "1",
      businessPrice: "350.20",
      businessAmount: "100",
      businessBalance: "35020.00",
      date,
      businessTime: "093005",
      fareVo: { fare0: "30.00", fare6: "15.00", faret: "45.00" },
    },
    line: { businessBalance: "-35065.00", type: "5", time: `${day} 09:30:05` },
  };
}

/** A day of so many trades. */
export function bookOf(market: CodedMarket, count: number, { day = DAY, prefix = "" } = {}): Script {
  const trades = Array.from({ length: count }, (_, index) => trade(market, `${prefix}${index + 1}`, day));
  const key = `${code[market]} ${day.replaceAll("-", "")}`;
  return {
    [`TradeQueryHistoryDeliverList ${key}`]: trades.map(({ fill }) => fill),
    [`TradeQueryHistoryEntrustList ${key}`]: trades.map(({ fill: { fareVo: _, ...order } }) => order),
    [`TradeQueryHistoryFundJourList ${key}`]: trades.map(({ line }) => line),
  };
}

/** A gateway, and a folder that its days are exported into. */
export interface Book extends AsyncDisposable {
  broker: ScriptedGateway;
  out: string;
  again: (options?: Partial<DayBookOptions>) => Promise<DayBookResult>;
  files: (name: string) => Record<string, string>;
  names: () => string[];
}

/** Opens one; the options are those of every export. */
export function openBook(script: Script, options: Partial<DayBookOptions> = {}): Book {
  const broker = scriptedGateway(script);
  const folder = temporaryFolder();
  return {
    broker,
    out: folder.path,
    again: (more = {}) => {
      const all = { now: () => LATER, ...options, ...more };
      broker.clock = all.now;
      return exportDayBook(broker.client, {
        markets: ["hk"],
        accounts: ["securities"],
        from: DAY,
        to: DAY,
        out: folder.path,
        ...all,
      });
    },
    files: (name) => readTree(`${folder.path}/${name}`),
    names: () =>
      [...Deno.readDirSync(folder.path)].map(({ name }) => name).filter((name) => !name.startsWith("."))
        .sort(),
    async [Symbol.asyncDispose]() {
      await broker[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

/** Tells whether a call asks for a list of securities. */
export const isList = (key: string) => /^TradeQuery(History|Real)\w+List/.test(key);
/** The summary among the files of a day. */
export const summaryOf = (files: Record<string, string>) => JSON.parse(files["summary.json"]!);
