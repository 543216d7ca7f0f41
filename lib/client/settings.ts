/**
 * Defines the settings of programs and loads them: from flags, then the environment, then a file.
 *
 * @module
 */
import { InvalidParamsError, type Issue } from "../errors.ts";
import { trustedText } from "../owned_files.ts";
import { isOpenToOthers } from "../loopback.ts";
import { addressOf } from "../transports/net/address.ts";
import { platformUrl } from "../transports/direct/options.ts";
import { DEFAULT_PUSH_IDLE_MS, MAX_PUSH_IDLE_MS } from "../transports/push/reconnect.ts";
import { nearest } from "./nearest.ts";
import { shellHint } from "../shell_words.ts";

/** Settings of a program. Those of the other transport may be absent. */
export interface Settings {
  /** Transport to the broker. */
  transport: "gateway" | "direct";
  /** Address of the gateway's HTTP endpoint. */
  gatewayUrl: string;
  /** Address of its push endpoint, `host:port`; the host of `gatewayUrl` and port 11112 when absent. */
  pushAddress?: string;
  /** Whether a gateway on another machine, and posts to plain HTTP addresses of other machines, are allowed. */
  plainHttp: "allow" | "refuse";
  /** Longest silence of the push endpoint before its connection is replaced, milliseconds; 0 for no limit. */
  pushIdleMs: number;
  /** Trade password, plain. */
  tradePassword?: string;
  /** Key of the trade password, Base64 of 16, 24 or 32 bytes. */
  tradePasswordKey?: string;
  /** Numbers of our accounts, separated by commas; by default the account of the first order push. */
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
  /** How requests to the platform carry their parameters; by default as a form. */
  parameterStyle?: "form" | "query";
  /** Additional certificates to trust for the platform, PEM. */
  caCerts?: string;
  /** Folder of the lease of the trade connection; by default in the user's own folders. */
  leaseFolder?: string;
  /** File of the runner's store, or the URL of a PostgreSQL database; commands that need one take `hsgate.db` when absent. */
  store?: string;
  /** Password of that database, where the URL has none. */
  storePassword?: string;
  /** Lets recipes that write begin though the store may not outlive the process; for trials and tests. */
  volatileStore?: "allow" | "refuse";
  /** Days for which the store keeps runs that have ended. */
  keepRunsDays: number;
  /** Most runs of one recipe that the store keeps. */
  keepRecipeRuns: number;
  /** Days for which the store keeps the logs of runs. */
  keepLogDays: number;
  /** Most lines of logs that the store keeps. */
  keepLogLines: number;
  /** Lowest level of log lines that are written and kept. */
  logLevel: "debug" | "info" | "warn" | "error";
  /** File of the user's own trading days and hours. */
  calendars?: string;
  /** Ping address of a dead-man service such as Healthchecks. Anyone who knows the address can ping. */
  pingUrl?: string;
  /** How long a call waits for its answer. */
  timeoutMs: number;
}

/** Name of a setting. */
export type SettingName = keyof Settings;

/** Settings that are secrets; no flag takes one. */
type SecretName =
  | "tradePassword"
  | "tradePasswordKey"
  | "mobile"
  | "loginPassword"
  | "developerPrivateKey"
  | "fundAccounts"
  | "pingUrl";

