/**
 * Defines the options of the direct transport: the account, two keys, and time limits.
 *
 * @module
 */
import type { Country } from "../../operations/public_types.ts";
import { isLoopback } from "../../loopback.ts";
import type { Padding } from "../../wire/padding.ts";
import type { ReconnectOptions } from "../push/reconnect.ts";
import type { Machine } from "../../time.ts";
import type { ReadOnly } from "../transport.ts";

/** When to check, before a write, that the other end answers. */
export interface ProbeOptions {
  /** Milliseconds without a received frame after which a write is preceded by a check. @default {5_000} */
  idleMs?: number;
  /** Maximum milliseconds to wait for the answer to the check. @default {2_000} */
  waitMs?: number;
}

/** Options of {@linkcode direct}. */
export interface DirectOptions {
  /** Address of the platform, `https://…`; plain HTTP is accepted only on a loopback address. */
  url: string;
  /** Address of the trade server, `host:port`; by default the one that the platform returns. */
  tradeServer?: string;
  /** Address of the market server, `host:port`; by default the one that the platform returns. */
  quoteServer?: string;
  /** Country of the login phone. */
  country: Extract<Country, "CHN" | "HKG">;
  /** Login phone. A secret. */
  mobile: string;
  /** Login password, plain. A secret. */
  password: string;
  /** MAC address of the bound device. */
  deviceId: string;
  /** The developer's private key, PEM or Base64. A secret. */
  privateKey: string;
  /** The platform's public key, PEM or Base64; test and production have different ones. */
  platformKey: string;
  /** Trade password, plain. If set, each trade connection makes the trade login and keeps it alive. A secret. */
  tradePassword?: string;
  /** Refuses every write, and with `yes` also the trade login. @default refuses nothing */
  readOnly?: ReadOnly;
  /**
   * Where requests to the platform contain their parameters: in the body or in the address. Proxies may log
   * addresses, which then contain passwords. @default {"form"}
   */
  parameters?: "form" | "query";
  /** Additional certificates to trust, PEM. Certificates are always checked. */
  caCerts?: string[];
  /**
   * Whether to use the trade connection. Without it, only market data and exchange rates are available. Any number of
   * programs can read these while another program trades.
   *
   * @default true
   */
  trade?: boolean;
  /**
   * Folder of the lease that keeps a second program of this machine from using the account's only trade
   * connection; `false` for no lease.
   *
   * @default the folder "hsgate" in XDG_STATE_HOME, or in ~/.local/state
   */
  leaseFolder?: string | false;
  /** Name of this program in the error of a second program that wants the lease. @default {"hsgate"} */
  program?: string;
  /** How long a call waits for its answer, unless the call sets its own limit. @default {10_000} */
  timeoutMs?: number;
  /** Longest wait for a connection. The wait for its first answer has the same limit. @default {10_000} */
  connectTimeoutMs?: number;
  /** Time between heartbeats; by default the platform's value. */
  heartbeatMs?: number;
  /** Time between two requests that keep the trade login alive; `false` for none. @default {60_000} */
  keepLoginMs?: number | false;
  /** When to check, before a write, that the other end answers; `false` for never. */
  probe?: ProbeOptions | false;
  /** Options for reconnecting after a loss. */
  reconnect?: ReconnectOptions;
  /** Claim the level-2 quote permission, which another device may have. @default {false} */
  claimLevel2?: boolean;
  /** Milliseconds for which a token is valid after the last call. @default {10_800_000} */
  tokenMs?: number;
  /** Accept answers without a signature. @default {false} */
  allowUnsigned?: boolean;
  /** Padding of message bodies. @default {"pkcs7"} */
  padding?: Padding;
  /** Serial number after which an idle connection is replaced. @default {4_026_531_840} */
  renewAtSerial?: number;
  /** Clocks, timers, random numbers and request ids in place of this machine's own; for tests and rehearsals. */
  machine?: Partial<Machine>;
  /** Reads an environment variable, for the default of `leaseFolder`. @default {Deno.env.get} */
  env?: (name: string) => string | undefined;
}

/**
 * Returns a MAC address in the format of the vendor's client, lower case with hyphens. Returns any other id
 * unchanged.
 */
export function deviceNumber(id: string): string {
  const digits = id.replaceAll(/[:.\-\s]/g, "").toLowerCase();
  return /^[0-9a-f]{12}$/.test(digits) ? digits.match(/../g)!.join("-") : id;
}

/**
 * Returns the address of the platform without slashes at its end.
 *
 * @throws {TypeError} If the text is not an address, or if passwords would be sent unencrypted.
 */
export function platformUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "") {
    throw new TypeError('Cannot read the address of the platform: write it like "https://host"');
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw new TypeError(
      `Cannot use "${url.origin}": passwords need https; plain HTTP is accepted only on loopback`,
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}
