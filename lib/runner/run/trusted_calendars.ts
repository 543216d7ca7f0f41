/**
 * Checks which calendar files may be used. A file that a program only finds in its working folder counts only in the
 * version that this user wrote with a command, or trusted.
 *
 * @module
 */
import { sha256 } from "../../sha256.ts";
import type { Standing, TrustFile } from "./trust_file.ts";
import { placeOf } from "./trusted_settings.ts";

/** Judges the text of a calendar file. @throws {TrustError} If the record cannot be trusted. */
export async function judgeCalendars(path: string, text: string, trust: TrustFile): Promise<Standing> {
  const record = (await trust.read()).calendars.get(await placeOf(path));
  if (record === undefined) return "unknown";
  return record.sha256 === await sha256(text) ? "trusted" : "changed";
}

/** Records the text of a calendar file. @throws {TrustError} If the record cannot be written. */
export async function trustCalendars(
  trust: TrustFile,
  { path, text, at }: { path: string; text: string; at: number },
): Promise<void> {
  const [place, digest] = [await placeOf(path), await sha256(text)];
  await trust.change(({ calendars }) => {
    calendars.set(place, { sha256: digest, trustedAt: new Date(at).toISOString() });
  });
}
