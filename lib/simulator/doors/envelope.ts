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

/** A refusal inside HTTP 200: the code and its documented text in front of the text, or only the text. */
export function refusedAnswer({ code, text, documented }: Refusal): HttpAnswer {
  const said = documented === undefined ? text : `${documented}: ${text}`;
  return problemAnswer(200, code === undefined ? said : `${code} ${said}`);
}

/** A refusal with a status of its own. */
export function problemAnswer(status: number, err: string): HttpAnswer {
  return answer(status, { ok: false, err, data: null });
}

function answer(status: number, body: { ok: boolean; err: string; data: unknown }): HttpAnswer {
  return { status, body: encoder.encode(JSON.stringify(body)) };
}
