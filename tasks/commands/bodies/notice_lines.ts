/**
 * Lines about notices that were not sent, for every command that sends or lists them.
 *
 * @module
 */
import type { Ledger } from "../../../lib/runner/ledger.ts";
import type { NoticeEvent } from "../../../lib/runner/notify.ts";
import { countUnsent, type NoticeRow, type NoticeState, unsentText } from "../../../lib/runner/outbox.ts";
import { showInstant } from "../../../lib/runner/slots.ts";
import type { Host } from "../host.ts";
import { type Color, plain } from "../print.ts";
import { noticeText } from "./run_log.ts";

/** Warns on stderr when the ledger has notices that were tried and not sent. */
export function tellUnsent(ledger: Ledger, { note }: Pick<Host, "note">): void {
  const text = unsentText(countUnsent(ledger));
  if (text !== undefined) note(`hsgate: warning: ${text}`);
}

/** Writes the line of a try that failed; nothing for one that went well. */
export function failedLine(event: NoticeEvent): string | undefined {
  return event.state === "sent" ? undefined : plain(`hsgate: warning: ${event.runKey}: ${noticeText(event)}`);
}

/** Colours of the states. */
export const noticeColors: Readonly<Record<NoticeState, Color>> = {
  waiting: "yellow",
  failed: "red",
  "given up": "red",
  sent: "green",
};

const instant = (at: number | undefined) => at === undefined ? undefined : showInstant(at);

/** A notice as `--json` has it. */
export function noticeRowData({ createdAt, sentAt, givenUpAt, nextTryAt, ...row }: NoticeRow) {
  return {
    ...row,
    createdAt: instant(createdAt),
    sentAt: instant(sentAt),
    givenUpAt: instant(givenUpAt),
    nextTryAt: instant(nextTryAt),
  };
}

/** A try as `--json` has it. */
export function noticeData({ notice, channel, state, error }: NoticeEvent) {
  return { notice, channel, state, ...error !== undefined && { error } };
}
