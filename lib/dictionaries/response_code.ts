/**
 * Codes and texts of answers.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Codes of answers over the socket; the gateway writes them at the start of its error text. */
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
/** Codes of answers over the socket; the gateway writes them at the start of its error text. */
export type ResponseCode = NameOf<typeof ResponseCode>;

/** Names for `communityErrorCodes`. */
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
/** Names for `communityErrorCodes`. */
export type CommunityErrorCode = NameOf<typeof CommunityErrorCode>;

/** Names for `platformRespCode`. */
export const PlatformResponseCode = dictionary({
  wire: "platformRespCode",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2",
  values: {
    "0000": ["success", "success"],
  },
});
/** Names for `platformRespCode`. */
export type PlatformResponseCode = NameOf<typeof PlatformResponseCode>;

/** Names for `errTexts`. */
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
/** Names for `errTexts`. */
export type ErrorText = NameOf<typeof ErrorText>;
