/**
 * Defines the settings of programs: their environment variables, defaults, checks and effects.
 *
 * @module
 */
import { credentialsIn } from "../credentials.ts";
import { isLimit, type LimitName, limitNames, limitTable, type LimitTexts } from "./limits.ts";
import { addressOf } from "../transports/net/address.ts";
import { platformUrl } from "../transports/direct/options.ts";
import { DEFAULT_PUSH_IDLE_MS, MAX_PUSH_IDLE_MS } from "../transports/push/reconnect.ts";
import { lazily } from "../lazy.ts";

const loadTradePassword = lazily(() => import("../wire/trade_password.ts"));

/** Settings of a program. Settings of a transport that is not used may be absent. */
export interface Settings extends LimitTexts {
  /** Transport to the broker. */
  transport: "gateway" | "direct";
  /** Address of the gateway's HTTP endpoint. */
  gatewayUrl: string;
  /** Address of the gateway's push endpoint, `host:port`; by default the host of `gatewayUrl` and port 11112. */
  pushAddress?: string;
  /**
   * Whether unencrypted connections to other machines are allowed: to the gateway, to its push port, and to the
   * addresses of pings and notices.
   */
  plainHttp: "allow" | "refuse";
  /** Longest silence of the push endpoint before its connection is replaced, milliseconds; 0 for no limit. */
  pushIdleMs: number;
  /**
   * Whether programs only read. `yes`: no write is sent, and the trade password is not even loaded. `login`: no write
   * is sent, and the trade password is used for reads that need the trade login.
   */
  readOnly: "no" | "yes" | "login";
  /** Trade password, plain; never set with `readOnly` "yes". */
  tradePassword?: string;
  /** Key of the trade password, Base64 of 16, 24 or 32 bytes. */
  tradePasswordKey?: string;
  /** Numbers of the user's accounts, separated by commas. Without them, pushes of any account arrive. */
  fundAccounts?: string;
  /** Address of the platform, `https://…`. */
  authUrl?: string;
  /** Address of the trade server, `host:port`; by default the one that the platform returns. */
  tradeServer?: string;
  /** Address of the market server, `host:port`; by default the one that the platform returns. */
  hqServer?: string;
  /** Country of the login phone. */
  countryCode?: "CHN" | "HKG";
  /** Login phone. */
  mobile?: string;
  /** Login password, plain. */
  loginPassword?: string;
  /** MAC address of the bound device. */
  deviceId?: string;
  /** The developer's private key, PEM or Base64. */
  developerPrivateKey?: string;
  /** The platform's public key, PEM or Base64. */
  platformPublicKey?: string;
  /** Where requests to the platform contain their parameters: as a form in the body (default) or in the address. */
  parameterStyle?: "form" | "query";
  /** Additional certificates to trust for the platform, PEM. */
  caCerts?: string;
  /** Folder of the lease of the trade connection; by default in the user's own folders. */
  leaseFolder?: string;
  /**
   * File of the runner's store, or the URL of a PostgreSQL database; by default `hsgate.db` for commands that need a
   * store.
   */
  store?: string;
  /** Password of the PostgreSQL database, if the URL has none. */
  storePassword?: string;
  /** Whether recipes that write may run with a store that may be lost with the process; for trials and tests. */
  volatileStore?: "allow" | "refuse";
  /** Days for which the store keeps runs that have ended. */
  keepRunsDays: number;
  /** Maximum number of runs of one recipe in the store. */
  keepRecipeRuns: number;
  /** Days for which the store keeps the logs of runs. */
  keepLogDays: number;
  /** Maximum number of log lines in the store. */
  keepLogLines: number;
  /** Lowest level of log lines that are written and kept. */
  logLevel: "debug" | "info" | "warn" | "error";
  /** File of the user's own trading days and hours. */
  calendars?: string;
  /** Ping address of a monitoring service such as Healthchecks. Anyone who knows the address can ping. */
  pingUrl?: string;
  /** How long a call waits for its answer, milliseconds. */
  timeoutMs: number;
}

