/**
 * Removes control characters and secrets from everything that a command prints.
 *
 * @module
 */
import { credentialsIn, withoutCredentials } from "../../lib/credentials.ts";
import { Redactor } from "../../lib/redact.ts";
import { shownJson } from "../../lib/shown_text.ts";
import type { Host, OutOptions } from "./host.ts";
import { terminalText } from "./print.ts";

/**
 * Returns a host that removes control characters (except the colour codes of hsgate itself), secrets, and passwords in
 * URLs from everything that it prints. Secrets are added with {@linkcode Host.hide}; passwords in URLs are found in the
 * command line and the environment. In JSON, only texts, names of members and numbers change.
 *
 * @param figures Whether the command prints figures, which can contain a short numeric password by chance. Then stdout
 * hides only secrets that cannot appear by chance.
 * @param words The command line. Any word is searched for a password in a URL, even a word that should not be a URL.
 */
export function shownHost(
  host: Host,
  { figures = true, words = [] }: { figures?: boolean; words?: readonly string[] } = {},
): Host {
  const redactor = new Redactor();
  const ofErrors = new Redactor({ anyLength: true });
  const learn = (given: string) => credentialsIn(given).forEach((secret) => redactor.add(secret));
  words.forEach(learn);
  const any = (text: string) => redactor.text(text);
  const certain = (text: string) => redactor.certainText(text);
  const clean = (
    text: string,
    remove: typeof any,
    { more = (each) => each, isOwnName }: { more?: typeof any; isOwnName?: OutOptions["isOwnName"] } = {},
  ) =>
    isJson(text) ? shownJson(redactor.jsonText(text, remove, isOwnName)) : terminalText(more(remove(text)));
  const out = (text: string, { isOwnName }: OutOptions = {}) =>
    clean(text, figures ? certain : any, { isOwnName });
  // Errors and notes may also contain an address from a file.
  const note = (text: string) => {
    const line = clean(text, any, { more: withoutCredentials });
    return isJson(text) ? line : shortened(line, MOST_NOTE);
  };
  // Copy descriptors, not values: reading the property `signal` would install the signal handlers.
  const copy: Host = Object.defineProperties({} as Host, Object.getOwnPropertyDescriptors(host));
  const { errTerminal } = host;
  return Object.assign(
    copy,
    {
      env(name) {
        const value = host.env(name);
        if (value !== undefined) learn(value);
        return value;
      },
      out: (line, options) => {
        const text = out(line, options);
        host.out(options?.exact || isJson(line) ? text : shortened(text, MOST_LINE));
      },
      note: (line) => host.note(note(line)),
      draw: (codes, text = "") => host.draw(codes, out(text)),
      ...errTerminal !== undefined && {
        errTerminal: {
          draw: (codes: string, text = "") => errTerminal.draw(codes, note(text)),
          columns: () => errTerminal.columns(),
        },
      },
      ask: (question) => host.ask(note(question)),
      hide(secret) {
        redactor.add(secret);
        ofErrors.add(secret);
      },
      errorText: (text) => ofErrors.text(withoutCredentials(text)),
      shown: (text) => out(text),
    } satisfies Partial<Host>,
  );
}

/** Maximum number of characters of a line of an error or a note: a text of the broker must not fill the screen. */
const MOST_NOTE = 10_000;
/** Maximum number of characters of a line on stdout. A row of a table may have many cells of up to 2,000 characters. */
const MOST_LINE = 100_000;

/** Returns a text with at most this many characters in each line. */
const shortened = (text: string, most: number): string =>
  text.length <= most
    ? text
    : text.split("\n").map((line) => line.length <= most ? line : `${line.slice(0, most)}…`).join("\n");

/** Returns whether a whole line or text is a JSON object or list. */
function isJson(text: string): boolean {
  if (!/^[{[]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
