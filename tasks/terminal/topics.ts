/**
 * The topics of `hsgate help TOPIC`, and the glossary. The reference derives its glossary from the same terms.
 *
 * @module
 */
import { exitCodes } from "./exit_codes.ts";
import { outputs } from "./flags.ts";
import { twoColumns, wrap } from "./help.ts";

/** A topic of the help. */
interface Topic {
  /** One line for the overview. */
  summary: string;
  /** Returns the lines of the topic, at most 80 characters wide. */
  lines: () => readonly string[] | Promise<readonly string[]>;
}

/** Words of hsgate and of trading, with their meaning here, in alphabetical order. */
export const glossary: Readonly<Record<string, string>> = {
  "account":
    "a brokerage account; hsgate names it by the gateway's address or by a digest of the developer key",
  "amend": "change the quantity or the price of an order that is open",
  "ask": "the best price at which somebody sells",
  "backfill": "run a recipe for past slots",
  "bar": "opening, highest, lowest and closing price and volume of a period; also called K-line",
  "bid": "the best price at which somebody buys",
  "board lot":
    "the smallest quantity of a usual order, such as 100 shares; other quantities are its multiples",
  "business day": "the trading day that a row or a run belongs to, in the time zone of its exchange",
  "calendar": "the trading days of an exchange with their hours",
  "conditional order": "an order that the broker keeps until a price triggers it",
  "day book": "fills, orders, fund journal and fees of each trading day, as files with checks",
  "desk": "the part of hsgate that records, checks, sends and follows every order write",
  "direct transport": "a connection to the broker's own socket, without a gateway",
  "fence": "a number that grows with each owner of a lease, so that a former owner can no longer write",
  "fill": "an execution of an order, wholly or in part",
  "final": "a day of the day book with complete lists, all fees and no differences",
  "fund journal": "the list of the account's cash movements",
  "gateway": "the broker's program that runs on your machine and connects to the broker",
  "guard rail": "a check of an order before it is sent, such as a largest value",
  "halt": "a stop of every order write, until resume",
  "holding": "a quantity of a listing that the account owns; also called position",
  "intent": "the store's record of one order write: to place, amend or cancel orders",
  "lease": "the exclusive right of one process to do something, for a limited time",
  "listing": "a security as one exchange trades it, named by a code such as 00700.HK",
  "misfire": "a slot that has not started after its grace period; its policy says what happens then",
  "notice": "a message that a run sends when it has ended",
  "operation": "one call of the broker's API, such as orders.place",
  "order": "an instruction to buy or sell at the broker; the broker gives it a number",
  "outcome unknown": "a write was sent and no answer came, so the broker may have executed it",
  "plan": "a run that shows its writes and sends none of them; also the orders that rebalance proposes",
  "provisional": "a day of the day book that may still change",
  "push": "a message that the broker sends on its own, such as a quote or an order change",
  "quote": "the latest price of a security with the figures of its day",
  "recipe": "a file with steps, and often a schedule, that the runner runs",
  "resolve": "record the outcome of a write whose outcome is unknown",
  "run": "one execution of a recipe; its key is, for example, evening-report/main/2025-08-15",
  "session": "one trading day of an exchange, with its hours",
  "slot": "a time at which a schedule starts a run",
  "spread": "the distance between bid and ask",
  "store": "the database of runs, notices and order writes: a SQLite file, or PostgreSQL",
  "tick": "one trade in the market; the tick size is the smallest step of a price",
  "transport": "how hsgate reaches the broker: gateway or direct",
  "trust": "your consent to what a recipe, a settings file or a store may do",
  "unresolved write": "an order write whose outcome is not known yet",
  "watermark": "the time up to which a scheduler has recorded all slots of a schedule",
  "window": "the time of day in which a recipe may start and may write at the broker",
};

const text = (...paragraphs: readonly string[]) => (): string[] =>
  paragraphs.flatMap((each, index) => [...index === 0 ? [] : [""], ...wrap(each, 80)]);

/** All topics by name. */
export const topics: Readonly<Record<string, Topic>> = {
  "glossary": {
    summary: "terms of hsgate and of trading",
    lines: () => twoColumns(Object.entries(glossary)),
  },
  "exit-codes": {
    summary: "what each exit code means",
    lines: () => twoColumns(Object.entries(exitCodes)),
  },
  "output": {
    summary: "forms of output: tables, CSV, JSON, and errors for programs",
    lines: text(
      `Lists have --output ${
        outputs.join("|")
      }, and --columns to choose columns. CSV contains every column, every ` +
        "digit, and times in UTC. A text that a spreadsheet could run as a formula begins with an apostrophe.",
      "With --json, a command prints one document. Commands that keep running print one document per line. An " +
        'error is a document too: {"error":{"class","code","text","advice","exitCode"}}, and its text is also on stderr.',
      "In a narrow terminal a table omits columns and names them below. It never cuts order numbers, listing codes " +
        "or run keys.",
    ),
  },
  "time-zones": {
    summary: "in which time zone each time is shown",
    lines: text(
      "Tables show market times (of quotes, minute bars, fills, pushes and the portfolio) in Hong Kong time (HKT), " +
        "for every exchange. Runs, notices and leases are shown in UTC. Slots are shown in the " +
        "zone of their schedule. The title of the column names the zone.",
      "Dates are trading days of the exchange: a fill in New York at 03:59 HKT belongs to the day before. JSON and " +
        "CSV have times in UTC, except for members that the broker writes in the time of the exchange.",
    ),
  },
  "steps": {
    summary: "the built-in steps of recipes",
    lines: async () => {
      const { allStepKinds } = await import("../../lib/recipes/kinds/mod.ts");
      const rows = (await allStepKinds()).map(({ name, summary }) => [name, summary] as const);
      return [
        ...twoColumns(rows),
        "",
        ...wrap("A step can also be an operation of the catalogue or a TypeScript file.", 80),
      ];
    },
  },
  "functions": {
    summary: "functions that expressions of recipes can call",
    lines: async () => {
      const { expressionFunctions } = await import("../../lib/recipes/expressions/expressions.ts");
      const { own, cel } = expressionFunctions();
      return [
        ...own.flatMap(({ signature, meaning }) => [`  ${signature}`, `      ${meaning}`]),
        "",
        ...wrap(`Functions of CEL: ${cel.map(({ name }) => name).join(", ")}.`, 80),
      ];
    },
  },
};
