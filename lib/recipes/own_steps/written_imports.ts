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
 * Returns the module names in `import`, `export … from` and `import("…")`, as written. Does not find names that code
 * computes.
 */
export function writtenImports(code: string): string[] {
  const tokens = tokensOf(code);
  const names: string[] = [];
  for (const [index, { kind, value }] of tokens.entries()) {
    if (kind !== "word" || tokens[index - 1]?.value === ".") continue;
    const name = value === "import"
      ? importedName(tokens, index + 1)
      : value === "export" && isList(tokens, index + 1)
      ? nameAfterFrom(tokens, index + 1)
      : undefined;
    if (name !== undefined) names.push(name);
  }
  return names;
}

function importedName(tokens: readonly Token[], at: number): string | undefined {
  const [first, second, third] = tokens.slice(at, at + 3);
  if (first?.kind === "text") return first.value;
  if (!isSign(first, "(")) return nameAfterFrom(tokens, at);
  return second?.kind === "text" && (isSign(third, ")") || isSign(third, ",")) ? second.value : undefined;
}

/** Returns whether `*` or `{` follows at a position, or after the word `type` there. */
function isList(tokens: readonly Token[], at: number): boolean {
  const first = tokens[at]?.value === "type" ? tokens[at + 1] : tokens[at];
  return isSign(first, "*") || isSign(first, "{");
}

/** Returns the name after `from`, if only names, braces, commas and stars come before it. */
function nameAfterFrom(tokens: readonly Token[], at: number): string | undefined {
  for (let inBraces = false, next = tokens[at]; next !== undefined; next = tokens[++at]) {
    const after = tokens[at + 1];
    if (!inBraces && next.value === "from" && after?.kind === "text") return after.value;
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
  /** Open braces; `true` for the brace of a template expression. */
  const braces: boolean[] = [];
  const patterns = {
    skipped: /(?:\s+|\/\/.*|\/\*[^]*?(?:\*\/|$)|^#!.*)+/y,
    word: /[\p{ID_Start}$_#\d][\p{ID_Continue}$\u200c\u200d]*/uy,
    text: /"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'/y,
    // From a backtick, or from the brace after an expression, to the next expression or the end.
    template: /[`}](?:[^`\\$]|\\[^]|\$(?!\{))*(`|\$\{|$)/y,
    pattern: /\/(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y,
  };
  let at = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(code);
    if (found !== null) at = pattern.lastIndex;
    return found ?? undefined;
  };
  while (at < code.length) {
    if (take(patterns.skipped) !== undefined) continue;
    const sign = code[at]!;
    if (sign === "`" || sign === "}" && braces.pop()) {
      const [text, end] = take(patterns.template)!;
      if (end === "${") braces.push(true);
      // A template without expressions names a module like a quoted text.
      const isWhole = sign === "`" && end === "`";
      tokens.push(
        isWhole ? { kind: "text", value: unescaped(text.slice(1, -1)) } : { kind: "sign", value: "`" },
      );
      continue;
    }
    const text = take(patterns.text);
    const word = text === undefined ? take(patterns.word) : undefined;
    if (text !== undefined) tokens.push({ kind: "text", value: unescaped(text[0].slice(1, -1)) });
    else if (word !== undefined) tokens.push({ kind: "word", value: word[0] });
    else if (sign === "/" && mayBeginPattern(tokens.at(-1)) && take(patterns.pattern) !== undefined) {
      tokens.push({ kind: "text", value: "" });
    } else {
      if (sign === "{") braces.push(false);
      tokens.push({ kind: "sign", value: sign });
      at++;
    }
  }
  return tokens;
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
