/**
 * What runs need from the command line that starts them: connections, real time, names, secrets.
 *
 * @module
 */
import { secretsOf, type Settings } from "../../../lib/client/settings.ts";
import { Redactor } from "../../../lib/redact.ts";
import type { RunnerOptions } from "../../../lib/runner/runner.ts";
import { type Machine, systemMachine } from "../../../lib/time.ts";
import { trustedText } from "../../../lib/owned_files.ts";
import { ulid } from "../../../lib/std/ulid.ts";
import { secretOfCommand } from "../../../lib/runner/run/secret_command.ts";
import type { CompiledRecipe, SecretOrigin } from "../../../lib/recipes/mod.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import type { Connections } from "./connections.ts";

/** Parts of {@linkcode CommandDeps} that differ from command to command. */
interface CommandDepsOptions {
  connections: Connections;
  host: Host;
  /** The recipes whose secrets are read. */
  recipes: Iterable<CompiledRecipe>;
  redactor: Redactor;
  /** The folder for files, as its flag says. @default the current one */
  out?: string;
  /** The time. @default the host's */
  now?: () => number;
}

/** What the command line gives to every run; the rest of what a runner needs differs from command to command. */
type CommandDeps = Required<
  Pick<
    RunnerOptions,
    | "host"
    | "out"
    | "redactor"
    | "logLevel"
    | "client"
    | "timeOf"
    | "accountOf"
    | "passwordMarkOf"
    | "secret"
    | "holder"
    | "stop"
  >
>;

/**
 * Joins what every run of a command needs.
 *
 * @throws {UsageError} When two recipes name different origins of one secret.
 */
export function commandDeps(
  { connections, host, recipes, redactor, out = "", now = host.now }: CommandDepsOptions,
): CommandDeps {
  const { of: client, timeOf, accountOf, passwordMarkOf, settings: { logLevel } } = connections;
  return {
    host: runnerHost({ now }),
    out,
    redactor,
    logLevel,
    client,
    timeOf,
    accountOf,
    passwordMarkOf,
    secret: secretReader(recipes, host, redactor),
    holder: `${Deno.pid} ${crypto.randomUUID()}`, // a name that no other process has
    stop: host.signal,
  };
}

/** Makes the redactor of a command, which warns of what it cannot take out and knows every secret of the settings. */
export function redactorOf({ note, settings }: Pick<Connections, "note" | "settings">): Redactor {
  const redactor = redactorFor({ note });
  learnSettings(redactor, settings);
  return redactor;
}

/** Makes a redactor that warns of what it cannot take out. */
export function redactorFor({ note }: Pick<Host, "note">): Redactor {
  return new Redactor({
    onTooShort: (name) =>
      note(
        `hsgate: warning: the ${name} is too short to be taken out of logs and files, which needs four characters ` +
          "or six digits",
      ),
  });
}

/** Has every secret of the settings taken out from here on. */
export function learnSettings(redactor: Redactor, settings: Settings): void {
  for (const [name, value] of secretsOf(settings)) redactor.add(value, `setting "${name}"`);
}

/** The machine as the runner sees it. */
export function runnerHost(host: Pick<Host, "now">): Machine {
  return { ...systemMachine, now: () => host.now(), id: () => ulid(host.now()) };
}

/**
 * Makes the reader of secrets from the origins that the recipes name. The redactor learns each one that is read.
 *
 * @throws {UsageError} When two recipes tell different origins of one name.
 */
export function secretReader(
  recipes: Iterable<CompiledRecipe>,
  host: Pick<Host, "env" | "readFile" | "signal">,
  redactor: Redactor,
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
    if (value !== undefined && value !== "") {
      redactor.add(value, `secret "${name}"`);
      return value;
    }
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
    return file === undefined ? undefined : trustedText(origin.file, file).trimEnd();
  }
  return await secretOfCommand(name, origin.command, { signal: host.signal });
}
