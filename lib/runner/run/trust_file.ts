/**
 * The file in which a user keeps what he has trusted: recipes, settings files, calendar files and stores. It is
 * outside every folder of recipes.
 *
 * @module
 */
import { BrokerError } from "../../errors.ts";
import type { KeptCode } from "../../recipes/own_code.ts";
import { readOwned } from "../../owned_files.ts";
import { openLock, PRIVATE_FOLDER, replaceFile } from "../../private_files.ts";

/** The file of what is trusted cannot be used. */
export class TrustError extends BrokerError {
  override readonly name: string = "TrustError";
}

/** What was trusted of a recipe. */
export interface TrustRecord {
  /** SHA-256 of the recipe's text, in hex. */
  sha256: string;
  /**
   * Files of code, with the SHA-256 over the names and contents of each group, in hex. The copies let a scheduler go on
   * with this version; older records have none.
   */
  code: readonly { files: readonly string[]; sha256: string; copies?: KeptCode }[];
  /** The powers that were shown, by their keys. */
  powers: readonly string[];
  /** ISO 8601 in UTC. */
  trustedAt: string;
  /** The recipe's text, so that a scheduler can go on with this version; absent for TypeScript in older records. */
  text?: string;
}

/** What was trusted of a settings file. */
export interface SettingsRecord {
  /** SHA-256 over the text of the file and the files of its own folder that it names, in hex. */
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
 * Whether a file counts: `plain` needs no trust, `trusted` is the version that was trusted, `changed` another one, and
 * `unknown` was never trusted.
 */
export type Standing = "plain" | "trusted" | "changed" | "unknown";

/** The file of what a user has trusted. */
export class TrustFile {
  /** Its absolute path; absent when the environment names no folder for it. */
  readonly path: string | undefined;

  constructor(path: string | undefined) {
    this.path = path;
  }

  /**
   * Finds the file: `HSGATE_TRUST_FILE`, or `hsgate/trust.json` in `XDG_CONFIG_HOME` or `~/.config`. No settings file
   * names it, as that may come with a stranger's folder.
   *
   * @throws {TrustError} When the variable holds a relative path.
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
      : home === undefined
      ? undefined
      : `${home}/.config`;
    return new TrustFile(folder === undefined ? undefined : `${folder}/hsgate/trust.json`);
  }

  /** Returns what is trusted. @throws {TrustError} When the file is not to be believed. */
  async read(): Promise<TrustRecords> {
    const { path } = this;
    const refuse = (why: string) =>
      new TrustError(`Cannot believe the record of trusted recipes "${path}": ${why}`, { code: "trust" });
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
      if (version !== 1) throw refuse(`it is of version ${version}, and this program knows version 1`);
      return {
        recipes: new Map(Object.entries(recipes)),
        settings: new Map(Object.entries(settings)),
        stores: new Map(Object.entries(stores)),
        calendars: new Map(Object.entries(calendars)),
      };
    } catch (error) {
      if (error instanceof TrustError) throw error;
      throw refuse('it is damaged: remove it, and trust the recipes again with "hsgate trust"');
    }
  }

  /**
   * Reads the file, changes what is trusted, and writes it.
   *
   * @throws {TrustError} When the file cannot be written or is not to be believed.
   */
  async change(change: (all: TrustRecords) => void): Promise<void> {
    const { path } = this;
    if (path === undefined) {
      throw new TrustError("Cannot keep what is trusted: set HSGATE_TRUST_FILE or HOME", { code: "trust" });
    }
    await Deno.mkdir(path.replace(/\/[^/]*$/, "") || "/", { recursive: true, mode: PRIVATE_FOLDER });
    // Two processes that trust at the same time keep both records.
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
        `Cannot keep what is trusted in "${path}": it would be larger than ${
          MOST_BYTES / 1024 / 1024
        } MiB; remove ` +
          'recipes that are not used with "hsgate trust RECIPE --remove"',
        { code: "trust" },
      );
    }
    replaceFile(path, text);
  }
}

/** Largest record, bytes: it keeps the texts of recipes. */
const MOST_BYTES = 64 * 1024 * 1024;
const isAbsolute = (path: string) => /^(\/|[A-Za-z]:[\\/])/.test(path);
