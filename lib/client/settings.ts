/**
 * Settings of programs: from flags, then the environment, then a file; each name and its rule stands here once.
 *
 * @module
 */
import { InvalidParamsError, type Issue } from "../errors.ts";
import { nearest } from "./nearest.ts";

/** What a program needs to reach the broker. */
export interface Settings {
  /** Address of the gateway's HTTP door. */
  gatewayUrl: string;
  /** Address of its push door, `host:port`; the host of `gatewayUrl` and port 11112 when absent. */
  pushAddress?: string;
  /** Trade password, plain. */
  tradePassword?: string;
  /** Key of the trade password, Base64 of 16, 24 or 32 bytes. */
  tradePasswordKey?: string;
  /** How long a call waits for its answer. */
  timeoutMs: number;
  /** Way to the broker. */
  transport: "gateway";
}

/** Name of a setting. */
export type SettingName = keyof Settings;

interface Setting {
  env: string;
  expected: string;
  accepts: (text: string) => boolean;
  fallback?: string;
  /** Never shown; may also be named by a file that holds it: `tradePasswordFile`, `HSGATE_TRADE_PASSWORD_FILE`. */
  secret?: true;
}

const anyText = (text: string) => text !== "";

/** Every setting, once. */
const table: Readonly<Record<SettingName, Setting>> = {
  gatewayUrl: {
    env: "HSGATE_GATEWAY_URL",
    expected: 'an address such as "http://127.0.0.1:11111"',
    accepts: isHttpUrl,
    fallback: "http://127.0.0.1:11111",
  },
  pushAddress: {
    env: "HSGATE_PUSH_ADDRESS",
    expected: 'an address such as "127.0.0.1:11112"',
    accepts: (text) => isPort(/^(?:[\w.-]+|\[[\da-fA-F:]+\]):(\d{1,5})$/.exec(text)?.[1]),
  },
  tradePassword: {
    env: "HSGATE_TRADE_PASSWORD",
    expected: "text that is not empty",
    accepts: anyText,
    secret: true,
  },
  tradePasswordKey: {
    env: "HSGATE_TRADE_PASSWORD_KEY",
    expected: "Base64 of 16, 24 or 32 bytes",
    accepts: isKey,
    secret: true,
  },
  timeoutMs: {
    env: "HSGATE_TIMEOUT_MS",
    expected: "milliseconds from 1 to 3600000",
    accepts: (text) => /^[1-9]\d{0,6}$/.test(text) && Number(text) <= 3_600_000,
    fallback: "10000",
  },
  transport: {
    env: "HSGATE_TRANSPORT",
    expected: '"gateway" ("direct" is not there yet)',
    accepts: (text) => text === "gateway",
    fallback: "gateway",
  },
};

/** Names of all settings, in the order in which they are shown. */
// The table has exactly these keys.
export const settingNames = Object.keys(table) as SettingName[];

/** Environment variables that are read, for whoever grants permissions. */
export const settingVariables: readonly string[] = settingNames.flatMap((name) =>
  table[name].secret ? [table[name].env, `${table[name].env}_FILE`] : [table[name].env]
);

/** A file's text, and its permission bits where the system has them. */
export interface SettingsFile {
  text: string;
  mode: number | null;
}

/** Where settings are looked for. */
export interface SettingsSources {
  /** What flags say; secrets are not taken from there. */
  flags?: Partial<Record<Exclude<SettingName, "tradePassword" | "tradePasswordKey">, string>>;
  /** An environment variable. */
  env: (name: string) => string | undefined;
  /** A file; nothing when there is none. */
  readFile: (path: string) => Promise<SettingsFile | undefined>;
  /** Settings file, YAML or JSON. */
  path: string;
  /** Whether the file has to be there. */
  required: boolean;
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
}

/**
 * Loads settings. Everything that is wrong is reported at once, and no message holds a secret.
 *
 * @throws {InvalidParamsError} When a value does not fit, a file is missing or unreadable, or a key is misspelt.
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
      // Somebody may have put a password into an address.
      const hidden = secret === true || given.text.includes("@");
      loader.wrong(`${name} (${given.origin})`, hidden ? "[hidden]" : given.text, expected);
    }
    const { text, origin } = given ?? { text: fallback, origin: "default" };
    if (text !== undefined) [values[name], origins[name]] = [text, origin];
  }
  if (loader.issues.length > 0) {
    throw new InvalidParamsError("read the settings", loader.issues, { code: "settings" });
  }
  const { gatewayUrl, timeoutMs, transport: _, ...rest } = values;
  return {
    // The settings with a fallback are there, and all have been checked.
    settings: { ...rest, gatewayUrl: gatewayUrl!, timeoutMs: Number(timeoutMs), transport: "gateway" },
    origins,
    ...file !== undefined && { file: sources.path },
    warnings: loader.warnings,
  };
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

  fromFlag(name: SettingName): Given | undefined {
    const flags: Readonly<Record<string, string | undefined>> = this.#sources.flags ?? {};
    const text = table[name].secret ? undefined : flags[name];
    return text === undefined ? undefined : { text, origin: "flag" };
  }

  async fromEnvironment(name: SettingName): Promise<Given | undefined> {
    const { env, secret } = table[name];
    const text = this.#sources.env(env);
    const path = secret ? this.#sources.env(`${env}_FILE`) : undefined;
    if (text !== undefined && path !== undefined) this.wrong(`${env}_FILE`, path, `nothing beside ${env}`);
    if (text !== undefined) return { text, origin: env };
    return path === undefined ? undefined : await this.#fromSecretFile(path, `${env}_FILE`);
  }

  async fromFile(
    name: SettingName,
    file: Readonly<Record<string, string>> | undefined,
  ): Promise<Given | undefined> {
    const [text, path] = [file?.[name], file?.[`${name}File`]];
    if (text !== undefined && path !== undefined) this.wrong(`${name}File`, path, `nothing beside ${name}`);
    if (text !== undefined) return { text, origin: this.#sources.path };
    return path === undefined ? undefined : await this.#fromSecretFile(path, `${name}File`);
  }

  /** Reads a file that holds one secret and nothing else; the line end belongs to the file. */
  async #fromSecretFile(path: string, origin: string): Promise<Given | undefined> {
    const file = await this.#sources.readFile(path);
    if (file === undefined) this.wrong(origin, path, "a file that exists");
    else this.#warnIfOpen(path, file.mode);
    return file === undefined ? undefined : { text: file.text.replace(/\r?\n$/, ""), origin };
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
    const content = await this.#parse(path, file.text);
    const secrets = settingNames.filter((name) => table[name].secret);
    const known = [...settingNames, ...secrets.map((name) => `${name}File`)];
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
    return out;
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

function isPort(text: string | undefined): boolean {
  return text !== undefined && Number(text) >= 1 && Number(text) <= 65_535;
}

function isKey(text: string): boolean {
  try {
    return [16, 24, 32].includes(Uint8Array.fromBase64(text).length);
  } catch {
    return false; // not Base64 at all
  }
}
