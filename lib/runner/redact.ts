/**
 * Takes secrets out of whatever is stored or shown, by their value: it does not matter where they came from.
 *
 * @module
 */

const REPLACED = "[secret]";
/** A shorter value would blot out half of every text; it is taken out only where it stands alone. */
const LEAST_LENGTH = 4;

/** Knows the secrets that were read so far. */
export class Redactor {
  /** Longest first, so that a secret within another one leaves nothing behind. */
  #values: string[] = [];

  /** Learns a secret, also as it looks in an address and in a header. */
  add(secret: string): void {
    if (secret === "") return;
    const bytes = new TextEncoder().encode(secret);
    const forms = [secret, encodeURIComponent(secret), bytes.toBase64(), bytes.toHex()];
    this.#values = [...new Set([...this.#values, ...forms])].sort((a, b) => b.length - a.length);
  }

  /** Returns the text without secrets. */
  text(text: string): string {
    for (const value of this.#values) {
      if (value.length >= LEAST_LENGTH) text = text.replaceAll(value, REPLACED);
      else if (text === value) return REPLACED;
    }
    return text;
  }

  /** Returns a copy of plain data without secrets, in its keys, texts and numbers. */
  data(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value === "number" || typeof value === "bigint") {
      return this.#values.includes(String(value)) ? REPLACED : value;
    }
    if (Array.isArray(value)) return value.map((each) => this.data(each));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [this.text(key), this.data(member)]),
    );
  }

  /** Writes plain data as JSON without secrets. Nothing becomes null, a `bigint` its digits. */
  json(value: unknown): string {
    const plain = JSON.stringify(value ?? null, (_key, each) => typeof each === "bigint" ? `${each}` : each);
    return JSON.stringify(this.data(JSON.parse(plain ?? "null")));
  }
}
