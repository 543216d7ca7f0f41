/**
 * What a working folder is made from: answers of flags, of a person, or the usual ones.
 *
 * @module
 */
import type { Mic } from "../../../lib/calendars/mod.ts";
import { calendarOfMarket } from "../../../lib/day_book/market_days.ts";
import { Market } from "../../../lib/dictionaries/market.ts";
import { mics } from "../../../lib/recipes/session_times.ts";
import { platformUrl } from "../../../lib/transports/direct/options.ts";
import { InterruptedError, UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import type { InitInput } from "../init.ts";
import { toolkit } from "./toolkit.ts";
import { findFolder, usualFolder, type WorkFolder } from "./work_folder.ts";
import { nearest } from "../../../lib/client/nearest.ts";
import { paint, plain } from "../../terminal/print.ts";

/** Way to the broker. */
export type Way = "simulator" | "gateway" | "direct";

/** Every answer. */
export interface Answers {
  way: Way;
  /** Address of the gateway. */
  gatewayUrl: string;
  /** Address of the platform; to be filled in later when absent. */
  authUrl?: string;
  /** Markets of the account, at least one. */
  markets: readonly Market[];
  /** Exchange whose hours the recipes follow. */
  calendar: Mic;
  /** Where everything goes. */
  folder: WorkFolder;
}

const ways: readonly Option<Way>[] = [
  { name: "simulator", text: "a simulated broker, to try everything; nothing reaches a real one" },
  { name: "gateway", text: "the broker's gateway program, on this machine or near it" },
  { name: "direct", text: "the broker's own socket, without that program; needs a pair of keys" },
];

const GATEWAY = "http://127.0.0.1:11111";
/** The answer of somebody who has no address of the platform at hand. */
const LATER = "later";

/** Collects the answers; what a flag says is checked before the first question. */
export async function collect({ args: [dir], flags, host }: InitInput): Promise<Answers> {
  const given = {
    way: wayOf(flags),
    markets: flags.markets === undefined ? undefined : readMarkets(flags.markets),
    calendar: flags.calendar === undefined ? undefined : readCalendar(flags.calendar),
    gatewayUrl: flags.gateway === undefined ? undefined : readGateway(flags.gateway),
    authUrl: flags["auth-url"] === undefined ? undefined : readPlatform(flags["auth-url"]),
    folder: dir === undefined ? undefined : await findFolder(dir),
  };
  const asks = flags.yes !== true && host.canAsk;
  if (asks) {
    host.note("This writes a working folder: settings, two recipes, a script and a notebook.");
    host.note("Enter takes what stands in brackets; Ctrl-C leaves nothing behind.");
  } else if (flags.yes !== true) {
    host.note("hsgate: there is no terminal to ask at, so what no flag says is taken as usual");
  }
  const answer = asks ? asking(host) : usual;
  const way = given.way ?? await answer({
    title: "How do you reach the broker?",
    prompt: "Way",
    options: ways,
    usual: "simulator",
    read: readWay,
  });
  const gatewayUrl = way !== "gateway" ? GATEWAY : given.gatewayUrl ?? await answer({
    title: "Where does the gateway listen?",
    prompt: "Address",
    usual: GATEWAY,
    read: readGateway,
  });
  const authUrl = way !== "direct" ? undefined : given.authUrl ?? await answer({
    title: "Which address has the broker's platform? It stands in the broker's documentation.",
    prompt: "Address",
    usual: LATER,
    read: readPlatform,
  });
  const markets = given.markets ?? await answer({
    title: "Which markets does the account trade? Several with commas.",
    prompt: "Markets",
    options: marketOptions,
    usual: "hk,us",
    read: readMarkets,
  });
  const calendars = [...new Set(markets.map((market) => calendarOfMarket[market]))];
  // With one market there is nothing to choose.
  const calendar = given.calendar ?? await (calendars.length === 1 ? usual : answer)({
    title: "After whose close shall the day be exported?",
    prompt: "Exchange",
    options: calendars.map((name) => ({ name, text: marketsOf(name).join(", ") })),
    usual: calendars[0]!, // there is at least one market
    read: (text) => readCalendar(text, calendars),
  });
  const folder = given.folder ?? await answer({
    title: "Into which folder? It is made, or is empty.",
    prompt: "Folder",
    usual: await usualFolder(toolkit),
    read: findFolder,
  });
  if (asks) host.note("");
  return { way, gatewayUrl, ...authUrl !== undefined && { authUrl }, markets, calendar, folder };
}

type Answer = <T>(question: Question<T>) => Promise<T>;

const asking = (host: Host): Answer => async (question) => {
  try {
    return await ask(host, question);
  } catch (error) {
    if (error instanceof InterruptedError) host.note("\nnothing was written");
    throw error;
  }
};
const usual: Answer = async ({ read, usual }) => await read(usual);

/** An address that is only of one way names that way too. */
function wayOf({ connect, gateway, "auth-url": authUrl }: InitInput["flags"]): Way | undefined {
  const way = connect === undefined ? undefined : readWay(connect);
  const others = [["gateway", gateway], ["direct", authUrl]] as const;
  const named = others.flatMap(([of, address]) => address === undefined ? [] : [of]);
  const wrong = named.find((of) => of !== (way ?? named[0]));
  if (wrong === undefined) return way ?? named[0];
  const flag = wrong === "gateway" ? "--gateway" : "--auth-url";
  throw new UsageError(`Cannot take ${flag}: the way to the broker is "${way ?? named[0]}"`);
}

const readWay = (text: string) => readOption(text, { what: "the way to the broker", options: ways });

const marketOptions: readonly Option<Market>[] = Market.names.map((name) => ({
  name,
  text: Market.label(name),
}));

function readMarkets(text: string): Market[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  if (words.length === 0) throw new UsageError("Cannot do without a market: name at least one");
  return [...new Set(words.map((word) => readOption(word, { what: "a market", options: marketOptions })))];
}

/** Markets that keep a calendar, in words. */
function marketsOf(calendar: Mic): string[] {
  return Market.names.filter((market) => calendarOfMarket[market] === calendar).map((name) =>
    Market.label(name)
  );
}

/** Reads any calendar by its name; a number stands for one of those that were shown. */
function readCalendar(text: string, shown: readonly Mic[] = []): Mic {
  const options = /^\d+$/.test(text) ? shown : mics;
  return readOption(text, { what: "the exchange", options: options.map((name) => ({ name, text: "" })) });
}

function readGateway(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "") {
    return text;
  }
  throw new UsageError(`Cannot take this for the gateway's address: write it like "${GATEWAY}"`);
}

