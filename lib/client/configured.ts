/**
 * Creates a client from settings, for scripts and notebooks. The settings are the same as for the command
 * line.
 *
 * @module
 */
import { readOwned } from "../owned_files.ts";
import type { Client } from "./client.ts";
import { connect } from "./connect.ts";
import { connectOptionsOf } from "./connect_options.ts";
import { loadSettings } from "./load_settings.ts";

/** Where {@linkcode connectConfigured} reads settings. */
export interface ConfiguredOptions {
  /** Returns an environment variable, such as `(name) => Deno.env.get(name)`. Variables override the file. */
  env: (name: string) => string | undefined;
  /**
   * Settings file, YAML or JSON; it may be missing. Without `path` the file named by `HSGATE_CONFIG` is read,
   * otherwise none: a file in the working folder may be someone else's.
   */
  path?: string;
  /** Called with warnings, for example about a secret that others can read. */
  onWarning?: (text: string) => void;
}

/**
 * Resolves to a client over the transport that the settings name. The client logs in automatically if the
 * trade password is set, and for the gateway also its key. Over the gateway it sends nothing before the first
 * call.
 *
 * @throws {InvalidParamsError} Lists every invalid or missing setting.
 * @throws {TypeError} If a key is unreadable, or if others could have written the settings file or a secret's
 * file. The owner of a file is compared with this user only with `--allow-sys=uid`.
 * @example Print the funds of the account that `hsgate.yaml` describes
 * ```ts ignore
 * import { connectConfigured } from "hsgate/settings";
 *
 * await using client = await connectConfigured({
 *   env: (name) => Deno.env.get(name),
 *   path: "hsgate.yaml",
 * });
 * console.log(await client.account.funds({ market: "hk" }));
 * ```
 */
export async function connectConfigured(options: ConfiguredOptions): Promise<Client> {
  const { env, onWarning } = options;
  const named = options.path === undefined ? env("HSGATE_CONFIG") || undefined : undefined;
  const sources = {
    env: (name: string) => env(name) || undefined,
    readFile: readOwned,
    path: options.path ?? named,
    required: named !== undefined,
  };
  const { settings, warnings } = await loadSettings(sources);
  for (const warning of warnings) onWarning?.(warning);
  return await connect(connectOptionsOf(settings, { program: "a script", env }));
}
