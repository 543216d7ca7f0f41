/**
 * Checks which recipes the user has trusted, by a hash of everything that would run.
 *
 * A recipe that only reads from the configured broker and writes into the folder of its run needs no trust. Any other
 * recipe runs only in the version that was trusted.
 *
 * @module
 */
import { fileUrl, MOST_BYTES, readText } from "../../recipes/files/recipe_files.ts";
import { sha256 } from "../../sha256.ts";
import {
  type CodeFiles,
  codeOfCopies,
  isSameCode,
  keepCode,
  refuseCode,
} from "../../recipes/own_steps/code_files.ts";
import {
  checkGranted,
  fileOfSecret,
  filesOfCommand,
  firstChanged,
  isSameProgram,
  type NamedFile,
  NamedFileError,
  placeOfSecrets,
} from "../../recipes/files/named_files.ts";
import {
  codeOf,
  isCompiled,
  type Power,
  powerKey,
  powersOf,
  powerText,
  recipesRunBy,
  stepCodes,
  withRunBy,
} from "../../recipes/powers.ts";
import { readRegular } from "../../regular_files.ts";
import { baseName, findKept, folderOf, loadFile, OtherRecipes } from "../../recipes/files/load_recipe.ts";
import type { CompiledRecipe, CompileOptions, SecretOrigin } from "../../recipes/mod.ts";
import type { KnownRecipe } from "../../recipes/compiled.ts";
import { type Standing, TrustError, TrustFile, type TrustRecord } from "./trust_file.ts";
import { distrustOfChecked } from "../../owned_files.ts";
import { shellHint } from "../../shell_words.ts";

/** Whether a recipe is trusted, and which powers it needs trust for. */
export interface Judgement {
  standing: Standing;
  /** Powers of the recipe that need trust; empty for a recipe that may run. */
  wanted: readonly Power[];
  /** Which file cannot be trusted, why, and what to do. For example, other users could write to the file. */
  exposed?: string;
  /**
   * For messages: what differs from its trusted version. Either a recipe that this recipe runs, or a file that this
   * recipe names.
   */
  changed?: string;
}

/** The trusted recipes of a user. Each call reads the trust file again. */
export class Trust {
  /** The file with the records. */
  readonly file: TrustFile;

  constructor(file: TrustFile) {
    this.file = file;
  }

  /** Finds the trust file of the user. @throws {TrustError} If `HSGATE_TRUST_FILE` is a relative path. */
  static of(env: (name: string) => string | undefined): Trust {
    return new Trust(TrustFile.of(env));
  }

  /**
   * Returns the trust records by the absolute path of each recipe. @throws {TrustError} If others could have written
   * the file.
   */
  async records(): Promise<Map<string, TrustRecord>> {
    return (await this.file.read()).recipes;
  }

  /** Returns the record of a recipe's file; `undefined` if it was never trusted or does not exist. */
  async recordOf(file: string): Promise<TrustRecord | undefined> {
    const path = await realPath(file);
    return path === undefined ? undefined : (await this.records()).get(path);
  }

  /**
   * Returns whether the trust in a recipe is still valid: its texts, code and named programs are the trusted versions,
   * no other user could write to its files, and no second file has the name of a recipe that it runs.
   */
  async isUnchanged(file: string): Promise<boolean> {
    const record = await this.recordOf(file);
    return record !== undefined && await changeSince(record, file) === undefined;
  }

  /**
   * Returns why a recipe is not the trusted version any more, in words for a message: what has changed, or which file
   * others could write to. `undefined` if there is no reason, or if the recipe was never trusted. Runs no code.
   */
  async changeOf(file: string): Promise<string | undefined> {
    const record = await this.recordOf(file);
    return record === undefined ? undefined : await changeSince(record, file);
  }

  /**
   * Returns which file of a trusted recipe others could write to, why, and what to do; `undefined` if there is none.
   */
  async exposureOf(file: string): Promise<string | undefined> {
    const record = await this.recordOf(file);
    return record === undefined ? undefined : await exposureOf(record, file);
  }

