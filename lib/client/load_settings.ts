/**
 * Loads the settings of programs: from flags, then the environment, then a file.
 *
 * @module
 */
import { InvalidParamsError, type Issue } from "../errors.ts";
import { isOpenToOthers } from "../loopback.ts";
import { trustedText } from "../owned_files.ts";
import { shellHint } from "../shell_words.ts";
import { nearest } from "./nearest.ts";
import {
  isHttpUrl,
  type SecretName,
  type SettingName,
  settingNames,
  type Settings,
  settingTable,
  tradeSecrets,
} from "./settings.ts";
import { lazily } from "../lazy.ts";

const loadYaml = lazily(() => import("../std/yaml.ts"));

/** A file's text, and its permission bits if the system has them. */
interface SettingsFile {
  text: string;
  mode: number | null;
  /** Why the file cannot be trusted; absent if only its owner could have written it. */
  distrusted?: string;
}

/** Settings for a simulator, which does not trade for real, and by default accepts the MAC address of any device. */
const SIMULATED = { deviceId: "02-00-00-00-00-01", liveTrading: "allow" } as const; // no manufacturer uses the address

/** Settings that decide which broker gets an order. */
const BROKERS = ["gatewayUrl", "authUrl", "tradeServer"] as const;

/** Source of `liveTrading` and `deviceId` if the settings are those of a simulator and do not set them. */
export const SIMULATOR = "simulator";

/** Returns whether a settings file is the simulator's `--info` file, which has additional members. */
const isSimulators = (content: object): boolean => "seed" in content && "clock" in content;

/** Sources of settings. */
export interface SettingsSources {
  /** Values of flags; no flag sets a secret. */
  flags?: Partial<Record<Exclude<SettingName, SecretName>, string>>;
  /** Returns an environment variable. */
  env: (name: string) => string | undefined;
  /** Reads a file; resolves to `undefined` if it does not exist. */
  readFile: (path: string) => Promise<SettingsFile | undefined>;
  /** Settings file, YAML or JSON; without it no file is read. */
  path?: string;
  /** Whether the file must exist. @default false */
  required?: boolean;
}

/** The content of a settings file. */
export interface SettingsFileContent {
  path: string;
  text: string;
  /** The members whose value is a text, by name. */
  members: Readonly<Record<string, string>>;
  /** The members with a value that the user must trust, such as a server's address; in the order of the table. */
  powers: readonly SettingPower[];
  /** The files that members such as `tradePasswordFile` name. Each contains the value of one setting. */
  files: readonly string[];
}

/** A member of a settings file with a value that the user must trust. */
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

interface SettingText {
  text: string;
  origin: string;
}

/**
 * Loads settings. One error lists everything that is wrong, and no message contains a secret.
 *
 * @throws {InvalidParamsError} If a value is invalid, a file is missing or unreadable, or a key is misspelt.
 * @throws {TypeError} If others could have written the settings file, or a file with the value of one setting.
 */
