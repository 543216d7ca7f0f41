/**
 * Finds passwords and other secrets in addresses, connection strings and queries, even if these are misspelt.
 *
 * @module
 */
import { messageOf } from "./errors.ts";
import { canBeRedacted, decoded, type Redactor, REPLACED } from "./redact.ts";

/** Matches an address up to its password: `postgres://user:`. One slash or more may follow the scheme. */
const BEFORE_PASSWORD = /[a-z][a-z\d+.-]{0,30}:(?:\/|%2F)+[^@/:]*?(?::|%3A)/i;
/** Matches a scheme with the wrong characters after it: `https//`, `https;//` or `https:/`. */
const WRONG_SCHEME = /(?:postgres(?:ql)?|https?|wss?|smtps?)(?:;?\/\/|:\/(?!\/))/i;
/** Matches a colon that is not part of `://`. */
const COLON = /(?::|%3A)(?!\/|%2F)/i;
/**
 * Matches the beginning of a word that contains no user and password: a package, a mail address, a file, a Windows
 * path.
 */
const WITHOUT_USER = /^\W*(?:(?:npm|jsr|node|mailto|file):|[a-z]:[\\/])/i;
/** Matches an address up to its port. If the address has a password but lacks the `@`, matches up to the password. */
const BEFORE_PORT = new RegExp(
  "(?:[a-z][a-z\\d+.-]{0,30}:(?:\\/|%2F)+|(?:postgres(?:ql)?|https?|wss?|smtps?)(?::|;?\\/\\/))" +
    "(?:\\[[\\da-f:.%]*\\]|(?!\\[[\\da-f:.%]*\\])[^@/:;]*?)(?::|%3A)",
  "gi",
);
/**
 * Matches a port, or the word `port` of an example. The end of the text must follow, or a character that may follow a
 * port.
 */
const PORT = /^(?:\d{0,5}|port)(?:[,/?#]|\W*$)/i;
/** Matches a password in a connection string: `password=…`. */
// deno-lint-ignore no-control-regex -- an escape sequence for a colour begins with ESC
const PASSWORD_SETTING = /(password(?:=| = ))('[^']*'|[^\s"'&\x1b]+)/gi;
/** Matches a query member whose name marks a secret. Not `sslkey`: in a connection string, it is the name of a file. */
const SECRET_MEMBER = // deno-lint-ignore no-control-regex -- an escape sequence for a colour begins with ESC
  /([?&;#](?:[\w.-]{0,40}(?:token|secret|password|passwd|pwd)|(?:[\w.-]{0,40}[_.-])?(?:key|sig|auth)|[\w.-]{0,40}(?:apikey|accesskey|signature))(?:=|%3D))([^\s"&\x1b]+)/gi;

/** The place of a password in a text. */
interface Span {
  /** Where the address or setting begins. */
  from: number;
  start: number;
  end: number;
}

/**
 * Returns the place of the password in a word that is an address. If the address is misspelt, returns the place that
 * could be a password. A password ends at the last `@`, because a password may contain that character. Without any `@`,
 * it ends with the word.
 */
function addressPassword(word: string): Span | undefined {
  const end = Math.max(word.lastIndexOf("@"), word.lastIndexOf("%40"));
  const found = (before: RegExpExecArray | null): Span | undefined => {
    const start = before === null ? end : before.index + before[0].length;
    return start < end ? { from: before!.index, start, end } : undefined;
  };
  if (end >= 0) {
    const proper = found(BEFORE_PASSWORD.exec(word));
    if (proper !== undefined || WITHOUT_USER.test(word)) return proper;
    return found(COLON.exec(word)) ?? found(WRONG_SCHEME.exec(word));
  }
  for (const { index, 0: before } of word.matchAll(BEFORE_PORT)) {
    const start = index + before.length;
    if (!PORT.test(word.slice(start))) return { from: index, start, end: word.length };
  }
  return undefined;
}

/**
 * Returns the text of an error or a note without passwords, such as `postgres://user:[secret]@host`. Removes the
 * passwords in addresses and connection strings, and the secrets in queries.
 *
 * Do not use it for JSON or data. A text of the broker can look like the beginning of a password, and the text after it
 * would be lost.
 */
export function withoutCredentials(text: string): string {
  const hidden = text.replace(PASSWORD_SETTING, `$1${REPLACED}`).replace(SECRET_MEMBER, `$1${REPLACED}`);
  if (!/[:@]|%3A|%40|\/\//i.test(hidden)) return hidden;
  // Word by word, so that the time is linear in the length. An escape sequence for a colour ends a word.
  // deno-lint-ignore no-control-regex -- as above
  return hidden.replace(/[^\s"\x1b]+/g, (word) => {
    const { start, end } = addressPassword(word) ?? { start: 0, end: 0 };
    return start < end ? `${word.slice(0, start)}${REPLACED}${word.slice(end)}` : word;
  });
}

/**
 * Returns the passwords in an argument, a setting or a path that a person wrote, for a {@linkcode Redactor} to remove.
 * If a password is too short to be removed, returns it together with the preceding part of the address.
 */
export function credentialsIn(given: string): string[] {
  const found = [given, ...given.split(/[\s"]+/)].flatMap((word) => {
    const members = [...word.matchAll(PASSWORD_SETTING), ...word.matchAll(SECRET_MEMBER)];
    const settings = members.map(({ index, 0: whole, 1: name = "" }) => ({
      from: index,
      start: index + name.length,
      end: index + whole.length,
    }));
    return [...settings, addressPassword(word) ?? []].flat().flatMap(({ from, start, end }) => {
      const password = word.slice(start, end);
      return [password, decoded(password)].map((each) =>
        canBeRedacted(each) ? each : word.slice(from, start) + each
      );
    });
  });
  return [...new Set(found)];
}

/** Returns the message of an error without the redactor's secrets and without the passwords in addresses. */
export function reasonOf(error: unknown, redactor: Redactor): string {
  return redactor.text(withoutCredentials(messageOf(error)));
}
