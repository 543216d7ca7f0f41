/**
 * The last door before a person's eyes: whatever a command prints goes through here, whoever wrote the text.
 *
 * @module
 */
import { Redactor } from "../../lib/redact.ts";
import { shownJson, shownText } from "../../lib/shown_text.ts";
import type { Host } from "./host.ts";
import { COLOR_CODE } from "./print.ts";

/**
 * Returns a host whose lines hold no control characters of others and no secret that {@linkcode Host.hide} names.
 *
 * @param figures The command prints figures, among which the few digits of a password may stand by chance; they are
 * left alone on stdout then.
 */
export function shownHost(host: Host, { figures = true }: { figures?: boolean } = {}): Host {
  const redactor = new Redactor();
  const out = (text: string) =>
    cleaned(figures ? redactor.certainText(text) : redactor.text(text), host.color);
  const note = (text: string) => cleaned(redactor.text(text), host.color);
  // Members are copied as they are: the signal of a process begins to listen only when somebody asks for it.
  const copy: Host = Object.defineProperties({} as Host, Object.getOwnPropertyDescriptors(host));
  return Object.assign(
    copy,
    {
      out: (line) => host.out(out(line)),
      note: (line) => host.note(note(line)),
      ask: (question) => host.ask(note(question)),
      hide: (secret) => void redactor.add(secret),
    } satisfies Partial<Host>,
  );
}

/** Our own colours stay where colours are wanted. Machines read JSON, so it keeps every character, as an escape. */
function cleaned(text: string, color: boolean): string {
  if (/^[{[]/.test(text)) return shownJson(text);
  if (!color) return shownText(text);
  const codes = text.match(COLOR_CODE) ?? [];
  return text.split(COLOR_CODE).map((part, index) => shownText(part) + (codes[index] ?? "")).join("");
}