/** Name of a setting. */
export type SettingName = keyof Settings;

/** Settings that are secrets; no flag sets them. */
export type SecretName =
  | "tradePassword"
  | "tradePasswordKey"
  | "mobile"
  | "loginPassword"
  | "developerPrivateKey"
  | "fundAccounts"
  | "storePassword"
  | "pingUrl";

interface Setting {
  env: string;
  expected: string;
  accepts: (text: string) => boolean;
  fallback?: string;
  /** Never shown. */
  secret?: true;
  /** Whether a separate file may contain it: `tradePasswordFile`, `HSGATE_TRADE_PASSWORD_FILE`. */
  file?: true;
  /** Describes what the author of a settings file can do with it; absent for a harmless setting. */
  power?: string;
}

const anAddress = 'an address such as "127.0.0.1:11112"';
const anyText = (text: string) => text !== "";
const secretText = {
  expected: "text that is not empty",
  accepts: anyText,
  secret: true,
  file: true,
} as const;

// One entry for each limit; `fromEntries` loses the names.
const limitSettings = Object.fromEntries(limitNames.map((name): [string, Setting] => {
  const { env, expected, fallback, power } = limitTable[name];
  const accepts = (text: string) => isLimit(name, text);
  return [name, { env, expected, accepts, power, ...fallback !== undefined && { fallback } }];
})) as Record<LimitName, Setting>;

