/**
 * The two recipes of a working folder: ready ones of the toolkit with their comments, changed where the answers differ.
 *
 * @module
 */
import { isMap, isPair, isScalar, parseDocument, type Range } from "yaml";
import type { Market } from "../../../../lib/dictionaries/market.ts";
import type { Answers } from "./answers.ts";
import type { PlannedFile } from "./work_folder.ts";

/** The schema, as a recipe's editor finds it. */
export const SCHEMA = "recipe.schema.json";

/** A place in a recipe, and what stands there instead; nothing takes the member away. */
type Change = readonly [path: readonly (string | number)[], text: string | undefined];

/** Securities whose quotes are written, as long as nobody names others. */
const quotes: Readonly<Record<Market, readonly string[]>> = {
  hk: ["00700.HK", "00005.HK"],
  us: ["AAPL"],
  shanghai: ["600519.SH"],
  shenzhen: ["000333.SZ"],
};

/** Makes the recipes. `root` is the folder of the toolkit. */
export async function recipesFor(answers: Answers, root: URL): Promise<PlannedFile[]> {
  const { calendar, markets, way } = answers;
  const named = `[${markets.join(", ")}]`;
  const changes: Readonly<Record<string, readonly Change[]>> = {
    "end_of_day.yaml": [
      [["schedule", 0, "calendar"], calendar],
      [["schedule", 1, "calendar"], calendar],
      [["steps", 0, "with", "markets"], named],
      // Few accounts have futures, and the broker refuses their lists to all others.
      [["steps", 0, "with", "accounts"], way === "simulator" ? "[securities, futures]" : "[securities]"],
    ],
    "morning_snapshot.yaml": [
      [["schedule", "calendar"], calendar],
      [["steps", 0, "with", "account"], named],
      [["steps", 0, "with", "holdings"], named],
      [["steps", 0, "with", "quotes"], `[${markets.flatMap((market) => quotes[market]).map(quoted)}]`],
      ...markets.includes("us") ? [] : [[["steps", 0, "with", "optionChain"], undefined] as const],
    ],
  };
  return await Promise.all(
    Object.entries(changes).map(async ([name, its]) => {
      const path = `recipes/${name}`;
      const text = changed(await Deno.readTextFile(new URL(path, root)), its);
      return { path, text: headed(text, answers) };
    }),
  );
}

/** Codes of digits would be numbers without quotes. */
const quoted = (code: string, index: number) =>
  `${index === 0 ? "" : " "}${/^\d/.test(code) ? `"${code}"` : code}`;

/** The text with the schema's line before it, and the way to the broker where it is not that of the settings. */
function headed(text: string, { way }: Answers): string {
  const first = `# yaml-language-server: $schema=../${SCHEMA}\n`;
  if (way !== "simulator") return first + text;
  const line =
    "# A simulated broker inside the process that runs it. Without this line the settings say where the broker is.\n" +
    "connect: simulator\n";
  return first + text.replace(/^(schedule:)/m, `${line}$1`);
}

/** Puts texts in place of values, so that comments and everything else stay as they are. */
function changed(text: string, changes: readonly Change[]): string {
  const document = parseDocument(text);
  const edits = changes.map(([path, instead]) => {
    const [from, to] = instead === undefined
      ? linesOf(text, path)
      : rangeOf(document.getIn(path, true), path);
    return { from, to, text: instead ?? "" };
  });
  return edits.sort((a, b) => b.from - a.from)
    .reduce((all, { from, to, text }) => all.slice(0, from) + text + all.slice(to), text);

  function linesOf(text: string, path: Change[0]): [number, number] {
    const parent = document.getIn(path.slice(0, -1), true);
    const pair = isMap(parent)
      ? parent.items.find((each) => isPair(each) && isScalar(each.key) && each.key.value === path.at(-1))
      : undefined;
    const [from] = rangeOf(pair?.key, path);
    const [, to] = rangeOf(pair?.value, path);
    return [text.lastIndexOf("\n", from) + 1, text.indexOf("\n", to - 1) + 1];
  }
}

function rangeOf(node: unknown, path: Change[0]): [number, number] {
  const range = typeof node === "object" && node !== null && "range" in node
    // Every node of a parsed document has its range.
    ? node.range as Range
    : undefined;
  if (range === undefined) throw new Error(`a ready recipe lacks ${path.join(".")}`);
  return [range[0], range[1]];
}
