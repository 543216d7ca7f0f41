/**
 * What a step answered with, in a few words.
 *
 * @module
 */
import { fit, plain } from "../print.ts";

/** Most members that are shown, and the longest text among them; an identifier is shown however long it is. */
const MOST = 3;
const LONGEST = 24;
/** An answer that is a text by itself, such as an order number, is cut behind this. */
const LONGEST_TEXT = 80;

/** Writes an output in a few words: `12 rows`, `5 days, 1,204 rows`, `nothing`. */
export function shortResult(output: unknown): string {
  if (output === undefined || output === null) return "";
  if (Array.isArray(output)) return counted(output.length, "row");
  if (typeof output !== "object") return fit(plain(String(output)), LONGEST_TEXT);
  const words: string[] = [];
  for (const [name, value] of Object.entries(output)) {
    if (name === "ok" || value === null) continue;
    const text = wordOf(name, value);
    if (text !== undefined) words.push(text);
  }
  return words.slice(0, MOST).join(", ");
}

function wordOf(name: string, value: unknown): string | undefined {
  const words = spaced(name);
  if (Array.isArray(value)) {
    if (value.length === 0) return undefined;
    // "2 days" and "1 day"; a name such as `cancelled` has no plural.
    return words.endsWith("s")
      ? counted(value.length, words.slice(0, -1))
      : `${thousands(value.length)} ${words}`;
  }
  if (name === "rows" && typeof value === "number") return counted(value, "row");
  if (typeof value === "number") return `${words} ${thousands(value)}`;
  if (typeof value === "boolean") return value ? words : `not ${words}`;
  // Files are named below the tree.
  const isShort = typeof value === "string" && value.length <= LONGEST && !value.includes("/");
  const isShown = isShort || (typeof value === "string" && /(^id|Id|[kK]ey)$/.test(name));
  return isShown && value !== "" ? `${words} ${plain(value)}` : undefined;
}

/** `stillOpen` reads better as `still open`. */
const spaced = (name: string) => name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();

const counted = (count: number, what: string) => `${thousands(count)} ${what}${count === 1 ? "" : "s"}`;

const thousands = (value: number) =>
  Number.isInteger(value) ? String(value).replace(/\B(?=(\d{3})+$)/g, ",") : String(value);
