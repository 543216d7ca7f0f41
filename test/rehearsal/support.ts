/**
 * Shared parts of the rehearsal tests.
 *
 * @module
 */
import {
  type RehearsalResult,
  rehearse,
  type RehearseOptions,
  reportLines,
} from "../../lib/rehearsal/mod.ts";
import { type CompiledRecipe, compileRecipe } from "../../lib/recipes/mod.ts";

/** Compiles recipes, with a clock that shows 1 March 2025. */
export async function compiled(...texts: string[]): Promise<CompiledRecipe[]> {
  const now = () => Date.parse("2025-03-01T00:00:00Z");
  return await Promise.all(texts.map((text) => compileRecipe(text, "test.yaml", { now })));
}

/** Rehearses recipes that are given as texts. */
export async function rehearsed(
  texts: string | string[],
  days: [from: string, to: string],
  more: Partial<RehearseOptions> = {},
): Promise<RehearsalResult> {
  const recipes = await compiled(...[texts].flat());
  return await rehearse({ recipes, from: days[0], to: days[1], ...more });
}

/** Returns the lines of a report between a title and the next empty line, without their indent. */
export function sectionOf(result: RehearsalResult, title: string): string[] {
  const lines = reportLines(result);
  const start = lines.indexOf(`${title}:`) + 1;
  if (start === 0) return [];
  return lines.slice(start, lines.indexOf("", start)).map((line) => line.slice(2));
}

/** Returns the lines about slots that did not simply succeed. */
export const amiss = (result: RehearsalResult): string[] => sectionOf(result, "not a plain success");

export const FUNDS = `
name: funds
schedule: { calendar: XHKG, at: close+45m }
steps:
  - { id: funds, uses: account.funds, with: { market: hk } }
`;
