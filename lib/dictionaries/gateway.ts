/**
 * Code tables for the gateway program: ports, console commands and login checks.
 *
 * @module
 */
import { dictionary } from "./dictionary.ts";
import type { NameOf } from "./dictionary.ts";

/** Names for `gatewayPorts`. */
export const GatewayPort = dictionary({
  wire: "gatewayPorts",
  type: "int",
  source: "API document, community Go SDK",
  values: {
    "11111": ["http", "HTTP"],
    "11112": ["push", "TCP push"],
  },
});
/** Names for `gatewayPorts`. */
export type GatewayPort = NameOf<typeof GatewayPort>;

/** Names for `gatewayConsoleCommands`. */
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
/** Names for `gatewayConsoleCommands`. */
export type GatewayCommand = NameOf<typeof GatewayCommand>;

/** Names for `tradeLoginAuthType`. */
export const TradeLoginCheck = dictionary({
  wire: "tradeLoginAuthType",
  type: "string",
  source: "API document, vendor Python SDK 1.1.2",
  values: {
    "0": ["device", "device check, authParam is the device number"],
    "1": ["phone", "phone check, authParam is the token of the code check"],
  },
});
/** Names for `tradeLoginAuthType`. */
export type TradeLoginCheck = NameOf<typeof TradeLoginCheck>;
