// deno-lint-ignore-file no-console -- a task talks to its terminal
/**
 * Starts the simulated gateway, prints one line of JSON when it is ready, and runs until it is told to stop.
 *
 * Run: `deno run --allow-net --allow-read --allow-write tasks/sim.ts --help`
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { ShiftedClock } from "../lib/simulator/clock.ts";
import { type GatewayInfo, isLoopback, readInstant, startGateway } from "../lib/simulator/gateway/mod.ts";

/**
 * A Saturday at noon: every market's last session is over and cleared, so the last five trading days are complete
 * with their fees. The day before is the last one with real bars.
 */
const DEFAULT_CLOCK = "2025-08-16T12:00:00+08:00";

const HELP = `Starts a simulated gateway for trials and tests. Nothing here reaches a broker.

Usage: deno task sim [flags]

  --http-port N           HTTP port, 0 for a free one          (default 11111)
  --push-port N           TCP push port, 0 for a free one      (default 11112)
  --hostname H            address to listen on                 (default 127.0.0.1)
  --seed S                what prices and fills follow from    (default 1)
  --days N                trading days of history per market   (default 250)
  --fills-per-day N       fills per market on each of them     (default 6)
  --clock ISO             simulated time of the start          (default ${DEFAULT_CLOCK})
  --push-interval-ms N    between two looks at the market      (default 1000)
  --info FILE             writes the line of JSON there too
  --help                  shows this text

The line of JSON on the standard output says how to reach the gateway:
  {"gatewayUrl":"http://127.0.0.1:11111","pushAddress":"127.0.0.1:11112","tradePassword":"…",
   "tradePasswordKey":"…","seed":1,"clock":"${DEFAULT_CLOCK}"}

Example: during trading hours, on free ports, with quotes four times a second
  deno task sim --http-port 0 --push-port 0 --clock 2025-08-15T10:00:00+08:00 --push-interval-ms 250
`;

/** A flag that cannot be used. */
class FlagError extends Error {}

const FLAGS = [
  "http-port",
  "push-port",
  "hostname",
  "seed",
  "days",
  "fills-per-day",
  "clock",
  "push-interval-ms",
  "info",
];

interface Flags {
  httpPort: number;
  pushPort: number;
  hostname: string;
  seed: number;
  days: number;
  fillsPerDay: number;
  clock: number;
  pushIntervalMs: number;
  info: string | undefined;
}

/** Reads the flags, or nothing when the help is asked for. @throws {FlagError} When one is wrong. */
function readFlags(args: string[]): Flags | undefined {
  const unknown = (argument: string) => {
    throw new FlagError(`"${argument}" is not a flag`);
  };
  const given = parseArgs(args, { string: FLAGS, boolean: ["help"], unknown });
  if (given.help === true) return undefined;
  const text = (name: string): string | undefined => {
    const value = given[name];
    if (value === undefined) return undefined;
    if (typeof value !== "string" || value === "") throw new FlagError(`--${name} needs a value`);
    return value;
  };
  const whole = (name: string, { usual, least, most }: { usual: number; least: number; most: number }) => {
    const value = text(name);
    if (value === undefined) return usual;
    const number = /^\d{1,10}$/.test(value) ? Number(value) : NaN;
    if (number >= least && number <= most) return number;
    throw new FlagError(`--${name} must be a whole number from ${least} to ${most}, not "${value}"`);
  };
  const clock = text("clock") ?? DEFAULT_CLOCK;
  const instant = readInstant(clock);
  if (instant === undefined) {
    throw new FlagError(`--clock must be a time with its offset, such as "${DEFAULT_CLOCK}", not "${clock}"`);
  }
  return {
    httpPort: whole("http-port", { usual: 11111, least: 0, most: 65535 }),
    pushPort: whole("push-port", { usual: 11112, least: 0, most: 65535 }),
    hostname: text("hostname") ?? "127.0.0.1",
    seed: whole("seed", { usual: 1, least: 0, most: 4_294_967_295 }),
    days: whole("days", { usual: 250, least: 1, most: 1000 }),
    fillsPerDay: whole("fills-per-day", { usual: 6, least: 1, most: 1000 }),
    clock: instant,
    pushIntervalMs: whole("push-interval-ms", { usual: 1000, least: 10, most: 3_600_000 }),
    info: text("info"),
  };
}

/** Writes the file as a whole or not at all, for its owner alone. */
async function writeInfo(path: string, line: string): Promise<void> {
  const draft = `${path}.${Deno.pid}.tmp`;
  await Deno.writeTextFile(draft, line, { mode: 0o600 });
  try {
    await Deno.rename(draft, path);
  } catch (error) {
    await Deno.remove(draft);
    throw error;
  }
}

/** Resolves when the process is told to stop. */
function untilStopped(): Promise<void> {
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  return new Promise((resolve) => {
    const stop = () => {
      for (const signal of signals) Deno.removeSignalListener(signal, stop);
      resolve();
    };
    for (const signal of signals) Deno.addSignalListener(signal, stop);
  });
}

async function run(flags: Flags): Promise<void> {
  const stopped = untilStopped();
  const { info: file, clock: start, ...options } = flags;
  await using gateway = await startGateway({
    ...options,
    clock: new ShiftedClock(start),
    onError: (error) => console.error("Mistake of the simulator:", error),
  });
  const { info }: { info: GatewayInfo } = gateway;
  if (!isLoopback(flags.hostname)) {
    console.error(
      `Warning: "${flags.hostname}" is open to other machines, and the simulator asks nobody who they are. ` +
        "The control routes are off",
    );
  }
  const line = `${JSON.stringify(info)}\n`;
  if (file !== undefined) await writeInfo(file, line);
  console.error(
    `Simulated gateway at ${info.gatewayUrl}, pushes at ${info.pushAddress}; stop it with Ctrl+C`,
  );
  console.log(line.trimEnd());
  await stopped;
  console.error("Stopping");
}

/** Runs the task and resolves to its exit code: 0 when stopped, 1 when it cannot start, 2 for wrong flags. */
export async function main(args: string[]): Promise<number> {
  try {
    const flags = readFlags(args);
    if (flags === undefined) console.log(HELP);
    else await run(flags);
    return 0;
  } catch (error) {
    if (error instanceof FlagError) {
      console.error(`Cannot start the simulator: ${error.message}\nSee: deno task sim --help`);
      return 2;
    }
    if (error instanceof RangeError) {
      // The market and the calendars end somewhere on both sides.
      console.error(`Cannot start the simulator at this --clock and --days: ${error.message}`);
      return 1;
    }
    if (error instanceof Deno.errors.AddrInUse) {
      console.error("Cannot start the simulator: a port is taken; try --http-port 0 --push-port 0");
      return 1;
    }
    console.error(`Cannot start the simulator: ${error instanceof Error ? error.message : error}`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
