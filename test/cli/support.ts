/**
 * Runs the command line for tests, in this process with a given environment, or as a separate process.
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

/** The trade password of the simulated gateways. */
export const PASSWORD = "135790";
/** The key of the password: Base64 of "0123456789abcdef". */
export const KEY = "MDEyMzQ1Njc4OWFiY2RlZg==";
/** The password, encrypted with the key by `openssl enc -aes-128-ecb`. */
export const ENCRYPTED = "Nh5LaY5FUfVVAl6erwj6bQ==";

/** A simulated gateway with a stopped clock; it pushes only on request. */
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

/** A gateway that changes the answers of another one, as a hostile gateway could. */
export function altered(
  { info }: Pick<SimulatedGateway, "info">,
  change: (answer: string) => string,
): { info: SimulatedGateway["info"] } & AsyncDisposable {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const answer = await fetch(info.gatewayUrl + new URL(request.url).pathname, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: await request.text(),
      redirect: "error",
    });
    const { status } = answer;
    const date = answer.headers.get("date") ?? "";
    return new Response(change(await answer.text()), { status, headers: { date } });
  });
  return {
    info: { ...info, gatewayUrl: `http://127.0.0.1:${server.addr.port}` },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Environment variables for a gateway, with a login. */
export function envOf({ info }: Pick<SimulatedGateway, "info">): Record<string, string> {
  return {
    HSGATE_GATEWAY_URL: info.gatewayUrl,
    HSGATE_PUSH_ADDRESS: info.pushAddress,
    HSGATE_TRADE_PASSWORD: PASSWORD,
    HSGATE_TRADE_PASSWORD_KEY: KEY,
  };
}

/** Options of a run of the command line. */
export interface World {
  env?: Record<string, string>;
  stdin?: string;
  files?: Record<string, string | FileText>;
  /** Whether the command reads real files. */
  fromDisk?: boolean;
  /** Answers of a user at the terminal. A function may throw an `InterruptedError`, like Ctrl-C at the question. */
  answer?: string | ((question: string) => string);
  /** Whether the terminal shows colours. @default false */
  color?: boolean;
  /** Width of the terminal; without it there is no terminal. */
  columns?: number;
  signal?: AbortSignal;
  /** Working folder of a separate process. @default the project */
  cwd?: string;
  /**
   * Records the system calls of a separate process that open files or start programs; needs `strace`. Each thread
   * writes its own file, `<trace>.<thread>`: see {@linkcode takeTrace}.
   */
  trace?: string;
  /** Umask of a separate process. @default that of the tests */
  umask?: number;
  /** The clock. @default stopped at {@linkcode MORNING} */
  now?: () => number;
  /** Called for each line on stdout, and for each drawing of a display. */
  onLine?: (line: string) => void;
  /** Called with each line that goes to stderr. */
  onNote?: (line: string) => void;
}

/** Result of a run of the command line. */
export interface Outcome {
  code: number;
  out: string;
  err: string;
}

/** The trust record of this process's tests. */
const trustFolder = Deno.makeTempDirSync({ prefix: "hsgate-trust-" });
globalThis.addEventListener("unload", () => Deno.removeSync(trustFolder, { recursive: true }));
/** Environment variables that name the trust record, for processes that are started in other ways. */
export const trustEnv = { HSGATE_TRUST_FILE: `${trustFolder}/trust.json` };

/** Trusts recipes like a user, even if other recipes in the folder have mistakes. */
export async function trustAll(...paths: readonly string[]): Promise<void> {
  await cli(["trust", ...paths, "--yes"]);
}

/** Runs a command line in this process. */
export async function cli(words: readonly string[], world: World = {}): Promise<Outcome> {
  const { stdin, files = {}, answer, columns, signal, now, onLine, onNote } = world;
  const env: Record<string, string> = { ...trustEnv, ...world.env };
  const outcome = { code: -1, out: "", err: "" };
  const host: Host = {
    env: (name) => env[name],
    out: (line) => {
      outcome.out += `${line}\n`;
      onLine?.(line);
    },
    note: (line) => {
      outcome.err += `${line}\n`;
      onNote?.(line);
    },
    draw: (codes, text = "") => {
      outcome.out += codes + text;
      onLine?.(text);
    },
    isTerminal: columns !== undefined,
    canAsk: answer !== undefined,
    color: world.color ?? false,
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

/** Starts the command line as a separate process, with only the given environment. */
export function start(
  words: readonly string[],
  { env = {}, stdin, cwd, trace, umask }: Pick<World, "env" | "stdin" | "cwd" | "trace" | "umask"> = {},
) {
  const root = new URL("../../", import.meta.url);
  const tracer = trace === undefined
    ? []
    : ["strace", "-ff", "-s", "4096", "-e", "trace=open,openat,execve", "-o", trace];
  // A shell sets the umask, because all tests share the umask of this process.
  const shell = umask === undefined ? [] : ["sh", "-c", 'umask "$0"; exec "$@"', umask.toString(8)];
  const [program, ...before] = [...shell, ...tracer, Deno.execPath()];
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

/**
 * Returns the system calls of a trace, and removes its files. Each thread has its own file, because in a common file, a
 * call that another thread interrupts is on two lines: one without its result, and one without its path.
 */
export async function takeTrace(trace: string): Promise<string[]> {
  const folder = trace.slice(0, trace.lastIndexOf("/"));
  const calls: string[] = [];
  for (const { name } of [...Deno.readDirSync(folder)]) {
    const file = `${folder}/${name}`;
    if (!file.startsWith(`${trace}.`)) continue;
    calls.push(...(await Deno.readTextFile(file)).split("\n"));
    await Deno.remove(file);
  }
  return calls;
}

/** Returns the permissions of the command line's task. With more permissions, a test would hide a missing one. */
function taskFlags(): string[] {
  return config.tasks.hsgate.command.split(" ").filter((word) => word.startsWith("--"));
}

/** Runs the command line as a separate process; interrupts it when `interruptWhen` returns true. */
export async function spawned(
  words: readonly string[],
  world: Pick<World, "env" | "stdin" | "cwd" | "trace" | "umask"> & { interruptWhen?: () => boolean } = {},
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

/** Returns the variables that Deno itself needs: the search path, and the folders of its caches and temporary files. */
function inherited(): Record<string, string> {
  const names = ["PATH", "HOME", "DENO_DIR", "XDG_CACHE_HOME", "TMPDIR"];
  return Object.fromEntries(names.flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  }));
}

/** A simulated platform whose market moves only with `round()`. */
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

/** Environment variables for a platform over the direct transport; `leases` is a folder for this test only. */
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

/** Environment variables for order writes: a store in a folder of the test, without a warning about its place. */
export function storeEnv({ path }: { path: string }): Record<string, string> {
  return { HSGATE_STORE: `${path}/hsgate.db`, HSGATE_VOLATILE_STORE: "allow", HSGATE_LIVE_TRADING: "allow" };
}

/** A temporary folder. */
export async function folder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ prefix: "hsgate-cli-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
