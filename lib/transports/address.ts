/**
 * Addresses as people write them.
 *
 * @module
 */

/** Where something listens. */
export interface Address {
  readonly hostname: string;
  readonly port: number;
}

/**
 * Reads `host:port`.
 *
 * @throws {TypeError} When it is no such thing.
 */
export function addressOf(text: string): Address {
  const match = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port < 1 || port > 65_535) {
    throw new TypeError(`Cannot read "${text}" as an address: write it like "127.0.0.1:11112"`);
  }
  return { hostname: match[1]!, port };
}
