/**
 * Reads and writes the file that records what a user trusts: recipes, settings files, calendar files and stores. This
 * file is outside every recipe folder.
 *
 * @module
 */
import { isAbsolute } from "../../confined_paths.ts";
import { BrokerError } from "../../errors.ts";
import type { KeptCode } from "../../recipes/own_steps/code_files.ts";
import type { NamedFile } from "../../recipes/files/named_files.ts";
import { readOwned } from "../../owned_files.ts";
import { openLock, PRIVATE_FOLDER, replaceFile } from "../../private_files.ts";

/** Thrown if something is not trusted, for example a store. Also thrown if the trust file cannot be used. */
export class TrustError extends BrokerError {
  override readonly name: string = "TrustError";
}

/** The record of a trusted recipe. */
export interface TrustRecord {
  /** SHA-256 of the recipe's text, in hex. */
  sha256: string;
  /**
   * Groups of code files, each with a SHA-256 over names and contents, in hex. Includes the code of the recipes that
   * this recipe runs. The copies let a scheduler keep running this version. Records of older programs have no copies,
   * so their trust ends with the next check.
   */
  code: readonly { sha256: string; copies?: KeptCode }[];
  /**
   * Every recipe that this recipe runs, directly or through another recipe, with its file in the same folder. The texts
   * let a scheduler keep running this version. Absent in older records.
   */
  runs?: readonly { name: string; file: string; sha256: string; text: string }[];
  /**
   * Programs and files of secrets that the recipe names, if they are in its folder or in the working folder; absent in
   * older records.
   */
  named?: readonly NamedFile[];
  /** Keys of the powers that the user saw and trusted. */
  powers: readonly string[];
  /** ISO 8601 in UTC. */
  trustedAt: string;
  /** The recipe's text, so that a scheduler can keep running this version; absent for TypeScript in older records. */
  text?: string;
}

/** The record of a trusted settings file. */
export interface SettingsRecord {
  /** SHA-256 over the text of the file and over the files in its folder that the text names, in hex. */
  sha256: string;
  /** ISO 8601 in UTC. */
  trustedAt: string;
}

/** A store that this user created, or has trusted. */
interface StoreRecord {
  /** The id in the store. */
  id: string;
  /** ISO 8601 in UTC. */
  trustedAt: string;
}

/** A calendar file that this user wrote with a command, or has trusted. */
interface CalendarsRecord {
  /** SHA-256 of the text, in hex. */
  sha256: string;
  /** ISO 8601 in UTC. */
  trustedAt: string;
}

/** Everything that is trusted, by absolute paths. */
interface TrustRecords {
  recipes: Map<string, TrustRecord>;
  settings: Map<string, SettingsRecord>;
  stores: Map<string, StoreRecord>;
  calendars: Map<string, CalendarsRecord>;
}

/**
 * Trust of a file:
 * - A `plain` file needs no trust, and a `trusted` file is the version that was trusted.
 * - A `changed` file was trusted, but the trust does not cover it now: it or a file that it uses has changed, others
 * could write to such a file, or the recipe needs more than was trusted.
 * - An `unknown` file was never trusted.
 */
export type Standing = "plain" | "trusted" | "changed" | "unknown";

/** The trust file of a user. */
export class TrustFile {
  /** Absolute path; absent if the environment names no folder. */
  readonly path: string | undefined;

  constructor(path: string | undefined) {
    this.path = path;
  }

  /**
   * Finds the file: `HSGATE_TRUST_FILE`, or `hsgate/trust.json` in `XDG_CONFIG_HOME` or `~/.config`. No
   * settings file can name it, because a settings file may come from somebody else.
   *
   * @throws {TrustError} If the variable contains a relative path.
   */
  static of(env: (name: string) => string | undefined): TrustFile {
    const named = env("HSGATE_TRUST_FILE");
    if (named !== undefined) {
      if (isAbsolute(named)) return new TrustFile(named);
      throw new TrustError(`Cannot use HSGATE_TRUST_FILE "${named}": write an absolute path`, {
        code: "trust",
      });
    }
    const [config, home] = [env("XDG_CONFIG_HOME"), env("HOME") ?? env("USERPROFILE")];
    const folder = config !== undefined && isAbsolute(config)
      ? config
      : home === undefined || !isAbsolute(home) // a relative folder would be in the working folder
      ? undefined
      : `${home}/.config`;
    return new TrustFile(folder === undefined ? undefined : `${folder}/hsgate/trust.json`);
  }

