/** Joins byte arrays. If at most one of them has bytes, returns it without a copy. */
export function joinBytes<Part extends Uint8Array>(parts: readonly Part[]): Part | Uint8Array<ArrayBuffer> {
  const [first = new Uint8Array(0), ...others] = parts.filter(({ length }) => length > 0);
  if (others.length === 0) return first;
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
