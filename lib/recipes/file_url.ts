/**
 * Addresses of files.
 *
 * @module
 */

/** The address of a file by its path, from the current folder; a path may hold `#`, `?` and `%`, an address not. */
export function fileUrl(path: string): URL {
  const url = new URL("file:///");
  url.pathname = (path.startsWith("/") ? path : `${Deno.cwd()}/${path}`).replaceAll("%", "%25");
  return url;
}
