/**
 * Code tables for the gateway program: ports, console commands and login checks.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Default ports of the gateway program. */
export const GatewayPort = dictionary({
  wire: "gatewayPorts",
  type: "int",
  source: "API document, community Go SDK",
  values: {
    "11111": ["http", "HTTP"],
    "11112": ["push", "TCP push"],
  },
});
/** Default ports of the gateway program. */
export type GatewayPort = NameOf<typeof GatewayPort>;

/** Commands of the gateway's console. */
export const GatewayCommand = dictionary({
  wire: "gatewayConsoleCommands",
  type: "string",
  source: "API document",
  values: {
    q: ["q", "quit"],
    help: ["help", "list commands"],
    info: ["info", "status"],
    relogin: ["relogin", "platform login again"],
    tradelogin: ["tradelogin", "trade login"],
    tradelogout: ["tradelogout", "trade logout"],
  },
});
/** Commands of the gateway's console. */
export type GatewayCommand = NameOf<typeof GatewayCommand>;

/** Kind of check at a trade login. */
export const TradeLoginCheck = dictionary({
  wire: "tradeLoginAuthType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2",
  values: {
    "0": ["device", "device check, authParam is the device number"],
    "1": ["phone", "phone check, authParam is the token of the code check"],
  },
});
/** Kind of check at a trade login. */
export type TradeLoginCheck = NameOf<typeof TradeLoginCheck>;
