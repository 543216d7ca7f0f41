/**
 * Removes control characters and secrets from everything that a command prints.
 *
 * @module
 */
import { Redactor, withoutCredentials } from "../../lib/redact.ts";
import { shownJson, shownText } from "../../lib/shown_text.ts";
import type { Host } from "./host.ts";
import { COLOR_CODE } from "./print.ts";

/**
 * Returns a host that prints no foreign control characters, no secret that {@linkcode Host.hide} names, and no password of
 * an address. Errors repeat wrong arguments, settings and paths, and each may be an address with a password.
 *
 * @param figures Whether the command prints figures, which can contain a short numeric password by chance. Then stdout
 * hides only secrets that cannot appear by chance.
 */
export function shownHost(host: Host, { figures = true }: { figures?: boolean } = {}): Host {
  const redactor = new Redactor();
  const shown = (text: string) => cleaned(withoutCredentials(text), host.color);
  const out = (text: string) => shown(figures ? redactor.certainText(text) : redactor.text(text));
  const note = (text: string) => shown(redactor.text(text));
  // Copy descriptors, not values: reading the property `signal` would install the signal handlers.
  const copy: Host = Object.defineProperties({} as Host, Object.getOwnPropertyDescriptors(host));
  const { errTerminal } = host;
  return Object.assign(
    copy,
    {
      out: (line) => host.out(out(line)),
      note: (line) => host.note(note(line)),
      draw: (codes, text = "") => host.draw(codes, out(text)),
      ...errTerminal !== undefined && {
        errTerminal: {
          draw: (codes: string, text = "") => errTerminal.draw(codes, note(text)),
          columns: () => errTerminal.columns(),
        },
      },
      ask: (question) => host.ask(note(question)),
      hide: (secret) => void redactor.add(secret),
      shown: out,
    } satisfies Partial<Host>,
  );
}

/** Returns the text without foreign control characters. Keeps colours of `paint`; in JSON, escapes every character instead. */
function cleaned(text: string, color: boolean): string {
  if (/^[{[]/.test(text)) return shownJson(text);
  if (!color) return shownText(text);
  const codes = text.match(COLOR_CODE) ?? [];
  return text.split(COLOR_CODE).map((part, index) => shownText(part) + (codes[index] ?? "")).join("");
}