  /** Returns what is trusted. @throws {TrustError} If others could have written the file. */
  async read(): Promise<TrustRecords> {
    const { path } = this;
    const refuse = (why: string) =>
      new TrustError(`Cannot use the record of trusted recipes "${path}": ${why}`, { code: "trust" });
    const read = path === undefined ? undefined : await readOwned(path, { mostBytes: MOST_BYTES });
    if (read === undefined) {
      return { recipes: new Map(), settings: new Map(), stores: new Map(), calendars: new Map() };
    }
    if (read.distrusted !== undefined) throw refuse(read.distrusted);
    try {
      const { version, recipes, settings = {}, stores = {}, calendars = {} }: {
        version: number;
        recipes: Record<string, TrustRecord>;
        settings?: Record<string, SettingsRecord>;
        stores?: Record<string, StoreRecord>;
        calendars?: Record<string, CalendarsRecord>;
      } = JSON.parse(read.text);
      if (version !== 1) throw refuse(`it has version ${version}, but this program supports only version 1`);
      const records: TrustRecords = {
        recipes: new Map(Object.entries(recipes)),
        settings: new Map(Object.entries(settings)),
        stores: new Map(Object.entries(stores)),
        calendars: new Map(Object.entries(calendars)),
      };
      const isValid = [...records.recipes.values()].every(isRecipeRecord) &&
        [...records.settings.values(), ...records.calendars.values()].every(
          hasTexts("sha256", "trustedAt"),
        ) &&
        [...records.stores.values()].every(hasTexts("id", "trustedAt"));
      if (isValid) return records;
    } catch (error) {
      if (error instanceof TrustError) throw error;
    }
    throw refuse('it is damaged: remove it, and trust the recipes again with "hsgate trust"');
  }

  /**
   * Reads the file, applies changes, and writes it.
   *
   * @throws {TrustError} If the file cannot be written, or others could have written it.
   */
  async change(change: (all: TrustRecords) => void): Promise<void> {
    const { path } = this;
    if (path === undefined) {
      throw new TrustError("Cannot record trust: set HSGATE_TRUST_FILE or HOME", { code: "trust" });
    }
    await Deno.mkdir(path.replace(/\/[^/]*$/, "") || "/", { recursive: true, mode: PRIVATE_FOLDER });
    // Locked, so that two processes that record trust at the same time both succeed.
    using lock = openLock(`${path}.lock`);
    await lock.lock(true);
    const all = await this.read();
    change(all);
    const sorted = <T>(records: Map<string, T>) =>
      Object.fromEntries([...records].sort(([a], [b]) => a < b ? -1 : 1));
    const content = {
      version: 1,
      recipes: sorted(all.recipes),
      settings: sorted(all.settings),
      stores: sorted(all.stores),
      calendars: sorted(all.calendars),
    };
    const text = `${JSON.stringify(content, null, 2)}\n`;
    if (text.length > MOST_BYTES) {
      throw new TrustError(
        `Cannot write the trust file "${path}": it would be larger than ${
          MOST_BYTES / 1024 / 1024
        } MiB; for ` +
          'each recipe that you no longer use, run "hsgate trust RECIPE --remove"',
        { code: "trust" },
      );
    }
    replaceFile(path, text);
  }
}

/** Returns a function that checks whether a value is an object whose members with these names are texts. */
const hasTexts = (...names: readonly string[]) => (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null &&
  names.every((name) => typeof Reflect.get(value, name) === "string");

const isListOf = (isItem: (item: unknown) => boolean, list: unknown = []): boolean =>
  Array.isArray(list) && list.every(isItem);

/** Returns whether the record of a recipe has the shape that the program writes. */
function isRecipeRecord(record: unknown): boolean {
  if (!hasTexts("sha256", "trustedAt")(record)) return false;
  const { powers, code, runs, named, text = "" } = record;
  const isCopy = (copy: unknown) =>
    hasTexts("name", "content")(copy) && String(copy.name).startsWith("./") && isUrlPath(String(copy.name)) &&
    /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/.test(String(copy.content));
  return powers !== undefined && isListOf((each) => typeof each === "string", powers) &&
    typeof text === "string" &&
    code !== undefined &&
    isListOf((each) => hasTexts("sha256")(each) && isListOf(isCopy, each.copies), code) &&
    isListOf(hasTexts("name", "file", "sha256", "text"), runs) &&
    isListOf(
      (each) => hasTexts("name", "path")(each) && (each.sha256 === undefined || hasTexts("sha256")(each)),
      named,
    );
}

/** Returns whether the escapes of a path in a URL are valid. */
function isUrlPath(path: string): boolean {
  try {
    return decodeURIComponent(path) !== "";
  } catch {
    return false;
  }
}

/** Largest size of the record, bytes; it contains texts of recipes. */
const MOST_BYTES = 64 * 1024 * 1024;