export async function loadSettings(sources: SettingsSources): Promise<LoadedSettings> {
  const loader = new Loader(sources);
  const file = await loader.readSettingsFile();
  const values: Partial<Record<SettingName, string>> = {};
  const origins: LoadedSettings["origins"] = {};
  for (const name of settingNames) {
    // `readOnly` comes before the secrets in the table. If it is "yes", neither the trade secrets nor their files are
    // read.
    if (values.readOnly === "yes" && tradeSecrets.includes(name)) continue;
    const given = loader.fromFlag(name) ?? await loader.fromEnvironment(name) ??
      await loader.fromFile(name, file);
    const { accepts, expected, secret, fallback } = settingTable[name];
    if (given !== undefined && !accepts(given.text)) {
      // An address may contain a password.
      const isSecret = secret === true || /[@?]/.test(given.text);
      loader.wrong(`${name} (${given.origin})`, isSecret ? "[hidden]" : given.text, expected);
    }
    const { text, origin } = given ?? { text: fallback, origin: "default" };
    if (text !== undefined) [values[name], origins[name]] = [text, origin];
  }
  if (loader.isSimulators) {
    if (values.deviceId === undefined) [values.deviceId, origins.deviceId] = [SIMULATED.deviceId, SIMULATOR];
    // By default, only the simulator gets orders. A variable or a flag may name another broker, which trades for real.
    const isBrokerOfFile = BROKERS.every((name) => values[name] === file?.[name]);
    if (isBrokerOfFile && origins.liveTrading === "default") {
      [values.liveTrading, origins.liveTrading] = [SIMULATED.liveTrading, SIMULATOR];
    }
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
    // Settings with a fallback are set, and each text was checked against the table, so the cast is safe.
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
export async function inspectSettingsFile(
  path: string,
  readFile: SettingsSources["readFile"],
): Promise<SettingsFileContent | undefined> {
  const file = await readFile(path);
  if (file === undefined) return undefined;
  const text = trustedText(path, file);
  const loader = new Loader({ path, readFile, env: () => undefined });
  const parsed = await loader.parse(path, text);
  const content = isSimulators(parsed) ? { ...SIMULATED, ...parsed } : parsed;
  const members = Object.fromEntries(
    Object.entries(content).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
  for (const [name, value] of Object.entries(members)) {
    const { secret } = settingTable[name as SettingName] ?? {};
    if (secret === true || value.length <= MOST_SHOWN) continue;
    loader.wrong(`${name} (${path})`, `${value.length} characters`, `at most ${MOST_SHOWN} characters`);
  }
  loader.throwIssues();
  const powers = settingNames.flatMap((name) => {
    const { power, secret } = settingTable[name];
    if (power === undefined) return [];
    const valueText = (value: string) => secret === true ? withoutSecret(value) : withoutPassword(value);
    const own = settingTable[name].file ? [name, `${name}File`] : [name];
    return own.filter((member) => member in content).map((member) => {
      const [isFile, value = "[not one value]"] = [member !== name, members[member]];
      return {
        name: member,
        value: isFile ? value : valueText(value),
        power: isFile ? `reads this file: ${power}` : power,
      };
    });
  });
  const files = settingNames.flatMap((name) => settingTable[name].file ? members[`${name}File`] ?? [] : []);
  return { path, text, members, powers, files };
}

/** Hides a secret. Of an address, only the scheme and host stay visible, because they show who is contacted. */
function withoutSecret(value: string): string {
  return isHttpUrl(value) ? `${new URL(value).origin}/[hidden]` : "[hidden]";
}

/**
 * Hides the password of an address with a user, such as `postgres://user:password@host/name`. Shows paths as a whole.
 * If the text is no valid address, the password may contain any character, so everything up to the last `@` is hidden.
 */
function withoutPassword(value: string): string {
  const shown = value.replace(/([?&]password=)[^&#]*/gi, "$1[hidden]");
  const pattern = URL.parse(value) === null
    ? /^([a-z][a-z0-9+.-]*:\/\/[^:@]*|[^/\\:@]+):.*@/is
    : /^([a-z][a-z0-9+.-]*:\/\/[^/?#:@]*):[^/?#]*@/i;
  return shown.replace(pattern, "$1:[hidden]@");
}

/** Maximum number of warnings about names that are not settings, and of characters that a warning shows of a name. */
const [MOST_UNKNOWN, MOST_KEY] = [10, 100];

/** Maximum number of characters of a settings file. The time of the YAML reader grows faster than the text. */
const MOST_CHARACTERS = 64 * 1024;

/** Maximum number of names in a settings file. The search for similar names takes time for each one. */
const MOST_MEMBERS = 1_000;

/**
 * Maximum number of characters of a value that is not a secret. A person who trusts the file must see the whole value.
 */
const MOST_SHOWN = 20_000;

class Loader {
  readonly issues: Issue[] = [];
  readonly warnings: string[] = [];
  /** Whether the settings file is the simulator's. */
  isSimulators = false;
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

  fromFlag(name: SettingName): SettingText | undefined {
    const flags: Readonly<Record<string, string | undefined>> = this.#sources.flags ?? {};
    const text = settingTable[name].secret ? undefined : flags[name];
    return text === undefined ? undefined : { text, origin: "flag" };
  }

  async fromEnvironment(name: SettingName): Promise<SettingText | undefined> {
    const { env, file } = settingTable[name];
    const text = this.#sources.env(env);
    const path = file ? this.#sources.env(`${env}_FILE`) : undefined;
    if (text !== undefined && path !== undefined) {
      this.wrong(`${env}_FILE`, path, `no file, because ${env} is set too`);
    }
    if (text !== undefined) return { text, origin: env };
    return path === undefined ? undefined : await this.#fromOwnFile(name, path, `${env}_FILE`);
  }

  async fromFile(
    name: SettingName,
    file: Readonly<Record<string, string>> | undefined,
  ): Promise<SettingText | undefined> {
    const [text, path] = [file?.[name], file?.[`${name}File`]];
    if (text !== undefined && path !== undefined) {
      this.wrong(`${name}File`, path, `no file, because ${name} is set too`);
    }
    if (text !== undefined) return { text, origin: this.#sources.path ?? "" };
    return path === undefined ? undefined : await this.#fromOwnFile(name, path, `${name}File`);
  }

  /** Reads a file that contains only one setting; ignores the line end. */
  async #fromOwnFile(name: SettingName, path: string, origin: string): Promise<SettingText | undefined> {
    const file = await this.#sources.readFile(path);
    if (file === undefined) {
      this.wrong(origin, path, "a file that exists");
      return undefined;
    }
    if (settingTable[name].secret) this.#warnIfOpen(path, file.mode);
    return { text: trustedText(path, file).replace(/\r?\n$/, ""), origin };
  }

  #warnIfOpen(path: string, mode: number | null): void {
    if (mode === null || (mode & 0o077) === 0) return;
    this.warnings.push(
      `"${path}" contains a secret and others can read it; run: chmod 600 ${shellHint(path)}`,
    );
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
    const secrets = settingNames.filter((name) => settingTable[name].secret);
    const inFiles = settingNames.filter((name) => settingTable[name].file);
    const known = [...settingNames, ...inFiles.map((name) => `${name}File`)];
    this.isSimulators = isSimulators(content);
    const out: Record<string, string> = {};
    const unknown: string[] = [];
    for (const [key, value] of Object.entries(content)) {
      if (!known.includes(key) && this.isSimulators) continue;
      if (known.includes(key)) {
        if (typeof value === "string") out[key] = value;
        else this.wrong(`${key} (${path})`, "[not one value]", "one value");
        continue;
      }
      // A similar key is a typo, and using the default instead would be a surprise. Other keys only cause a warning.
      const meant = nearest(key, known) ??
        (key.length > 2 ? known.find((each) => isPart(key, each)) : undefined);
      if (meant !== undefined) this.wrong(path, key, `the setting "${meant}"`);
      else unknown.push(key);
    }
    for (const key of unknown.slice(0, MOST_UNKNOWN)) {
      this.warnings.push(
        `"${path}" has "${key.slice(0, MOST_KEY)}", which is not a setting; the settings are ${
          known.join(", ")
        }`,
      );
    }
    if (unknown.length > MOST_UNKNOWN) {
      this.warnings.push(`"${path}" has ${unknown.length - MOST_UNKNOWN} more names that are not settings`);
    }
    if (secrets.some((name) => out[name] !== undefined)) this.#warnIfOpen(path, file.mode);
    return out;
  }

  /** Parses a settings file. If the text is invalid, adds an issue and returns an empty object. */
  async parse(path: string, text: string): Promise<object> {
    if (text.length > MOST_CHARACTERS) {
      this.wrong(path, `${text.length} characters`, `at most ${MOST_CHARACTERS} characters`);
      return {};
    }
    const { parse } = await loadYaml();
    let content: unknown;
    try {
      // Every value stays text, so a numeric password keeps its zeros.
      content = parse(text, { schema: "failsafe" }) ?? {};
    } catch (error) {
      // The parser's own message quotes the file, which may contain a secret.
      const place = error instanceof Error ? /at line \d+, column \d+/.exec(error.message)?.[0] : undefined;
      const twice = error instanceof Error && error.message.includes("duplicated key")
        ? "a key given twice "
        : "";
      this.wrong(path, `${twice}${place ?? "something else"}`, "YAML or JSON");
      return {};
    }
    if (typeof content !== "object" || Array.isArray(content) || content === null) {
      this.wrong(path, "something else", "lines such as gatewayUrl: http://127.0.0.1:11111");
      return {};
    }
    const members = Object.entries(content);
    if (members.length > MOST_MEMBERS) {
      this.wrong(path, `${members.length} names`, `at most ${MOST_MEMBERS} names`);
      return {};
    }
    for (const [key, value] of members) {
      if (typeof value !== "string" || !value.includes("\0")) continue;
      this.wrong(`${key.slice(0, MOST_KEY)} (${path})`, "[hidden]", "a value without the character NUL");
      return {};
    }
    return content;
  }
}

const isPart = (key: string, name: string) => name.toLowerCase().includes(key.toLowerCase());