  /** Returns whether a compiled recipe is trusted, and what is missing. */
  async judge(recipe: CompiledRecipe): Promise<Judgement> {
    const needed = powersOf(recipe).filter(({ needsTrust }) => needsTrust);
    if (needed.length === 0) return { standing: "plain", wanted: [] };
    const record = await this.recordOf(recipe.file);
    if (record === undefined) return { standing: "unknown", wanted: needed };
    const exposed = await exposureOf(record, recipe.file);
    if (exposed !== undefined) return { standing: "changed", wanted: needed, exposed };
    let named: NamedFile[];
    try {
      named = await namedFiles(recipe);
    } catch (error) {
      if (!(error instanceof NamedFileError)) throw error;
      return { standing: "changed", wanted: needed, exposed: error.what };
    }
    const isSame = recipe.sha256 === record.sha256 && await hasSameCode(record, recipe.file) &&
      hasCodeOf(recipe, record);
    const isCovered = needed.every((power) => record.powers.includes(powerKey(power)));
    const other = firstChanged(named, record.named ?? []) ?? await changedProgram(record);
    const changed = changedRecipe(recipe, record) ?? (other && `its file "${other.path}"`);
    if (isSame && isCovered && changed === undefined) return { standing: "trusted", wanted: [] };
    return { standing: "changed", wanted: needed, ...changed !== undefined && { changed } };
  }

  /**
   * Compiles the trusted version of an edited recipe; `undefined` if the record does not contain all of it, or if it
   * needs more than was trusted.
   */
  async trustedVersion(file: string, options: CompileOptions): Promise<CompiledRecipe | undefined> {
    const record = await this.recordOf(file);
    if (record?.text === undefined) return undefined;
    const folder = new URL(".", fileUrl(file));
    const kept = new Map<string, CodeFiles>();
    for (const { copies = [] } of record.code) {
      const code = await codeOfCopies(copies, folder);
      const [first] = code.copies.keys();
      if (first !== undefined) kept.set(first, code);
    }
    const own: CompileOptions = {
      ...options,
      mayRunCode: () => true,
      // Do not read the file itself instead, because the file may have changed since it was trusted.
      codeOf: (each) => {
        const code = kept.get(each.href);
        if (code === undefined) throw refuseCode(each, "the record of its trust has no copy of it");
        return code;
      },
    };
    const runs = (record.runs ?? []).map((each) => ({ ...each, path: `${folderOf(file)}${each.file}` }));
    const found = await loadFile(file, { ...own, findRecipe: findKept(runs, own) }, record.text);
    if (!hasCodeOf(found, record) || changedRecipe(found, record) !== undefined) return undefined;
    const wanted = powersOf(found).filter(({ needsTrust }) => needsTrust).map(powerKey);
    const isCovered = wanted.every((key) => record.powers.includes(key)) &&
      firstChanged(await namedFiles(found), record.named ?? []) === undefined &&
      await changedProgram(record) === undefined;
    return isCovered ? found : undefined;
  }

  /**
   * Checks a secret's command or file again, right before its use.
   *
   * @param files The recipes that name the secret; trust of one of them is enough.
   * @throws {NamedFileError} If a program or file that the secret names, in the recipe's folder or the working
   * folder, is not the trusted one.
   */
  async checkSecret(origin: SecretOrigin, files: Iterable<string>): Promise<void> {
    let changed: NamedFile | undefined;
    for (const file of files) {
      const named = await filesOfOrigin(origin, file);
      const record = "env" in origin ? undefined : await this.recordOf(file);
      changed = firstChanged(named, record?.named ?? []);
      if ("command" in origin && record !== undefined) changed ??= await changedProgram(record);
      if (changed === undefined) return;
    }
    if (changed === undefined) return;
    throw new NamedFileError(
      changed.path,
      'it is new or was changed after its recipe was trusted; check the file, then run "hsgate trust" again',
    );
  }

  /**
   * Records trust of recipes.
   *
   * @throws {TrustError} If the trust file cannot be written, or others could have written it.
   */
  async add(records: ReadonlyMap<string, TrustRecord>): Promise<void> {
    await this.file.change(({ recipes }) => {
      for (const [path, record] of records) recipes.set(path, record);
    });
  }

  /** Removes trust of recipes. Returns the paths that had a record. @throws {TrustError} Like `add`. */
  async remove(files: readonly string[]): Promise<string[]> {
    const paths = await Promise.all(files.map(async (file) => await realPath(file) ?? absolutePath(file)));
    const removed: string[] = [];
    await this.file.change(({ recipes }) => {
      for (const path of paths) if (recipes.delete(path)) removed.push(path);
    });
    return removed;
  }
}

/** A recipe that a person may trust, and the record that is written if the person does. */
export interface TrustOffer {
  /** Absolute path of the recipe's file. */
  path: string;
  recipe: CompiledRecipe;
  powers: readonly Power[];
  record: TrustRecord;
}

