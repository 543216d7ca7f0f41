/**
 * Compiles the text of a recipe into the form that the runner runs.
 *
 * @module
 */
import { builtInCalendars, type Calendars } from "../../calendars/mod.ts";
import { type Limits, type LimitTexts, widerLimits } from "../../client/limits.ts";
import type { Issue } from "../../errors.ts";
import { holdsToken, namesSecret, secretAddress } from "../schema/open_addresses.ts";
import { classOf, findExcess, findSlow, findUnsafe, withDefaults } from "./recipe_rules.ts";
import type {
  CompiledNotice,
  CompiledRecipe,
  CompiledStep,
  KnownRecipe,
  NoticeChannel,
  RecipeConnection,
  SessionSpan,
} from "../compiled.ts";
import { compileStep, secretProblem, type StepCompileContext, type StepResult } from "./compile_step.ts";
import { fileUrl, MOST_BYTES } from "../files/recipe_files.ts";
import type { CodeFiles } from "../own_steps/code_files.ts";
import { sha256 } from "../../sha256.ts";
import { readSpan } from "./written_times.ts";
import { tooLarge } from "../../regular_files.ts";

import { MOST_ISSUES, RecipeError, type RecipeIssue } from "../recipe_error.ts";
import { bindParams, type ReadParam, readParam } from "../schema/recipe_params.ts";
import { recipeSchema } from "../schema/recipe_schema.ts";
import type { RecipeSource, StepSource } from "../schema/recipe_source.ts";
import { jsonProblem, placesInCode, readRecipeText, type RecipeText } from "../schema/recipe_text.ts";
import { compileSchedules } from "./schedule.ts";
import { micOf } from "../engine/step_context.ts";
import { checkSchema, expected, type Mistake } from "../schema/schema_issues.ts";
import { Budget } from "../expressions/budget.ts";
import { secretOf, STEPS_AT_CHECK } from "../expressions/templates.ts";
import { ANY, type Type } from "../expressions/value_types.ts";
import { lazily } from "../../lazy.ts";

const loadNotify = lazily(() => import("../kinds/notify.ts"));

/** Options of the compiler. */
export interface CompileOptions {
  /**
   * The time, Unix milliseconds. If given, the calendars of a recipe that writes must cover the next 60 days.
   */
  now?: () => number;
  /** Trading days of the exchanges. @default the built-in calendars */
  calendars?: Calendars;
  /** Limits of the account; a recipe with a wider limit is a mistake. @default not compared */
  limits?: Limits;
  /** Parameters to use instead of the defaults. */
  params?: Readonly<Record<string, unknown>>;
  /**
   * Returns the recipe that a `run` step names. Without this function, the compiler does not check that recipe: if it
   * writes, only the runner rejects it.
   */
  findRecipe?: (name: string) => Promise<KnownRecipe | undefined>;
  /** Aborting it stops loading TypeScript steps and recipes; they are then reported as not loaded. */
  signal?: AbortSignal;
  /**
   * Returns whether the TypeScript of a recipe may be loaded: the recipe's own file, and the custom steps next to it.
   * If not, only the imports in the text are checked. Custom steps then compile but cannot run. A TypeScript recipe
   * does not compile: {@linkcode UnreadCodeError} is thrown.
   *
   * @param file The recipe's file.
   * @default always
   */
  mayRunCode?: (file: string) => boolean | Promise<boolean>;
  /**
   * Returns code to run instead of the content of a TypeScript file. The file is a recipe or a custom step.
   *
   * @default the content of the file
   */
  codeOf?: (file: URL) => CodeFiles | Promise<CodeFiles>;
}

/** A recipe's file. */
export interface RecipeFile {
  text: string;
  fileName: string;
  /** The default export of a TypeScript file. */
  value?: unknown;
  /** Code of a TypeScript file. */
  code?: CodeFiles;
}

/**
 * Compiles a recipe from the text of its file.
 *
 * @throws {RecipeError} If the recipe has mistakes. Lists each mistake with its line and column.
 */
