/**
 * Lists the powers of a recipe: the programs, files, variables, hosts and write operations that it names.
 *
 * @module
 */
import { mayMeanThisMachine } from "../loopback.ts";
import { shownJson } from "../shown_text.ts";
import { nodeCrypto } from "../std/node_crypto.ts";
import type { CompiledRecipe, CompiledStep, KnownRecipe, StepCode, StepPermissions } from "./compiled.ts";
import { canRunAnyFile, mayOverlap, placeOfSecrets } from "./files/named_files.ts";

/** Kinds of powers and their descriptions, the most serious kind first. */
export const powerKinds = {
  program: "runs a program",
  code: "runs TypeScript of its folder",
  write: "writes at the broker",
  session: "ends or takes over a login, pushes or market data",
  host: "connects to",
  variable: "reads an environment variable",
  file: "reads a file",
  texts: "writes CSV texts unchanged, which a spreadsheet may run as formulas",
  folder: "writes files",
  recipe: "runs another recipe",
  login: "uses the trade login",
} as const;

/** Kind of a power. */
export type PowerKind = keyof typeof powerKinds;

/** A power of a recipe. */
export interface Power {
  /** Kind of the power. */
  kind: PowerKind;
  /** The program with its arguments as JSON, the path, the variable's name, the address, or the operation. */
  name: string;
  /** The part of the recipe that needs the power, such as `step "report"`. */
  by: string;
  /** Whether the power goes beyond reading from the configured broker and writing into the folder of the run. */
  needsTrust: boolean;
  /**
   * Whether the power is a command that can run any file of the recipe's folder or of the working folder, so that trust
   * covers all these files.
   */
  anyFile?: boolean;
  /**
   * Whether the power is a folder that a custom step may read and write, so that its code can delete files elsewhere.
   */
  deletes?: boolean;
  /**
   * Whether the power is access to a host that may be this machine, where a custom step's code can reach a gateway,
   * which needs no password.
   */
  trades?: boolean;
}

/** The members of a power that add a warning to its line. */
const warnings = ["anyFile", "deletes", "trades"] as const;

/** Returns a line that describes a power. */
export function powerText(
  { kind, name, by, anyFile = false, deletes = false, trades = false }: Power,
): string {
  const more = trades
    ? "; its code can also send orders to a gateway there, past the guard rails"
    : kind === "host"
    ? realHost(name) === undefined ? "" : `, host ${realHost(name)}`
    : anyFile
    ? "; it can run any file of the folder"
    : deletes
    ? "; its code can also delete any file of yours"
    : "";
  // Escapes show that a name contains characters that nobody can see. Otherwise two programs could look the same.
  return `${powerKinds[kind]}: ${shownJson(name)}${more} (${by})`;
}

/** Returns a power as JSON data, with its warnings. */
export function powerData({ kind, name, by, needsTrust, ...power }: Power) {
  const host = kind === "host" ? realHost(name) : undefined;
  return {
    kind,
    name,
    by,
    needsTrust,
    ...host !== undefined && { host },
    ...Object.fromEntries(warnings.flatMap((each) => power[each] ? [[each, true]] : [])),
  };
}

/**
 * Returns the host that an address really reaches, if a person would read another host in the address; otherwise
 * `undefined`.
 */
function realHost(address: string): string | undefined {
  const host = URL.parse(address)?.host;
  // A host in a permission of a step has no scheme. Deno compares it as written, so it cannot mislead.
  if (host === undefined || host === "") return undefined;
  return new RegExp(`^[a-z]+://${RegExp.escape(host)}([:/?#]|$)`, "i").test(address) ? undefined : host;
}

/** Returns the key of a power. Trust of a power covers every power with the same key. */
export const powerKey = ({ kind, name }: Pick<Power, "kind" | "name">): string => `${kind} ${name}`;

/**
 * Returns all powers of a recipe, the most serious first, without running the recipe. Includes the powers of recipes
 * that it runs. For a custom step whose code was not read, the list says only that the step runs code.
 */
