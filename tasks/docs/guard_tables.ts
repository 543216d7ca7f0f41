/**
 * Writes the tables of `docs/guards.md` from the list of the guard rails.
 *
 * @module
 */
import { type LimitName, limitTable } from "../../lib/client/limits.ts";
import { rules } from "../../lib/desk/guards/rules.ts";
import { withTables } from "./markdown.ts";

const markOf = (what: string) =>
  `<!-- Written by \`deno task docs\` from lib/desk/guards/rules.ts: edit there. ${what}. -->`;
/** Marks of the beginning of each table in `docs/guards.md`. */
export const LIMITS_BEGIN = markOf("Limits");
export const MARKET_BEGIN = markOf("Rules of the market");

const isLimit = (name: string): name is LimitName => Object.hasOwn(limitTable, name);
const rowOf = (...cells: readonly string[]) => `| ${cells.join(" | ")} |`;

/** Returns the table of the rules that have a setting, in the order of the settings. */
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

/** Returns the page with its tables. */
export const withGuards = (page: string): string =>
  withTables(page, { name: "docs/guards.md", tables: [[LIMITS_BEGIN, limits()], [MARKET_BEGIN, market()]] });
