// deno-lint-ignore-file no-console -- a task prints to its terminal
/**
 * Runs all benchmarks, or only benchmarks whose names begin with an argument. Prints one line of JSON for each figure.
 * Exits with code 1 if a figure misses its target or a benchmark fails. Flags are passed to each benchmark.
 *
 * @module
 */
const folder = new URL("../test/bench/", import.meta.url);
const wanted = Deno.args.filter((each) => !each.startsWith("--"));
const passedOn = Deno.args.filter((each) => each.startsWith("--"));
const files = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) =>
  name.endsWith("_bench.ts")
).sort();
const chosen = files.filter((name) => wanted.length === 0 || wanted.some((each) => name.startsWith(each)));
if (chosen.length === 0) {
  console.error(
    `Cannot run "${wanted.join(" ")}": the benchmarks are ${
      files.map((name) => name.replace("_bench.ts", "")).join(", ")
    }`,
  );
  Deno.exit(2);
}

let failures = 0;
for (const name of chosen) {
  console.error(`running ${name}`);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", new URL(name, folder).pathname, ...passedOn],
    stdout: "piped",
  }).spawn();
  let text = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    await Deno.stdout.write(new TextEncoder().encode(chunk));
    text += chunk;
  }
  const { code } = await child.status;
  const lines = text.split("\n").filter((line) => line.startsWith("{"));
  failures += lines.filter((line) => JSON.parse(line).ok === false).length + (code === 0 ? 0 : 1);
}
if (failures > 0) console.error(`figures that missed their targets, and failed benchmarks: ${failures}`);
Deno.exit(failures > 0 ? 1 : 0);
