/**
 * Questions on a terminal: Enter takes what stands in brackets, and a wrong answer is asked for again.
 *
 * @module
 */
import { nearest } from "../../../../lib/client/nearest.ts";
import { UsageError } from "../../exit_codes.ts";
import type { Host } from "../../host.ts";
import { paint, plain } from "../../print.ts";

/** One of the answers to choose from. */
export interface Option<T extends string> {
  name: T;
  /** What it means, in a few words. */
  text: string;
}

/** A question that reads one answer. */
export interface Question<T> {
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
export async function ask<T>(host: Host, question: Question<T>): Promise<T> {
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
export function readOption<T extends string>(
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
