/**
 * What runs stand on when the command line starts them: real time, the settings' client, secrets.
 *
 * @module
 */
import type { Client } from "../../../lib/client/client.ts";
import type { Host as RunnerHost } from "../../../lib/runner/host.ts";
import type { CompiledRecipe, SecretOrigin } from "../../../lib/steps/mod.ts";
import type { FlagValues, sharedFlags } from "../command.ts";
import { UsageError } from "../exit_codes.ts";
import type { Host } from "../host.ts";
import { clientOf } from "../session.ts";

type Shared = FlagValues<typeof sharedFlags>;

/** The machine as the runner sees it. */
export function runnerHost(host: Pick<Host, "now">): RunnerHost {
  return {
    now: () => host.now(),
    monotonic: () => performance.now(),
    random: Math.random,
    id: () => crypto.randomUUID(),
    setTimer(ms, callback) {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  };
}

/** A name that no other process has. */
export const holderName = (): string => `${Deno.pid} ${crypto.randomUUID()}`;

/** The gateway that a recipe names, where it names one. @throws {UsageError} When it wants another way. */
export function gatewayOf({ name, connect }: CompiledRecipe): string | undefined {
  if (connect === undefined || connect.to === "gateway") return connect?.url;
  // A recipe that is meant for the simulator must not meet a real account.
  throw new UsageError(
    `Cannot connect recipe "${name}" to "${connect.to}": this command connects to a gateway alone`,
  );
}

/** Clients by gateway, each connected on first use and kept for the runs to come. */
export class Clients implements AsyncDisposable {
  readonly #clients = new Map<string | undefined, Promise<Client>>();

  constructor(readonly flags: Shared, readonly host: Host) {}

  /** The client for a recipe; one that could not be made is tried again at the next call. */
  of(recipe: CompiledRecipe): Promise<Client> {
    const url = gatewayOf(recipe);
    let client = this.#clients.get(url);
    if (client === undefined) {
      client = clientOf(this.flags, this.host, {
        command: `recipe ${recipe.name}`,
        ...url !== undefined && { usualUrl: url },
      });
      client.catch(() => this.#clients.delete(url));
      this.#clients.set(url, client);
    }
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const result of await Promise.allSettled(this.#clients.values())) {
      if (result.status === "fulfilled") await result.value[Symbol.asyncDispose]();
    }
  }
}

/**
 * Makes the reader of secrets from what the recipes tell of their origins; a recipe that tells nothing has them in the
 * environment, `mail-password` as `HSGATE_SECRET_MAIL_PASSWORD`.
 *
 * @throws {UsageError} When two recipes tell different origins of one name.
 */
export function secretReader(
  recipes: readonly Pick<CompiledRecipe, "name" | "secrets">[],
  host: Pick<Host, "env" | "readFile">,
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
    const origin = origins.get(name) ?? { env: `HSGATE_SECRET_${name.toUpperCase().replaceAll("-", "_")}` };
    const value = await readSecret(origin, host);
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
  origin: SecretOrigin,
  host: Pick<Host, "env" | "readFile">,
): Promise<string | undefined> {
  if ("env" in origin) return host.env(origin.env);
  if ("file" in origin) return (await host.readFile(origin.file))?.text.trimEnd();
  const [program = "", ...args] = origin.command;
  const { success, stdout } = await new Deno.Command(program, { args, stdin: "null", stderr: "null" })
    .output();
  return success ? new TextDecoder().decode(stdout).trimEnd() : undefined;
}