export function powersOf(recipe: CompiledRecipe | KnownRecipe): Power[] {
  const order = Object.keys(powerKinds);
  const found = new Map<string, Power>();
  for (const power of wanted(recipe)) {
    const before = found.get(powerKey(power));
    const main = before === undefined || !before.needsTrust && power.needsTrust ? power : before;
    // If two steps have the same power, keep the warnings of both.
    const more = Object.fromEntries(
      warnings.flatMap((name) => before?.[name] || power[name] ? [[name, true]] : []),
    );
    found.set(powerKey(power), { ...main, ...more });
  }
  return [...found.values()].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

/** Returns the recipes that the steps of a recipe run, directly and through other recipes, each file once. */
export function recipesRunBy(recipe: CompiledRecipe | KnownRecipe): KnownRecipe[] {
  const found = new Map<string, KnownRecipe>();
  const queue: (CompiledRecipe | KnownRecipe)[] = [recipe];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const { runs } of next.steps ?? []) {
      if (typeof runs !== "object" || runs.file === undefined || found.has(runs.file)) continue;
      found.set(runs.file, runs);
      queue.push(runs);
    }
  }
  return [...found.values()];
}

/** Returns whether a recipe that another recipe runs was compiled, so that it can run. */
export const isCompiled = (recipe: KnownRecipe): recipe is CompiledRecipe & KnownRecipe => "sha256" in recipe;

/** Returns a recipe, and every compiled recipe that it runs. */
export const withRunBy = (recipe: CompiledRecipe) => [recipe, ...recipesRunBy(recipe).filter(isCompiled)];

export const stepCodes = (recipe: CompiledRecipe) =>
  withRunBy(recipe).flatMap(allSteps)
    .flatMap(({ code }) => code === undefined || code === "unread" ? [] : code);

/** Returns all code of a recipe and of those that it runs: of TypeScript recipes, and of custom steps. */
export function codeOf(recipe: CompiledRecipe): (NonNullable<CompiledRecipe["code"]> | "unread")[] {
  return withRunBy(recipe).flatMap((each) => [
    ...each.code === undefined ? [] : [each.code],
    ...allSteps(each).flatMap(({ code }) => code ?? []),
  ]);
}

/** Returns the steps of a recipe and of its notices. */
function allSteps({ steps, notify = [] }: CompiledRecipe): CompiledStep[] {
  return [
    ...steps,
    ...notify.flatMap(({ step, channels = [] }) => [step, ...channels.map(({ step }) => step)]),
  ];
}

/**
 * Returns a text that identifies the version of a recipe: its text, its code, the programs that it names, and the
 * recipes that it runs. If a recipe consists only of its text, the hash of the text is enough.
 */
export function versionOf(recipe: CompiledRecipe): string {
  const [, ...others] = withRunBy(recipe);
  const parts = [
    ...others.map((each) => `recipe ${each.name} ${each.sha256}`),
    ...codeOf(recipe).map((code) => `code ${code === "unread" ? code : code.sha256}`),
    ...stepCodes(recipe).flatMap(({ programs }) => programs).map((each) =>
      `program ${each.path} ${each.sha256}`
    ),
  ];
  if (parts.length === 0) return recipe.sha256;
  return nodeCrypto().createHash("sha256").update([recipe.sha256, ...parts].join("\n")).digest("hex");
}

/**
 * Returns the recipe that a step of the outer recipe runs. This is the version with which the outer recipe was
 * compiled, even if its file was edited later: the trust of the outer recipe covers only that version.
 *
 * @param recipes Recipes by name, for a name that only a parameter of the run determines.
 * @throws {TypeError} If there is no such recipe, or the trust of the outer recipe does not cover it.
 */
export function recipeRunBy(
  outer: CompiledRecipe,
  name: string,
  recipes: ReadonlyMap<string, CompiledRecipe>,
): CompiledRecipe {
  const all = outer.steps.flatMap(({ runs }) => runs ?? []);
  const bound = all.filter((each) => each !== "any").find((each) => each.name === name);
  if (bound !== undefined && isCompiled(bound)) return bound;
  const found = recipes.get(name);
  if (found === undefined) {
    throw new TypeError(`Cannot run recipe "${name}": there is no recipe of that name`);
  }
  // If the compiler found no `run` step, or a step that may run any recipe, every one of `recipes` may run.
  const isOpen = all.length === 0 || all.includes("any");
  if (!isOpen && [outer, found].some((each) => powersOf(each).some(({ needsTrust }) => needsTrust))) {
    throw new TypeError(
      `Cannot run recipe "${name}" as a step of "${outer.name}": trust covers only the recipes that the steps ` +
        "name with the default parameters; write a step for each recipe, with a condition",
    );
  }
  return found;
}