export async function compileText(file: RecipeFile, options: CompileOptions): Promise<CompiledRecipe> {
  const { fileName, text } = file;
  if (text.length > MOST_BYTES) {
    throw new RecipeError(fileName, [{ line: 1, column: 1, path: [], message: tooLarge(MOST_BYTES) }]);
  }
  const read: RecipeText = file.value === undefined
    ? readRecipeText(text)
    : { value: file.value, placeOf: placesInCode(text), issues: [] };
  const issues: RecipeIssue[] = read.issues.map((issue) => ({ path: [], ...issue }));
  // For a JSON file, the message of the JSON parser is clearer than that of the YAML parser.
  const strict = fileName.endsWith(".json") ? jsonProblem(text) : undefined;
  if (strict !== undefined) throw new RecipeError(fileName, [{ path: [], ...strict }]);
  if (read.value === undefined) throw new RecipeError(fileName, issues);
  const { recipe, found } = await compileValue(read.value, file, options);
  issues.push(
    ...found.slice(0, MOST_ISSUES).map(({ path, message, isName, within }) => ({
      ...read.placeOf(path, isName, within),
      path,
      message: path.length === 0 ? message : `${path.join(".")}: ${message}`,
    })),
  );
  if (issues.length > 0 || recipe === undefined) {
    // Sort by position, because people correct a file from top to bottom.
    throw new RecipeError(fileName, issues.toSorted((a, b) => a.line - b.line || a.column - b.column));
  }
  return recipe;
}

async function compileValue(
  value: unknown,
  { text, fileName, code }: RecipeFile,
  options: CompileOptions,
): Promise<{ recipe?: CompiledRecipe; found: Mistake[] }> {
  const excess = findExcess(value);
  if (excess !== undefined) return { found: [excess] };
  const found = checkSchema(recipeSchema, value);
  // Continue with the valid parts, so that all mistakes are reported together.
  const isFine = (...at: Issue["path"]) =>
    !found.some(({ path, isName }) =>
      !isName && at.every((step, index) => path[index] === step || index >= path.length)
    );
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { found };
  // Read only valid members.
  const source = value as RecipeSource;
  const late: Mistake[] = [];
  const params = isFine("params") ? readParams(source, late) : {};
  const { schedules, found: wrongSchedules } = await compileSchedules(source.schedule, isFine);
  late.push(...wrongSchedules);
  const window = isFine("window") ? readWindow(source, late) : undefined;
  const folder = folderOf(fileName);
  const list = Array.isArray(source.steps) ? source.steps : [];
  const connect = isFine("connect") ? connectionOf(source.connect) : undefined;
  const deps: Omit<StepCompileContext, "earlier" | "outputs"> = {
    all: list.flatMap((each) => typeof each?.id === "string" ? [each.id] : []),
    params: {
      ...Object.fromEntries(Object.keys(source.params ?? {}).map((name) => [name, undefined])),
      ...withGiven(params, options.params),
    },
    secrets: Object.keys(source.secrets ?? {}),
    sessions: schedules.some((each) => micOf(each) !== undefined) || schedules.length === 0 ||
        source.window !== undefined || !isFine("schedule")
      ? "some"
      : "none",
    isNotice: false,
    budget: new Budget(undefined, { steps: STEPS_AT_CHECK }),
    connect,
    folder,
    ...options.findRecipe !== undefined && { findRecipe: options.findRecipe },
    ...options.signal !== undefined && { signal: options.signal },
    ...options.codeOf !== undefined && { codeOf: options.codeOf },
    withoutCode: options.mayRunCode !== undefined && !await options.mayRunCode(fileName),
  };
  const steps: NonNullable<StepResult["step"]>[] = [];
  const earlier: string[] = [];
  const outputs: Record<string, Type> = {};
  for (const [index, step] of list.entries()) {
    // A file can have more mistakes than anybody reads, and it takes time to explain each mistake.
    if (found.length + late.length >= MOST_ISSUES) break;
    if (!isFine("steps", index)) continue;
    if (earlier.includes(step.id)) {
      late.push(expected(["steps", index, "id"], `another id: "${step.id}" is taken by an earlier step`));
    }
    const { step: compiled, found: wrong } = await compileStep(step, { ...deps, earlier, outputs });
    late.push(...wrong.map((issue) => ({ ...issue, path: ["steps", index, ...issue.path] })));
    if (compiled !== undefined) steps.push(compiled);
    outputs[step.id] = compiled?.output ?? ANY;
    earlier.push(step.id);
  }
  const pinged = isFine("ping") ? pingOf(source.ping) : undefined;
  const message = pinged !== undefined && "secret" in pinged
    ? secretProblem(pinged.secret, deps.secrets)
    : undefined;
  if (message !== undefined) late.push({ path: ["ping"], message });
  const notices = isFine("notify")
    ? await compileNotices(source, { ...deps, earlier, outputs, isNotice: true }, late)
    : [];
  const recipeClass = classOf(steps);
  const sound = {
    ...source,
    steps: list,
    ...!isFine("misfire") && { misfire: undefined },
    ...!isFine("overlap") && { overlap: undefined },
  };
  late.push(...await findSlow({ source: sound, schedules, steps }));
  late.push(
    ...findUnsafe({
      source: sound,
      recipeClass,
      schedules,
      window,
      steps,
      now: options.now?.(),
      calendars: options.calendars ?? builtInCalendars,
    }),
  );
  const limits = isFine("limits") ? limitsIn(source) : {};
  if (options.limits !== undefined) {
    for (const name of widerLimits(options.limits, limits)) {
      late.push(expected(["limits", name], `at most what the setting ${name} of the account allows`));
    }
  }
  if (found.length + late.length > 0) return { found: [...found, ...late] };
  const defaults = Object.fromEntries(Object.entries(params).map(([name, { value }]) => [name, value]));
  const secretNames = new Set([...steps, ...notices].flatMap(({ secretNames }) => [...secretNames]));
  if (pinged !== undefined && "secret" in pinged) secretNames.add(pinged.secret);
  const recipe: CompiledRecipe = {
    name: source.name,
    ...source.description !== undefined && { description: source.description },
    file: fileName,
    sha256: await sha256(text),
    ...code !== undefined && { code },
    class: recipeClass,
    schedules,
    ...withDefaults(source, recipeClass, schedules),
    ...window !== undefined && { window },
    ...source.limits !== undefined && { limits },
    ...source.live === true && { live: true },
    needsAccount: steps.some(({ needsAccount }) => needsAccount === true),
    params: defaults,
    paramTypes: Object.fromEntries(
      Object.entries(params).map(([name, { value: _, ...type }]) => [name, type]),
    ),
    steps: steps.map(plainStep),
    secretNames: [...secretNames].sort(),
    ...source.secrets !== undefined && { secrets: source.secrets },
    ...connect !== undefined && { connect },
    ...pinged !== undefined && { ping: pinged },
    ...notices.length > 0 && { notify: notices.map(({ secretNames: _, ...notice }) => notice) },
  };
  return {
    recipe: options.params === undefined ? recipe : { ...recipe, params: bindParams(recipe, options.params) },
    found: [],
  };
}

