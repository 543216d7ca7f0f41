/**
 * Parses addresses such as `127.0.0.1:11112`, and removes secrets from URLs for messages.
 *
 * @module
 */

/** A host and a port. */
export interface Address {
  readonly hostname: string;
  readonly port: number;
}

/**
 * Parses `host:port`.
 *
 * @throws {TypeError} If the text does not have this form.
 */
export function addressOf(text: string): Address {
  const match = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port < 1 || port > 65_535) {
    throw new TypeError(
      `Cannot read ${quotedAddress(text)} as an address: write it like "127.0.0.1:11112"`,
    );
  }
  return { hostname: match[1]!, port };
}

/** Returns an unreadable address for messages, in quotes. If it may contain a password or token, only describes it. */
export function quotedAddress(text: string): string {
  return /[@?]/.test(text) ? 'a text with "@" or "?"' : `"${text}"`;
}

/** Returns a URL for messages, without its query and credentials, which may contain a password or token. */
export function shownAddress(text: string): string {
  const url = URL.parse(text);
  if (url === null || url.username === "" && url.password === "" && url.search === "" && url.hash === "") {
    return text;
  }
  return `${url.protocol}//${url.host}${url.pathname}${url.search === "" ? "" : "?…"}`;
}
