/**
 * Settings of programs: from flags, then the environment, then a file; each name and its rule stands here once.
 *
 * @module
 */
import { InvalidParamsError, type Issue } from "../errors.ts";
import { believed } from "../owned_files.ts";
import { isInside } from "../confined_paths.ts";
import { isLoopback, isOpenToOthers } from "../loopback.ts";
import { addressOf } from "../transports/address.ts";
import { platformUrl } from "../transports/direct/options.ts";
import { DEFAULT_PUSH_IDLE_MS, MAX_PUSH_IDLE_MS } from "../transports/push_waits.ts";
import { nearest } from "./nearest.ts";

/** What a program needs to reach the broker; what concerns the other way may be left out. */
export interface Settings {
  /** Way to the broker. */
  transport: "gateway" | "direct";
  /** Address of the gateway's HTTP door. */
  gatewayUrl: string;
  /** Address of its push door, `host:port`; the host of `gatewayUrl` and port 11112 when absent. */
  pushAddress?: string;
  /** Whether a gateway on another machine, and posts to plain HTTP addresses of other machines, are allowed. */
  plainHttp: "allow" | "refuse";
  /** Longest silence of the push door before its connection is replaced, milliseconds; 0 for no limit. */
  pushIdleMs: number;
  /** Trade password, plain. */
  tradePassword?: string;
  /** Key of the trade password, Base64 of 16, 24 or 32 bytes. */
  tradePasswordKey?: string;
  /** Numbers of the accounts whose order pushes are ours, with commas; the first ones that come when absent. */
  fundAccounts?: string;
  /** Address of the platform, `https://…`. */
  authUrl?: string;
  /** Address of the trade server, `host:port`; what the platform says when absent. */
  tradeServer?: string;
  /** Address of the market server, `host:port`; what the platform says when absent. */
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
  /** How parameters of the platform travel; as a form when absent. */
  parameterStyle?: "form" | "query";
  /** Further certificates that the platform may show, PEM. */
  caCerts?: string;
  /** Folder of the lease of the trade connection; one of the user's own when absent. */
  leaseFolder?: string;
  /** File of the runner's ledger; commands that need one take `hsgate.db` when absent. */
  ledger?: string;
  /** Lets recipes that write begin though the ledger may not outlive the process; for trials and tests. */
  volatileLedger?: "allow" | "refuse";
  /** Days for which the ledger keeps runs that have ended. */
  keepRunsDays: number;
  /** Days for which the ledger keeps the logs of runs. */
  keepLogDays: number;
  /** Least level of log lines that are written and kept. */
  logLevel: "debug" | "info" | "warn" | "error";
  /** File of the user's own trading days and hours. */
  calendars?: string;
  /** Address that a dead-man service, such as Healthchecks, wants to be pinged at; whoever knows it can ping. */
  pingUrl?: string;
  /** How long a call waits for its answer. */
  timeoutMs: number;
}

/** Name of a setting. */
export type SettingName = keyof Settings;

/** Settings that are secrets; no flag takes one. */
export type SecretName =
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
  /** May also be named by a file that holds it: `tradePasswordFile`, `HSGATE_TRADE_PASSWORD_FILE`. */
  file?: true;
}

const anAddress = 'an address such as "127.0.0.1:11112"';
const anyText = (text: string) => text !== "";
const secretText = {
  expected: "text that is not empty",
  accepts: anyText,
  secret: true,
  file: true,
} as const;

