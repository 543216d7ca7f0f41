/**
 * Writes the tables of `docs/guards.md` from the list of the guard rails.
 *
 * @module
 */
import { type LimitName, limitTable } from "../../lib/client/limits.ts";
import { rules } from "../../lib/desk/guards/rules.ts";

const markOf = (what: string) =>
  `<!-- Written by \`deno task docs\` from lib/desk/guards/rules.ts: edit there. ${what}. -->`;
/** Marks of the places in `docs/guards.md` where the tables stand, and of their ends. */
export const LIMITS_BEGIN = markOf("Limits");
export const MARKET_BEGIN = markOf("Rules of the market");
export const TABLE_END = "<!-- End of the table. -->";

const isLimit = (name: string): name is LimitName => Object.hasOwn(limitTable, name);
const rowOf = (...cells: readonly string[]) => `| ${cells.join(" | ")} |`;

/** Returns the table of the rules that a setting sets, in the order of the settings. */
function limits(): string {
  const names = Object.keys(limitTable).filter(isLimit); // the table has exactly these keys
  return [
    rowOf("Setting", "Default", "What it limits"),
    rowOf("---", "---", "---"),
    ...names.map((name) => {
      const rule = rules.find((each) => each.name === name);
      if (rule === undefined) throw new TypeError(`Cannot write docs/guards.md: no rule checks "${name}"`);
      const { fallback } = limitTable[name];
      return rowOf(`\`${name}\``, fallback === undefined ? "none" : `\`${fallback}\``, rule.about);
    }),
  ].join("\n");
}

/** Returns the table of the rules without a setting. */
function market(): string {
  const own = rules.filter(({ name }) => !isLimit(name));
  return [
    rowOf("Rule", "What it refuses"),
    rowOf("---", "---"),
    ...own.map(({ name, about }) => rowOf(`\`${name}\``, about)),
  ].join("\n");
}

/**
 * Returns a page with the tables at their marks.
 *
 * @throws {TypeError} If the page lacks a mark, or if no rule checks a limit.
 */
export function withGuards(page: string): string {
  let text = page;
  for (const [mark, table] of [[LIMITS_BEGIN, limits()], [MARKET_BEGIN, market()]] as const) {
    const begin = text.indexOf(mark);
    const end = text.indexOf(TABLE_END, begin);
    if (begin < 0 || end < 0) {
      throw new TypeError("Cannot write docs/guards.md: it lacks the marks of a table");
    }
    text = `${text.slice(0, begin)}${mark}\n\n${table}\n\n${text.slice(end)}`;
  }
  return text;
}