/** Removes the parts of a step that only the compiler needs. */
function plainStep(
  { secretNames: _secrets, keepAlive: _keepAlive, mostEveryMs: _mostEveryMs, ...step }: NonNullable<
    StepResult["step"]
  >,
): CompiledStep {
  return step;
}

function readParams(source: RecipeSource, late: Mistake[]): Record<string, ReadParam> {
  const params: Record<string, ReadParam> = {};
  for (const [name, given] of Object.entries(source.params ?? {})) {
    const read = readParam(given);
    if ("expected" in read) {
      late.push(expected(["params", name, "default"], read.expected));
      continue;
    }
    if (read.required && source.schedule !== undefined) {
      late.push(
        expected(
          ["params", name],
          "a default: a recipe with a schedule runs without given parameters",
        ),
      );
    }
    // YAML reads numeric passwords as numbers.
    const mayBeSecret = read.type === "text" ||
      read.type === "integer" && /(pin|pass(word|wd|code)|pwd)$/i.test(name);
    if (mayBeSecret && namesSecret(name)) {
      const secret = name.replaceAll(/([a-z\d])([A-Z])/g, "$1-$2").replaceAll("_", "-").toLowerCase();
      late.push(
        expected(
          ["params", name],
          `no secret: parameters are stored and shown; write secrets: { ${secret}: { env: NAME } } and "\${secret:${secret}}"`,
        ),
      );
    } else if (typeof read.value === "string" && holdsToken(read.value)) {
      late.push(expected(["params", name], secretAddress(name)));
    }
    params[name] = read;
  }
  return params;
}

/** Returns the parameters, with the values given for one run in place of their defaults. */
function withGiven(
  params: Readonly<Record<string, ReadParam>>,
  own: CompileOptions["params"] = {},
): Record<string, ReadParam> {
  return Object.fromEntries(
    Object.entries(params).map((
      [name, each],
    ) => [name, Object.hasOwn(own, name) ? { ...each, value: own[name] } : each]),
  );
}