/** Every setting, once. */
const table: Readonly<Record<SettingName, Setting>> = {
  transport: {
    env: "HSGATE_TRANSPORT",
    expected: '"gateway" or "direct"',
    accepts: (text) => text === "gateway" || text === "direct",
    fallback: "gateway",
  },
  gatewayUrl: {
    env: "HSGATE_GATEWAY_URL",
    expected: 'an address such as "http://127.0.0.1:11111"',
    accepts: isHttpUrl,
    fallback: "http://127.0.0.1:11111",
  },
  pushAddress: {
    env: "HSGATE_PUSH_ADDRESS",
    expected: anAddress,
    accepts: isAddress,
  },
  plainHttp: {
    env: "HSGATE_PLAIN_HTTP",
    expected: '"allow" or "refuse"',
    accepts: (text) => text === "allow" || text === "refuse",
    fallback: "refuse",
  },
  pushIdleMs: {
    env: "HSGATE_PUSH_IDLE_MS",
    expected: `milliseconds from 1 to ${MAX_PUSH_IDLE_MS}, or 0 for no limit`,
    accepts: (text) => /^\d{1,8}$/.test(text) && Number(text) <= MAX_PUSH_IDLE_MS,
    fallback: String(DEFAULT_PUSH_IDLE_MS),
  },
  tradePassword: { env: "HSGATE_TRADE_PASSWORD", ...secretText },
  tradePasswordKey: {
    env: "HSGATE_TRADE_PASSWORD_KEY",
    expected: "Base64 of 16, 24 or 32 bytes",
    accepts: isKey,
    secret: true,
    file: true,
  },
  fundAccounts: {
    env: "HSGATE_FUND_ACCOUNTS",
    expected: 'numbers of accounts with commas, such as "88001234567,88007654321"',
    accepts: (text) => /^[\w-]+(\s*,\s*[\w-]+)*$/.test(text.trim()),
    secret: true,
    file: true,
  },
  authUrl: {
    env: "HSGATE_AUTH_URL",
    expected: 'an address such as "https://host" (plain http on a loopback address alone)',
    accepts: isPlatformUrl,
  },
  tradeServer: { env: "HSGATE_TRADE_SERVER", expected: anAddress, accepts: isAddress },
  hqServer: { env: "HSGATE_HQ_SERVER", expected: anAddress, accepts: isAddress },
  countryCode: {
    env: "HSGATE_COUNTRY_CODE",
    expected: '"CHN" or "HKG"',
    accepts: (text) => text === "CHN" || text === "HKG",
  },
  mobile: { env: "HSGATE_MOBILE", ...secretText },
  loginPassword: { env: "HSGATE_LOGIN_PASSWORD", ...secretText },
  deviceId: {
    env: "HSGATE_DEVICE_ID",
    expected: 'the MAC address of the bound device, such as "aa-bb-cc-00-11-22"',
    accepts: anyText,
  },
  developerPrivateKey: { env: "HSGATE_DEVELOPER_PRIVATE_KEY", ...secretText, expected: "PEM or Base64" },
  platformPublicKey: {
    env: "HSGATE_PLATFORM_PUBLIC_KEY",
    expected: "PEM or Base64",
    accepts: anyText,
    file: true,
  },
  parameterStyle: {
    env: "HSGATE_PARAMETER_STYLE",
    expected: '"form" or "query"',
    accepts: (text) => text === "form" || text === "query",
  },
  caCerts: {
    env: "HSGATE_CA_CERTS",
    expected: "certificates in PEM",
    accepts: (text) => text.includes("-----BEGIN CERTIFICATE-----"),
    file: true,
  },
  leaseFolder: { env: "HSGATE_LEASE_FOLDER", expected: "a folder", accepts: anyText },
  ledger: { env: "HSGATE_LEDGER", expected: "a file", accepts: anyText },
  volatileLedger: {
    env: "HSGATE_VOLATILE_LEDGER",
    expected: '"allow" or "refuse"',
    accepts: (text) => text === "allow" || text === "refuse",
  },
  keepRunsDays: {
    env: "HSGATE_KEEP_RUNS_DAYS",
    expected: "days from 30 to 36500",
    accepts: (text) => isWholeNumber(text, 30, 36_500),
    fallback: "400",
  },
  keepLogDays: {
    env: "HSGATE_KEEP_LOG_DAYS",
    expected: "days from 1 to 36500",
    accepts: (text) => isWholeNumber(text, 1, 36_500),
    fallback: "90",
  },
  logLevel: {
    env: "HSGATE_LOG_LEVEL",
    expected: '"debug", "info", "warn" or "error"',
    accepts: (text) => ["debug", "info", "warn", "error"].includes(text),
    fallback: "debug",
  },
  calendars: { env: "HSGATE_CALENDARS", expected: "a file", accepts: anyText },
  pingUrl: {
    env: "HSGATE_PING_URL",
    expected: 'an address such as "https://hc-ping.com/..."',
    accepts: isHttpUrl,
    secret: true,
    file: true,
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

/** Names of all settings, in the order in which they are shown. */
// The table has exactly these keys.
export const settingNames = Object.keys(table) as SettingName[];

/** Environment variables that are read, for whoever grants permissions. */
export const settingVariables: readonly string[] = settingNames.flatMap((name) =>
  table[name].file ? [table[name].env, `${table[name].env}_FILE`] : [table[name].env]
);

/** The single accounts of the setting `fundAccounts`. */
export function accountsOf(text: string): string[] {
  return text.split(",").map((each) => each.trim());
}

/** Settings that must not be shown anywhere, each with its value. */
export function secretsOf(settings: Settings): [name: SettingName, value: string][] {
  return settingNames.flatMap((name) => {
    const value = settings[name];
    if (!table[name].secret || typeof value !== "string") return [];
    const secrets = name === "fundAccounts" ? accountsOf(value) : [value];
    return secrets.map((each): [SettingName, string] => [name, each]);
  });
}

/** Environment variables of a setting, in words: `HSGATE_MOBILE (or ..._FILE)`. */
export function settingVariable(name: SettingName): string {
  return `${table[name].env}${table[name].file ? " (or ..._FILE)" : ""}`;
}

/** A file's text, and its permission bits where the system has them. */
export interface SettingsFile {
  text: string;
  mode: number | null;
  /** Why others could have written it; absent when only its owner could. */
  distrusted?: string;
  /** Its path once links are followed; the path itself when absent. */
  real?: string;
}

/** A MAC address that no maker gives out. */
const SIMULATED_DEVICE = "02-00-00-00-00-01";

/** Where settings are looked for. */
export interface SettingsSources {
  /** What flags say; secrets are not taken from there. */
  flags?: Partial<Record<Exclude<SettingName, SecretName>, string>>;
  /** An environment variable. */
  env: (name: string) => string | undefined;
  /** A file; nothing when there is none. */
  readFile: (path: string) => Promise<SettingsFile | undefined>;
  /** Settings file, YAML or JSON. */
  path: string;
  /** Whether the file has to be there. */
  required: boolean;
  /**
   * Whether a person has named the file. One that was only found in the working folder may be a stranger's: the
   * addresses of other machines in it get no password from elsewhere.
   *
   * @default {required}
   */
  named?: boolean;
}

/** Settings, and where each comes from. */
export interface LoadedSettings {
  settings: Settings;
  /** In words, such as `HSGATE_GATEWAY_URL`, `hsgate.yaml` or `default`; absent for what is not set. */
  origins: Partial<Record<SettingName, string>>;
  /** The file that was read. */
  file?: string;
  /** What to tell the user. */
  warnings: string[];
}

interface Given {
  text: string;
  origin: string;
  /** Whether it comes from the working folder only: from a settings file that nobody has named. */
  isFound?: boolean;
}

/**
 * Loads settings. Everything that is wrong is reported at once, and no message holds a secret.
 *
 * @throws {InvalidParamsError} When a value does not fit, a file is missing or unreadable, or a key is misspelt.
 * @throws {TypeError} When others could have written the settings file, or a file that holds one setting.
 */
export async function loadSettings(sources: SettingsSources): Promise<LoadedSettings> {
  const loader = new Loader(sources);
  const file = await loader.readSettingsFile();
  const values: Partial<Record<SettingName, string>> = {};
  const origins: LoadedSettings["origins"] = {};
  const found = new Set<SettingName>();
  for (const name of settingNames) {
    const given = loader.fromFlag(name) ?? await loader.fromEnvironment(name) ??
      await loader.fromFile(name, file);
    const { accepts, expected, secret, fallback } = table[name];
    if (given !== undefined && !accepts(given.text)) {
      // Somebody may have put a password into an address.
      const hidden = secret === true || given.text.includes("@");
      loader.wrong(`${name} (${given.origin})`, hidden ? "[hidden]" : given.text, expected);
    }
    const { text, origin } = given ?? { text: fallback, origin: "default" };
    if (text !== undefined) [values[name], origins[name]] = [text, origin];
    if (given?.isFound) found.add(name);
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
  if (loader.issues.length > 0) {
    throw new InvalidParamsError("read the settings", loader.issues, { code: "settings" });
  }
  for (const [name, why] of withheld(values, origins, found)) {
    values[name] = origins[name] = undefined;
    loader.warnings.push(why);
  }
  return {
    // Those with a fallback are there, and all have been checked against the table, which says what they hold.
    settings: {
      ...values,
      timeoutMs: Number(values.timeoutMs),
      pushIdleMs: Number(values.pushIdleMs),
      keepRunsDays: Number(values.keepRunsDays),
      keepLogDays: Number(values.keepLogDays),
    } as Settings,
    origins,
    ...file !== undefined && { file: sources.path },
    warnings: loader.warnings,
  };
}

/** Secrets, and the addresses that each is sent to, or used for. */
const receivers = {
  tradePassword: ["gatewayUrl", "authUrl", "tradeServer", "hqServer"],
  loginPassword: ["authUrl", "tradeServer", "hqServer"],
  mobile: ["authUrl", "tradeServer", "hqServer"],
  developerPrivateKey: ["authUrl", "tradeServer", "hqServer"],
} as const satisfies Partial<Record<SecretName, readonly SettingName[]>>;

/**
 * Returns the passwords that must not be used, each with the reason: those of a person, where the address that would
 * get them stands in a settings file that was only found in the working folder, and is another machine's.
 */
function withheld(
  values: Readonly<Partial<Record<SettingName, string>>>,
  origins: LoadedSettings["origins"],
  found: ReadonlySet<SettingName>,
): [name: keyof typeof receivers, why: string][] {
  const isDirect = values.transport === "direct" || found.has("loginPassword");
  const names = Object.keys(receivers) as (keyof typeof receivers)[];
  return names.flatMap((name) => {
    if (values[name] === undefined || found.has(name)) return [];
    const address = receivers[name].find((each) =>
      found.has(each) && !isHere(values[each]!) &&
      (each === "gatewayUrl" || name !== "tradePassword" || isDirect)
    );
    if (address === undefined) return [];
    const why =
      `${name} (${origins[name]}) is not used: ${address} comes from "${origins[address]}", which was only ` +
      `found in this folder; if that file is yours, name it: --config ${origins[address]} or HSGATE_CONFIG`;
    return [[name, why]];
  });
}

/** Tells whether an address or `host:port` leads to this machine. */
function isHere(text: string): boolean {
  return isLoopback(
    URL.canParse(text) && text.includes("//") ? new URL(text).hostname : addressOf(text).hostname,
  );
}

class Loader {
  #real: string | undefined;
  readonly issues: Issue[] = [];
  readonly warnings: string[] = [];
  readonly #sources: SettingsSources;

  constructor(sources: SettingsSources) {
    this.#sources = sources;
  }

  wrong(where: string, value: unknown, expected: string): void {
    this.issues.push({ path: [where], value, expected });
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
    const { required, named = required } = this.#sources;
    const isFound = !named;
    if (text !== undefined) return { text, origin: this.#sources.path, isFound };
    const given = path === undefined ? undefined : await this.#fromOwnFile(name, path, `${name}File`);
    // A file elsewhere is the person's own, whoever names it.
    return given && { ...given, isFound: isFound && given.isBeside };
  }

  /** Reads a file that holds one setting and nothing else; the line end belongs to the file. */
  async #fromOwnFile(
    name: SettingName,
    path: string,
    origin: string,
  ): Promise<Given & { isBeside: boolean } | undefined> {
    const file = await this.#sources.readFile(path);
    if (file === undefined) this.wrong(origin, path, "a file that exists");
    else if (table[name].secret) this.#warnIfOpen(path, file.mode);
    if (file === undefined) return undefined;
    const folder = (this.#real ?? this.#sources.path).replace(/[^/]*$/, "") || ".";
    const isBeside = isInside(folder, file.real ?? path);
    return { text: believed(path, file).replace(/\r?\n$/, ""), origin, isBeside };
  }

  #warnIfOpen(path: string, mode: number | null): void {
    if (mode === null || (mode & 0o077) === 0) return;
    this.warnings.push(`"${path}" holds a secret and others can read it; run: chmod 600 "${path}"`);
  }

  /** Reads the settings file into known keys with their texts. */
  async readSettingsFile(): Promise<Record<string, string> | undefined> {
    const { path, required, readFile } = this.#sources;
    const file = await readFile(path);
    if (file === undefined) {
      if (required) this.wrong("the settings file", path, "a file that exists");
      return undefined;
    }
    this.#real = file.real;
    const content = await this.#parse(path, believed(path, file));
    const secrets = settingNames.filter((name) => table[name].secret);
    const inFiles = settingNames.filter((name) => table[name].file);
    const known = [...settingNames, ...inFiles.map((name) => `${name}File`)];
    // The simulator's `--info` file serves as a settings file, and tells more than settings.
    const isSimulators = "seed" in content && "clock" in content;
    const out: Record<string, string> = {};
    for (const [key, value] of Object.entries(content)) {
      if (!known.includes(key) && isSimulators) continue;
      if (known.includes(key)) {
        if (typeof value === "string") out[key] = value;
        else this.wrong(`${key} (${path})`, "[not one value]", "one value");
        continue;
      }
      // A near miss is a typo, and the default in its place would be a surprise; other keys are not ours.
      const meant = nearest(key, known) ??
        (key.length > 2 ? known.find((each) => isPart(key, each)) : undefined);
      if (meant !== undefined) this.wrong(path, key, `the setting "${meant}"`);
      else this.warnings.push(`"${path}" has "${key}", which is no setting; there are ${known.join(", ")}`);
    }
    if (secrets.some((name) => out[name] !== undefined)) this.#warnIfOpen(path, file.mode);
    // The simulator asks for no bound device unless it is told to.
    return isSimulators ? { deviceId: SIMULATED_DEVICE, ...out } : out;
  }

  async #parse(path: string, text: string): Promise<object> {
    const { parse } = await import("@std/yaml");
    let content: unknown;
    try {
      // Every value stays text, so that a password of digits keeps its zeros.
      content = parse(text, { schema: "failsafe" }) ?? {};
    } catch (error) {
      // The parser's own message quotes the file, and with it perhaps a secret.
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
    return false; // what it is instead may hold a password
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
