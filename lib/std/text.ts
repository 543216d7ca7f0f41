/**
 * Typed exports of the text helpers of Deno std; names as in `@std/text`.
 *
 * @module
 */
import { levenshteinDistance as rawLevenshteinDistance } from "deno-std/text/levenshtein_distance.js";

/** Counts the letters to add, drop or change to get from one text to the other. */
export const levenshteinDistance: (from: string, to: string) => number = rawLevenshteinDistance;
