/**
 * Provides the common parts of the benchmarks: the simulator in its own process, medians, and one JSON line per figure.
 *
 * Machines differ and may be busy. So each figure is compared with a floor: the same work with the least possible
 * code. Both are measured alternately in the same run, so that a busy machine slows both.
 *
 * @module
 */

/** What was measured, and whether it meets its target. */
export interface Count {
  /** What was measured. */
  name: string;
  /** Unit of the result. */
  unit: string;
  /** Result of the toolkit. */
  ours: number;
  /** Target of the result or, for a {@linkcode Figure}, of its ratio. */
  target: string;
  /** Whether the target is met. */
  ok: boolean;
  /** Other measurements. */
  [detail: string]: unknown;
}

/** A figure and its floor. */
export interface Figure extends Count {
  /** Result of the bare function. */
  floor: number;
  /** `ours` divided by `floor`. */
  ratio: number;
}

/** Prints a figure as one line of JSON. */
export function report(figure: Figure | Count): void {
  // deno-lint-ignore no-console -- a benchmark prints its figures
  console.log(JSON.stringify(figure));
}

/** Returns the median. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? NaN;
}

/** Rounds a figure for printing. Not for money. */
export function rounded(value: number, digits = 3): number {
  return Number(value.toPrecision(digits + 1));
}

/** Options of a measurement. */
export interface Turns {
  /** Number of first rounds that are ignored. */
  warmup: number;
  rounds: number;
  /** Called after each measurement; its time does not count. @default does nothing */
  after?: () => Promise<void>;
}

/** Measures functions alternately. Resolves to the median time of each, milliseconds. */
export async function inTurns<Operation extends string>(
  operations: Record<Operation, () => Promise<unknown>>,
  { warmup, rounds, after }: Turns,
): Promise<Record<Operation, number>> {
  // The cast is needed because the type of `Object.keys` is text.
  const names = Object.keys(operations) as Operation[];
  const times = new Map(names.map((name): [Operation, number[]] => [name, []]));
  for (let round = -warmup; round < rounds; round++) {
    for (const name of names) {
      const start = performance.now();
      await operations[name]();
      if (round >= 0) times.get(name)!.push(performance.now() - start);
      await after?.();
    }
  }
  // Each function has its times.
  return Object.fromEntries(names.map((name) => [name, median(times.get(name)!)])) as Record<
    Operation,
    number
  >;
}

/** The simulator's message when it is ready. */
export interface SimulatorInfo {
  gatewayUrl: string;
  pushAddress: string;
  tradePassword: string;
  tradePasswordKey: string;
}

/** A simulator in its own process. */
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
  // The simulator prints these members; `tasks/commands/sim.ts` documents them.
  const info = JSON.parse(line.slice(0, line.indexOf("\n"))) as SimulatorInfo;
  return {
    info,
    async [Symbol.asyncDispose]() {
      await reader.cancel();
      try {
        child.kill("SIGTERM");
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // a TypeError means that the process has already ended
      }
      await child.status;
    },
  };
}
