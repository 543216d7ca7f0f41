/**
 * Waits for tests. A wait that does not end in time fails its own test with a message, instead of blocking
 * the whole run.
 *
 * @module
 */

/** Longest wait; far longer than needed, even on a busy machine. */
const LIMIT_MS = 60_000;

/** Options of a wait. */
export interface WaitOptions {
  /** Time after which the wait fails, milliseconds. @default 60 s */
  limitMs?: number;
  /** Time between two checks, milliseconds. @default 2 */
  everyMs?: number;
}

/**
 * Waits until a condition is true.
 *
 * @param what What is awaited, for the message: `the gateway to take the call`.
 * @throws {Error} If the condition is not true within the limit.
 */
export async function waitUntil(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  { limitMs = LIMIT_MS, everyMs = 2 }: WaitOptions = {},
): Promise<void> {
  const end = performance.now() + limitMs;
  while (!await isSo()) {
    if (performance.now() > end) {
      throw new Error(`Cannot wait any longer for ${what}: ${limitMs} ms have passed`);
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/**
 * Waits for a promise.
 *
 * @param what What is awaited, for the message.
 * @throws {Error} If the promise does not settle within the limit.
 */
export async function within<T>(
  what: string,
  promise: Promise<T>,
  { limitMs = LIMIT_MS }: Pick<WaitOptions, "limitMs"> = {},
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`Cannot wait any longer for ${what}: ${limitMs} ms have passed`)),
      limitMs,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reads a stream of text until `isSo` returns true for all text so far. `text` is what the caller has already read.
 *
 * @returns All text so far, including `text`.
 * @throws {Error} If the stream ends before that, or the limit passes. The message contains the text that was
 * read.
 */
export async function readUntil(
  what: string,
  reader: ReadableStreamDefaultReader<string>,
  isSo: (text: string) => boolean,
  { limitMs = LIMIT_MS, text = "" }: Pick<WaitOptions, "limitMs"> & { text?: string } = {},
): Promise<string> {
  const end = performance.now() + limitMs;
  while (!isSo(text)) {
    const rest = Math.max(1, end - performance.now());
    const { value, done } = await within(
      `${what}, after ${JSON.stringify(text.slice(-500))}`,
      reader.read(),
      {
        limitMs: rest,
      },
    );
    if (done) {
      throw new Error(`Cannot wait for ${what}: the text ended with ${JSON.stringify(text.slice(-500))}`);
    }
    text += value;
  }
  return text;
}