/** Every setting with its rules, in display order. */
export const settingTable: Readonly<Record<SettingName, Setting>> = {
  transport: {
    env: "HSGATE_TRANSPORT",
    expected: '"gateway" or "direct"',
    accepts: (text) => text === "gateway" || text === "direct",
    fallback: "gateway",
    power: "chooses the way to the broker, and so who gets your login",
  },
  gatewayUrl: {
    env: "HSGATE_GATEWAY_URL",
    expected: 'an address such as "http://127.0.0.1:11111"',
    accepts: isHttpUrl,
    fallback: "http://127.0.0.1:11111",
    power: "this gateway gets your trade login and every order",
  },
  pushAddress: {
    env: "HSGATE_PUSH_ADDRESS",
    expected: anAddress,
    accepts: isAddress,
    power: "order and fill messages from this address are trusted",
  },
  plainHttp: {
    env: "HSGATE_PLAIN_HTTP",
    expected: '"allow" or "refuse"',
    accepts: (text) => text === "allow" || text === "refuse",
    fallback: "refuse",
    power: '"allow" sends orders, logins and notices to other machines without encryption',
  },
  pushIdleMs: {
    env: "HSGATE_PUSH_IDLE_MS",
    expected: `milliseconds from 1 to ${MAX_PUSH_IDLE_MS}, or 0 for no limit`,
    accepts: (text) => /^\d{1,8}$/.test(text) && Number(text) <= MAX_PUSH_IDLE_MS,
    fallback: String(DEFAULT_PUSH_IDLE_MS),
  },
  readOnly: {
    env: "HSGATE_READ_ONLY",
    expected: '"yes", "login" or "no"',
    accepts: (text) => text === "yes" || text === "login" || text === "no",
    fallback: "no",
    power: 'every value but "yes" lets hsgate use your trade password, and "no" lets it write',
  },
  tradePassword: { env: "HSGATE_TRADE_PASSWORD", ...secretText, power: "logs in with this trade password" },
  tradePasswordKey: {
    env: "HSGATE_TRADE_PASSWORD_KEY",
    expected: "Base64 of 16, 24 or 32 bytes",
    accepts: isKey,
    secret: true,
    file: true,
    power: "encrypts your trade password; anyone who has this key can read the password",
  },
  fundAccounts: {
    env: "HSGATE_FUND_ACCOUNTS",
    expected: 'numbers of accounts with commas, such as "88001234567,88007654321"',
    accepts: (text) => /^[\w-]+(\s*,\s*[\w-]+)*$/.test(text.trim()),
    secret: true,
    file: true,
    power: "order messages of these accounts count as yours",
  },
  authUrl: {
    env: "HSGATE_AUTH_URL",
    expected: 'an address such as "https://host" (plain http only on a loopback address)',
    accepts: isPlatformUrl,
    power: "this platform gets your phone number and your login",
  },
  tradeServer: {
    env: "HSGATE_TRADE_SERVER",
    expected: anAddress,
    accepts: isAddress,
    power: "this server gets your trade login and every order",
  },
  hqServer: {
    env: "HSGATE_HQ_SERVER",
    expected: anAddress,
    accepts: isAddress,
    power: "this server gets your login, and its quotes are trusted",
  },
  countryCode: {
    env: "HSGATE_COUNTRY_CODE",
    expected: '"CHN" or "HKG"',
    accepts: (text) => text === "CHN" || text === "HKG",
    power: "logs in with a phone number of this country",
  },
  mobile: { env: "HSGATE_MOBILE", ...secretText, power: "sends this phone number to the platform" },
  loginPassword: { env: "HSGATE_LOGIN_PASSWORD", ...secretText, power: "logs in with this password" },
  deviceId: {
    env: "HSGATE_DEVICE_ID",
    expected: 'the MAC address of the bound device, such as "aa-bb-cc-00-11-22"',
    accepts: anyText,
    power: "logs in as this device",
  },
  developerPrivateKey: {
    env: "HSGATE_DEVELOPER_PRIVATE_KEY",
    ...secretText,
    expected: "PEM or Base64",
    power: "signs requests with this key",
  },
  platformPublicKey: {
    env: "HSGATE_PLATFORM_PUBLIC_KEY",
    expected: "PEM or Base64",
    accepts: anyText,
    file: true,
    power: "answers that are signed with this key are trusted",
  },
  parameterStyle: {
    env: "HSGATE_PARAMETER_STYLE",
    expected: '"form" or "query"',
    accepts: (text) => text === "form" || text === "query",
    power: "changes where requests to the platform carry the login",
  },
  caCerts: {
    env: "HSGATE_CA_CERTS",
    expected: "certificates in PEM",
    accepts: (text) => text.includes("-----BEGIN CERTIFICATE-----"),
    file: true,
    power: "a platform with one of these certificates is trusted",
  },
  leaseFolder: {
    env: "HSGATE_LEASE_FOLDER",
    expected: "a folder",
    accepts: anyText,
    power: "creates and reads lease files in this folder",
  },
  storePassword: {
    env: "HSGATE_STORE_PASSWORD",
    ...secretText,
    power: "logs in to the database of the store with this password",
  },
  store: {
    env: "HSGATE_STORE",
    expected: "a file, or the URL of a PostgreSQL database",
    accepts: anyText,
    power: "creates, reads and changes the store at this path",
  },
  volatileStore: {
    env: "HSGATE_VOLATILE_STORE",
    expected: '"allow" or "refuse"',
    accepts: (text) => text === "allow" || text === "refuse",
    power: '"allow" lets recipes write at the broker although the store may be lost',
  },
  keepRunsDays: {
    env: "HSGATE_KEEP_RUNS_DAYS",
    expected: "days from 30 to 36500",
    accepts: (text) => isWholeNumber(text, 30, 36_500),
    fallback: "400",
    power: "deletes older runs from the store",
  },
  keepRecipeRuns: {
    env: "HSGATE_KEEP_RECIPE_RUNS",
    expected: "runs from 1000 to 100000000",
    accepts: (text) => isWholeNumber(text, 1_000, 100_000_000),
    fallback: "100000",
    power: "deletes the oldest runs of a recipe beyond this number",
  },
  keepLogDays: {
    env: "HSGATE_KEEP_LOG_DAYS",
    expected: "days from 1 to 36500",
    accepts: (text) => isWholeNumber(text, 1, 36_500),
    fallback: "90",
    power: "deletes older logs from the store",
  },
  keepLogLines: {
    env: "HSGATE_KEEP_LOG_LINES",
    expected: "lines from 10000 to 1000000000",
    accepts: (text) => isWholeNumber(text, 10_000, 1_000_000_000),
    fallback: "1000000",
    power: "deletes the oldest log lines beyond this number",
  },
  logLevel: {
    env: "HSGATE_LOG_LEVEL",
    expected: '"debug", "info", "warn" or "error"',
    accepts: (text) => ["debug", "info", "warn", "error"].includes(text),
    fallback: "debug",
  },
  calendars: {
    env: "HSGATE_CALENDARS",
    expected: "a file",
    accepts: anyText,
    power: "trading days and hours come from this file",
  },
  pingUrl: {
    env: "HSGATE_PING_URL",
    expected: 'an address such as "https://hc-ping.com/..."',
    accepts: isHttpUrl,
    secret: true,
    file: true,
    power: "this address receives pings while a scheduler runs",
  },
  ...limitSettings,
  timeoutMs: {
    env: "HSGATE_TIMEOUT_MS",
    expected: "milliseconds from 1 to 3600000",
    accepts: (text) => /^[1-9]\d{0,6}$/.test(text) && Number(text) <= 3_600_000,
    fallback: "10000",
  },
};