/**
 * Loads a recipe and the recipes that it runs, to show them before a person trusts them. Loading runs their TypeScript,
 * in a process without any permission.
 *
 * @param known Offers of other files, by path. These recipes are not loaded again and not returned.
 * @param others The recipes that other files run, so that each is compiled only once.
 * @throws {RecipeError} If the recipe has a mistake.
 * @throws {TrustError} If others could write to a file of the recipe, or if a file changes meanwhile.
 */
export async function offerTrust(
  file: string,
  options: CompileOptions & { at: number },
  known: ReadonlyMap<string, TrustOffer> = new Map(),
  others: OtherRecipes = new OtherRecipes(),
): Promise<TrustOffer[]> {
  const offers = new Map<string, TrustOffer>();
  const queue = [file];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const path = await Deno.realPath(next);
    if (offers.has(path) || known.has(path)) continue;
    const recipe = await loadFile(next, options, undefined, others);
    const folder = new URL(".", fileUrl(next));
    const code = codeOf(recipe).filter((each) => each !== "unread");
    const powers = powersOf(recipe);
    const record: TrustRecord = {
      sha256: recipe.sha256,
      runs: await textsOf(recipe),
      named: await checkedFiles(recipe),
      code: code.map((each) => ({ sha256: each.sha256, copies: keepCode(each.copies, folder) })),
      powers: powers.filter(({ needsTrust }) => needsTrust).map(powerKey),
      trustedAt: new Date(options.at).toISOString(),
      text: await textOf(next, recipe.sha256),
    };
    const exposed = record.powers.length === 0 ? undefined : await exposureOf(record, next);
    if (exposed !== undefined) throw new TrustError(`Cannot trust ${exposed}`, { code: "trust" });
    offers.set(path, { path, recipe, powers, record });
    for (const { runs } of recipe.steps) if (typeof runs === "object" && runs.file) queue.push(runs.file);
  }
  return [...offers.values()];
}

/** Returns the programs and the files of secrets that a recipe names. @throws {TrustError} If one cannot be trusted. */
async function checkedFiles(recipe: CompiledRecipe): Promise<NamedFile[]> {
  try {
    for (const { permissions, place } of stepCodes(recipe)) await checkGranted(permissions, place);
    return await namedFiles(recipe);
  } catch (error) {
    throw error instanceof NamedFileError ? new TrustError(error.message, { code: "trust" }) : error;
  }
}

/**
 * Returns the programs and the files of secrets that a recipe names in its folder or in the working folder. @throws
 * {NamedFileError} If one cannot be trusted.
 */
async function namedFiles(recipe: CompiledRecipe): Promise<NamedFile[]> {
  const named = stepCodes(recipe).flatMap(({ programs }) => programs);
  for (const { secrets = {}, file } of withRunBy(recipe)) {
    for (const origin of Object.values(secrets)) named.push(...await filesOfOrigin(origin, file));
  }
  return named;
}

/**
 * Returns the recipes that a recipe runs, with their texts.
 *
 * @throws {TrustError} If one changes meanwhile, or if two files have the same recipe name.
 */
async function textsOf(recipe: CompiledRecipe): Promise<NonNullable<TrustRecord["runs"]>> {
  const [, ...others] = withRunBy(recipe);
  const ambiguous = recipesRunBy(recipe).find(({ sameNameFile }) => sameNameFile !== undefined);
  if (ambiguous !== undefined) {
    throw new TrustError(`Cannot trust "${recipe.file}": ${changedText(ambiguous)}; rename one`, {
      code: "trust",
    });
  }
  return await Promise.all(others.map(async ({ name, file, sha256 }) => ({
    name,
    file: baseName(file),
    sha256,
    text: await textOf(file, sha256),
  })));
}

const changedText = ({ name, file, sameNameFile }: Pick<KnownRecipe, "name" | "file" | "sameNameFile">) =>
  `the recipe "${name}" that it runs ("${file}"${
    sameNameFile === undefined ? "" : `, and "${sameNameFile}" has the same name`
  })`;

/** Returns what has changed if a compiled recipe runs a recipe whose file or content is not the trusted one. */
function changedRecipe(recipe: CompiledRecipe, { runs = [] }: TrustRecord): string | undefined {
  const changed = recipesRunBy(recipe).find((each) =>
    !isCompiled(each) || each.sameNameFile !== undefined ||
    !runs.some(({ file, sha256 }) => file === baseName(each.file) && sha256 === each.sha256)
  );
  return changed && changedText(changed);
}

