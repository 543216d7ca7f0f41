/**
 * From flags, environment and file to a client, for every command that talks to the broker.
 *
 * @module
 */
import type { Client, WriteUnderWay } from "../../lib/client/client.ts";
import { type LoadedSettings, loadSettings, secretsOf, type Settings } from "../../lib/client/settings.ts";
import { allowPlainPosts } from "../../lib/quiet_post.ts";
import type { DirectOptions } from "../../lib/transports/direct.ts";
import type { FlagValues, sharedFlags } from "./command.ts";
import { UsageError } from "./exit_codes.ts";
import type { logLevel, pushIdle } from "./flags.ts";
import type { Host } from "./host.ts";

/** Settings file that is read when none is named. */
export const DEFAULT_FILE = "hsgate.yaml";

type Shared =
  & FlagValues<typeof sharedFlags>
  & FlagValues<
    { "push-idle": typeof pushIdle; "log-level": typeof logLevel; keep: { type: "string"; text: string } }
  >;

/** Loads the settings and shows warnings on stderr. */
export async function settingsOf(flags: Shared, host: Host): Promise<LoadedSettings> {
  const loaded = await loadSettingsOf(flags, host);
  for (const warning of loaded.warnings) host.note(`hsgate: warning: ${warning}`);
  return loaded;
}

/** Loads the settings and says nothing, for whoever needs one of them and does not connect. */
export async function loadSettingsOf(flags: Shared, host: Host): Promise<LoadedSettings> {
  const named = flags.config ?? host.env("HSGATE_CONFIG");
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
    readFile: host.readFile,
    path: named ?? DEFAULT_FILE,
    required: named !== undefined,
  });
  for (const [, secret] of secretsOf(loaded.settings)) host.hide?.(secret);
  allowPlainPosts(loaded.settings.plainHttp === "allow");
  return loaded;
}

/** Reads seconds as milliseconds; the setting's own rule says which are allowed. */
function millis(flag: "timeout" | "push-idle", seconds: string): string {
  if (!/^\d{1,5}(\.\d{1,3})?$/.test(seconds)) {
    throw new UsageError(`Cannot read --${flag} "${seconds}": write seconds, such as 10 or 0.5`);
  }
  return String(Math.round(Number(seconds) * 1000));
}

/** Details of {@linkcode clientOf}. */
export interface SessionOptions {
  /** The command, as a second program is told it. */
  command: string;
  /** The settings, where the command has loaded them already. */
  loaded?: LoadedSettings;
}

/** Makes a client over the transport of the settings; it logs in by itself where a password is set. */
export async function clientOf(
  flags: Shared,
  host: Host,
  { command, loaded }: SessionOptions,
): Promise<Client> {
  const { settings } = loaded ?? await settingsOf(flags, host);
  const [{ connect }, { connectOptionsOf }] = await Promise.all([
    import("../../lib/client/connect.ts"),
    import("../../lib/client/connect_options.ts"),
  ]);
  const options = connectOptionsOf(settings, callerOf(command, host));
  if ("direct" in options) {
    const { refuseWhileHeld } = await import("./account_lease.ts");
    await refuseWhileHeld(options.direct.privateKey, settings, host);
  } else if (settings.tradePassword !== undefined && options.tradePassword === undefined) {
    host.note(
      "hsgate: warning: a trade password is set and its key is not (HSGATE_TRADE_PASSWORD_KEY), so there is no login",
    );
  }
  const { writes } = host;
  return await connect({
    ...options,
    ...writes !== undefined && {
      onWrite(write: WriteUnderWay) {
        writes.add(write);
        return () => writes.delete(write);
      },
    },
  });
}

/**
 * Options of the direct way.
 *
 * @throws {InvalidParamsError} When settings are missing.
 */
export async function directOf(settings: Settings, host: Host, command: string): Promise<DirectOptions> {
  const { directOptionsOf } = await import("../../lib/client/direct_settings.ts");
  return { ...directOptionsOf(settings), ...callerOf(command, host) };
}

const callerOf = (command: string, { env }: Host) => ({ program: `hsgate ${command}`, env });