/** Returns the limits of a recipe as texts; a count may be written as a number. */
function limitsIn({ limits = {} }: RecipeSource): LimitTexts {
  return Object.fromEntries(
    Object.entries(limits).flatMap(([name, value]) => value === undefined ? [] : [[name, String(value)]]),
  );
}

function readWindow({ window }: RecipeSource, late: Mistake[]): SessionSpan | undefined {
  if (window === undefined) return undefined;
  const span = readSpan(window);
  if (!("expected" in span)) return span;
  late.push(expected(["window"], span.expected));
  return undefined;
}

type Notice = CompiledNotice & { secretNames: ReadonlySet<string> };

async function compileNotices(
  { notify = [] }: RecipeSource,
  deps: StepCompileContext,
  late: Mistake[],
): Promise<Notice[]> {
  const notices: Notice[] = [];
  for (const [index, { on, uses = "notify", with: given, fallback }] of notify.entries()) {
    const compile = async (source: Pick<StepSource, "uses" | "with">, at: Mistake["path"]) => {
      const { step, found } = await compileStep({ id: `notify-${index + 1}`, ...source }, deps);
      late.push(...found.map((issue) => ({ ...issue, path: [...at, ...issue.path] })));
      if (source.uses === "run") {
        late.push(expected([...at, "uses"], "a step that sends a message: a notice cannot run a recipe"));
      }
      if (step?.effect === "write") late.push(expected([...at, "uses"], "a step that does not write"));
      return step;
    };
    const step = await compile({ uses, with: given }, ["notify", index]);
    if (step === undefined) continue;
    const at = ["notify", index, "fallback"];
    const second = fallback && { uses: fallback.uses ?? "notify", with: fallback.with };
    const secondStep = second && await compile(second, at);
    const channels = [
      ...await channelsOf({ uses, with: given, step }, deps, false),
      ...second && secondStep ? await channelsOf({ ...second, step: secondStep }, deps, true) : [],
    ];
    const secretNames = new Set([...step.secretNames, ...secondStep?.secretNames ?? []]);
    notices.push({ on, uses: step.uses, with: given, step: plainStep(step), channels, secretNames });
  }
  return notices;
}

/** Returns a separate step for each channel of a `notify` step, so that one failure does not affect the others. */
async function channelsOf(
  { uses, with: given, step }: {
    uses: string;
    with?: Readonly<Record<string, unknown>>;
    step: NonNullable<StepResult["step"]>;
  },
  deps: StepCompileContext,
  isFallback: boolean,
): Promise<NoticeChannel[]> {
  const { notifyChannels } = await loadNotify(); // loaded only for recipes with notices
  const named = uses === "notify" ? notifyChannels.filter((channel) => given?.[channel] !== undefined) : [];
  if (named.length < 2) return [{ name: named[0] ?? step.uses, isFallback, step: plainStep(step) }];
  const channels: NoticeChannel[] = [];
  for (const channel of named) {
    const others = notifyChannels.filter((each) => each !== channel);
    const own = Object.entries(given ?? {}).filter(([name]) => !others.some((other) => other === name));
    const { step: part } = await compileStep(
      { id: step.id, uses, with: Object.fromEntries(own) },
      deps,
    );
    // Mistakes of one channel were already reported for the whole step.
    if (part !== undefined) channels.push({ name: channel, isFallback, step: plainStep(part) });
  }
  return channels;
}

function pingOf(ping: string | undefined): CompiledRecipe["ping"] {
  const secret = secretOf(ping);
  if (secret !== undefined) return { secret };
  return ping === undefined ? undefined : { url: ping };
}

function connectionOf(source: RecipeSource["connect"]): RecipeConnection | undefined {
  if (source === undefined) return undefined;
  if (typeof source === "string") return { to: source };
  if ("simulator" in source) return { to: "simulator", ...source.simulator };
  return { to: "gateway", ...source.gateway !== undefined && { url: source.gateway } };
}

/** Returns the URL of a file's folder. */
function folderOf(fileName: string): URL {
  if (fileName.startsWith("file:")) return new URL(".", fileName);
  return new URL(".", fileUrl(fileName));
}
