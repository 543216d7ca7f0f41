/**
 * Which recipes their user has trusted: a file outside every folder of recipes, with the hash of all that would run.
 *
 * A recipe that only reads from the configured broker into the folder of its run needs no trust. Any other runs only
 * as the version that was trusted.
 *
 * @module
 */
import { BrokerError } from "../errors.ts";
import { readOwned } from "../owned_files.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../private_files.ts";
import { fileUrl } from "../steps/file_url.ts";
import { sha256 } from "../steps/kinds/files.ts";
import { digestOfCode, findCode } from "../steps/own_code.ts";
import { type Power, powerKey, powersOf, powerText } from "../steps/powers.ts";
import { MOST_BYTES, readRegular, readText } from "../steps/read_text.ts";
import { loadFile } from "../steps/load_recipe.ts";
import type { CompiledRecipe, CompileOptions, StepCode } from "../steps/mod.ts";

/** The file of trusted recipes cannot be used. */
export class TrustError extends BrokerError {
  override readonly name: string = "TrustError";
}

/** What was trusted of a recipe. */
export interface TrustRecord {
  /** SHA-256 of the recipe's text, in hex. */
  sha256: string;
  /** Files of code, with the SHA-256 over the names and contents of each group, in hex. */
  code: readonly { files: readonly string[]; sha256: string }[];
  /** The powers that were shown, by their keys. */
  powers: readonly string[];
  /** ISO 8601 in UTC. */
  trustedAt: string;
  /** The recipe's text, so that a scheduler can go on with this version; absent for TypeScript. */
  text?: string;
}

/**
 * How a recipe stands: `plain` needs no trust, `trusted` is the version that was trusted, `changed` another one, and
 * `unknown` was never trusted.
 */
export type Standing = "plain" | "trusted" | "changed" | "unknown";

/** A recipe's standing, with the powers that are not trusted. */
export interface Judgement {
  standing: Standing;
  /** Powers that need trust and do not have it; none of a recipe that may run. */
  wanted: readonly Power[];
}

/** The recipes that a user has trusted. Reads the record each time that it is asked. */
export class Trust {
  /** Absolute path of the file; absent when the environment names no folder for it. */
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
  static of(env: (name: string) => string | undefined): Trust {
    const named = env("HSGATE_TRUST_FILE");
    if (named !== undefined) {
      if (isAbsolute(named)) return new Trust(named);
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
    return new Trust(folder === undefined ? undefined : `${folder}/hsgate/trust.json`);
  }

  /** Returns what is trusted, by the absolute path of each recipe. @throws {TrustError} When the file is not to be believed. */
  async records(): Promise<Map<string, TrustRecord>> {
    return this.path === undefined ? new Map() : await readRecords(this.path);
  }

  /** Returns the record of a recipe's file; nothing when it was never trusted or is not there. */
  async recordOf(file: string): Promise<TrustRecord | undefined> {
    const path = await realPath(file);
    return path === undefined ? undefined : (await this.records()).get(path);
  }

  /** Tells whether a recipe's text and its code are those that were trusted, without running or compiling any. */
  async isUnchanged(file: string): Promise<boolean> {
    const record = await this.recordOf(file);
    if (record === undefined) return false;
    const bytes = await readRegular(await realPath(file) ?? file, MOST_BYTES).catch(() => undefined);
    if (!(bytes instanceof Uint8Array) || await sha256(new TextDecoder().decode(bytes)) !== record.sha256) {
      return false;
    }
    return await isSameCode(record, file);
  }

  /** Judges a recipe as it was compiled. */
  async judge(recipe: CompiledRecipe): Promise<Judgement> {
    const needed = powersOf(recipe).filter(({ needsTrust }) => needsTrust);
    if (needed.length === 0) return { standing: "plain", wanted: [] };
    const record = await this.recordOf(recipe.file);
    if (record === undefined) return { standing: "unknown", wanted: needed };
    const known = new Set(record.code.map(({ sha256 }) => sha256));
    const isSame = recipe.sha256 === record.sha256 && await isSameCode(record, recipe.file) &&
      codeOf(recipe).every((code) => code !== "unread" && known.has(code.sha256));
    const isCovered = needed.every((power) => record.powers.includes(powerKey(power)));
    if (isSame && isCovered) return { standing: "trusted", wanted: [] };
    return { standing: "changed", wanted: needed };
  }

  /** Compiles the version of a recipe that was trusted, after its file was edited; nothing where none was kept. */
  async trustedVersion(file: string, options: CompileOptions): Promise<CompiledRecipe | undefined> {
    const record = await this.recordOf(file);
    if (record?.text === undefined || !await isSameCode(record, file)) return undefined;
    const found = await loadFile(file, {
      ...options,
      mayRunCode: (each) => each === file || this.isUnchanged(each),
    }, record.text);
    const wanted = powersOf(found).filter(({ needsTrust }) => needsTrust).map(powerKey);
    return wanted.every((key) => record.powers.includes(key)) ? found : undefined;
  }

  /**
   * Puts recipes on record.
   *
   * @throws {TrustError} When the file cannot be written or is not to be believed.
   */
  async add(records: ReadonlyMap<string, TrustRecord>): Promise<void> {
    await this.#change((all) => {
      for (const [path, record] of records) all.set(path, record);
    });
  }

  /** Takes recipes off the record; returns the paths that were on it. @throws {TrustError} As `add`. */
  async remove(files: readonly string[]): Promise<string[]> {
    const paths = await Promise.all(files.map(async (file) => await realPath(file) ?? absolutePath(file)));
    const removed: string[] = [];
    await this.#change((all) => {
      for (const path of paths) if (all.delete(path)) removed.push(path);
    });
    return removed;
  }

  async #change(change: (all: Map<string, TrustRecord>) => void): Promise<void> {
    const { path } = this;
    if (path === undefined) {
      throw new TrustError("Cannot keep what is trusted: set HSGATE_TRUST_FILE or HOME", { code: "trust" });
    }
    await Deno.mkdir(path.replace(/\/[^/]*$/, "") || "/", { recursive: true, mode: PRIVATE_FOLDER });
    // Two processes that trust at the same time keep both records.
    using lock = await Deno.open(`${path}.lock`, { write: true, create: true, mode: PRIVATE_FILE });
    await lock.lock(true);
    const all = await readRecords(path);
    change(all);
    const part = `${path}.${crypto.randomUUID()}.part`;
    const recipes = Object.fromEntries([...all].sort(([a], [b]) => a < b ? -1 : 1));
    await Deno.writeTextFile(part, `${JSON.stringify({ version: 1, recipes }, null, 2)}\n`, {
      mode: PRIVATE_FILE,
      createNew: true,
    });
    await Deno.rename(part, path);
  }
}

