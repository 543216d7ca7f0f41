/**
 * Splits a text stream into lines.
 *
 * @module
 */

/** A line, or the part of it that is kept. */
export interface Line {
  text: string;
  isCut: boolean;
}

/** Options of reading. */
interface LineOptions {
  /**
   * Gets the first part of a line as it arrives, perhaps only one character. Returns how many characters of the line
   * are kept.
   *
   * @default all
   */
  most?: (start: string) => number;
  /** Ends the reading, even if more data follows. */
  signal?: AbortSignal;
}

/** Yields the lines of a text stream. The excess of a long line is dropped as it arrives, and takes no memory. */
export async function* linesOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  { most = () => Infinity, signal }: LineOptions = {},
): AsyncGenerator<Line, void, void> {
  const reader = stream.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let [size, isCut] = [0, false];
  const keep = (part: string) => {
    if (part === "") return;
    const room = most(parts[0] ?? part) - size;
    isCut ||= part.length > room;
    if (room <= 0) return;
    parts.push(part.slice(0, room));
    size += Math.min(part.length, room);
  };
  const take = (): Line => {
    const line = { text: parts.join(""), isCut };
    [parts, size, isCut] = [[], 0, false];
    return line;
  };
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const text = decoder.decode(value, { stream: true });
      let start = 0;
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
        keep(text.slice(start, end));
        yield take();
        start = end + 1;
      }
      keep(text.slice(start));
    }
    keep(decoder.decode());
    if (size > 0 || isCut) yield take();
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
  }
}
