/**
 * Converts paths to file URLs.
 *
 * @module
 */

/** Returns the URL of a path, relative to the current folder; escapes `#`, `?` and `%`. */
export function fileUrl(path: string): URL {
  const url = new URL("file:///");
  url.pathname = (path.startsWith("/") ? path : `${Deno.cwd()}/${path}`).replaceAll("%", "%25");
  return url;
}
