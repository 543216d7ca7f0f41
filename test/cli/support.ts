/**
 * Runs the command line for tests: in this process with a world of its own, or as a process of its own.
 *
 * @module
 */
import { readOwned } from "../../lib/owned_files.ts";
import { ManualClock } from "../../lib/time.ts";
import { type GatewayOptions, type SimulatedGateway, startGateway } from "../../lib/simulator/gateway/mod.ts";
import {
  type PlatformInfo,
  type PlatformOptions,
  type SimulatedPlatform,
  startPlatform,
} from "../../lib/simulator/platform/mod.ts";
import config from "../../deno.json" with { type: "json" };
import type { FileText, Host } from "../../tasks/terminal/host.ts";
import { main } from "../../tasks/commands/main.ts";

/** A Friday morning in Hong Kong, in the middle of continuous trading. */
export const MORNING = Date.parse("2025-08-15T10:30:00+08:00");

/** Made with `openssl enc -aes-128-ecb` from the password "135790" and the key "0123456789abcdef". */
export const PASSWORD = "135790";
export const KEY = "MDEyMzQ1Njc4OWFiY2RlZg==";
export const ENCRYPTED = "Nh5LaY5FUfVVAl6erwj6bQ==";

/** A simulated gateway whose clock stands still and which pushes only when it is told to. */
export async function simulate(options: Partial<GatewayOptions> = {}): Promise<SimulatedGateway> {
  return await startGateway({
    seed: 7,
    clock: new ManualClock(MORNING),
    tradePassword: PASSWORD,
    tradePasswordKey: KEY,
    pushIntervalMs: 0,
    ...options,
  });
}

/** Environment that leads to a gateway and logs in there. */
export function envOf({ info }: Pick<SimulatedGateway, "info">): Record<string, string> {
  return {
    HSGATE_GATEWAY_URL: info.gatewayUrl,
    HSGATE_PUSH_ADDRESS: info.pushAddress,
    HSGATE_TRADE_PASSWORD: PASSWORD,
    HSGATE_TRADE_PASSWORD_KEY: KEY,
  };
}

/** What a run of the command line is given. */
export interface World {
  env?: Record<string, string>;
  stdin?: string;
  files?: Record<string, string | FileText>;
  /** The command reads the files that are really there. */
  fromDisk?: boolean;
  /** A person sits at the terminal, and answers questions with this; what is thrown is what a key does. */
  answer?: string | ((question: string) => string);
  /** Columns of the terminal; none is written to without it. */
  columns?: number;
  signal?: AbortSignal;
  /** Working folder of a process of its own. @default the project */
  cwd?: string;
  /** File for the system calls of a process of its own that open files and start programs; needs `strace`. */
  trace?: string;
  /** The time; it stands still at {@linkcode MORNING} otherwise. */
  now?: () => number;
  /** Told about each line on stdout, and about each text of a display that redraws. */
  onLine?: (line: string) => void;
}

/** What a run of the command line did. */
export interface Outcome {
  code: number;
  out: string;
  err: string;
}

/** The record of trusted recipes of this process's tests; nobody else's. */
const trustFolder = Deno.makeTempDirSync({ prefix: "hsgate-trust-" });
globalThis.addEventListener("unload", () => Deno.removeSync(trustFolder, { recursive: true }));
/** Environment that names it, for processes that are started in another way. */
export const trustEnv = { HSGATE_TRUST_FILE: `${trustFolder}/trust.json` };

/** Trusts recipes as a person would, whatever may be wrong with others beside them. */
export async function trustAll(...paths: readonly string[]): Promise<void> {
  await cli(["trust", ...paths, "--yes"]);
}

