/**
 * Formats notices, and warns of unsent ones. For commands that send or list notices.
 *
 * @module
 */
import type { Store } from "../../../lib/store/store.ts";
import type { NoticeEvent } from "../../../lib/runner/notify/notify.ts";
import {
  countUnsent,
  type NoticeRow,
  type NoticeState,
  unsentText,
} from "../../../lib/runner/notify/outbox.ts";
import { showInstant } from "../../../lib/calendars/mod.ts";
import type { Host } from "../../terminal/host.ts";
import { type Color, plain } from "../../terminal/print.ts";
import { noticeText } from "../run/log.ts";

/** Warns on stderr if the store has notices whose sending failed. */
export async function warnOfUnsent(store: Store, { note }: Pick<Host, "note">): Promise<void> {
  const text = unsentText(await countUnsent(store));
  if (text !== undefined) note(`hsgate: warning: ${text}`);
}

/** Returns a warning for a failed attempt; `undefined` for a successful one. */
export function failedLine(event: NoticeEvent): string | undefined {
  return event.state === "sent" ? undefined : plain(`hsgate: warning: ${event.runKey}: ${noticeText(event)}`);
}

/** Colours of notice states. */
export const noticeColors: Readonly<Record<NoticeState, Color>> = {
  waiting: "yellow",
  failed: "red",
  "given up": "red",
  sent: "green",
};

const instant = (at: number | undefined) => at === undefined ? undefined : showInstant(at);

/** Returns a notice for `--json`. */
export function noticeRowData({ createdAt, sentAt, givenUpAt, nextTryAt, ...row }: NoticeRow) {
  return {
    ...row,
    createdAt: instant(createdAt),
    sentAt: instant(sentAt),
    givenUpAt: instant(givenUpAt),
    nextTryAt: instant(nextTryAt),
  };
}

/** Returns an attempt to send a notice, for `--json`. */
export function noticeData({ notice, channel, state, error }: NoticeEvent) {
  return { notice, channel, state, ...error !== undefined && { error } };
}
