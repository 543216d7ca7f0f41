/**
 * Receives the notices of recipes, so that a user can test them without a chat.
 *
 * @module
 */
import { okAnswer, problemAnswer } from "../../endpoints/gateway_http.ts";
import type { HttpAnswer } from "../../endpoints/http_server.ts";
import { type HttpRequest, mediaTypeOf } from "../../endpoints/http_input.ts";

/** Path of the address for notices. */
export const NOTICES_PATH = "/notices";

/**
 * Calls `onNotice` with the text of a notice in the format of a `webhook` or of any chat. Answers any other request
 * with HTTP 400.
 */
export function receiveNotice(request: HttpRequest, onNotice: (text: string) => void): HttpAnswer {
  // A web page cannot send this content type without permission.
  if (request.method !== "POST" || mediaTypeOf(request) !== "application/json") {
    return problemAnswer(400, "a notice is a POST request with the content type application/json");
  }
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder().decode(request.body));
  } catch {
    return problemAnswer(400, "the notice is not JSON");
  }
  const text = textOf(body);
  if (text === undefined) return problemAnswer(400, "the notice has no text");
  onNotice(text);
  return okAnswer(null);
}

/** Returns the text of a notice, or `undefined`. Some formats put the text into another object. */
function textOf(body: unknown): string | undefined {
  if (typeof body === "string") return body;
  if (typeof body !== "object" || body === null) return undefined;
  const { text, content }: { text?: unknown; content?: unknown } = body;
  return textOf(text) ?? textOf(content);
}
