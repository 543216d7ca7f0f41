/**
 * Removes secrets by value from everything that is stored or shown, wherever the secret came from.
 *
 * A secret is removed as plain text, as URLs, forms, headers, JSON and HTML encode it, in Base64 and in hex. It is also
 * removed if its escapes are escaped again, or if invisible characters interrupt it. By default, hsgate does not remove
 * a secret of fewer than four characters, or a number of fewer than six digits. Otherwise it would also remove ordinary
 * text, such as `hk` or `2025`. A secret of digits is removed only where it is a whole number, because six digits can
 * also be part of an order id.
 *
 * @module
 */
import { BrokerError } from "./errors.ts";
import { openRegularSync } from "./regular_files.ts";
import { cellText, hidden, markdownText, shownJson } from "./shown_text.ts";

/** Thrown for a file that contains the value of a secret. */
export class SecretInFileError extends BrokerError {
  override readonly name: string = "SecretInFileError";
}

/** Replaces a secret in a text. */
export const REPLACED = "[secret]";
const LEAST_LENGTH = 4;
const LEAST_DIGITS = 6;
/** A secret of at least this length is also removed inside longer words. */
const LEAST_WITHIN_WORDS = 6;
/** In a multi-line secret, each line of at least this length is also removed separately. */
const LEAST_LINE = 16;
/** Matches a number in JSON, or the quote at the start of a text. */
const JSON_START = /"|-?\d[\d.eE+-]*/g;
/** Matches the colon after a text that is a member name. */
const COLON = /\s*:/y;
/**
 * Returns whether a member name has only letters. hsgate's own names look like that, so such a name is kept, even if it
 * equals a password.
 */
const isPlainName = (name: string) => /^[a-z]+$/i.test(name);
/** A number with at most this many digits may occur in a table of figures by chance. */
const MOST_CHANCE_DIGITS = 9;

/** Returns the text with its percent codes decoded, or the same text if a code is invalid. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Returns a function that makes a value at its first call. A pattern with Unicode classes takes a millisecond to build,
 * and a program without an error needs no such pattern.
 */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => made ??= make();
}

const isDigits = (text: string) => /^\d+$/.test(text);

/** Returns whether a secret is long enough to be removed by its value. */
export function canBeRedacted(secret: string): boolean {
  return secret.length >= (isDigits(secret) ? LEAST_DIGITS : LEAST_LENGTH);
}

/** Options of a {@linkcode Redactor}. */
interface RedactorOptions {
  /** Called once for each secret that is too short to be removed, with its name. @default does nothing */
  onTooShort?: (name: string) => void;
  /**
   * Also removes shorter secrets, where they are whole words or numbers. Meant for the texts of errors, in which a
   * missing number does no damage.
   *
   * @default false
   */
  anyLength?: boolean;
}

/** Searches that find the secrets; `undefined` if there are no secrets. */
interface Patterns {
  all: Search | undefined;
  /** Does not find numbers that may occur in a table by chance. */
  certain: Search | undefined;
}

/** Finds secrets in a text. */
interface Search {
  pattern: RegExp;
  /**
   * Returns the beginnings of all forms, by the last three characters of the beginning. A form is one encoding of a
   * secret.
   */
  beginnings: () => ReadonlyMap<string, readonly Beginning[]>;
  /** Matches one character that may interrupt a form. */
  gap: RegExp;
}

/** The first `length` characters of a form. If a text was cut inside a secret, it shows only such a beginning. */
interface Beginning {
  form: string;
  length: number;
}

/** Removes secrets from texts and data. Add each secret with {@linkcode Redactor.add}. */
export class Redactor {
  readonly #onTooShort: (name: string) => void;
  readonly #anyLength: boolean;
  readonly #tooShort = new Set<string>();
  /** Secrets whose forms are not in `#forms` yet. */
  readonly #added = new Set<string>();
  readonly #forms = new Set<string>();
  /** Built at the first search after a secret was added. */
  #patterns: Patterns | undefined;

  /** Creates a redactor without any secrets; add them later. */
  constructor({ onTooShort = () => {}, anyLength = false }: RedactorOptions = {}) {
    this.#onTooShort = onTooShort;
    this.#anyLength = anyLength;
  }

