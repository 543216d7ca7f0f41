/**
 * From settings to a client, for scripts and notebooks: the same settings as those of the command line.
 *
 * @module
 */
import { readOwned } from "../owned_files.ts";
import type { Client } from "./client.ts";
import { connect } from "./connect.ts";
import { connectOptionsOf } from "./connect_options.ts";
import { loadSettings } from "./settings.ts";

/** Where {@linkcode connectConfigured} finds settings. */
export interface ConfiguredOptions {
  /** An environment variable, such as `(name) => Deno.env.get(name)`; it comes before the file. */
  env: (name: string) => string | undefined;
  /**
   * Settings file, YAML or JSON; it may be missing. Without it `hsgate.yaml` of the working folder is read, whose
   * addresses of other machines get no password from the environment: that file may be somebody else's.
   */
  path?: string;
  /** Takes warnings, such as of a secret that others can read. */
  onWarning?: (text: string) => void;
}

/**
 * Resolves to a client over the transport that the settings name. It logs in by itself where the trade password, and
 * for the gateway its key, are set. Nothing is sent before the first call over the gateway.
 *
 * @throws {InvalidParamsError} With everything that is wrong or missing in the settings.
 * @throws {TypeError} When a key cannot be read, or when others could have written the settings file or a file of a
 * secret. The owner of a file is compared with this user only with `--allow-sys=uid`.
 * @example Print the funds of the account that `hsgate.yaml` describes
 * ```ts ignore
 * import { connectConfigured } from "hsgate/settings";
 *
 * await using client = await connectConfigured({ env: (name) => Deno.env.get(name) });
 * console.log(await client.account.funds({ market: "hk" }));
 * ```
 */
export async function connectConfigured(options: ConfiguredOptions): Promise<Client> {
  const { env, path = "hsgate.yaml", onWarning } = options;
  const sources = {
    env: (name: string) => env(name) || undefined,
    readFile: readOwned,
    path,
    required: false,
    named: options.path !== undefined,
  };
  const { settings, warnings } = await loadSettings(sources);
  for (const warning of warnings) onWarning?.(warning);
  return await connect(connectOptionsOf(settings, { program: "a script", env }));
}