/** Returns what has changed since a recipe was trusted, in words for a message. */
async function changeSince(record: TrustRecord, file: string): Promise<string | undefined> {
  const exposed = await exposureOf(record, file);
  if (exposed !== undefined) return exposed;
  const isSame = async (path: string, expected: string) => {
    const bytes = await readRegular(await realPath(path) ?? path, MOST_BYTES).catch(() => undefined);
    return bytes instanceof Uint8Array && await sha256(new TextDecoder().decode(bytes)) === expected;
  };
  if (!await isSame(file, record.sha256)) return "its text";
  const others = new OtherRecipes();
  for (const { name, file: other, sha256 } of record.runs ?? []) {
    const path = `${folderOf(file)}${other}`;
    if (!await isSame(path, sha256)) return changedText({ name, file: path });
    const sameNameFile = await others.fileWithSameName(path, name);
    if (sameNameFile !== undefined) return changedText({ name, file: path, sameNameFile });
  }
  if (!await hasSameCode(record, file)) return "its code";
  const changed = await changedProgram(record);
  return changed && `its file "${changed.path}"`;
}

/**
 * Returns the first recorded program that has another content now. In another working folder, a recipe may name fewer
 * files of its author, but the command still runs these programs.
 */
async function changedProgram({ named = [] }: TrustRecord): Promise<NamedFile | undefined> {
  for (const each of named) {
    if (each.sha256 !== undefined && !await isSameProgram(each)) return each;
  }
  return undefined;
}

async function filesOfOrigin(origin: SecretOrigin, file: string): Promise<NamedFile[]> {
  if ("env" in origin) return [];
  const place = placeOfSecrets(file);
  return "file" in origin
    ? await fileOfSecret(origin.file, place)
    : await filesOfCommand(origin.command, place);
}

async function textOf(file: string, expected: string): Promise<string> {
  const text = await readText(file);
  if (await sha256(text) === expected) return text;
  throw new TrustError(`Cannot trust "${file}": the file changed while it was read; try again`, {
    code: "trust",
  });
}

/** Returns why a recipe does not run, and what to do. */
export function untrustedText(
  { name, file }: Pick<CompiledRecipe, "name" | "file">,
  { standing, wanted, exposed, changed }: Judgement,
): string {
  if (exposed !== undefined) return `Cannot run "${name}": cannot trust ${exposed}`;
  const why = standing === "changed"
    ? `${changed ?? "it"} was changed after it was trusted`
    : "nobody has trusted it";
  const powers = wanted.map(powerText).join("; ");
  return `Cannot run "${name}": ${why}, and it asks for more than reading from the configured broker ` +
    `(${powers}); check the file, then run "hsgate trust ${shellHint(file)}"`;
}

/** Returns whether a record contains all code of a compiled recipe. */
function hasCodeOf(recipe: CompiledRecipe, record: TrustRecord): boolean {
  const known = new Set(record.code.map(({ sha256 }) => sha256));
  return codeOf(recipe).every((code) => code !== "unread" && known.has(code.sha256));
}

/**
 * Returns which file of a recipe others could write to or replace, why, and what to do; `undefined` if there is none.
 */
async function exposureOf(
  { code, runs = [] }: Pick<TrustRecord, "code" | "runs">,
  file: string,
): Promise<string | undefined> {
  const folder = new URL(".", fileUrl(file));
  const paths = code.flatMap(({ copies = [] }) =>
    copies.map(({ name }) => decodeURIComponent(new URL(name, folder).pathname))
  );
  const others = runs.map((each) => `${folderOf(file)}${each.file}`);
  for (const path of new Set([file, ...others, ...paths])) {
    const why = await distrustOfChecked(path);
    if (why !== undefined) return `"${path}": ${why}`;
  }
  return undefined;
}

/** Returns whether the files of a recipe's code have the recorded contents. */
async function hasSameCode({ code }: TrustRecord, file: string): Promise<boolean> {
  const folder = new URL(".", fileUrl(file));
  for (const { copies = [], sha256 } of code) {
    if (!await isSameCode(await codeOfCopies(copies, folder), sha256)) return false;
  }
  return true;
}

const absolutePath = (file: string) => decodeURIComponent(fileUrl(file).pathname);

async function realPath(file: string): Promise<string | undefined> {
  return await Deno.realPath(file).catch(() => undefined);
}
