/**
 * Platform operations of the direct transport: login over HTTP and opening the socket.
 *
 * @module
 */
import { Country } from "../dictionaries/country.ts";
import { family, gap, operation } from "./operation.ts";
import { commandAnswer, field, key, params, record } from "./records.ts";
import { int32, oneOf, secret, text } from "./types.ts";

const overHttp = gap("the platform answers it over HTTP, not over the socket");
/** Session token. */
const token = field("token", secret);

/** The platform. */
export const platform = family("platform", {
  /** Logs in with phone number and password. The token in the answer is encrypted for the developer's key. */
  login: operation({
    wire: "login",
    group: null,
    platformPath: "/hs/v2/login",
    effect: "session",
    needs: "nothing",
    source: "API document 4.7, 5",
    request: params({
      /** Country of the phone number. */
      country: field("countryCode", oneOf(Country, ["CHN", "HKG"])),
      /** Phone number of the login. */
      mobile: field("mobile", secret),
      /** Login password, encrypted with the platform's key, Base64. */
      password: field("password", secret),
      /** MAC address of the bound device. */
      deviceId: field("deviceNo", text),
    }),
    response: record({
      /** Name of the user. */
      nickname: field("nickName", text),
      /** Phone number of the login. */
      mobile: field("mobile", secret),
      /** Session token, encrypted for the developer's key, Base64. */
      token: key("token", secret),
    }),
    socket: overHttp,
  }),

  /** Resolves to the addresses of the trade server and the quote server. */
  servers: operation({
    wire: "queryServer",
    group: null,
    platformPath: "/hs/config/queryServer",
    effect: "read",
    answers: "now",
    needs: "platform-login",
    source: "API document 4.7",
    request: params({ token }),
    response: record({
      /** `host:port` of the trade server. */
      tradeServer: key("tradeServer", text),
      /** `host:port` of the quote server. */
      quoteServer: key("hqServer", text),
    }),
    socket: overHttp,
  }),

  /** Claims the level-2 quote permission for this client. */
  claimLevel2: operation({
    wire: "lv2Switch",
    group: null,
    platformPath: "/hs/hqPermission/lv2/switch",
    effect: "session",
    needs: "platform-login",
    extra: true,
    source: "vendor Python SDK 1.1.2",
    request: params({ token }),
    response: commandAnswer({}),
    socket: overHttp,
  }),

  /** Opens a socket connection and resolves to its key and heartbeat interval. */
  openConnection: operation({
    wire: "InitConnect",
    group: null,
    effect: "session",
    needs: "platform-login",
    source: "API document 4.8",
    request: params({
      /** Unique id of the client; a MAC address is usual. */
      deviceId: field("deviceNo", text),
    }),
    response: record({
      /** Session key, 16 bytes in Base64. */
      sessionKey: key("encryptedKey", secret),
      /** Seconds between heartbeats. */
      heartbeatIntervalSec: field("heartbeatIntervalSec", int32()),
    }, ["InitConnectResp"]),
    socket: { request: "InitConnectReq", response: "InitConnectResp" },
    reserved: "the direct transport opens its connections itself",
  }),
});
