/**
 * From flags, environment and file to a client, for every command that talks to the gateway.
 *
 * @module
 */
import type { Client } from "../../lib/client/client.ts";
import { type LoadedSettings, loadSettings } from "../../lib/client/settings.ts";
import type { FlagValues, sharedFlags } from "./command.ts";
import { UsageError } from "./exit_codes.ts";
import type { Host } from "./host.ts";

/** Settings file that is read when none is named. */
const DEFAULT_FILE = "hsgate.yaml";

type Shared = FlagValues<typeof sharedFlags>;

/** Loads the settings and shows warnings on stderr. */
export async function settingsOf(flags: Shared, host: Host): Promise<LoadedSettings> {
  const named = flags.config ?? host.env("HSGATE_CONFIG");
  const loaded = await loadSettings({
    flags: {
      ...flags.gateway !== undefined && { gatewayUrl: flags.gateway },
      ...flags.push !== undefined && { pushAddress: flags.push },
      ...flags.transport !== undefined && { transport: flags.transport },
      ...flags.timeout !== undefined && { timeoutMs: timeoutMs(flags.timeout) },
    },
    env: host.env,
    readFile: host.readFile,
    path: named ?? DEFAULT_FILE,
    required: named !== undefined,
  });
  for (const warning of loaded.warnings) host.note(`hsgate: warning: ${warning}`);
  return loaded;
}

function timeoutMs(seconds: string): string {
  if (!/^\d{1,4}(\.\d{1,3})?$/.test(seconds)) {
    throw new UsageError(`Cannot read --timeout "${seconds}": write seconds, such as 10 or 0.5`);
  }
  return String(Math.round(Number(seconds) * 1000));
}

/**
 * Makes a client of the gateway that the settings name; it logs in by itself where a password is set.
 *
 * @param usualUrl Address of the gateway where no setting names one.
 */
export async function clientOf(flags: Shared, host: Host, usualUrl?: string): Promise<Client> {
  const { settings, origins } = await settingsOf(flags, host);
  if (origins.gatewayUrl === "default") settings.gatewayUrl = usualUrl ?? settings.gatewayUrl;
  const { gatewayUrl, pushAddress, tradePassword, tradePasswordKey, timeoutMs } = settings;
  if (tradePassword !== undefined && tradePasswordKey === undefined) {
    host.note(
      "hsgate: warning: a trade password is set and its key is not (HSGATE_TRADE_PASSWORD_KEY), so there is no login",
    );
  }
  const { connect } = await import("../../lib/client/connect.ts");
  return await connect({
    gateway: { url: gatewayUrl, timeoutMs, ...pushAddress !== undefined && { push: pushAddress } },
    ...tradePassword !== undefined && tradePasswordKey !== undefined && { tradePassword, tradePasswordKey },
  });
}
