/**
 * What the direct way to the broker needs: an account, two keys, and patience.
 *
 * @module
 */
import type { Country } from "../../dictionaries/country.ts";
import { isLoopback } from "../../loopback.ts";
import type { Padding } from "../../wire/padding.ts";
import type { ReconnectOptions } from "../push_waits.ts";

/** Calls back later. */
export interface Timers {
  /** Calls back once after some milliseconds; the function that it returns takes that back. */
  after(ms: number, callback: () => void): () => void;
}

/** When the other end is asked for a sign of life before a write. */
export interface ProbeOptions {
  /** Silence after which a link is no longer trusted with a write. @default {5_000} */
  idleMs?: number;
  /** Longest wait for the sign of life. @default {2_000} */
  waitMs?: number;
}

/** Options of {@linkcode direct}. */
export interface DirectOptions {
  /** Address of the platform, `https://…`; plain HTTP is taken on a loopback address alone. */
  url: string;
  /** Address of the trade server, `host:port`; what the platform says by default. */
  tradeServer?: string;
  /** Address of the market server, `host:port`; what the platform says by default. */
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
  /** Trade password, plain; with it the trade login is made with each connection and kept. A secret. */
  tradePassword?: string;
  /** How parameters of the platform travel. A query ends up in the logs of proxies. @default {"form"} */
  parameters?: "form" | "query";
  /** Further certificates to trust, PEM. Checks are always on. */
  caCerts?: string[];
  /**
   * Whether the trade connection is used. Without it there are market data and exchange rates alone, and any number
   * of programs can have them beside the one that trades.
   *
   * @default true
   */
  trade?: boolean;
  /**
   * Folder of the lease that keeps a second program of this machine from the account's one trade connection;
   * `false` for none.
   *
   * @default the folder "hsgate" in XDG_STATE_HOME, or in ~/.local/state
   */
  leaseFolder?: string | false;
  /** What a second program is told about this one. @default {"hsgate"} */
  program?: string;
  /** How long a call waits for its answer unless it says otherwise. @default {10_000} */
  timeoutMs?: number;
  /** Longest wait for a connection, and again for its first answer. @default {10_000} */
  connectTimeoutMs?: number;
  /** Time between heartbeats; what the platform says by default. */
  heartbeatMs?: number;
  /** Time between two requests that keep the trade login; `false` for none. @default {60_000} */
  keepLoginMs?: number | false;
  /** When the other end is asked for a sign of life before a write; `false` for never. */
  probe?: ProbeOptions | false;
  /** When a lost connection is tried again. */
  reconnect?: ReconnectOptions;
  /** Take the level-2 quote permission, which another device may have. @default {false} */
  claimLevel2?: boolean;
  /** How long a token is good for without a call. @default {10_800_000} */
  tokenMs?: number;
  /** Take answers without a signature. @default {false} */
  allowUnsigned?: boolean;
  /** How bodies are filled up. @default {"pkcs7"} */
  padding?: Padding;
  /** Serial number after which a quiet moment is used for a fresh connection. @default {4_026_531_840} */
  renewAtSerial?: number;
  /** The time, Unix milliseconds. @default {Date.now} */
  now?: () => number;
  /** A clock that never jumps, milliseconds. @default {performance.now} */
  monotonic?: () => number;
  /** Source of jitter, from 0 up to 1. @default {Math.random} */
  random?: () => number;
  /** Source of request ids. @default {crypto.randomUUID} */
  randomId?: () => string;
  /** Timers. @default {setTimeout} */
  timers?: Timers;
  /** Reads an environment variable, for the default of `leaseFolder`. @default {Deno.env.get} */
  env?: (name: string) => string | undefined;
}

/** Where time and chance come from. */
export interface World {
  now: () => number;
  monotonic: () => number;
  random: () => number;
  randomId: () => string;
  timers: Timers;
}

/** Timers of the runtime. */
export const systemTimers: Timers = {
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** The world of these options. */
export function worldOf(options: DirectOptions): World {
  return {
    now: options.now ?? Date.now,
    monotonic: options.monotonic ?? (() => performance.now()),
    random: options.random ?? Math.random,
    randomId: options.randomId ?? (() => crypto.randomUUID()),
    timers: options.timers ?? systemTimers,
  };
}

/**
 * Writes a MAC address as the vendor's client does, lower case with hyphens; any other id stays as it is.
 */
export function deviceNumber(id: string): string {
  const digits = id.replaceAll(/[:.\-\s]/g, "").toLowerCase();
  return /^[0-9a-f]{12}$/.test(digits) ? digits.match(/../g)!.join("-") : id;
}

/**
 * Checks the address of the platform.
 *
 * @throws {TypeError} When passwords would travel in the open, or it is no address.
 */
export function platformUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "") {
    throw new TypeError('Cannot read the address of the platform: write it like "https://host"');
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw new TypeError(
      `Cannot use "${url.origin}": passwords need https, plain HTTP is taken on loopback alone`,
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}
