/**
 * What runs stand on when the command line starts them: real time, names, secrets.
 *
 * @module
 */
import type { Host as RunnerHost } from "../../../lib/runner/host.ts";
import { believed } from "../../../lib/owned_files.ts";
import { ulid } from "../../../lib/std/ulid.ts";
import { secretOfCommand } from "../../../lib/runner/secret_command.ts";
import type { CompiledRecipe, SecretOrigin } from "../../../lib/steps/mod.ts";
import { UsageError } from "../exit_codes.ts";
import type { Host } from "../host.ts";

/** The machine as the runner sees it. */
export function runnerHost(host: Pick<Host, "now">): RunnerHost {
  return {
    now: () => host.now(),
    monotonic: () => performance.now(),
    random: Math.random,
    id: () => ulid(host.now()),
    setTimer(ms, callback) {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  };
}

/** A name that no other process has. */
export const holderName = (): string => `${Deno.pid} ${crypto.randomUUID()}`;

/**
 * Makes the reader of secrets from the origins that the recipes name.
 *
 * @throws {UsageError} When two recipes tell different origins of one name.
 */
export function secretReader(
  recipes: readonly Pick<CompiledRecipe, "name" | "secrets">[],
  host: Pick<Host, "env" | "readFile" | "signal">,
): (name: string) => Promise<string> {
  const origins = new Map<string, SecretOrigin>();
  for (const { name: recipe, secrets } of recipes) {
    for (const [name, origin] of Object.entries(secrets ?? {})) {
      const other = origins.get(name);
      if (other !== undefined && JSON.stringify(other) !== JSON.stringify(origin)) {
        throw new UsageError(
          `Cannot use the secret "${name}" of "${recipe}": another recipe has it from elsewhere`,
        );
      }
      origins.set(name, origin);
    }
  }
  return async (name) => {
    const origin = origins.get(name);
    if (origin === undefined) {
      throw new TypeError(`Cannot read secret "${name}": no recipe says under secrets where it comes from`);
    }
    const value = await readSecret(name, origin, host);
    if (value !== undefined && value !== "") return value;
    const where = "env" in origin
      ? `the variable ${origin.env}`
      : "file" in origin
      ? `"${origin.file}"`
      : "its command";
    throw new TypeError(`Cannot read secret "${name}": ${where} gives nothing`);
  };
}

async function readSecret(
  name: string,
  origin: SecretOrigin,
  host: Pick<Host, "env" | "readFile" | "signal">,
): Promise<string | undefined> {
  if ("env" in origin) return host.env(origin.env);
  if ("file" in origin) {
    const file = await host.readFile(origin.file);
    return file === undefined ? undefined : believed(origin.file, file).trimEnd();
  }
  return await secretOfCommand(name, origin.command, { signal: host.signal });
}
