/**
 * Creates a client from settings, for scripts and notebooks. The command line uses the same settings.
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
   * Settings file, YAML or JSON; it need not exist. Without `path`, the file that `HSGATE_CONFIG` names is read, and it
   * must exist. A file in the working folder is never read by default, because somebody else may have written it.
   */
  path?: string;
  /** Called with warnings, for example about a secret that others can read. */
  onWarning?: (text: string) => void;
}

const NO_DESK =
  "a client of connectConfigured() has no store to record the order in; use connect() with a store, " +
  'such as store: "hsgate.db"';

/**
 * Resolves to a client over the transport that the settings name. The client cannot write orders. It logs in
 * automatically if the trade password is set; over the gateway, the password's key must be set too. Over the gateway,
 * nothing is sent before the first call.
 *
 * @throws {InvalidParamsError} Lists every invalid or missing setting.
 * @throws {TypeError} If a key is unreadable, or if others could have written the settings file or a secret's file.
 * The owners of files are checked only with the permission `--allow-sys=uid`.
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
  const connectOptions = connectOptionsOf(settings, { program: "a script", env });
  return await connect(
    "direct" in connectOptions ? { ...connectOptions, noOrders: NO_DESK } : {
      ...connectOptions,
      noOrders: NO_DESK,
    },
  );
}
