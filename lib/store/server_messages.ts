/**
 * Checks the messages of a PostgreSQL server before the `pg` package reads them. The package reads messages of any size
 * into memory. If it cannot read a message, it throws an error outside of every call, which would end the program.
 *
 * @module
 */
import { messageOf } from "../errors.ts";

/** The part of the package's connection that passes the bytes of the server to the package. */
export interface MessageSource {
  attachListeners(stream: ByteStream): void;
  emit(event: "error", error: Error): void;
}

/** A socket, as the package reads it. */
interface ByteStream {
  on(event: string, listener: (bytes: Uint8Array) => void): unknown;
  destroy(): void;
}

/** Maximum size of a message in bytes. */
const MOST_BYTES = 1024 * 1024;
/** Maximum size of a row after the login: half of what PostgreSQL allows for a value. */
const MOST_ROW_BYTES = 512 * 1024 * 1024;
/**
 * Maximum size of all messages of one answer together. The driver creates an object for each message, and this size
 * includes the memory of these objects. Without a limit, an endless answer would fill the memory.
 */
const MOST_ANSWER_BYTES = 768 * 1024 * 1024;
const OBJECT_BYTES = 500;
/** Size of a message's head: one byte for the type, and four bytes for the length. The length includes these four. */
const HEAD_BYTES = 5;
const LENGTH_BYTES = 4;
const [ROW, READY, ERROR, NOTICE] = [..."DZEN"].map((each) => each.charCodeAt(0));

/** Closes a connection at the first message that is unreadable or too large. The connection then reports an error. */
export function checkMessages(connection: MessageSource): void {
  const attach = connection.attachListeners;
  connection.attachListeners = (stream) =>
    attach.call(connection, {
      on: (event, listener) => stream.on(event, event === "data" ? checked(listener) : listener),
      destroy: () => stream.destroy(),
    });

  const checked = (read: (bytes: Uint8Array) => void) => {
    const whyRefused = createCheck();
    let hasFailed = false;
    const fail = (why: string, cause?: unknown) => {
      hasFailed = true;
      connection.emit("error", new Error(`the server sent ${why}`, { cause }));
    };
    return (bytes: Uint8Array) => {
      if (hasFailed) return;
      const why = whyRefused(bytes);
      if (why !== undefined) return fail(why);
      try {
        read(bytes);
      } catch (error) {
        fail(`a message that hsgate cannot read${isBuiltIn(error) ? "" : ` (${messageOf(error)})`}`, error);
      }
    };
  };
}

/** Returns whether JavaScript itself threw an error. Its text describes the code of the package and not the message. */
export const isBuiltIn = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof RangeError;

/** Returns a function that checks the bytes of a server in order, and returns why a message is rejected. */
function createCheck(): (bytes: Uint8Array) => string | undefined {
  const head = new Uint8Array(HEAD_BYTES);
  let headBytes = 0;
  let left = 0;
  let isReady = false;
  /** Number of bytes of the current answer. */
  let answerBytes = 0;
  /** The text of an error or a notice. */
  let text: Uint8Array | undefined;
  return (bytes) => {
    for (let at = 0; at < bytes.length;) {
      if (left > 0) {
        const part = bytes.subarray(at, at + left);
        text?.set(part, text.length - left);
        left -= part.length;
        at += part.length;
        if (left === 0 && text !== undefined && !hasEnd(text)) return "an error or a notice without an end";
        continue;
      }
      head[headBytes++] = bytes[at++]!; // `at` is less than the length
      if (headBytes < HEAD_BYTES) continue;
      headBytes = 0;
      const [type] = head;
      const length = new DataView(head.buffer).getUint32(1);
      if (length < LENGTH_BYTES) return `a message with the length ${length}, which is too small`;
      const most = isReady && type === ROW ? MOST_ROW_BYTES : MOST_BYTES;
      if (length > most) return `a message of ${length} bytes; at most ${most} are allowed`;
      answerBytes = type === READY ? 0 : answerBytes + length + OBJECT_BYTES;
      if (answerBytes > MOST_ANSWER_BYTES) return `an answer of more than ${MOST_ANSWER_BYTES} bytes`;
      left = length - LENGTH_BYTES;
      text = type === ERROR || type === NOTICE ? new Uint8Array(left) : undefined;
      if (left === 0 && text !== undefined) return "an empty error or notice";
      isReady ||= type === READY;
    }
    return undefined;
  };
}

/**
 * Returns whether the list of fields in an error or a notice has an end. Each field has a type and a text that ends
 * with a zero byte, and another zero byte follows the last field. The package would read a list without an end forever.
 */
function hasEnd(list: Uint8Array): boolean {
  for (let at = 0; at < list.length;) {
    if (list[at] === 0) return true;
    const end = list.indexOf(0, at + 1);
    if (end < 0) return false;
    at = end + 1;
  }
  return false;
}
