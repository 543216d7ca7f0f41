/**
 * Flags and arguments that several commands take: what they are called, and what `--help` says of them.
 *
 * @module
 */
import type { Flag } from "./command.ts";

/** The ledger, which must be there. */
export const ledger = {
  type: "string",
  value: "FILE",
  text: "the ledger (hsgate.db)",
} as const satisfies Flag;

/** The ledger, for whoever may be the first to use it. */
export const newLedger = {
  ...ledger,
  text: "the ledger, made where it is missing (hsgate.db)",
} as const satisfies Flag;

/** Where recipes are looked for. */
export const recipes = {
  type: "string",
  value: "DIR",
  text: "folder of the recipes (recipes)",
} as const satisfies Flag;

/** Where recipes are looked for, by whoever also asks the ledger where they were. */
export const servedRecipes = {
  ...recipes,
  text: "folder of the recipes (recipes, or where a scheduler found it)",
} as const satisfies Flag;

/** Where files of runs go. */
export const out = {
  type: "string",
  value: "DIR",
  text: "folder that the recipes' folders start from (the current one)",
} as const satisfies Flag;

/** Another present than the real one. */
export const now = {
  type: "string",
  value: "TIME",
  text: "take this time for the present: 2025-08-16T12:00:00+08:00",
} as const satisfies Flag;

/** Who decides. */
export const by = {
  type: "string",
  value: "NAME",
  text: "who you are (the user of this machine)",
} as const satisfies Flag;

/** Kind of the securities that are named. */
export const securityType = {
  type: "string",
  value: "TYPE",
  text: "kind of security, where the code does not tell (us-etf, …)",
} as const satisfies Flag;

/** Longest silence of the gateway's push port. */
export const pushIdle = {
  type: "string",
  value: "SECONDS",
  text: "replace a push connection that is silent for so long; 0 for never (300)",
} as const satisfies Flag;

/** Which lines of logs matter. */
export const logLevel = {
  type: "string",
  value: "LEVEL",
  text: "least level of log lines: debug, info, warn or error (debug)",
} as const satisfies Flag;

/** Which columns of a list are shown. */
export const columns = {
  type: "string",
  value: "LIST",
  text: "show these columns, with commas, and cut nothing",
} as const satisfies Flag;

/** What a run's key is, for the details of commands that take one. */
export const keyText = 'KEY is as "runs" lists it, or as much of its beginning as no other key has.';
