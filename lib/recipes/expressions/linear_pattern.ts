/**
 * Implements regular expressions whose cost is at most proportional to the length of the text times the size of the
 * pattern.
 *
 * JavaScript's regular expressions backtrack, and `^(a+)+$` can take practically forever. This implementation follows
 * all alternatives in parallel, like RE2, which CEL specifies for `matches`. It therefore supports no look-arounds
 * and no back-references.
 *
 * @module
 */

/** Longest pattern, characters. */
const MOST_PATTERN = 1_000;
/** Largest count in braces. */
const MOST_REPEATS = 1_000;
/** Maximum number of instructions after counts are written out. */
const MOST_SIZE = 5_000;

/** A parsed pattern. */
export interface LinearPattern {
  /** Number of instructions: the cost per character of a text. */
  size: number;
  /** Returns whether it matches anywhere in a text. */
  test(text: string): boolean;
}

/** Returns whether a code point matches. */
type Fits = (code: number) => boolean;
type Place = "start" | "end" | "line-start" | "line-end" | "word" | "no-word";

type Node =
  | { kind: "char"; fits: Fits }
  | { kind: "place"; place: Place }
  | { kind: "all"; nodes: Node[] }
  | { kind: "any"; nodes: Node[] }
  | { kind: "repeat"; node: Node; least: number; most: number };

type Instruction =
  | { op: "char"; fits: Fits }
  | { op: "place"; place: Place }
  | { op: "split"; targets: number[] }
  | { op: "match" };

/**
 * Parses a pattern: literals, classes, groups, alternatives, counts, `^ $ \b \B \A \z`, and the flags `(?ims)`.
 *
 * @throws {SyntaxError} If it is invalid, uses other syntax, or is too large.
 */
export function linearPattern(pattern: string): LinearPattern {
  if (pattern.length > MOST_PATTERN) {
    throw new SyntaxError(`the pattern is longer than ${MOST_PATTERN} characters`);
  }
  const program = programOf(new Reader(pattern).read());
  return { size: program.length, test: (text) => matches(program, text) };
}

const isDigit: Fits = (code) => code >= 48 && code <= 57;
const isWord: Fits = (code) =>
  isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95;
const isSpace: Fits = (code) => code === 32 || (code >= 9 && code <= 13 && code !== 11);
const shorthands: Readonly<Record<string, Fits>> = { d: isDigit, w: isWord, s: isSpace };
const controls: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, f: 12, v: 11, a: 7 };
const places: Readonly<Record<string, Place>> = { b: "word", B: "no-word", A: "start", z: "end" };
/** Named classes such as `[:alpha:]`, in the syntax of JavaScript. */
const named: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  digit: "0-9",
  lower: "a-z",
  punct: "!-\\/:-@\\[-`{-~",
  space: "\\t-\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};

interface Flags {
  i: boolean;
  m: boolean;
  s: boolean;
}