function readPlatform(text: string): string | undefined {
  if (text === LATER) return undefined;
  try {
    return platformUrl(text);
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(error.message) : error;
  }
}

/** One of the answers to choose from. */
interface Option<T extends string> {
  name: T;
  /** What it means, in a few words. */
  text: string;
}

/** A question that reads one answer. */
interface Question<T> {
  /** What is asked, with its question mark. */
  title: string;
  /** The word before the brackets. */
  prompt: string;
  /** Answers to choose from; their numbers do as well. */
  options?: readonly Option<string>[];
  /** What Enter takes. */
  usual: string;
  /** Reads an answer. @throws {UsageError} With what is expected. */
  read: (text: string) => T | Promise<T>;
}

/** Most wrong answers to one question, so that a terminal that answers by itself ends. */
const TRIES = 10;

/** Asks until the answer can be read. */
async function ask<T>(host: Host, question: Question<T>): Promise<T> {
  const { title, prompt, options = [], usual, read } = question;
  host.note(`\n${paint(host, "bold", title)}`);
  const width = Math.max(0, ...options.map(({ name }) => name.length));
  for (const [index, { name, text }] of options.entries()) {
    host.note(`  ${index + 1}  ${name.padEnd(width)}  ${paint(host, "dim", text)}`);
  }
  for (let left = TRIES;; left--) {
    const answer = (await host.ask(`${prompt} [${usual}]: `)).trim();
    try {
      return await read(answer === "" ? usual : answer);
    } catch (error) {
      if (!(error instanceof UsageError) || left === 1) throw error;
      host.note(paint(host, "yellow", `  ${plain(error.message)}`));
    }
  }
}

/** Reads one of some options by its name or number. @throws {UsageError} With the nearest name. */
function readOption<T extends string>(
  text: string,
  { what, options }: { what: string; options: readonly Option<T>[] },
): T {
  const wanted = text.trim();
  const names = options.map(({ name }) => name);
  const found = names.find((name) => name.toLowerCase() === wanted.toLowerCase()) ??
    names[Number(wanted) - 1];
  if (found !== undefined) return found;
  const meant = nearest(wanted, names);
  const hint = meant === undefined ? `there are ${names.join(", ")}` : `did you mean "${meant}"?`;
  throw new UsageError(`Cannot take "${wanted}" for ${what}: ${hint}`);
}
