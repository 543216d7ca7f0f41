// deno-lint-ignore-file no-console -- a task prints to its terminal
/**
 * Starts the simulated broker with the ports of the gateway and of the platform, prints its addresses when it is ready,
 * and runs until it is stopped.
 *
 * Run: `deno run --allow-net=127.0.0.1,localhost --allow-read --allow-write tasks/sim.ts --help`
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { ShiftedClock } from "../lib/time.ts";
import { FIRST_DATE } from "../lib/simulator/market/timeline.ts";
import { isLoopback } from "../lib/loopback.ts";
import { readInstant } from "../lib/time.ts";
import { linkedOutside } from "../lib/confined_paths.ts";
import { replaceFile } from "../lib/private_files.ts";
import { readRegularTextSync } from "../lib/regular_files.ts";
import { withoutCredentials } from "../lib/credentials.ts";
import { shownText } from "../lib/shown_text.ts";
import { ScriptError, scriptJsonSchema, ShapeError, startSimulator } from "../lib/simulator/mod.ts";
import { NOTICES_PATH } from "../lib/simulator/endpoints/notices.ts";
import type { AnswerShape } from "../lib/operations/shaped_answers.ts";
import { DEFAULT_CLOCK, flagNames, sim } from "./commands/sim.ts";
import { helpOf } from "./terminal/help.ts";

/** Thrown for an invalid flag. */
class FlagError extends Error {}

const out = (text: string) => console.log(shownText(text));
/** Prints a line to stderr without the passwords in addresses, because errors repeat mistyped flags. */
const noteOnStderr = (text: string) => console.error(shownText(withoutCredentials(text)));

interface Flags {
  httpPort: number;
  pushPort: number;
  platformPort: number;
  tradePort: number;
  hqPort: number;
  hostname: string;
  names: string[] | undefined;
  seed: number;
  days: number;
  fillsPerDay: number;
  clock: number;
  pushIntervalMs: number;
  heartbeatIntervalSec: number;
  allowedIps: string[] | undefined;
  boundDevices: string[] | undefined;
  script: string | undefined;
  answers: string | undefined;
  shorts: boolean;
  info: string | undefined;
  json: boolean;
}

/**
 * Returns the flags; `"help"` for `--help`, `"schema"` for `--script-schema`.
 *
 * @throws {FlagError} If a flag is invalid.
 */
function readFlags(args: string[]): Flags | "help" | "schema" {
  const unknown = (argument: string) => {
    throw new FlagError(`"${argument}" is not a flag`);
  };
  const given = parseArgs(args, {
    string: flagNames,
    boolean: ["help", "json", "script-schema", "shorts"],
    unknown,
  });
  if (given.help === true) return "help";
  if (given["script-schema"] === true) return "schema";
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
  const list = (name: string) => text(name)?.split(",").map((item) => item.trim());
  const freePort = { usual: 0, least: 0, most: 65535 };
  const clock = text("clock") ?? DEFAULT_CLOCK;
  const instant = readInstant(clock);
  if (instant === undefined) {
    throw new FlagError(`--clock must be a time with its offset, such as "${DEFAULT_CLOCK}", not "${clock}"`);
  }
  if (instant < Date.parse(`${FIRST_DATE}T00:00:00Z`)) {
    throw new FlagError(
      `--clock must not be before ${FIRST_DATE}, the first day with prices, but it is "${clock}"`,
    );
  }
  return {
    httpPort: whole("http-port", { usual: 11111, least: 0, most: 65535 }),
    pushPort: whole("push-port", { usual: 11112, least: 0, most: 65535 }),
    platformPort: whole("platform-port", freePort),
    tradePort: whole("trade-port", freePort),
    hqPort: whole("hq-port", freePort),
    hostname: text("hostname") ?? "127.0.0.1",
    names: list("names"),
    seed: whole("seed", { usual: 1, least: 0, most: 4_294_967_295 }),
    days: whole("days", { usual: 250, least: 1, most: 1000 }),
    fillsPerDay: whole("fills-per-day", { usual: 6, least: 1, most: 1000 }),
    clock: instant,
    pushIntervalMs: whole("push-interval-ms", { usual: 1000, least: 10, most: 3_600_000 }),
    heartbeatIntervalSec: whole("heartbeat-sec", { usual: 30, least: 1, most: 3600 }),
    allowedIps: list("allowed-ips"),
    boundDevices: list("bound-devices"),
    script: text("script"),
    answers: text("answers"),
    shorts: given.shorts === true,
    info: text("info"),
    json: given.json === true,
  };
}

/** Resolves when the process receives a signal to stop. */
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

/** Returns the text of a script. @throws {FlagError} If the file cannot be read. */
function readScriptFile(fileName: string): { text: string; fileName: string } {
  try {
    return { text: readRegularTextSync(fileName), fileName };
  } catch (error) {
    throw new FlagError(
      `cannot read the script "${fileName}": ${error instanceof Error ? error.message : error}`,
    );
  }
}