class Reader {
  readonly #pattern: string;
  #at = 0;
  #flags: Flags = { i: false, m: false, s: false };

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  read(): Node {
    const node = this.#alternatives();
    if (this.#at < this.#pattern.length) throw new SyntaxError('a ")" closes no group');
    return node;
  }

  #alternatives(): Node {
    const nodes: Node[] = [];
    do nodes.push(this.#sequence()); while (this.#take("|"));
    return nodes.length === 1 ? nodes[0]! : { kind: "any", nodes };
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    while (this.#at < this.#pattern.length && !/[|)]/.test(this.#pattern[this.#at]!)) {
      nodes.push(this.#repeated(this.#atom()));
    }
    return { kind: "all", nodes };
  }

  #repeated(node: Node): Node {
    const [text, sign, least, comma, most] = this.#match(/([*+?])|\{(\d+)(,?)(\d*)\}/y) ?? [];
    if (text === undefined) return node;
    this.#take("?"); // greedy and lazy repetitions match the same texts
    if (this.#match(/[*+?]|\{\d+,?\d*\}/y) !== undefined) {
      throw new SyntaxError("a repetition follows a repetition: put the first one into a group");
    }
    if (sign !== undefined) {
      return { kind: "repeat", node, least: sign === "+" ? 1 : 0, most: sign === "?" ? 1 : Infinity };
    }
    const [from, to] = [Number(least), most ? Number(most) : comma ? Infinity : Number(least)];
    if (from > to || Math.max(from, Number.isFinite(to) ? to : 0) > MOST_REPEATS) {
      throw new SyntaxError(
        `the count ${text} has the larger number first, or is larger than ${MOST_REPEATS}`,
      );
    }
    return { kind: "repeat", node, least: from, most: to };
  }

  #atom(): Node {
    if (this.#take("(")) return this.#group();
    if (this.#take("[")) return { kind: "char", fits: this.#class() };
    if (this.#take("^")) return { kind: "place", place: this.#flags.m ? "line-start" : "start" };
    if (this.#take("$")) return { kind: "place", place: this.#flags.m ? "line-end" : "end" };
    if (this.#take(".")) return { kind: "char", fits: this.#flags.s ? () => true : (code) => code !== 10 };
    if (this.#take("\\")) return this.#escape();
    if (/[*+?]/.test(this.#pattern[this.#at]!)) throw new SyntaxError("a repetition has nothing to repeat");
    return { kind: "char", fits: this.#literal(this.#code()) };
  }

  #group(): Node {
    const before = { ...this.#flags };
    const unsupported = this.#match(/\?(<?[=!])/y);
    if (unsupported !== undefined) {
      throw new SyntaxError(`look-arounds such as "(?${unsupported[1]}" are not supported`);
    }
    const named = this.#match(/\?P?<\w+>/y);
    const [text, on, off = "", end] = named === undefined
      ? this.#match(/\?([ims]*)(?:-([ims]+))?([:)])/y) ?? []
      : [];
    if (named === undefined && text === undefined && this.#pattern[this.#at] === "?") {
      throw new SyntaxError('a group begins with "(?", and what follows is not supported');
    }
    for (const flag of on ?? "") this.#flags[flag as keyof Flags] = true; // the pattern above allows only these three flags
    for (const flag of off) this.#flags[flag as keyof Flags] = false;
    if (end === ")") return { kind: "all", nodes: [] }; // flags for the rest of the enclosing group
    const node = this.#alternatives();
    if (!this.#take(")")) throw new SyntaxError('a group has no ")"');
    this.#flags = before;
    return node;
  }

  #escape(): Node {
    const sign = this.#pattern[this.#at++];
    if (sign === undefined) throw new SyntaxError('it ends with a "\\"');
    const place = places[sign];
    if (place !== undefined) return { kind: "place", place };
    const shorthand = shorthands[sign.toLowerCase()];
    if (shorthand !== undefined) {
      return { kind: "char", fits: sign in shorthands ? shorthand : (code) => !shorthand(code) };
    }
    const control = controls[sign];
    if (control !== undefined) return { kind: "char", fits: this.#literal(control) };
    const property = /[pP]/.test(sign) ? this.#match(/\{(\w+(?:=\w+)?)\}|(\w)/y) : undefined;
    if (property !== undefined) {
      const name = property[1] ?? property[2]!;
      // RE2 writes `\p{Greek}` where JavaScript needs `\p{Script=Greek}`.
      return { kind: "char", fits: this.#native(`\\${sign}{${name}}`, `\\${sign}{Script=${name}}`) };
    }
    const hex = sign === "x" ? this.#match(/\{([\da-fA-F]{1,6})\}|([\da-fA-F]{2})/y) : undefined;
    if (hex !== undefined) {
      return { kind: "char", fits: this.#literal(Number.parseInt(hex[1] ?? hex[2]!, 16)) };
    }
    const unicode = sign === "u" ? this.#match(/[\da-fA-F]{4}/y) : undefined;
    if (unicode !== undefined) return { kind: "char", fits: this.#literal(Number.parseInt(unicode[0], 16)) };
    if (/[1-9k]/.test(sign)) throw new SyntaxError(`back-references such as "\\${sign}" are not supported`);
    if (/[a-zA-Z0-9]/.test(sign)) throw new SyntaxError(`there is no "\\${sign}"`);
    this.#at--;
    return { kind: "char", fits: this.#literal(this.#code()) };
  }

  /** Parses a class with JavaScript's own regular expressions, which then test one character at a time. */
  #class(): Fits {
    const start = this.#at;
    let source = this.#take("^") ? "[^" : "[";
    if (this.#take("]")) source += "\\]";
    for (;;) {
      const [text, name] = this.#match(/\[:(\w+):\]|\\[\s\S]|[^\]\\]/y) ?? [];
      if (text === undefined) break;
      if (name !== undefined && named[name] === undefined) {
        throw new SyntaxError(`there is no class "${text}"`);
      }
      source += name !== undefined ? named[name] : text === "[" ? "\\[" : text;
    }
    if (!this.#take("]")) throw new SyntaxError(`the class "[${this.#pattern.slice(start)}" has no "]"`);
    return this.#native(`${source}]`);
  }

  #native(source: string, ...others: string[]): Fits {
    const flags = this.#flags.i ? "i" : "";
    let pattern: RegExp | undefined;
    // Try without the flag "u" last: a class may then contain needless backslashes.
    const variants = [source, ...others].map((each) => [each, `u${flags}`]);
    if (source.startsWith("[")) variants.push([source, flags]);
    for (const [text, flags] of variants) {
      try {
        pattern ??= new RegExp(`^${text}$`, flags);
      } catch {
        // Try the next variant. If there is none, the code below throws.
      }
    }
    if (pattern === undefined) throw new SyntaxError(`the class "${source}" cannot be read`);
    const native = pattern;
    const known = new Map<number, boolean>();
    return (code) => {
      const before = known.get(code);
      if (before !== undefined) return before;
      const fits = native.test(String.fromCodePoint(code));
      if (known.size < 4096) known.set(code, fits);
      return fits;
    };
  }

  #literal(code: number): Fits {
    if (!this.#flags.i || code > 0x10ffff) return (other) => other === code;
    const folded = String.fromCodePoint(code).toLowerCase();
    return (other) => other === code || String.fromCodePoint(other).toLowerCase() === folded;
  }

  #code(): number {
    const code = this.#pattern.codePointAt(this.#at)!; // only called before the end
    this.#at += code > 0xffff ? 2 : 1;
    return code;
  }

  #take(sign: string): boolean {
    if (this.#pattern[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#pattern);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found;
  }
}

function programOf(root: Node): Instruction[] {
  const program: Instruction[] = [];
  const add = (instruction: Instruction) => {
    if (program.length >= MOST_SIZE) throw new SyntaxError("its counts make it too large");
    program.push(instruction);
  };
  // An empty group adds no instruction, so its repetitions are counted separately.
  let written = 0;
  const write = (node: Node): void => {
    if (++written > MOST_SIZE * 4) throw new SyntaxError("its counts make it too large");
    if (node.kind === "char") return add({ op: "char", fits: node.fits });
    if (node.kind === "place") return add({ op: "place", place: node.place });
    if (node.kind === "all") return node.nodes.forEach(write);
    if (node.kind === "any") return writeAny(node.nodes);
    const { node: inner, least, most } = node;
    for (let count = 0; count < least; count++) write(inner);
    if (most === Infinity) return writeLoop(inner);
    const skips: number[][] = [];
    for (let count = least; count < most; count++) {
      const targets = [program.length + 1];
      add({ op: "split", targets });
      skips.push(targets);
      write(inner);
    }
    for (const targets of skips) targets.push(program.length);
  };
  const writeAny = (nodes: readonly Node[]) => {
    const starts: number[] = [];
    const ends: number[][] = [];
    add({ op: "split", targets: starts });
    for (const node of nodes) {
      starts.push(program.length);
      write(node);
      const targets: number[] = [];
      add({ op: "split", targets });
      ends.push(targets);
    }
    for (const targets of ends) targets.push(program.length);
  };
  const writeLoop = (node: Node) => {
    const start = program.length;
    const targets = [start + 1];
    add({ op: "split", targets });
    write(node);
    add({ op: "split", targets: [start] });
    targets.push(program.length);
  };
  write(root);
  program.push({ op: "match" });
  return program;
}

function matches(program: readonly Instruction[], text: string): boolean {
  /**
   * For each instruction, the last position at which it was reached, so that it is followed only once for each
   * position.
   */
  const seen = new Int32Array(program.length).fill(-1);
  let threads: number[] = [];
  const reach = (from: number, at: number, into: number[]): boolean => {
    const stack = [from];
    for (let index = stack.pop(); index !== undefined; index = stack.pop()) {
      if (seen[index] === at) continue;
      seen[index] = at;
      const instruction = program[index]!;
      if (instruction.op === "match") return true;
      if (instruction.op === "char") into.push(index);
      else if (instruction.op === "split") stack.push(...instruction.targets);
      else if (isAtPlace(instruction.place, text, at)) stack.push(index + 1);
    }
    return false;
  };
  for (let at = 0;;) {
    // A match may begin at any position. Matches that began earlier are already being followed.
    if (reach(0, at, threads)) return true;
    if (at >= text.length) return false;
    const code = text.codePointAt(at)!; // not at the end
    const next = at + (code > 0xffff ? 2 : 1);
    const following: number[] = [];
    for (const index of threads) {
      const instruction = program[index]!;
      if (instruction.op === "char" && instruction.fits(code) && reach(index + 1, next, following)) {
        return true;
      }
    }
    threads = following;
    at = next;
  }
}

function isAtPlace(place: Place, text: string, at: number): boolean {
  if (place === "start") return at === 0;
  if (place === "end") return at === text.length;
  if (place === "line-start") return at === 0 || text[at - 1] === "\n";
  if (place === "line-end") return at === text.length || text[at] === "\n";
  const isEdge = isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at)); // NaN is not a word character
  return isEdge === (place === "word");
}
