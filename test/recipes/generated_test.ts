/**
 * Checks generated expressions and steps, and runs them. If a run rejects something that the check could have found, a
 * test fails. A test also fails if the check rejects an expression without need. The check may reject an expression that
 * fails, that silently means something else, or whose mistake is in a part that is not evaluated.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { InvalidParamsError } from "../../lib/errors.ts";
import { operations } from "../../lib/operations/mod.ts";
import { compileExpression } from "../../lib/recipes/expressions/expressions.ts";
import { findStepKind } from "../../lib/recipes/kinds/mod.ts";
import { type CompiledRecipe, compileRecipe, RecipeError, runRecipe } from "../../lib/recipes/mod.ts";
import { typeOfParam } from "../../lib/recipes/expressions/value_types.ts";
import { type Simulated, simulated, temporaryFolder } from "../day_book/simulated.ts";
import { stepContext } from "./support.ts";

const SEED = 20250815;
const EXPRESSIONS = 6000;
const STEPS = 1500;

/** Random choices from a seed, the same on every machine. */
class Draw {
  #state = SEED;

  number(below: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor(this.#state / 2 ** 32 * below);
  }

  of<T>(list: readonly T[]): T {
    return list[this.number(list.length)]!;
  }

  chance(percent: number): boolean {
    return this.number(100) < percent;
  }
}

const params = {
  days: 7,
  floor: { type: "decimal", default: "5000.00" },
  on: true,
  day: { type: "date", default: "2025-08-15" },
  columns: ["date", "symbol"],
};

const first = [
  { id: "funds", uses: "account.funds", with: { market: "hk" } },
  { id: "fills", uses: "fills.history", with: { market: "hk", from: "2025-08-14", to: "2025-08-15" } },
  { id: "orders", uses: "orders.history", with: { market: "hk", from: "2025-08-14", to: "2025-08-15" } },
  { id: "book", uses: "export-day-book", with: { markets: ["hk"], accounts: ["securities"], sessions: 1 } },
];

const recipeOf = (...more: unknown[]) =>
  JSON.stringify({
    name: "generated",
    schedule: { calendar: "XHKG", at: "close+45m" },
    params,
    steps: [...first, ...more],
  });

const session = {
  date: "2025-08-15",
  open: "2025-08-15T09:30:00+08:00",
  close: "2025-08-15T16:00:00+08:00",
  halfDay: false,
};

/** Runs the first steps, and returns their outputs. */
async function outputsOf(broker: Simulated, out: string): Promise<{
  recipe: CompiledRecipe;
  outputs: Record<string, unknown>;
}> {
  const recipe = await compileRecipe(recipeOf(), "generated.json");
  const { steps } = await runRecipe(recipe, { client: broker.client, now: () => broker.clock.now(), out });
  return { recipe, outputs: Object.fromEntries(steps.map(({ id, output }) => [id, output])) };
}

const atoms = [
  "outputs.funds.available",
  "outputs.funds",
  "outputs.fills",
  "outputs.fills[0]",
  "outputs.fills[0].filledQuantity",
  "outputs.fills[0].date",
  "outputs.fills[0].fees",
  "outputs.fills[0].fees.total",
  "outputs.orders[0].status",
  "outputs.book.ok",
  "outputs.book.rows",
  "outputs.book.days",
  "outputs.book.days[0].rows",
  "outputs.book.days[0].rows.fills",
  "params.days",
  "params.floor",
  "params.on",
  "params.day",
  "params.columns",
  "slot",
  "session",
  "session.date",
  "session.halfDay",
  "previousSession.open",
  "1",
  "1.5",
  "'a'",
  "'1.5'",
  "true",
  "null",
  "[]",
  "[1, 2]",
  "['a', 'b']",
  "{'a': 1}",
];

function expressionOf(draw: Draw, depth: number): string {
  if (depth === 0 || draw.chance(15)) return draw.of(atoms);
  const part = () => expressionOf(draw, depth - 1);
  const makers = [
    () => `(${part()} ${draw.of(["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "in"])} ${part()})`,
    () => `(${part()} ${draw.of(["==", "!="])} ${part()})`,
    () => `(${part()} ${draw.of(["&&", "||"])} ${part()})`,
    () => `(${part()} ? ${part()} : ${part()})`,
    () => `!${part()}`,
    () => `${draw.of(["size", "int", "string", "double"])}(${part()})`,
    () => `${draw.of(["decimalAdd", "decimalCompare"])}(${part()}, ${part()})`,
    () => `daysBefore(${part()}, ${part()})`,
    () => `${part()}.${draw.of(["map(x, x)", "filter(x, true)", "all(x, true)", "map(x, x.date)"])}`,
    () => `${part()}.${draw.of(["size()", "contains('a')", "substring(1)", "join(',')", "trim()"])}`,
    () => `${part()}[${draw.of(["0", "'a'", "'date'"])}]`,
    () => `${part()}.${draw.of(["date", "total", "ok", "rows", "symbol"])}`,
  ];
  return draw.of(makers)();
}

/** Returns what kind of value an expression gave. */
const real = (value: unknown) =>
  value === null
    ? "null"
    : Array.isArray(value)
    ? "list"
    : typeof value === "object"
    ? "record"
    : typeof value;
/** The result of {@linkcode real} for a value of each type. */
const kinds: Readonly<Record<string, string>> = {
  text: "string",
  number: "number",
  whole: "number",
  flag: "boolean",
  list: "list",
  record: "record",
  map: "record",
  null: "null",
};

Deno.test("check and the run agree on generated expressions", async () => {
  await using broker = await simulated({ days: 3, fillsPerDay: 3 });
  using folder = temporaryFolder();
  const { recipe, outputs } = await outputsOf(broker, folder.path);
  // The output schema of export-day-book is written by hand: a real output must match it exactly.
  assertEquals(
    (await findStepKind("export-day-book"))!.output!.safeParse(outputs.book).error?.issues,
    undefined,
  );
  const types = Object.entries(recipe.paramTypes ?? {}).map(([name, type]) => [name, typeOfParam(type)]);
  const known = {
    params: Object.fromEntries(types),
    outputs: Object.fromEntries(recipe.steps.map(({ id, output }) => [id, output!])),
    sessions: "some" as const,
    isNotice: false,
  };
  const scope = stepContext(broker, { params: recipe.params, outputs, session, previousSession: session });
  const draw = new Draw();
  const counts = { passed: 0, refused: 0 };
  for (let index = 0; index < EXPRESSIONS; index++) {
    const source = expressionOf(draw, 1 + draw.number(3));
    const compiled = compileExpression(source);
    if ("problem" in compiled) continue;
    const { problems, type } = compiled.typed(known);
    let error = "";
    let value: unknown;
    try {
      value = compiled.evaluate(scope);
    } catch (thrown) {
      error = thrown instanceof Error
        ? thrown.message.replace(/^Cannot evaluate "[^]*?": /, "")
        : String(thrown);
    }
    if (problems.length === 0) {
      counts.passed++;
      // Depending on the data, a branch of a choice (`?:`) may not fit the rest of the expression. The same is true for
      // the items of a list parameter.
      const isOpen = /\?|symbol|(params\.columns|'\])\[/.test(source);
      assert(
        isOpen || !/overload|as a decimal|Temporal|range of a comprehension/.test(error),
        `${source}: ${error}`,
      );
      const kind = kinds[type.kind];
      if (error === "" && kind !== undefined) assertEquals(real(value), kind, source);
    } else {
      counts.refused++;
      // The check may reject an expression that runs: its value would silently be another one, or the part with the
      // mistake is never evaluated.
      const isSilent = problems.every(({ message }) =>
        /kept as text|is always the same|is never|has no "/.test(message)
      );
      const isUnreached = /[?&|]|all\(|map\(|filter\(/.test(source);
      assert(isSilent || isUnreached || error !== "", `${source}: ${problems.map(({ message }) => message)}`);
    }
  }
  assert(counts.passed > EXPRESSIONS / 10 && counts.refused > EXPRESSIONS / 10, JSON.stringify(counts));
});

/** Valid values of parameters, by name. */
const fitting: Readonly<Record<string, unknown>> = {
  markets: ["hk"],
  market: "hk",
  sessions: 1,
  from: "2025-08-14",
  to: "2025-08-15",
  formats: ["csv"],
  accounts: ["securities"],
  securities: [{ type: "hk-stock", symbol: "00700.HK" }],
  quotes: ["00700.HK"],
  account: ["hk"],
  holdings: ["hk"],
  futures: true,
  format: "csv",
  rows: "${{ outputs.fills }}",
  columns: ["date"],
  title: "t",
  every: "1s",
  atMost: "2s",
  price: { security: "00700.HK", atLeast: "1" },
  feesCleared: { markets: ["hk"], day: "2025-08-14" },
  orderIds: ["1"],
  symbol: "00700.HK",
  limit: 10,
  text: "hello",
};

const values: readonly unknown[] = [
  ...[1, 0, -1, 1.5, "x", "", "hk", "1", "2025-13-01", "5m", true, null, [], ["x"], [1], {}, { a: 1 }],
  ...[
    "params.days",
    "params.floor",
    "params.on",
    "params.day",
    "params.columns",
    "int(params.days)",
    "outputs.fills",
    "outputs.funds",
    "outputs.funds.available",
    "size(outputs.fills)",
    "outputs.fills[0].date",
    "outputs.fills[0].market",
    "outputs.fills[0]",
    "outputs.book.ok",
    "outputs.book.rows",
    "slot",
    "null",
    "[]",
    "{'a': 1}",
  ].map((text) => `\${{ ${text} }}`),
];

Deno.test("a generated step that passes the check does not reject its parameters", async () => {
  await using broker = await simulated({ days: 3, fillsPerDay: 3 });
  using folder = temporaryFolder();
  const { outputs } = await outputsOf(broker, folder.path);
  const reads = [...operations.values()].filter(({ effect, needs }) =>
    effect === "read" && needs === "trade-login"
  );
  const uses = [
    ...["convert-report", "export-day-book", "snapshot", "wait-for"],
    ...reads.map(({ name }) => name),
  ];
  const draw = new Draw();
  const counts = { passed: 0, refused: 0 };
  for (let index = 0; index < STEPS; index++) {
    const name = draw.of(uses);
    const kind = await findStepKind(name);
    const fields = Object.keys(
      kind === undefined ? operations.get(name)?.request.fields ?? {} : Object(kind.params).shape,
    );
    const given: Record<string, unknown> = {};
    for (const field of fields) {
      if (field in fitting && draw.chance(kind === undefined ? 90 : 45)) given[field] = fitting[field];
    }
    const wrong = draw.of(fields.length === 0 ? ["none"] : fields);
    const value = given[wrong];
    given[wrong] = Array.isArray(value) && draw.chance(50)
      ? [draw.of(values)]
      : typeof value === "object" && value !== null && !Array.isArray(value) && draw.chance(70)
      ? { ...value, [draw.of(Object.keys(value))]: draw.of(values) }
      : draw.of(values);
    const text = recipeOf({ id: "last", uses: name, with: given });
    let recipe: CompiledRecipe;
    try {
      recipe = await compileRecipe(text, "generated.json");
      counts.passed++;
    } catch (error) {
      assert(error instanceof RecipeError, `${name} ${JSON.stringify(given)}: ${error}`);
      counts.refused++;
      continue;
    }
    const context = stepContext(broker, {
      params: recipe.params,
      outputs,
      session,
      previousSession: session,
      out: `${folder.path}/${index}`,
    });
    await recipe.steps.at(-1)!.run(context).catch((error) => {
      // The check cannot know the broker's answers, the clock, the disk, or which numbers are codes.
      const isKnown = (error instanceof InvalidParamsError || error instanceof TypeError) &&
        !error.message.includes('got "unlisted:');
      assert(!isKnown, `${name} ${JSON.stringify(given)}: ${error}`);
    });
  }
  assert(counts.passed > STEPS / 50 && counts.refused > STEPS / 4, JSON.stringify(counts));
});
