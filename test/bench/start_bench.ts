/**
 * Measures cold starts: a one-call script compared with the same script with bare `fetch`; `hsgate --help`, and
 * `hsgate run` until its first step, compared with an empty script.
 *
 * @module
 */
import { inTurns, report, rounded, startSimulator } from "./harness.ts";

await using simulator = await startSimulator(["--seed", "1", "--days", "5"]);
const { gatewayUrl, tradePassword, tradePasswordKey } = simulator.info;

const folder = await Deno.makeTempDir({ prefix: "hsgate-bench-" });
const root = new URL("../../", import.meta.url);
const config = new URL("deno.json", root).pathname;
const scripts = {
  empty: "",
  bare: `const response = await fetch(${JSON.stringify(`${gatewayUrl}/hs/rate/queryList`)}, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ timeout_sec: 10, params: {} }),
});
console.log(JSON.parse(await response.text()).data.USD.HKD);
`,
  typed: `import { connect } from ${JSON.stringify(new URL("mod.ts", root).href)};
await using client = await connect(${
    JSON.stringify({ gateway: gatewayUrl, tradePassword, tradePasswordKey })
  });
console.log((await client.account.exchangeRates()).USD?.HKD);
`,
};
const files = Object.fromEntries(
  await Promise.all(
    Object.entries(scripts).map(async ([name, text]) => {
      const file = `${folder}/${name}.ts`;
      await Deno.writeTextFile(file, text);
      return [name, file] as const;
    }),
  ),
);

function run(args: readonly string[]): () => Promise<void> {
  return async () => {
    const command = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "-A", "--config", config, ...args],
      stdout: "null",
    });
    const { code, stderr } = await command.output();
    if (code !== 0) {
      throw new Error(`Cannot measure "${args.join(" ")}": ${new TextDecoder().decode(stderr)}`);
    }
  };
}

/** Starts the command line like `deno task hsgate`, which loads only the modules of the command that runs. */
const cli = ["--unstable-lazy-dynamic-imports", new URL("tasks/hsgate.ts", root).pathname];

/** A recipe with one step that makes no call. */
const recipe = `${folder}/one_step.yaml`;
await Deno.writeTextFile(
  recipe,
  `name: one-step
steps:
  - { id: report, uses: convert-report, with: { rows: [{ day: "2025-08-15" }], to: report.csv } }
`,
);

/** Resolves when the process whose first step was measured last has ended. */
let rest: Promise<void> = Promise.resolve();

/** Runs the recipe, and resolves as soon as its first step reports that it begins. */
function firstStep(flags: readonly string[]): () => Promise<void> {
  return async () => {
    const args = ["run", recipe, "--json", "--events", "--out", folder, ...flags];
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "-A", "--config", config, ...cli, ...args],
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const lines = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes('"type":"step-started"')) {
      const { value, done } = await lines.read();
      if (done) throw new Error(`Cannot measure "${args.join(" ")}": no step began: ${text}`);
      text += value;
    }
    rest = (async () => {
      while (!(await lines.read()).done);
      if (!(await child.status).success) throw new Error(`Cannot measure "${args.join(" ")}": it failed`);
    })();
  };
}

const empty = run([files.empty!]);
const store = `${folder}/store.db`;
const cases = [
  { name: "start/one-call", floor: run([files.bare!]), ours: run([files.typed!]), most: 2 },
  { name: "start/help", floor: empty, ours: run([...cli, "--help"]), most: 3 },
  { name: "start/run-first-step", floor: empty, ours: firstStep([]), most: 10 },
  {
    name: "start/run-first-step-store",
    floor: empty,
    ours: firstStep(["--store", store]),
    most: 13,
  },
];
for (const { name, floor, ours, most } of cases) {
  const times = await inTurns({ floor, ours }, { warmup: 3, rounds: 21, after: () => rest });
  const ratio = times.ours / times.floor;
  report({
    name,
    unit: "ms, median",
    floor: rounded(times.floor),
    ours: rounded(times.ours),
    ratio: rounded(ratio),
    target: `at most ${most}`,
    ok: ratio <= most,
  });
}
await Deno.remove(folder, { recursive: true });