/** Returns the answer shapes of a probe report. @throws {FlagError} If the file cannot be read or is no report. */
async function readAnswers(fileName: string): Promise<AnswerShape[]> {
  const { readReport, shapesOf } = await import("../lib/probe/report.ts");
  try {
    return shapesOf(readReport(readRegularTextSync(fileName), fileName));
  } catch (error) {
    throw new FlagError(`--answers: ${error instanceof Error ? error.message : error}`);
  }
}

async function run(flags: Flags, note: (text: string) => void): Promise<void> {
  const elsewhere = flags.info === undefined ? undefined : linkedOutside(flags.info);
  if (elsewhere !== undefined) {
    throw new FlagError(
      `--info "${flags.info}": a link leads to "${elsewhere}"; if that is yours, give its real path`,
    );
  }
  const stopped = untilStopped();
  const { hostname, names, pushIntervalMs, seed, days, fillsPerDay } = flags;
  const onError = (error: unknown) =>
    note(`Internal error of the simulator, please report it: ${Deno.inspect(error)}`);
  const { httpPort, pushPort } = flags;
  const { platformPort, tradePort, hqPort, heartbeatIntervalSec, allowedIps, boundDevices } = flags;
  const shared = { hostname, names, pushIntervalMs, onError };
  const onNotice = (text: string) => note(`Notice: ${text}`);
  await using simulator = await startSimulator({
    seed,
    days,
    fillsPerDay,
    shorts: flags.shorts,
    clock: new ShiftedClock(flags.clock),
    ...(flags.script === undefined ? {} : { script: readScriptFile(flags.script) }),
    ...flags.answers !== undefined && { answers: await readAnswers(flags.answers) },
    gateway: { ...shared, httpPort, pushPort, onNotice },
    platform: {
      ...shared,
      platformPort,
      tradePort,
      hqPort,
      heartbeatIntervalSec,
      allowedIps,
      boundDevices,
    },
  });
  const { info } = simulator;
  if (!isLoopback(flags.hostname)) {
    note(
      `Warning: "${flags.hostname}" is open to other machines, and the simulator does not check who connects. ` +
        "The control routes are off",
    );
  }
  const line = JSON.stringify(info);
  const isJson = flags.json || flags.info === undefined;
  const say = isJson ? note : out;
  say(`Simulated gateway at ${info.gatewayUrl}, pushes at ${info.pushAddress}, platform at ${info.authUrl}`);
  if (info.controlToken !== undefined) {
    say(`The simulator prints the notices that recipes send to ${info.gatewayUrl}${NOTICES_PATH}`);
  }
  if (flags.info !== undefined) {
    replaceFile(flags.info, `${line}\n`);
    say(`Wrote the addresses, passwords and keys to ${flags.info}, for --config`);
  }
  say("Ctrl+C stops the simulator");
  if (isJson) out(line);
  await stopped;
  note("Stopping");
}

/** Returns the fixed ports as text, such as `--http-port 11111`. Leaves out free ports. */
function portsOf(flags: Flags | "help" | "schema"): string {
  if (typeof flags === "string") return "";
  const { httpPort, pushPort, platformPort, tradePort, hqPort } = flags;
  const ports = { http: httpPort, push: pushPort, platform: platformPort, trade: tradePort, hq: hqPort };
  return Object.entries(ports).flatMap(([name, port]) => port === 0 ? [] : [`--${name}-port ${port}`]).join(
    ", ",
  );
}

/**
 * Runs the task and resolves to its exit code: 0 after a stop, 1 if it cannot start, 2 for wrong flags.
 *
 * @param tell Called with each line that the task would otherwise print to stderr.
 */
export async function main(args: string[], tell?: (line: string) => void): Promise<number> {
  const note = tell === undefined ? noteOnStderr : (text: string) => tell(withoutCredentials(text));
  let ports = "";
  try {
    const flags = readFlags(args);
    ports = portsOf(flags);
    if (flags === "help") out(helpOf(sim));
    else if (flags === "schema") out(JSON.stringify(scriptJsonSchema(), null, 2));
    else await run(flags, note);
    return 0;
  } catch (error) {
    if (error instanceof FlagError) {
      note(`Cannot start the simulator: ${error.message}\nSee: deno task sim --help`);
      return 2;
    }
    if (error instanceof ShapeError) {
      note(`Cannot start the simulator: --answers: ${error.message}`);
      return 2;
    }
    if (error instanceof ScriptError) {
      note(`Cannot start the simulator: ${error.message}\nSee: deno task sim --help`);
      return 2;
    }
    if (error instanceof RangeError) {
      // The prices and the calendars cover only a limited range of days.
      note(`Cannot start the simulator at this --clock and --days: ${error.message}`);
      return 1;
    }
    if (error instanceof Deno.errors.NotCapable && error.message.includes("net access")) {
      note(
        'Cannot start the simulator: "deno task sim" may listen only on this machine; to open it to others, name the ' +
          'address with "hsgate sim --hostname ADDRESS"',
      );
      return 1;
    }
    if (error instanceof Deno.errors.AddrInUse) {
      note(
        `Cannot start the simulator: another program uses one of its ports (${ports}): stop that program, or take free ` +
          "ports with 0, as in --http-port 0",
      );
      return 1;
    }
    note(`Cannot start the simulator: ${error instanceof Error ? error.message : error}`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
