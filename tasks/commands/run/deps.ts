/**
 * Creates the dependencies of runs: connections, clock, names and secrets.
 *
 * @module
 */
import { calendarsOf } from "../../terminal/arguments.ts";
import { secretsOf, type Settings } from "../../../lib/client/settings.ts";
import { Redactor } from "../../../lib/redact.ts";
import type { RunnerOptions } from "../../../lib/runner/runner.ts";
import { type Machine, systemMachine } from "../../../lib/time.ts";
import { trustedText } from "../../../lib/owned_files.ts";
import { ulid } from "../../../lib/std/ulid.ts";
import { Trust } from "../../../lib/runner/trust/trust.ts";
import { recipesRunBy } from "../../../lib/recipes/powers.ts";
import type { CompiledRecipe, SecretOrigin } from "../../../lib/recipes/mod.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import type { Connections } from "./connections.ts";

/** Options that differ from command to command. */
interface CommandDepsOptions {
  connections: Connections;
  host: Host;
  /** Recipes whose secrets may be read. */
  recipes: Iterable<CompiledRecipe>;
  redactor: Redactor;
  /** Output folder, as the flag gives it. @default the current one */
  out?: string;
  /** The clock. @default the host's */
  now?: () => number;
  /** Returns why a halt file stops every order write; `undefined` if no halt file does. @default never a halt file */
  haltedByFile?: () => string | undefined;
}

/** Dependencies that a command gives to every run. */
type CommandDeps = Required<
  Pick<
    RunnerOptions,
    | "machine"
    | "calendars"
    | "out"
    | "redactor"
    | "logLevel"
    | "limits"
    | "timeoutMs"
    | "client"
    | "timeOf"
    | "accountOf"
    | "passwordMarkOf"
    | "isSoleLogin"
    | "secret"
    | "holder"
    | "stop"
    | "haltedByFile"
  >
>;

/**
 * Returns the dependencies of every run of a command.
 *
 * @throws {UsageError} If two recipes name different sources of one secret.
 */
export function commandDeps(
  { connections, host, recipes, redactor, out = "", now = host.now, haltedByFile = () => undefined }:
    CommandDepsOptions,
): CommandDeps {
  const {
    of: client,
    timeOf,
    accountOf,
    passwordMarkOf,
    isSoleLogin,
    settings: { logLevel, timeoutMs },
    limits,
  } = connections;
  return {
    machine: runnerMachine({ now }),
    calendars: () => calendarsOf(host),
    out,
    redactor,
    logLevel,
    limits,
    timeoutMs,
    client,
    timeOf,
    accountOf,
    passwordMarkOf,
    isSoleLogin,
    secret: secretReader(recipes, host, redactor),
    holder: `${Deno.pid} ${crypto.randomUUID()}`, // unique among processes
    stop: host.signal,
    haltedByFile,
  };
}

/**
 * Returns the redactor of a command with every secret of the settings. It warns of secrets that are too short.
 */
export async function redactorOf(
  { note, settings }: Pick<Connections, "note" | "settings">,
): Promise<Redactor> {
  const redactor = redactorFor({ note });
  await learnSettings(redactor, settings);
  return redactor;
}

/** Returns a redactor that warns of secrets that are too short. */
export function redactorFor({ note }: Pick<Host, "note">): Redactor {
  return new Redactor({
    onTooShort: (name) =>
      note(
        `hsgate: warning: the ${name} is too short to be redacted in logs and files: redaction needs four characters ` +
          "or six digits",
      ),
  });
}

/** Adds every secret of the settings to the redactor. */
export async function learnSettings(redactor: Redactor, settings: Settings): Promise<void> {
  for (const [name, value] of await secretsOf(settings)) redactor.add(value, `setting "${name}"`);
}

/** Returns the machine (clock, timers, random numbers) for the runner. */
export function runnerMachine(host: Pick<Host, "now">): Machine {
  return { ...systemMachine, now: () => host.now(), id: () => ulid(host.now()) };
}

/**
 * Returns a function that reads secrets from the sources that the recipes name. It adds each one to the redactor.
 *
 * @throws {UsageError} If two recipes name different sources of one secret.
 */
export function secretReader(
  recipes: Iterable<CompiledRecipe>,
  host: Pick<Host, "env" | "readFile" | "signal">,
  redactor: Redactor,
): (name: string) => Promise<string> {
  const origins = new Map<string, { origin: SecretOrigin; files: Set<string> }>();
  const all = [...recipes].flatMap((each) => [each, ...recipesRunBy(each)]);
  for (const { name: recipe, secrets, file = "" } of all) {
    for (const [name, origin] of Object.entries(secrets ?? {})) {
      const other = origins.get(name);
      if (other !== undefined && JSON.stringify(other.origin) !== JSON.stringify(origin)) {
        throw new UsageError(
          `Cannot use the secret "${name}" of "${recipe}": another recipe names a different source for it`,
        );
      }
      origins.set(name, { origin, files: new Set([...other?.files ?? [], file]) });
    }
  }
  return async (name) => {
    const found = origins.get(name);
    if (found === undefined) {
      throw new TypeError(`Cannot read secret "${name}": no recipe names its source under "secrets"`);
    }
    const { origin, files } = found;
    await Trust.of(host.env).checkSecret(origin, files);
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
    throw new TypeError(`Cannot read secret "${name}": ${where} is empty or missing`);
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
  const { secretOfCommand } = await import("../../../lib/runner/run/secret_command.ts");
  return await secretOfCommand(name, origin.command, { signal: host.signal });
}
