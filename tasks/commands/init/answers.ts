/**
 * Collects the answers for a new working folder, from flags, from the user, or from defaults.
 *
 * @module
 */
import type { Mic } from "../../../lib/calendars/mod.ts";
import { calendarOfMarket } from "../../../lib/day_book/market_days.ts";
import { Market } from "../../../lib/dictionaries/market.ts";
import { mics } from "../../../lib/recipes/compile/written_times.ts";
import { platformUrl } from "../../../lib/transports/direct/options.ts";
import { InterruptedError, UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import type { InitInput } from "../init.ts";
import { toolkit } from "./toolkit.ts";
import { findFolder, usualFolder, type WorkFolder } from "./work_folder.ts";
import { nearest } from "../../../lib/client/nearest.ts";
import { paint, plain } from "../../terminal/print.ts";

/** How the folder reaches the broker. */
export type Way = "simulator" | "gateway" | "direct";

/** All answers. */
export interface Answers {
  way: Way;
  /** Address of the gateway. */
  gatewayUrl: string;
  /** Address of the platform; if absent, the user adds it later. */
  authUrl?: string;
  /** Markets of the account, at least one. */
  markets: readonly Market[];
  /** Exchange whose session times the recipes follow. */
  calendar: Mic;
  /** Folder to write to. */
  folder: WorkFolder;
}

const ways: readonly Option<Way>[] = [
  { name: "simulator", text: "a simulated broker, to try everything; nothing reaches a real one" },
  { name: "gateway", text: "the broker's gateway program, on this machine or near it" },
  { name: "direct", text: "the broker's own socket, without that program; needs a pair of keys" },
];

const GATEWAY = "http://127.0.0.1:11111";
/** The answer of a user who does not know the platform's address yet. */
const LATER = "later";

/** Collects the answers; checks the flags before the first question. */
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
    host.note("Press Enter to accept the answer in brackets. Ctrl-C writes nothing.");
  } else if (flags.yes !== true) {
    host.note("hsgate: no terminal to ask questions on: using the default for everything that no flag sets");
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
    title: "What is the address of the broker's platform? The broker's documentation contains it.",
    prompt: "Address",
    usual: LATER,
    read: readPlatform,
  });
  const markets = given.markets ?? await answer({
    title: "Which markets does the account trade? Separate several with commas.",
    prompt: "Markets",
    options: marketOptions,
    usual: "hk,us",
    read: readMarkets,
  });
  const calendars = [...new Set(markets.map((market) => calendarOfMarket[market]))];
  // Do not ask if all markets follow the same calendar.
  const calendar = given.calendar ?? await (calendars.length === 1 ? usual : answer)({
    title: "After which exchange's close should the recipe export the day?",
    prompt: "Exchange",
    options: calendars.map((name) => ({ name, text: marketsOf(name).join(", ") })),
    usual: calendars[0]!, // there is at least one market
    read: (text) => readCalendar(text, calendars),
  });
  const folder = given.folder ?? await answer({
    title: "Which folder? It must be empty; it is created if missing.",
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

/** Returns the way to the broker. A flag that belongs to only one way implies that way. */
function wayOf({ connect, gateway, "auth-url": authUrl }: InitInput["flags"]): Way | undefined {
  const way = connect === undefined ? undefined : readWay(connect);
  const others = [["gateway", gateway], ["direct", authUrl]] as const;
  const named = others.flatMap(([of, address]) => address === undefined ? [] : [of]);
  const wrong = named.find((of) => of !== (way ?? named[0]));
  if (wrong === undefined) return way ?? named[0];
  const flag = wrong === "gateway" ? "--gateway" : "--auth-url";
  throw new UsageError(`Cannot use ${flag}: the way to the broker is "${way ?? named[0]}"`);
}

const readWay = (text: string) => readOption(text, { what: "the way to the broker", options: ways });

const marketOptions: readonly Option<Market>[] = Market.names.map((name) => ({
  name,
  text: Market.label(name),
}));

function readMarkets(text: string): Market[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  if (words.length === 0) throw new UsageError("Cannot create a folder without a market: name at least one");
  return [...new Set(words.map((word) => readOption(word, { what: "a market", options: marketOptions })))];
}

/** Returns the names of the markets that follow a calendar. */
function marketsOf(calendar: Mic): string[] {
  return Market.names.filter((market) => calendarOfMarket[market] === calendar).map((name) =>
    Market.label(name)
  );
}

/** Reads the name of any calendar, or the number of one of the listed options. */
function readCalendar(text: string, shown: readonly Mic[] = []): Mic {
  const options = /^\d+$/.test(text) ? shown : mics;
  return readOption(text, { what: "the exchange", options: options.map((name) => ({ name, text: "" })) });
}

function readGateway(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && url.protocol === "http:" && url.username === "" && url.password === "") {
    return text;
  }
  throw new UsageError(
    `Cannot use this as the gateway's address: write it like "${GATEWAY}"; the gateway uses only HTTP`,
  );
}

function readPlatform(text: string): string | undefined {
  if (text === LATER) return undefined;
  try {
    return platformUrl(text);
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(error.message) : error;
  }
}

/** An option of a question. */
interface Option<T extends string> {
  name: T;
  /** Its meaning, in a few words. */
  text: string;
}

/** A question whose text answer is read into a value. */
interface Question<T> {
  /** The question, with its question mark. */
  title: string;
  /** Text before the brackets. */
  prompt: string;
  /** Options; the user may type their numbers too. */
  options?: readonly Option<string>[];
  /** The answer if the user only presses Enter. */
  usual: string;
  /** Returns the value of an answer. @throws {UsageError} If it is invalid. The message says what is expected. */
  read: (text: string) => T | Promise<T>;
}

/**
 * Maximum number of wrong answers to one question, so that a terminal with automatic answers does not cause an
 * endless loop.
 */
const TRIES = 10;

/** Asks until the answer is valid. */
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

/**
 * Returns the option with this name or number. @throws {UsageError} If there is no such option. The message names the
 * nearest one.
 */
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
  throw new UsageError(`Cannot use "${wanted}" as ${what}: ${hint}`);
}
