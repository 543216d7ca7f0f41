/**
 * Finds the modules that a TypeScript file imports, from its text, without running code or starting a process.
 *
 * @module
 */

/** A word, a quoted text, or a sign. */
interface Token {
  kind: "word" | "text" | "sign";
  value: string;
}

/** Words after which a `/` begins a regular expression. */
const BEFORE_PATTERN = new Set(
  ["return", "typeof", "case", "in", "of", "do", "else", "void", "delete", "throw", "new", "await", "yield"],
);

/**
 * Returns the module names in `import`, `export … from` and `import("…")`, as written, each once. Does not find names
 * that code computes.
 */
export function writtenImports(code: string): Set<string> {
  const tokens = tokensOf(code);
  const names = new Set<string>();
  for (const [index, { kind, value }] of tokens.entries()) {
    if (kind !== "word" || tokens[index - 1]?.value === ".") continue;
    const name = value === "import"
      ? importedName(tokens, index + 1)
      : value === "export" && isList(tokens, index + 1)
      ? nameAfterFrom(tokens, index + 1)
      : undefined;
    if (name !== undefined) names.add(name);
  }
  return names;
}

function importedName(tokens: readonly Token[], at: number): string | undefined {
  const [first, second, third] = tokens.slice(at, at + 3);
  if (first?.kind === "text") return first.value;
  if (!isSign(first, "(")) return nameAfterFrom(tokens, at);
  return second?.kind === "text" && (isSign(third, ")") || isSign(third, ",")) ? second.value : undefined;
}

/** Returns whether `*` or `{` follows at a position, possibly after the word `type`. */
function isList(tokens: readonly Token[], at: number): boolean {
  const first = tokens[at]?.value === "type" ? tokens[at + 1] : tokens[at];
  return isSign(first, "*") || isSign(first, "{");
}

/**
 * Returns the name after `from`, if only names, one pair of braces, commas and stars come before it. Ends at the next
 * `import` or `export` outside braces, so that the time is proportional to the number of tokens.
 */
function nameAfterFrom(tokens: readonly Token[], at: number): string | undefined {
  for (let inBraces = false, next = tokens[at]; next !== undefined; next = tokens[++at]) {
    const after = tokens[at + 1];
    if (!inBraces && next.value === "from" && after?.kind === "text") return after.value;
    if (!inBraces && next.kind === "word" && /^(im|ex)port$/.test(next.value)) return undefined;
    if (inBraces && isSign(next, "{")) return undefined;
    if (isSign(next, "}") && after?.value !== "from") return undefined;
    if (next.kind === "sign" && !"{},*".includes(next.value)) return undefined;
    if (next.kind === "text" && !inBraces) return undefined;
    inBraces = isSign(next, "{") || inBraces && !isSign(next, "}");
  }
  return undefined;
}

const isSign = (token: Token | undefined, value: string) => token?.kind === "sign" && token.value === value;

function tokensOf(code: string): Token[] {
  const tokens: Token[] = [];
  // Equal tokens are one object, because a file may consist of a million signs.
  const known = {
    word: new Map<string, Token>(),
    text: new Map<string, Token>(),
    sign: new Map<string, Token>(),
  };
  const add = (kind: Token["kind"], value: string) =>
    tokens.push(known[kind].getOrInsertComputed(value, () => ({ kind, value })));
  /** Number of open braces in the innermost template expression, or in the file outside of templates. */
  let braces = 0;
  /** The same number for the file and for each enclosing template expression, the outermost first. */
  const outerBraces: number[] = [];
  const patterns = {
    skipped: /\s+|\/\/.*|^#!.*/y,
    word: /[\p{ID_Start}$_#\d][\p{ID_Continue}$\u200c\u200d]*/uy,
    // Skip the flags of a regular expression.
    flags: /\w*/y,
  };
  const literals = new Literals(code);
  let at = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(code);
    if (found !== null) at = pattern.lastIndex;
    return found ?? undefined;
  };
  /** Moves to an offset, and returns the text before it. */
  const to = (end: number) => {
    const text = code.slice(at, end);
    at = end;
    return text;
  };
  while (at < code.length) {
    if (take(patterns.skipped) !== undefined) continue;
    const sign = code[at]!;
    if (sign === "/" && code[at + 1] === "*") {
      const end = code.indexOf("*/", at + 2);
      at = end < 0 ? code.length : end + 2;
      continue;
    }
    const endsExpression = sign === "}" && braces === 0 && outerBraces.length > 0;
    if (endsExpression) braces = outerBraces.pop()!;
    if (sign === "`" || endsExpression) {
      const text = to(templateEnd(code, at + 1));
      if (text.endsWith("${")) {
        outerBraces.push(braces);
        braces = 0;
      }
      // A template without expressions can name a module, like a quoted text.
      const isClosed = sign === "`" && text.length > 1 && text.endsWith("`");
      if (isClosed) add("text", unescaped(text.slice(1, -1)));
      else add("sign", "`");
      continue;
    }
    const textEnd = sign === '"' || sign === "'" ? literals.textEnd(sign, at + 1) : -1;
    const word = textEnd < 0 ? take(patterns.word) : undefined;
    const patternEnd = textEnd < 0 && sign === "/" && mayBeginPattern(tokens.at(-1))
      ? literals.patternEnd(at + 1)
      : -1;
    if (textEnd >= 0) add("text", unescaped(to(textEnd + 1).slice(1, -1)));
    else if (word !== undefined) add("word", word[0]);
    else if (patternEnd > at + 1) {
      at = patternEnd + 1;
      take(patterns.flags);
      add("text", "");
    } else {
      if (sign === "{") braces++;
      if (sign === "}") braces = Math.max(0, braces - 1);
      add("sign", sign);
      at++;
    }
  }
  return tokens;
}

