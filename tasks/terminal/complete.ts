/**
 * Completes command lines for shells, from the descriptions of the commands.
 *
 * @module
 */
import { type Command, type Flag, type Flags, flagsOf, sharedFlags } from "./command.ts";

/** A word that may come next, with its explanation. */
export interface Candidate {
  word: string;
  text?: string;
}

/** Returns the names that can replace a placeholder of a usage line, such as the recipes for `RECIPE`. */
type NamesOf = (kind: string) => Promise<readonly string[]>;

/**
 * Returns the words that can complete the last word of a command line.
 *
 * @param words The words after the program name. The last one may be incomplete or empty.
 */
export async function complete(
  commands: readonly Command[],
  words: readonly string[],
  namesOf: NamesOf,
): Promise<Candidate[]> {
  // bash splits "--flag=value" into "--flag", "=" and the value.
  const given = words.at(-1) === "=" ? [...words, ""] : words;
  const parts = given.filter((word) => word !== "=");
  const last = parts.at(-1) ?? "";
  const before = parts.slice(0, -1);
  const isHelp = before[0] === "help";
  const { plain, waiting } = readWords(isHelp ? before.slice(1) : before, commands);
  if (waiting !== undefined) return startingWith(valuesOf(waiting).map((word) => ({ word })), last);
  const command = commandOf(commands, plain);
  const [, name] = /^--([^=]+)=/.exec(last) ?? [];
  if (name !== undefined) {
    return startingWith(
      valuesOf(flagsFor(command)[name]).map((word) => ({ word: `--${name}=${word}` })),
      last,
    );
  }
  if (last.startsWith("-")) {
    const flags = Object.entries(flagsFor(command)).map(([name, { text }]) => ({ word: `--${name}`, text }));
    const more = before.length === 0 ? [{ word: "--version", text: "show the version" }] : [];
    return startingWith([...flags, ...more], last);
  }
  const next = nextWords(commands, plain);
  if (before.length === 0) next.push({ word: "help", text: "explain a command or a topic" });
  if (isHelp && before.length === 1) {
    const known = (await namesOf("TOPIC")).map((word) => ({ word }));
    return startingWith([...next, ...known], last);
  }
  if (command === undefined || isHelp) return startingWith(next, last);
  const at = plain.length - command.name.split(" ").length;
  return startingWith([...next, ...await argumentsOf(command, at, namesOf)], last);
}

/** Returns the words without flags and their values. `waiting` is the flag whose value comes next. */
function readWords(
  words: readonly string[],
  commands: readonly Command[],
): { plain: string[]; waiting?: Flag } {
  const plain: string[] = [];
  let waiting: Flag | undefined;
  for (const word of words) {
    if (waiting !== undefined) waiting = undefined;
    else if (!word.startsWith("-")) plain.push(word);
    else if (!word.includes("=")) {
      const flag = flagsFor(commandOf(commands, plain))[word.slice(2)];
      if (flag !== undefined && flag.type !== "boolean") waiting = flag;
    }
  }
  return { plain, ...waiting !== undefined && { waiting } };
}

const flagsFor = (command: Command | undefined): Flags =>
  command === undefined ? sharedFlags : flagsOf(command);

/** Returns the command whose name is at the start of the words, with the longest name if several match. */
function commandOf(commands: readonly Command[], plain: readonly string[]): Command | undefined {
  return commands.filter(({ name }) => name.split(" ").every((word, index) => plain[index] === word))
    .sort((a, b) => b.name.length - a.name.length)[0];
}

/** Returns the next words of all command names that begin with these words. */
function nextWords(commands: readonly Command[], plain: readonly string[]): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const { name, summary } of commands) {
    const parts = name.split(" ");
    const word = parts[plain.length];
    if (word === undefined || !plain.every((each, index) => parts[index] === each)) continue;
    const isLastWord = parts.length === plain.length + 1;
    const known = found.get(word);
    found.set(word, { word, text: isLastWord || known === undefined ? summary : known.text });
  }
  return [...found.values()];
}

/** Returns candidates for the argument at one position of the usage line. */
async function argumentsOf(command: Command, at: number, namesOf: NamesOf): Promise<Candidate[]> {
  const { usage, flags } = command;
  const tokens = usage.replaceAll(/[[\]]/g, "").replaceAll(/\s*\|\s*/g, "|")
    .replaceAll(/--(\S+)( [A-Z]+)?/g, (_, flag, value = "") => flags[flag]?.type === "boolean" ? value : "")
    .trim().split(/\s+/).filter((token) => token !== "");
  const isMany = /…|\.\.\./.test(usage);
  const places = tokens.filter((token) => token !== "…");
  const token = places[at] ?? (isMany ? places.at(-1) : undefined);
  if (token === undefined) return [];
  const all = await Promise.all(
    token.split("|").map(async (each) =>
      /^[a-z-]+$/.test(each) ? [each] : await namesOf(each.replaceAll(/[^A-Z]/g, ""))
    ),
  );
  // A name that begins with a dash would become a flag, such as `--yes`.
  return all.flat().filter((word) => !word.startsWith("-")).map((word) => ({ word }));
}

/** Returns the quoted words in the text of a flag, which are its possible values. */
const valuesOf = (flag: Flag | undefined): string[] =>
  [...(flag?.text ?? "").matchAll(/"([a-z][a-z0-9-]*)"/g)].map(([, word = ""]) => word);

const startingWith = (candidates: readonly Candidate[], last: string) =>
  candidates.filter(({ word }) => word.startsWith(last));
