/**
 * The environment of a step's process: what Deno needs to start there, and the variables that the step names.
 *
 * Nothing else is handed down. `OTEL_DENO` would send what the step prints to a collector before the runner could
 * take secrets out of it, and a password in the environment is not for whoever wrote the step.
 *
 * @module
 */
import type { StepPermissions } from "./define_step.ts";

/** Where Deno finds its cache, certificates and packages, and where a program finds others and the hour. */
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
 * Picks from an environment what a step's process gets. Names of the permission may end in `*`, as Deno takes them;
 * what sets up telemetry is never handed on.
 */
export function stepEnvironment(
  environment: Readonly<Record<string, string>>,
  { env = [], net = [] }: StepPermissions,
): Record<string, string> {
  const exact = new Set([...NEEDED, ...env, ...net.length > 0 ? PROXIES : []]);
  const prefixes = env.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));
  const isGiven = (name: string) =>
    !/^OTEL_/i.test(name) && (exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix)));
  const picked = Object.entries(environment).filter(([name]) => isGiven(name));
  return { ...Object.fromEntries(picked), NO_COLOR: "1" };
}
