/** Tests of the engine in runs without a store and in dry runs; they use the same engine as runs under a store. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { BrokerError } from "../../lib/errors.ts";
import {
  type EarlierAttempt,
  modes,
  noRecorder,
  StepEngine,
  type StepEvent,
} from "../../lib/recipes/engine/engine.ts";
import { Redactor, SecretInFileError } from "../../lib/redact.ts";
import { dryRunRecipe, type RecipeEvent, runRecipe } from "../../lib/recipes/run_recipe.ts";
import { manualScope } from "../../lib/recipes/engine/step_context.ts";
import { systemMachine } from "../../lib/time.ts";
import { FRIDAY_MORNING, simulated } from "../day_book/simulated.ts";
import { orders, recipe, step, temporaryFolder } from "../runner/support.ts";

const ORDER = {
  symbol: "00700.HK",
  market: "hk",
  side: "buy",
  orderType: "limit",
  tradingHours: "regular",
  price: "600",
  quantity: "100",
} as const;

/** The context of runs without a store. Their steps do not use the client. */
const context = { client: {} as never, now: () => FRIDAY_MORNING };

Deno.test("runRecipe() skips steps that need a step with a problem, and runs the other steps", async () => {
  const result = await runRecipe(
    recipe({
      steps: [
        step({ id: "a", run: () => Promise.resolve({ ok: false, found: 1 }) }),
        step({ id: "b", needs: ["a"] }),
        step({ id: "c", run: () => Promise.resolve(3n) }),
      ],
    }),
    context,
  );
  assertEquals(result.ok, false);
  assertEquals(result.steps.map(({ id, ok, skipped, output }) => [id, ok, skipped, output]), [
    ["a", false, undefined, { ok: false, found: 1 }],
    ["b", true, true, undefined],
    ["c", true, undefined, "3"],
  ]);
});

Deno.test("runRecipe() ends a step that takes too long and ignores its signal", async () => {
  const never = Promise.withResolvers<never>();
  const events: string[] = [];
  const error = await assertRejects(
    () =>
      runRecipe(recipe({ steps: [step({ timeoutMs: 20, run: () => never.promise }), step({ id: "two" })] }), {
        ...context,
        onProgress: (event) => events.push(`${event.type} ${event.step}`),
      }),
    BrokerError,
    'Cannot finish step "one": it took more than 20 ms',
  );
  assertEquals(error.code, "timeout");
  assertEquals(events, ["step-started one", "step-failed one"]);
});

Deno.test("runRecipe() ends with the reason of its signal, within a step and between two", async () => {
  const stopped = new Error("stopped by hand");
  const within = new AbortController();
  const never = Promise.withResolvers<never>();
  const hangs = recipe({
    steps: [step({
      run: () => {
        within.abort(stopped);
        return never.promise;
      },
    })],
  });
  assertEquals(
    await assertRejects(() => runRecipe(hangs, { ...context, signal: within.signal }), Error),
    stopped,
  );
  const between = new AbortController();
  const began: string[] = [];
  const two = recipe({
    steps: ["a", "b"].map((id) => step({ id, run: () => Promise.resolve(void began.push(id)) })),
  });
  const onProgress = ({ type }: RecipeEvent) => type === "step-done" && between.abort(stopped);
  const run = () => runRecipe(two, { ...context, signal: between.signal, onProgress });
  assertEquals(await assertRejects(run, Error), stopped);
  assertEquals(began, ["a"]);
});

Deno.test("runRecipe() removes secrets from outputs, and rejects files that contain them", async () => {
  using folder = temporaryFolder();
  const file = `${folder.path}/a.csv`;
  const secret = () => Promise.resolve("open-sesame");
  const { steps } = await runRecipe(
    recipe({ steps: [step({ run: async ({ secret }) => ({ says: `it is ${await secret("word")}` }) })] }),
    { ...context, secret },
  );
  assertEquals(steps[0]!.output, { says: "it is [secret]" });
  const leaks = recipe({
    steps: [step({
      effect: "local",
      async run({ secret, artifact }) {
        await Deno.writeTextFile(file, `token,${await secret("word")}\n`);
        await artifact({ dataset: "d", path: file, bytes: 1, sha256: "00", final: true });
      },
    })],
  });
  await assertRejects(() => runRecipe(leaks, { ...context, secret }), SecretInFileError);
});

Deno.test("a dry run sends no write, not even one that a plan or a reading step tries", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  const before = (await broker.client.orders.today({ market: "hk" }).toArray()).length;
  const places = step({
    id: "plans",
    effect: "write",
    plan: async ({ client }) => await (await client()).orders.place(ORDER),
  });
  const reads = step({ id: "reads", run: async ({ client }) => await (await client()).orders.place(ORDER) });
  for (
    const [steps, why] of [[[places], "this is a dry run"], [
      [reads, places],
      'its effect is "read"',
    ]] as const
  ) {
    const made = orders([], { steps });
    const found = await dryRunRecipe(made, {
      calendars: builtInCalendars,
      scope: manualScope(builtInCalendars, made, { runKey: "orders/m/1", at: FRIDAY_MORNING, params: {} }),
      now: () => FRIDAY_MORNING,
      out: "",
      signal: new AbortController().signal,
      client: () => Promise.resolve(broker.client),
      secret: () => Promise.reject(new TypeError("no secrets")),
      redactor: new Redactor(),
    });
    assertEquals([found.ok, found.writes.length, found.steps[0]?.state], [false, 0, "failed"]);
    assertStringIncludes(found.steps[0]?.reason ?? "", why);
  }
  assertEquals((await broker.client.orders.today({ market: "hk" }).toArray()).length, before);
});

Deno.test("the engine never begins a write step twice, and reuses outputs of an earlier start", async () => {
  const began: string[] = [];
  const events: StepEvent[] = [];
  const run = (id: string) => () => Promise.resolve(void began.push(id));
  const made = orders([], {
    steps: [
      step({ id: "read", run: run("read") }),
      step({ id: "fresh", fresh: true, run: run("fresh") }),
      step({ id: "cut", effect: "write", run: run("cut") }),
      step({ id: "write", effect: "write", fresh: true, run: run("write") }),
    ],
  });
  const done = { state: "ok", attempt: 1, output: '{"n":1}' } as const;
  const engine = new StepEngine(made, {
    scope: manualScope(builtInCalendars, made, { runKey: "orders/m/1", at: FRIDAY_MORNING, params: {} }),
    deps: {
      machine: systemMachine,
      calendars: () => builtInCalendars,
      out: "",
      redactor: new Redactor(),
      client: () => Promise.reject(new TypeError("no client")),
      secret: () => Promise.reject(new TypeError("no secrets")),
    },
    mode: modes.stored,
    recorder: {
      ...noRecorder,
      earlier: () =>
        Promise.resolve(
          new Map<string, EarlierAttempt>([
            ["read", done],
            ["fresh", done],
            ["cut", { state: "begun", attempt: 1, output: null }],
            ["write", done],
          ]),
        ),
    },
    halt: new AbortController().signal,
    onEvent: (event) => events.push(event),
  });
  assertEquals(await engine.run(), true);
  assertEquals(began, ["fresh"]);
  assertEquals(Object.fromEntries(engine.states), { read: "ok", fresh: "ok", cut: "unknown", write: "ok" });
  assertEquals(engine.outputs.read, { n: 1 });
  const started = events.find((event) => event.type === "step-started");
  assertEquals([started?.step, started?.attempt], ["fresh", 2]);
});
