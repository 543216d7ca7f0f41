/**
 * What every answer of the gateway looks like, written by hand from the API document 2.1.
 *
 * @module
 */
import { Refusal } from "../contract.ts";
import type { HttpAnswer } from "./http_door.ts";

const encoder = new TextEncoder();

/** An answer as a body: `{ok, err, data}`. */
export function okAnswer(data: unknown): HttpAnswer {
  return answer(200, { ok: true, err: "", data: data ?? null });
}

/** A refusal inside HTTP 200: the code in front of the text, or the text alone. */
export function refusedAnswer({ code, text }: Refusal): HttpAnswer {
  return problemAnswer(200, code === undefined ? text : `${code} ${text}`);
}

/** A refusal with a status of its own. */
export function problemAnswer(status: number, err: string): HttpAnswer {
  return answer(status, { ok: false, err, data: null });
}

function answer(status: number, body: { ok: boolean; err: string; data: unknown }): HttpAnswer {
  return { status, body: encoder.encode(JSON.stringify(body)) };
}