function isWholeNumber(text: string, least: number, most: number): boolean {
  return /^\d{1,10}$/.test(text) && Number(text) >= least && Number(text) <= most;
}

/** Names of all settings, in display order. */
// The table has exactly these keys.
export const settingNames = Object.keys(settingTable) as SettingName[];

/** Settings that a read-only program without a trade login does not load. */
export const tradeSecrets: readonly SettingName[] = ["tradePassword", "tradePasswordKey"];

/** Returns the accounts in the setting `fundAccounts`. */
export function accountsOf(text: string): string[] {
  return text.split(",").map((each) => each.trim());
}

/**
 * Returns the settings that must never be shown, with their values. Includes the encrypted trade password, because
 * anyone with its key can decrypt it.
 */
export async function secretsOf(
  settings: Partial<Settings>,
): Promise<[name: SettingName, value: string][]> {
  const { tradePassword, tradePasswordKey } = settings;
  const secrets = settingNames.flatMap((name): [SettingName, string][] => {
    const value = settings[name];
    if (typeof value !== "string") return [];
    const secrets = name === "store"
      ? credentialsIn(value)
      : !settingTable[name].secret
      ? []
      : name === "fundAccounts"
      ? accountsOf(value)
      : [value];
    return secrets.map((each) => [name, each]);
  });
  if (tradePassword === undefined || tradePasswordKey === undefined) return secrets;
  const { encryptTradePassword, secretsOfEncrypted } = await loadTradePassword();
  // With an unusable key, the password cannot be encrypted and is never sent, so there is no encrypted form
  // to hide.
  const encrypted = await encryptTradePassword(tradePassword, tradePasswordKey).catch(() => "");
  return [
    ...secrets,
    ...secretsOfEncrypted(encrypted).map((each): [SettingName, string] => ["tradePassword", each]),
  ];
}

/** Returns the environment variables of a setting for a message: `HSGATE_MOBILE (or ..._FILE)`. */
export function settingVariable(name: SettingName): string {
  return `${settingTable[name].env}${settingTable[name].file ? " (or ..._FILE)" : ""}`;
}

/** Returns whether a text is an HTTP or HTTPS address without user and password. */
export function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return ["http:", "https:"].includes(protocol) && username === "" && password === "";
}

function isPlatformUrl(text: string): boolean {
  try {
    return platformUrl(text) !== "";
  } catch {
    return false; // not an address of the platform
  }
}

function isAddress(text: string): boolean {
  try {
    return /^(?:[\w.-]+|\[[\da-fA-F:]+\]):/.test(text) && addressOf(text).port > 0;
  } catch {
    return false; // no host and port
  }
}

function isKey(text: string): boolean {
  try {
    return [16, 24, 32].includes(Uint8Array.fromBase64(text).length);
  } catch {
    return false; // not Base64 at all
  }
}