interface Setting {
  env: string;
  expected: string;
  accepts: (text: string) => boolean;
  fallback?: string;
  /** Never shown. */
  secret?: true;
  /** May also be in a separate file: `tradePasswordFile`, `HSGATE_TRADE_PASSWORD_FILE`. */
  file?: true;
  /** What the author of a settings file can do with it; absent for a harmless setting. */
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

/** All settings with their rules. */
const table: Readonly<Record<SettingName, Setting>> = {
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
    power: "order and fill messages from this address are believed",
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
  tradePassword: { env: "HSGATE_TRADE_PASSWORD", ...secretText, power: "logs in with this trade password" },
  tradePasswordKey: {
    env: "HSGATE_TRADE_PASSWORD_KEY",
    expected: "Base64 of 16, 24 or 32 bytes",
    accepts: isKey,
    secret: true,
    file: true,
    power: "encrypts your trade password, so that the owner of this key can read it",
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
    expected: 'an address such as "https://host" (plain http on a loopback address alone)',
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
    power: "this server gets your login, and its quotes are believed",
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
    power: "answers that are signed with this key are believed",
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
    power: "a platform with one of these certificates is believed",
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
    power: "deletes the oldest of more runs from the store",
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
    power: "deletes the oldest of more lines of logs from the store",
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
    power: "this address hears that a scheduler runs",
  },
  timeoutMs: {
    env: "HSGATE_TIMEOUT_MS",
    expected: "milliseconds from 1 to 3600000",
    accepts: (text) => /^[1-9]\d{0,6}$/.test(text) && Number(text) <= 3_600_000,
    fallback: "10000",
  },
};

function isWholeNumber(text: string, least: number, most: number): boolean {
  return /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most;
}

/** Names of all settings, in display order. */
// The table has exactly these keys.
export const settingNames = Object.keys(table) as SettingName[];

/** Environment variables that are read, for the program's permissions. */
export const settingVariables: readonly string[] = settingNames.flatMap((name) =>
  table[name].file ? [table[name].env, `${table[name].env}_FILE`] : [table[name].env]
);

/** Returns the accounts in the setting `fundAccounts`. */
export function accountsOf(text: string): string[] {
  return text.split(",").map((each) => each.trim());
}

/** Returns the settings that must never be shown, with their values. */
export function secretsOf(settings: Settings): [name: SettingName, value: string][] {
  return settingNames.flatMap((name) => {
    const value = settings[name];
    if (name === "store" && typeof value === "string") {
      return passwordsIn(value).map((each): [SettingName, string] => [name, each]);
    }
    if (!table[name].secret || typeof value !== "string") return [];
    const secrets = name === "fundAccounts" ? accountsOf(value) : [value];
    return secrets.map((each): [SettingName, string] => [name, each]);
  });
}

/** The password in the URL of a store, as it stands there and as it is sent. */
function passwordsIn(store: string): string[] {
  const [, password] = /^postgres(?:ql)?:\/\/[^@/?#:]*:([^@]*)@/.exec(store) ?? [];
  if (password === undefined || password === "") return [];
  return [...new Set([password, decodeURIComponent(password)])];
}

/** Returns the environment variables of a setting for a message: `HSGATE_MOBILE (or ..._FILE)`. */
export function settingVariable(name: SettingName): string {
  return `${table[name].env}${table[name].file ? " (or ..._FILE)" : ""}`;
}

/** A file's text, and its permission bits if the system has them. */
interface SettingsFile {
  text: string;
  mode: number | null;
  /** Why others could have written it; absent if only its owner could. */
  distrusted?: string;
}

/** A MAC address that no manufacturer uses. */
const SIMULATED_DEVICE = "02-00-00-00-00-01";

/** Sources of settings. */
export interface SettingsSources {
  /** Values of flags; no flag sets a secret. */
  flags?: Partial<Record<Exclude<SettingName, SecretName>, string>>;
  /** An environment variable. */
  env: (name: string) => string | undefined;
  /** Reads a file; resolves to `undefined` if it does not exist. */
  readFile: (path: string) => Promise<SettingsFile | undefined>;
  /** Settings file, YAML or JSON; without it no file is read. */
  path?: string;
  /** Whether the file must exist. @default false */
  required?: boolean;
}

/** The content of a settings file. */
export interface AskedSettings {
  path: string;
  text: string;
  /** The text of each member. */
  members: Readonly<Record<string, string>>;
  /** Its members that have an effect, in the order of the table. */
  powers: readonly SettingPower[];
  /** Files in which it says a setting is stored. */
  files: readonly string[];
}

/** A member of a settings file that has an effect. */
export interface SettingPower {
  /** The member, such as `gatewayUrl` or `mobileFile`. */
  name: string;
  /** Its value; hidden for a secret. */
  value: string;
  /** Description of what the author of the file can do with it. */
  power: string;
}

/** Settings with their sources. */
export interface LoadedSettings {
  settings: Settings;
  /** Source of each setting, such as `HSGATE_GATEWAY_URL`, `hsgate.yaml` or `default`; absent if it is not set. */
  origins: Partial<Record<SettingName, string>>;
  /** The file that was read. */
  file?: string;
  /** Warnings for the user. */
  warnings: string[];
}

interface Given {
  text: string;
  origin: string;
}

/**
 * Loads settings. One error lists everything that is wrong, and no message contains a secret.
 *
 * @throws {InvalidParamsError} If a value is invalid, a file is missing or unreadable, or a key is misspelt.
 * @throws {TypeError} If others could have written the settings file, or a separate file of one setting.
 */
export async function loadSettings(sources: SettingsSources): Promise<LoadedSettings> {
  const loader = new Loader(sources);
  const file = await loader.readSettingsFile();
  const values: Partial<Record<SettingName, string>> = {};
  const origins: LoadedSettings["origins"] = {};
  for (const name of settingNames) {
    const given = loader.fromFlag(name) ?? await loader.fromEnvironment(name) ??
      await loader.fromFile(name, file);
    const { accepts, expected, secret, fallback } = table[name];
    if (given !== undefined && !accepts(given.text)) {
      // An address may contain a password.
      const hidden = secret === true || /[@?]/.test(given.text);
      loader.wrong(`${name} (${given.origin})`, hidden ? "[hidden]" : given.text, expected);
    }
    const { text, origin } = given ?? { text: fallback, origin: "default" };
    if (text !== undefined) [values[name], origins[name]] = [text, origin];
  }
  const { pingUrl, plainHttp } = values;
  if (
    plainHttp !== "allow" && pingUrl !== undefined && isHttpUrl(pingUrl) && isOpenToOthers(new URL(pingUrl))
  ) {
    loader.wrong(
      `pingUrl (${origins.pingUrl})`,
      "[hidden]",
      'an https address, or the setting plainHttp "allow"',
    );
  }
  loader.throwIssues();
  return {
    // Those with a fallback are there, and all have been checked against the table, which says what they hold.
    settings: {
      ...values,
      timeoutMs: Number(values.timeoutMs),
      pushIdleMs: Number(values.pushIdleMs),
      keepRunsDays: Number(values.keepRunsDays),
      keepRecipeRuns: Number(values.keepRecipeRuns),
      keepLogDays: Number(values.keepLogDays),
      keepLogLines: Number(values.keepLogLines),
    } as Settings,
    origins,
    ...file !== undefined && sources.path !== undefined && { file: sources.path },
    warnings: loader.warnings,
  };
}

/**
 * Reads a settings file without applying it. Does not read the files that it names.
 *
 * @returns `undefined` if there is no such file.
 * @throws {InvalidParamsError} If it is not YAML or JSON.
 * @throws {TypeError} If others could have written it.
 */
export async function askedSettings(
  path: string,
  readFile: SettingsSources["readFile"],
): Promise<AskedSettings | undefined> {
  const file = await readFile(path);
  if (file === undefined) return undefined;
  const text = trustedText(path, file);
  const loader = new Loader({ path, readFile, env: () => undefined });
  const content = await loader.parse(path, text);
  loader.throwIssues();
  const members = Object.fromEntries(
    Object.entries(content).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
  const powers = settingNames.flatMap((name) => {
    const { power, secret } = table[name];
    if (power === undefined) return [];
    const shown = (value: string) => secret === true || value.includes("@") ? hidden(value) : value;
    const own = table[name].file ? [name, `${name}File`] : [name];
    return own.filter((member) => member in content).map((member) => {
      const [isFile, value = "[not one value]"] = [member !== name, members[member]];
      return {
        name: member,
        value: isFile ? value : shown(value),
        power: isFile ? `reads this file: ${power}` : power,
      };
    });
  });
  const files = settingNames.flatMap((name) => table[name].file ? members[`${name}File`] ?? [] : []);
  return { path, text, members, powers, files };
}

/** Hides a secret. If it is an address, the host stays visible, because it shows who is contacted. */
function hidden(value: string): string {
  return isHttpUrl(value) ? `${new URL(value).origin}/[hidden]` : "[hidden]";
}

class Loader {
  readonly issues: Issue[] = [];
  readonly warnings: string[] = [];
  readonly #sources: SettingsSources;

  constructor(sources: SettingsSources) {
    this.#sources = sources;
  }

  wrong(where: string, value: unknown, expected: string): void {
    this.issues.push({ path: [where], value, expected });
  }

  throwIssues(): void {
    if (this.issues.length === 0) return;
    throw new InvalidParamsError("read the settings", this.issues, { code: "settings" });
  }

  fromFlag(name: SettingName): Given | undefined {
    const flags: Readonly<Record<string, string | undefined>> = this.#sources.flags ?? {};
    const text = table[name].secret ? undefined : flags[name];
    return text === undefined ? undefined : { text, origin: "flag" };
  }

  async fromEnvironment(name: SettingName): Promise<Given | undefined> {
    const { env, file } = table[name];
    const text = this.#sources.env(env);
    const path = file ? this.#sources.env(`${env}_FILE`) : undefined;
    if (text !== undefined && path !== undefined) this.wrong(`${env}_FILE`, path, `nothing beside ${env}`);
    if (text !== undefined) return { text, origin: env };
    return path === undefined ? undefined : await this.#fromOwnFile(name, path, `${env}_FILE`);
  }

  async fromFile(
    name: SettingName,
    file: Readonly<Record<string, string>> | undefined,
  ): Promise<Given | undefined> {
    const [text, path] = [file?.[name], file?.[`${name}File`]];
    if (text !== undefined && path !== undefined) this.wrong(`${name}File`, path, `nothing beside ${name}`);
    if (text !== undefined) return { text, origin: this.#sources.path ?? "" };
    return path === undefined ? undefined : await this.#fromOwnFile(name, path, `${name}File`);
  }

  /** Reads a file that contains only one setting; ignores the line end. */
  async #fromOwnFile(name: SettingName, path: string, origin: string): Promise<Given | undefined> {
    const file = await this.#sources.readFile(path);
    if (file === undefined) {
      this.wrong(origin, path, "a file that exists");
      return undefined;
    }
    if (table[name].secret) this.#warnIfOpen(path, file.mode);
    return { text: trustedText(path, file).replace(/\r?\n$/, ""), origin };
  }

  #warnIfOpen(path: string, mode: number | null): void {
    if (mode === null || (mode & 0o077) === 0) return;
    this.warnings.push(`"${path}" holds a secret and others can read it; run: chmod 600 ${shellHint(path)}`);
  }

  /** Reads the texts of the known keys in the settings file. */
  async readSettingsFile(): Promise<Record<string, string> | undefined> {
    const { path, required, readFile } = this.#sources;
    if (path === undefined) return undefined;
    const file = await readFile(path);
    if (file === undefined) {
      if (required) this.wrong("the settings file", path, "a file that exists");
      return undefined;
    }
    const content = await this.parse(path, trustedText(path, file));
    const secrets = settingNames.filter((name) => table[name].secret);
    const inFiles = settingNames.filter((name) => table[name].file);
    const known = [...settingNames, ...inFiles.map((name) => `${name}File`)];
    // The simulator's `--info` file is also a settings file, and has further members.
    const isSimulators = "seed" in content && "clock" in content;
    const out: Record<string, string> = {};
    for (const [key, value] of Object.entries(content)) {
      if (!known.includes(key) && isSimulators) continue;
      if (known.includes(key)) {
        if (typeof value === "string") out[key] = value;
        else this.wrong(`${key} (${path})`, "[not one value]", "one value");
        continue;
      }
      // A similar key is a typo, and using the default instead would be a surprise. Other keys only cause a warning.
      const meant = nearest(key, known) ??
        (key.length > 2 ? known.find((each) => isPart(key, each)) : undefined);
      if (meant !== undefined) this.wrong(path, key, `the setting "${meant}"`);
      else this.warnings.push(`"${path}" has "${key}", which is no setting; there are ${known.join(", ")}`);
    }
    if (secrets.some((name) => out[name] !== undefined)) this.#warnIfOpen(path, file.mode);
    // The simulator checks the device only if configured.
    return isSimulators ? { deviceId: SIMULATED_DEVICE, ...out } : out;
  }

  /** Parses a settings file; adds its faults to `issues`. */
  async parse(path: string, text: string): Promise<object> {
    const { parse } = await import("@std/yaml");
    let content: unknown;
    try {
      // Every value stays text, so a numeric password keeps its zeros.
      content = parse(text, { schema: "failsafe" }) ?? {};
    } catch (error) {
      // The parser's own message quotes the file, which may contain a secret.
      const place = error instanceof Error ? /at line \d+, column \d+/.exec(error.message)?.[0] : undefined;
      const twice = error instanceof Error && error.message.includes("duplicated key")
        ? "a key stands there twice "
        : "";
      this.wrong(path, `${twice}${place ?? "something else"}`, "YAML or JSON");
      return {};
    }
    if (typeof content === "object" && !Array.isArray(content) && content !== null) return content;
    this.wrong(path, "something else", "lines such as gatewayUrl: http://127.0.0.1:11111");
    return {};
  }
}

const isPart = (key: string, name: string) => name.toLowerCase().includes(key.toLowerCase());

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return ["http:", "https:"].includes(protocol) && username === "" && password === "";
}

function isPlatformUrl(text: string): boolean {
  try {
    return platformUrl(text) !== "";
  } catch {
    return false; // the text may contain a password, so it is not examined further
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