  /**
   * Adds a secret. Returns whether it is long enough to be removed. If it is too short and has a name, calls
   * `onTooShort`.
   */
  add(secret: string, name?: string): boolean {
    if (secret === "" || !this.#anyLength && !canBeRedacted(secret)) {
      if (name !== undefined && !this.#tooShort.has(name)) {
        this.#tooShort.add(name);
        this.#onTooShort(name);
      }
      return false;
    }
    this.#added.add(secret);
    this.#patterns = undefined;
    return true;
  }

  get #pattern(): Search | undefined {
    return (this.#patterns ??= this.#built()).all;
  }

  get #certain(): Search | undefined {
    return (this.#patterns ??= this.#built()).certain;
  }

  #built(): Patterns {
    for (const secret of this.#added) for (const form of formsOf(secret)) this.#forms.add(form);
    this.#added.clear();
    const gap = this.#anyLength ? CLEANED : MASK;
    // Longest first: otherwise removing a shorter secret would leave parts of a longer one that contains it.
    const forms = [...this.#forms].sort((a, b) => b.length - a.length);
    const certain = forms.filter((form) => !isDigits(form) || form.length > MOST_CHANCE_DIGITS);
    return { all: searchFor(forms, gap), certain: searchFor(certain, gap) };
  }

  /** Returns the text without secrets. */
  text(text: string): string {
    return without(text, this.#pattern);
  }

  /** Returns the text without secrets, but keeps numbers that may occur in a table of figures by chance. */
  certainText(text: string): string {
    return without(text, this.#certain);
  }

  /**
   * Returns JSON without secrets. Changes only the content of texts and numbers and encodes them again, so the result
   * is valid JSON of the same shape.
   *
   * @param isOwnName Returns whether hsgate has chosen the name of a member. Such a name stays, even if a secret has
   * the same text.
   */
  jsonText(
    json: string,
    remove: (text: string) => string = (text) => this.text(text),
    isOwnName: (name: string) => boolean = isPlainName,
  ): string {
    if (this.#pattern === undefined) return json;
    let shown = "";
    let at = 0;
    for (let found; JSON_START.lastIndex = at, (found = JSON_START.exec(json)) !== null;) {
      const { index, 0: start } = found;
      const end = start === '"' ? endOfText(json, index) : index + start.length;
      const token = json.slice(index, end);
      const text: string = start === '"' ? JSON.parse(token) : token;
      COLON.lastIndex = end;
      const isKept = start === '"' && isOwnName(text) && COLON.test(json);
      const hidden = isKept ? text : remove(text);
      shown += json.slice(at, index) + (hidden === text ? token : JSON.stringify(hidden));
      at = end;
    }
    return shown + json.slice(at);
  }

  /** Returns a copy of plain data without secrets, in its keys, texts and numbers. */
  data(value: unknown): unknown {
    if (this.#pattern === undefined) return value;
    if (typeof value === "string") return this.text(value);
    if (typeof value === "number" || typeof value === "bigint") {
      const digits = String(value);
      const shown = this.text(digits);
      return shown === digits ? value : shown; // of a negative number, the sign remains
    }
    if (Array.isArray(value)) return value.map((each) => this.data(each));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [this.text(key), this.data(member)]),
    );
  }

  /** Removes secrets from an error before it is shown, and from its causes. */
  error(error: unknown): void {
    if (this.#pattern === undefined) return;
    for (let each = error; each instanceof Error; each = each.cause) {
      // `text` is the broker's own text.
      for (const name of ["message", "stack", "text"] as const) {
        const text: unknown = Reflect.get(each, name);
        if (typeof text !== "string" || this.text(text) === text) continue;
        // Some errors of the runtime have read-only members.
        Object.defineProperty(each, name, { value: this.text(text), configurable: true, writable: true });
      }
    }
  }

  /** Returns plain data as JSON without secrets. `undefined` becomes `null`, and a `bigint` becomes its digits. */
  json(value: unknown): string {
    const plain = JSON.stringify(value ?? null, (_key, each) => typeof each === "bigint" ? `${each}` : each);
    return JSON.stringify(this.data(JSON.parse(plain ?? "null")));
  }

  /**
   * Throws if a file contains a secret. Does not remove the secret, because that could change figures and the file
   * would no longer match its hash. Ignores short numbers, which can be in figures by chance, and compressed content.
   * Other work of the process can run between two pieces of the file, and aborting the signal ends the search.
   *
   * @throws {SecretInFileError} When the file contains a secret. The message names the file and not the secret.
   */
  async checkFile(path: string, signal?: AbortSignal): Promise<void> {
    let found = false;
    for (const isIn of this.#piecesWith(path)) {
      found = isIn;
      if (found) break;
      await new Promise((resolve) => setTimeout(resolve, 0));
      signal?.throwIfAborted();
    }
    if (!found) return;
    throw new SecretInFileError(
      `Cannot keep "${
        this.text(path)
      }": it contains the value of a secret; find out where the value comes from, then delete the file`,
      { code: "secret-in-file" },
    );
  }

  /** Returns whether a file contains a secret, with the exceptions of {@linkcode Redactor.checkFile}. */
  isInFile(path: string): boolean {
    for (const isIn of this.#piecesWith(path)) if (isIn) return true;
    return false;
  }

  /** Yields for each piece of a file whether it contains a secret. */
  *#piecesWith(path: string): Generator<boolean> {
    const certain = this.#certain;
    if (certain === undefined) return;
    // hsgate does not cut the texts of files, so this search ignores cut secrets.
    const search: Search = { ...certain, beginnings: () => new Map() };
    // An escape has up to 32 characters: `&amp;#x`, twenty zeros, `41;`.
    const overlap = Math.max(...[...this.#forms].map(({ length }) => length)) * 32;
    for (const text of chunksOf(path, overlap)) yield spansIn(text, search).length > 0;
  }
}

/** Returns where a text in JSON ends. A pattern would fail for a long text: it needs memory for each character. */
function endOfText(json: string, start: number): number {
  for (let at = start + 1;;) {
    const quote = json.indexOf('"', at);
    if (quote < 0) return json.length;
    let slashes = 0;
    while (json[quote - 1 - slashes] === "\\") slashes++;
    at = quote + 1;
    if (slashes % 2 === 0) return at;
  }
}

const CHUNK = 1024 * 1024;

/** Yields a file in pieces, each starting with the end of the previous piece. Yields nothing for a missing file. */
function* chunksOf(path: string, overlap: number): Generator<string> {
  let file: Deno.FsFile;
  try {
    file = openRegularSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  using _file = file;
  const decoder = new TextDecoder();
  const bytes = new Uint8Array(CHUNK);
  let tail = "";
  for (let count; (count = file.readSync(bytes)) !== null;) {
    const text = tail + decoder.decode(bytes.subarray(0, count), { stream: true });
    yield text;
    tail = text.slice(-overlap);
  }
}

/** Replaces each invisible character while secrets are searched. It is itself such a character. */
const MASK = "\u200b";
/** Matches an invisible character in an error, where a space may have replaced the character. */
const CLEANED = `[\\s${MASK}]`;
/** Matches every invisible character. */
const invisible = once(() => new RegExp(`${hidden().source}|\\p{DI}`, "gu"));
/**
 * Matches a text in which a secret may be escaped, interrupted or cut. Other texts are searched only once. Of the wide
 * characters, it matches only letters and digits, because Chinese texts are full of wide commas.
 */
const disguise = once(() =>
  new RegExp(
    `[\\\\&%…\\uff10-\\uff19\\uff21-\\uff3a\\uff41-\\uff5a]|_x[\\da-fA-F]{4}_|${invisible().source}`,
    "u",
  )
);
/** Escapes in escapes are decoded this many times. */
const MOST_LEVELS = 8;
/** In a longer form, invisible characters are not searched, because the pattern would be too large. */
const MOST_INTERRUPTED = 60;

/**
 * Matches an escape of JSON or of a programming language, of HTML, of URLs or of Excel for one character, or the wide
 * form of a character. A percent sign or `&` that was escaped several times is matched as a whole.
 */
const escapes = once(() =>
  new RegExp(
    [
      String.raw`\\(?-i:U)(?<hex>[\da-f]{8})|(?:\\u{1,9}|%u)(?<hex>[\da-f]{4})|\\x(?<hex>[\da-f]{2})`,
      String
        .raw`\\(?:[ux]\{|N\{U\+)0{0,20}(?<hex>[\da-f]{1,6})\}|_x(?<hex>[\da-f]{4})_|(?<wide>[\uff01-\uff5e])`,
      String.raw`(?<many>%)(?:25){2,50}|(?<many>&)(?:amp;){2,50}`,
      String.raw`\\o\{(?<octal>[0-7]{1,7})\}|\\(?<octal>[0-3]?[0-7]{1,2})`,
      String.raw`\\(?<same>[^\w])|\\(?<control>[nrtbfv])`,
      String.raw`&#x0{0,20}(?<hex>[\da-f]{1,6});?|&#0{0,20}(?<decimal>\d{1,7});?|&(?<name>[a-z]{2,6});`,
      // Read percent codes as UTF-8 if possible, and otherwise as Latin-1.
      String
        .raw`(?<utf8>%(?:[0-7][\da-f]|[cd][\da-f]%[89ab][\da-f]|e[\da-f](?:%[89ab][\da-f]){2}|f[0-7](?:%[89ab][\da-f]){3}))`,
      String.raw`%(?<hex>[89a-f][\da-f])`,
    ].join("|"),
    "gi",
  )
);
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", v: "\v" };
/** The characters of ASCII that have a name in HTML. */
const NAMED = new Map(
  (
    "amp& lt< gt> quot\" apos' excl! num# dollar$ percnt% lpar( rpar) ast* plus+ comma, period. sol/ colon: semi; " +
    "equals= quest? commat@ lsqb[ lbrack[ bsol\\ rsqb] rbrack] Hat^ lowbar_ grave` lcub{ lbrace{ verbar| vert| rcub} rbrace}"
  ).split(" ").map((each): [string, string] => [each.slice(0, -1), each.slice(-1)]),
);

/** A text as a reader may decode it. `starts` are the places of its characters in the original text, if they differ. */
interface View {
  text: string;
  starts?: Uint32Array;
}

const masked = (text: string) => text.replace(invisible(), (found) => MASK.repeat(found.length));

/** Returns the view with its escapes decoded once, or `undefined` if it contains none. */
function decodedView({ text, starts }: View): View | undefined {
  const places = new Uint32Array(text.length + 1);
  let decoded = "";
  let at = 0;
  const copyTo = (end: number) => {
    for (let index = at; index < end; index++) places[decoded.length + index - at] = starts?.[index] ?? index;
    decoded += text.slice(at, end);
    at = end;
  };
  for (const found of text.matchAll(escapes())) {
    const meant = meaningOf(found);
    if (meant === undefined) continue;
    copyTo(found.index);
    places.fill(starts?.[found.index] ?? found.index, decoded.length, decoded.length + meant.length);
    decoded += meant;
    at += found[0].length;
  }
  if (at === 0) return undefined;
  copyTo(text.length);
  places[decoded.length] = starts?.[text.length] ?? text.length;
  return { text: masked(decoded), starts: places };
}

/** Returns the character that an escape stands for; `undefined` if the escape is invalid. */
function meaningOf(
  { groups: { hex, octal, decimal, same, control, name, utf8, many, wide } = {} }: RegExpExecArray,
) {
  if (many !== undefined) return many;
  if (wide !== undefined) return String.fromCharCode(wide.charCodeAt(0) - 0xfee0);
  const [digits, base] = hex !== undefined ? [hex, 16] : octal !== undefined ? [octal, 8] : [decimal, 10];
  if (digits !== undefined) {
    const point = Number.parseInt(digits, base);
    return point <= 0x10ffff ? String.fromCodePoint(point) : undefined;
  }
  if (name !== undefined) return NAMED.get(name) ?? NAMED.get(name.toLowerCase());
  if (control !== undefined) return CONTROLS[control.toLowerCase()];
  return utf8 === undefined ? same : decoded(utf8);
}

/** Returns the places of secrets in a text, in order and without overlaps. */
function spansIn(text: string, search: Search): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  let view: View | undefined = disguise().test(text) ? { text: masked(text) } : { text };
  for (let level = 0; view !== undefined && level <= MOST_LEVELS; level++) {
    const { text: seen, starts } = view;
    for (const { start, end } of placesIn(seen, search)) {
      found.push({ start: starts?.[start] ?? start, end: starts?.[end] ?? end });
    }
    view = decodedView(view);
  }
  const merged: typeof found = [];
  for (const span of found.sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last !== undefined && span.start < last.end) last.end = Math.max(last.end, span.end);
    else merged.push(span);
  }
  return merged;
}

/**
 * Yields the places of whole secrets. Then yields the places where the text was cut inside a secret. Decodes no
 * escapes.
 */
function* placesIn(text: string, search: Search): Generator<{ start: number; end: number }> {
  for (const { index, 0: { length } } of text.matchAll(search.pattern)) {
    yield { start: index, end: index + length };
  }
  for (const { index, 0: found, 1: escape = "" } of text.matchAll(CUT)) {
    const end = index + found.length - 1;
    const start = beginningAt(text, index + escape.length, search) ?? beginningAt(text, index, search);
    if (start !== undefined) yield { start, end };
  }
}

/**
 * Matches the mark `…`, which hsgate puts where it cuts a text. It may cut a text before it removes the secrets, so a
 * part of a secret can precede the mark. The cut may be within an escape, and a space may precede the mark.
 */
const CUT = /([\\%&][\w#{]{0,28})? ?…/g;
/** A shorter beginning of a secret is not removed from a cut text. */
const LEAST_BEGINNING = 3;

/** Returns the start of the longest beginning of a secret that ends at this place; `undefined` if there is none. */
function beginningAt(text: string, end: number, { beginnings, gap }: Search): number | undefined {
  let last = "";
  let at = end;
  const take = () => {
    while (at > 0 && gap.test(text[at - 1]!)) at--;
    return at > 0 ? text[--at]! : "";
  };
  while (last.length < LEAST_BEGINNING) {
    const each = take();
    if (each === "") return undefined;
    last = each + last;
  }
  const shown = at;
  // The longest first.
  for (const { form, length } of beginnings().get(last) ?? []) {
    at = shown;
    let left = length - LEAST_BEGINNING;
    while (left > 0 && take() === form[left - 1]) left--;
    if (left === 0 && mayBegin(form, text.slice(Math.max(0, at - 2), at))) return at;
  }
  return undefined;
}

/** Returns whether a form may begin after this text. */
function mayBegin(form: string, before: string): boolean {
  const bound = boundOf(form);
  if (bound === "none") return true;
  return !(bound === "digits" ? /[0-9]$|[0-9][.,]$/ : /[A-Za-z0-9]$/).test(before);
}

/** Returns the text without secrets. */
function without(text: string, search: Search | undefined): string {
  if (search === undefined) return text;
  if (!disguise().test(text)) return text.replace(search.pattern, REPLACED);
  let shown = "";
  let at = 0;
  for (const { start, end } of spansIn(text, search)) {
    shown += text.slice(at, start) + REPLACED;
    at = end;
  }
  return shown + text.slice(at);
}

/**
 * Patterns for the text directly before and after a form. The key is the boundary that the form needs: none, a whole
 * word, or a whole number.
 */
const bounds = {
  none: ["", ""],
  word: ["(?<![A-Za-z0-9])", "(?![A-Za-z0-9])"],
  // A whole number: not part of a longer number or of an amount with decimals.
  digits: ["(?<![0-9]|[0-9][.,])", "(?![0-9]|[.,][0-9])"],
} as const;

const boundOf = (form: string) =>
  isDigits(form) ? "digits" : form.length >= LEAST_WITHIN_WORDS ? "none" : "word";

/** Returns the search for forms; the longest form must come first. */
function searchFor(forms: readonly string[], gap: string): Search | undefined {
  if (forms.length === 0) return undefined;
  let found: Map<string, Beginning[]> | undefined;
  return {
    pattern: patternOf(forms, gap),
    beginnings: () => found ??= beginningsOf(forms, gap),
    gap: new RegExp(gap),
  };
}

/** Returns the beginnings of the forms, the longest first, by their last characters. */
function beginningsOf(forms: readonly string[], gap: string): Map<string, Beginning[]> {
  const visible = forms.map((form) => masked(form).replaceAll(new RegExp(gap, "g"), ""));
  const all = visible.flatMap((form) =>
    Array.from({ length: Math.max(0, form.length - LEAST_BEGINNING) }, (_, index): Beginning => ({
      form,
      length: LEAST_BEGINNING + index,
    }))
  );
  all.sort((one, other) => other.length - one.length);
  return Map.groupBy(all, ({ form, length }) => form.slice(length - LEAST_BEGINNING, length));
}

/** Returns a pattern that matches the forms; the longest form must come first. */
function patternOf(forms: readonly string[], gap: string): RegExp {
  const parts = Object.entries(bounds).flatMap(([bound, [before, after]]) => {
    const pieces = forms.filter((form) => boundOf(form) === bound).map((form) => piecesOf(form, gap));
    return pieces.length === 0 ? [] : `${before}(?:${oneOf(pieces)})${after}`;
  });
  return new RegExp(parts.join("|"), "g");
}

/**
 * Returns a pattern that matches one of several lists of pieces. Lists that begin alike share that part of the pattern.
 * Otherwise a text that repeats the beginning of many forms would be searched once for each of these forms.
 */
function oneOf(lists: readonly (readonly string[])[]): string {
  const [first = []] = lists;
  if (lists.length === 1) return first.join("");
  const alternatives = [...Map.groupBy(lists, ([piece]) => piece)].map(([piece, group]) =>
    piece === undefined ? "" : `${piece}${oneOf(group.map((list) => list.slice(1)))}`
  );
  // The empty alternative is last, so that the longest form is found.
  return alternatives.length === 1
    ? alternatives[0]!
    : `(?:${alternatives.filter(Boolean).concat(alternatives.includes("") ? "" : []).join("|")})`;
}

/** Returns the pieces of a pattern that matches a form, also with invisible characters inside. */
function piecesOf(form: string, gap: string): string[] {
  const hidden = masked(form);
  const visible = hidden.replaceAll(MASK, "");
  if (form.length > MOST_INTERRUPTED || visible === "") return [RegExp.escape(hidden)];
  // In an error, a gap can be a space. A gap next to a space would match the same text in many ways, which is slow. So
  // each run of spaces in the form becomes one gap.
  const words = gap === CLEANED ? visible.split(/\s+/) : [visible];
  return words.flatMap((word, index) => {
    const pieces = word.split("").flatMap((each, at) =>
      at === 0 ? [RegExp.escape(each)] : [`${gap}*`, RegExp.escape(each)]
    );
    return index === 0 ? pieces : [`${gap}+`, ...pieces];
  });
}

/** Yields every encoding in which a secret may appear. */
function* formsOf(secret: string): Generator<string> {
  const bytes = new TextEncoder().encode(secret);
  const url = encodeURIComponent(secret);
  const form = new URLSearchParams([["", secret]]).toString().slice(1);
  const json = JSON.stringify(secret).slice(1, -1);
  const cell = cellText(`a${secret}`).slice(1).replaceAll('"', '""');
  // A server may write an accent as a character of its own, or as part of a letter.
  const accents = [secret.normalize("NFC"), secret.normalize("NFD")];
  // Some languages escape each byte of UTF-8.
  yield Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  // Decoding a text also decodes what looks like an escape in the secret itself.
  for (let view = decodedView({ text: secret }); view !== undefined; view = decodedView(view)) {
    if (canBeRedacted(view.text)) yield view.text;
  }
  for (const text of [secret, ...accents, url, form, json, shownJson(json), cell, markdownText(secret)]) {
    yield text;
    yield text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
    yield text.replaceAll("/", "\\/"); // some JSON writers escape slashes
  }
  yield bytes.toHex();
  yield bytes.toHex().toUpperCase();
  for (const text of base64Of(bytes)) {
    if (text.length < LEAST_WITHIN_WORDS) continue;
    yield text;
    yield text.replaceAll("+", "-").replaceAll("/", "_");
    yield encodeURIComponent(text);
  }
  const lines = secret.split(/\r?\n/);
  if (lines.length < 2) return;
  for (const line of lines) if (line.length >= LEAST_LINE && !line.startsWith("-----")) yield line;
}

/** Yields the Base64 of the bytes, and the part that is the same inside the Base64 of longer data. */
function* base64Of(bytes: Uint8Array): Generator<string> {
  yield bytes.toBase64();
  yield bytes.toBase64({ omitPadding: true });
  for (const before of [0, 1, 2]) {
    const text = new Uint8Array([...new Uint8Array(before), ...bytes]).toBase64({ omitPadding: true });
    // Leave off the characters that also encode bits of the bytes before or after.
    const first = [0, 2, 3][before];
    const last = (before + bytes.length) % 3 === 0 ? text.length : text.length - 1;
    yield text.slice(first, last);
  }
}
