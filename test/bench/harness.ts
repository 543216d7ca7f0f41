/**
 * What the benchmarks share: the simulator in a process of its own, medians, and one JSON line per figure.
 *
 * Machines differ and are busy, so every figure stands beside its floor from the same run, and the two are
 * measured in turns: what slows one slows the other.
 *
 * @module
 */

/** One figure beside its floor. */
export interface Figure {
  /** What was measured. */
  name: string;
  /** Unit of `floor` and `ours`. */
  unit: string;
  /** The bare way. */
  floor: number;
  /** The toolkit. */
  ours: number;
  /** How many times the floor (for rates: what share of it). */
  ratio: number;
  /** Where the ratio should stay. */
  target: string;
  /** Whether it does. */
  ok: boolean;
  /** Anything else that was measured beside it. */
  [detail: string]: unknown;
}

/** Prints a figure as one line of JSON. */
export function report(figure: Figure): void {
  // deno-lint-ignore no-console -- the lines are what a benchmark is for
  console.log(JSON.stringify(figure));
}

/** The middle of the values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? NaN;
}

/** Rounds for printing: figures of a benchmark, never money. */
export function rounded(value: number, digits = 3): number {
  return Number(value.toPrecision(digits + 1));
}

/** How often each way is measured. */
export interface Turns {
  /** Rounds that do not count. */
  warmup: number;
  rounds: number;
  /** Done after each measurement, on nobody's time. @default nothing */
  after?: () => Promise<void>;
}

/** Measures ways in turns and returns the median time of each in milliseconds. */
export async function inTurns<Way extends string>(
  ways: Record<Way, () => Promise<unknown>>,
  { warmup, rounds, after }: Turns,
): Promise<Record<Way, number>> {
  // The keys of a record are its own type's; `Object.keys` says text.
  const names = Object.keys(ways) as Way[];
  const times = new Map(names.map((name): [Way, number[]] => [name, []]));
  for (let round = -warmup; round < rounds; round++) {
    for (const name of names) {
      const start = performance.now();
      await ways[name]();
      if (round >= 0) times.get(name)!.push(performance.now() - start);
      await after?.();
    }
  }
  // Each way has its times.
  return Object.fromEntries(names.map((name) => [name, median(times.get(name)!)])) as Record<Way, number>;
}

/** What the simulator says when it is ready. */
export interface SimulatorInfo {
  gatewayUrl: string;
  pushAddress: string;
  tradePassword: string;
  tradePasswordKey: string;
}

/** A simulator in a process of its own. */
export interface SimulatorProcess extends AsyncDisposable {
  info: SimulatorInfo;
}

/** Starts `tasks/sim.ts` on free ports and waits until it is ready. */
export async function startSimulator(flags: readonly string[] = []): Promise<SimulatorProcess> {
  const script = new URL("../../tasks/sim.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", script, "--http-port", "0", "--push-port", "0", ...flags],
    stdout: "piped",
    stderr: "null",
    stdin: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let line = "";
  while (!line.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error("Cannot start the simulator: it ended before it was ready");
    line += value;
  }
  // The simulator prints exactly these members; `tasks/sim.ts` documents them.
  const info = JSON.parse(line.slice(0, line.indexOf("\n"))) as SimulatorInfo;
  return {
    info,
    async [Symbol.asyncDispose]() {
      await reader.cancel();
      try {
        child.kill("SIGTERM");
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // a TypeError says that it has ended already
      }
      await child.status;
    },
  };
}
