/**
 * Loads settings from flags, environment and file, and connects clients with them.
 *
 * @module
 */
import type { Client, RetryOptions, WriteUnderWay } from "../../../lib/client/client.ts";
import {
  inspectSettingsFile,
  type LoadedSettings,
  loadSettings,
  type SettingPower,
  type SettingsFileContent,
} from "../../../lib/client/load_settings.ts";
import { secretsOf, type Settings } from "../../../lib/client/settings.ts";
import { InvalidParamsError } from "../../../lib/errors.ts";
import { allowPlainPosts } from "../../../lib/transports/net/quiet_post.ts";
import type { Standing } from "../../../lib/runner/trust/trust_file.ts";
import type { DirectOptions } from "../../../lib/transports/direct/mod.ts";
import type { FlagValues, sharedFlags } from "../../terminal/command.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { logLevel, pushIdle } from "../../terminal/flags.ts";
import type { FileText, Host } from "../../terminal/host.ts";
import { shellHint } from "../../../lib/shell_words.ts";

type Shared =
  & FlagValues<typeof sharedFlags>
  & FlagValues<
    { "push-idle": typeof pushIdle; "log-level": typeof logLevel; keep: { type: "string"; text: string } }
  >;

/** Loads the settings and prints warnings on stderr. */
export async function settingsOf(flags: Shared, host: Host): Promise<LoadedSettings> {
  const loaded = await loadSettingsOf(flags, host);
  for (const warning of loaded.warnings) host.note(`hsgate: warning: ${warning}`);
  return loaded;
}

/** Loaded settings, by the flags of their command. */
const loads = new WeakMap<Shared, Promise<LoadedSettings>>();

/**
 * Loads the settings without printing warnings, for code that does not connect. A command loads the settings only
 * once, so an edit of the file has no effect while the command runs.
 *
 * @throws {TrustError} If the user did not name the file, and its current content is not trusted.
 */
export function loadSettingsOf(flags: Shared, host: Host): Promise<LoadedSettings> {
  let load = loads.get(flags);
  if (load === undefined) loads.set(flags, load = loadOnce(flags, host));
  return load;
}

/** Flags that name a store. */
export type StoreFlags = FlagValues<typeof sharedFlags> & { readonly store?: string };

/** Returns the path of the store from the flag or the settings; `undefined` if neither names a store. */
export async function storePath(flags: StoreFlags, host: Host): Promise<string | undefined> {
  return flags.store ?? (await loadSettingsOf(flags, host)).settings.store;
}

async function loadOnce(flags: Shared, host: Host): Promise<LoadedSettings> {
  const named = flags.config ?? host.env("HSGATE_CONFIG");
  // Read each file only once, so that hsgate uses exactly the content whose trust it has checked.
  const readFile = remembered(host.readFile);
  const found = named === undefined ? await foundSettings(flags, { ...host, readFile }) : undefined;
  if (found?.refused !== undefined) throw found.refused.error;
  const path = named ?? found?.path;
  const loaded = await loadSettings({
    flags: {
      ...flags.gateway !== undefined && { gatewayUrl: flags.gateway },
      ...flags.push !== undefined && { pushAddress: flags.push },
      ...flags["plain-http"] && { plainHttp: "allow" },
      ...flags["auth-url"] !== undefined && { authUrl: flags["auth-url"] },
      ...flags.transport !== undefined && { transport: flags.transport },
      ...flags.timeout !== undefined && { timeoutMs: millis("timeout", flags.timeout) },
      ...flags["push-idle"] !== undefined && { pushIdleMs: millis("push-idle", flags["push-idle"]) },
      ...flags["log-level"] !== undefined && { logLevel: flags["log-level"] },
      ...flags.keep !== undefined && { keepRunsDays: flags.keep },
    },
    env: host.env,
    readFile,
    ...path !== undefined && { path },
    required: named !== undefined,
  });
  for (const [, secret] of await secretsOf(loaded.settings)) host.hide?.(secret);
  allowPlainPosts(loaded.settings.plainHttp === "allow");
  return loaded;
}

/** A settings file of the working folder that the user did not name. */
export interface FoundSettings {
  path: string;
  standing: Standing;
  powers: readonly SettingPower[];
  /** Text of each member. */
  members: Readonly<Record<string, string>>;
  /** Why the file is not used, and what to do; absent if it is used. */
  refused?: {
    why: string;
    advice: string;
    /** Error for a command that needs the settings. */
    error: Error;
  };
}

/**
 * Returns the content of `hsgate.yaml` in the working folder and whether it is trusted, without using it.
 *
 * @param folder A folder to search instead of the working folder.
 * @returns `undefined` if a person named another file, or if there is none.
 */
