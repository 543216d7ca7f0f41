/**
 * Code tables for the codes and error texts of answers.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Codes of socket answers. The gateway puts the code at the start of its error text. */
export const ResponseCode = dictionary({
  wire: "responseCode",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2, community Go SDK",
  values: {
    "0000": ["success", "success"],
    "112": ["trade-login-expired", "trade login timeout"],
    "1001": ["system-error", "unknown system error"],
    "1002": ["signature-error", "signature error"],
    "1003": ["data-encryption-error", "data encryption error"],
    "1004": ["not-initialized", "socket not initialized"],
    "1005": ["retired", "operation retired"],
    "1006": ["not-entitled", "not authorised (entitlement missing)"],
    "1007": ["duplicate", "duplicate submission"],
    "1008": ["call-failed", "call failed"],
    "1009": ["no-such-operation", "no such operation"],
    "1010": ["illegal-request", "illegal request"],
    "1011": ["busy", "busy, retry later"],
    "1012": ["not-logged-in", "not logged in"],
    "1013": ["displaced", "displaced by another login"],
    "1014": ["token-expired", "login timeout (token expired)"],
    "1015": ["timeout", "call timeout"],
    "1016": ["invalid-parameter", "invalid parameter"],
    "1017": ["no-connection", "long connection could not be made"],
    "1018": ["reconnecting", "reconnecting, retry later"],
    "20033": ["futures-login-expired", "futures trade login timeout"],
    "40001": ["product-lookup-failed", "product lookup failed"],
    "40002": ["contract-lookup-failed", "contract lookup failed"],
  },
});
/** Codes of socket answers. The gateway puts the code at the start of its error text. */
export type ResponseCode = NameOf<typeof ResponseCode>;

/** How to react to a code, and what it means for a write. */
export interface CodeMeaning {
  /**
   * `login`: log in again. `displaced`: stop, the login was taken over. `busy`: a read may be retried. `refused`: do
   * not retry.
   */
  readonly kind: "login" | "displaced" | "busy" | "refused";
  /** `refused` if a write with this answer was not executed; `unknown` if it may have been executed. */
  readonly write: "refused" | "unknown";
}

/**
 * The meaning of each listed code. This table decides which answers count as a rejected write: `write` is `refused`
 * only if the code proves that the order was not accepted. A code that is not listed here proves nothing.
 */
export const codeMeanings: Readonly<Record<ResponseCode, CodeMeaning>> = {
  "success": { kind: "refused", write: "unknown" },
  "trade-login-expired": { kind: "login", write: "refused" },
  "system-error": { kind: "refused", write: "unknown" },
  "signature-error": { kind: "refused", write: "refused" },
  "data-encryption-error": { kind: "refused", write: "refused" },
  "not-initialized": { kind: "refused", write: "refused" },
  "retired": { kind: "refused", write: "refused" },
  "not-entitled": { kind: "refused", write: "refused" },
  "duplicate": { kind: "refused", write: "unknown" },
  "call-failed": { kind: "refused", write: "unknown" },
  "no-such-operation": { kind: "refused", write: "refused" },
  "illegal-request": { kind: "refused", write: "refused" },
  "busy": { kind: "busy", write: "unknown" },
  "not-logged-in": { kind: "login", write: "refused" },
  "displaced": { kind: "displaced", write: "refused" },
  "token-expired": { kind: "login", write: "refused" },
  "timeout": { kind: "busy", write: "unknown" },
  "invalid-parameter": { kind: "refused", write: "refused" },
  "no-connection": { kind: "busy", write: "unknown" },
  "reconnecting": { kind: "busy", write: "unknown" },
  "futures-login-expired": { kind: "login", write: "refused" },
  "product-lookup-failed": { kind: "refused", write: "refused" },
  "contract-lookup-failed": { kind: "refused", write: "refused" },
};

/**
 * Returns the documented texts of a code in lower case, with and without the remark in parentheses:
 * `login timeout (token expired)` and `login timeout`.
 */
export function textsOfCode(name: ResponseCode): string[] {
  const label = ResponseCode.label(name).toLowerCase();
  return [...new Set([label, label.replace(/\s*\([^)]*\)$/, "")])];
}

/** Error codes that community clients list; not verified. */
export const CommunityErrorCode = dictionary({
  wire: "communityErrorCodes",
  type: "string",
  source: "community clients (unverified)",
  values: {
    "2001": ["parameter-missing", "required parameter missing (holdings without exchangeType)"],
    "2002": ["parameter-refused", "parameter value refused"],
    "3001": ["not-logged-in", "not logged in or expired"],
    "3002": ["buying-power", "buying power too small"],
    "4001": ["market-closed", "market closed"],
    "4002": ["exchange-rejected", "rejected by the exchange"],
  },
});
/** Error codes that community clients list; not verified. */
export type CommunityErrorCode = NameOf<typeof CommunityErrorCode>;

/** Codes in the answers of the platform's HTTP interface. */
export const PlatformResponseCode = dictionary({
  wire: "platformRespCode",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2",
  values: {
    "0000": ["success", "success"],
  },
});
/** Codes in the answers of the platform's HTTP interface. */
export type PlatformResponseCode = NameOf<typeof PlatformResponseCode>;

/** Error texts with a known meaning. */
export const ErrorText = dictionary({
  wire: "errTexts",
  type: "string",
  source: "API document",
  values: {
    "current time does not allow entrust": [
      "market-closed",
      "order outside market hours (spec gives this English text; the live text may be Chinese)",
    ],
  },
});
/** Error texts with a known meaning. */
export type ErrorText = NameOf<typeof ErrorText>;
