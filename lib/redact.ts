/**
 * Takes secrets out of whatever is stored or shown, by their value: it does not matter where they came from.
 *
 * A value is taken out as it is, as an address, a form, a header and JSON write it, in Base64 and in hex. Not every
 * value can be: one of fewer than four characters, or of fewer than six digits, would turn markets and years into
 * stars, and is no secret. Digits are taken out where they stand as a number of their own, as a password of six
 * digits is also part of many an order id.
 *
 * @module
 */
import { BrokerError } from "./errors.ts";

/** A file holds the value of a secret. */
export class SecretInFileError extends BrokerError {
  override readonly name: string = "SecretInFileError";
}

const REPLACED = "[secret]";
const LEAST_LENGTH = 4;
const LEAST_DIGITS = 6;
/** From here on a text is taken out within words too. */
const LEAST_WITHIN_WORDS = 6;
/** Lines of a key that are taken out each by itself. */
const LEAST_LINE = 16;
/** Digits up to here may stand in a table of figures by chance. */
const MOST_CHANCE_DIGITS = 9;

const isDigits = (text: string) => /^\d+$/.test(text);

/** Tells whether a secret is long enough to be known again by its value. */
export function canBeRedacted(secret: string): boolean {
  return secret.length >= (isDigits(secret) ? LEAST_DIGITS : LEAST_LENGTH);
}

/** Options of a {@linkcode Redactor}. */
export interface RedactorOptions {
  /** Told once of each secret that cannot be taken out, by its name. @default nobody */
  onTooShort?: (name: string) => void;
}

/** Knows the secrets that were read so far. */
export class Redactor {
  readonly #onTooShort: (name: string) => void;
  readonly #tooShort = new Set<string>();
  readonly #forms = new Set<string>();
  #pattern: RegExp | undefined;
  /** The same without digits that may stand in a table by chance. */
  #certain: RegExp | undefined;

  constructor({ onTooShort = () => {} }: RedactorOptions = {}) {
    this.#onTooShort = onTooShort;
  }

  /** Learns a secret; tells whether it is long enough to be taken out. One without a name is not told of. */
  add(secret: string, name?: string): boolean {
    if (!canBeRedacted(secret)) {
      if (name !== undefined && !this.#tooShort.has(name)) {
        this.#tooShort.add(name);
        this.#onTooShort(name);
      }
      return false;
    }
    for (const form of formsOf(secret)) this.#forms.add(form);
    // Longest first, so that a secret within another one leaves nothing behind.
    const forms = [...this.#forms].sort((a, b) => b.length - a.length);
    this.#pattern = patternOf(forms);
    this.#certain = patternOf(forms.filter((form) => !isDigits(form) || form.length > MOST_CHANCE_DIGITS));
    return true;
  }

  /** Returns the text without secrets. */
  text(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, REPLACED);
  }

  /** The same for figures: digits that may stand among them by chance are left alone. */
  certainText(text: string): string {
    return this.#certain === undefined ? text : text.replace(this.#certain, REPLACED);
  }

  /** Returns a copy of plain data without secrets, in its keys, texts and numbers. */
  data(value: unknown): unknown {
    if (this.#pattern === undefined) return value;
    if (typeof value === "string") return this.text(value);
    if (typeof value === "number" || typeof value === "bigint") {
      return this.text(String(value)) === REPLACED ? REPLACED : value;
    }
    if (Array.isArray(value)) return value.map((each) => this.data(each));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [this.text(key), this.data(member)]),
    );
  }

  /** Takes secrets out of an error that is on its way to a screen, and out of what caused it. */
  error(error: unknown): void {
    if (this.#pattern === undefined) return;
    for (let each = error; each instanceof Error; each = each.cause) {
      // `text` is what the broker said.
      for (const name of ["message", "stack", "text"] as const) {
        const text: unknown = Reflect.get(each, name);
        if (typeof text !== "string" || this.text(text) === text) continue;
        // Some of the system's own errors have no member that could be set.
        Object.defineProperty(each, name, { value: this.text(text), configurable: true, writable: true });
      }
    }
  }

  /** Writes plain data as JSON without secrets. Nothing becomes null, a `bigint` its digits. */
  json(value: unknown): string {
    const plain = JSON.stringify(value ?? null, (_key, each) => typeof each === "bigint" ? `${each}` : each);
    return JSON.stringify(this.data(JSON.parse(plain ?? "null")));
  }

  /**
   * Refuses a file that holds a secret: to change it would change figures, and its hash would tell of other bytes.
   * A few digits alone are let pass, as figures have them by chance. Packed files are not looked into.
   *
   * @throws {SecretInFileError} Naming the file and not the secret.
   */
  checkFile(path: string): void {
    const pattern = this.#certain;
    if (pattern === undefined) return;
    const overlap = Math.max(...[...this.#forms].map(({ length }) => length)) * 4;
    for (const text of chunksOf(path, overlap)) {
      pattern.lastIndex = 0;
      if (!pattern.test(text)) continue;
      throw new SecretInFileError(
        `Cannot keep "${
          this.text(path)
        }": it holds the value of a secret; look where it comes from, then delete it`,
        { code: "secret-in-file" },
      );
    }
  }
}

const CHUNK = 1024 * 1024;

/** Reads a file in pieces, each with the end of the one before. A file that is not there has nothing in it. */
function* chunksOf(path: string, overlap: number): Generator<string> {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(path);
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

function patternOf(forms: readonly string[]): RegExp | undefined {
  if (forms.length === 0) return undefined;
  return new RegExp(forms.map(bounded).join("|"), "g");
}

function bounded(form: string): string {
  const text = RegExp.escape(form);
  // A number of its own: neither part of a longer one nor of an amount with decimals.
  if (isDigits(form)) return `(?<![0-9]|[0-9][.,])${text}(?![0-9]|[.,][0-9])`;
  return form.length >= LEAST_WITHIN_WORDS ? text : `(?<![A-Za-z0-9])${text}(?![A-Za-z0-9])`;
}

/** A secret as it may be written. */
function* formsOf(secret: string): Generator<string> {
  const bytes = new TextEncoder().encode(secret);
  const url = encodeURIComponent(secret);
  const form = new URLSearchParams([["", secret]]).toString().slice(1);
  const json = JSON.stringify(secret).slice(1, -1);
  for (const text of [secret, url, form, json]) {
    yield text;
    yield text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
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

/** Base64 of bytes by themselves, and what of them is the same within the Base64 of something longer. */
function* base64Of(bytes: Uint8Array): Generator<string> {
  yield bytes.toBase64();
  yield bytes.toBase64({ omitPadding: true });
  for (const before of [0, 1, 2]) {
    const text = new Uint8Array([...new Uint8Array(before), ...bytes]).toBase64({ omitPadding: true });
    // Digits that hold bits of what stands before or after are left off.
    const first = [0, 2, 3][before];
    const last = (before + bytes.length) % 3 === 0 ? text.length : text.length - 1;
    yield text.slice(first, last);
  }
}
