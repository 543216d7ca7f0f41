/**
 * Invents answers with the structure (the shape) of a real broker's answers, as a report of `hsgate probe` records it.
 * If the report has a shape for a call's operation, the caller gets an invented answer instead of the simulated
 * broker's.
 *
 * @module
 */
import { messageOf } from "../../errors.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import {
  type AnswerShape,
  answersOf,
  codesOf,
  newRoom,
  type ShapedAnswer,
  ShapeError,
  withoutRows,
} from "../../operations/shaped_answers.ts";
import { loadMessages, type Messages, type Payload } from "../../wire/messages.ts";
import type { HttpAnswer } from "../../endpoints/http_server.ts";

/** An answer over HTTP. */
type HttpShaped = Extract<ShapedAnswer, { text: string; status: number }>;
/** An answer over a socket. */
export type SocketShaped = Extract<ShapedAnswer, { over: "socket" }>;

const encoder = new TextEncoder();

/** The shapes, and which answer of each comes next. */
export class ShapedAnswers {
  readonly #shapes: readonly {
    shape: AnswerShape;
    answers: readonly ShapedAnswer[];
    /** Answer to a request for a later page. */
    last: ShapedAnswer | undefined;
  }[];
  readonly #next = new Map<AnswerShape, number>();

  /** Prepares the answers of each shape. @throws {ShapeError} If they need more characters than allowed. */
  constructor(shapes: readonly AnswerShape[]) {
    const room = newRoom();
    this.#shapes = shapes.map((shape) => ({
      shape,
      answers: answersOf(shape.answer, room),
      last: answersOf(withoutRows(shape.answer), room)[0],
    }));
  }

  /** Checks that every answer can be sent. @throws {ShapeError} If an answer does not fit its message. */
  async check(): Promise<void> {
    const messages = await loadMessages();
    for (const { shape, answers, last } of this.#shapes) {
      for (const answer of [...answers, last]) {
        try {
          if (answer?.over === "socket") shapedPayload(messages, answer);
        } catch (cause) {
          throw new ShapeError(
            `Cannot send an answer to "${shape.operation}" in the report's shape: ${messageOf(cause)}`,
            { cause },
          );
        }
      }
    }
  }

  /**
   * Returns the next HTTP answer to a call; `undefined` if the shapes have no answer, so the simulated broker answers.
   */
  http(over: "gateway" | "platform", operation: AnyOperation, params: unknown): HttpAnswer | undefined {
    // `#nextAnswer` returns an answer for `over`, which is not "socket".
    const answer = this.#nextAnswer(over, operation, params) as HttpShaped | undefined;
    return answer && { status: answer.status, body: encoder.encode(answer.text) };
  }

  /** Returns the next answer of a socket. */
  socket(operation: AnyOperation, params: unknown): SocketShaped | undefined {
    // `#nextAnswer` returns an answer for "socket".
    return this.#nextAnswer("socket", operation, params) as SocketShaped | undefined;
  }

  #nextAnswer(
    over: ShapedAnswer["over"],
    operation: AnyOperation,
    params: unknown,
  ): ShapedAnswer | undefined {
    const codes = codesOf(operation.request.fields ?? {}, params as Readonly<Record<string, unknown>>);
    const likeness = ({ codes: own }: AnswerShape) =>
      Object.entries(own).filter(([name, code]) => codes[name] === code).length;
    const [found] = this.#shapes.filter(({ shape }) =>
      shape.operation === operation.name && shape.answer.over === over
    ).toSorted((a, b) => likeness(b.shape) - likeness(a.shape));
    if (found === undefined) return undefined;
    // Every list ends after its first page. Otherwise a client that follows the invented cursors would never reach the
    // end.
    const { cursor = "0", page = 1 } = params as { cursor?: string; page?: number };
    if (operation.paging !== undefined && (cursor !== "0" || page > 1)) return found.last;
    const nth = this.#next.get(found.shape) ?? 0;
    this.#next.set(found.shape, nth + 1);
    return found.answers[nth % found.answers.length];
  }
}

/** Returns why the answers of a shape cannot be sent; `undefined` if they can. */
export async function whyUnsendable(shape: AnswerShape): Promise<string | undefined> {
  try {
    await new ShapedAnswers([shape]).check();
    return undefined;
  } catch (error) {
    if (error instanceof ShapeError) return error.message;
    throw error;
  }
}

/**
 * Returns the payload of a socket answer. A message without a definition has no bytes.
 *
 * @throws {ProtocolError} If a value of the shape does not fit the message.
 */
export function shapedPayload(messages: Messages, { payload }: SocketShaped): Payload | undefined {
  if (payload === undefined) return undefined;
  const { name, members } = payload;
  return { name, bytes: messages.has(name) ? messages.encode(name, members) : new Uint8Array(0) };
}
