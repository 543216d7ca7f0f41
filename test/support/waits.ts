/**
 * Waits of tests. A wait that is never over fails its own test with what it waited for, instead of hanging the run.
 *
 * @module
 */

/** How long a wait may take; far more than it ever does, on a machine that is busy too. */
const LIMIT_MS = 60_000;

/** How a wait is made. */
export interface WaitOptions {
  /** After this the wait fails, milliseconds. @default 60 s */
  limitMs?: number;
  /** Time between two looks, milliseconds. @default 2 */
  everyMs?: number;
}

/**
 * Waits until something is so.
 *
 * @param what What is waited for, for the message: `the gateway to take the call`.
 * @throws {Error} When it is not so within the limit.
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
 * @param what What is waited for, for the message.
 * @throws {Error} When it does not settle within the limit.
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
 * Reads a stream of text until it holds something.
 *
 * @returns All that was read.
 * @throws {Error} When it ends before that, or does not hold it within the limit; with what was read.
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