function* wanted({ name = "", file = "", ...recipe }: CompiledRecipe | KnownRecipe): Generator<Power> {
  const trusted = { needsTrust: true };
  if (file.endsWith(".ts")) {
    yield { kind: "code", name: `./${file.replace(/^.*\//, "")}`, by: `recipe "${name}"`, ...trusted };
  }
  for (const [secret, origin] of Object.entries(recipe.secrets ?? {})) {
    const by = `secret "${secret}"`;
    if ("command" in origin) {
      const { command } = origin;
      const anyFile = canRunAnyFile(command, placeOfSecrets(file)) && { anyFile: true };
      yield { kind: "program", name: JSON.stringify(command), by, ...trusted, ...anyFile };
    } else if ("file" in origin) yield { kind: "file", name: origin.file, by, ...trusted };
    else yield { kind: "variable", name: origin.env, by, ...trusted };
  }
  const { connect, ping } = recipe;
  if (connect?.to === "gateway" && connect.url !== undefined) {
    yield { kind: "host", name: connect.url, by: "connect", ...trusted };
  }
  // A login over the direct transport ends every other login of the account. A user whose settings name a gateway does
  // not expect that.
  if (connect?.to === "direct") yield { kind: "session", name: "connect: direct", by: "connect", ...trusted };
  if (ping !== undefined) {
    yield {
      kind: "host",
      name: "url" in ping ? ping.url : `\${secret:${ping.secret}}`,
      by: "ping",
      ...trusted,
    };
  }
  const isSimulated = connect?.to === "simulator";
  for (const step of recipe.steps ?? []) yield* wantedBy(step, { by: `step "${step.id}"`, isSimulated });
  for (const [index, { step, channels = [] }] of (recipe.notify ?? []).entries()) {
    for (const each of [step, ...channels.map(({ step }) => step)]) {
      yield* wantedBy(each, { by: `notice ${index + 1}`, isSimulated });
    }
  }
  if (recipe.needsAccount && !isSimulated) {
    yield { kind: "login", name: "reads the account", by: `recipe "${name}"`, needsTrust: false };
  }
}

function* wantedBy(
  { uses, effect, code, reaches = [], runs }: CompiledStep,
  { by, isSimulated }: { by: string; isSimulated: boolean },
): Generator<Power> {
  if (effect === "write") yield { kind: "write", name: uses, by, needsTrust: !isSimulated };
  if (code !== undefined) {
    yield { kind: "code", name: uses, by, needsTrust: true };
    if (code !== "unread") yield* permitted(code, by);
  }
  for (const { kind, name } of reaches) {
    if (kind === "host" || kind === "texts") yield { kind, name, by, needsTrust: true };
    else if (kind === "session") yield { kind, name, by, needsTrust: !isSimulated };
    // The run itself rejects paths outside its folder.
    else yield { kind: kind === "reads" ? "file" : "folder", name, by, needsTrust: false };
  }
  if (runs === "any") {
    yield {
      kind: "recipe",
      name: "any recipe of its folder: only the run determines which",
      by,
      needsTrust: true,
    };
  } else if (runs !== undefined) {
    yield { kind: "recipe", name: runs.name ?? "", by, needsTrust: false };
    for (const power of wanted(runs)) yield { ...power, by: `recipe "${runs.name}", ${power.by}` };
  }
}

/** Returns whether a host of a permission, with or without a port, may mean this machine, or may be any host. */
function mayReachThisMachine(name: string): boolean {
  const host = URL.parse(`http://${name.replace(/:\*$/, "")}`)?.hostname;
  return host === undefined || host.includes("*") || name.includes("/") || mayMeanThisMachine(host);
}

const permissionKinds: Readonly<Record<keyof StepPermissions, PowerKind>> = {
  run: "program",
  net: "host",
  env: "variable",
  read: "file",
  write: "folder",
};

function* permitted(
  { permissions, place }: Pick<StepCode, "permissions" | "place">,
  by: string,
): Generator<Power> {
  for (const [permission, kind] of Object.entries(permissionKinds)) {
    // The cast is safe: the keys are those of the permissions.
    const names = permissions[permission as keyof StepPermissions] ?? [];
    for (const name of names) {
      // A step can write a rollback journal that names any file, and open its database. SQLite then deletes the file.
      // Deno checks only the path of the database.
      const deletes = permission === "write" &&
        permissions.read?.some((read) => mayOverlap(read, name, place)) && { deletes: true };
      const trades = permission === "net" && mayReachThisMachine(name) && { trades: true };
      yield { kind, name, by, needsTrust: true, ...deletes, ...trades };
    }
  }
}