export async function foundSettings(
  { config }: Pick<Shared, "config">,
  host: Pick<Host, "env" | "readFile">,
  folder?: string,
): Promise<FoundSettings | undefined> {
  if ((config ?? host.env("HSGATE_CONFIG")) !== undefined) return undefined;
  const [{ FOUND_SETTINGS, judgeSettings, isLinkOut }, { TrustError, TrustFile }] = await Promise.all([
    import("../../../lib/runner/trust/trusted_files.ts"),
    import("../../../lib/runner/trust/trust_file.ts"),
  ]);
  const path = folder === undefined ? FOUND_SETTINGS : `${folder}/${FOUND_SETTINGS}`;
  const refused = (
    why: string,
    advice: string,
    error: Error = new TrustError(`${why}; ${advice}`, { code: "untrusted" }),
  ): FoundSettings => ({
    path,
    standing: "unknown",
    powers: [],
    members: {},
    refused: { why, advice, error },
  });
  if (await isLinkOut(path)) {
    const why = `Cannot use "${path}" of this folder: it is a link to a file outside this folder`;
    return refused(why, "if that file is yours, name it with --config");
  }
  let asked: SettingsFileContent | undefined;
  try {
    asked = await inspectSettingsFile(path, host.readFile);
  } catch (error) {
    if (!(error instanceof InvalidParamsError || error instanceof TypeError)) throw error;
    return refused(error.message, "correct the file, or name another one with --config", error);
  }
  if (asked === undefined) return undefined;
  const { powers, members } = asked;
  const standing = await judgeSettings(asked, TrustFile.of(host.env), host.readFile);
  if (standing === "plain" || standing === "trusted") return { path, standing, powers, members };
  const what = standing === "changed"
    ? "it, or a file of this folder that it names, has changed since it was trusted"
    : "it is not trusted";
  const wishes = powers.map(({ name, value }) => `${name}: ${value}`).join("; ");
  return {
    ...refused(
      `Cannot use "${path}" of this folder: ${what}, and it asks for ${wishes}`,
      `check the file, then run "hsgate trust ${shellHint(path)}", or name it with --config ${
        shellHint(path)
      }`,
    ),
    standing,
    powers,
  };
}

/** Returns a function that reads each file only once. */
function remembered(readFile: Host["readFile"]): Host["readFile"] {
  const files = new Map<string, Promise<FileText | undefined>>();
  return (path) => files.getOrInsertComputed(path, readFile);
}

/** Returns seconds as milliseconds; the setting checks the range. */
function millis(flag: "timeout" | "push-idle", seconds: string): string {
  if (!/^\d{1,5}(\.\d{1,3})?$/.test(seconds)) {
    throw new UsageError(`Cannot read --${flag} "${seconds}": write seconds, such as 10 or 0.5`);
  }
  return String(Math.round(Number(seconds) * 1000));
}

/** Options of {@linkcode clientOf}. */
interface SessionOptions {
  /** Name of the command. Other programs show it while this command has the trade connection. */
  command: string;
  /** The settings, if the command has already loaded them. */
  loaded?: LoadedSettings;
  /** When reads are retried. */
  retry?: RetryOptions;
}

/**
 * Returns a client over the transport of the settings. The client logs in automatically if a trade password is set;
 * over the gateway it also needs the password's key.
 */
export async function clientOf(
  flags: Shared,
  host: Host,
  { command, loaded, retry }: SessionOptions,
): Promise<Client> {
  const { settings } = loaded ?? await settingsOf(flags, host);
  const [{ connect }, { connectOptionsOf }] = await Promise.all([
    import("../../../lib/client/connect.ts"),
    import("../../../lib/client/connect_options.ts"),
  ]);
  const options = connectOptionsOf(settings, callerOf(command, host));
  if ("direct" in options) {
    const { refuseWhileHeld } = await import("../lease/account_lease.ts");
    await refuseWhileHeld(options.direct.privateKey, settings, host);
  } else if (settings.tradePassword !== undefined && options.tradePassword === undefined) {
    host.note(
      "hsgate: warning: a trade password is set but its key is not (HSGATE_TRADE_PASSWORD_KEY), so hsgate does not log in",
    );
  }
  const { writes } = host;
  return await connect({
    ...options,
    ...retry !== undefined && { retry },
    ...writes !== undefined && {
      onWrite(write: WriteUnderWay) {
        writes.add(write);
        return () => writes.delete(write);
      },
    },
  });
}

/**
 * Returns the options of the direct transport.
 *
 * @throws {InvalidParamsError} If settings are missing.
 */
export async function directOf(settings: Settings, host: Host, command: string): Promise<DirectOptions> {
  const { directOptionsOf } = await import("../../../lib/client/connect_options.ts");
  return { ...directOptionsOf(settings), ...callerOf(command, host) };
}

const callerOf = (command: string, { env }: Host) => ({ program: `hsgate ${command}`, env });
