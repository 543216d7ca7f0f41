/**
 * Selects the environment of a step's process: what Deno needs to start, the variables that the step names, and the
 * proxies if the step may use the network.
 *
 * No other variable is passed on. With `OTEL_DENO`, Deno would send the step's output to a collector before the runner
 * redacts secrets. And a step must not get passwords from the environment.
 *
 * @module
 */
import { absoluteFolders } from "../../confined_paths.ts";
import type { StepPermissions } from "../compiled.ts";

/**
 * Variables that every process gets: Deno finds its cache, certificates and packages with them, and programs find other
 * programs and the time zone.
 */
const NEEDED = [
  "PATH",
  "HOME",
  "USERPROFILE",
  "LOCALAPPDATA",
  "SystemRoot",
  "TMPDIR",
  "TMP",
  "TEMP",
  "TZ",
  "LANG",
  "LC_ALL",
  "XDG_CACHE_HOME",
  "DENO_DIR",
  "DENO_CERT",
  "DENO_TLS_CA_STORE",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NPM_CONFIG_REGISTRY",
  "JSR_URL",
];

const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]
  .flatMap((name) => [name, name.toLowerCase()]);

/**
 * Returns the environment of a step's process. Names in the permission may end in `*`, like in Deno; variables that
 * configure telemetry are never passed on.
 */
export function stepEnvironment(
  environment: Readonly<Record<string, string>>,
  { env = [], net = [] }: StepPermissions,
): Record<string, string> {
  const exact = new Set([...NEEDED, ...env, ...net.length > 0 ? PROXIES : []]);
  const prefixes = env.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));
  const isGiven = (name: string) =>
    !/^OTEL_/i.test(name) && (exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix)));
  const picked = Object.entries(environment).filter(([name]) => isGiven(name)).map(([name, value]) =>
    [name, name === "PATH" ? absoluteFolders(value) : value] as const
  );
  return { ...Object.fromEntries(picked), NO_COLOR: "1" };
}