/** Returns the offset after a template, or after the `${` of its next expression. */
function templateEnd(code: string, from: number): number {
  for (let at = from; at < code.length; at++) {
    if (code[at] === "\\") at++;
    else if (code[at] === "`") return at + 1;
    else if (code[at] === "$" && code[at + 1] === "{") return at + 2;
  }
  return code.length;
}

/**
 * Finds the ends of quoted texts and regular expressions. A file may have a million quotes that are never closed, and a
 * search from each of them would take quadratic time. So the ends for all offsets are computed once, from the end of
 * the file to its start.
 */
class Literals {
  readonly #code: string;
  readonly #ends = new Map<string, Int32Array>();

  constructor(code: string) {
    this.#code = code;
  }

  /** Returns the offset of the quote that closes a text which is open at an offset; -1 if its line ends before. */
  textEnd(quote: string, at: number): number {
    return this.#endsOf(quote, (ends, index) => {
      const sign = this.#code[index];
      if (sign === quote) return index;
      return sign === "\n" ? -1 : ends[index + (sign === "\\" ? 2 : 1)]!;
    })[at]!;
  }

  /**
   * Returns the offset of the `/` that closes a regular expression which is open at an offset; -1 if its line ends
   * before.
   */
  patternEnd(at: number): number {
    /** The ends for an offset inside a class such as `[/]`. */
    let inClass: Int32Array | undefined;
    return this.#endsOf("/", (ends, index) => {
      inClass ??= new Int32Array(ends.length).fill(-1);
      const sign = this.#code[index];
      const next = index + (sign === "\\" ? 2 : 1);
      const isOver = sign === "\n" ||
        sign === "\\" && /[\n\r\u2028\u2029]/.test(this.#code[index + 1] ?? "\n");
      inClass[index] = isOver ? -1 : sign === "]" ? ends[next]! : inClass[next]!;
      if (isOver) return -1;
      return sign === "/" ? index : sign === "[" ? inClass[next]! : ends[next]!;
    })[at]!;
  }

  /** Returns the end for each offset: -1 at the end of the file. */
  #endsOf(kind: string, endAt: (ends: Int32Array, index: number) => number): Int32Array {
    const known = this.#ends.get(kind);
    if (known !== undefined) return known;
    const ends = new Int32Array(this.#code.length + 3).fill(-1);
    for (let index = this.#code.length - 1; index >= 0; index--) ends[index] = endAt(ends, index);
    this.#ends.set(kind, ends);
    return ends;
  }
}

function mayBeginPattern(before: Token | undefined): boolean {
  if (before === undefined) return true;
  if (before.kind === "word") return BEFORE_PATTERN.has(before.value);
  return before.kind === "sign" && ![")", "]"].includes(before.value);
}

/** Returns the text of a literal. */
function unescaped(text: string): string {
  const plain: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", v: "\v", 0: "\0" };
  return text.replace(
    /\\(?:u\{([\da-f]+)\}|u([\da-f]{4})|x([\da-f]{2})|\r?\n|([^]))/gi,
    (_, braced?: string, four?: string, two?: string, other?: string) => {
      const hex = braced ?? four ?? two;
      if (hex !== undefined) return String.fromCodePoint(Math.min(parseInt(hex, 16), 0x10ffff));
      return other === undefined ? "" : plain[other] ?? other;
    },
  );
}
