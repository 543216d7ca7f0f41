/**
 * Defines the flags that several commands share.
 *
 * @module
 */
import type { Flag, Flags } from "./command.ts";

/** Path of the store, which must exist. */
export const store = {
  type: "string",
  value: "FILE",
  text: "the store: a file, or postgres://... (hsgate.db)",
} as const satisfies Flag;

/** Path of the store, for commands that create a missing store. */
export const newStore = {
  ...store,
  text: "the store, a file or postgres://..., created if missing (hsgate.db)",
} as const satisfies Flag;

/** Folder of the recipes. */
export const recipes = {
  type: "string",
  value: "DIR",
  text: "folder of the recipes (recipes)",
} as const satisfies Flag;

/** Folder of the recipes, for commands that also look for a recipe where a scheduler last loaded it. */
export const servedRecipes = {
  ...recipes,
  text: "folder of the recipes (recipes, or where a scheduler last loaded them)",
} as const satisfies Flag;

/** Folder for files that runs write. */
export const out = {
  type: "string",
  value: "DIR",
  text: "folder in which recipes write their files (the current one)",
} as const satisfies Flag;

/** A time to use instead of the real one. */
export const now = {
  type: "string",
  value: "TIME",
  text: "use this time as the present, such as 2025-08-16T12:00:00+08:00",
} as const satisfies Flag;

/** The person who makes a decision, for the record. */
export const by = {
  type: "string",
  value: "NAME",
  text: "who you are (the user of this machine)",
} as const satisfies Flag;

/** Kind of the given securities. */
export const securityType = {
  type: "string",
  value: "TYPE",
  text: "kind of security, if the code is ambiguous (us-etf, …)",
} as const satisfies Flag;

/** Maximum time without data on a push connection. */
export const pushIdle = {
  type: "string",
  value: "SECONDS",
  text: "replace a push connection after this time without data; 0 for never (300)",
} as const satisfies Flag;

/** Lowest level of log lines. */
export const logLevel = {
  type: "string",
  value: "LEVEL",
  text: 'lowest level of log lines: "debug", "info", "warn" or "error" (debug)',
} as const satisfies Flag;

/** Columns of a list. */
export const columns = {
  type: "string",
  value: "LIST",
  text: "show these columns, separated by commas, and cut nothing",
} as const satisfies Flag;

/** Forms of a list, as `--output` accepts them. */
export const outputs = ["table", "csv", "jsonl", "json", "md"] as const;

/** Flags of every command that prints a list. */
export const listing = {
  columns,
  output: {
    type: "string",
    value: "FORMAT",
    text: `form of the list: ${outputs.map((each) => `"${each}"`).join(", ")} (table)`,
  },
} as const satisfies Flags;

/** Explains run keys, for the help of commands. */
export const keyText = 'KEY is a run key from "runs", or its first letters if no other key begins with them.';
