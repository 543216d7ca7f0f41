/**
 * Makes days of trades on a scripted gateway, and exports them into a temporary folder.
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
/** Five days after DAY: the broker has cleared DAY, and DAY is no longer recent. */
export const LATER = Date.parse("2025-08-20T10:00:00+08:00");
/** The evening of DAY. DAY is then the last session, so every export reads it again. */
export const EVENING = Date.parse("2025-08-15T21:00:00+08:00");
const code = { hk: "K", us: "P" } as const;
type CodedMarket = keyof typeof code;

/** Returns one fill, and its line in the fund journal. */
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

/** Returns a day with `count` trades. */
export function bookOf(market: CodedMarket, count: number, { day = DAY, prefix = "" } = {}): Script {
  const trades = Array.from({ length: count }, (_, index) => trade(market, `${prefix}${index + 1}`, day));
  const key = `${code[market]} ${day.replaceAll("-", "")}`;
  return {
    [`TradeQueryHistoryDeliverList ${key}`]: trades.map(({ fill }) => fill),
    [`TradeQueryHistoryEntrustList ${key}`]: trades.map(({ fill: { fareVo: _, ...order } }) => order),
    [`TradeQueryHistoryFundJourList ${key}`]: trades.map(({ line }) => line),
  };
}

/** A gateway, and a folder into which its days are exported. */
export interface Book extends AsyncDisposable {
  broker: ScriptedGateway;
  out: string;
  /** Exports DAY into the folder, with options of this export. */
  exportDay: (options?: Partial<DayBookOptions>) => Promise<DayBookResult>;
  /** Returns the texts of the files of a day or of a disputed reading, by name. */
  files: (name: string) => Record<string, string>;
  /** Returns the visible names in the folder, sorted. */
  names: () => string[];
}

/** Starts a gateway and creates a folder. The options apply to every export. */
export function openBook(script: Script, options: Partial<DayBookOptions> = {}): Book {
  const broker = scriptedGateway(script);
  const folder = temporaryFolder();
  return {
    broker,
    out: folder.path,
    exportDay: (more = {}) => {
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

/** Returns whether a call is for a list of the securities account: fills, orders or fund journal. */
export const isList = (key: string) => /^TradeQuery(History|Real)\w+List/.test(key);
/** Returns the summary from the files of a day. */
export const summaryOf = (files: Record<string, string>) => JSON.parse(files["summary.json"]!);