/** Runs a command line in this process. */
export async function cli(words: readonly string[], world: World = {}): Promise<Outcome> {
  const { stdin, files = {}, answer, columns, signal, now, onLine } = world;
  const env: Record<string, string> = { ...trustEnv, ...world.env };
  const outcome = { code: -1, out: "", err: "" };
  const host: Host = {
    env: (name) => env[name],
    out: (line) => {
      outcome.out += `${line}\n`;
      onLine?.(line);
    },
    note: (line) => outcome.err += `${line}\n`,
    draw: (codes, text = "") => {
      outcome.out += codes + text;
      onLine?.(text);
    },
    isTerminal: columns !== undefined,
    canAsk: answer !== undefined,
    color: false,
    size: () => ({ columns: columns ?? 80, rows: 24 }),
    ask: (question) => {
      outcome.err += question;
      return Promise.try(() => typeof answer === "function" ? answer(question) : answer ?? "");
    },
    readStdin: () => Promise.resolve(stdin ?? ""),
    readFile: (path) => {
      if (world.fromDisk) return readOwned(path);
      const file = files[path];
      return Promise.resolve(typeof file === "string" ? { text: file, mode: 0o600 } : file);
    },
    signal: signal ?? new AbortController().signal,
    now: now ?? (() => MORNING),
  };
  outcome.code = await main(words, host);
  return outcome;
}

/** Starts the command line as a process of its own, with nothing in its environment but what is given. */
export function start(
  words: readonly string[],
  { env = {}, stdin, cwd, trace }: Pick<World, "env" | "stdin" | "cwd" | "trace"> = {},
) {
  const root = new URL("../../", import.meta.url);
  const tracer = trace === undefined
    ? []
    : ["strace", "-f", "-s", "4096", "-e", "trace=open,openat,execve", "-o", trace];
  const [program, ...before] = [...tracer, Deno.execPath()];
  const process = new Deno.Command(program!, {
    args: [
      ...before,
      ...["run", ...taskFlags(), "--config", new URL("deno.json", root).pathname],
      ...[new URL("tasks/hsgate.ts", root).pathname, ...words],
    ],
    cwd: cwd ?? root.pathname,
    clearEnv: true,
    env: { ...inherited(), ...trustEnv, ...env },
    stdin: stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  return process;
}

/** What the task of the command line may do: a process with more would hide what is missing. */
function taskFlags(): string[] {
  return config.tasks.hsgate.command.split(" ").filter((word) => word.startsWith("--"));
}

/** Runs the command line as a process of its own; it is interrupted once `interruptWhen` is so. */
export async function spawned(
  words: readonly string[],
  world: Pick<World, "env" | "stdin" | "cwd" | "trace"> & { interruptWhen?: () => boolean } = {},
): Promise<Outcome> {
  const process = start(words, world);
  if (world.stdin !== undefined) {
    const writer = process.stdin.getWriter();
    await writer.write(new TextEncoder().encode(world.stdin));
    await writer.close();
  }
  const { interruptWhen } = world;
  const timer = interruptWhen === undefined ? undefined : setInterval(() => {
    if (!interruptWhen()) return;
    clearInterval(timer);
    process.kill("SIGINT");
  }, 10);
  const { code, stdout, stderr } = await process.output();
  clearInterval(timer);
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

/** What Deno itself needs: where its caches are. */
function inherited(): Record<string, string> {
  const names = ["PATH", "HOME", "DENO_DIR", "XDG_CACHE_HOME", "TMPDIR"];
  return Object.fromEntries(names.flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  }));
}

/** A simulated platform whose market stands still but for `round()`. */
export async function simulatePlatform(options: Partial<PlatformOptions> = {}): Promise<SimulatedPlatform> {
  return await startPlatform({
    seed: 7,
    days: 5,
    clock: new ManualClock(MORNING),
    tradePassword: PASSWORD,
    pushIntervalMs: 0,
    ...options,
  });
}

/** Environment that leads to a platform directly; `leases` is a folder for this test alone. */
export function directEnvOf(info: PlatformInfo, leases: string): Record<string, string> {
  return {
    HSGATE_TRANSPORT: "direct",
    HSGATE_AUTH_URL: info.authUrl,
    HSGATE_COUNTRY_CODE: info.countryCode,
    HSGATE_MOBILE: info.mobile,
    HSGATE_LOGIN_PASSWORD: info.loginPassword,
    HSGATE_DEVICE_ID: "AA:BB:CC:00:11:22",
    HSGATE_DEVELOPER_PRIVATE_KEY: info.developerPrivateKey,
    HSGATE_PLATFORM_PUBLIC_KEY: info.platformPublicKey,
    HSGATE_TRADE_PASSWORD: info.tradePassword,
    HSGATE_LEASE_FOLDER: leases,
  };
}

/** A folder that is gone afterwards. */
export async function folder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ prefix: "hsgate-cli-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