/** What trusting a recipe's file would put on record. */
export interface TrustOffer {
  /** Absolute path of the recipe's file. */
  path: string;
  recipe: CompiledRecipe;
  powers: readonly Power[];
  record: TrustRecord;
}

/**
 * Loads a recipe and those that it runs, to be shown before they are trusted. Its TypeScript runs while it is loaded, in
 * a process that may reach nothing.
 *
 * @throws {RecipeError} When the recipe is wrong.
 */
export async function offerTrust(
  file: string,
  options: CompileOptions & { at: number },
): Promise<TrustOffer[]> {
  const offers = new Map<string, TrustOffer>();
  const queue = [file];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const path = await Deno.realPath(next);
    if (offers.has(path)) continue;
    const recipe = await loadFile(next, options);
    const folder = new URL(".", fileUrl(next));
    const own = next.endsWith(".ts") ? [await findCode(fileUrl(next), folder, options.signal)] : [];
    const code = [...own, ...codeOf(recipe).filter((each) => each !== "unread")];
    const powers = powersOf(recipe);
    offers.set(path, {
      path,
      recipe,
      powers,
      record: {
        sha256: recipe.sha256,
        code: code.map(({ files, sha256 }) => ({ files, sha256 })),
        powers: powers.filter(({ needsTrust }) => needsTrust).map(powerKey),
        trustedAt: new Date(options.at).toISOString(),
        ...!next.endsWith(".ts") && { text: await textOf(next, recipe.sha256) },
      },
    });
    for (const { runs } of recipe.steps) if (typeof runs === "object" && runs.file) queue.push(runs.file);
  }
  return [...offers.values()];
}

async function textOf(file: string, expected: string): Promise<string> {
  const text = await readText(file);
  if (await sha256(text) === expected) return text;
  throw new TrustError(`Cannot trust "${file}": it was changed while it was read; try again`, {
    code: "trust",
  });
}

/** Says why a recipe does not run, and what to do. */
export function untrustedText(
  { name, file }: Pick<CompiledRecipe, "name" | "file">,
  { standing, wanted }: Judgement,
): string {
  const why = standing === "changed" ? "it was changed after it was trusted" : "nobody has trusted it";
  const powers = wanted.map(powerText).join("; ");
  return `Cannot run "${name}": ${why}, and it asks for more than to read from the configured broker ` +
    `(${powers}); look at the file, then run "hsgate trust ${file}"`;
}

function codeOf({ steps, notify = [] }: CompiledRecipe): (StepCode | "unread")[] {
  const all = [
    ...steps,
    ...notify.flatMap(({ step, channels = [] }) => [step, ...channels.map(({ step }) => step)]),
  ];
  return all.flatMap(({ code }) => code ?? []);
}

async function isSameCode({ code }: TrustRecord, file: string): Promise<boolean> {
  for (const { files, sha256 } of code) {
    const now = await digestOfCode(files, fileUrl(file)).catch(() => undefined);
    if (now !== sha256) return false;
  }
  return true;
}

async function readRecords(path: string): Promise<Map<string, TrustRecord>> {
  const refuse = (why: string) =>
    new TrustError(`Cannot believe the record of trusted recipes "${path}": ${why}`, { code: "trust" });
  const read = await readOwned(path);
  if (read === undefined) return new Map();
  if (read.distrusted !== undefined) throw refuse(read.distrusted);
  try {
    const { version, recipes }: { version: number; recipes: Record<string, TrustRecord> } = JSON.parse(
      read.text,
    );
    if (version !== 1) throw refuse(`it is of version ${version}, and this program knows version 1`);
    return new Map(Object.entries(recipes));
  } catch (error) {
    if (error instanceof TrustError) throw error;
    throw refuse('it is damaged: remove it, and trust the recipes again with "hsgate trust"');
  }
}

const isAbsolute = (path: string) => /^(\/|[A-Za-z]:[\\/])/.test(path);

const absolutePath = (file: string) => decodeURIComponent(fileUrl(file).pathname);

async function realPath(file: string): Promise<string | undefined> {
  return await Deno.realPath(file).catch(() => undefined);
}
